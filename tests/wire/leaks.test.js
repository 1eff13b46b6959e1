// A server is told to stop with requests in flight, while its store hangs: it ends in time, and frees what they held. The
// sanitizer looks for leaks when it ends.
import test from 'node:test';
import assert from 'node:assert/strict';
import { callTool, initializeMessage, nextAsk, oneOf, pause, rawPeer, startHttp, PATIENCE_MS } from './harness.js';
import { Modern, word } from './modern.js';
import { stores } from './stores.js';

const ENDS_MS = 30_000; // 5 s for what runs, 2 s for the last bytes, 2 s for workers, 1 s for the store; and twice as much for a machine that is busy
const HANGS_MS = 2 * PATIENCE_MS;
const TASKS = { elicitation: {}, extensions: { 'io.modelcontextprotocol/tasks': {} } };
const redis = stores.find(({ name }) => name === 'redis');

const leakCheck = (on) => ({ ASAN_OPTIONS: `${process.env.ASAN_OPTIONS ?? ''}:detect_leaks=${on ? 1 : 0}` });

// Everything that asks the store for something, in both eras; none of it is ever answered.
async function inFlight(t, server, hang) {
  const peer = await rawPeer(t, 'http', 'probe', { server });
  const other = await rawPeer(t, 'http', 'probe', { server });
  const modern = new Modern(server.url);
  await callTool(peer, 'ask');
  const ask = await nextAsk(peer);
  const { events } = peer;
  const last = events.findLast(({ id }) => id).id;
  const asked = await modern.asked('ask', {});
  const [key] = Object.keys(asked.inputRequests);
  const task = await modern.request('tools/call', { name: 'ask', arguments: {} }, { capabilities: TASKS });
  await hang();

  const sent = [];
  const silent = (promise) => sent.push(promise.then(() => {}, () => {}));
  const accept = { jsonrpc: '2.0', id: ask.id, result: word('yes') };
  for (let i = 0; i < 3; i++) silent(peer.post(accept));
  silent(peer.post({ jsonrpc: '2.0', id: 'again', method: 'tools/call', params: { name: 'ask', arguments: {} } }));
  silent(peer.post({ jsonrpc: '2.0', id: 'step', method: 'tools/call', params: { name: 'steps', arguments: {} } }));
  silent(peer.request('GET', { headers: { 'Last-Event-ID': last.replace(/.$/, (digit) => (digit === '9' ? '8' : '9')) } }));
  silent(other.request('DELETE'));
  silent(other.post(initializeMessage({ elicitation: {} }), { headers: { 'Mcp-Session-Id': '' } }));
  silent(peer.post({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 'unknown' } }));
  silent(modern.call('ask', {}, { requestState: asked.requestState, inputResponses: { [key]: word('yes') } }));
  silent(modern.call('ask', {}, { requestState: asked.requestState, inputResponses: {} }));
  silent(modern.call('steps', {}));
  if (task.result?.taskId) {
    const { taskId } = task.result;
    silent(modern.request('tasks/get', { taskId }, { capabilities: TASKS }));
    silent(modern.request('tasks/update', { taskId, inputResponses: {} }, { capabilities: TASKS }));
    silent(modern.request('tasks/cancel', { taskId }, { capabilities: TASKS }));
  }
  await pause(300); // they are at the server, and it has asked the store
  return sent;
}

// On arm64 to look for leaks takes seconds of CPU, so one of the three is drawn. Elsewhere all are looked at.
const drawn = process.arch === 'arm64' ? oneOf([0, 1, 2], 'leaks') : null;
const looksFor = (which) => drawn === null || drawn === which;

for (const leaks of looksFor(0) ? [false, true] : [false])
  test(`SIGTERM while Redis hangs: the server ends ${leaks ? 'and leaks nothing' : 'in its time'}`, async (t) => {
    const store = await redis.create(t);
    const server = await startHttp(t, 'probe', { args: ['--store', store.address], env: leakCheck(leaks) });
    const sent = await inFlight(t, server, () => store.say('CLIENT', 'PAUSE', `${HANGS_MS}`, 'ALL'));
    const began = Date.now();
    await server.stop();
    const took = Date.now() - began;
    t.diagnostic(`ended after ${took} ms`);
    if (!leaks) assert.ok(took < ENDS_MS, `it took ${took} ms`);
    await Promise.all(sent);
  });

// No store hangs here: they are simply on their way when it ends.
for (const { name, create } of stores.filter((_, i) => looksFor(i + 1)))
  test(`${name}: requests in flight when the server ends leak nothing`, async (t) => {
    const store = await create(t);
    const server = await startHttp(t, 'probe', { args: ['--store', store.address], env: leakCheck(true) });
    const sent = await inFlight(t, server, async () => {});
    const modern = new Modern(server.url);
    for (let i = 0; i < 50; i++) sent.push(modern.call('steps_alone', {}).then(() => {}, () => {}));
    await server.stop();
    await Promise.all(sent);
  });
