// Questions for views on the wire: what is listed to whom, how a question is fetched and answered, and what is refused.
import { describe, it } from 'node:test';
import assert from 'node:assert/strict';
import { startHttp, textOf, pause, PATIENCE_MS } from '../wire/harness.js';
import { tokenFile as tokensOf } from '../wire/credentials.js';
import { ADA, BOB, connectModern } from '../wire/modern.js';
import { stores } from '../wire/stores.js';
import { UI, chats } from './clients.js';

const tests = [];
const test = (name, fn) => tests.push([name, fn]);
const tokenFile = (t) => tokensOf(t, [{ token: ADA, name: 'ada', roles: 'ask answer' }, { token: BOB, name: 'bob', roles: 'ask answer' }]);
// In `make test` one era of each, in turn; in the soak both.
let turn = 0;
const inBoth = (name, fn) => {
  const mine = ++turn % 2;
  ['2025', '2026'].forEach((era, i) => (process.env.NOD_SOAK || i === mine) && test(`${era}: ${name}`, (t) => fn(t, chats[era], era)));
};
// Before the pending result only a session is told its questions, and in 2026 there are none: see "whose it is".
const in2025 = (name, fn) => test(`2025: ${name}`, (t) => fn(t, chats['2025'], '2025'));
const inSoak = (...test) => process.env.NOD_SOAK && inBoth(...test);
// A yes in a view counts here: without tokens the operator has to say so.
const start = (t, args = [], options = {}) => startHttp(t, 'view-server', { args: ['--view-consent', ...args], ...options });
const metaOf = (tools, name) => tools.find((tool) => tool.name === name)?._meta;

// Looks until it sees enough, however many looks that takes. A look is given what the last one saw.
async function until(what, look, enough) {
  for (let seen, end = Date.now() + PATIENCE_MS; ;) {
    seen = await look(seen);
    if (enough(seen)) return seen;
    assert.ok(Date.now() < end, `${what}: not in time`);
  }
}
// The questions of a chat, as they come: what is known is not given again.
const shownBy = (chat, what, enough, facts = {}) =>
  until(what, async (seen = []) => {
    const { questions, ended } = await chat.questions({ ...facts, known: seen.map(({ nonce }) => nonce) });
    return [...seen.filter(({ nonce }) => !ended.some((one) => one.nonce === nonce)), ...questions];
  }, enough);

// How a call ends whose answer was taken. On a machine that is too slow to show its question within ten seconds, it has returned its
// pending result, and the answer has run it on.
async function endOf(chat, call, taken) {
  const result = await call;
  if (!result.structuredContent?.pending) return textOf(result);
  return textOf(taken._meta.nod.ended ? taken : await chat.call('waitForPerson', { callId: result.structuredContent.callId }));
}

// --- what is listed ---

