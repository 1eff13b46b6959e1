// A client of the 2025 era that moves between nodes: records that are about to expire, questions that were put twice, hints
// that were lost.
import { describe, it } from 'node:test';
import assert from 'node:assert/strict';
import { HttpPeer, startHttp, rawPeer, callTool, nextAsk, accept, isAsk, resultOf, textOf, pause, within, PATIENCE_MS } from './harness.js';
import { stores } from './stores.js';

const LANES = 4;
const tests = []; // they wait for servers and clocks, and run side by side
const test = (name, fn) => tests.push([name, fn]);

const SECRET = 'a secret that is surely long enough for this';

const idsOf = (handle) => handle.events.filter((event) => event.id !== undefined).map((event) => event.id);
const messagesOf = (handle) => handle.events.filter((event) => event.data).map((event) => JSON.parse(event.data));
const resume = (peer, event) => peer.request('GET', { headers: { 'Last-Event-ID': event }, stream: 'resumed' });

// Servers on one store, started one by one.
function house(t, store) {
  return (env = {}) => startHttp(t, 'probe', { env: { MCP_ELICITATION_SECRET: SECRET, ...env }, args: ['--store', store.address] });
}

for (const version of ['2025-11-25', '2025-06-18'])
  for (const through of ['here', 'there'])
    for (const gone of ['here', 'there', 'none'])
      test(`redis, ${version}: of a request that is held at two nodes, answered ${through} and gone ${gone}, the other is asked on`, async (t) => {
        const start = house(t, await stores.find(({ name }) => name === 'redis').create(t));
        const [first, second] = [await start(), await start()];
        const here = await rawPeer(t, 'http', 'probe', { server: first, version });
        const there = Object.assign(new HttpPeer(second.url, { version }), { session: here.session });
        t.after(() => there.close());
        const message = { id: 'twice', method: 'tools/call', params: { name: 'three', arguments: {} } };
        const asks = (peer, title) => nextAsk(peer, ({ params }) => params.message === title);
        const held = { here: await here.send(message), there: await there.send(message) };
        const question = await asks(here, 'First');
        assert.equal((await asks(there, 'First')).id, question.id, 'both are asked the same');
        if (gone !== 'none') held[gone].drop();
        const answering = through === 'here' ? here : there;
        await accept(answering, question.id, { word: 'a' });
        const left = gone === 'here' ? [there] : gone === 'there' ? [here] : [here, there];
        const next = await Promise.all(left.map((peer) => asks(peer, 'After a')));
        assert.equal(new Set(next.map(({ id }) => id)).size, 1, 'whoever is left is asked the next one');
        await accept(answering, next[0].id, { word: 'b' });
        const last = await Promise.all(left.map((peer) => asks(peer, 'After b')));
        await accept(left[0], last[0].id, { word: 'c' });
        for (const peer of left) {
          const { result } = await peer.next((one) => one.id === 'twice' && !one.method, 'the result');
          assert.equal(textOf(result), 'a b c');
        }
      });

// Of the nodes that wait for a call, the last two are told of it; whoever is told nothing looks by itself.
test('redis: of a request that is held at three nodes each is asked on, and each gets the result', async (t) => {
  const start = house(t, await stores.find(({ name }) => name === 'redis').create(t));
  const servers = [await start(), await start(), await start()];
  const here = await rawPeer(t, 'http', 'probe', { server: servers[0] });
  const peers = [here, ...servers.slice(1).map(({ url }) => Object.assign(new HttpPeer(url, { version: '2025-11-25' }), { session: here.session }))];
  t.after(() => peers.slice(1).forEach((peer) => peer.close()));
  const asked = async (title) => {
    const found = await Promise.all(peers.map((peer) => nextAsk(peer, ({ params }) => params.message === title)));
    assert.equal(new Set(found.map(({ id }) => id)).size, 1, 'all are asked the same');
    await pause(2500); // until the look that follows a new question is over everywhere
    return found[0];
  };
  for (const peer of peers) {
    await peer.send({ id: 'thrice', method: 'tools/call', params: { name: 'three', arguments: {} } });
    await pause(200); // one after the other
  }
  await accept(here, (await asked('First')).id, { word: 'a' });
  await accept(here, (await asked('After a')).id, { word: 'b' });
  await accept(here, (await asked('After b')).id, { word: 'c' });
  for (const peer of peers) {
    const { result } = await peer.next((one) => one.id === 'thrice' && !one.method, 'the result');
    assert.equal(textOf(result), 'a b c');
  }
});

