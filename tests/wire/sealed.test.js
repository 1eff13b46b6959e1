// If a secret is set, the records in a store are sealed: nobody can read them there, and records that were tampered with are
// refused. Secrets are replaced without losing anything.
import { describe, it } from 'node:test';
import assert from 'node:assert/strict';
import { PATIENCE_MS, accept, callTool, connect, nextAsk, pause, rawPeer, runOnce, startHttp, textOf, within } from './harness.js';
import { ADA, Modern, retryOf, tokenFile, word } from './modern.js';
import { stores } from './stores.js';

const LANES = 4;
const tests = []; // they wait for servers and clocks, and run side by side
const test = (name, fn) => tests.push([name, fn]);

const FIRST = 'the-first-secret-of-this-store-0123456789';
const SECOND = 'the-second-secret-of-this-store-012345678';
const THIRD = 'the-third-secret-of-this-store-0123456789';
const TASKS = { elicitation: {}, extensions: { 'io.modelcontextprotocol/tasks': {} } };

const onEach = (chosen) => (name, body) => {
  for (const { name: store, create, shared } of chosen)
    test(`${store}: ${name}`, async (t) => body(t, await create(t), () => create(t), shared));
};

const onEachStore = onEach(stores);
const onEachSharedStore = onEach(stores.filter(({ shared }) => shared));

const secrets = (newest, ...previous) => ({
  ...(newest ? { MCP_ELICITATION_SECRET: newest } : {}),
  ...(previous.length ? { MCP_PREVIOUS_SECRETS: previous.join(',') } : {}),
});

async function serve(t, store, env, mayRefuse = false, tokens = null) {
  const args = ['--store', store.address, ...(tokens ? ['--token-file', tokens] : [])];
  const server = await startHttp(t, 'probe', { args, env, mayRefuse });
  return { ...server, client: new Modern(server.url, tokens ? { token: ADA } : {}) };
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
    await pause(10);
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

onEachStore('a flipped byte, a record copied over another and a plain one are each refused and and the rest works on',
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
    await server.said(/its seal does not fit/);
    await server.said(/it is not sealed, and a secret is set/);
    assert.equal(await finish(server, 'fine', asked[3]), result('fine'));
    assert.equal(await finish(server, 'new', await ask(server, 'new')), result('new'));
  });

// --- which secret a store is sealed with ---

// The key id of the secret that a server seals with, as it says when it has started.
const keyIn = (server) => / key=([0-9a-f]{8})/.exec(server.stderr())?.[1];

// What a server says that does not start.
async function refused(t, store, env) {
  let said;
  await assert.rejects(serve(t, store, env, true), (error) => (said = error.message).includes('did not start'), 'it does not start');
  return said.split('\n').findLast((line) => line.includes('level=error')) ?? said;
}

const ready = async (server) => {
  const response = await fetch(new URL('/readyz', server.url));
  return { code: response.status, ...(await response.json()) };
};

async function until(server, wanted, what) {
  for (const end = Date.now() + PATIENCE_MS * 2; ; await pause(50)) {
    const said = await ready(server);
    if (wanted(said)) return said;
    assert.ok(Date.now() < end, `${what}: ${JSON.stringify(said)}\n${server.stderr()}`);
  }
}

onEachStore('a server without the secret of a sealed store does not start, and says which it has and which it needs', async (t, store) => {
  let server = await serve(t, store, secrets(FIRST));
  const first = keyIn(server);
  assert.ok(first, server.stderr());
  const asked = await ask(server, 'old');
  const task = await beginTask(server, 'old');
  await taskUntil(server, task, ['input_required']);
  await server.stop();

  const wrong = await refused(t, store, secrets(SECOND));
  const second = /secrets that are set are: ([0-9a-f]{8})/.exec(wrong)?.[1];
  assert.ok(second && second !== first, wrong);
  assert.match(wrong, new RegExp(`sealed with the secret of key id ${first}`));
  assert.match(wrong, /MCP_PREVIOUS_SECRETS/);
  assert.match(await refused(t, store, {}), new RegExp(`key id ${first}, and no secret is set`));

  server = await serve(t, store, secrets(SECOND, FIRST));
  assert.equal(keyIn(server), second, 'the one that seals');
  assert.equal((await ready(server)).code, 200);
  assert.equal(await finishTask(server, task, 'old'), result('old'));
  await server.stop();
  server = await serve(t, store, secrets(FIRST));
  assert.equal(await finish(server, 'old', asked), result('old'), 'nothing was lost by trying');
});

