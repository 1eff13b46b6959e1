// Handlers that block run on threads beside the loop, and never delay it.
import test from 'node:test';
import assert from 'node:assert/strict';
import { PATIENCE_MS, atAnyPace, callTool, connect, onBoth, pause, rawPeer, resultOf, textOf, within } from './harness.js';

const UNHURRIED = { PROBE_PACE: '100' }; // what has 1 s for its work has 100 s

onBoth(test, 'a handler that sleeps does not keep others from being answered', async (t, kind) => {
  const session = await connect(t, kind, 'probe');
  // On a busy machine the sleeper may be through before the others are: then it sleeps again. If they waited for it, they always would.
  for (const until = Date.now() + PATIENCE_MS; ; ) {
    const order = [];
    const slow = session.text('sleeper', { ms: 600 }).then((text) => order.push(text));
    await Promise.all(Array.from({ length: 20 }, () => session.text('whoami').then(() => order.push('whoami'))));
    await slow;
    if (order.at(-1) === 'slept') return;
    assert.ok(Date.now() < until, `the others waited for it: ${order}`);
  }
});

onBoth(test, 'a handler that outlives its time is answered for, and the pool stays usable', (t, kind) => atAnyPace(t, async (times) => {
  const session = await connect(t, kind, 'probe', { env: { PROBE_PACE: `${times}` } });
  const started = Date.now();
  const results = await Promise.all([1, 2].map(() => session.call('sleeper', { ms: 60000 })));
  assert.ok(Date.now() - started < 60000, 'answered for before it was through');
  for (const result of results) {
    assert.equal(result.isError, true);
    assert.match(JSON.stringify(result), /sleeper/);
    assert.match(JSON.stringify(result), /time|1000/i);
  }
  // Both workers of the pool are still asleep; others are at work meanwhile.
  assert.equal(await session.text('sleeper', { ms: 1 }), 'slept');
  await session.stop();
  await within(PATIENCE_MS, 'it is reported', (async () => {
    while (!/sleeper/.test(session.stderr())) await pause(10);
  })());
}));

onBoth(test, 'more calls than workers are all answered', async (t, kind) => {
  const session = await connect(t, kind, 'probe', { env: UNHURRIED });
  const results = await Promise.all(Array.from({ length: 16 }, () => session.text('sleeper', { ms: 20 })));
  assert.deepEqual(results, Array(16).fill('slept'));
});

onBoth(test, 'a worker is free while a person thinks', async (t, kind) => {
  const session = await connect(t, kind, 'probe', { env: UNHURRIED });
  const calls = Array.from({ length: 8 }, () => session.text('three_blocking'));
  const first = [];
  for (let i = 0; i < 8; i++) first.push(await session.question());
  assert.equal(await session.text('sleeper', { ms: 1 }), 'slept');
  for (const question of first) question.accept({ word: 'a' });
  for (let i = 0; i < 16; i++) (await session.question()).accept({ word: 'b' });
  assert.deepEqual(await Promise.all(calls), Array(8).fill('a b b'));
});

onBoth(test, 'a blocking handler learns that its call was cancelled', async (t, kind) => {
  const peer = await rawPeer(t, kind, 'probe');
  const call = await callTool(peer, 'until_cancelled');
  await peer.next((message) => message.method === 'notifications/message', 'the handler is at work');
  await peer.send({ method: 'notifications/cancelled', params: { requestId: call.id } });
  for (const end = Date.now() + PATIENCE_MS; Date.now() < end && JSON.parse(await resultOf(peer, 'counters')).cancels === 0;) await pause(20);
  assert.equal(JSON.parse(await resultOf(peer, 'counters')).cancels, 1);
  assert.equal(peer.inbox.rest((message) => message.id === call.id).length, 0);
});

onBoth(test, 'a server told to stop lets a blocking handler finish', async (t, kind) => {
  const peer = await rawPeer(t, kind, 'probe');
  callTool(peer, 'sleeper', { ms: 300 }).catch(() => {});
  await resultOf(peer, 'whoami'); // by then the sleeper is at work
  if (kind === 'stdio') await peer.stop();
  else await peer.server.stop();
});

onBoth(test, 'the blocking example checks all disks, with a question in the middle', async (t, kind) => {
  const values = [];
  const session = await connect(t, kind, 'blocking', { answer: () => ({ action: 'accept' }) });
  const result = await session.call('check_disks', {}, { onprogress: ({ progress }) => values.push(progress) });
  assert.equal(textOf(result), 'Checked all 8 disks; disk 4 looks bad.');
  assert.deepEqual(values.filter(Number.isInteger).slice(0, 4), [1, 2, 3, 4]);
  assert.equal(values.at(-1), 8);
});
