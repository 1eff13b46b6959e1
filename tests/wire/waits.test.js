// Where a question waits, and how long a call is held for it: in turn, only where consent counts, and pending results.
import test from 'node:test';
import assert from 'node:assert/strict';
import { startHttp, runOnce, rawPeer, callTool, nextAsk, accept, textOf } from './harness.js';
import { Modern, accepted, retryOf, word } from './modern.js';
import { Toy } from './toy.js';

async function toys(t, args, options = {}) {
  const server = await startHttp(t, 'toy-surface', { args, ...options });
  server.toy = await Toy.at(t, server);
  return server;
}

const isCancelled = (id) => (message) => message.method === 'notifications/cancelled' && message.params.requestId === id;

// --- in turn ---

test('2025, in turn: who does not answer in time loses the prompt, and the next one has it', async (t) => {
  const server = await toys(t, ['--surfaces', 'client>toy', '--next-surface', '1s']);
  const peer = await rawPeer(t, 'http', 'toy-surface', { server });
  const call = await callTool(peer, 'word', { tag: 'a' });
  const ask = await nextAsk(peer);
  assert.equal(server.toy.offers.rest(() => true).length, 0, 'it is the client\'s turn');
  const offer = await server.toy.offer('a');
  assert.equal(offer.id, ask.id);
  await peer.next(isCancelled(ask.id), 'the prompt is taken back');
  assert.equal((await server.toy.answer(offer, 'toy')).status, 'ok');
  assert.equal(textOf((await call.reply()).result), 'a: toy');
});

test('2025, in turn: an answer in time is the client\'s, and nobody else is asked', async (t) => {
  const server = await toys(t, ['--surfaces', 'client>toy', '--next-surface', '1h']);
  const peer = await rawPeer(t, 'http', 'toy-surface', { server });
  const call = await callTool(peer, 'word', { tag: 'a' });
  await accept(peer, (await nextAsk(peer)).id, { word: 'client' });
  assert.equal(textOf((await call.reply()).result), 'a: client');
  assert.equal(server.toy.offers.rest(() => true).length, 0);
});

test('2026, in turn: what a client carries comes up elsewhere in its turn, and its late answer still counts', async (t) => {
  const server = await toys(t, ['--surfaces', 'client>toy', '--next-surface', '1s']);
  const modern = new Modern(server.url);
  const [one, two] = await Promise.all(['a', 'b'].map((tag) => modern.asked('word', { tag })));
  const [a, b] = await Promise.all(['a', 'b'].map((tag) => server.toy.offer(tag)));
  assert.equal((await server.toy.answer(a, 'toy')).status, 'ok');
  assert.equal(await modern.ended('word', { tag: 'a' }, retryOf(one, { first: word('client') })), 'a: toy');
  assert.equal(await modern.ended('word', { tag: 'b' }, retryOf(two, { first: word('client') })), 'b: client');
  await server.toy.withdrawn(b);
});

test('in turn: a question that was asked before a crash comes up in its turn after it', async (t) => {
  const { stores } = await import('./stores.js');
  const store = await stores.find(({ name }) => name === 'sqlite').create(t);
  const args = ['--surfaces', 'client>toy', '--next-surface', '1s', '--store', store.address];
  const env = { MCP_ELICITATION_SECRET: 'a secret that is surely long enough for this' };
  const first = await toys(t, args, { env });
  const modern = new Modern(first.url);
  const asked = await modern.asked('word', { tag: 'a' });
  await first.kill();
  const next = await toys(t, args, { env });
  const again = await modern.asked('word', { tag: 'a' }, { requestState: asked.requestState }, { url: next.url });
  assert.equal((await next.toy.answer(await next.toy.offer('a'), 'toy')).status, 'ok');
  assert.equal(await modern.ended('word', { tag: 'a' }, { requestState: again.requestState }, { url: next.url }), 'a: toy');
});

// --- consent ---

test('2025: consent that counts elsewhere only is not asked of the client', async (t) => {
  const server = await toys(t, ['--surfaces', 'client,toy', '--consent', 'inbox']);
  const peer = await rawPeer(t, 'http', 'toy-surface', { server });
  const call = await callTool(peer, 'approval');
  const offer = await server.toy.offers.next(() => true, 'the approval');
  await accept(peer, offer.id, {}); // a client that has guessed its id
  assert.equal((await server.toy.answer(offer, '')).status, 'ok');
  assert.equal(textOf((await call.reply()).result), 'no', 'what the client said does not count');
  assert.equal(peer.inbox.rest(({ method }) => method === 'elicitation/create').length, 0);
});

test('2026: consent that counts elsewhere only is not put into the result, and not taken from a request', async (t) => {
  const server = await toys(t, ['--surfaces', 'client,toy', '--consent', 'inbox']);
  const modern = new Modern(server.url);
  const end = modern.ended('approval', {}, { inputResponses: { '#1': accepted({}) } });
  const offer = await server.toy.offers.next(() => true, 'the approval');
  assert.equal((await server.toy.answer(offer, '')).status, 'ok');
  assert.equal(await end, 'no');
  const asked = await modern.asked('word', { tag: 'a' });
  assert.deepEqual(Object.keys(asked.inputRequests), ['first'], 'data is asked for as before');
});

test('a server that asks nobody where consent counts is refused at start', async () => {
  const { code, stderr } = await runOnce('toy-surface', ['--http', '127.0.0.1:0', '--surfaces', 'client', '--consent', 'inbox']);
  assert.equal(code, 1, stderr);
  assert.match(stderr, /consent counts in the inbox only/);
});
