// The _meta of a request: what of it a handler is given, in both eras, and that it stays that of the first request.
import test from 'node:test';
import assert from 'node:assert/strict';
import path from 'node:path';
import { accept, callTool, nextAsk, onBoth, pause, rawPeer, startHttp, textOf, withoutInbox, PATIENCE_MS } from './harness.js';
import { Modern, accepted, retryOf, scratchFolder } from './modern.js';

withoutInbox();

const SECRET = 'a secret that is surely long enough for this';
const OWN = { traceparent: '00-0af7651916cd43dd8448eb211c80319c-00f067aa0ba902b7-01', 'com.example/order': { n: [1, null, 'x'] } };
// What the protocol uses itself, or has reserved.
const PROTOCOLS = { progressToken: 'p', 'io.modelcontextprotocol/related-task': { taskId: 't' }, 'dev.mcp/anything': 1 };
const OTHERS = { traceparent: '00-ffffffffffffffffffffffffffffffff-00f067aa0ba902b7-01', 'com.example/late': true };
const MOST = 16 << 10;

// _meta of exactly so many bytes, as nod keeps it.
const large = (bytes) => ({ a: 'x'.repeat(bytes - '{"a":""}'.length) });
const saidIn = (text) => JSON.parse(text);
const yes = { say: accepted({ confirmed: true }) };

onBoth(test, 'a handler is given the _meta of its request, without what the protocol uses', async (t, kind) => {
  const peer = await rawPeer(t, kind, 'probe');
  for (const tool of ['said', 'said_blocking']) {
    const call = await callTool(peer, tool, {}, { ...OWN, ...PROTOCOLS });
    const ask = await nextAsk(peer);
    await accept(peer, ask.id, { confirmed: true });
    assert.deepEqual(saidIn(textOf((await call.reply()).result)), OWN);
  }
});

test('2026: the _meta of the first request counts, and a retry may say something else', async (t) => {
  const modern = new Modern((await startHttp(t, 'probe')).url);
  for (const tool of ['said', 'said_blocking']) {
    const asked = await modern.asked(tool, {}, {}, { meta: { ...OWN, ...PROTOCOLS } });
    const text = await modern.ended(tool, {}, retryOf(asked, yes), { meta: OTHERS });
    assert.deepEqual(saidIn(text), OWN);
  }
});

test('2026: prompts and resources are given it too', async (t) => {
  const modern = new Modern((await startHttp(t, 'probe')).url);
  const prompt = await modern.request('prompts/get', { name: 'said' }, { meta: OWN });
  assert.deepEqual(saidIn(prompt.result.messages[0].content.text), OWN);
  const resource = await modern.request('resources/read', { uri: 'said://1' }, { meta: OWN });
  assert.deepEqual(saidIn(resource.result.contents[0].text), OWN);
  const nothing = await modern.request('prompts/get', { name: 'said' }, { meta: PROTOCOLS });
  assert.deepEqual(saidIn(nothing.result.messages[0].content.text), {});
});

test('2026: portable states carry it to another node', async (t) => {
  const start = () => startHttp(t, 'probe', { env: { MCP_ELICITATION_SECRET: SECRET }, args: ['--portable-states'] });
  const [one, two] = [new Modern((await start()).url), new Modern((await start()).url)];
  for (const meta of [OWN, large(MOST), {}]) {
    const asked = await one.asked('said', {}, {}, { meta });
    assert.deepEqual(saidIn(await two.ended('said', {}, retryOf(asked, yes), { meta: OTHERS })), meta);
  }
});

test('it is there after a kill, in both eras and for a task, sealed in the store', async (t) => {
  const args = ['--store', `sqlite:${path.join(scratchFolder(t), 'nod.db')}`];
  const start = () => startHttp(t, 'probe', { env: { MCP_ELICITATION_SECRET: SECRET }, args });
  const capabilities = { elicitation: {}, extensions: { 'io.modelcontextprotocol/tasks': {} } };
  let server = await start();
  let modern = new Modern(server.url, { capabilities });
  const asked = await modern.asked('said', {}, {}, { meta: OWN });
  const task = (await modern.call('said_task', {}, {}, { meta: OWN })).result.taskId;
  const peer = await rawPeer(t, 'http', 'probe', { server });
  const call = await callTool(peer, 'said', {}, OWN);
  const ask = await nextAsk(peer);
  const event = call.handle.events.filter(({ id }) => id !== undefined).at(-1).id;

  await server.kill();
  server = await start();
  peer.url = server.url;
  modern = new Modern(server.url, { capabilities });

  assert.deepEqual(saidIn(await modern.ended('said', {}, retryOf(asked, yes), { meta: OTHERS })), OWN);

  await peer.request('GET', { headers: { 'Last-Event-ID': event }, stream: 'resumed' });
  await accept(peer, ask.id, { confirmed: true });
  assert.deepEqual(saidIn(textOf((await call.reply()).result)), OWN);

  const end = Date.now() + PATIENCE_MS;
  for (let state = {}; state.status !== 'completed'; await pause(10)) {
    state = (await modern.request('tasks/get', { taskId: task })).result;
    if (state.status === 'input_required')
      await modern.request('tasks/update', { taskId: task, inputResponses: yes });
    if (state.status === 'completed') assert.deepEqual(saidIn(textOf(state.result)), OWN);
    assert.ok(Date.now() < end, JSON.stringify(state));
  }
});

test('as much as is kept goes through, and more is refused with a sentence, in both eras', async (t) => {
  const server = await startHttp(t, 'probe');
  const modern = new Modern(server.url);
  assert.equal((await modern.request('prompts/get', { name: 'said' }, { meta: large(MOST) })).error, undefined);
  const peer = await rawPeer(t, 'http', 'probe', { server });
  const errors = [(await modern.request('prompts/get', { name: 'said' }, { meta: large(MOST + 1) })).error,
    (await (await callTool(peer, 'said', {}, large(MOST + 1))).reply()).error];
  for (const error of errors) {
    assert.equal(error?.code, -32602);
    assert.match(error.message, /_meta must have at most 16384 bytes/);
  }
});
