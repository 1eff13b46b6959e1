// What people and programs may send, in both eras: numbers of any size, too much, nothing, the same thing twice, malformed
// errors; and what a tool may reply.
import test from 'node:test';
import assert from 'node:assert/strict';
import { onBoth, rawPeer, callTool, nextAsk, startHttp, textOf, withoutInbox } from './harness.js';
import { Modern, VERSION, accepted, retryOf } from './modern.js';

withoutInbox();

const OVER_INT64 = '9223372036854775808';
const OVER_DOUBLE = '1e400';
const number = (text) => `@${text}@`; // for `raw`
const raw = (text) => text.replace(/"@([^"@]*)@"/g, '$1');

async function modernProbe(t, options = {}) {
  const server = await startHttp(t, 'probe', { env: options.env });
  return new Modern(server.url, options);
}

// Sends a message with numbers that JavaScript does not have.
async function sendRaw(peer, message) {
  const text = raw(JSON.stringify({ jsonrpc: '2.0', ...message }));
  if (peer.writeLine) peer.writeLine(text);
  else await peer.post(text);
}

// One server and one session for all answers of a test.
async function answering(t, kind) {
  const peer = await rawPeer(t, kind, 'probe');
  return async (tool, result) => {
    const call = await callTool(peer, tool);
    const ask = await nextAsk(peer);
    await sendRaw(peer, { id: ask.id, result });
    return (await call.reply()).result;
  };
}

const code = (result) => result._meta?.code;
const details = (result) => JSON.stringify(result._meta?.details);

// --- numbers ---

const BEYOND = [['n', OVER_INT64, /9223372036854775807/], ['n', '-9223372036854775809', /9223372036854775807/],
  ['n', OVER_DOUBLE, /9223372036854775807/], ['x', OVER_DOUBLE, /1\.79\d*e\+?308/], ['x', '-1e309', /1\.79\d*e\+?308/]];

onBoth(test, '11.23: an argument beyond what the getters can say is refused with a sentence', async (t, kind) => {
  const peer = await rawPeer(t, kind, 'probe');
  for (const [id, [name, text, says]] of BEYOND.entries()) {
    await sendRaw(peer, { id, method: 'tools/call', params: { name: 'numbers', arguments: { [name]: number(text) } } });
    const { result } = await peer.next((message) => message.id === id);
    assert.equal(result.isError, true, `${text}: ${textOf(result)}`);
    assert.equal(code(result), 'INVALID_ARGUMENTS');
    assert.match(textOf(result), says);
  }
});

onBoth(test, '11.23: an answer beyond what the getters can say is refused with a sentence', async (t, kind) => {
  const answered = await answering(t, kind);
  for (const [name, text, says] of BEYOND) {
    const result = await answered('ask_numbers', accepted({ [name]: number(text) }));
    assert.equal(result.isError, true, `${text}: ${textOf(result)}`);
    assert.equal(code(result), 'INVALID_INPUT');
    assert.match(details(result), says);
  }
});

test('11.23: 2026: numbers beyond the getters are refused, as arguments and as answers', async (t) => {
  const modern = await modernProbe(t);
  for (const [name, text] of [['n', OVER_INT64], ['x', OVER_DOUBLE]]) {
    const reply = await modern.call('numbers', { [name]: number(text) }, {}, { edit: raw });
    assert.equal(code(reply.result), 'INVALID_ARGUMENTS', reply.text);
    let asked = await modern.asked('ask_numbers');
    asked = await modern.asked('ask_numbers', {}, retryOf(asked, { numbers: accepted({ [name]: number(text) }) }), { edit: raw });
    assert.match(asked.inputRequests.numbers.params.message, /could not be used: [^]*(9223372036854775807|e\+?308)[^]*How many\?/);
    // One that is given beforehand, and does not fit, is asked for.
    await modern.asked('ask_numbers', {}, { inputResponses: { numbers: accepted({ [name]: number(text) }) } }, { edit: raw });
  }
});

test('11.23: the largest and the smallest go through', async (t) => {
  const modern = await modernProbe(t);
  const ended = (args) => modern.ended('numbers', args, {}, { edit: raw });
  assert.equal(await ended({ n: number('9223372036854775807'), x: number('1e308') }), '9223372036854775807 1e+308');
  assert.equal(await ended({ n: number('-9223372036854775808'), x: number('-1e308') }), '-9223372036854775808 -1e+308');
  assert.equal(await ended({ n: number('9223372036854775807.0'), x: number('1e-400') }), '9223372036854775807 0');
});

