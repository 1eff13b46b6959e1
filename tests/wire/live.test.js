// A live provider behind a real server (live_server.c): its run stays open while its call waits. The test drives both sides, the
// provider by the tool `drive` at its home, and its people wherever they are asked.
import { describe, it } from 'node:test';
import assert from 'node:assert/strict';
import { answer, accept, callTool, nextAsk, pause, rawPeer, resultOf, textOf, within, PATIENCE_MS } from './harness.js';
import { Api, houses, openHouse, token } from './inbox.js';
import { Modern, accepted, retryOf } from './modern.js';

const LANES = 3;
const RACES = process.env.NOD_SOAK && process.env.NOD_SOAK !== '0' ? 1000 : 24; // of each house
const TASKS = { elicitation: {}, extensions: { 'io.modelcontextprotocol/tasks': {} } };

const tests = []; // they wait for servers, and run side by side
const test = (name, fn) => tests.push([name, fn]);

let tags = 0;
const newTag = () => `t${++tags}`;

// Whoever drives the sessions of a node.
async function driver(t, server) {
  const peer = await rawPeer(t, 'http', 'live-server', { server, token: token('ada'), capabilities: {} });
  const drive = (tag, does = 'heard') => resultOf(peer, 'drive', { tag, does });
  // Looks until it was told that.
  drive.until = (tag, wanted) => within(PATIENCE_MS, `${tag} hears ${wanted}`, (async () => {
    for (;;) {
      const heard = await drive(tag);
      if (wanted.test(heard)) return heard;
      await pause(10);
    }
  })());
  return drive;
}

// Until the session is there.
const begun = (drive, tag) => within(PATIENCE_MS, `${tag} has begun`, (async () => {
  for (;;) {
    if (!/no such session/.test(await drive(tag))) return;
    await pause(10);
  }
})());

// Calls the tool, drives its session, and resolves to the call: until something is sent there is no reply at all.
async function begin(drive, peer, tag, does, meta) {
  const calling = callTool(peer, 'live', { tag }, meta);
  await begun(drive, tag);
  await drive(tag, does);
  return calling;
}

async function house(t, of, options = {}) {
  const open = await openHouse(t, of, { program: 'live-server', env: { MCP_ELICITATION_SECRET: 'a secret that is surely long enough for this' }, ...options });
  return { ...open, drive: await driver(t, open.first) };
}

const client2025 = (t, server) => rawPeer(t, 'http', 'live-server', { server, token: token('ada') });
const takenBack = (peer, id) => peer.next((m) => m.method === 'notifications/cancelled' && m.params.requestId === id, `${id} is taken back`);
const asked = (peer, key) => nextAsk(peer, ({ params }) => params.message === key);