onEachStore('a reseal renews the mark, and nothing else does', async (t, store) => {
  await (await serve(t, store, secrets(FIRST))).stop();
  await (await serve(t, store, secrets(SECOND, FIRST))).stop();
  await refused(t, store, secrets(SECOND));
  const wrong = await reseal(store, secrets(SECOND));
  assert.equal(wrong.code, 1);
  assert.match(wrong.stderr, /it is sealed with the secret of key id/);
  const run = await reseal(store, secrets(SECOND, FIRST));
  assert.equal(run.code, 0, run.stderr);
  await refused(t, store, secrets(FIRST));
  await (await serve(t, store, secrets(SECOND))).stop();
});

onEachStore('a store of an older nod has no mark: its records are looked at, and it gets one', async (t, store, another) => {
  let server = await serve(t, store, secrets(FIRST));
  const asked = await ask(server, 'old');
  await server.stop();
  await store.unmark();
  assert.match(await refused(t, store, secrets(SECOND)), /it holds records that are sealed with the secret of key id [0-9a-f]{8}/);
  assert.match(await refused(t, store, {}), /and no secret is set/);
  server = await serve(t, store, secrets(FIRST));
  assert.equal(await finish(server, 'old', asked), result('old'));
  await server.stop();
  assert.match(await refused(t, store, secrets(SECOND)), /it is sealed with/, 'it has its mark now');

  // One that was written without a secret.
  const plain = await another();
  server = await serve(t, plain, {});
  const task = await beginTask(server, 'plain');
  await taskUntil(server, task, ['input_required']);
  await server.stop();
  assert.match(await refused(t, plain, secrets(FIRST)), /written without a secret.*nod store reseal --plain/);
  server = await serve(t, plain, {});
  assert.equal(await finishTask(server, task, 'plain'), result('plain'), 'they can end without it');
  await server.stop();
  server = await serve(t, plain, secrets(FIRST));
  await server.stop();
  await refused(t, plain, {});
});

onEachStore('a server that goes back to an older secret starts, says that it lacks the newer, and is not ready', async (t, store) => {
  await (await serve(t, store, secrets(FIRST))).stop();
  let server = await serve(t, store, secrets(SECOND, FIRST));
  const second = keyIn(server);
  const task = await beginTask(server, 'newer');
  await taskUntil(server, task, ['input_required']);
  await server.stop();
  server = await serve(t, store, secrets(FIRST));
  const said = await ready(server);
  assert.equal(said.code, 503);
  assert.match(said.why, new RegExp(`secret that this server does not have \\(key id ${second}\\)`));
  assert.equal(server.stderr().match(/holds records of a secret that this server does not have/g)?.length, 1);
  await server.stop();
  server = await serve(t, store, secrets(FIRST, SECOND));
  assert.equal((await ready(server)).code, 200);
  assert.equal(await finishTask(server, task, 'newer'), result('newer'));
});

onEachSharedStore('of two servers that begin on an empty store with different secrets at the same moment, one starts', async (t, store) => {
  const begun = await Promise.allSettled([serve(t, store, secrets(FIRST), true), serve(t, store, secrets(SECOND), true)]);
  assert.deepEqual(begun.map(({ status }) => status).sort(), ['fulfilled', 'rejected']);
  assert.match(begun.find(({ status }) => status === 'rejected').reason.message, /it is sealed with the secret of key id/);
});

onEachSharedStore('a node that meets records of a secret that it does not have says so once, and is not ready until they are gone', async (t, store) => {
  const old = await serve(t, store, secrets(FIRST));
  const rotated = await serve(t, store, secrets(SECOND, FIRST)); // too early: the old node was not told of it
  const second = keyIn(rotated);
  const task = await beginTask(rotated, 'newer');
  await taskUntil(rotated, task, ['input_required']);
  assert.equal((await ready(rotated)).code, 200);
  for (let i = 0; i < 3; i++) {
    const got = await old.client.request('tasks/get', { taskId: task }, { capabilities: TASKS });
    assert.ok(got.error, got.text);
  }
  const said = await until(old, ({ code }) => code === 503, 'it is not ready');
  assert.match(said.why, new RegExp(`key id ${second}`));
  assert.equal(old.stderr().match(/holds records of a secret that this server does not have/g)?.length, 1, old.stderr());
  assert.equal(await finish(old, 'mine', await ask(old, 'mine')), result('mine'), 'what it can open goes on');
  await rotated.stop(); // as long as it runs, it says so in the store, under its secret
  await store.say('FLUSHALL');
  await until(old, ({ code }) => code === 200, 'it is ready again');
});

// --- a node that was not given the newest secret ---

// Brings a client of the 2025 era to another node.
const at = (peer, server) => Object.assign(peer, { url: server.url });
const resume = (peer, call) =>
  peer.request('GET', { headers: { 'Last-Event-ID': call.handle.events.findLast(({ id }) => id).id }, stream: 'resumed' });
const responses = (handle) => handle.events.filter(({ data }) => data).map(({ data }) => JSON.parse(data)).filter(({ method }) => !method);

