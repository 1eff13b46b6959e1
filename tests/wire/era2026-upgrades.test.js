// A new version of a server finds waiting calls: the texts of their tools may change, their input may not.
import test from 'node:test';
import assert from 'node:assert/strict';
import path from 'node:path';
import { accept, callTool, nextAsk, pause, rawPeer, resultOf, startHttp, textOf, within, PATIENCE_MS } from './harness.js';
import { Modern, deedsFile, retryOf, scratchFolder, word } from './modern.js';
import { stores } from './stores.js';

const SECRET = 'a secret that is surely long enough for this';

async function lasting(t) {
  const deeds = deedsFile(t);
  const file = path.join(scratchFolder(t), 'nod.db');
  const start = (env) => startHttp(t, 'probe', { env: { PROBE_FILE: deeds.file, MCP_ELICITATION_SECRET: SECRET, ...env }, args: ['--store', `sqlite:${file}`] });
  const house = { deeds, server: await start({}) };
  house.modern = new Modern(house.server.url);
  house.upgrade = async (env) => {
    await house.server.stop();
    house.server = await start(env);
    house.modern.url = house.server.url;
  };
  return house;
}

const toolOf = async (modern) => (await modern.request('tools/list')).result.tools.find(({ name }) => name === 'renewed');

test('11.14: another description, title, annotation, or wording in the schema leaves what waits alone', async (t) => {
  const house = await lasting(t);
  const before = await toolOf(house.modern);
  const asked = await house.modern.asked('renewed', { for: 'me' });
  await house.upgrade({ PROBE_WORDING: '1' });
  const after = await toolOf(house.modern);
  assert.notEqual(after.description, before.description);
  assert.notEqual(after.title, before.title);
  assert.notDeepEqual(after.annotations, before.annotations);
  assert.notDeepEqual(after.inputSchema, before.inputSchema);
  assert.equal(await house.modern.ended('renewed', { for: 'me' }, retryOf(asked, { word: word('it') })), 'renewed it');
  assert.deepEqual(house.deeds.lines(), ['it']);
});

for (const [what, env] of [['input schema', { PROBE_INPUT: '1' }], ['version', { PROBE_VERSION: '2' }]]) {
  test(`11.14: another ${what} ends the call with an error that says so; nothing is done`, async (t) => {
    const house = await lasting(t);
    const asked = await house.modern.asked('renewed', { for: 'me' });
    await house.upgrade(env);
    for (let i = 0; i < 2; i++) {
      const reply = await house.modern.call('renewed', { for: 'me' }, retryOf(asked, { word: word('it') }));
      assert.equal(reply.result?.isError, true, reply.text);
      assert.equal(reply.result._meta.code, 'TOOL_CHANGED');
      assert.match(textOf(reply.result), /renewed has changed/);
    }
    await house.upgrade({}); // and back: it has ended
    const reply = await house.modern.call('renewed', { for: 'me' }, retryOf(asked, { word: word('it') }));
    assert.equal(reply.result?.isError, true, reply.text);
    assert.deepEqual(house.deeds.lines(), []);
  });
}

test('11.14: 2026: a tool that is gone ends its call with an error that says so', async (t) => {
  const house = await lasting(t);
  const asked = await house.modern.asked('renewed', { for: 'me' });
  await house.upgrade({ PROBE_WITHOUT: 'renewed' });
  const reply = await house.modern.call('renewed', { for: 'me' }, retryOf(asked, { word: word('it') }));
  assert.equal(reply.error?.code, -32602, reply.text);
  assert.match(reply.error.message, /renewed is no longer there/);
  const other = await house.modern.call('renewed', { for: 'you' }, retryOf(asked, { word: word('it') }));
  assert.match(other.error.message, /Unknown tool/); // a state that is not its own tells nothing
  await house.upgrade({}); // and it stays so when the tool is back
  const late = await house.modern.call('renewed', { for: 'me' }, retryOf(asked, { word: word('it') }));
  assert.equal(late.result?.isError, true, late.text);
  assert.equal(late.result._meta.code, 'TOOL_GONE');
  assert.deepEqual(house.deeds.lines(), []);
});