for (const of of houses) {
  test(`${of.name}, 2025: it asks two, commits a step, takes one back, reports, and ends before the other is answered`, async (t) => {
    const { first, drive } = await house(t, of);
    const peer = await client2025(t, first);
    const tag = newTag();
    const call = await begin(drive, peer, tag, 'ask a;ask b;commit', { progressToken: 'p' });
    const [a, b] = [await asked(peer, 'a'), await asked(peer, 'b')];
    await drive(tag, 'step s;commit');
    await drive.until(tag, /^committed committed$/);
    await drive(tag, 'back a');
    const gone = await takenBack(peer, a.id);
    assert.equal(gone.params.reason, 'It is no longer needed');
    await drive.until(tag, /a=withdrawn$/);
    await drive(tag, 'progress 3');
    const progress = await peer.next((m) => m.method === 'notifications/progress' && m.params.progress === 3, 'progress while b waits');
    assert.equal(progress.params.progressToken, 'p');
    await drive(tag, 'end enough');
    const { result } = await call.reply();
    assert.equal(textOf(result), 'enough');
    await takenBack(peer, b.id);
    assert.match(await drive.until(tag, /ended=/), /^committed committed a=withdrawn ended=OK$/);
  });

  test(`${of.name}, 2025: it is told each answer, asks on beside what waits, and is begun once`, async (t) => {
    const { first, drive } = await house(t, of);
    const peer = await client2025(t, first);
    const tag = newTag();
    const call = await begin(drive, peer, tag, 'ask a;ask b;commit');
    const [a, b] = [await asked(peer, 'a'), await asked(peer, 'b')];
    await accept(peer, b.id, { n: 1 });
    await drive.until(tag, /b=accepted$/);
    await drive(tag, 'ask c;commit');
    const c = await asked(peer, 'c');
    await answer(peer, a.id, { action: 'decline' });
    await drive.until(tag, /a=declined$/);
    await answer(peer, c.id, { action: 'cancel' });
    await drive.until(tag, /c=cancelled$/);
    await drive(tag, 'step s;commit');
    await drive.until(tag, /committed$/);
    await drive(tag, 'end all');
    assert.equal(textOf((await call.reply()).result), 'all');
  });

  test(`${of.name}, 2026: it goes on while its client is away, and the next round has what was asked meanwhile`, async (t) => {
    const { first, drive } = await house(t, of);
    const client = new Modern(first.url, { token: token('ada') });
    const tag = newTag();
    const beginning = client.asked('live', { tag });
    await begun(drive, tag);
    await drive(tag, 'ask a;ask b;commit');
    const one = await beginning;
    assert.deepEqual(Object.values(one.inputRequests).map(({ params }) => params.message).sort(), ['a', 'b']);
    await drive(tag, 'ask c;step s;commit');
    await drive(tag, 'back b');
    await drive.until(tag, /b=withdrawn/);
    const key = (round, message) => Object.keys(round.inputRequests).find((name) => round.inputRequests[name].params.message === message);
    const two = await client.asked('live', { tag }, retryOf(one, { [key(one, 'a')]: accepted({ n: 1 }) }));
    assert.deepEqual(Object.values(two.inputRequests).map(({ params }) => params.message), ['c'], 'b was taken back, and c is new');
    await drive.until(tag, /a=accepted/);
    await drive(tag, 'end away');
    await drive.until(tag, /ended=OK/);
    assert.equal(await client.ended('live', { tag }, retryOf(two, { [key(two, 'c')]: accepted({ n: 2 }) })), 'away');
    assert.equal(await client.ended('live', { tag }, retryOf(one, {})), 'away', 'an older round finds the end as well');
  });

  test(`${of.name}, 2026: the last answer is told, and the end comes to the retry that brought it`, async (t) => {
    const { first, drive } = await house(t, of);
    const client = new Modern(first.url, { token: token('ada') });
    const tag = newTag();
    const beginning = client.asked('live', { tag });
    await begun(drive, tag);
    await drive(tag, 'ask a;commit');
    const one = await beginning;
    const ending = client.ended('live', { tag }, retryOf(one, { [Object.keys(one.inputRequests)[0]]: accepted({ n: 1 }) }));
    await drive.until(tag, /a=accepted$/);
    await drive(tag, 'step s;commit');
    await drive.until(tag, /committed$/);
    await drive(tag, 'end all');
    assert.equal(await ending, 'all');
  });

  test(`${of.name}, task: questions come and go while the task waits, and it ends with one open`, async (t) => {
    const { first, drive } = await house(t, of);
    const client = new Modern(first.url, { token: token('ada'), capabilities: TASKS });
    const tag = newTag();
    const { result: task } = await client.call('live_task', { tag });
    assert.equal(task.resultType, 'task');
    const get = async () => (await client.request('tasks/get', { taskId: task.taskId })).result;
    const until = (what, wanted) => within(PATIENCE_MS, what, (async () => {
      for (;;) {
        const now = await get();
        if (wanted(now)) return now;
        await pause(10);
      }
    })());
    const open = ({ inputRequests = {} }) => Object.values(inputRequests).map(({ params }) => params.message).sort().join();
    await begun(drive, tag);
    await drive(tag, 'ask a;ask b;commit');
    const asking = await until('two questions', (now) => open(now) === 'a,b');
    assert.equal(asking.status, 'input_required');
    await drive(tag, 'ask c;commit');
    const three = await until('three questions', (now) => open(now) === 'a,b,c');
    await drive(tag, 'back b');
    await until('b is gone', (now) => open(now) === 'a,c');
    const key = Object.keys(three.inputRequests).find((name) => three.inputRequests[name].params.message === 'a');
    await client.request('tasks/update', { taskId: task.taskId, inputResponses: { [key]: accepted({ n: 1 }) } });
    await drive.until(tag, /a=accepted/);
    await until('only c is left', (now) => open(now) === 'c');
    await drive(tag, 'end done');
    const done = await until('its end', ({ status }) => status === 'completed');
    assert.equal(textOf(done.result), 'done');
  });

  test(`${of.name}, inbox: answered at the last node, taken back and ended at the first`, async (t) => {
    const { first, last, drive } = await house(t, of);
    const peer = await rawPeer(t, 'http', 'live-server', { server: first, token: token('ada'), capabilities: {} });
    const api = new Api(last, 'ada');
    const tag = newTag();
    const call = await begin(drive, peer, tag, 'ask a;ask b;ask c;commit');
    const items = await api.pending(3);
    const id = (message) => items.find((item) => item.message === message).id;
    const reply = await api.resolve(id('a'), { action: 'accept', content: { n: 1 } });
    assert.equal(reply.status, 200, reply.text);
    await drive.until(tag, /a=accepted$/);
    await drive(tag, 'back b');
    await drive.until(tag, /b=withdrawn$/);
    assert.deepEqual((await api.list()).json.items.map(({ message }) => message), ['c']);
    const late = await api.resolve(id('b'), { action: 'accept', content: { n: 1 } });
    assert.equal(late.status, 409, late.text);
    await drive(tag, 'end done');
    assert.equal(textOf((await call.reply()).result), 'done');
    assert.deepEqual((await api.list()).json.items, []);
    assert.equal((await api.resolve(id('c'), { action: 'decline' })).status, 409);
  });

  // Its end is said at home, and the answer at the last node, at the same moment.
  test(`${of.name}: ${RACES} races of its end against an answer`, async (t) => {
    const { first, last, drive } = await house(t, of);
    const peer = await rawPeer(t, 'http', 'live-server', { server: first, token: token('ada'), capabilities: {} });
    const api = new Api(last, 'ada');
    let won = 0;
    for (let i = 0; i < RACES; i++) {
      const tag = newTag();
      const call = await begin(drive, peer, tag, `ask ${tag};commit`);
      const [item] = await api.pending();
      const answering = () => api.resolve(item.id, { action: 'accept', content: { n: i } });
      const ending = () => drive(tag, 'end mine');
      const [reply] = i % 2 ? await Promise.all([answering(), ending()])
        : (await Promise.all([ending(), answering()])).reverse();
      assert.equal(textOf((await call.reply()).result), 'mine', 'one end, which is its own');
      assert.ok(reply.status === 200 || reply.status === 409, reply.text);
      won += reply.status === 200;
      if (reply.status === 409) assert.match(reply.text, /withdrawn/i);
      assert.deepEqual((await api.list()).json.items, [], 'nothing is left up');
      assert.equal((await api.one(item.id)).json.status ?? (await api.one(item.id)).json.state, reply.status === 200 ? 'accepted' : 'withdrawn');
    }
    t.diagnostic(`${won} answers counted, ${RACES - won} came too late`);
  });
}

