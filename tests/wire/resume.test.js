// Streams that break and are resumed: nothing is lost, nothing comes twice.
import test from 'node:test';
import assert from 'node:assert/strict';
import http from 'node:http';
import { once } from 'node:events';
import { Inbox, connect, rawPeer, callTool, nextAsk, accept, resultOf, startHttp, textOf, pause, within, PATIENCE_MS } from './harness.js';
import { connectModern } from './modern.js';
import { stores } from './stores.js';

const lastId = (events) => events.filter((event) => event.id !== undefined).at(-1).id;
const messages = (events) => events.filter((event) => event.data).map((event) => JSON.parse(event.data));

// Takes up the stream on which `event` was the last one seen.
const resume = (peer, event) => peer.request('GET', { headers: { 'Last-Event-ID': event }, stream: 'resumed' });

test('the stream of a call that asks begins with a priming event that has an id and no data', async (t) => {
  const peer = await rawPeer(t, 'http', 'probe');
  const call = await callTool(peer, 'confirm');
  const ask = await nextAsk(peer);
  const [first] = call.handle.events;
  assert.ok(first.id, 'an id');
  assert.ok(!first.data, 'no data');
  assert.ok(Number(first.retry) > 0, 'and says after how long to come back');
  await accept(peer, ask.id, {});
  await call.reply();
  const ids = call.handle.events.filter((event) => event.id).map((event) => event.id);
  assert.equal(new Set(ids).size, ids.length, 'every id is another one');
});

test('a question asked before the connection dropped is answered after it, and the result waits', async (t) => {
  const peer = await rawPeer(t, 'http', 'probe');
  const call = await callTool(peer, 'ask');
  const ask = await nextAsk(peer);
  call.handle.drop();
  await call.handle.finished;
  const seen = lastId(call.handle.events);
  await accept(peer, ask.id, { name: 'Ada' });

  const again = await resume(peer, seen);
  assert.equal(again.status, 200);
  assert.equal(textOf((await call.reply()).result), 'accept {"name":"Ada"}');
  assert.equal(await within(PATIENCE_MS, 'the stream ends after the result', again.finished), 'ended');
  assert.deepEqual(messages(again.events).map((message) => message.id), [call.id], 'the result, once, and no question again');
});

test('a client that has seen only the priming event is sent the question again, under the same id', async (t) => {
  const peer = await rawPeer(t, 'http', 'probe');
  const call = await callTool(peer, 'ask');
  const ask = await nextAsk(peer);
  call.handle.drop();
  await call.handle.finished;

  const again = await resume(peer, call.handle.events[0].id);
  const same = await nextAsk(peer);
  assert.equal(same.id, ask.id);
  await accept(peer, same.id, { name: 'Ada' });
  assert.equal(textOf((await call.reply()).result), 'accept {"name":"Ada"}');
  await again.finished;
  assert.equal(JSON.parse(await resultOf(peer, 'counters')).runs, 2);
});

test('the result waits for a client that comes back late, and comes once more to one that asks again', async (t) => {
  const peer = await rawPeer(t, 'http', 'probe');
  const call = await callTool(peer, 'confirm');
  const ask = await nextAsk(peer);
  call.handle.drop();
  await call.handle.finished;
  await accept(peer, ask.id, {});
  await pause(300);
  for (let i = 0; i < 2; i++) {
    const again = await resume(peer, lastId(call.handle.events));
    assert.equal(textOf((await call.reply()).result), 'yes');
    await again.finished;
  }
});

test('the next question of a call goes to the stream that was taken up', async (t) => {
  const peer = await rawPeer(t, 'http', 'probe');
  const call = await callTool(peer, 'three');
  const first = await nextAsk(peer);
  call.handle.drop();
  await call.handle.finished;
  const again = await resume(peer, lastId(call.handle.events));
  await accept(peer, first.id, { word: 'a' });
  await accept(peer, (await nextAsk(peer)).id, { word: 'b' });
  await accept(peer, (await nextAsk(peer)).id, { word: 'c' });
  assert.equal(textOf((await call.reply()).result), 'a b c');
  assert.equal(await again.finished, 'ended');
  assert.equal(messages(again.events).length, 3, 'two questions and the result');
});