const idsOf = (handle) => handle.events.filter((event) => event.id !== undefined).map((event) => event.id);

async function asked2025(t, house) {
  const peer = await rawPeer(t, 'http', 'probe', { server: house.server });
  const call = await callTool(peer, 'renewed', { for: 'me' });
  return { peer, call, ask: await nextAsk(peer) };
}

function assertGone(message, house) {
  assert.equal(message.result?.isError, true, JSON.stringify(message));
  assert.equal(message.result._meta.code, 'TOOL_GONE');
  assert.match(textOf(message.result), /renewed is no longer there/);
  assert.deepEqual(house.deeds.lines(), []);
}

test('11.14: 2025: a tool that is gone ends its call when the client comes back', async (t) => {
  const house = await lasting(t);
  const { peer, call } = await asked2025(t, house);
  await house.upgrade({ PROBE_WITHOUT: 'renewed' });
  peer.url = house.server.url;
  const back = await peer.request('GET', { headers: { 'Last-Event-ID': idsOf(call.handle).at(-1) }, stream: 'resumed' });
  assert.equal(back.status, 200);
  assertGone(await call.reply(), house);
});

test('11.14: 2025: an answer for a tool that is gone is not taken, and its call has ended', async (t) => {
  const house = await lasting(t);
  const { peer, call, ask } = await asked2025(t, house);
  await house.upgrade({ PROBE_WITHOUT: 'renewed' });
  peer.url = house.server.url;
  const posted = await peer.request('POST', { body: { jsonrpc: '2.0', id: ask.id, result: word('it') } });
  assert.equal(posted.status, 409);
  const back = await peer.request('GET', { headers: { 'Last-Event-ID': idsOf(call.handle).at(-1) }, stream: 'resumed' });
  assert.equal(back.status, 200);
  assertGone(await call.reply(), house);
});

// --- what waits for a tool that has changed, on every store that outlives a process ---

const CHANGES = [['input schema', { PROBE_INPUT: '1' }], ['version', { PROBE_VERSION: '2' }]];
const TASKS = { elicitation: {}, extensions: { 'io.modelcontextprotocol/tasks': {} } };

function assertChanged(result, house) {
  assert.equal(result?.isError, true, JSON.stringify(result));
  assert.equal(result._meta.code, 'TOOL_CHANGED');
  assert.match(textOf(result), /has changed since this call asked/);
  assert.deepEqual(house.deeds.lines(), []);
}

async function taskAsked(house) {
  const modern = new Modern(house.server.url, { capabilities: TASKS });
  const begun = await modern.call('renewed_task', { for: 'me' });
  const taskId = begun.result?.taskId;
  assert.ok(taskId, begun.text);
  const until = async (wanted) => {
    for (const end = Date.now() + PATIENCE_MS; ;) {
      const { result, text } = await modern.request('tasks/get', { taskId });
      if (result && wanted(result)) return result;
      assert.ok(Date.now() < end, text);
      await pause(20);
    }
  };
  await until(({ status }) => status === 'input_required');
  const update = () => modern.request('tasks/update', { taskId, inputResponses: { word: word('it') } });
  return { modern, until, update };
}

