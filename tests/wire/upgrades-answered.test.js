// A call whose question was answered goes on only with the version of its tool that it began with: version 1 asks, is
// answered and dies, and version 2 does nothing of it. While a node of version 1 lives, the call is left to that node.
import test from 'node:test';
import assert from 'node:assert/strict';
import path from 'node:path';
import { accept, callTool, nextAsk, pause, rawPeer, startHttp, textOf, within, PATIENCE_MS } from './harness.js';
import { Modern, deedsFile, retryOf, scratchFolder, word } from './modern.js';
import { stores } from './stores.js';

const SECRET = 'a secret that is surely long enough for this';
const TASKS = { elicitation: {}, extensions: { 'io.modelcontextprotocol/tasks': {} } };
const V2 = { PROBE_VERSION: '2' };
const GONE_MS = 60000; // for a node to count as gone, and for a call that it left to end

// Servers on one store. The newest is house.server; with Redis the others may live beside it.
async function housed(t, kind) {
  const deeds = deedsFile(t);
  const redis = kind === 'redis' ? await stores.find(({ name }) => name === 'redis').create(t) : null;
  const address = redis?.address ?? `sqlite:${path.join(scratchFolder(t), 'nod.db')}`;
  const house = { deeds, servers: [], dead: new Set() };
  house.start = async (env = {}) => {
    house.server = await startHttp(t, 'probe', { env: { PROBE_FILE: deeds.file, PROBE_SIGNED: '1', MCP_ELICITATION_SECRET: SECRET, ...env }, args: ['--store', address] });
    house.servers.push(house.server);
    return house.server;
  };
  house.close = () => Promise.all(house.servers.map((server) => server.stop())); // before their store goes
  return house;
}

const idsOf = (handle) => handle.events.filter((event) => event.id !== undefined).map((event) => event.id);

async function until(what, found, ms = PATIENCE_MS) {
  for (const end = Date.now() + ms; ;) {
    const value = await found();
    if (value) return value;
    assert.ok(Date.now() < end, `never: ${what}`);
    await pause(50);
  }
}

// Three ways to call: each asks, is answered (the server may die of that), and looks how it ended, at any server.
const WAYS = {
  async '2025'(t, house, tool = 'renewed') {
    const peer = await rawPeer(t, 'http', 'probe', { server: house.server });
    const call = await callTool(peer, tool, { for: 'me' });
    const ask = await nextAsk(peer);
    return {
      answer: () => accept(peer, ask.id, { word: 'it' }).catch(() => {}),
      end: async (server) => {
        peer.url = server.url;
        const back = await peer.request('GET', { headers: { 'Last-Event-ID': idsOf(call.handle).at(-1) }, stream: 'resumed' });
        assert.equal(back.status, 200);
        return (await within(GONE_MS, 'the call ends', call.reply())).result;
      },
    };
  },
  async '2026'(t, house, tool = 'renewed') {
    const modern = new Modern(house.server.url);
    const elsewhere = (url) => house.servers.map((server) => server.url).find((other) => other !== url && !house.dead.has(other)) ?? url;
    const retry = retryOf(await modern.asked(tool, { for: 'me' }), { word: word('it') });
    return {
      answer: () => modern.call(tool, { for: 'me' }, retry).catch(() => {}),
      end: (server) => {
        modern.url = server.url;
        return until('the retry gets an end', async () => {
          const { status, result, text } = await modern.call(tool, { for: 'me' }, retry);
          assert.ok(status === 200 || status === 503, text);
          if (status === 503) modern.url = elsewhere(modern.url); // as a balancer does
          return result?.resultType === 'complete' && result;
        }, GONE_MS);
      },
    };
  },
  async task(t, house) {
    const modern = new Modern(house.server.url, { capabilities: TASKS });
    const { taskId } = (await modern.call('renewed_task', { for: 'me' })).result;
    const task = (wanted, ms) => until('the task ends', async () => {
      const { result } = await modern.request('tasks/get', { taskId });
      return result && wanted(result) && result;
    }, ms);
    await task(({ status }) => status === 'input_required');
    return {
      answer: () => modern.request('tasks/update', { taskId, inputResponses: { word: word('it') } }).catch(() => {}),
      end: async (server) => {
        modern.url = server.url;
        return (await task(({ status }) => status !== 'working' && status !== 'input_required', GONE_MS)).result;
      },
    };
  },
};