inBoth('a client that shows views is given one with every tool that may ask', async (t, chat, era) => {
  const server = await start(t);
  const ada = await chat(t, server);
  const { result } = await ada.request('tools/list');
  for (const name of ['kinds', 'word', 'three', 'pay', 'erase', 'gated', 'quiet']) assert.equal(metaOf(result.tools, name)?.ui?.resourceUri, 'ui://nod/ask', name);
  assert.equal(metaOf(result.tools, 'unsaid')?.ui, undefined);
  assert.deepEqual(metaOf(result.tools, 'own'), { shelf: 1, ui: { visibility: ['model', 'app'], resourceUri: 'ui://parcels/own' } });
  for (const name of ['nodQuestions', 'nodAnswer']) assert.deepEqual(metaOf(result.tools, name).ui, { visibility: ['app'] }, name);
  assert.equal(result.tools.find((tool) => tool.name === 'nodQuestions').annotations.readOnlyHint, true);
  if (era === '2026') assert.equal(result.cacheScope, 'private');
  const listed = (await ada.request('resources/list')).result;
  const view = listed.resources.find(({ uri }) => uri === 'ui://nod/ask');
  assert.equal(view.mimeType, 'text/html;profile=mcp-app');
  const { contents: [page] } = (await ada.request('resources/read', { uri: 'ui://nod/ask' })).result;
  assert.equal(page.mimeType, 'text/html;profile=mcp-app');
  assert.deepEqual(page._meta.ui.csp, { connectDomains: [], resourceDomains: [], frameDomains: [], baseUriDomains: [] });
  assert.match(page.text, /^<!doctype html>/);
  assert.doesNotMatch(page.text, /(src|href)=|url\(|@import|https?:\/\/(?!example\.com)/, 'nothing is loaded from elsewhere');
});

inBoth('others are shown nothing of it, and are refused', async (t, chat) => {
  const server = await start(t);
  const others = { nothing: {}, forms: { elicitation: {} }, 'both, and so forms': { elicitation: {}, ...UI }, 'another type': { extensions: { 'io.modelcontextprotocol/ui': { mimeTypes: ['text/html'] } } } };
  for (const [what, capabilities] of Object.entries(others)) {
    const other = await chat(t, server, { capabilities });
    const { result } = await other.request('tools/list');
    assert.equal(metaOf(result.tools, 'nodQuestions') ?? metaOf(result.tools, 'word'), undefined, what);
    const resources = (await other.request('resources/list')).result?.resources ?? [];
    assert.ok(!resources.some(({ uri }) => uri === 'ui://nod/ask'), what);
    assert.ok((await other.request('resources/read', { uri: 'ui://nod/ask' })).error, what);
    for (const tool of ['nodQuestions', 'nodAnswer']) await assert.rejects(other.call(tool, { nonce: 'x', action: 'accept' }), { code: -32602 }, what);
  }
});

// --- fetched in time ---

in2025('a call is held for the view, and goes on with its answer', async (t, chat) => {
  const server = await start(t);
  const ada = await chat(t, server);
  const view = ada;
  const call = ada.call('word', { tag: 'a' });
  const question = await view.question({ tool: 'word' });
  assert.equal(question.message, 'a: the only word?');
  assert.deepEqual(question.arguments, { tag: 'a' });
  const wrong = await view.answer(question, { content: {} });
  assert.deepEqual(JSON.parse(textOf(wrong)).errors.map(({ path }) => path), ['/word']);
  assert.equal(wrong._meta.nod.taken, false);
  const taken = await view.word(question, 'yes');
  assert.equal(taken._meta.nod.taken, true);
  assert.equal(taken._meta.nod.ended, false);
  assert.equal(textOf(await call), 'a: yes');
  const late = await view.word(question, 'no');
  assert.deepEqual(JSON.parse(textOf(late)), { taken: false, state: 'accepted', by: question.principal, via: 'view' });
});

in2025('three questions of one call come one after the other', async (t, chat) => {
  const server = await start(t);
  const ada = await chat(t, server);
  const call = ada.call('three', { tag: 'a' });
  let known = [];
  for (const word of ['x', 'y', 'z']) {
    const question = await ada.question({ tool: 'three', known });
    await ada.word(question, word);
  }
  assert.equal(textOf(await call), 'x y z');
});

in2025('a question can be declined and dismissed; consent is taken as the client\'s word', async (t, chat) => {
  const server = await start(t);
  const ada = await chat(t, server);
  for (const [tool, answer, end] of [['word', { action: 'decline' }, 'untagged: (none)'], ['word', { action: 'cancel' }, 'untagged: (none)'], ['pay', {}, 'Paid by local'], ['erase', {}, 'Erased.'], ['erase', { action: 'decline' }, 'Nothing was erased.'], ['gated', {}, 'Nothing to ask.']]) {
    const call = ada.call(tool);
    const taken = await ada.answer(await ada.question({ tool }), answer);
    assert.equal(taken._meta.nod.taken, true, tool);
    assert.match(textOf(await call), new RegExp(`^${end.replace('local', '\\S+').replace(/[()]/g, '\\$&')}$`), tool);
  }
});

in2025('numbers stay as they were typed', async (t, chat) => {
  const server = await start(t);
  const ada = await chat(t, server);
  const call = ada.call('kinds');
  const question = await ada.question({ tool: 'kinds' });
  await ada.answer(question, { content: '{"name":"Ada","email":"a@b.cc","days":3,"size":"s","account":9007199254740993,"weight":0.50}' });
  assert.match(textOf(await call), /"account":9007199254740993,"weight":0.50/);
});

in2025('a question is shown with all its arguments or not at all, and large ones keep no small ones away', async (t, chat) => {
  const server = await start(t);
  const ada = await chat(t, server);
  // Two of six fit into a reply, and not all of them into the memory of a look.
  const large = (n) => ({ n, pad: String.fromCharCode(97 + n).repeat(3 << 20) });
  const calls = Array.from({ length: 6 }, (_, n) => ada.call('erase', large(n)));
  const small = ada.call('word', { tag: 'small' });
  const shown = await shownBy(ada, 'the small one, and large ones', (all) => all.length > 2 && all.some(({ tool }) => tool === 'word'));
  for (const { tool, arguments: args } of shown) assert.deepEqual(args, tool === 'word' ? { tag: 'small' } : large(args.n));
  const ends = [];
  for (const n of calls.keys()) {
    const [one, ...others] = await shownBy(ada, `the question of ${n}`, (all) => all.length, { tool: 'erase', arguments: large(n) });
    assert.deepEqual([one.arguments.n, one.arguments.pad.length, others], [n, 3 << 20, []]);
    ends.push(await endOf(ada, calls[n], await ada.answer(one, { action: 'decline' })));
  }
  assert.deepEqual(ends, Array(6).fill('Nothing was erased.'));
  assert.equal(await endOf(ada, small, await ada.word(shown.find(({ tool }) => tool === 'word'), 'yes')), 'small: yes');
});

inBoth('arguments that do not fit what is listed are refused', async (t, chat) => {
  const server = await start(t);
  const ada = await chat(t, server);
  const nonce = 'x'.repeat(44);
  for (const [tool, args, word] of [['nodQuestions', { tool: 7 }, 'tool'], ['nodQuestions', { known: Array(65).fill(nonce) }, 'known'], ['nodQuestions', { known: [7] }, 'known'], ['nodAnswer', { nonce, action: 'accept', remember: 1 }, 'remember'], ['nodAnswer', { nonce, action: 'yes' }, 'action']]) {
    const began = Date.now();
    const refused = await ada.call(tool, args);
    assert.deepEqual([refused.isError, refused._meta.code], [true, 'INVALID_ARGUMENTS'], textOf(refused));
    assert.match(textOf(refused), new RegExp(word));
    assert.ok(Date.now() - began < 18000, 'it is not held');
  }
});

// --- not fetched in time ---

inBoth('a call that no view fetches is pending early; the view that comes then answers, and is given its end', async (t, chat) => {
  const server = await start(t);
  const ada = await chat(t, server);
  const gated = ada.call('gated');
  const began = Date.now();
  const pending = await ada.call('three', { tag: 'late' });
  assert.ok(Date.now() - began > 9500 && Date.now() - began < 45000, `after ${Date.now() - began} ms, and not at the soft deadline`);
  assert.notEqual(pending.isError, true);
  assert.equal(pending._meta.ui.resourceUri, 'ui://nod/ask');
  const { callId } = pending.structuredContent;
  assert.equal(pending._meta.nod.callId, callId);
  const view = await chat(t, server); // a second session
  for (const word of ['x', 'y']) {
    const next = await view.word(await view.question({ callId }), word);
    assert.deepEqual(next._meta.nod, { taken: true, ended: false, callId });
  }
  const end = await view.word(await view.question({ callId }), 'z');
  assert.deepEqual(end._meta.nod, { taken: true, ended: true, callId });
  assert.equal(textOf(end), 'x y z');
  const other = (await gated).structuredContent.callId;
  const refused = await view.answer(await view.question({ callId: other }), { action: 'decline' });
  const again = await ada.call('waitForPerson', { callId: other });
  assert.equal(again._meta.code, 'CONFIRMATION_DECLINED');
  assert.deepEqual([refused.isError, textOf(refused), refused._meta], [true, textOf(again), { ...again._meta, nod: { taken: true, ended: true, callId: other } }], 'a failure is told as it is everywhere');
});

inBoth('while waitForPerson holds the call, the result is its own', async (t, chat) => {
  const server = await start(t);
  const ada = await chat(t, server);
  const pending = await ada.call('word', { tag: 'late' });
  const { callId } = pending.structuredContent;
  const wait = ada.call('waitForPerson', { callId });
  const question = await ada.question({ callId });
  await pause(300); // the wait is held
  const taken = await ada.word(question, 'yes');
  assert.equal(taken._meta.nod.taken, true);
  assert.equal(textOf(await wait), 'late: yes');
});

inBoth('an early question is in the inbox as well, whosever view it is', async (t, chat) => {
  const server = await start(t, ['--token-file', tokenFile(t)]);
  const ada = await chat(t, server, { token: ADA });
  const origin = new URL(server.url).origin;
  const api = async () => (await (await fetch(`${origin}/api/elicitation`, { headers: { Authorization: `Bearer ${ADA}` } })).json()).items;
  const early = ada.call('word', { tag: 'both' });
  const own = ada.call('own', { tag: 'own' });
  await pause(500);
  assert.deepEqual(await api(), [], 'first the view');
  const pending = await early;
  assert.match(pending.structuredContent.answerAt, /\/ask\//);
  const items = await until('both are there', () => pause(50).then(api), (all) => all.length === 2);
  assert.deepEqual(items.map(({ arguments: { tag } }) => tag).sort(), ['both', 'own']);
  for (const result of [pending, await own]) {
    const { callId } = result.structuredContent;
    assert.deepEqual((await ada.questions({ callId, now: true })).questions.map(({ executionId }) => executionId), [callId], 'and for views, too');
  }
  for (const item of items)
    await fetch(`${origin}/api/elicitation/${item.id}/resolve`, { method: 'POST', headers: { Authorization: `Bearer ${ADA}`, 'Content-Type': 'application/json' }, body: JSON.stringify({ action: 'accept', content: { word: 'inbox' } }) });
  for (const [result, end] of [[pending, 'both: inbox'], [await own, 'own: inbox']])
    assert.equal(textOf(await ada.call('waitForPerson', { callId: result.structuredContent.callId })), end);
});

in2025('a view of an author\'s own that asks is answered as ours', async (t, chat) => {
  const server = await start(t);
  const ada = await chat(t, server);
  const call = ada.call('own', { tag: 'mine' });
  await ada.word(await ada.question({ tool: 'own' }), 'own');
  assert.equal(textOf(await call), 'mine: own');
});

// --- which of them ---

in2025('what the host tells narrows the list, and an id that nobody has narrows nothing', async (t, chat, era) => {
  const server = await start(t);
  const ada = await chat(t, server);
  const calls = [ada.call('word', { tag: 'a' }), ada.call('word', { tag: 'b' }), ada.call('three', { tag: 'a' })];
  const tags = ({ questions }) => questions.map(({ tool, arguments: { tag } }) => `${tool} ${tag}`).sort();
  await shownBy(ada, 'all three', (all) => all.length === 3);
  assert.deepEqual(tags(await ada.questions({ tool: 'word' })), ['word a', 'word b']);
  assert.deepEqual(tags(await ada.questions({ tool: 'word', arguments: { tag: 'b' } })), ['word b']);
  assert.deepEqual(tags(await ada.questions({ arguments: { tag: 'a' } })), ['three a', 'word a']);
  assert.deepEqual(tags(await ada.questions({ tool: 'word', requestId: 'of-a-proxy' })), ['word a', 'word b']);
  const { questions: [first] } = await ada.questions({ tool: 'word', arguments: { tag: 'a' } });
  assert.deepEqual(tags(await ada.questions({ callId: first.executionId })), ['word a']);
  for (let i = 0; i < 5; i++) {
    const { questions: [question] } = await ada.questions();
    await ada.word(question, 'w');
  }
  assert.deepEqual((await Promise.all(calls)).map(textOf), ['a: w', 'b: w', 'w w w']);
});

in2025('two calls that are alike are told apart by the id of the host\'s request', async (t, chat, era) => {
  const server = await start(t);
  const ada = await chat(t, server);
  const params = { name: 'word', arguments: { tag: 'twin' } };
  const begin = (id) => (era === '2026' ? ada.modern.request('tools/call', params, { id }) : ada.peer.send({ id, method: 'tools/call', params }).then(() => ada.peer.next((one) => one.id === id, 'its result')));
  const calls = ['host-1', 'host-2'].map(begin);
  await shownBy(ada, 'both', (all) => all.length === 2, { tool: 'word' });
  const { questions } = await ada.questions({ tool: 'word', arguments: { tag: 'twin' }, requestId: 'host-2' });
  assert.equal(questions.length, 1);
  await ada.word(questions[0], 'second');
  assert.equal(textOf((await calls[1]).result), 'twin: second');
  await ada.word(await ada.question(), 'first');
  assert.equal(textOf((await calls[0]).result), 'twin: first');
});

in2025('of more questions than a view is given, each view finds its own, and keeps it', async (t, chat, era) => {
  const server = await start(t);
  const ada = await chat(t, server);
  const tags = Array.from({ length: 80 }, (_, n) => `${n}`);
  const begin = (tag) => {
    const params = { name: 'word', arguments: { tag } };
    return era === '2026' ? ada.modern.request('tools/call', params, { id: `of-${tag}` }).catch(() => {}) : ada.peer.send({ id: `of-${tag}`, method: 'tools/call', params }).catch(() => {});
  };
  const calls = tags.map(begin);
  const tagsOf = (all) => all.map(({ arguments: { tag } }) => tag);
  const own = [];
  for (const tag of tags) own.push((await shownBy(ada, `the question of ${tag}`, (all) => all.length, { tool: 'word', arguments: { tag } }))[0]);
  assert.deepEqual(tagsOf(own), tags, 'by its arguments');
  for (const tag of tags.filter((_, n) => n % 5 === 0)) assert.deepEqual(tagsOf((await ada.questions({ tool: 'word', requestId: `of-${tag}` })).questions), [tag], 'by the id of its request');
  const all = await ada.questions({ tool: 'word' });
  assert.deepEqual([all.questions.length, all.more], [64, true]);
  const given = new Set(tagsOf(all.questions));
  const left = own.filter((one) => !given.has(one.arguments.tag)).slice(0, 3);
  const { questions, waiting } = await ada.questions({ known: left.map(({ nonce }) => nonce), now: true });
  assert.equal(questions.length, 64);
  for (const { nonce } of left) assert.ok(waiting.some((one) => one.nonce === nonce && one.mine), 'it is not lost among the others');
  const mine = await ada.questions({ arguments: { tag: '7' }, known: [own[7].nonce, own[8].nonce], now: true });
  assert.deepEqual([tagsOf(mine.questions), mine.ended, mine.waiting.sort((a, b) => b.mine - a.mine)], [[], [], [{ nonce: own[7].nonce, mine: true }, { nonce: own[8].nonce, mine: false }]], 'both are said to wait, and one is of another call');
  const held = ada.questions({ arguments: { tag: '7' }, known: [own[7].nonce, own[8].nonce] });
  assert.equal(await Promise.race([held.then(() => 'answered'), pause(1500).then(() => 'held')]), 'held', 'which is no news');
  await ada.word(own[8], 'w');
  assert.deepEqual((await held).ended.map(({ nonce }) => nonce), [own[8].nonce], 'its end is');
  await server.kill();
  await Promise.allSettled(calls);
});

in2025('a view is told when a question that it shows has ended elsewhere', async (t, chat) => {
  const server = await start(t);
  const [ada, other] = [await chat(t, server), await chat(t, server)];
  const call = ada.call('word', { tag: 'a' });
  const question = await ada.question();
  const told = until('it has ended', () => ada.questions({ known: [question.nonce] }), ({ ended }) => ended.length);
  await other.word(await other.question({ callId: question.executionId }), 'other');
  const { questions, ended } = await told;
  assert.deepEqual(questions, []);
  assert.equal(ended[0].nonce, question.nonce);
  assert.equal(ended[0].state, 'accepted');
  assert.equal(textOf(await call), 'a: other');
});

inSoak('a request for questions is held for twenty seconds', async (t, chat) => {
  const server = await start(t);
  const ada = await chat(t, server);
  const began = Date.now();
  assert.deepEqual((await ada.questions()).questions, []);
  const ms = Date.now() - began;
  assert.ok(ms > 19500 && ms < 35000, `${ms} ms`);
  assert.deepEqual((await ada.questions({ now: true })).questions, [], 'and not, if it says so');
});

inBoth('over stdio, with the official client', async (t, chat, era) => {
  const { client } = await connectModern(t, 'stdio', 'view-server', { capabilities: UI, legacy: era === '2025' });
  const call = client.callTool({ name: 'word', arguments: { tag: 'pipe' } });
  const { content } = await client.callTool({ name: 'nodQuestions', arguments: { tool: 'word' } });
  const [{ nonce }] = JSON.parse(content[0].text).questions;
  const taken = await client.callTool({ name: 'nodAnswer', arguments: { nonce, action: 'accept', content: { word: 'through' } } });
  assert.equal(taken._meta.nod.taken, true);
  assert.equal(textOf(await call), 'pipe: through');
});

in2025('the example book-room is asked in the chat', async (t, chat) => {
  const server = await startHttp(t, 'book-room');
  const ada = await chat(t, server);
  const call = ada.call('book_room', { room: 'Oak' });
  await ada.answer(await ada.question({ tool: 'book_room' }), { content: { date: '2026-08-03', people: 6, projector: true } });
  assert.equal(textOf(await call), 'Oak is booked on 2026-08-03 for 6, with a projector.');
});

// --- how much of it ---

in2025('a reply has one large question at most, and whoever comes again with what it knows is given the others', async (t, chat) => {
  const server = await start(t);
  const ada = await chat(t, server);
  const pad = 'x'.repeat(1e6);
  const begin = (id, args) => ada.peer.send({ id, method: 'tools/call', params: { name: 'say', arguments: args } });
  const calls = [];
  for (let n = 0; n < 4; n++) calls.push(begin(`large-${n}`, { text: `${n}`, pad }));
  calls.push(begin('small', { text: 'small' }));
  const given = ({ message, arguments: args }) => assert.ok(args.text === message && (message === 'small' || args.pad?.length === pad.length), `${message} with ${JSON.stringify(args).slice(0, 40)}`);
  for (let n = 0; n < 4; n++) await until(`the one of ${n}`, () => ada.questions({ requestId: `large-${n}`, now: true }), ({ questions: [one] }) => one?.message === `${n}`);
  await until('the small one', () => ada.questions({ requestId: 'small', now: true }), ({ questions: [one] }) => one?.message === 'small');
  const seen = [];
  for (let more = true; more;) {
    const reply = await ada.questions({ tool: 'say', known: seen.map(({ nonce }) => nonce) });
    assert.ok(reply.questions.filter((one) => one.arguments.pad).length <= 1, `${reply.questions.length} at once`);
    assert.ok(reply.questions.length, 'there was something that was not known');
    reply.questions.forEach(given);
    assert.deepEqual(reply.waiting.map(({ nonce }) => nonce).sort(), seen.map(({ nonce }) => nonce).sort(), 'what is known is not given again');
    seen.push(...reply.questions);
    ({ more } = reply);
  }
  assert.deepEqual(seen.map(({ message }) => message).sort(), ['0', '1', '2', '3', 'small']);
  await server.kill();
  await Promise.allSettled(calls);
});

in2025('too many requests of one principal are refused, and others are not concerned', async (t, chat) => {
  const server = await start(t, ['--token-file', tokenFile(t)]);
  const [ada, bob] = [await chat(t, server, { token: ADA }), await chat(t, server, { token: BOB })];
  const held = Array.from({ length: 70 }, () => ada.call('nodQuestions', {}));
  const ends = await Promise.all(Array.from({ length: 6 }, () => Promise.race(held.map((call, i) => call.then((result) => ({ i, result }))))));
  assert.match(textOf(ends[0].result), /64 requests of nodQuestions are held/);
  const call = bob.call('word', { tag: 'bob' });
  await bob.word(await bob.question(), 'his');
  assert.equal(textOf(await call), 'bob: his', 'others are not concerned');
  const own = ada.call('word', { tag: 'ada' });
  const results = await Promise.all(held);
  assert.equal(results.filter(({ isError }) => isError).length, 6);
  const questions = results.filter(({ isError }) => !isError).flatMap((result) => JSON.parse(textOf(result)).questions);
  assert.ok(questions.length > 0, 'those that were held are given it');
  await ada.word(questions[0], 'hers');
  assert.equal(textOf(await own), 'ada: hers');
});

// --- whose it is ---

// Everything that another process of the principal can know or guess, or has seen of a call of its own.
const guesses = (tool, args, requestId) => [{}, { tool }, { tool, arguments: args }, { tool, arguments: args, requestId }, { requestId }, { callId: '' }, { callId: requestId }, { callId: 'x'.repeat(22) }, { known: ['x'.repeat(44)] }, { known: [''], callId: 'A'.repeat(22) }];

const strangers = { 'without tokens': [[], undefined], 'with the same token': [(t) => ['--token-file', tokenFile(t)], ADA] };
for (const [how, [args, token]] of Object.entries(strangers))
  for (const era of ['2025', '2026'])
    test(`${era}: a question is not given to another session or request, ${how}, until it shows the handle`, async (t) => {
      const server = await start(t, typeof args === 'function' ? args(t) : args);
      const ada = await chats[era](t, server, { token });
      const others = [await chats['2025'](t, server, { token }), await chats['2026'](t, server, { token })];
      const params = { name: 'word', arguments: { tag: 'hers' } };
      const call = era === '2026' ? ada.modern.request('tools/call', params, { id: 'mine' }).then(({ result }) => result) : ada.peer.send({ id: 'mine', method: 'tools/call', params }).then(() => ada.peer.next((one) => one.id === 'mine', 'its result')).then(({ result }) => result);
      if (era === '2025') assert.equal((await ada.questions({ tool: 'word' })).questions.length, 1, 'its own session is given it');
      const look = async (when) => {
        for (const other of others)
          for (const guess of guesses('word', params.arguments, 'mine')) {
            const { questions, more, waiting } = await other.questions({ ...guess, now: true });
            assert.deepEqual([questions, more, waiting], [[], undefined, []], `${when}: ${JSON.stringify(guess)}`);
          }
      };
      await look('while the call is held');
      if (era === '2025') return; // its view has it: the call is held until the soft deadline
      const { callId } = (await call).structuredContent;
      await look('after the pending result');
      for (const other of others) {
        const { questions: [question] } = await other.questions({ callId, now: true });
        assert.equal(question.message, 'hers: the only word?');
      }
      const taken = await others[0].word((await others[0].questions({ callId, now: true })).questions[0], 'shown');
      assert.equal(textOf(taken), 'hers: shown');
    });

test('2025: whoever calls the same again in another session is not told the handle, and waits by calling again', async (t) => {
  const server = await start(t, ['--soft-deadline', '1s']);
  const ada = await chats['2025'](t, server);
  const params = { tag: 'twice' };
  const { callId } = (await ada.call('word', params)).structuredContent;
  for (const capabilities of [UI, {}]) {
    const other = await chats['2025'](t, server, { capabilities });
    const again = await other.call('word', params);
    assert.equal(again.structuredContent.pending, true);
    assert.ok(!JSON.stringify(again).includes(callId), JSON.stringify(again));
    assert.match(textOf(again), /Call the tool word again, with the same arguments/);
    assert.ok(!JSON.stringify(other.peer.events).includes(callId), 'nor in the stream');
  }
  const back = await ada.call('word', params);
  assert.equal(back.structuredContent.callId, callId, 'its own session is');
  await ada.word(await ada.question({ callId }), 'done');
});

test('2025: nor is it, when it comes back to its stream after a restart', async (t) => {
  const args = ['--soft-deadline', '3s', '--store', (await stores.find(({ name }) => name === 'sqlite').create(t)).address];
  let server = await start(t, args);
  const ada = await chats['2025'](t, server);
  const { callId } = (await ada.call('word', { tag: 'twice' })).structuredContent;
  const other = (await chats['2025'](t, server)).peer;
  const handle = await other.send({ id: 'again', method: 'tools/call', params: { name: 'word', arguments: { tag: 'twice' } } });
  const { id } = await handle.arrived.next((event) => event.id !== undefined, 'an event id');
  await server.kill();
  server = await start(t, args);
  other.url = server.url;
  assert.equal((await other.request('GET', { headers: { 'Last-Event-ID': id }, stream: 'resumed' })).status, 200);
  const { result } = await other.next((one) => one.id === 'again', 'the pending result');
  assert.equal(result.structuredContent.pending, true);
  assert.ok(!JSON.stringify([result, other.events]).includes(callId), JSON.stringify(result));
});

test('2025: nor whoever calls the same again after a restart', async (t) => {
  const args = ['--soft-deadline', '1s', '--store', (await stores.find(({ name }) => name === 'sqlite').create(t)).address];
  const before = await start(t, args);
  const ada = await chats['2025'](t, before);
  const { callId } = (await ada.call('word', { tag: 'twice' })).structuredContent;
  await before.stop();
  const server = await start(t, args);
  for (const capabilities of [{}, UI]) {
    const again = await (await chats['2025'](t, server, { capabilities })).call('word', { tag: 'twice' });
    assert.equal(again.structuredContent.pending, true);
    assert.ok(!JSON.stringify(again).includes(callId), JSON.stringify(again));
  }
});

test('2025: nor whoever calls the same again, between two questions', async (t) => {
  const server = await start(t, ['--soft-deadline', '1s']);
  const ada = await chats['2025'](t, server);
  const { callId } = (await ada.call('three', { tag: 'twice' })).structuredContent;
  const others = [await chats['2025'](t, server), await chats['2025'](t, server)];
  const told = async (when, held = others.map((other) => other.call('three', { tag: 'twice' }))) => {
    for (const again of await Promise.all(held)) {
      assert.equal(again.structuredContent.pending, true, when);
      assert.ok(!JSON.stringify(again).includes(callId), `${when}: ${JSON.stringify(again)}`);
    }
    for (const other of others) assert.ok(!JSON.stringify(other.peer.events).includes(callId), when);
  };
  await told('at the first');
  let before;
  for (const word of ['x', 'y']) {
    const [question] = await shownBy(ada, 'the next question', ([first]) => first && first.nonce !== before, { callId });
    before = question.nonce;
    const held = others.map((other) => other.call('three', { tag: 'twice' })); // while one is answered, and the next is asked
    await ada.word(question, word);
    await told(`held while ${word} was said`, held);
    await told(`after ${word}`);
  }
});

// --- what is refused ---

in2025('a guessed, an old and a foreign nonce, and another principal, are refused', async (t, chat) => {
  const server = await start(t, ['--token-file', tokenFile(t)]);
  const [ada, bob] = [await chat(t, server, { token: ADA }), await chat(t, server, { token: BOB })];
  const calls = [ada.call('word', { tag: 'ada' }), bob.call('word', { tag: 'bob' })];
  const [hers, his] = [await ada.question(), await bob.question()];
  assert.equal(hers.arguments.tag, 'ada');
  assert.equal(his.arguments.tag, 'bob');
  const flip = (nonce, at) => nonce.slice(0, at) + (nonce[at] === 'A' ? 'B' : 'A') + nonce.slice(at + 1);
  const wrong = { guessed: flip(hers.nonce, 40), 'of another ask': flip(hers.nonce, 3), id: hers.id, empty: '', foreign: his.nonce, mixed: hers.nonce.slice(0, 22) + his.nonce.slice(22) };
  for (const [what, nonce] of Object.entries(wrong)) {
    const refused = await ada.call('nodAnswer', { nonce, action: 'accept', content: { word: 'x' } });
    assert.equal(refused.isError, true, what);
    assert.match(textOf(refused), /No question with this nonce/, what);
  }
  assert.equal((await bob.word(hers, 'stolen')).isError, true);
  for (const bad of [{ action: 'maybe' }, { content: 'no json' }, { content: '[1]' }]) assert.equal((await ada.answer(hers, bad)).isError, true);
  await ada.word(hers, 'hers');
  await bob.word(his, 'his');
  assert.deepEqual((await Promise.all(calls)).map(textOf), ['ada: hers', 'bob: his']);
  assert.equal(JSON.parse(textOf(await ada.word(hers, 'again'))).taken, false, 'an old one');
});

in2025('with --consent inbox a view gives data, and no consent', async (t, chat) => {
  const server = await start(t, ['--consent', 'inbox', '--token-file', tokenFile(t)]);
  const ada = await chat(t, server, { token: ADA });
  const word = ada.call('word', { tag: 'data' });
  await ada.word(await ada.question(), 'yes');
  assert.equal(textOf(await word), 'data: yes');
  const erase = ada.call('erase');
  const origin = new URL(server.url).origin;
  const headers = { Authorization: `Bearer ${ADA}`, 'Content-Type': 'application/json' };
  let items = [];
  while (!items.length) ({ items } = await (await fetch(`${origin}/api/elicitation`, { headers })).json());
  await fetch(`${origin}/api/elicitation/${items[0].id}/resolve`, { method: 'POST', headers, body: '{"action":"accept"}' });
  assert.equal(textOf(await erase), 'Erased.');
});

test('the history and the figures tell a view from a client, which is one in either era', async (t) => {
  const server = await start(t, ['--token-file', tokensOf(t, [{ token: ADA, name: 'ada', roles: 'admin' }])]);
  for (const legacy of [false, true]) {
    const { client } = await connectModern(t, 'http', 'view-server', { server, token: ADA, legacy, answer: () => ({ action: 'accept', content: { word: 'form' } }) });
    assert.equal(textOf(await client.callTool({ name: 'word', arguments: { tag: 'a' } })), 'a: form');
  }
  const ada = await chats['2025'](t, server, { token: ADA });
  const call = ada.call('word', { tag: 'b' });
  await ada.word(await ada.question(), 'view');
  assert.equal(textOf(await call), 'b: view');
  const get = (path) => fetch(new URL(path, server.url), { headers: { Authorization: `Bearer ${ADA}` } });
  const { items } = await (await get('/api/elicitation?state=accepted')).json();
  assert.deepEqual(items.map(({ answer: { via } }) => via).sort(), ['client', 'client', 'view']);
  for (const { id, answer: { via } } of items) {
    const late = await fetch(new URL(`/api/elicitation/${id}/resolve`, server.url), { method: 'POST', headers: { Authorization: `Bearer ${ADA}`, 'Content-Type': 'application/json' }, body: '{"action":"decline"}' });
    assert.deepEqual([late.status, (await late.json()).answer.via], [409, via]);
  }
  const figures = await (await get('/metrics')).text();
  assert.deepEqual(figures.match(/(?<=^nod_asks_ended_total\{state="accepted",surface=).*/gm).sort(), ['"client"} 2', '"view"} 1']);
});

// --- other nodes, other times ---

inBoth('through the other of two nodes, and after a restart', async (t, chat, era) => {
  for (const kind of stores) {
    const store = await kind.create(t);
    const args = ['--store', store.address];
    let server = await start(t, args);
    const ada = await chat(t, server);
    const two = kind.name === 'redis' ? await start(t, args) : null;
    const view = await chat(t, two ?? server);
    if (era === '2025') { // in its own session, at the other node
      if (two) Object.assign(view.peer, { session: ada.peer.session });
      const call = ada.call('word', { tag: 'held' });
      const chosen = two ? view : ada;
      const taken = await chosen.word(await chosen.question({ tool: 'word' }), 'far');
      assert.equal(await endOf(ada, call, taken), 'held: far', kind.name);
    }
    const { callId } = (await ada.call('three', { tag: 'kept' })).structuredContent;
    const question = await view.question({ callId });
    await view.word(question, 'x');
    const second = await view.question({ callId });
    await server.kill();
    if (!two) server = await start(t, args);
    const later = await chat(t, two ?? server);
    assert.equal((await later.question({ callId })).nonce, second.nonce, 'a view that is open can go on');
    await later.word(second, 'y');
    const end = await later.word(await later.question({ callId }), 'z');
    assert.equal(textOf(end), 'x y z', kind.name);
  }
});

describe('view', { concurrency: 6 }, () => tests.forEach(([name, fn]) => it(name, fn)));