test('a stream that was taken up can be dropped and taken up again', async (t) => {
  const peer = await rawPeer(t, 'http', 'probe');
  const call = await callTool(peer, 'three');
  let handle = call.handle;
  for (const word of ['a', 'b', 'c']) {
    const ask = await nextAsk(peer);
    handle.drop();
    await handle.finished;
    const seen = lastId(handle.events);
    await accept(peer, ask.id, { word });
    handle = await resume(peer, seen);
    assert.equal(handle.status, 200);
  }
  assert.equal(textOf((await call.reply()).result), 'a b c');
});

test('an event id of another session, or of nobody, gives nothing away', async (t) => {
  const peer = await rawPeer(t, 'http', 'probe');
  const call = await callTool(peer, 'confirm');
  const ask = await nextAsk(peer);
  const other = await rawPeer(t, 'http', 'probe', { server: peer.server });
  for (const id of [call.handle.events[0].id, 'nonsense', '', '0', 'x'.repeat(4000)]) {
    const answered = await resume(other, id);
    assert.ok(answered.status >= 400 || answered.streamed, `status ${answered.status}`);
    await pause(50);
    assert.deepEqual(messages(answered.events ?? []), []);
    answered.drop();
  }
  await accept(peer, ask.id, {});
  assert.equal(textOf((await call.reply()).result), 'yes');
});

test('taking up one stream does not bring the messages of another', async (t) => {
  const peer = await rawPeer(t, 'http', 'probe');
  const one = await callTool(peer, 'ask', { message: 'one' });
  const askOne = await nextAsk(peer);
  const two = await callTool(peer, 'ask', { message: 'two' });
  const askTwo = await nextAsk(peer);
  one.handle.drop();
  await one.handle.finished;
  const again = await resume(peer, one.handle.events[0].id);
  await nextAsk(peer);
  await accept(peer, askTwo.id, { name: 'Two' });
  await two.reply();
  await accept(peer, askOne.id, { name: 'One' });
  await one.reply();
  await again.finished;
  assert.deepEqual(messages(again.events).map((message) => message.id), [askOne.id, one.id]);
});

test('the official client comes back by itself, and gets its result', async (t) => {
  const session = await connect(t, 'http', 'probe');
  // The first stream of a call breaks in the middle, as a proxy would break it.
  const { fetch: original } = globalThis;
  const broken = new AbortController();
  let cut = false;
  session.transport._fetch = async (url, init) => {
    const response = await original(url, init);
    if (cut || !String(init?.body).includes('"tools/call"')) return response;
    cut = true;
    const { readable, writable } = new TransformStream();
    response.body.pipeTo(writable, { signal: broken.signal }).catch(() => {});
    return new Response(readable, { status: response.status, headers: response.headers });
  };
  const call = session.text('ask');
  const question = await session.question();
  broken.abort();
  await pause(50);
  question.accept({ name: 'Ada' });
  assert.equal(await call, 'accept {"name":"Ada"}');
  assert.equal(session.asked.length, 1);
});

