// Nodes that share a secret and nothing else, and give out portable states: every request of a call may reach another of
// them.
import test from 'node:test';
import assert from 'node:assert/strict';
import path from 'node:path';
import { complaints, runOnce, startHttp, textOf } from './harness.js';
import { Modern, assertRefused, assertSecond, deedsFile, retryOf, scratchFolder, word } from './modern.js';

const SECRET = 'the-secret-both-nodes-know-0123456789abc';
const NEXT_SECRET = 'the-secret-that-comes-next-0123456789abc';
const CALLS = 1000;
const SIDE_BY_SIDE = 16;

const portable = { args: ['--portable-states'] };

async function nodesWith(t, ...environments) {
  const deeds = deedsFile(t);
  const nodes = [];
  for (const env of environments) nodes.push(new Modern((await startHttp(t, 'probe', { env: { PROBE_FILE: deeds.file, ...env }, ...portable })).url));
  return { nodes, deeds };
}

const twoNodes = (t) => nodesWith(t, { MCP_ELICITATION_SECRET: SECRET }, { MCP_ELICITATION_SECRET: SECRET });

// A call of a two-round tool, each request to the other node. Resolves to the last reply.
async function alternate(nodes, turn, tool, args, first, second) {
  const node = (n) => nodes[(turn + n) % nodes.length];
  const one = await node(0).asked(tool, args);
  const two = await node(1).asked(tool, args, retryOf(one, { first: word(first) }));
  return node(2).call(tool, args, retryOf(two, { second: word(second) }));
}

test('a thousand calls of a two-round tool, requests alternating between two nodes, end with the right answers', async (t) => {
  const { nodes } = await twoNodes(t);
  let next = 0;
  let ended = 0;
  await Promise.all(Array.from({ length: SIDE_BY_SIDE }, async () => {
    for (let i = next++; i < CALLS; i = next++) {
      const tool = i % 2 ? 'two_rounds' : 'two_rounds_blocking';
      const reply = await alternate(nodes, i, tool, {}, `first ${i}`, `second ${i}`);
      assert.equal(reply.result?.resultType, 'complete', reply.text);
      assert.equal(textOf(reply.result), `first ${i} second ${i}`);
      ended++;
    }
  }));
  assert.equal(ended, CALLS);
});

test('three nodes, one after the other, and none that has seen the call before', async (t) => {
  const env = { MCP_ELICITATION_SECRET: SECRET };
  const { nodes } = await nodesWith(t, env, env, env);
  const reply = await alternate(nodes, 0, 'two_rounds', { for: 'all' }, 'a', 'b');
  assert.equal(textOf(reply.result), 'a b');
});

test('11.20: a tool that does not say that it is portable is refused before anybody is asked, with what to do', async (t) => {
  const { nodes, deeds } = await twoNodes(t);
  for (const tool of ['write_then_ask', 'deed_ask_deed', 'renewed']) {
    const reply = await nodes[0].call(tool);
    assert.equal(reply.result?.isError, true, reply.text);
    assert.equal(reply.result._meta.code, 'TOOL_NOT_PORTABLE');
    assert.match(textOf(reply.result), /portable/);
    assert.match(textOf(reply.result), /share a store/);
  }
  assert.deepEqual(deeds.lines(), []);
});

test('11.20: a step that is not marked in a tool that says it is portable is a mistake of its author', async (t) => {
  const { nodes, deeds } = await twoNodes(t);
  const reply = await alternate(nodes, 0, 'write_line', { idempotent: false }, 'a', 'b');
  assert.equal(reply.result?.isError, true, reply.text);
  assert.equal(reply.result._meta.code, 'HANDLER_BUG');
  assert.match(textOf(reply.result), /idempotent/);
  assert.deepEqual(deeds.lines(), []);
});

test('11.20: portable states are refused at the start without a secret, and with a store that is not in memory', async (t) => {
  const env = { MCP_ELICITATION_SECRET: SECRET };
  const file = path.join(scratchFolder(t), 'nod.db');
  for (const [args, settings, why] of [
    [[], {}, /MCP_ELICITATION_SECRET/],
    [['--store', `sqlite:${file}`], env, /portable states are for servers that share no store/],
    [['--store', `sqlite:${file}`], {}, /MCP_ELICITATION_SECRET/],
  ]) {
    const { code, stderr } = await runOnce('probe', ['--http', '127.0.0.1:0', '--portable-states', ...args], settings);
    assert.notEqual(code, 0);
    assert.match(stderr, why);
    assert.doesNotMatch(stderr, /listening/);
  }
});

test('11.1: on a node that has seen its end, a portable call never runs again', async (t) => {
  const { nodes, deeds } = await twoNodes(t);
  const args = { idempotent: true };
  const one = await nodes[0].asked('write_line', args);
  const two = await nodes[0].asked('write_line', args, retryOf(one, { first: word('a') }));
  assert.equal(await nodes[0].ended('write_line', args, retryOf(two, { second: word('b') })), 'wrote a b');
  assertSecond(await nodes[0].call('write_line', args, retryOf(two, { second: word('c') })), 'another answer');
  assertSecond(await nodes[0].call('write_line', args, retryOf(one, { first: word('c') })), 'another first answer');
  assert.deepEqual(deeds.lines(), ['a b']);
});

