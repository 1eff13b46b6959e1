// `nod store list` and `nod store end`: an operator looks at the calls of a store, and ends one, without a server, and in Redis
// beside servers that use it.
import test from 'node:test';
import assert from 'node:assert/strict';
import { PATIENCE_MS, connect, pause, runOnce, startHttp, textOf } from './harness.js';
import { Modern, retryOf, word } from './modern.js';
import { stores } from './stores.js';

const SECRET = { MCP_ELICITATION_SECRET: 'a-secret-for-the-tests-of-calls-0123456789' };
const PATIENCE = { timeout: 4 * PATIENCE_MS };
const TASKS = { elicitation: {}, extensions: { 'io.modelcontextprotocol/tasks': {} } };
const REASON = 'it was a mistake of ours';
const SAYS = `An operator has ended this call: ${REASON}`;

const onEach = (chosen) => (name, body) => {
  for (const { name: store, create } of chosen) test(`${store}: ${name}`, PATIENCE, async (t) => body(t, await create(t)));
};
const onEachStore = onEach(stores);
const onFile = onEach(stores.filter(({ shared }) => !shared));
const onRedis = onEach(stores.filter(({ shared }) => shared));

async function serve(t, store, env = SECRET, options = {}) {
  const server = await startHttp(t, 'probe', { args: ['--store', store.address], env, ...options });
  return { ...server, client: new Modern(server.url) };
}

const list = (store, ...args) => runOnce('nod', ['store', 'list', '--store', store.address, ...args], SECRET);
const end = (store, call, reason = REASON, env = SECRET) =>
  runOnce('nod', ['store', 'end', call, '--reason', reason, `--store=${store.address}`], env);

async function calls(store, ...args) {
  const run = await list(store, '--json', ...args);
  assert.equal(run.code, 0, run.stderr);
  return JSON.parse(run.stdout).calls;
}

async function until(store, wanted) {
  for (const stop = Date.now() + PATIENCE_MS; ; await pause(20)) {
    const found = (await calls(store)).find(wanted);
    if (found) return found;
    assert.ok(Date.now() < stop, JSON.stringify(await calls(store)));
  }
}

const failed = (result) => {
  assert.equal(result.isError, true, JSON.stringify(result));
  assert.equal(textOf(result), SAYS);
  assert.match(JSON.stringify(result._meta), /"code":"ENDED_BY_OPERATOR"/);
};

onEachStore('what waits is listed, ended without a server, and its caller reads the reason when it comes back', async (t, store) => {
  let server = await serve(t, store);
  const kept = await server.client.asked('plant', { mark: 'kept' });
  const ended = await server.client.asked('plant', { mark: 'ended' });
  const { result: task } = await server.client.call('plant_task', { mark: 'task' }, {}, { capabilities: TASKS });
  for (let state; state !== 'input_required'; )
    state = (await server.client.request('tasks/get', { taskId: task.taskId }, { capabilities: TASKS })).result.status;
  await server.stop();

  const found = await calls(store);
  assert.deepEqual(found.map(({ tool, state, questions, principal }) => [tool, state, questions, typeof principal]),
    [['plant', 'waiting', 1, 'string'], ['plant', 'waiting', 1, 'string'], ['plant_task', 'waiting', 1, 'string']]);
  for (const { call, since } of found) {
    assert.match(call, /^[\w-]{22}$/);
    assert.ok(Math.abs(Date.now() - Date.parse(since)) < 600000, since);
  }
  const table = await list(store);
  assert.match(table.stdout, /^CALL +STATE +TOOL +PRINCIPAL +SINCE +QUESTIONS +DEATHS +NODE\n/);
  assert.equal(table.stdout.trim().split('\n').length, 4, table.stdout);
  for (const hidden of ['kept', 'message-', 'First']) assert.ok(!table.stdout.includes(hidden), table.stdout);

  for (const { call } of found.slice(1)) {
    const run = await end(store, call);
    assert.equal(run.code, 0, run.stderr);
    assert.equal(run.stdout, `ended ${call}\n`);
    const again = await end(store, call);
    assert.equal(again.code, 1);
    assert.match(again.stderr, /has ended already/);
  }
  assert.deepEqual((await calls(store)).map(({ call }) => call), [found[0].call]);
  assert.deepEqual((await calls(store, '--ended')).map(({ state }) => state), ['waiting', 'cancelled', 'cancelled']);

  server = await serve(t, store);
  failed((await server.client.call('plant', { mark: 'ended' }, retryOf(ended, { word: word('x') }))).result);
  const got = await server.client.request('tasks/get', { taskId: task.taskId }, { capabilities: TASKS });
  assert.equal(got.result.status, 'completed', got.text);
  failed(got.result.result);
  const second = await server.client.asked('plant', { mark: 'kept' }, retryOf(kept, { word: word('a') }));
  assert.equal(await server.client.ended('plant', { mark: 'kept' }, retryOf(second, { pin: word('b') })), 'result-kept a');
});