// A proxy that breaks event streams when it is told to. `streams` has a { method, last, name } for each that began, with the name of the
// stream that it takes up or begins; it leads to `to`, which may change.
async function cutter(t, to) {
  const proxy = { to, streams: new Inbox() };
  const open = new Set();
  const server = http.createServer((request, response) => {
    const passed = http.request(new URL(request.url, proxy.to), { method: request.method, headers: request.headers }, (reply) => {
      response.writeHead(reply.statusCode, reply.headers);
      response.flushHeaders();
      reply.pipe(response);
      reply.on('error', () => response.destroy());
      if (!reply.headers['content-type']?.startsWith('text/event-stream')) return;
      open.add(response);
      response.on('close', () => open.delete(response));
      const last = request.headers['last-event-id'];
      const nameOf = (text) => /(\S+)_\d+/.exec(text)?.[1];
      reply.once('data', (data) => proxy.streams.push({ method: request.method, last, name: nameOf(last ?? String(data).replace(/^id: /, '')) }));
    });
    passed.on('error', () => response.destroy());
    request.pipe(passed);
    response.on('close', () => passed.destroy());
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  proxy.url = `http://127.0.0.1:${server.address().port}/mcp`;
  proxy.cut = () => open.forEach((response) => response.destroy());
  return proxy;
}

const officials = {
  'the official client, v1': (t, server) => connect(t, 'http', 'probe', { server }),
  'the official client, v2': (t, server) => connectModern(t, 'http', 'probe', { server, legacy: true }),
};
const places = { 'one node': 1, 'two nodes of redis': 2 };

for (const [client, open] of Object.entries(officials))
  for (const [place, nodes] of Object.entries(places))
    test(`${client}, ${place}: gets its result although the stream drops twice, before any event and after one`, async (t) => {
      const store = nodes > 1 ? (await stores.find(({ name }) => name === 'redis').create(t)).address : undefined;
      const servers = [];
      for (let i = 0; i < nodes; i++) servers.push(await startHttp(t, 'probe', { env: { MCP_ELICITATION_SECRET: 'a secret that is surely long enough for this' }, args: store ? ['--store', store] : [] }));
      const proxy = await cutter(t, servers[0].url);
      const session = await open(t, { ...servers[0], url: proxy.url });
      const call = session.text('three', {}, { timeout: 3 * PATIENCE_MS });
      call.catch(() => {});
      const { name } = await proxy.streams.next(({ method }) => method === 'POST', 'the stream of the call');
      const isOfCall = (stream) => stream.last && stream.name === name;
      const first = await session.question();
      for (let drops = 0; drops < 2; drops++) {
        proxy.to = servers[(drops + 1) % nodes].url;
        proxy.cut();
        await proxy.streams.next(isOfCall, 'it comes back with its id');
      }
      first.accept({ word: 'a' });
      (await session.question()).accept({ word: 'b' });
      const third = await session.question();
      proxy.to = servers[1 % nodes].url;
      proxy.cut();
      await proxy.streams.next(isOfCall, 'it comes back with its id');
      third.accept({ word: 'c' });
      assert.equal(await call, 'a b c');
      assert.equal(session.asked.length, 3, 'nobody was asked twice');
    });

test('redis: a round that is taken up at another node comes in the order in which it was asked, however often its stream breaks', async (t) => {
  const { address } = await stores.find(({ name }) => name === 'redis').create(t);
  const servers = [];
  for (let i = 0; i < 2; i++) servers.push(await startHttp(t, 'probe', { env: { MCP_ELICITATION_SECRET: 'a secret that is surely long enough for this' }, args: ['--store', address] }));
  const place = ({ id }) => Number(/_(\d+)$/.exec(id)[1]);
  const questions = (events) => events.filter(({ data }) => data?.includes('elicitation/create'));
  for (let i = 0; i < 10; i++) {
    const peer = await rawPeer(t, 'http', 'probe', { server: servers[0] });
    const call = await callTool(peer, 'tickets');
    for (let asked = 0; asked < 6; asked++) await nextAsk(peer);
    call.handle.drop();
    peer.url = servers[1].url;
    const again = await resume(peer, call.handle.events[0].id);
    for (let asked = 0; asked < 6; asked++) await nextAsk(peer);
    const places = questions(again.events).map(place);
    assert.deepEqual(places, [...places].sort((a, b) => a - b), 'in the order of their places');
    again.drop();
    peer.url = servers[0].url;
    const third = await resume(peer, questions(again.events)[1].id);
    for (let asked = 0; asked < 4; asked++) await nextAsk(peer);
    assert.deepEqual(questions(third.events).map(place), places.slice(2), 'what is behind the last that was seen, and all of it');
    await peer.send({ method: 'notifications/cancelled', params: { requestId: call.id } });
  }
});

test('a stream that was taken up begins with the last id, without data, unless the client has everything', async (t) => {
  const peer = await rawPeer(t, 'http', 'probe');
  const call = await callTool(peer, 'three');
  await nextAsk(peer);
  const seen = lastId(call.handle.events);
  let handle = call.handle;
  for (let i = 0; i < 3; i++) {
    handle.drop();
    handle = await resume(peer, seen);
    const first = await handle.arrived.next(() => true, 'the first event');
    assert.equal(first.id, seen);
    assert.ok(!first.data);
    assert.ok(Number(first.retry) > 0);
  }
  await peer.send({ method: 'notifications/cancelled', params: { requestId: call.id } });
  assert.equal(await within(PATIENCE_MS, 'its end', handle.finished), 'ended');
  const nothing = await resume(peer, lastId(handle.events));
  if (nothing.streamed) {
    assert.equal(await within(PATIENCE_MS, 'its end', nothing.finished), 'ended');
    assert.deepEqual(nothing.events.filter(({ id }) => id), [], 'who has everything is not told to come back');
  }
});

test('2025-06-18: a stream that was taken up has no event without data; with a progress token it begins with an id all the same', async (t) => {
  const peer = await rawPeer(t, 'http', 'probe', { version: '2025-06-18' });
  for (const meta of [undefined, { progressToken: 'p' }]) {
    const call = await callTool(peer, 'ask', {}, meta);
    const ask = await nextAsk(peer);
    call.handle.drop();
    const again = await resume(peer, lastId(call.handle.events));
    if (meta) {
      const first = await again.arrived.next(() => true, 'the first event');
      assert.ok(first.id);
      assert.equal(JSON.parse(first.data).method, 'notifications/progress');
    }
    await accept(peer, ask.id, { name: 'Ada' });
    assert.equal(textOf((await call.reply()).result), 'accept {"name":"Ada"}');
    await again.finished;
    assert.ok(again.events.every(({ data }) => data), 'no event without data');
  }
});

test('a GET stream that was taken up begins with the last id', async (t) => {
  const peer = await rawPeer(t, 'http', 'probe');
  const stream = await peer.request('GET');
  const { id } = await stream.arrived.next((event) => event.id, 'its id');
  stream.drop();
  const again = await resume(peer, id);
  assert.equal((await again.arrived.next(() => true, 'the first event')).id, id);
});

test('a call that neither asks nor tells is answered with plain JSON', async (t) => {
  const peer = await rawPeer(t, 'http', 'probe');
  const call = await callTool(peer, 'whoami');
  assert.match(call.handle.headers.get('content-type'), /^application\/json/);
});

const isListChanged = (event) => event.data?.includes('tools/list_changed');

test('a GET stream carries what belongs to no call, and takes up where it broke off', async (t) => {
  const peer = await rawPeer(t, 'http', 'probe');
  const stream = await peer.request('GET');
  assert.equal(stream.status, 200);
  assert.ok(stream.streamed);
  await resultOf(peer, 'add_tool');
  const seen = await stream.arrived.next(isListChanged, 'list_changed on the GET stream');
  assert.ok(seen.id, 'with an id to come back with');
  stream.drop();
  await stream.finished;
  await resultOf(peer, 'remove_tool'); // while nobody listens
  const again = await resume(peer, seen.id);
  await again.arrived.next(isListChanged, 'what was missed');
  again.drop();
});

test('a message goes to one stream, however many are open', async (t) => {
  const peer = await rawPeer(t, 'http', 'probe');
  const streams = [await peer.request('GET'), await peer.request('GET')].filter(({ status }) => status === 200);
  assert.ok(streams.length >= 1);
  await resultOf(peer, 'add_tool');
  await peer.next((message) => message.method === 'notifications/tools/list_changed', 'list_changed');
  await resultOf(peer, 'whoami');
  assert.equal(streams.flatMap(({ events }) => events).filter(isListChanged).length, 1);
  for (const stream of streams) stream.drop();
});
