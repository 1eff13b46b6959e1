// Clocks: how long a question waits, what a late answer does, and what the client is sent in the meantime.
import test from 'node:test';
import assert from 'node:assert/strict';
import { atAnyPace, connect, onBoth, rawPeer, callTool, nextAsk, accept, answer, resultOf, runOnce, textOf, pause, within, PATIENCE_MS } from './harness.js';

onBoth(test, 'a question that nobody answers ends in a timeout with its id and time to live', async (t, kind) => {
  const peer = await rawPeer(t, kind, 'probe');
  const call = await callTool(peer, 'ask', { ttl: 300 });
  const ask = await nextAsk(peer);
  const { result } = await call.reply();
  assert.equal(result.isError, true);
  assert.equal(result._meta.code, 'ELICITATION_TIMEOUT');
  assert.equal(result._meta.elicitationId, ask.id);
  assert.equal(result._meta.ttl, 300);
  assert.ok(result._meta.errorId);
});

onBoth(test, 'a question that has expired is taken back from the client', async (t, kind) => {
  const session = await connect(t, kind, 'probe');
  const call = session.call('ask', { ttl: 300 });
  const question = await session.question();
  await question.withdrawn();
  assert.equal((await call)._meta.code, 'ELICITATION_TIMEOUT');
});

onBoth(test, 'a confirm that nobody answers is no', async (t, kind) => {
  const session = await connect(t, kind, 'probe');
  assert.equal(await session.text('confirm', { ttl: 200 }), 'no');
});

onBoth(test, 'the time to live of the server counts where a question has none', async (t, kind) => {
  const session = await connect(t, kind, 'probe', { env: { PROBE_TTL_MS: '250' } });
  const result = await session.call('ask');
  assert.equal(result._meta.code, 'ELICITATION_TIMEOUT');
  assert.equal(result._meta.ttl, 250);
});

onBoth(test, 'how long a person may take: the command line before the server, the tool before both, the question before all', async (t, kind) => {
  const session = await connect(t, kind, 'probe', { env: { PROBE_TTL_MS: '600000' }, args: ['--ask-ttl', '1s'] });
  const ttl = async (tool, args) => (await session.call(tool, args))._meta.ttl;
  assert.equal(await ttl('ask', { ttl: 100 }), 100);
  assert.equal(await ttl('hurry'), 150);
  assert.equal(await ttl('ask'), 1000);
});

test('--ask-ttl takes a time, and says so', async () => {
  const wrong = await runOnce('probe', ['--ask-ttl', '0']);
  assert.notEqual(wrong.code, 0);
  assert.match(wrong.stderr, /--ask-ttl takes a time such as 90s, 30m, 24h or 7d/);
});

onBoth(test, 'a late answer changes nothing and does not answer the next question', async (t, kind) => {
  const peer = await rawPeer(t, kind, 'probe');
  const first = await callTool(peer, 'ask', { ttl: 200 });
  const late = await nextAsk(peer);
  assert.equal((await first.reply()).result._meta.code, 'ELICITATION_TIMEOUT');

  const second = await callTool(peer, 'ask');
  const ask = await nextAsk(peer);
  assert.notEqual(ask.id, late.id);
  await accept(peer, late.id, { name: 'Too Late' });
  await accept(peer, ask.id, { name: 'In Time' });
  assert.equal(textOf((await second.reply()).result), 'accept {"name":"In Time"}');
  const counters = JSON.parse(await resultOf(peer, 'counters'));
  assert.equal(counters.runs, 4, 'two runs for each call, none for the late answer');
  assert.equal(counters.defers, 4, 'every run let go of what it held');
});

onBoth(test, 'a negative time to live is refused and nothing is sent', async (t, kind) => {
  const session = await connect(t, kind, 'probe', { answer: () => ({ action: 'accept' }) });
  const result = await session.call('negative_ttl').catch((error) => error);
  assert.ok(result.isError || result instanceof Error);
  assert.match(JSON.stringify(result) + result.message, /ttl|time to live/i);
  assert.equal(session.asked.length, 0);
});

for (const tool of ['slow_person', 'slow_person_blocking'])
  onBoth(test, `the time a person takes is not work: ${tool}`, (t, kind) => atAnyPace(t, async (times) => {
    const session = await connect(t, kind, 'probe', { env: { PROBE_PACE: `${times}` } });
    const call = session.text(tool);
    const question = await session.question();
    await pause(2000 * times); // twice the tool's time for work
    question.accept({});
    assert.equal(await call, 'yes');
  }));