// The first node loses its subscription, and says again that it waits: after the other, whose stream is to go on all the same.
for (const through of ['here', 'there'])
  test(`redis: both nodes lose their hints, the first looks last, and the answer given ${through} brings the next question to the other`, async (t) => {
    const store = await stores.find(({ name }) => name === 'redis').create(t);
    const start = house(t, store);
    const [first, second] = [await start(), await start()];
    const here = await rawPeer(t, 'http', 'probe', { server: first });
    const there = Object.assign(new HttpPeer(second.url, { version: '2025-11-25' }), { session: here.session });
    t.after(() => there.close());
    const call = await callTool(here, 'three');
    const ask = await nextAsk(here);
    const stream = await resume(there, idsOf(call.handle).at(-1));
    await stream.arrived.next(() => true, 'it is taken up there');
    first.signal('SIGSTOP');
    t.after(() => first.signal('SIGCONT'));
    await store.say('CLIENT', 'KILL', 'TYPE', 'pubsub');
    await pause(1500); // the other has looked by then
    first.signal('SIGCONT');
    await pause(1500); // and so has this one
    const answering = through === 'here' ? here : there;
    assert.equal((await accept(answering, ask.id, { word: 'a' })).status, 202);
    const next = await nextAsk(there, ({ params }) => params.message === 'After a');
    assert.equal((await accept(answering, next.id, { word: 'b' })).status, 202);
    await nextAsk(there, ({ params }) => params.message === 'After b');
  });

for (const answered of ['here', 'there'])
  test(`redis: whoever was at another node, left it, and comes back there after the answer (given ${answered}) finds the result`, async (t) => {
    const start = house(t, await stores.find(({ name }) => name === 'redis').create(t));
    const [here, there] = [await start(), await start()];
    const peer = await rawPeer(t, 'http', 'probe', { server: here });
    const call = await callTool(peer, 'ask');
    const ask = await nextAsk(peer);
    const seen = idsOf(call.handle).at(-1);
    peer.url = there.url;
    const second = await resume(peer, seen);
    await second.arrived.next(() => true, 'it is taken up there');
    second.drop();
    await pause(100); // until the node knows
    peer.url = (answered === 'here' ? here : there).url;
    assert.equal((await accept(peer, ask.id, { name: 'Ada' })).status, 202);
    peer.url = here.url;
    const first = await resume(peer, seen);
    assert.equal(textOf((await call.reply()).result), 'accept {"name":"Ada"}', 'it has ended');
    await first.finished;
    await pause(1500); // and the other node has heard of that
    peer.url = there.url;
    const last = await resume(peer, seen);
    assert.equal(textOf((await call.reply()).result), 'accept {"name":"Ada"}', 'at the other node too');
    assert.equal(await last.finished, 'ended');
  });

