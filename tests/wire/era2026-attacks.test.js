// A requestState is in the hands of the client. Whatever is done to it or with it, the refusal is always the same, with the
// same message and status, and nothing is executed.
import test from 'node:test';
import assert from 'node:assert/strict';
import { startHttp } from './harness.js';
import { ADA, BOB, Modern, accepted, assertRefused, assertSecond, deedsFile, retryOf, tokenFile, word } from './modern.js';

const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
const SECRET = 'one-secret-that-is-long-enough-0123456789';
const OTHER_SECRET = 'another-secret-that-is-long-enough-012345';
const SIDE_BY_SIDE = 16;
const DAY_MS = 86400000;

// Runs the jobs, some at a time.
async function all(jobs) {
  const queue = jobs[Symbol.iterator]();
  await Promise.all(Array.from({ length: SIDE_BY_SIDE }, async () => {
    for (const job of queue) await job();
  }));
}

// A call of write_line that waits for its second answer, with what a good retry looks like.
async function half(modern, args = {}) {
  const first = await modern.asked('write_line', args);
  const second = await modern.asked('write_line', args, retryOf(first, { first: word('one') }));
  return { first, second, retry: retryOf(second, { second: word('two') }) };
}

async function start(t, { env = {}, ...options } = {}) {
  const deeds = deedsFile(t);
  const server = await startHttp(t, 'probe', { env: { PROBE_FILE: deeds.file, ...env }, args: ['--token-file', tokenFile(t)], ...options });
  return { deeds, server, modern: new Modern(server.url, { token: ADA }) };
}

test('one flipped bit anywhere in a state is refused, and the state itself is still good', async (t) => {
  const { deeds, modern } = await start(t);
  const { retry } = await half(modern);
  const flips = [];
  for (let at = 0; at < retry.requestState.length; at++)
    for (let bit = 1; bit < 64; bit <<= 1) {
      const flipped = ALPHABET[ALPHABET.indexOf(retry.requestState[at]) ^ bit];
      const requestState = retry.requestState.slice(0, at) + flipped + retry.requestState.slice(at + 1);
      flips.push(async () => assertRefused(await modern.call('write_line', {}, { ...retry, requestState }), `bit ${bit} of character ${at}`));
    }
  assert.ok(flips.length > 1000);
  await all(flips);
  assert.deepEqual(deeds.lines(), []);
  assert.equal(await modern.ended('write_line', {}, retry), 'wrote one two');
});

test('a state cut short, made longer or made up is refused', async (t) => {
  const { deeds, modern } = await start(t);
  const { retry } = await half(modern);
  const state = retry.requestState;
  const bad = ['', ' ', 'A', 'null', '{}', ' ' + state, state + ' ', state + '=', state + 'A', state + state, state.toUpperCase(),
    state + '\n', 'A'.repeat(100000), '\u0000', '💥', Buffer.from('{"callId":"x"}').toString('base64url')];
  for (let length = 0; length < state.length; length++) bad.push(state.slice(0, length), state.slice(length + 1));
  await all(bad.map((requestState) => async () => assertRefused(await modern.call('write_line', {}, { ...retry, requestState }), JSON.stringify(requestState.slice(0, 40)))));
  assert.deepEqual(deeds.lines(), []);
  assert.equal(await modern.ended('write_line', {}, retry), 'wrote one two');
});

test('a state that is no string is invalid', async (t) => {
  const { modern } = await start(t);
  for (const requestState of [null, 1, true, [], {}]) {
    const reply = await modern.call('two_rounds', {}, { requestState });
    assert.equal(reply.status, 400);
    assert.equal(reply.error.code, -32602);
  }
});

test('a state serves its own principal, tool, arguments and method, and nobody and nothing else', async (t) => {
  const { deeds, modern } = await start(t);
  const { retry } = await half(modern, { idempotent: false });
  const attacks = {
    'another principal': () => modern.call('write_line', { idempotent: false }, retry, { token: BOB }),
    'another tool': () => modern.call('two_rounds', { idempotent: false }, retry),
    'other arguments': () => modern.call('write_line', { idempotent: true }, retry),
    'no arguments': () => modern.call('write_line', {}, retry),
    'more arguments': () => modern.call('write_line', { idempotent: false, more: 1 }, retry),
    'a prompt': () => modern.request('prompts/get', { name: 'two_rounds', ...retry }),
    'a resource': () => modern.request('resources/read', { uri: 'probe://asking', ...retry }),
  };
  for (const [what, attack] of Object.entries(attacks)) assertRefused(await attack(), what);
  const prompt = await modern.request('prompts/get', { name: 'two_rounds' });
  assertRefused(await modern.call('two_rounds', {}, retryOf(prompt.result, { first: word('x') })), "a prompt's state for the tool of that name");
  assert.deepEqual(deeds.lines(), []);
  assert.equal(await modern.ended('write_line', { idempotent: false }, retry), 'wrote one two');
});

test('the order of the arguments and how numbers are written is not part of their meaning', async (t) => {
  const { modern } = await start(t);
  const first = await modern.asked('ask', { attempts: 2, message: 'Who?' });
  assert.equal(await modern.ended('ask', { message: 'Who?', attempts: 2.0 }, retryOf(first, { '#1': accepted({ name: 'Ada' }) })), 'accept {"name":"Ada"}');
});

