// If a secret is set, the records in a store are sealed: nobody can read them there, and records that were tampered with are
// refused. Secrets are replaced without losing anything.
import test from 'node:test';
import assert from 'node:assert/strict';
import { PATIENCE_MS, connect, pause, runOnce, startHttp, textOf } from './harness.js';
import { Modern, retryOf, word } from './modern.js';
import { stores } from './stores.js';

const FIRST = 'the-first-secret-of-this-store-0123456789';
const SECOND = 'the-second-secret-of-this-store-012345678';
const THIRD = 'the-third-secret-of-this-store-0123456789';
const PATIENCE = { timeout: 60000 };
const TASKS = { elicitation: {}, extensions: { 'io.modelcontextprotocol/tasks': {} } };

const onEach = (chosen) => (name, body) => {
  for (const { name: store, create, shared } of chosen)
    test(`${store}: ${name}`, PATIENCE, async (t) => body(t, await create(t), () => create(t), shared));
};

const onEachStore = onEach(stores);
const onEachSharedStore = onEach(stores.filter(({ shared }) => shared));

const secrets = (newest, ...previous) => ({
  ...(newest ? { MCP_ELICITATION_SECRET: newest } : {}),
  ...(previous.length ? { MCP_PREVIOUS_SECRETS: previous.join(',') } : {}),
});

async function serve(t, store, env) {
  const server = await startHttp(t, 'probe', { args: ['--store', store.address], env });
  return { ...server, client: new Modern(server.url) };
}

const refusals = (server) => server.stderr().match(/a record in the store was refused/g)?.length ?? 0;

// The log may arrive after the reply.
async function loggedAfter(server, before) {
  for (const end = Date.now() + PATIENCE_MS; refusals(server) <= before; await pause(10))
    assert.ok(Date.now() < end, `nothing was logged:\n${server.stderr()}`);
}

// A call of the 2026 era that waits for its first word.
const ask = (server, mark) => server.client.asked('plant', { mark });

// Goes on with it, to its end.
async function finish(server, mark, asked) {
  const second = await server.client.asked('plant', { mark }, retryOf(asked, { word: word(`answer-${mark}`) }));
  return server.client.ended('plant', { mark }, retryOf(second, { pin: word(`pin-${mark}`) }));
}

const result = (mark) => `result-${mark} answer-${mark}`;

// A task that waits for its first word, and how it is answered.
async function beginTask(server, mark) {
  const { result: task, text } = await server.client.call('plant_task', { mark }, {}, { capabilities: TASKS });
  assert.equal(task?.resultType, 'task', text);
  return task.taskId;
}

async function taskUntil(server, taskId, wanted) {
  for (;;) {
    const reply = await server.client.request('tasks/get', { taskId }, { capabilities: TASKS });
    assert.ok(reply.result, reply.text);
    if (wanted.includes(reply.result.status)) return reply.result;
  }
}

async function finishTask(server, taskId, mark) {
  for (const [key, text] of [['word', `answer-${mark}`], ['pin', `pin-${mark}`]]) {
    await taskUntil(server, taskId, ['input_required']);
    await server.client.request('tasks/update', { taskId, inputResponses: { [key]: word(text) } }, { capabilities: TASKS });
  }
  return textOf((await taskUntil(server, taskId, ['completed'])).result);
}

// Leaves marks by every way into the store: both eras, a call that ended and one that waits, a task.
async function plantEverywhere(t, server) {
  const old = await connect(t, 'http', 'probe', {
    server, answer: (params) => ({ action: 'accept', content: { word: params.message.startsWith('more-') ? 'pin-MARK' : 'answer-MARK' } }) });
  assert.equal(await old.text('plant', { mark: 'MARK' }), result('MARK'));
  assert.equal(await finish(server, 'MARK', await ask(server, 'MARK')), result('MARK'));
  await server.client.asked('plant', { mark: 'MARK' }, retryOf(await ask(server, 'MARK'), { word: word('answer-MARK') }));
  assert.equal(await finishTask(server, await beginTask(server, 'MARK'), 'MARK'), result('MARK'));
  await taskUntil(server, await beginTask(server, 'MARK'), ['input_required']);
}

const foundIn = (store, mark) => store.bytes().filter(({ bytes }) => bytes.includes(mark)).map(({ name }) => name);

onEachStore('nothing of a call can be read in the store when a secret is set, while it runs and after', async (t, store) => {
  const server = await serve(t, store, secrets(FIRST));
  await plantEverywhere(t, server);
  assert.ok(store.bytes().some(({ bytes }) => bytes.length > 4096), 'there is something to look at');
  for (const mark of ['MARK', 'confirmed', 'First', 'requestState', 'jsonrpc']) assert.deepEqual(foundIn(store, mark), [], mark);
  await server.stop();
  for (const mark of ['MARK', FIRST]) assert.deepEqual(foundIn(store, mark), [], mark);
});

