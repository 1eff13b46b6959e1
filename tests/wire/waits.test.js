// Where a question waits, and how long a call is held for it: in turn, only where consent counts, and pending results.
import { describe, it } from 'node:test';
import assert from 'node:assert/strict';
import { atAnyPace, startHttp, runOnce, rawPeer, callTool, nextAsk, accept, pause, textOf, within, PATIENCE_MS } from './harness.js';
import { stores } from './stores.js';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { ADA, BOB, Modern, accepted, deedsFile, retryOf, tokenFile, word } from './modern.js';
import { tokenFile as peopleFile } from './credentials.js';
import { Toy } from './toy.js';

// Most of them wait for a clock: they run side by side.
const tests = [];
const test = (name, fn) => tests.push([name, fn]);
const LANES = 5;

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

for (const name of ['memory', 'sqlite'])
  test(`2025, in turn, ${name}: a late answer counts if nobody else has answered, and a late error is none`, async (t) => {
    const store = name === 'memory' ? 'memory:' : (await stores.find((one) => one.name === name).create(t)).address;
    const server = await toys(t, ['--surfaces', 'client>toy', '--next-surface', '1s', '--store', store]);
    const peer = await rawPeer(t, 'http', 'toy-surface', { server });
    const [one, two] = [await callTool(peer, 'word', { tag: 'a' }), await callTool(peer, 'word', { tag: 'b' })];
    const asks = [await nextAsk(peer), await nextAsk(peer)];
    const offers = { a: await server.toy.offer('a'), b: await server.toy.offer('b') };
    for (const { id } of asks) await peer.next(isCancelled(id), 'the prompt is taken back');
    await accept(peer, offers.a.id, { word: 'late' });
    assert.equal(textOf((await one.reply()).result), 'a: late');
    await peer.send({ id: offers.b.id, error: { code: -32800, message: 'Cancelled.' } });
    assert.equal((await server.toy.answer(offers.b, 'toy')).status, 'ok');
    assert.equal(textOf((await two.reply()).result), 'b: toy');
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

test('2026, in turn: what a client brings ahead counts from its turn on, and the first answer wins', (t) => atAnyPace(t, async (times) => {
  const server = await toys(t, ['--surfaces', 'toy>client', '--next-surface', `${times}s`]);
  const modern = new Modern(server.url);
  const ahead = { inputResponses: { first: word('ahead') } };
  const began = Date.now();
  const [one, two, unfit] = ['a', 'b', 'c'].map((tag) =>
    modern.call('word', { tag }, tag === 'c' ? { inputResponses: { first: accepted({ wrong: 1 }) } } : ahead));
  const [a, b] = [await server.toy.offer('a'), await server.toy.offer('b')];
  assert.equal((await server.toy.answer(b, 'toy')).status, 'ok', 'before that it does not');
  assert.equal(textOf((await two).result), 'b: toy');
  assert.equal(textOf((await one).result), 'a: ahead');
  assert.ok(Date.now() - began >= 900 * times, 'not before its turn');
  await server.toy.withdrawn(a);
  assert.equal((await unfit).result.resultType, 'input_required', 'what does not fit is asked');
}));

test('in turn: a question that was asked before a crash comes up in its turn after it', async (t) => {
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

const since = (from) => performance.now() - from;

test('2026, in turn: a client is not asked before its turn', async (t) => {
  const server = await toys(t, ['--surfaces', 'toy>client', '--next-surface', '1s']);
  const modern = new Modern(server.url);
  const began = performance.now();
  const asked = modern.asked('word', { tag: 'a' });
  const offer = await server.toy.offer('a');
  const round = await asked;
  assert.ok(since(began) >= 900, `asked after ${since(began)} ms`);
  assert.deepEqual(Object.keys(round.inputRequests), ['first']);
  await server.toy.withdrawn(offer);
  assert.equal(await modern.ended('word', { tag: 'a' }, retryOf(round, { first: word('client') })), 'a: client');
});

test('2026, in turn: consent is not the client\'s to give before its turn', async (t) => {
  const server = await toys(t, ['--surfaces', 'toy>client', '--next-surface', '1h']);
  const modern = new Modern(server.url);
  const end = modern.ended('approval', {}, { inputResponses: { '#1': accepted({}) } });
  const offer = await server.toy.offers.next(() => true, 'the approval');
  assert.equal((await server.toy.answer(offer, '')).status, 'ok');
  assert.equal(await end, 'no');
});

for (const kind of ['memory', 'sqlite'])
  test(`2026, in turn, ${kind}: who follows a place that refuses is asked at once, and its answer counts`, async (t) => {
    const address = (await stores.find(({ name }) => name === kind)?.create(t))?.address ?? 'memory:';
    const server = await toys(t, ['--surfaces', 'toy>client', '--next-surface', '1h', '--store', address]);
    const modern = new Modern(server.url);
    const asked = modern.asked('word', { tag: 'a' });
    server.toy.refuse(await server.toy.offer('a'));
    const round = await asked;
    assert.deepEqual(Object.keys(round.inputRequests), ['first']);
    assert.equal(await modern.ended('word', { tag: 'a' }, retryOf(round, { first: word('client') })), 'a: client');
  });

test('2026, in turn: a task asks its client in its turn', async (t) => {
  const server = await toys(t, ['--surfaces', 'toy>client', '--next-surface', '1s']);
  const modern = new Modern(server.url, { capabilities: { elicitation: {}, extensions: { 'io.modelcontextprotocol/tasks': {} } } });
  const { result } = await modern.call('word_task', { tag: 'a' });
  assert.equal(result.resultType, 'task', JSON.stringify(result));
  const { taskId } = result;
  const task = async () => (await modern.request('tasks/get', { taskId })).result;
  await server.toy.offer('a');
  assert.equal((await task()).status, 'working');
  await modern.request('tasks/update', { taskId, inputResponses: { first: word('early') } });
  const shown = await within(PATIENCE_MS, 'its turn', (async () => {
    for (;;) {
      const now = await task();
      if (now.status !== 'working') return now;
      await pause(20);
    }
  })());
  assert.equal(shown.status, 'input_required');
  assert.deepEqual(Object.keys(shown.inputRequests), ['first']);
  await modern.request('tasks/update', { taskId, inputResponses: { first: word('client') } });
  await within(PATIENCE_MS, 'the task ends', (async () => {
    while ((await task()).status !== 'completed') await pause(20);
  })());
  assert.equal(textOf((await task()).result), 'a: client');
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

// --- pending results ---

const saidBy = (result) => result.content[0].text; // by the tool: nod's word may stand behind it
const SOFT = ['--surfaces', 'client,toy', '--soft-deadline', '1s'];
const MUTE = { capabilities: {} }; // a client that cannot be asked

const pendingOf = (result) => {
  assert.equal(result?.structuredContent?.pending, true, JSON.stringify(result));
  assert.ok(!result.isError);
  return result.structuredContent;
};
const failureOf = (result) => {
  assert.equal(result.isError, true, JSON.stringify(result));
  return textOf(result);
};

test('2025: a call that waits elsewhere returns a pending result, and waitForPerson has its end once', async (t) => {
  const server = await toys(t, SOFT);
  const peer = await rawPeer(t, 'http', 'toy-surface', { server, ...MUTE });
  const call = await callTool(peer, 'word', { tag: 'a' });
  const offer = await server.toy.offer('a');
  const { result } = await call.reply();
  const { callId, waitingFor, waitWith } = pendingOf(result);
  assert.equal(callId, offer.call);
  assert.deepEqual(waitingFor, [offer.message]);
  assert.equal(waitWith, 'waitForPerson');
  assert.match(failureOf((await (await callTool(peer, 'waitForPerson', {})).reply()).result), /callId: must be the callId of a pending result/);
  assert.ok(textOf(result).includes(callId), textOf(result));
  const again = await (await callTool(peer, 'waitForPerson', { callId })).reply();
  assert.equal(pendingOf(again.result).callId, callId, 'it has a soft deadline too');
  const wait = await callTool(peer, 'waitForPerson', { callId });
  assert.equal((await server.toy.answer(offer, 'toy')).status, 'ok');
  const end = (await wait.reply()).result;
  assert.equal(textOf(end), 'a: toy');
  assert.equal(end._meta?.['nod/attached'], undefined, 'the request itself names the call');
  assert.equal(server.toy.offers.rest(() => true).length, 0, 'nobody is asked twice');
  const late = await (await callTool(peer, 'waitForPerson', { callId })).reply();
  assert.equal(textOf(late.result), 'a: toy', 'a reply may have been lost: it is given again for a while');
});

test('2025: a client with forms that answers with an error is told to call again, because waitForPerson is not listed to it', async (t) => {
  const server = await startHttp(t, 'probe', { args: ['--soft-deadline', '1s', '--token-file', peopleFile(t, [{ token: ADA, name: 'ada', roles: 'ask answer' }])] });
  const peer = await rawPeer(t, 'http', 'probe', { server, token: ADA });
  await peer.send({ id: 'list', method: 'tools/list' });
  const { tools } = (await peer.next(({ id }) => id === 'list', 'the tools')).result;
  assert.ok(!tools.some(({ name }) => name === 'waitForPerson'));
  const args = { message: 'Who?' };
  const call = await callTool(peer, 'ask', args);
  await peer.send({ id: (await nextAsk(peer)).id, error: { code: -32601, message: 'No.' } });
  const { result } = await call.reply();
  const { callId, answerAt } = pendingOf(result);
  assert.match(textOf(result), /Call the tool ask again, with the same arguments/);
  const again = await callTool(peer, 'ask', args);
  assert.equal(pendingOf((await again.reply()).result).callId, callId, 'it waits for the same call');
  const { origin, pathname } = new URL(answerAt);
  const headers = { Authorization: `Bearer ${ADA}`, 'Content-Type': 'application/json' };
  assert.equal((await fetch(`${origin}/api/elicitation/${pathname.split('/').at(-1)}/resolve`, { method: 'POST', headers, body: JSON.stringify({ action: 'accept', content: { name: 'Ada' } }) })).status, 200);
  const last = await callTool(peer, 'ask', args);
  assert.match(textOf((await last.reply()).result), /^accept \{"name":"Ada"\}/);
});

test('2025: a call that works at its soft deadline, and asks after it, is not held for ever', async (t) => {
  const server = await toys(t, SOFT);
  const peer = await rawPeer(t, 'http', 'toy-surface', { server, ...MUTE });
  const call = await callTool(peer, 'slow', { tag: 'a' });
  await server.toy.answer(await server.toy.offer('a'), 'one');
  const { callId } = pendingOf((await call.reply()).result);
  const wait = await callTool(peer, 'waitForPerson', { callId });
  await server.toy.answer(await server.toy.offer('a'), 'two');
  assert.equal(textOf((await wait.reply()).result), 'a: one two');
});

test('2025: calling again finds the call, and the next call after that is another one', async (t) => {
  const server = await toys(t, SOFT);
  const peer = await rawPeer(t, 'http', 'toy-surface', { server, ...MUTE });
  const began = Date.now();
  const { result } = await (await callTool(peer, 'word', { tag: 'a' })).reply();
  const offer = await server.toy.offer('a');
  const { callId } = pendingOf(result);
  assert.equal((await server.toy.answer(offer, 'toy')).status, 'ok');
  const before = Date.now();
  const found = (await (await callTool(peer, 'word', { tag: 'a' })).reply()).result;
  assert.equal(saidBy(found), 'a: toy', 'what the tool says comes first');
  const attached = found._meta['nod/attached'];
  const at = attached.calledAt.replace('T', ' ').replace(/\..*/, ' UTC');
  assert.deepEqual(found.content.slice(1), [{ type: 'text', text: `This is the result of your earlier call with the same arguments, made at ${at}. Nothing was done for this one: to have it done once more, call again.` }]);
  assert.deepEqual(Object.keys(attached), ['callId', 'calledAt']);
  assert.equal(attached.callId, callId, 'it says that nothing was done for this request');
  const calledAt = Date.parse(attached.calledAt);
  assert.ok(calledAt >= began - 10 && calledAt <= before - 500, `${attached.calledAt}: when the first call was made`);
  const other = await callTool(peer, 'word', { tag: 'a' });
  const second = await server.toy.offer('a');
  assert.notEqual(second.call, callId);
  assert.equal((await server.toy.answer(second, 'again')).status, 'ok');
  const own = (await other.reply()).result;
  assert.equal(textOf(own), 'a: again');
  assert.equal(own._meta?.['nod/attached'], undefined, 'it is its own');
});

test('2025: a failure that calling again finds says of which call it is', async (t) => {
  const server = await toys(t, SOFT);
  const peer = await rawPeer(t, 'http', 'toy-surface', { server, ...MUTE });
  const { callId } = pendingOf((await (await callTool(peer, 'word', { tag: 'a' })).reply()).result);
  server.toy.refuse(await server.toy.offer('a'));
  const { result } = await (await callTool(peer, 'word', { tag: 'a' })).reply();
  failureOf(result);
  assert.ok(result._meta.code, 'beside what it says otherwise');
  assert.equal(result._meta['nod/attached'].callId, callId);
  assert.match(textOf(result), /\nThis is how it went with your earlier call with the same arguments, made at [\d :-]+ UTC\. Nothing was done for this one/);
});

test('2025: a call that is held is not merged with another, and other arguments are another call', async (t) => {
  const server = await toys(t, SOFT);
  const peer = await rawPeer(t, 'http', 'toy-surface', { server, ...MUTE });
  const calls = [];
  const offers = [];
  for (const tag of ['a', 'a', 'b']) {
    calls.push(await callTool(peer, 'word', { tag }));
    offers.push(await server.toy.offer(tag));
  }
  assert.equal(new Set(offers.map(({ call }) => call)).size, 3);
  const ids = (await Promise.all(calls.map((call) => call.reply()))).map(({ result }) => pendingOf(result).callId);
  assert.deepEqual(ids, offers.map(({ call }) => call));
  const held = await Promise.all([callTool(peer, 'word', { tag: 'a' }), callTool(peer, 'word', { tag: 'a' })]);
  for (const [i, offer] of offers.entries()) await server.toy.answer(offer, `n${i}`);
  const texts = await Promise.all(held.map(async (call) => saidBy((await call.reply()).result)));
  assert.deepEqual(texts.sort(), ['a: n0', 'a: n1'], 'each found one');
  assert.equal(textOf((await (await callTool(peer, 'waitForPerson', { callId: ids[2] })).reply()).result), 'b: n2');
});

test('a handle is of no use to another principal, or if it is made up', async (t) => {
  const file = tokenFile(t);
  const server = await toys(t, [...SOFT, '--token-file', file]);
  const ada = await rawPeer(t, 'http', 'toy-surface', { server, token: ADA, ...MUTE });
  const bob = await rawPeer(t, 'http', 'toy-surface', { server, token: BOB, ...MUTE });
  const { callId } = pendingOf((await (await callTool(ada, 'word', { tag: 'a' })).reply()).result);
  const offer = await server.toy.offer('a');
  for (const id of [callId, 'AAAAAAAAAAAAAAAAAAAAAA', 'x'.repeat(1000)])
    assert.match(failureOf((await (await callTool(bob, 'waitForPerson', { callId: id })).reply()).result), /No call of yours/);
  const modern = new Modern(server.url, { token: BOB, ...MUTE });
  assert.match(failureOf((await modern.call('waitForPerson', { callId })).result), /No call of yours/);
  const own = await callTool(bob, 'word', { tag: 'a' });
  const his = await server.toy.offer('a');
  assert.notEqual(his.call, callId, 'the same tool and arguments of another principal');
  await server.toy.answer(his, 'his');
  await server.toy.answer(offer, 'hers');
  assert.equal(textOf((await own.reply()).result), 'a: his');
  assert.equal(textOf((await (await callTool(ada, 'waitForPerson', { callId })).reply()).result), 'a: hers');
});

test('2025: the same request again, after the reply was lost, gets the same result', async (t) => {
  const server = await toys(t, SOFT);
  const peer = await rawPeer(t, 'http', 'toy-surface', { server, ...MUTE });
  pendingOf((await (await callTool(peer, 'word', { tag: 'a' })).reply()).result);
  await server.toy.answer(await server.toy.offer('a'), 'toy');
  const message = { id: 'one', method: 'tools/call', params: { name: 'word', arguments: { tag: 'a' } } };
  for (let i = 0; i < 2; i++) {
    await peer.send(message);
    const { result } = await peer.next(({ id }) => id === 'one', 'the reply');
    assert.equal(saidBy(result), 'a: toy');
  }
  assert.equal(server.toy.offers.rest(() => true).length, 0);
});

for (const kind of ['memory', 'sqlite'])
  test(`2025, ${kind}: whoever ends its session keeps its handles, and loses the calls without one`, async (t) => {
    const address = (await stores.find(({ name }) => name === kind)?.create(t))?.address ?? 'memory:';
    const server = await toys(t, [...SOFT, '--store', address]);
    const peer = await rawPeer(t, 'http', 'toy-surface', { server, ...MUTE });
    const { callId } = pendingOf((await (await callTool(peer, 'word', { tag: 'a' })).reply()).result);
    const offer = await server.toy.offer('a');
    await callTool(peer, 'word', { tag: 'b' });
    const without = await server.toy.offer('b');
    assert.equal((await peer.request('DELETE')).status, 204);
    await server.toy.withdrawn(without);
    assert.equal((await server.toy.answer(offer, 'toy')).status, 'ok');
    const other = await rawPeer(t, 'http', 'toy-surface', { server, ...MUTE });
    assert.equal(textOf((await (await callTool(other, 'waitForPerson', { callId })).reply()).result), 'a: toy');
    assert.equal(server.toy.offers.rest(() => true).length, 0, 'nobody is asked twice');
  });

test('2025: whoever is gone when the call ends was handed nothing', async (t) => {
  const server = await toys(t, ['--surfaces', 'client,toy', '--soft-deadline', '2s']);
  const peer = await rawPeer(t, 'http', 'toy-surface', { server, ...MUTE });
  const { callId } = pendingOf((await (await callTool(peer, 'word', { tag: 'a' })).reply()).result);
  const offer = await server.toy.offer('a');
  const lost = await callTool(peer, 'waitForPerson', { callId });
  await peer.send({ method: 'notifications/cancelled', params: { requestId: lost.id } });
  await server.toy.answer(offer, 'toy');
  assert.equal(saidBy((await (await callTool(peer, 'word', { tag: 'a' })).reply()).result), 'a: toy');
});

test('only clients that may get pending results are told of them, and the schemas they are shown fit', async (t) => {
  const server = await toys(t, ['--surfaces', 'client>toy', '--soft-deadline', '1s']);
  const plain = await startHttp(t, 'toy-surface', { args: ['--surfaces', 'client'] });
  const names = async (url, options) => {
    const modern = new Modern(url, options);
    return (await modern.request('tools/list')).result.tools;
  };
  assert.ok(!(await names(plain.url, MUTE)).some(({ name }) => name === 'waitForPerson'), 'nobody else is asked');
  const tools = await names(server.url, MUTE);
  assert.ok(tools.some(({ name }) => name === 'waitForPerson'));
  const schema = tools.find(({ name }) => name === 'typed').outputSchema;
  assert.equal(schema.type, 'object');
  assert.equal(schema.anyOf.length, 2);
});

test('a client with forms that may get a pending result all the same is shown schemas that it fits', async (t) => {
  const only = await toys(t, ['--surfaces', 'toy', '--soft-deadline', '1s']); // the client is not asked at all
  const listed = (tools, tool) => tools.find(({ name }) => name === tool).outputSchema.anyOf?.length;
  const toolsOf = async (peer) => {
    await peer.send({ id: 'list', method: 'tools/list' });
    return (await peer.next(({ id }) => id === 'list', 'the tools')).result.tools;
  };
  assert.equal(listed((await new Modern(only.url).request('tools/list')).result.tools, 'typed'), 2);
  const peer = await rawPeer(t, 'http', 'toy-surface', { server: only });
  assert.equal(listed(await toolsOf(peer), 'typed'), 2);
  pendingOf((await (await callTool(peer, 'typed', { tag: 'a' })).reply()).result);
  await only.toy.answer(await only.toy.offer('a'), 'toy');

  // As usual the client is asked, and the inbox if it refuses the prompt with an error.
  const usual = await rawPeer(t, 'http', 'probe', { args: ['--soft-deadline', '1s'] });
  assert.equal(listed(await toolsOf(usual), 'structured'), 2);
  const call = await callTool(usual, 'ask_plain');
  await usual.send({ id: (await nextAsk(usual)).id, error: { code: -32601, message: 'No.' } });
  pendingOf((await call.reply()).result);
});

test('2025: the official client takes the pending result of a tool with an output schema', async (t) => {
  const server = await toys(t, SOFT);
  const client = new Client({ name: 'mute', version: '1' });
  const transport = new StreamableHTTPClientTransport(new URL(server.url));
  await client.connect(transport);
  t.after(() => client.close());
  const { tools } = await client.listTools();
  assert.ok(tools.some(({ name }) => name === 'waitForPerson'));
  const first = await client.callTool({ name: 'typed', arguments: { tag: 'a' } });
  const { callId } = pendingOf(first);
  await server.toy.answer(await server.toy.offer('a'), 'toy');
  const last = await client.callTool({ name: 'waitForPerson', arguments: { callId } });
  assert.deepEqual(last.structuredContent, { word: 'toy' });
  await assert.doesNotReject(client.callTool({ name: 'typed', arguments: { tag: 'b' } }));
});

test('the operator raises the soft deadline for a client, and for a tool', async (t) => {
  const server = await toys(t, [...SOFT, '--soft-deadline', 'tool:two=1h', '--soft-deadline', 'client:patient=1h']);
  const quick = await rawPeer(t, 'http', 'toy-surface', { server, ...MUTE });
  const two = await callTool(quick, 'two', { tag: 'a' });
  pendingOf((await (await callTool(quick, 'word', { tag: 'b' })).reply()).result);
  await server.toy.answer(await server.toy.offer('a'), 'one');
  await server.toy.answer(await server.toy.offer('a'), 'two');
  assert.equal(textOf((await two.reply()).result), 'a: one two', 'it was held all the time');
  const modern = new Modern(server.url, MUTE);
  const meta = { 'io.modelcontextprotocol/clientInfo': { name: 'patient', version: '1' } };
  const held = modern.call('word', { tag: 'c' }, {}, { meta });
  pendingOf((await modern.call('word', { tag: 'd' })).result);
  await server.toy.answer(await server.toy.offer('c'), 'toy');
  assert.equal(textOf((await held).result), 'c: toy');
});

test('2026: calling again is a new call, also for a client of the 2025 era', async (t) => {
  const server = await toys(t, SOFT);
  const modern = new Modern(server.url, MUTE);
  const { callId } = pendingOf((await modern.call('word', { tag: 'a' })).result);
  const first = await server.toy.offer('a');
  const peer = await rawPeer(t, 'http', 'toy-surface', { server, ...MUTE });
  const call = await callTool(peer, 'word', { tag: 'a' });
  const second = await server.toy.offer('a');
  assert.notEqual(second.call, callId);
  await server.toy.answer(first, 'one');
  await server.toy.answer(second, 'two');
  assert.equal(textOf((await call.reply()).result), 'a: two');
  assert.equal(textOf((await modern.call('waitForPerson', { callId })).result), 'a: one');
});

test('2026: a pending result, and waitForPerson', async (t) => {
  const server = await toys(t, SOFT);
  const modern = new Modern(server.url, MUTE);
  const { result } = await modern.call('word', { tag: 'a' });
  const { callId } = pendingOf(result);
  assert.equal(result.resultType, 'complete');
  const offer = await server.toy.offer('a');
  assert.equal(pendingOf((await modern.call('waitForPerson', { callId })).result).callId, callId);
  for (const args of [{}, { callId: 7 }, { callId: '' }]) assert.match(failureOf((await modern.call('waitForPerson', args)).result), /callId: must be the callId of a pending result/);
  const waits = [modern.ended('waitForPerson', { callId }), modern.ended('waitForPerson', { callId })];
  await server.toy.answer(offer, 'toy');
  assert.deepEqual(await Promise.all(waits), ['a: toy', 'a: toy'], 'sent twice');
  assert.equal(await modern.ended('waitForPerson', { callId }), 'a: toy', 'a reply may have been lost');
});

test('2026: what was taken for a call that asks twice is found again each time', async (t) => {
  const server = await toys(t, SOFT);
  const modern = new Modern(server.url, MUTE);
  const { callId } = pendingOf((await modern.call('two', { tag: 'a' })).result);
  await server.toy.answer(await server.toy.offer('a'), 'one');
  const second = await server.toy.offer('a'); // with no client in sight
  assert.deepEqual(pendingOf((await modern.call('waitForPerson', { callId })).result).waitingFor, [second.message]);
  await server.toy.answer(second, 'two');
  assert.equal(await modern.ended('waitForPerson', { callId }), 'a: one two');
});

test('2026: a client that takes tasks gets one, if the tool asks first', async (t) => {
  const server = await toys(t, SOFT);
  const modern = new Modern(server.url, { capabilities: { extensions: { 'io.modelcontextprotocol/tasks': {} } } });
  const { result } = await modern.call('word_first', { tag: 'a' });
  assert.equal(result.resultType, 'task', JSON.stringify(result));
  await server.toy.answer(await server.toy.offer('a'), 'toy');
  const task = async () => (await modern.request('tasks/get', { taskId: result.taskId })).result;
  await within(PATIENCE_MS, 'the task ends', (async () => {
    while ((await task()).status !== 'completed') await pause(20);
  })());
  assert.equal(textOf((await task()).result), 'a: toy');
});

test('over stdio: a pending result, and calling again', async (t) => {
  const peer = await rawPeer(t, 'stdio', 'toy-surface', { args: SOFT, ...MUTE });
  const { result } = await (await callTool(peer, 'word', { tag: 'a' })).reply();
  pendingOf(result);
  const again = await (await callTool(peer, 'word', { tag: 'a' })).reply();
  assert.equal(pendingOf(again.result).callId, pendingOf(result).callId);
});

// --- what Show asks for: none lost, none asked or done twice ---

const CALLS = Number(process.env.CALLS ?? (Number(process.env.NOD_SOAK) ? 200 : 16)); // of each house and era
const SECRET = 'a secret that is surely long enough for this';
const houses = [
  { name: 'sqlite, killed in between', nodes: 1, kill: true, store: 'sqlite' },
  { name: 'two nodes of redis', nodes: 2, kill: false, store: 'redis' },
];

for (const house of houses)
  for (const era of ['2025', '2026'])
    test(`${house.name}, ${era}: ${CALLS} calls of a client that cannot be asked, answered after the soft deadline, are all found again`, async (t) => {
      const store = await stores.find(({ name }) => name === house.store).create(t);
      const deeds = deedsFile(t);
      const env = { MCP_ELICITATION_SECRET: SECRET, TOYS_DEEDS: deeds.file };
      const start = () => toys(t, [...SOFT, '--store', store.address], { env });
      let servers = [];
      for (let i = 0; i < house.nodes; i++) servers.push(await start());
      const tags = Array.from({ length: CALLS }, (_, i) => `t${i}`);
      const at = (i) => servers[i % servers.length];
      // The same session goes on at whichever node is there; in 2026 there is none.
      const peer = era === '2025' && (await rawPeer(t, 'http', 'toy-surface', { server: servers[0], ...MUTE }));
      const modern = new Modern(servers[0].url, MUTE);
      const call = async (i, tool, args) => {
        if (!peer) return (await modern.call(tool, args, {}, { url: at(i).url })).result;
        peer.url = at(i).url;
        return (await (await callTool(peer, tool, args)).reply()).result;
      };
      const offers = new Map();
      const pending = await Promise.all(tags.map(async (tag, i) => pendingOf(await call(i, 'word', { tag }))));
      for (const [i, tag] of tags.entries()) offers.set(tag, await at(i).toy.offer(tag));
      assert.deepEqual(tags.map((tag) => offers.get(tag).call), pending.map(({ callId }) => callId));
      if (house.kill) {
        await servers[0].kill();
        servers = [await start()];
      }
      // Half of them are answered before anybody calls again, and half after that, all through the other node.
      const answerOne = async (tag, i) => assert.equal((await at(i + 1).toy.answer(offers.get(tag), 'toy')).status, 'ok');
      const late = (i) => i % 2 === 1;
      await Promise.all(tags.map((tag, i) => late(i) || answerOne(tag, i)));
      const again = tags.map(async (tag, i) => {
        for (let n = 0; n < 20; n++) {
          const result = await (peer && i % 4 < 2 ? call(i + 1, 'word', { tag }) : call(i + 1, 'waitForPerson', { callId: pending[i].callId }));
          if (!result?.structuredContent?.pending) return saidBy(result);
          assert.equal(result.structuredContent.callId, pending[i].callId, 'the same call');
        }
        return assert.fail(`${tag} is pending for ever`);
      });
      await pause(50);
      await Promise.all(tags.map((tag, i) => late(i) && answerOne(tag, i)));
      assert.deepEqual(await Promise.all(again), tags.map((tag) => `${tag}: toy`));
      assert.deepEqual(deeds.lines().sort(), tags.map((tag) => `${tag}: toy`).sort(), 'each deed once');
      const asked = new Set(servers.flatMap(({ toy }) => toy.offers.rest(() => true)).map(({ id }) => id));
      for (const id of asked) assert.ok([...offers.values()].some((offer) => offer.id === id), 'nothing was asked twice');
    });

describe('waits', { concurrency: LANES }, () => tests.forEach(([name, fn]) => it(name, fn)));
