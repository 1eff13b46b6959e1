// Calls that do the same for many things: a question and a step for each, limits, and what is said when one is reached.
import test from 'node:test';
import assert from 'node:assert/strict';
import { connect, onBoth, runOnce, startHttp, textOf } from './harness.js';
import { Modern, accepted, retryOf } from './modern.js';
import { stores } from './stores.js';

const SECRET = 'a-secret-for-many-questions-0123456789';
const MANY = 100;

const answersTo = (result) =>
  Object.fromEntries(Object.keys(result.inputRequests).map((key) => [key, accepted({})]));

for (const { name, create } of stores)
  test(`${name}: a hundred questions in rounds and a hundred steps go on after the server was killed between them`, async (t) => {
    const store = await create(t);
    const serve = () => startHttp(t, 'probe', { args: ['--store', store.address], env: { MCP_ELICITATION_SECRET: SECRET } });
    const first = await serve();
    const args = { count: MANY };
    const round = await new Modern(first.url).asked('each_of_many', args);
    assert.equal(Object.keys(round.inputRequests).length, 64);
    const next = await new Modern(first.url).asked('each_of_many', args, retryOf(round, answersTo(round)));
    assert.equal(Object.keys(next.inputRequests).length, MANY - 64);
    await first.kill();
    const second = new Modern((await serve()).url);
    assert.equal(await second.ended('each_of_many', args, retryOf(next, answersTo(next))), `${MANY} of ${MANY} done`);
    // The steps of the first round were done before the kill, and are not done again.
    const { steps } = JSON.parse(await second.ended('counters', {}));
    assert.equal(steps, MANY - 64);
  });

onBoth(test, 'a client of the 2025 era is asked the same, and each is done', async (t, kind) => {
  let asked = 0;
  const session = await connect(t, kind, 'probe', { answer: () => (++asked % 2 ? { action: 'accept', content: {} } : { action: 'decline' }) });
  assert.equal(await session.text('each_of_many', { count: 80 }), '40 of 80 done');
  assert.equal(asked, 80);
});

onBoth(test, 'a key used twice in one run is a bug that names the key and says what to do', async (t, kind) => {
  const session = await connect(t, kind, 'probe');
  const result = await session.call('charge_under_one_key');
  assert.equal(result.isError, true);
  assert.match(textOf(result), /uses the key 'charge' for two steps in one run/);
  assert.match(textOf(result), /nod_key\(call, "charge-%d", i\)/);
  assert.match(JSON.stringify(result), /HANDLER_BUG/);
});

test('the limit of the server can be raised on the command line, and one that is reached says the number and the option', async (t) => {
  const session = await connect(t, 'http', 'probe', { args: ['--journal-entries', '100'] });
  assert.equal(await session.text('too_many_steps'), 'no limit');
  const limited = await connect(t, 'http', 'probe');
  const text = textOf(await limited.call('too_many_steps'));
  assert.match(text, /may learn at most 64 things/);
  assert.match(text, /did 64 steps, the last of them 'step-63'/);
  assert.match(text, /\.journal_entries of the tool or of the server, or --journal-entries/);
});

test('limits that cannot be are refused at the start', async () => {
  const env = { MCP_ELICITATION_SECRET: SECRET };
  for (const [args, said, exit] of [
    [['--journal-entries', '4097'], /: --journal-entries takes a number of questions and steps, from 1 to 4096; it was given "4097"/, 2],
    [['--journal-bytes', '4194305'], /--journal-bytes takes a number of bytes, from 4096 to 4194304/, 2],
    [['--journal-bytes', '100'], /--journal-bytes takes a number of bytes, from 4096 to 4194304; it was given "100"/, 2],
    [['--portable-states', '--journal-bytes', '600000'], /a portable state carries what a call has learned/, 1],
  ]) {
    const { code, stderr } = await runOnce('probe', ['--http', '127.0.0.1:0', ...args], env);
    assert.equal(code, exit, stderr);
    assert.match(stderr, said);
  }
});
