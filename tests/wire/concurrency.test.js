// Several questions at once: each answer reaches its own question, and no other.
import test from 'node:test';
import assert from 'node:assert/strict';
import { connect, onBoth, rawPeer, startHttp, callTool, nextAsk, accept, answer, resultOf, textOf } from './harness.js';

onBoth(test, 'two questions at the same time, answered in reverse order', async (t, kind) => {
  const session = await connect(t, kind, 'probe');
  const first = session.text('ask', { message: 'one' });
  const one = await session.question((question) => question.params.message === 'one');
  const second = session.text('ask', { message: 'two' });
  const two = await session.question((question) => question.params.message === 'two');
  two.accept({ name: 'Two' });
  assert.equal(await second, 'accept {"name":"Two"}');
  one.accept({ name: 'One' });
  assert.equal(await first, 'accept {"name":"One"}');
});

onBoth(test, 'forty questions at the same time, answered from the last to the first', async (t, kind) => {
  const session = await connect(t, kind, 'probe');
  const calls = [];
  const questions = [];
  for (let i = 0; i < 40; i++) calls.push(session.text('ask', { message: `m${i}` }));
  for (let i = 0; i < 40; i++) questions.push(await session.question((q) => q.params.message === `m${i}`));
  for (let i = 39; i >= 0; i--) questions[i].accept({ name: `n${i}` });
  assert.deepEqual(await Promise.all(calls), calls.map((_, i) => `accept {"name":"n${i}"}`));
});

for (const tool of ['three', 'three_blocking'])
  onBoth(test, `three questions in one call, one after the other: ${tool}`, async (t, kind) => {
    const words = ['a', 'b', 'c'];
    const session = await connect(t, kind, 'probe', {
      answer: () => ({ action: 'accept', content: { word: words.shift() } }),
    });
    assert.equal(await session.text(tool), 'a b c');
    assert.deepEqual(session.asked.map((params) => params.message), ['First', 'After a', 'After b']);
  });

onBoth(test, 'two questions of one call are put at once, and may be answered in any order', async (t, kind) => {
  const session = await connect(t, kind, 'probe');
  const call = session.text('two_at_once');
  const left = await session.question((question) => question.params.message === 'Left');
  const right = await session.question((question) => question.params.message === 'Right');
  right.accept({ word: 'R' });
  left.accept({ word: 'L' });
  assert.equal(await call, 'left L, right R');
  assert.equal(session.asked.length, 2, 'neither is asked twice');
});

onBoth(test, 'a repeated answer changes nothing', async (t, kind) => {
  const peer = await rawPeer(t, kind, 'probe');
  const call = await callTool(peer, 'three');
  const first = await nextAsk(peer);
  await accept(peer, first.id, { word: 'a' });
  const second = await nextAsk(peer);
  await accept(peer, first.id, { word: 'again' });
  await accept(peer, second.id, { word: 'b' });
  const third = await nextAsk(peer);
  await accept(peer, second.id, { word: 'again' });
  await accept(peer, first.id, { word: 'again' });
  await accept(peer, third.id, { word: 'c' });
  assert.equal(textOf((await call.reply()).result), 'a b c');
});

onBoth(test, 'answers to questions that were never put change nothing', async (t, kind) => {
  const peer = await rawPeer(t, kind, 'probe');
  const call = await callTool(peer, 'ask');
  const ask = await nextAsk(peer);
  for (const id of ['', 'x', 0, -1, 9007199254740993, String(ask.id) + ' ', String(ask.id).toUpperCase() + 'Z'])
    await accept(peer, id, { name: 'Nobody' });
  await accept(peer, ask.id, { name: 'Ada' });
  assert.equal(textOf((await call.reply()).result), 'accept {"name":"Ada"}');
});

test("http: an answer from another session is not taken, and the question stays", async (t) => {
  const server = await startHttp(t, 'probe');
  const mine = await rawPeer(t, 'http', 'probe', { server });
  const other = await rawPeer(t, 'http', 'probe', { server });
  const call = await callTool(mine, 'ask');
  const ask = await nextAsk(mine);
  await accept(other, ask.id, { name: 'Mallory' });
  assert.equal(JSON.parse(await resultOf(mine, 'counters')).runs, 1, 'the handler has not been run again');
  await accept(mine, ask.id, { name: 'Ada' });
  assert.equal(textOf((await call.reply()).result), 'accept {"name":"Ada"}');
});

test('http: questions of two sessions do not meet', async (t) => {
  const server = await startHttp(t, 'probe');
  const one = await connect(t, 'http', 'probe', { server });
  const two = await connect(t, 'http', 'probe', { server });
  const first = one.text('ask', { message: 'for one' });
  const second = two.text('ask', { message: 'for two' });
  (await two.question()).accept({ name: 'Two' });
  (await one.question()).accept({ name: 'One' });
  assert.equal(await first, 'accept {"name":"One"}');
  assert.equal(await second, 'accept {"name":"Two"}');
  assert.deepEqual(one.asked.map((params) => params.message), ['for one']);
  assert.deepEqual(two.asked.map((params) => params.message), ['for two']);
});

onBoth(test, 'with one ask per scope a new question cancels the older one', async (t, kind) => {
  const session = await connect(t, kind, 'probe', { env: { PROBE_ONE_ASK: '1' } });
  const first = session.text('ask', { message: 'older' });
  const older = await session.question();
  const second = session.text('ask', { message: 'newer' });
  assert.equal(await first, 'cancel');
  await older.withdrawn();
  const newer = await session.question((question) => question.params.message === 'newer');
  newer.accept({ name: 'Ada' });
  assert.equal(await second, 'accept {"name":"Ada"}');
});

test('http: one ask per scope is one for each session', async (t) => {
  const server = await startHttp(t, 'probe', { env: { PROBE_ONE_ASK: '1' } });
  const one = await connect(t, 'http', 'probe', { server });
  const two = await connect(t, 'http', 'probe', { server });
  const first = one.text('ask');
  const questionOne = await one.question();
  const second = two.text('ask');
  const questionTwo = await two.question();
  questionOne.accept({ name: 'One' });
  questionTwo.accept({ name: 'Two' });
  assert.equal(await first, 'accept {"name":"One"}');
  assert.equal(await second, 'accept {"name":"Two"}');
});

onBoth(test, 'a call that waits does not keep others from being answered', async (t, kind) => {
  const peer = await rawPeer(t, kind, 'probe');
  const waiting = await callTool(peer, 'confirm');
  const ask = await nextAsk(peer);
  assert.ok(await resultOf(peer, 'whoami'));
  await peer.send({ id: 'p', method: 'ping' });
  assert.deepEqual((await peer.next((message) => message.id === 'p')).result, {});
  await answer(peer, ask.id, { action: 'decline' });
  assert.equal(textOf((await waiting.reply()).result), 'no');
});