function assertChanged(result, said) {
  assert.equal(result?.isError, true, JSON.stringify(result));
  assert.equal(result._meta.code, 'TOOL_CHANGED');
  assert.match(textOf(result), /has changed since this call began/);
  assert.match(textOf(result), said);
}

const CHANGES = { version: V2, 'input schema': { PROBE_INPUT: '1' } };

for (const store of ['sqlite', 'redis'])
  for (const way of Object.keys(WAYS))
    for (const [what, env] of Object.entries(CHANGES).slice(0, way === '2026' ? 2 : 1))
      test(`${store}: ${way}: answered, and its server dies: another ${what} does nothing of it`, async (t) => {
        const house = await housed(t, store);
        const first = await house.start({ NOD_CRASH_AT: 'answer_after' });
        const call = await WAYS[way](t, house);
        await call.answer();
        await first.killed();
        house.dead.add(first.url);
        const second = await house.start(env);
        assertChanged(await call.end(second), /No step was done|may have been done/);
        assert.deepEqual(house.deeds.lines(), []);
        await second.stop();
        await house.start(); // and back: it has ended
        assertChanged(await call.end(house.server), /./);
        assert.deepEqual(house.deeds.lines(), []);
        await house.close();
      });

for (const [store, way] of [['sqlite', '2025'], ['redis', '2026']])
  test(`${store}: ${way}: told to stop between two steps: what was done is in the failure, and version 2 does none`, async (t) => {
    const house = await housed(t, store);
    const first = await house.start();
    const call = await WAYS[way](t, house, 'renewed_steps');
    const answered = call.answer();
    await until('a deed', () => house.deeds.lines().length >= 1);
    await first.stop();
    await answered;
    const done = house.deeds.lines().length;
    assert.ok(done < 5, 'it was stopped in the middle: running calls have 5 s to end');
    const result = await call.end(await house.start(V2));
    const deeds = house.deeds.lines();
    assert.deepEqual(deeds, Array.from({ length: deeds.length }, (_, i) => `${i + 1} by 1`), 'all by version 1');
    // The last step may outlive the time to stop: then it is not stored, and the failure says that it may have been done.
    const names = Array.from({ length: result._meta.stepsDone.length }, (_, i) => `deed-${i + 1}`);
    assertChanged(result, new RegExp(`Done before: ${names.map((name) => `'${name}'`).join(', ')}\\.`));
    assert.deepEqual(result._meta.stepsDone, names);
    if (deeds.length > names.length) assert.match(textOf(result), /under way when its server stopped may have been done/);
    assert.ok(deeds.length - names.length <= 1);
    await house.close();
  });

// --- nodes of both versions, side by side ---

for (const way of Object.keys(WAYS))
  test(`redis: ${way}: while a node of its version lives, the call goes on there, wherever its client comes`, async (t) => {
    const house = await housed(t, 'redis');
    const beside = await house.start(); // of version 1
    const other = await house.start(V2);
    const first = await house.start({ NOD_CRASH_AT: 'answer_after' });
    const call = await WAYS[way](t, house);
    await call.answer();
    await first.killed();
    house.dead.add(first.url);
    const result = await call.end(other);
    assert.equal(textOf(result), 'renewed it', JSON.stringify(result));
    assert.deepEqual(house.deeds.lines(), ['it by 1']);
    await beside.stop();
    await house.close();
  });

for (const way of Object.keys(WAYS))
  test(`redis: ${way}: a client that brings its answer to a node of another version is not sent away`, async (t) => {
    const house = await housed(t, 'redis');
    const other = await house.start(V2);
    await house.start(); // of version 1: it lives, and the client does not come back to it
    const call = await WAYS[way](t, house);
    const ended = call.end(other);
    await call.answer();
    const result = await ended;
    assert.equal(textOf(result), 'renewed it', JSON.stringify(result));
    assert.deepEqual(house.deeds.lines(), ['it by 1']);
    await house.close();
  });