onEachStore('without a secret it can: the marks are where they are looked for', async (t, store) => {
  const server = await serve(t, store, {});
  await plantEverywhere(t, server);
  for (const kind of ['message', 'answer', 'step', 'result', 'more'])
    assert.notDeepEqual(foundIn(store, `${kind}-MARK`), [], kind);
  await server.stop();
  const waiting = store.bytes().filter(({ bytes }) => bytes.includes('message-MARK'));
  assert.ok(waiting.length > 0);
});

onEachStore('what was given in confidence is gone with its call, secret or not', async (t, _, another) => {
  for (const env of [{}, secrets(FIRST)]) {
    const own = await another();
    const server = await serve(t, own, env);
    assert.equal(await finish(server, 'A', await ask(server, 'A')), result('A'));
    assert.equal(await finishTask(server, await beginTask(server, 'B'), 'B'), result('B'));
    await server.stop();
    await own.settle();
    assert.deepEqual([...foundIn(own, 'pin-A'), ...foundIn(own, 'pin-B')], []);
  }
});

onEachStore('a flipped byte, a record copied over another and a plain one are each refused and logged, and the rest works on',
  async (t, store, another) => {
    const plain = await another();
    const open = await serve(t, plain, {});
    await ask(open, 'planted');
    await open.stop();

    let server = await serve(t, store, secrets(FIRST));
    const asked = [];
    const questions = [];
    for (const mark of ['flipped', 'copied', 'plain', 'fine']) {
      asked.push(await ask(server, mark));
      questions.push((await store.questions()).find(({ id }) => !questions.some((known) => known.id === id)));
    }
    await server.stop();
    const [flipped, copied, replaced, fine] = questions;
    const changed = Buffer.from(flipped.record);
    changed[changed.length - 20] ^= 1;
    await store.putQuestion(flipped, changed);
    await store.putQuestion(copied, fine.record);
    await store.putQuestion(replaced, (await plain.questions())[0].record);

    server = await serve(t, store, secrets(FIRST));
    for (const [i, mark] of ['flipped', 'copied', 'plain'].entries()) {
      const before = refusals(server);
      const reply = await server.client.call('plant', { mark }, retryOf(asked[i], { word: word('x') }));
      assert.ok(reply.error || reply.result?.isError, `${mark}: ${reply.text}`);
      await loggedAfter(server, before);
    }
    assert.match(server.stderr(), /its seal does not fit/);
    assert.match(server.stderr(), /it is not sealed, and a secret is set/);
    assert.equal(await finish(server, 'fine', asked[3]), result('fine'));
    assert.equal(await finish(server, 'new', await ask(server, 'new')), result('new'));
  });

onEachStore('with a wrong secret nothing old is given out, and new calls work', async (t, store) => {
  let server = await serve(t, store, secrets(FIRST));
  const asked = await ask(server, 'old');
  const task = await beginTask(server, 'old');
  await taskUntil(server, task, ['input_required']);
  await server.stop();

  server = await serve(t, store, secrets(SECOND));
  const retry = await server.client.call('plant', { mark: 'old' }, retryOf(asked, { word: word('x') }));
  assert.equal(retry.status, 400, retry.text);
  const got = await server.client.request('tasks/get', { taskId: task }, { capabilities: TASKS });
  assert.ok(got.error, got.text);
  assert.doesNotMatch(got.text, /message-old/);
  await loggedAfter(server, 0);
  assert.equal(await finish(server, 'new', await ask(server, 'new')), result('new'));
  await server.stop();

  server = await serve(t, store, secrets(FIRST));
  assert.equal(await finish(server, 'old', asked), result('old'), 'nothing was lost by trying');
});

const reseal = (store, env, ...args) => runOnce('nod', ['store', 'reseal', '--store', store.address, ...args], env);
const counts = (run) => Object.fromEntries(run.stdout.trim().split('\n').map((line) => line.split(' ')));

onEachStore('three generations of secrets: each opens what is older, seals with its own, and a reseal lets the old ones go',
  async (t, store, another, shared) => {
    const generations = [[FIRST], [SECOND, FIRST], [THIRD, SECOND, FIRST]];
    const tasks = [];
    const asked = [];
    for (const [i, known] of generations.entries()) {
      const server = await serve(t, store, secrets(...known));
      for (const task of tasks) await taskUntil(server, task, ['input_required']);
      tasks.push(await beginTask(server, `task${i}`));
      asked.push(await ask(server, `call${i}`));
      await taskUntil(server, tasks[i], ['input_required']);
      assert.equal(refusals(server), 0, server.stderr());
      await server.stop();
    }
    let server = await serve(t, store, secrets(THIRD));
    for (const [i, taskId] of tasks.entries()) {
      const got = await server.client.request('tasks/get', { taskId }, { capabilities: TASKS });
      assert.equal(got.result?.status, i === 2 ? 'input_required' : undefined, got.text);
    }
    if (!shared) {
      const busy = await reseal(store, secrets(THIRD, SECOND, FIRST));
      assert.equal(busy.code, 1, busy.stdout);
      assert.match(busy.stderr, /in use by process \d+/);
    }
    await server.stop();

    const early = await reseal(store, secrets(THIRD, SECOND));
    assert.equal(early.code, 1, 'a secret is missing');
    assert.ok(Number(counts(early).refused) > 0, early.stdout);
    const named = early.stderr.match(/a record in the store was refused/g);
    assert.equal(named?.length, Number(counts(early).refused), 'each that was refused is named once');
    const run = await runOnce('nod', ['store', 'reseal', `--store=${store.address}`], secrets(THIRD, SECOND, FIRST));
    assert.equal(run.code, 0, run.stderr);
    assert.ok(Number(counts(run)['re-sealed']) > 0, run.stdout);
    assert.equal(counts(run).refused, '0');
    const again = await reseal(store, secrets(THIRD));
    assert.equal(again.code, 0, again.stderr);
    assert.deepEqual(counts(again), { ...counts(run), 're-sealed': '0' });

    server = await serve(t, store, secrets(THIRD));
    for (const [i, taskId] of tasks.entries()) assert.equal(await finishTask(server, taskId, `task${i}`), result(`task${i}`));
    assert.equal(await finish(server, 'call2', asked[2]), result('call2'));
    assert.equal(refusals(server), 0, server.stderr());
  });