onEachStore('a list needs no secret, and an end does', async (t, store) => {
  const server = await serve(t, store);
  await server.client.asked('plant', { mark: 'a' });
  await server.stop();
  const run = await runOnce('nod', ['store', 'list', '--json', '--store', store.address], {});
  assert.equal(run.code, 0, run.stderr);
  const [{ call, ...rest }] = JSON.parse(run.stdout).calls;
  assert.deepEqual([rest.state, rest.sealed, rest.tool, rest.principal], ['waiting', true, undefined, undefined]);
  const without = await end(store, call, REASON, {});
  assert.equal(without.code, 1);
  assert.match(without.stderr, /it is sealed with the secret of key id [0-9a-f]{8}, and no secret is set/);
  assert.equal((await calls(store)).length, 1);
});

onFile('a file that a server uses is neither listed nor changed, and the process is named', async (t, store) => {
  const server = await serve(t, store);
  for (const run of [await list(store), await end(store, 'x'.repeat(22))]) {
    assert.equal(run.code, 1);
    assert.match(run.stderr, new RegExp(`is in use by process ${server.pid}: stop it first`));
  }
});

onRedis('a call that a node holds is ended there: its client is told at once, and its question is withdrawn', async (t, store) => {
  const server = await serve(t, store);
  const person = await connect(t, 'http', 'probe', { server });
  const call = person.call('ask_plain').catch((error) => error);
  const question = await person.question();
  const withdrawn = new Promise((resolve) => question.signal.addEventListener('abort', resolve));
  const { call: id, node } = await until(store, ({ tool, state }) => tool === 'ask_plain' && state === 'waiting');
  assert.ok(node);
  assert.equal((await end(store, id)).code, 0);
  failed(await call);
  await withdrawn;
  await server.said(new RegExp(`an operator has ended a call.*call=${id}.*${REASON}`));
});

onRedis('a call that runs on a node is ended there, and its handler is told', async (t, store) => {
  const server = await serve(t, store);
  const person = await connect(t, 'http', 'probe', { server, answer: () => ({ action: 'accept', content: { confirmed: true } }) });
  const before = JSON.parse(await person.text('counters')).cancels;
  const call = person.call('asks_and_works', {}, { timeout: 2 * PATIENCE_MS });
  const { call: id } = await until(store, ({ tool, state }) => tool === 'asks_and_works' && state === 'running');
  assert.equal((await end(store, id)).code, 0);
  failed(await call);
  for (const stop = Date.now() + PATIENCE_MS; JSON.parse(await person.text('counters')).cancels === before; await pause(20))
    assert.ok(Date.now() < stop, 'the handler is told');
});

test('the commands say what is wrong with their command lines', async (t) => {
  const file = await stores[0].create(t);
  for (const [args, says] of [
    [['list'], /--store has to be given/],
    [['list', '--store'], /--store needs a value/],
    [['list', '--jsn', '--store', 'sqlite:x'], /--jsn is not an option; did you mean --json\?/],
    [['list', '--json=yes'], /--json takes no value/],
    [['end', '--reason', 'x', '--store', 'sqlite:x'], /CALL has to be given/],
    [['end', 'short', '--reason', 'x'], /short is not the id of a call/],
    [['end', 'x'.repeat(22), '--store', 'sqlite:x'], /--reason has to be given: it is what the caller reads/],
    [['end', 'x'.repeat(22), '--reason', ' ', '--store', 'sqlite:x'], /--reason has to be given/],
    [['end', 'x'.repeat(22), '--reason', 'x'.repeat(501), '--store', 'sqlite:x'], /at most 500 bytes/],
    ...['a\nb', 'a\x1b[2Jb', 'a\x7fb', 'a\u009bb'].map((reason) => [
      ['end', 'x'.repeat(22), '--reason', reason, '--store', 'sqlite:x'], /--reason has a line break or another control character/]),
    [['end', 'x'.repeat(22), '--reason', 'x'], /--store has to be given/],
  ]) {
    const run = await runOnce('nod', ['store', ...args], SECRET);
    assert.equal(run.code, 2, `${args}: ${run.stderr}`);
    assert.match(run.stderr, says);
  }
  for (const [address, says] of [['memory:', /outlives a process/], ['p.db', /must be memory:, sqlite:PATH/], ['sqlitee:p.db', /did you mean sqlite\?/]])
    for (const command of [['list'], ['end', 'x'.repeat(22), '--reason', 'x'], ['reseal']]) {
      const run = await runOnce('nod', ['store', ...command, '--store', address], SECRET);
      assert.equal(run.code, 2, `${command} ${address}: ${run.stderr}`);
      assert.match(run.stderr, says);
    }
  const missing = await runOnce('nod', ['store', 'list', '--store', file.address], {});
  assert.equal(missing.code, 1);
  assert.match(missing.stderr, /there is no such file/);
  await (await serve(t, file)).stop();
  assert.match((await list(file)).stdout, /no calls that have not ended/);
  assert.deepEqual(await calls(file), []);
  const unknown = await end(file, '-'.repeat(22));
  assert.equal(unknown.code, 1, unknown.stderr);
  assert.match(unknown.stderr, /is not in this store/);
  for (const name of ['list', 'end']) assert.equal((await runOnce('nod', ['store', name, '--help'])).code, 0);
});