onEachSharedStore('a call whose answer its node cannot open is told no end there, and ends on the node that can', async (t, store) => {
  const old = await serve(t, store, secrets(FIRST));
  const peer = await rawPeer(t, 'http', 'probe', { server: old });
  const call = await callTool(peer, 'ask');
  const { id } = await nextAsk(peer);
  const rotated = await serve(t, store, secrets(SECOND, FIRST)); // too early: the old node was not told of it
  assert.equal((await accept(at(peer, rotated), id, { name: 'Ada' })).status, 202);
  await within(PATIENCE_MS, 'the old node lets go of the stream', call.handle.finished);
  assert.deepEqual(responses(call.handle), [], 'it is told no end');
  assert.equal((await resume(peer, call)).status, 200);
  assert.equal(textOf((await call.reply()).result), 'accept {"name":"Ada"}');
  const there = await resume(at(peer, old), call);
  assert.equal(there.status, 503, 'the old node cannot tell it');
  assert.equal(there.headers.get('retry-after'), '5');
});

onEachSharedStore('two answers, one given at each node: the node that cannot open the other gives the call back', async (t, store) => {
  const old = await serve(t, store, secrets(FIRST));
  const peer = await rawPeer(t, 'http', 'probe', { server: old });
  const call = await callTool(peer, 'two_at_once');
  const asks = [await nextAsk(peer), await nextAsk(peer)];
  const rotated = await serve(t, store, secrets(SECOND, FIRST));
  const answer = async (i, server) => (await accept(at(peer, server), asks[i].id, { word: `w${i}` })).status;
  assert.equal(await answer(0, rotated), 202);
  const second = await answer(1, old);
  if (second !== 202) { // by now it has met the first, which it cannot open: it refuses nothing for good
    assert.equal(second, 503);
    assert.equal(await answer(1, rotated), 202);
  }
  await within(PATIENCE_MS, 'the old node lets go of the stream', call.handle.finished);
  assert.deepEqual(responses(call.handle), []);
  assert.equal((await resume(at(peer, rotated), call)).status, 200);
  assert.ok(!(await call.reply()).result.isError);
});

onEachSharedStore('a call whose record is damaged is told no end, belongs to no node, and goes on when the record is whole again', async (t, store) => {
  const server = await serve(t, store, secrets(FIRST));
  const peer = await rawPeer(t, 'http', 'probe', { server });
  const call = await callTool(peer, 'ask');
  const { id } = await nextAsk(peer);
  const [{ key }] = await store.questions();
  const whole = await store.say('HGET', key, 'c');
  const damaged = Buffer.from(whole);
  damaged[damaged.length - 20] ^= 1;
  await store.say('HSET', key, 'c', damaged);
  assert.equal((await accept(peer, id, { name: 'Ada' })).status, 202, 'the answer is taken');
  await within(PATIENCE_MS, 'the stream ends', call.handle.finished);
  assert.deepEqual(responses(call.handle), [], 'it is told no end');
  assert.match(String(await store.say('HGET', key, 'x')), /^2 /, 'it can be run');
  assert.equal((await resume(peer, call)).status, 503, 'nor when its client comes back');
  await store.say('HSET', key, 'c', whole);
  assert.equal((await resume(peer, call)).status, 200);
  assert.equal(textOf((await call.reply()).result), 'accept {"name":"Ada"}');
});

onEachSharedStore('a node that lacks a secret of its store says 503, and refuses nothing for good', async (t, store) => {
  const tokens = tokenFile(t);
  const old = await serve(t, store, secrets(FIRST), false, tokens);
  const rotated = await serve(t, store, secrets(SECOND, FIRST), false, tokens);
  const peer = await rawPeer(t, 'http', 'probe', { server: rotated, token: ADA });
  const call = await callTool(peer, 'ask');
  const { id } = await nextAsk(peer);
  const asked = await ask(rotated, 'mine');
  const retry = retryOf(asked, { word: word('answer-mine') });
  const task = await beginTask(rotated, 'task');
  await taskUntil(rotated, task, ['input_required']);
  await until(old, ({ code }) => code === 503, 'it is not ready');

  assert.equal((await accept(at(peer, old), id, { name: 'Ada' })).status, 503, 'an answer of the 2025 era');
  assert.equal((await resume(peer, call)).status, 503, 'a stream that is taken up');
  const said = await old.client.call('plant', { mark: 'mine' }, retry);
  assert.equal(said.status, 503, said.text);
  const got = await old.client.request('tasks/get', { taskId: task }, { capabilities: TASKS });
  assert.notEqual(got.error?.code, -32602, got.text);
  const inbox = await fetch(new URL(`/api/elicitation/${id}/resolve`, old.url), {
    method: 'POST', headers: { 'Content-Type': 'application/json', Authorization: `Bearer ${ADA}` },
    body: JSON.stringify({ action: 'accept', content: { name: 'Ada' } }) });
  assert.equal(inbox.status, 503, 'an answer in the inbox');

  const changed = (at) => asked.requestState.slice(0, at) + (asked.requestState[at] === 'A' ? 'B' : 'A') + asked.requestState.slice(at + 1);
  for (const [server, requestState, status] of [
    [rotated, changed(3), 400], // another key id, on a node that lacks none
    [rotated, changed(40), 400], [old, 'x'.repeat(80), 400], [old, '', 400],
  ])
    assert.equal((await server.client.call('plant', { mark: 'mine' }, { ...retry, requestState })).status, status, requestState.slice(0, 20));

  assert.equal((await accept(at(peer, rotated), id, { name: 'Ada' })).status, 202, 'nothing was lost');
  assert.equal(textOf((await call.reply()).result), 'accept {"name":"Ada"}');
  assert.equal(await finish(rotated, 'mine', asked), result('mine'));
  assert.equal(await finishTask(rotated, task, 'task'), result('task'));
});

