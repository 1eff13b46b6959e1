// Tasks as a client sees them: the example that is one, its question, its status, and who is told of it. The single rules
// are tested in tests/unit/mcp/tasks.c; the suite's own scenario for notifications is always skipped, so it is here.
import test from 'node:test';
import assert from 'node:assert/strict';
import { connect, defaultHeaders, pause, rawPeer, sseEvents, startHttp, textOf, within, PATIENCE_MS } from './harness.js';
import { stores } from './stores.js';
import { ADA, BOB, Modern, VERSION, accepted, metaOf, onBothAndBothEras, connectModern, retryOf, tokenFile } from './modern.js';

const EXTENSION = 'io.modelcontextprotocol/tasks';
const DECLARED = { elicitation: {}, extensions: { [EXTENSION]: {} } };
const SECRET = 'a secret that is surely long enough for this';
const QUICK = { LONG_REPORT_MS: '20' };
const ENDED = ['completed', 'failed', 'cancelled'];

class Tasks extends Modern {
  constructor(url, options = {}) {
    super(url, { capabilities: DECLARED, ...options });
  }

  async begin(tool, args, retry) {
    const reply = await this.call(tool, args, retry);
    assert.equal(reply.result?.resultType, 'task', reply.text);
    assert.ok(!('requestState' in reply.result) && !('inputRequests' in reply.result), reply.text);
    return reply.result.taskId;
  }

  async get(taskId) {
    const { result, text } = await this.request('tasks/get', { taskId });
    assert.equal(result?.taskId, taskId, text);
    return result;
  }

  // Looks until it has ended, or `wanted` says so.
  async until(taskId, wanted = ({ status }) => ENDED.includes(status)) {
    const end = Date.now() + PATIENCE_MS;
    for (;;) {
      const task = await this.get(taskId);
      if (wanted(task)) return task;
      assert.ok(Date.now() < end, `still ${JSON.stringify(task)}`);
      await pause(10);
    }
  }
}

// Opens subscriptions/listen and gives its messages, one by one.
async function listen(t, client, notifications) {
  const stop = new AbortController();
  t.after(() => stop.abort());
  const response = await fetch(client.url, {
    method: 'POST',
    headers: { ...defaultHeaders, 'MCP-Protocol-Version': VERSION, 'Mcp-Method': 'subscriptions/listen',
      ...(client.token ? { Authorization: `Bearer ${client.token}` } : {}) },
    body: JSON.stringify({ jsonrpc: '2.0', id: 'ears', method: 'subscriptions/listen',
      params: { notifications, _meta: metaOf(DECLARED) } }),
    signal: stop.signal,
  });
  const events = sseEvents(response.body)[Symbol.asyncIterator]();
  return async () => {
    for (;;) {
      const { value, done } = await within(PATIENCE_MS, 'an event', events.next());
      assert.ok(!done, 'the stream has ended');
      if (value.data) return JSON.parse(value.data);
    }
  };
}

test('a task says how far it is, asks inside, and keeps its result', async (t) => {
  const server = await startHttp(t, 'long-report', { env: { LONG_REPORT_MS: '100' } });
  const client = new Tasks(server.url);
  const id = await client.begin('write_report', { month: 'May' });
  const working = await client.until(id, ({ statusMessage }) => statusMessage);
  assert.equal(working.status, 'working');
  assert.match(working.statusMessage, /^Adding up /);
  const asking = await client.until(id, ({ status }) => status !== 'working');
  assert.equal(asking.status, 'input_required');
  assert.equal(asking.inputRequests.rome.params.message, 'Rome has sent no figures for May. What shall the report say?');
  const wrong = await client.request('tasks/update', { taskId: id, inputResponses: { rome: accepted({ use: 'magic' }) } });
  assert.equal(wrong.result.resultType, 'complete');
  const again = await client.get(id);
  const [key] = Object.keys(again.inputRequests);
  assert.notEqual(key, 'rome');
  assert.match(again.inputRequests[key].params.message, /^Your last answer could not be used: For Rome: must be one of/);
  await client.request('tasks/update', { taskId: id, inputResponses: { [key]: accepted({ use: 'last' }) } });
  const done = await client.until(id);
  assert.equal(done.status, 'completed');
  assert.equal(textOf(done.result), 'May: 365 sold, Rome as the month before.');
  assert.deepEqual((await client.get(id)).result, done.result);
});