// --- too much ---

const BOOK = 'x'.repeat(300 * 1024);

onBoth(test, '11.24: an answer over the limit is told that it is', async (t, kind) => {
  const answered = await answering(t, kind);
  for (const content of [{ text: BOOK }, { text: 'a', parts: Array(300).fill('x'.repeat(1024)) }]) {
    const result = await answered('long_word', accepted(content));
    assert.equal(code(result), 'INVALID_INPUT');
    assert.match(details(result), /larger than an answer may be/);
    assert.match(details(result), /262144 bytes/);
  }
});

test('11.24: 2026: an answer over the limit is asked again, and the message says why', async (t) => {
  const modern = await modernProbe(t);
  for (const content of [{ text: BOOK }, { text: 'a', parts: Array(300).fill('x'.repeat(1024)) }]) {
    let asked = await modern.asked('long_word');
    asked = await modern.asked('long_word', {}, retryOf(asked, { book: accepted(content) }));
    assert.match(asked.inputRequests.book.params.message, /larger than an answer may be[^]*Your book\?/);
    assert.equal(await modern.ended('long_word', {}, retryOf(asked, { book: accepted({ text: 'short' }) })), '5');
  }
});

// --- nothing ---

onBoth(test, '11.24: content: null is no content', async (t, kind) => {
  const answered = await answering(t, kind);
  const nothing = { action: 'accept', content: null };
  assert.equal(textOf(await answered('yes_or_no', nothing)), 'yes');
  assert.equal(textOf(await answered('ask_optional', nothing)), '1 {}');
  assert.match(details(await answered('long_word', nothing)), /\/text.*is required/);
});

test('11.24: 2026: content: null is no content', async (t) => {
  const modern = await modernProbe(t);
  for (const [tool, key, text] of [['yes_or_no', 'sure', 'yes'], ['ask_optional', 'more', '1 {}']]) {
    const asked = await modern.asked(tool);
    const retry = retryOf(asked, { [key]: { action: 'accept', content: null } });
    assert.equal(await modern.ended(tool, {}, retry), text);
    assert.equal(await modern.ended(tool, {}, retry), text); // the same once more is the same
  }
  const asked = await modern.asked('yes_or_no');
  assert.equal(await modern.ended('yes_or_no', {}, retryOf(asked, { sure: { action: 'decline', content: null } })), 'no');
});

// --- the same twice ---

onBoth(test, '11.24: an answer that chooses the same twice is invalid', async (t, kind) => {
  const result = await (await answering(t, kind))('pick', accepted({ of: ['a', 'a'] }));
  assert.equal(code(result), 'INVALID_INPUT', textOf(result));
  assert.match(details(result), /\/of/);
});

test('11.24: 2026: an answer that chooses the same twice is asked again', async (t) => {
  const modern = await modernProbe(t);
  let asked = await modern.asked('pick');
  asked = await modern.asked('pick', {}, retryOf(asked, { pick: accepted({ of: ['b', 'a', 'b'] }) }));
  assert.equal(await modern.ended('pick', {}, retryOf(asked, { pick: accepted({ of: ['b', 'a'] }) })), '{"of":["b","a"]}');
});

// --- errors without a shape ---

const SHAPELESS = [
  { error: { message: 'no code' } }, { error: { code: 'x', message: 'm' } }, { error: { code: -1.5, message: 'm' } },
  { error: { code: -32603 } }, { error: { code: 1, message: 7 } }, { error: 'boom' }, { error: null }, { error: [] },
  { error: { code: -32603, message: 'both' }, result: { action: 'accept', content: { name: 'Ada' } } },
];

onBoth(test, '11.24: an error reply without a shape ends the offer', async (t, kind) => {
  const peer = await rawPeer(t, kind, 'probe');
  for (const shape of SHAPELESS) {
    const call = await callTool(peer, 'ask');
    const ask = await nextAsk(peer);
    const handle = await peer.send({ id: ask.id, ...shape });
    if (kind === 'http') assert.equal(handle.status, 400);
    const { result } = await call.reply();
    assert.equal(code(result), 'ELICITATION_NOT_SUPPORTED', `${JSON.stringify(shape)}: ${textOf(result)}`);
  }
});