onEachSharedStore('a node without a secret is not ready once the store is sealed', async (t, store) => {
  const plain = await serve(t, store, {});
  assert.equal((await ready(plain)).code, 200);
  const sealed = await serve(t, store, secrets(FIRST));
  const said = await until(plain, ({ code }) => code === 503, 'it is not ready');
  assert.match(said.why, new RegExp(`key id ${keyIn(sealed)}`)); // of the mark, or of a record, whichever it met first
});

// docs/operate.md, "Replacing a secret". Every node is asked all the time whether it is ready.
onEachSharedStore('secrets are replaced node by node, and every node is ready all the time', async (t, store) => {
  const nodes = [];
  const unready = [];
  let watching = true;
  t.after(() => (watching = false));
  const watch = (async () => {
    for (; watching; await pause(20))
      for (const node of nodes.filter(Boolean)) {
        const said = await ready(node).catch(() => null); // it is being restarted
        if (said && said.code !== 200 && said.why !== 'the server is shutting down') unready.push(said);
      }
  })();
  const roll = async (env) => {
    for (let i = 0; i < 3; i++) {
      const before = nodes[i];
      nodes[i] = undefined;
      await before?.stop();
      nodes[i] = await serve(t, store, env);
      assert.equal((await ready(nodes[i])).code, 200);
    }
  };
  const tasks = [];
  const begin = async () => {
    for (const node of nodes) tasks.push([await beginTask(node, `m${tasks.length}`), `m${tasks.length}`]);
    for (const node of nodes) for (const [task] of tasks) await taskUntil(node, task, ['input_required']);
  };

  await roll(secrets(FIRST));
  await begin();
  await roll(secrets(FIRST, SECOND));
  await begin();
  await roll(secrets(SECOND, FIRST));
  await begin();
  const run = await reseal(store, secrets(SECOND, FIRST));
  assert.equal(run.code, 0, run.stderr);
  assert.equal(counts(run).refused, '0');
  await begin();
  await roll(secrets(SECOND));
  for (const [i, [task, mark]] of tasks.entries()) assert.equal(await finishTask(nodes[i % 3], task, mark), result(mark));
  watching = false;
  await watch;
  assert.deepEqual(unready, []);
  for (const node of nodes) assert.equal(refusals(node), 0, node.stderr());
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
    await refused(t, store, secrets(THIRD));
    let server = await serve(t, store, secrets(THIRD, SECOND, FIRST));
    if (!shared) {
      const busy = await reseal(store, secrets(THIRD, SECOND, FIRST));
      assert.equal(busy.code, 1, busy.stdout);
      assert.match(busy.stderr, /in use by process \d+/);
    }
    await server.stop();

    const early = await reseal(store, secrets(THIRD, FIRST));
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
  for (const [address, why, status = 1] of [['memory:', /outlives/, 2], ['sqlite:', /names no file/], ['sqlite:/nowhere/store.db', /no such file/],
    ['redis://:confidence@127.0.0.1:1?timeout=200', /cannot be used/], ['redi://:confidence@127.0.0.1', /it must be memory:.*did you mean redis\?/, 2]]) {
    const { code, stderr } = await runOnce('nod', ['store', 'reseal', '--store', address], secrets(FIRST));
    assert.equal(code, status, address);
    assert.match(stderr, why);
    assert.doesNotMatch(stderr, /confidence/);
  }
  const help = await runOnce('nod', ['store', 'reseal', '--help']);
  assert.equal(help.code, 0);
  assert.match(help.stdout, /MCP_PREVIOUS_SECRETS/);
});

describe('sealed', { concurrency: LANES }, () => tests.forEach(([name, fn]) => it(name, fn)));