onBoth(test, 'progress rises while a call waits for a person', async (t, kind) => {
  const session = await connect(t, kind, 'probe', { env: { PROBE_HEARTBEAT_MS: '100' } });
  const values = [];
  let enough;
  const beaten = new Promise((resolve) => (enough = resolve));
  const call = session.text('confirm', {}, {
    onprogress: ({ progress }) => {
      values.push(progress);
      if (values.length === 4) enough();
    },
  });
  const question = await session.question();
  await within(PATIENCE_MS, 'four heartbeats', beaten);
  question.accept({});
  assert.equal(await call, 'yes');
  for (let i = 1; i < values.length; i++) assert.ok(values[i] > values[i - 1], `rising: ${values}`);
  assert.deepEqual(values.slice(0, 4), [0, 0.001, 0.002, 0.003], 'round numbers, for those who show them');
});

onBoth(test, 'heartbeats and the own progress of a tool rise together', async (t, kind) => {
  const session = await connect(t, kind, 'probe', { env: { PROBE_HEARTBEAT_MS: '50' } });
  const values = [];
  const call = session.text('telling', {}, { onprogress: ({ progress }) => values.push(progress) });
  for (let i = 0; i < 2; i++) {
    const question = await session.question();
    const beaten = values.length + 2;
    await within(PATIENCE_MS, 'two heartbeats', (async () => { while (values.length < beaten) await pause(10); })());
    question.accept({});
  }
  assert.equal(await call, 'told');
  assert.ok(values.length >= 5, `there were heartbeats: ${values}`);
  for (let i = 1; i < values.length; i++) assert.ok(values[i] > values[i - 1], `rising: ${values}`);
});

test('http: without a progress token the stream is kept alive by comments', async (t) => {
  const peer = await rawPeer(t, 'http', 'probe', { env: { PROBE_HEARTBEAT_MS: '100' } });
  const call = await callTool(peer, 'confirm');
  const ask = await nextAsk(peer);
  for (let i = 0; i < 3; i++) await call.handle.arrived.next((event) => event.comment !== undefined, 'a comment');
  assert.equal(peer.inbox.rest((message) => message.method === 'notifications/progress').length, 0);
  await accept(peer, ask.id, {});
  assert.equal(textOf((await call.reply()).result), 'yes');
});

test('stdio: without a progress token nothing is sent while a call waits', async (t) => {
  const peer = await rawPeer(t, 'stdio', 'probe', { env: { PROBE_HEARTBEAT_MS: '50' } });
  const call = await callTool(peer, 'confirm');
  const ask = await nextAsk(peer);
  await pause(300);
  assert.deepEqual(peer.inbox.rest(), []);
  await answer(peer, ask.id, { action: 'decline' });
  assert.equal(textOf((await call.reply()).result), 'no');
});

test('http: a session is in use while a call waits or its end is kept, and one without ends when nobody has used it for long', (t) => atAnyPace(t, async (times) => {
  const peer = await rawPeer(t, 'http', 'probe', { env: { PROBE_IDLE_MS: '1000', PROBE_HOOKS: '1' } });
  const call = await callTool(peer, 'ask', { ttl: 6000 * times });
  await nextAsk(peer);
  call.handle.drop();
  await call.handle.finished;
  await pause(1500);
  const other = await rawPeer(t, 'http', 'probe', { server: peer.server });
  assert.doesNotMatch(await resultOf(other, 'hooks'), /call\.finish/, 'the question outlives the silence');
  const idle = await rawPeer(t, 'http', 'probe', { server: peer.server });
  await within(PATIENCE_MS, 'the question ends', (async () => { while (!/call\.finish/.test(await resultOf(other, 'hooks'))) await pause(50); })());
  let silent = 750; // each ping is a use
  do await pause((silent *= 2));
  while (silent < PATIENCE_MS && (await idle.send({ id: 1, method: 'ping' })).status !== 404);
  assert.ok(silent < PATIENCE_MS, 'nothing is kept in it');
  assert.equal((await peer.send({ id: 1, method: 'ping' })).status, 200, 'how its call ended is kept');
}));

test('http: a session whose call waits with its stream open is in use', async (t) => {
  const peer = await rawPeer(t, 'http', 'probe', { env: { PROBE_IDLE_MS: '1000' } });
  const call = await callTool(peer, 'ask');
  const ask = await nextAsk(peer);
  await pause(2500);
  await accept(peer, ask.id, { name: 'Ada' });
  assert.equal(textOf((await call.reply()).result), 'accept {"name":"Ada"}');
});