for (const { name, create } of stores) {
  test(`${name}: a session lives as long as its call waits, however long that is`, async (t) => {
    const start = house(t, await create(t));
    const env = { PROBE_IDLE_MS: '1500' };
    const server = await start(env);
    const peer = await rawPeer(t, 'http', 'probe', { server });
    const call = await callTool(peer, 'ask');
    const ask = await nextAsk(peer);
    await pause(4000); // more than twice the time that a session may be idle
    assert.equal((await peer.send({ id: 'a', method: 'ping' })).status, 200);
    await pause(200);
    assert.equal((await peer.send({ id: 'b', method: 'ping' })).status, 200);
    await server.kill();

    peer.url = (await start(env)).url;
    assert.equal((await resume(peer, idsOf(call.handle).at(-1))).status, 200, 'and after a crash');
    await accept(peer, ask.id, { name: 'Ada' });
    assert.equal(textOf((await call.reply()).result), 'accept {"name":"Ada"}');
  });

  test(`11.6: ${name}: a question outlives a long stop, and so does its session`, async (t) => {
    const start = house(t, await create(t));
    const env = { PROBE_IDLE_MS: '1000' };
    const server = await start(env);
    const [seen, unseen] = [await rawPeer(t, 'http', 'probe', { server }), await rawPeer(t, 'http', 'probe', { server })];
    const [one, other] = [await callTool(seen, 'ask', { ttl: 86400000 }), await callTool(unseen, 'ask', { ttl: 86400000 })];
    const [ask, later] = [await nextAsk(seen), await nextAsk(unseen)];
    await server.kill();
    await pause(3000); // three times as long as a session may be idle

    seen.url = unseen.url = (await start(env)).url;
    assert.equal((await resume(seen, idsOf(one.handle).at(-1))).status, 200, 'who resumes');
    assert.equal((await accept(seen, ask.id, { name: 'Ada' })).status, 202);
    assert.equal(textOf((await one.reply()).result), 'accept {"name":"Ada"}');
    assert.equal((await accept(unseen, later.id, { name: 'Bob' })).status, 202, 'who answers first');
    await pause(3000); // with its result in the store, and nobody there
    assert.equal((await resume(unseen, idsOf(other.handle).at(-1))).status, 200);
    assert.equal(textOf((await other.reply()).result), 'accept {"name":"Bob"}');
  });

  test(`${name}: who was asked a second time before the crash answers that afterwards`, async (t) => {
    const start = house(t, await create(t));
    const server = await start();
    const peer = await rawPeer(t, 'http', 'probe', { server });
    const call = await callTool(peer, 'ask', { attempts: 5 });
    const first = await nextAsk(peer);
    await accept(peer, first.id, { name: 7 });
    const second = await nextAsk(peer);
    assert.notEqual(second.id, first.id);
    await server.kill();

    peer.url = (await start()).url;
    await resume(peer, idsOf(call.handle).at(-1));
    await pause(200); // the question is up here, and its client has it: nothing is sent
    await accept(peer, second.id, { name: 'Ada' });
    assert.equal(textOf((await call.reply()).result), 'accept {"name":"Ada"}');
  });
}

test('a question that was seen at another node is not put again at the first', async (t) => {
  const { create } = stores.find(({ name }) => name === 'redis');
  const start = house(t, await create(t));
  const env = { PROBE_HEARTBEAT_MS: '50' };
  const [a, b] = [await start(env), await start(env)];
  const peer = await rawPeer(t, 'http', 'probe', { server: a });
  const call = await callTool(peer, 'two_rounds', {}, { progressToken: 'p' });
  const first = await nextAsk(peer);
  const seen = idsOf(call.handle).at(-1);
  for (let i = 0; i < 4; i++) await peer.next((message) => message.method === 'notifications/progress', 'a heartbeat');
  call.handle.drop(); // and what came behind the question never arrived
  await call.handle.finished;

  peer.url = b.url;
  const there = await resume(peer, seen);
  await accept(peer, first.id, { word: 'one' });
  const second = await nextAsk(peer);
  const last = there.events.find((event) => event.data && JSON.parse(event.data).id === second.id).id;
  there.drop();
  await there.finished;

  peer.url = a.url;
  const back = await resume(peer, last);
  await pause(500); // in which the first node looks at what has become of the call
  await accept(peer, second.id, { word: 'two' });
  await call.reply();
  assert.deepEqual(messagesOf(back).filter(isAsk), [], 'it was not asked again');
});

test('a node that slept and heard no hint still gives its client the result', async (t) => {
  const { create } = stores.find(({ name }) => name === 'redis');
  const store = await create(t);
  const start = house(t, store);
  const [a, b] = [await start(), await start()];
  const peer = await rawPeer(t, 'http', 'probe', { server: a });
  const call = await callTool(peer, 'ask');
  const ask = await nextAsk(peer);
  a.signal('SIGSTOP');
  t.after(() => a.signal('SIGCONT'));
  await store.say('CLIENT', 'KILL', 'TYPE', 'pubsub'); // what is said to it from now on is lost

  peer.url = b.url;
  await within(PATIENCE_MS, 'the answer is taken', (async () => { // by who has lost its hints as well, once they are back
    while ((await accept(peer, ask.id, { name: 'Ada' })).status !== 202) await pause(50);
  })());
  const runs = async () => JSON.parse(await resultOf(peer, 'counters')).runs;
  await within(PATIENCE_MS, 'the other node runs the call', (async () => {
    while (!(await runs())) await pause(50);
  })());
  await pause(500);
  a.signal('SIGCONT');
  assert.equal(textOf((await call.reply()).result), 'accept {"name":"Ada"}');
});