test('an idempotent step works there', async (t) => {
  const { nodes, deeds } = await twoNodes(t);
  const reply = await alternate(nodes, 0, 'write_line', { idempotent: true }, 'a', 'b');
  assert.equal(textOf(reply.result), 'wrote a b');
  assert.deepEqual(deeds.lines(), ['a b']);
});

test('without portable states there is one node, and any step is allowed', async (t) => {
  const deeds = deedsFile(t);
  const nodes = [new Modern((await startHttp(t, 'probe', { env: { PROBE_FILE: deeds.file, MCP_ELICITATION_SECRET: SECRET } })).url)];
  const reply = await alternate(nodes, 0, 'write_line', { idempotent: false }, 'a', 'b');
  assert.equal(textOf(reply.result), 'wrote a b');
  assert.deepEqual(deeds.lines(), ['a b']);
});

test('answers that do not fit are asked again, whichever node looks', async (t) => {
  const { nodes } = await twoNodes(t);
  let state = await nodes[0].asked('two_rounds');
  for (let attempt = 1; attempt < 8; attempt++) {
    state = await nodes[attempt % 2].asked('two_rounds', {}, retryOf(state, { first: { action: 'accept', content: { word: 5 } } }));
    assert.match(state.inputRequests.first.params.message, /word/);
  }
  const reply = await nodes[0].call('two_rounds', {}, retryOf(state, { first: { action: 'accept', content: { word: 5 } } }));
  assert.equal(reply.result?.resultType, 'complete', reply.text);
  assert.equal(reply.result.isError, true);
});

test('an ask that ran out, in a state that has not, is a timeout on the other node too', async (t) => {
  const env = { MCP_ELICITATION_SECRET: SECRET };
  const { nodes } = await nodesWith(t, env, { ...env, PROBE_CLOCK_AHEAD_MS: '360000' });
  const asked = await nodes[0].asked('two_rounds');
  const reply = await nodes[1].call('two_rounds', {}, retryOf(asked, { first: word('late') }));
  assert.equal(reply.result?.resultType, 'complete', reply.text);
  assert.equal(reply.result.isError, true);
  assert.match(reply.text, /ELICITATION_TIMEOUT/);
});

test('a new secret opens what the previous one sealed, as long as it is named', async (t) => {
  const { nodes } = await nodesWith(t,
    { MCP_ELICITATION_SECRET: SECRET },
    { MCP_ELICITATION_SECRET: NEXT_SECRET, MCP_PREVIOUS_SECRETS: `unused-secret-that-is-long-enough-0123456,${SECRET}` },
    { MCP_ELICITATION_SECRET: NEXT_SECRET });
  const old = await nodes[0].asked('two_rounds');
  assertRefused(await nodes[2].call('two_rounds', {}, retryOf(old, { first: word('a') })), 'the old secret is not named');
  const renewed = await nodes[1].asked('two_rounds', {}, retryOf(old, { first: word('a') }));
  assertRefused(await nodes[0].call('two_rounds', {}, retryOf(renewed, { second: word('b') })), 'the old node does not know the new secret');
  assert.equal(await nodes[2].ended('two_rounds', {}, retryOf(renewed, { second: word('b') })), 'a b');
});

test('the first of the three secrets that is set counts', async (t) => {
  const { nodes } = await nodesWith(t,
    { MCP_ELICITATION_SECRET: SECRET, MCP_SESSION_SECRET: NEXT_SECRET, MCP_SERVER_SECRET: NEXT_SECRET },
    { MCP_SESSION_SECRET: SECRET, MCP_SERVER_SECRET: NEXT_SECRET },
    { MCP_SERVER_SECRET: SECRET });
  for (let turn = 0; turn < nodes.length; turn++) {
    const reply = await alternate(nodes, turn, 'two_rounds', {}, 'a', 'b');
    assert.equal(textOf(reply.result), 'a b');
  }
});

test('a secret that is too short is refused at the start, with what to do', async () => {
  for (const env of [{ MCP_ELICITATION_SECRET: 'short' }, { MCP_ELICITATION_SECRET: SECRET, MCP_PREVIOUS_SECRETS: 'short' }]) {
    const { code, stderr } = await runOnce('probe', ['--http', '127.0.0.1:0'], env);
    assert.notEqual(code, 0);
    assert.match(stderr, /MCP_(ELICITATION|PREVIOUS)_SECRETS?/);
    assert.match(stderr, /32/);
    assert.doesNotMatch(stderr, /listening/);
  }
});

test('without a secret the log says what breaks', async (t) => {
  const server = await startHttp(t, 'probe');
  await server.said(/level=warn.*restart.*MCP_ELICITATION_SECRET/);
  const settled = await startHttp(t, 'probe', { env: { MCP_ELICITATION_SECRET: SECRET } });
  assert.deepEqual(complaints(settled.stderr()), []);
});