onBoth(test, '11.24: an error reply without a shape to nothing that is asked changes nothing', async (t, kind) => {
  const peer = await rawPeer(t, kind, 'probe');
  const call = await callTool(peer, 'ask');
  const ask = await nextAsk(peer);
  await peer.send({ id: 'nobody-asked-this', error: 'boom' });
  await peer.send({ id: `${ask.id}.2`, error: 'boom' });
  await peer.send({ error: 'boom' });
  await peer.send({ id: ask.id, result: accepted({ name: 'Ada' }) });
  assert.equal(textOf((await call.reply()).result), 'accept {"name":"Ada"}');
});

// --- what a tool may say ---

test('11.24: 2026: structuredContent is any JSON value, and an outputSchema any schema', async (t) => {
  const modern = await modernProbe(t);
  const { result } = await modern.request('tools/list');
  assert.deepEqual(result.tools.find((tool) => tool.name === 'structured_list').outputSchema, { type: 'array', items: { type: 'integer' } });
  for (const value of [[1, 2], 'text', 7, true, false, null, {}, []]) {
    const reply = await modern.call('structured_any', { json: JSON.stringify(value) });
    assert.ok(!reply.result.isError, reply.text);
    assert.ok('structuredContent' in reply.result);
    assert.deepEqual(reply.result.structuredContent, value);
    assert.equal(textOf(reply.result), JSON.stringify(value));
  }
  const list = await modern.call('structured_list', { json: '[1,2,3]' });
  assert.deepEqual(list.result.structuredContent, [1, 2, 3]);
  const wrong = await modern.call('structured_list', { json: '["a"]' });
  assert.equal(code(wrong.result), 'HANDLER_BUG');
});

test('11.24: in the 2025 era what is not an object is left out, and the text says it', async (t) => {
  const server = await startHttp(t, 'probe');
  for (const version of ['2025-11-25', '2025-06-18', '2025-03-26']) {
    const peer = await rawPeer(t, 'http', 'probe', { version, server });
    await peer.send({ id: 1, method: 'tools/list' });
    const { result: listed } = await peer.next((message) => message.id === 1);
    assert.equal('outputSchema' in listed.tools.find((tool) => tool.name === 'structured_list'), false);
    assert.equal('outputSchema' in listed.tools.find((tool) => tool.name === 'structured'), version !== '2025-03-26');
    for (const value of [[1, 2], 'text "structuredContent":{', null, { a: 1 }]) {
      const call = await callTool(peer, 'structured_any', { json: JSON.stringify(value) });
      const { result } = await call.reply();
      assert.equal(textOf(result), JSON.stringify(value));
      if (Object(value) === value && !Array.isArray(value) && version !== '2025-03-26') assert.deepEqual(result.structuredContent, value);
      else assert.equal('structuredContent' in result, false, JSON.stringify(result));
    }
  }
});

test('11.24: 2026: a handler that says NOD_E_NOT_SUPPORTED itself fails as a tool fails, and no capability is made up', async (t) => {
  const modern = await modernProbe(t);
  const reply = await modern.call('cannot');
  assert.equal(reply.status, 200, reply.text);
  assert.equal(reply.result.isError, true);
  assert.equal(textOf(reply.result), 'This printer has no colours');
  assert.equal(code(reply.result), 'ELICITATION_NOT_SUPPORTED');
  const prompt = await modern.request('prompts/get', { name: 'cannot' });
  assert.equal(prompt.error.code, -32603, prompt.text);
  assert.equal('requiredCapabilities' in prompt.error.data, false);
  // A question that nobody could be asked still says what is missing.
  const missing = await modern.call('ask', {}, {}, { capabilities: {} });
  assert.equal(missing.error.code, -32021, missing.text);
});

test('11.24: a uri whose escapes are not UTF-8 is refused with a sentence, in both eras', async (t) => {
  const modern = await modernProbe(t);
  const peer = await rawPeer(t, 'http', 'probe', { server: { url: modern.url } });
  let id = 900;
  const read = async (uri) => {
    await peer.send({ id: ++id, method: 'resources/read', params: { uri } });
    return peer.next((message) => message.id === id);
  };
  for (const uri of ['note://%ff', 'note://a%c3', 'note://%ed%a0%80', 'note://%zz', 'note://%f', 'note://a%00b']) {
    const now = await modern.request('resources/read', { uri });
    assert.equal(now.error?.code, -32602, now.text);
    assert.match(now.error.message, /percent-encod/);
    const then = await read(uri);
    assert.equal(then.error?.code, -32602, JSON.stringify(then));
    assert.match(then.error.message, /percent-encod/);
  }
  assert.equal((await modern.request('resources/read', { uri: 'note://caf%C3%A9' })).result.contents[0].text, 'café');
  assert.equal((await read('latin://caf%E9')).result.contents[0].text, 'no id'); // named so by its author
  assert.equal((await read('nowhere://x')).error.code, -32002);
});