const redis = houses.find(({ nodes }) => nodes === 2);

// The clients come to a node that is not its home.
test('two nodes of redis, 2026: a retry at the other node brings its answer home, and is given the end', async (t) => {
  const { first, last, drive } = await house(t, redis);
  const client = new Modern(first.url, { token: token('ada') });
  const tag = newTag();
  const beginning = client.asked('live', { tag });
  await begun(drive, tag);
  await drive(tag, 'ask a;ask b;commit');
  const one = await beginning;
  const key = (message) => Object.keys(one.inputRequests).find((name) => one.inputRequests[name].params.message === message);
  const ending = client.ended('live', { tag }, retryOf(one, { [key('a')]: accepted({ n: 1 }), [key('b')]: accepted({ n: 2 }) }), { url: last.url });
  await drive.until(tag, /a=accepted/);
  await drive.until(tag, /b=accepted/);
  await drive(tag, 'step s;commit');
  await drive(tag, 'end home');
  assert.equal(await ending, 'home');
});

test('two nodes of redis, 2026: a retry at the other node with half of the answers is asked what is left and what is new', async (t) => {
  const { first, last, drive } = await house(t, redis);
  const client = new Modern(first.url, { token: token('ada') });
  const tag = newTag();
  const beginning = client.asked('live', { tag });
  await begun(drive, tag);
  await drive(tag, 'ask a;ask b;commit');
  const one = await beginning;
  await drive(tag, 'ask c;commit');
  await drive.until(tag, /^committed committed$/);
  const key = (round, message) => Object.keys(round.inputRequests).find((name) => round.inputRequests[name].params.message === message);
  const two = await client.asked('live', { tag }, retryOf(one, { [key(one, 'a')]: accepted({ n: 1 }) }), { url: last.url });
  assert.deepEqual(Object.values(two.inputRequests).map(({ params }) => params.message).sort(), ['b', 'c']);
  await drive.until(tag, /a=accepted$/);
  const ending = client.ended('live', { tag }, retryOf(two, { [key(two, 'b')]: accepted({ n: 1 }), [key(two, 'c')]: accepted({ n: 1 }) }), { url: last.url });
  await drive.until(tag, /b=accepted/);
  await drive.until(tag, /c=accepted/);
  await drive(tag, 'end home');
  assert.equal(await ending, 'home');
});