test('a state of another key is refused, with a secret or without', async (t) => {
  const nodes = [
    await start(t, { env: { MCP_ELICITATION_SECRET: SECRET } }),
    await start(t, { env: { MCP_ELICITATION_SECRET: OTHER_SECRET } }),
    await start(t),
    await start(t),
  ];
  for (const from of nodes)
    for (const to of nodes) {
      if (from === to) continue;
      const first = await from.modern.asked('two_rounds');
      assertRefused(await to.modern.call('two_rounds', {}, retryOf(first, { first: word('x') })), 'a foreign state');
    }
});

test('a state that has run out is refused, wherever it was made', async (t) => {
  const env = { MCP_ELICITATION_SECRET: SECRET };
  const now = await start(t, { env });
  const later = await start(t, { env: { ...env, PROBE_CLOCK_AHEAD_MS: String(DAY_MS) } });
  const first = await now.modern.asked('two_rounds');
  assertRefused(await later.modern.call('two_rounds', {}, retryOf(first, { first: word('x') })), 'a day later');
  await now.modern.asked('two_rounds', {}, retryOf(first, { first: word('x') }));
});

test('the same retry of a finished call gets the stored result; other answers are refused; nothing happens again', async (t) => {
  const { deeds, modern } = await start(t);
  const { first, second, retry } = await half(modern);
  assert.equal(await modern.ended('write_line', {}, retry), 'wrote one two');
  for (let i = 0; i < 5; i++) assert.equal(await modern.ended('write_line', {}, retry), 'wrote one two');
  assert.equal(await modern.ended('write_line', {}, retryOf(first, { first: word('one') })), 'wrote one two');
  const others = {
    'another second answer': retryOf(second, { second: word('three') }),
    'a decline': retryOf(second, { second: { action: 'decline' } }),
    'a cancel': retryOf(second, { second: { action: 'cancel' } }),
    'no content': retryOf(second, { second: accepted() }),
    'more content': retryOf(second, { second: accepted({ word: 'two', more: 1 }) }),
    'another first answer': retryOf(first, { first: word('zero') }),
    'another first answer with the second state': retryOf(second, { first: word('zero'), second: word('two') }),
  };
  for (const [what, other] of Object.entries(others)) assertSecond(await modern.call('write_line', {}, other), what);
  assertRefused(await modern.call('write_line', {}, retry, { token: BOB }), 'the same retry by another principal');
  assert.deepEqual(deeds.lines(), ['one two']);
});

test('an old state of a call that waits: the same answer asks the present question again, another is refused', async (t) => {
  const { deeds, modern } = await start(t);
  const { first, retry } = await half(modern);
  const again = await modern.asked('write_line', {}, retryOf(first, { first: word('one') }));
  assert.deepEqual(Object.keys(again.inputRequests), ['second']);
  assertSecond(await modern.call('write_line', {}, retryOf(first, { first: word('other') })), 'another answer');
  assertSecond(await modern.call('write_line', {}, retryOf(first, { first: { action: 'decline' } })), 'a decline');
  assert.equal(await modern.ended('write_line', {}, retry), 'wrote one two');
  assert.equal(await modern.ended('write_line', {}, retryOf(again, { second: word('two') })), 'wrote one two');
  assert.deepEqual(deeds.lines(), ['one two']);
});

test('presenting any old state again executes nothing twice', async (t) => {
  const { deeds, modern } = await start(t);
  const retries = [];
  for (let i = 0; i < 20; i++) {
    const first = await modern.asked('write_line');
    retries.push(retryOf(first, { first: word(`call ${i}`) }));
    const second = await modern.asked('write_line', {}, retries.at(-1));
    retries.push(retryOf(second, { second: word('done') }));
    await modern.ended('write_line', {}, retries.at(-1));
  }
  await all([...retries, ...retries, ...retries].map((retry) => async () => {
    const reply = await modern.call('write_line', {}, retry);
    assert.equal(reply.result?.resultType, 'complete', reply.text);
  }));
  assert.deepEqual(deeds.lines(), Array.from({ length: 20 }, (_, i) => `call ${i} done`));
});

test('what a call has learned is not in its state: a long journal makes no long state, and it is as safe', async (t) => {
  const { modern } = await start(t);
  const long = 'long '.repeat(4000);
  const first = await modern.asked('two_rounds');
  const second = await modern.asked('two_rounds', {}, retryOf(first, { first: word(long) }));
  assert.ok(second.requestState.length < 512, `${second.requestState.length} bytes`);
  const retry = retryOf(second, { second: word('x') });
  assertRefused(await modern.call('two_rounds', {}, retry, { token: BOB }), 'another principal');
  assertRefused(await modern.call('two_rounds', { for: 'y' }, retry), 'other arguments');
  const flipped = second.requestState.slice(0, 50) + (second.requestState[50] === 'A' ? 'B' : 'A') + second.requestState.slice(51);
  assertRefused(await modern.call('two_rounds', {}, { ...retry, requestState: flipped }), 'flipped');
  assert.equal(await modern.ended('two_rounds', {}, retry), `${long} x`);
});