for (const { name, create } of stores) {
  const again = (peer, call, tool, args) =>
    peer.send({ id: call.id, method: 'tools/call', params: { name: tool, arguments: args } });

  test(`11.13: ${name}: a request that is sent again after a crash gets its call's result`, async (t) => {
    const start = house(t, await create(t));
    const server = await start();
    const peer = await rawPeer(t, 'http', 'probe', { server });
    const call = await callTool(peer, 'steps');
    await accept(peer, (await nextAsk(peer)).id);
    const { result } = await call.reply();
    await server.kill();

    peer.url = (await start()).url;
    await again(peer, call, 'steps', {});
    assert.deepEqual((await call.reply()).result, result);
    assert.equal(JSON.parse(await resultOf(peer, 'counters')).steps, 0, 'nothing was done again');
    await again(peer, call, 'ask', {});
    assert.equal((await call.reply()).error.code, -32600, 'the same id with other params');
  });
}

test('11.13: a request that is sent to two nodes at once is one call', async (t) => {
  const { create } = stores.find(({ name }) => name === 'redis');
  const start = house(t, await create(t));
  const [a, b] = [await start(), await start()];
  for (let i = 0; i < 8; i++) {
    const peer = await rawPeer(t, 'http', 'probe', { server: a });
    const other = new HttpPeer(b.url);
    other.session = peer.session;
    t.after(() => other.close());
    const message = { id: `both-${i}`, method: 'tools/call', params: { name: 'steps', arguments: {} } };
    const [one, two] = await Promise.all([peer.send(message), other.send(message)]);
    const asks = await Promise.all([nextAsk(peer), nextAsk(other)]);
    assert.equal(asks[0].id, asks[1].id, 'one question');
    await accept(i % 2 ? peer : other, asks[0].id);
    const isReply = (reply) => reply.id === message.id && !reply.method;
    const [first, second] = await Promise.all([peer.next(isReply, 'a result'), other.next(isReply, 'and the other')]);
    assert.deepEqual(first, second, 'one result');
    await Promise.all([one.finished, two.finished]);
  }
  const steps = async (server) => JSON.parse(await resultOf(await rawPeer(t, 'http', 'probe', { server }), 'counters')).steps;
  assert.equal((await steps(a)) + (await steps(b)), 16, 'two steps of each call');
});

test('11.13: while a call waits at one node, its request finds it at another, and is refused there with other params', async (t) => {
  const { create } = stores.find(({ name }) => name === 'redis');
  const start = house(t, await create(t));
  const [a, b] = [await start(), await start()];
  const peer = await rawPeer(t, 'http', 'probe', { server: a });
  const call = await callTool(peer, 'ask');
  const ask = await nextAsk(peer);
  peer.url = b.url;
  const send = (tool, args) => peer.send({ id: call.id, method: 'tools/call', params: { name: tool, arguments: args } });
  await send('whoami', {});
  assert.equal((await call.reply()).error.code, -32600);
  await send('ask', {});
  assert.equal((await nextAsk(peer)).id, ask.id);
  await accept(peer, ask.id, { name: 'Ada' });
  assert.equal(textOf((await call.reply()).result), 'accept {"name":"Ada"}');
});