onBoth(test, '11.24: a gate that was dismissed is told from one that was declined', async (t, kind) => {
  const peer = await rawPeer(t, kind, 'probe');
  for (const [action, wanted] of [['cancel', 'CONFIRMATION_CANCELLED'], ['decline', 'CONFIRMATION_DECLINED']]) {
    const call = await callTool(peer, 'gated');
    const ask = await nextAsk(peer);
    await peer.send({ id: ask.id, result: { action } });
    const { result } = await call.reply();
    assert.equal(code(result), wanted);
    assert.match(textOf(result), action === 'cancel' ? /dismissed/ : /did not confirm/);
  }
});

test('11.24: 2026: a gate that was dismissed is told from one that was declined', async (t) => {
  const modern = await modernProbe(t);
  for (const [action, wanted] of [['cancel', 'CONFIRMATION_CANCELLED'], ['decline', 'CONFIRMATION_DECLINED']]) {
    const asked = await modern.asked('gated');
    const [key] = Object.keys(asked.inputRequests);
    const reply = await modern.call('gated', {}, retryOf(asked, { [key]: { action } }));
    assert.equal(code(reply.result), wanted, reply.text);
  }
});

test('11.24: -32022 to a version in _meta never offers that very version', async (t) => {
  const modern = await modernProbe(t);
  const meta = (version) => ({ meta: { 'io.modelcontextprotocol/protocolVersion': version }, headers: { 'MCP-Protocol-Version': version } });
  for (const version of ['2025-11-25', '2025-06-18', '2025-03-26']) {
    const reply = await modern.request('tools/list', {}, meta(version));
    assert.equal(reply.status, 400);
    assert.equal(reply.error.code, -32022);
    assert.deepEqual(reply.error.data, { supported: [VERSION], requested: version });
    assert.match(reply.error.message, /initialize/);
  }
  const reply = await modern.request('tools/list', {}, meta('1900-01-01'));
  assert.equal(reply.error.code, -32022);
  assert.ok(reply.error.data.supported.includes('2025-11-25')); // a client that knows it may begin with initialize
  assert.equal(reply.error.data.supported[0], VERSION);
});

test('11.24: 2026: the pattern of a field is checked and not sent', async (t) => {
  const modern = await modernProbe(t);
  const asked = await modern.asked('ask');
  assert.deepEqual(asked.inputRequests['#1'].params.requestedSchema.properties.code, { type: 'string' });
});

// --- one question at a time ---

test('11.24: 2026: with one_ask_per_scope a new question cancels the older one of the principal', async (t) => {
  const modern = await modernProbe(t, { env: { PROBE_ONE_ASK: '1' } });
  const first = await modern.asked('two_rounds', { for: 'first' });
  const second = await modern.asked('two_rounds', { for: 'second' });
  // The older reads cancel, whatever is said now, and asks its next: which cancels the one of the second.
  const third = await modern.asked('two_rounds', { for: 'first' }, retryOf(first, { first: accepted({ word: 'late' }) }));
  assert.equal(third.inputRequests.second.params.message, 'After (cancelled)');
  const fourth = await modern.asked('two_rounds', { for: 'second' }, retryOf(second, { first: accepted({ word: 'late' }) }));
  assert.equal(fourth.inputRequests.second.params.message, 'After (cancelled)');
  assert.equal(await modern.ended('two_rounds', { for: 'second' }, retryOf(fourth, { second: accepted({ word: 'now' }) })), '(cancelled) now');
});

test('11.24: 2026: without one_ask_per_scope questions wait side by side', async (t) => {
  const modern = await modernProbe(t);
  const first = await modern.asked('two_rounds', { for: 'first' });
  await modern.asked('two_rounds', { for: 'second' });
  const third = await modern.asked('two_rounds', { for: 'first' }, retryOf(first, { first: accepted({ word: 'late' }) }));
  assert.equal(third.inputRequests.second.params.message, 'After late');
});