test('what is asked first is asked before the task, which begins with the step', async (t) => {
  const server = await startHttp(t, 'long-report', { env: QUICK });
  const client = new Tasks(server.url);
  const asked = await client.asked('send_report', { month: 'May' });
  const retry = retryOf(asked, { send: accepted({}) });
  const id = await client.begin('send_report', { month: 'May' }, retry);
  assert.equal(await client.begin('send_report', { month: 'May' }, retry), id);
  assert.equal(textOf((await client.until(id)).result), 'Sent the report for May to 4 branches.');
  const no = await client.asked('send_report', { month: 'May' });
  assert.equal(await client.ended('send_report', { month: 'May' }, retryOf(no, { send: { action: 'decline' } })), 'Nothing was sent.');
});

test('a cancelled task stops working', async (t) => {
  const server = await startHttp(t, 'long-report', { env: { LONG_REPORT_MS: '200' } });
  const client = new Tasks(server.url);
  const id = await client.begin('write_report', { month: 'May' });
  assert.equal((await client.request('tasks/cancel', { taskId: id })).result.resultType, 'complete');
  assert.equal((await client.until(id)).status, 'cancelled');
});

test('those who listen are told each change, and the whole of it', async (t) => {
  const server = await startHttp(t, 'long-report', { env: { LONG_REPORT_MS: '50' } });
  const client = new Tasks(server.url);
  const id = await client.begin('write_report', { month: 'May' });
  const next = await listen(t, client, { taskIds: [id, 'somebody-elses'], toolsListChanged: true });
  const first = await next();
  assert.equal(first.method, 'notifications/subscriptions/acknowledged');
  assert.deepEqual(first.params.notifications, { toolsListChanged: true, taskIds: [id] });
  const told = async (status) => {
    for (;;) {
      const { method, params } = await next();
      assert.equal(method, 'notifications/tasks');
      const { _meta, ...task } = params;
      assert.equal(_meta['io.modelcontextprotocol/subscriptionId'], 'ears');
      assert.equal(task.taskId, id);
      if (task.status === status) return task;
    }
  };
  const bare = ({ _meta, resultType, ...task }) => task;
  const asking = await told('input_required');
  assert.deepEqual(asking, bare(await client.get(id)));
  await client.request('tasks/update', { taskId: id, inputResponses: { rome: accepted({ use: 'nothing' }) } });
  const done = await told('completed');
  assert.deepEqual(done, bare(await client.get(id)));
  assert.equal(textOf(done.result), 'May: 295 sold, without Rome.');
});

test('a task is there for its principal alone', async (t) => {
  const server = await startHttp(t, 'long-report', { env: QUICK, args: ['--token-file', tokenFile(t)] });
  const ada = new Tasks(server.url, { token: ADA });
  const bob = new Tasks(server.url, { token: BOB });
  const id = await ada.begin('write_report', { month: 'May' });
  await ada.until(id, ({ status }) => status === 'input_required');
  const nothing = await bob.request('tasks/get', { taskId: 'AAAAAAAAAAAAAAAAAAAAAA' });
  for (const method of ['tasks/get', 'tasks/cancel', 'tasks/update']) {
    const reply = await bob.request(method, { taskId: id, inputResponses: { rome: accepted({ use: 'last' }) } });
    assert.deepEqual(reply.error, nothing.error, method);
    assert.equal(reply.error.code, -32602);
  }
  const next = await listen(t, bob, { taskIds: [id] });
  assert.deepEqual((await next()).params.notifications, {});
  assert.equal((await ada.get(id)).status, 'input_required');
});

test('without the extension there is no task, and nothing to ask one', async (t) => {
  const server = await startHttp(t, 'long-report', { env: QUICK });
  const client = new Modern(server.url);
  const asked = await client.asked('write_report', { month: 'May' });
  assert.equal(await client.ended('write_report', { month: 'May' }, retryOf(asked, { rome: accepted({ use: 'nothing' }) })), 'May: 295 sold, without Rome.');
  const requiredCapabilities = { extensions: { [EXTENSION]: {} } };
  for (const [method, params] of [
    ['tasks/get', { taskId: 'x' }], ['tasks/cancel', { taskId: 'x' }], ['tasks/update', { taskId: 'x', inputResponses: {} }],
    ['subscriptions/listen', { notifications: { taskIds: ['x'] } }],
  ]) {
    const reply = await client.request(method, params);
    assert.equal(reply.status, 400, method);
    assert.equal(reply.error.code, -32021);
    assert.deepEqual(reply.error.data, { requiredCapabilities });
  }
});

test('a task on stdio, beside a session of the other era', async (t) => {
  const peer = await rawPeer(t, 'stdio', 'long-report', { env: QUICK });
  let last = 0;
  const ask = async (method, params) => {
    const id = ++last;
    peer.send({ id, method, params: { ...params, _meta: metaOf(DECLARED) } });
    return (await peer.next((message) => message.id === id, method)).result;
  };
  const { taskId, resultType } = await ask('tools/call', { name: 'write_report', arguments: { month: 'May' } });
  assert.equal(resultType, 'task');
  const settled = async () => {
    for (;;) {
      const task = await ask('tasks/get', { taskId });
      if (task.status !== 'working') return task;
      await pause(10);
    }
  };
  assert.equal((await settled()).status, 'input_required');
  await ask('tasks/update', { taskId, inputResponses: { rome: accepted({ use: 'last' }) } });
  const task = await settled();
  assert.equal(task.status, 'completed');
  assert.match(textOf(task.result), /365/);
});