for (const store of ['sqlite', 'redis'])
  for (const [what, env] of CHANGES) {
    const settle = async (t) => (store === 'redis' ? settled(await shared(t)) : lasting(t));

    test(`11.27: ${store}: 2025: another ${what} ends the call when the client comes back`, async (t) => {
      const house = await settle(t);
      const { peer, call } = await asked2025(t, house);
      await house.upgrade(env);
      peer.url = house.server.url;
      const back = await peer.request('GET', { headers: { 'Last-Event-ID': idsOf(call.handle).at(-1) }, stream: 'resumed' });
      assert.equal(back.status, 200);
      assertChanged((await call.reply()).result, house);
      await house.close?.();
    });

    test(`11.27: ${store}: 2025: an answer to a call of another ${what} is not taken`, async (t) => {
      const house = await settle(t);
      const { peer, call, ask } = await asked2025(t, house);
      await house.upgrade(env);
      peer.url = house.server.url;
      const posted = await peer.request('POST', { body: { jsonrpc: '2.0', id: ask.id, result: word('it') } });
      assert.equal(posted.status, 409);
      const back = await peer.request('GET', { headers: { 'Last-Event-ID': idsOf(call.handle).at(-1) }, stream: 'resumed' });
      assert.equal(back.status, 200);
      assertChanged((await call.reply()).result, house);
      await house.close?.();
    });

    test(`11.27: ${store}: an answer to a task of another ${what} is not taken, and the task ends`, async (t) => {
      const house = await settle(t);
      const task = await taskAsked(house);
      await house.upgrade(env);
      task.modern.url = house.server.url;
      const reply = await task.update();
      assert.equal(reply.result?.resultType, 'complete', reply.text); // what nothing waits for is ignored
      const end = await task.until(({ status }) => status !== 'input_required' && status !== 'working');
      assertChanged(end.result, house);
      await house.close?.();
    });
  }

for (const store of ['sqlite', 'redis'])
  test(`11.27: ${store}: other words leave what waits alone`, async (t) => {
    const house = store === 'redis' ? settled(await shared(t)) : await lasting(t);
    const { peer, call, ask } = await asked2025(t, house);
    const task = await taskAsked(house);
    await house.upgrade({ PROBE_WORDING: '1' });
    peer.url = task.modern.url = house.server.url;
    await accept(peer, ask.id, { word: 'one' });
    assert.equal((await peer.request('GET', { headers: { 'Last-Event-ID': idsOf(call.handle).at(-1) }, stream: 'resumed' })).status, 200);
    assert.equal(textOf((await call.reply()).result), 'renewed one');
    const reply = await task.update();
    assert.equal(reply.result?.resultType, 'complete', reply.text);
    assert.equal(textOf((await task.until(({ status }) => status === 'completed')).result), 'renewed it');
    assert.deepEqual(house.deeds.lines(), ['one', 'it']);
    await house.close?.();
  });

test('11.14: a tool that is taken away while its call waits ends it, and its question is taken down', async (t) => {
  const house = await lasting(t);
  const { peer, call, ask } = await asked2025(t, house);
  const modern = await house.modern.asked('renewed', { for: 'me' });
  assert.equal(await resultOf(peer, 'remove_renewed'), 'removed');
  assertGone(await within(PATIENCE_MS, 'the call ends', call.reply()), house);
  const reply = await house.modern.call('renewed', { for: 'me' }, retryOf(modern, { word: word('it') }));
  assert.match(reply.error.message, /renewed is no longer there/);
  void ask;
});

test('11.14: a tool that is replaced while its call waits goes on', async (t) => {
  const house = await lasting(t);
  const { peer, call, ask } = await asked2025(t, house);
  const modern = await house.modern.asked('renewed', { for: 'me' });
  assert.equal(await resultOf(peer, 'replace_renewed'), 'replaced');
  await accept(peer, ask.id, { word: 'one' });
  assert.equal(textOf((await call.reply()).result), 'renewed one');
  assert.equal(await house.modern.ended('renewed', { for: 'me' }, retryOf(modern, { word: word('two') })), 'renewed two');
  assert.deepEqual(house.deeds.lines(), ['one', 'two']);
});

for (const [what, env] of [['has changed', { PROBE_VERSION: '2' }], ['is gone', { PROBE_WITHOUT: 'renewed' }]]) {
  test(`11.14: a finished call gives its result after its tool ${what}`, async (t) => {
    const house = await lasting(t);
    const asked = await house.modern.asked('renewed', { for: 'me' });
    const retry = retryOf(asked, { word: word('it') });
    assert.equal(await house.modern.ended('renewed', { for: 'me' }, retry), 'renewed it');
    await house.upgrade(env);
    const other = await house.modern.call('renewed', { for: 'me' }, retryOf(asked, { word: word('that') }));
    assert.match(other.error?.message ?? other.text, /answered before, with other answers/);
    assert.equal(await house.modern.ended('renewed', { for: 'me' }, retry), 'renewed it');
    assert.deepEqual(house.deeds.lines(), ['it']);
  });
}