test('two nodes of redis, 2025: a client that takes its stream up at the other node is asked on there, and given the end', async (t) => {
  const { first, last, drive } = await house(t, redis);
  const peer = await client2025(t, first);
  const tag = newTag();
  const call = await begin(drive, peer, tag, 'ask a;commit');
  const a = await asked(peer, 'a');
  const seen = call.handle.events.filter((event) => event.id !== undefined).at(-1).id;
  call.handle.drop();
  peer.url = last.url;
  const stream = await peer.request('GET', { headers: { 'Last-Event-ID': seen }, stream: 'resumed' });
  await stream.arrived.next(() => true, 'it is taken up there');
  await drive(tag, 'ask b;commit');
  const b = await asked(peer, 'b');
  await accept(peer, a.id, { n: 1 });
  await drive.until(tag, /a=accepted$/);
  await accept(peer, b.id, { n: 1 });
  await drive.until(tag, /b=accepted$/);
  await drive(tag, 'end home');
  assert.equal(textOf((await call.reply()).result), 'home');
});

test('two nodes of redis: its home is killed while it waits, and the answer ends it in OUTCOME_UNKNOWN', async (t) => {
  const { first, last, drive } = await house(t, redis);
  const client = new Modern(first.url, { token: token('ada') });
  const tag = newTag();
  const beginning = client.asked('live', { tag });
  await begun(drive, tag);
  await drive(tag, 'ask a;commit');
  const one = await beginning;
  await first.kill();
  const reply = await client.call('live', { tag }, retryOf(one, { [Object.keys(one.inputRequests)[0]]: accepted({ n: 1 }) }), { url: last.url });
  assert.ok(reply.result?.isError, reply.text);
  assert.match(reply.text, /OUTCOME_UNKNOWN/);
});

describe('a live run', { concurrency: LANES }, () => {
  for (const [name, fn] of tests) it(name, fn);
});