for (const answering of ['the other node', 'the node that asked']) {
  test(`11.4: an invalid answer through another node is asked again where the stream is (then through ${answering})`, async (t) => {
    const { create } = stores.find(({ name }) => name === 'redis');
    const start = house(t, await create(t));
    const [a, b] = [await start(), await start()];
    const peer = await rawPeer(t, 'http', 'probe', { server: a });
    const call = await callTool(peer, 'ask', { attempts: 5 });
    const first = await nextAsk(peer);
    peer.url = b.url;
    assert.equal((await accept(peer, first.id, { name: 7 })).status, 202);
    const second = await nextAsk(peer);
    assert.equal(second.id, `${first.id}.2`, 'on the stream of the first node');

    // What answers the first offer, repeated or new, ends nothing any more, wherever it comes to.
    for (const server of [a, b]) {
      peer.url = server.url;
      await accept(peer, first.id, { name: 7 });
      await accept(peer, first.id, { name: 'Eve' });
      await peer.send({ id: first.id, error: { code: -32601, message: 'no handler' } });
    }
    await pause(300);
    assert.deepEqual(peer.inbox.rest((message) => message.id === call.id || isAsk(message)), []);
    peer.url = answering === 'the other node' ? b.url : a.url;
    await accept(peer, second.id, { name: 'Ada' });
    assert.equal(textOf((await call.reply()).result), 'accept {"name":"Ada"}');
  });
}

for (const { name, create } of stores)
  test(`11.4: ${name}: a repeated answer to the first offer ends nothing after a restart`, async (t) => {
    const start = house(t, await create(t));
    const server = await start();
    const peer = await rawPeer(t, 'http', 'probe', { server });
    const call = await callTool(peer, 'ask', { attempts: 5 });
    const first = await nextAsk(peer);
    await accept(peer, first.id, { name: 7 });
    const second = await nextAsk(peer);
    await server.kill();

    peer.url = (await start()).url;
    await accept(peer, first.id, { name: 7 }); // before anybody has come back for the call
    await accept(peer, first.id, { name: 'Eve' });
    await resume(peer, idsOf(call.handle).at(-1));
    await accept(peer, first.id, { name: 'Eve' });
    await accept(peer, second.id, { name: 'Ada' });
    assert.equal(textOf((await call.reply()).result), 'accept {"name":"Ada"}');
  });

for (const version of ['2025-11-25', '2025-06-18'])
  test(`redis, ${version}: a cancel at another node counts, though the call has asked nothing yet and the store does not know it`, async (t) => {
    const start = house(t, await stores.find(({ name }) => name === 'redis').create(t));
    const [first, second] = [await start(), await start()];
    const peer = await rawPeer(t, 'http', 'probe', { server: first, version });
    let before = 0;
    for (const ms of [30, 300, 1500]) {
      const request = { id: `nap${ms}`, method: 'tools/call', params: { name: 'naps_and_asks', arguments: { ms } } };
      const began = Date.now();
      const sent = peer.send(request);
      await pause(ms / 3);
      peer.url = second.url;
      assert.equal((await peer.send({ method: 'notifications/cancelled', params: { requestId: request.id } })).status, 202);
      const intime = Date.now() - began < ms; // it cannot have asked by then
      peer.url = first.url;
      await (await sent).finished;
      const asks = peer.inbox.rest(isAsk).slice(before);
      before += asks.length;
      if (intime) assert.deepEqual(asks, [], 'nobody was asked');
      for (const { id } of asks) assert.equal((await accept(peer, id, { name: 'late' })).status, 409);
      peer.url = second.url;
      const again = await peer.send(request);
      assert.match(JSON.stringify(again.json), /was cancelled/);
      peer.url = first.url;
    }
  });

test('11.4: the last attempt that is invalid, through another node, ends the call', async (t) => {
  const { create } = stores.find(({ name }) => name === 'redis');
  const start = house(t, await create(t));
  const [a, b] = [await start(), await start()];
  const peer = await rawPeer(t, 'http', 'probe', { server: a });
  const call = await callTool(peer, 'ask', { attempts: 2 });
  const first = await nextAsk(peer);
  peer.url = b.url;
  await accept(peer, first.id, { name: 7 });
  const second = await nextAsk(peer);
  await accept(peer, second.id, { name: 7 });
  assert.match(JSON.stringify((await call.reply()).result), /INVALID_INPUT/);
});

describe('elsewhere', { concurrency: LANES }, () => tests.forEach(([name, fn]) => it(name, fn)));