// --- nodes that share a store, and not their tools ---

async function shared(t) {
  const deeds = deedsFile(t);
  const store = await stores.find(({ name }) => name === 'redis').create(t);
  const servers = [];
  const start = async (env = {}) => {
    servers.push(await startHttp(t, 'probe', { env: { PROBE_FILE: deeds.file, MCP_ELICITATION_SECRET: SECRET, ...env }, args: ['--store', store.address] }));
    return servers.at(-1);
  };
  const close = () => Promise.all(servers.map((server) => server.stop())); // before their store goes
  return { deeds, start, close, server: await start() };
}

// The same as one node after the other.
function settled(house) {
  house.upgrade = async (env) => {
    await house.server.stop();
    house.server = await house.start(env);
  };
  return house;
}

test('11.14: 2026: a node without the tool ends nothing where another node may have it', async (t) => {
  const house = await shared(t);
  const modern = new Modern(house.server.url);
  const without = new Modern((await house.start({ PROBE_WITHOUT: 'renewed' })).url);
  const asked = await modern.asked('renewed', { for: 'me' });
  const retry = retryOf(asked, { word: word('it') });
  const reply = await without.call('renewed', { for: 'me' }, retry);
  assert.equal(reply.status, 503, reply.text);
  assert.match(reply.error.message, /renewed is not at this node/);
  assert.equal(await modern.ended('renewed', { for: 'me' }, retry), 'renewed it');
  assert.equal(await without.ended('renewed', { for: 'me' }, retry), 'renewed it', 'its end is told anywhere');
  assert.deepEqual(house.deeds.lines(), ['it']);
  await house.close();
});

test('11.14: 2025: a client that comes to a node without the tool gets no end, and goes on at another node', async (t) => {
  const house = await shared(t);
  const { peer, call, ask } = await asked2025(t, house);
  const without = await house.start({ PROBE_WITHOUT: 'renewed' });
  peer.url = without.url;
  const event = idsOf(call.handle).at(-1);
  const there = await peer.request('GET', { headers: { 'Last-Event-ID': event }, stream: 'there' });
  assert.equal(there.status, 200);
  await within(PATIENCE_MS, 'the stream ends', there.finished);
  assert.deepEqual(there.events.filter(({ data }) => data), []);
  peer.url = house.server.url;
  await accept(peer, ask.id, { word: 'it' });
  assert.equal((await peer.request('GET', { headers: { 'Last-Event-ID': event }, stream: 'here' })).status, 200);
  assert.equal(textOf((await call.reply()).result), 'renewed it');
  assert.deepEqual(house.deeds.lines(), ['it']);
  await house.close();
});

test('11.14: a tool that is taken away at one node leaves its calls to the others', async (t) => {
  const house = await shared(t);
  const { peer, call, ask } = await asked2025(t, house);
  const modern = new Modern(house.server.url);
  const asked = await modern.asked('renewed', { for: 'me' });
  const other = await house.start();
  const event = idsOf(call.handle).at(-1);
  assert.equal(await resultOf(peer, 'remove_renewed'), 'removed');
  await within(PATIENCE_MS, 'the stream ends', call.handle.finished);
  peer.url = modern.url = other.url;
  assert.equal((await peer.request('GET', { headers: { 'Last-Event-ID': event }, stream: 'other' })).status, 200);
  await accept(peer, ask.id, { word: 'one' });
  assert.equal(textOf((await call.reply()).result), 'renewed one');
  assert.equal(await modern.ended('renewed', { for: 'me' }, retryOf(asked, { word: word('two') })), 'renewed two');
  assert.deepEqual(house.deeds.lines(), ['one', 'two']);
  await house.close();
});