onBothAndBothEras(test, 'the same tools for a client that waits', async (t, kind, how) => {
  const answers = [accepted({ use: 'last' }), accepted({}), { action: 'decline' }];
  const session = await connectModern(t, kind, 'long-report', { ...how, env: QUICK, answer: () => answers.shift() });
  assert.equal(await session.text('write_report', { month: 'May' }), 'May: 365 sold, Rome as the month before.');
  assert.equal(await session.text('send_report', { month: 'May' }), 'Sent the report for May to 4 branches.');
  assert.equal(await session.text('send_report', { month: 'May' }), 'Nothing was sent.');
});

test('the first client waits as well', async (t) => {
  const session = await connect(t, 'http', 'long-report', { env: QUICK });
  const call = session.text('write_report', { month: 'May' });
  (await session.question()).accept({ use: 'nothing' });
  assert.equal(await call, 'May: 295 sold, without Rome.');
});

for (const { name, create } of stores)
  test(`${name}: when a task was last updated is when its question changed, also after a crash`, async (t) => {
    const store = await create(t);
    const start = () => startHttp(t, 'long-report', { env: { MCP_ELICITATION_SECRET: SECRET, ...QUICK }, args: ['--store', store.address] });
    const server = await start();
    const client = new Tasks(server.url);
    const taskId = await client.begin('write_report', { month: 'May' });
    const before = await client.until(taskId, ({ status }) => status === 'input_required');
    await server.stop('SIGKILL');
    client.url = (await start()).url;
    await pause(20);
    const sent = Date.now();
    const [key] = Object.keys(before.inputRequests);
    await client.request('tasks/update', { taskId, inputResponses: { [key]: accepted({ use: 'no such choice' }) } });
    const after = await client.until(taskId, ({ inputRequests }) => inputRequests && !(key in inputRequests));
    assert.ok(Date.parse(after.lastUpdatedAt) >= sent - 5, `${after.lastUpdatedAt}, and it was ${before.lastUpdatedAt}`);
    await pause(20);
    assert.equal((await client.get(taskId)).lastUpdatedAt, after.lastUpdatedAt, 'a look changes nothing');
  });

for (const { name, create } of stores)
  test(`${name}: a task, and a call by its state, are found where nothing of their kind is left`, async (t) => {
    const store = await create(t);
    const start = (program, env = {}) => startHttp(t, program, { env: { MCP_ELICITATION_SECRET: SECRET, ...env }, args: ['--store', store.address] });
    const server = await start('long-report', QUICK);
    const client = new Tasks(server.url);
    const ended = await client.begin('write_report', { month: 'May' });
    const asking = await client.begin('write_report', { month: 'June' });
    for (const id of [ended, asking]) await client.until(id, ({ status }) => status === 'input_required');
    const { inputRequests } = await client.get(ended);
    const [key] = Object.keys(inputRequests);
    await client.request('tasks/update', { taskId: ended, inputResponses: { [key]: { action: 'decline' } } });
    const { status, result } = await client.until(ended);
    await server.stop();
    const probe = await start('probe');
    const prompts = new Modern(probe.url);
    const prompt = await prompts.request('prompts/get', { name: 'asking' });
    assert.equal(prompt.result?.resultType, 'input_required', prompt.text);
    await probe.stop();

    const without = await start('delete-account');
    client.url = without.url;
    const discovered = await client.request('server/discover');
    assert.equal(discovered.result.capabilities.extensions?.[EXTENSION], undefined, 'no tool has tasks here');
    const again = await client.get(ended);
    assert.equal(again.status, status);
    assert.deepEqual(again.result, result);
    const waits = await client.request('tasks/get', { taskId: asking });
    assert.ok(waits.result, waits.text);
    assert.equal((await client.request('tasks/cancel', { taskId: asking })).error, undefined);
    const unknown = await client.request('tasks/get', { taskId: 'AAAAAAAAAAAAAAAAAAAAAA' });
    assert.equal(unknown.error.code, -32602);
    const back = await prompts.request('prompts/get', { name: 'asking', requestState: prompt.result.requestState }, { url: without.url });
    assert.notEqual(back.error?.code, -32601, back.text);
    assert.match(back.text, /no longer there|send the request again later|not here/);
  });