onEachSharedStore('servers go on with their calls while the store is re-sealed', async (t, store) => {
  let server = await serve(t, store, secrets(FIRST));
  await plantEverywhere(t, server);
  const marks = ['A', 'B', 'C', 'D', 'E', 'F', 'G', 'H'];
  const tasks = await Promise.all(marks.map((mark) => beginTask(server, mark)));
  for (const task of tasks) await taskUntil(server, task, ['input_required']);
  await server.stop();

  server = await serve(t, store, secrets(SECOND, FIRST));
  const half = tasks.length / 2;
  const ends = tasks.slice(0, half).map((task, i) => finishTask(server, task, marks[i]));
  const run = await reseal(store, secrets(SECOND, FIRST));
  assert.equal(run.code, 0, run.stderr);
  assert.ok(Number(counts(run)['re-sealed']) > 0, run.stdout);
  assert.deepEqual(await Promise.all(ends), marks.slice(0, half).map(result));
  await server.stop();
  const again = await reseal(store, secrets(SECOND));
  assert.equal(again.code, 0, again.stderr);
  assert.equal(counts(again)['re-sealed'], '0');

  server = await serve(t, store, secrets(SECOND));
  for (const [i, mark] of marks.entries())
    if (i < half) await taskUntil(server, tasks[i], ['completed']);
    else assert.equal(await finishTask(server, tasks[i], mark), result(mark));
  assert.equal(refusals(server), 0, server.stderr());
});

onEachStore('a store that began without a secret is sealed only when its owner says so', async (t, store) => {
  let server = await serve(t, store, {});
  const task = await beginTask(server, 'plain');
  await taskUntil(server, task, ['input_required']);
  await server.stop();
  const refused = await reseal(store, secrets(FIRST));
  assert.equal(refused.code, 1, refused.stdout);
  const sealed = await reseal(store, secrets(FIRST), '--plain');
  assert.equal(sealed.code, 0, sealed.stderr);
  await store.settle();
  assert.deepEqual(foundIn(store, 'message-plain'), []);
  server = await serve(t, store, secrets(FIRST));
  assert.equal(await finishTask(server, task, 'plain'), result('plain'));
});

onEachStore('a secret that is too short is refused, by the server and by the command', async (t, store) => {
  for (const env of [secrets('short'), secrets(FIRST, 'short'), { MCP_SERVER_SECRET: 'x'.repeat(31) }]) {
    const commands = [['probe', ['--http', '127.0.0.1:0']], ['nod', ['store', 'reseal']]];
    for (const [name, args] of commands) {
      const { code, stderr } = await runOnce(name, [...args, '--store', store.address], env);
      assert.equal(code, 1, stderr);
      assert.match(stderr, /less than 32 characters/);
      assert.ok(!stderr.includes('xxxx'), 'it is not repeated');
    }
  }
});

test('the command says what is wrong with its command line', async () => {
  for (const args of [[], ['store'], ['store', 'reseal'], ['store', 'reseal', '--store'], ['store', 'reseal', '--what']])
    assert.equal((await runOnce('nod', args, secrets(FIRST))).code, 2, args.join(' '));
  for (const [address, why] of [['memory:', /outlives/], ['sqlite:', /names no file/], ['sqlite:/nowhere/store.db', /no such file/],
    ['redis://:confidence@127.0.0.1:1?timeout=200', /cannot be used/], ['redi://:confidence@127.0.0.1', /it must be memory:/]]) {
    const { code, stderr } = await runOnce('nod', ['store', 'reseal', '--store', address], secrets(FIRST));
    assert.equal(code, 1);
    assert.match(stderr, why);
    assert.doesNotMatch(stderr, /confidence/);
  }
  const help = await runOnce('nod', ['store', 'reseal', '--help']);
  assert.equal(help.code, 0);
  assert.match(help.stdout, /MCP_PREVIOUS_SECRETS/);
});
