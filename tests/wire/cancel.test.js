// A call that is cancelled, a session that ends, a server that stops.
import test from 'node:test';
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect, onBoth, rawPeer, startHttp, callTool, nextAsk, accept, resultOf, pause, within, PATIENCE_MS } from './harness.js';

const isCancel = (id) => (message) => message.method === 'notifications/cancelled' && message.params.requestId === id;

onBoth(test, 'a call cancelled while it waits takes its question back', async (t, kind) => {
  const session = await connect(t, kind, 'probe');
  const abort = new AbortController();
  const call = session.call('ask', {}, { signal: abort.signal });
  call.catch(() => {});
  const question = await session.question();
  abort.abort('the person has changed their mind');
  await question.withdrawn();
  await assert.rejects(call);
});

onBoth(test, 'the client is told which prompt no longer counts, and the call gets no reply', async (t, kind) => {
  const peer = await rawPeer(t, kind, 'probe');
  const call = await callTool(peer, 'ask');
  const ask = await nextAsk(peer);
  await peer.send({ method: 'notifications/cancelled', params: { requestId: call.id, reason: 'enough' } });
  await peer.next(isCancel(ask.id), 'notifications/cancelled for the prompt');
  await accept(peer, ask.id, { name: 'Ada' });
  assert.equal(JSON.parse(await resultOf(peer, 'counters')).runs, 1, 'an answer after the cancel runs nothing');
  assert.equal(peer.inbox.rest((message) => message.id === call.id).length, 0);
});

onBoth(test, 'both questions of a call are taken back with it', async (t, kind) => {
  const peer = await rawPeer(t, kind, 'probe');
  const call = await callTool(peer, 'two_at_once');
  const left = await nextAsk(peer);
  const right = await nextAsk(peer);
  await peer.send({ method: 'notifications/cancelled', params: { requestId: call.id } });
  await peer.next(isCancel(left.id), 'left is taken back');
  await peer.next(isCancel(right.id), 'right is taken back');
});

onBoth(test, 'cancelling what is not there, or is done, changes nothing', async (t, kind) => {
  const peer = await rawPeer(t, kind, 'probe');
  const done = await callTool(peer, 'whoami');
  await done.reply();
  for (const requestId of [done.id, 'nothing', 4711, 'init'])
    await peer.send({ method: 'notifications/cancelled', params: { requestId } });
  await peer.send({ method: 'notifications/cancelled' });
  assert.ok(await resultOf(peer, 'whoami'));
});

test("http: one session cannot cancel another's call", async (t) => {
  const server = await startHttp(t, 'probe');
  const mine = await rawPeer(t, 'http', 'probe', { server });
  const other = await rawPeer(t, 'http', 'probe', { server });
  const call = await callTool(mine, 'confirm');
  const ask = await nextAsk(mine);
  await other.send({ method: 'notifications/cancelled', params: { requestId: call.id } });
  await resultOf(mine, 'whoami');
  assert.equal(mine.inbox.rest(isCancel(ask.id)).length, 0);
  await accept(mine, ask.id, {});
  assert.equal((await call.reply()).result.content[0].text, 'yes');
});

test('http: DELETE ends the session, takes its questions back, and the session is gone', async (t) => {
  const peer = await rawPeer(t, 'http', 'probe');
  const call = await callTool(peer, 'ask');
  const ask = await nextAsk(peer);
  const ended = await peer.request('DELETE');
  assert.ok(ended.status >= 200 && ended.status < 300, `status ${ended.status}`);
  await peer.next(isCancel(ask.id), 'the question is taken back');
  assert.equal(await within(PATIENCE_MS, 'the stream ends', call.handle.finished), 'ended');
  assert.equal((await accept(peer, ask.id, { name: 'Ada' })).status, 404);
  assert.equal((await peer.send({ id: 1, method: 'ping' })).status, 404);
  const next = await rawPeer(t, 'http', 'probe', { server: peer.server });
  assert.equal(JSON.parse(await resultOf(next, 'counters')).runs, 1);
});

test('http: terminateSession of the official client works', async (t) => {
  const session = await connect(t, 'http', 'probe');
  await session.transport.terminateSession();
  assert.equal(session.transport.sessionId, undefined);
});

test('http: a connection that drops is not a cancel', async (t) => {
  const peer = await rawPeer(t, 'http', 'probe');
  const call = await callTool(peer, 'ask');
  const ask = await nextAsk(peer);
  call.handle.drop();
  await call.handle.finished;
  await pause(100);
  await accept(peer, ask.id, { name: 'Ada' });
  // The handler runs again with the answer although nobody listens just now.
  for (const end = Date.now() + PATIENCE_MS; Date.now() < end && JSON.parse(await resultOf(peer, 'counters')).runs < 2;) await pause(20);
  assert.equal(JSON.parse(await resultOf(peer, 'counters')).runs, 2);
});

onBoth(test, 'a server told to stop while calls wait ends cleanly', async (t, kind) => {
  const session = await connect(t, kind, 'probe');
  const calls = [session.call('ask'), session.call('two_at_once'), session.call('confirm')];
  for (const call of calls) call.catch(() => {});
  for (let i = 0; i < 4; i++) await session.question();
  if (session.server) return void await session.server.stop();
  const ended = once(session.transport._process, 'close'); // before its store is removed
  session.transport._process.kill('SIGTERM');
  await ended;
});

test('stdio: when the input ends while a call waits, the server ends cleanly', async (t) => {
  const peer = await rawPeer(t, 'stdio', 'probe');
  await callTool(peer, 'ask');
  await nextAsk(peer);
  await peer.stop();
});
