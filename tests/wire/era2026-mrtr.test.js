// Calls that ask over several requests, by hand, where the official client hides things.
import test from 'node:test';
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { atAnyPace, environment, pause, program, startHttp, textOf, within, PATIENCE_MS, withoutInbox } from './harness.js';
import { Modern, VERSION, accepted, assertSecond, connectModern, deedsFile, metaOf, retryOf, word, assertMessageAllowed, assertNothingForbidden } from './modern.js';

withoutInbox();

const EVERYTHING = { elicitation: { form: {}, url: {} }, sampling: {}, roots: {} };

async function start(t, { env, ...options } = {}) {
  const deeds = deedsFile(t);
  const server = await startHttp(t, 'probe', { env: { PROBE_FILE: deeds.file, ...env } });
  return { deeds, server, modern: new Modern(server.url, options) };
}

const sampled = { role: 'assistant', content: { type: 'text', text: 'an idea' }, model: 'm', stopReason: 'endTurn' };
const keysOf = (result) => Object.keys(result.inputRequests ?? {});

// --- rounds ---

test('several questions of every kind go out in one round, each under its key', async (t) => {
  const { modern } = await start(t, { capabilities: EVERYTHING });
  const asked = await modern.asked('every_kind');
  assert.deepEqual(keysOf(asked).sort(), ['folders', 'idea', 'name']);
  assert.equal(asked.inputRequests.name.method, 'elicitation/create');
  assert.equal(asked.inputRequests.name.params.mode, 'form');
  assert.equal(asked.inputRequests.idea.method, 'sampling/createMessage');
  assert.equal(asked.inputRequests.idea.params.messages[0].content.text, 'Say something');
  assert.equal(asked.inputRequests.folders.method, 'roots/list');
  for (const request of Object.values(asked.inputRequests)) assert.equal('id' in request || 'jsonrpc' in request, false);
  const answers = { name: word('Ada'), idea: sampled, folders: { roots: [{ uri: 'file:///a' }, { uri: 'file:///b' }] } };
  assert.equal(await modern.ended('every_kind', {}, retryOf(asked, answers)), 'Ada, an idea, 2 roots');
});

test('what is not answered is asked again, what is answered is not', async (t) => {
  const { modern } = await start(t, { capabilities: EVERYTHING });
  let asked = await modern.asked('every_kind');
  asked = await modern.asked('every_kind', {}, retryOf(asked, {}));
  assert.equal(keysOf(asked).length, 3);
  asked = await modern.asked('every_kind', {}, { requestState: asked.requestState });
  assert.equal(keysOf(asked).length, 3);
  asked = await modern.asked('every_kind', {}, retryOf(asked, { idea: sampled }));
  assert.deepEqual(keysOf(asked).sort(), ['folders', 'name']);
  asked = await modern.asked('every_kind', {}, retryOf(asked, { folders: { roots: [] } }));
  assert.deepEqual(keysOf(asked), ['name']);
  assert.equal(await modern.ended('every_kind', {}, retryOf(asked, { name: { action: 'decline' } })), '(declined), an idea, 0 roots');
});

test('accept, decline and cancel stay apart, round by round', async (t) => {
  const { modern } = await start(t);
  const answers = { accept: word('yes'), decline: { action: 'decline' }, cancel: { action: 'cancel' } };
  const words = { accept: 'yes', decline: '(declined)', cancel: '(cancelled)' };
  for (const [one, first] of Object.entries(answers))
    for (const [two, second] of Object.entries(answers)) {
      let asked = await modern.asked('two_rounds');
      asked = await modern.asked('two_rounds', {}, retryOf(asked, { first }));
      assert.equal(asked.inputRequests.second.params.message, `After ${words[one]}`);
      assert.equal(await modern.ended('two_rounds', {}, retryOf(asked, { second })), `${words[one]} ${words[two]}`);
    }
});

test('keys that nobody asked for are ignored, and so are other parameters', async (t) => {
  const { modern } = await start(t);
  let asked = await modern.asked('two_rounds');
  asked = await modern.asked('two_rounds', {}, { ...retryOf(asked, { first: word('a'), third: word('x'), '': { roots: [] } }), more: 1 });
  assert.equal(await modern.ended('two_rounds', {}, retryOf(asked, { second: word('b'), unknown: { any: 'thing' } })), 'a b');
});

test('prompts and resources ask the same way', async (t) => {
  const { modern } = await start(t);
  const prompt = await modern.request('prompts/get', { name: 'asking' });
  assert.equal(prompt.result.resultType, 'input_required');
  const [key] = keysOf(prompt.result);
  const got = await modern.request('prompts/get', { name: 'asking', ...retryOf(prompt.result, { [key]: word('hello') }) });
  assert.equal(got.result.resultType, 'complete', got.text);
  assert.match(got.result.messages[0].content.text, /hello/);
  const resource = await modern.request('resources/read', { uri: 'probe://asking' });
  const read = await modern.request('resources/read', { uri: 'probe://asking', ...retryOf(resource.result, { [keysOf(resource.result)[0]]: word('page') }) });
  assert.equal(read.result.resultType, 'complete', read.text);
  assert.match(read.result.contents[0].text, /page/);
});

// --- answers that are no good ---

test('content that does not fit is asked again and says what is wrong, eight times in all', async (t) => {
  const { modern } = await start(t);
  let asked = await modern.asked('ask');
  for (let attempt = 1; attempt < 8; attempt++) {
    asked = await modern.asked('ask', {}, retryOf(asked, { '#1': accepted({ name: 'A', age: 200 }) }));
    assert.deepEqual(keysOf(asked), ['#1']);
    assert.match(asked.inputRequests['#1'].params.message, /name[^]*Who are you\?/, `attempt ${attempt}`);
    assert.match(asked.inputRequests['#1'].params.message, /age/);
  }
  const reply = await modern.call('ask', {}, retryOf(asked, { '#1': accepted({ name: 'A' }) }));
  assert.equal(reply.result?.resultType, 'complete', reply.text);
  assert.equal(reply.result.isError, true);
  assert.match(reply.text, /INVALID_INPUT/);
});

test('the eighth attempt may still be right', async (t) => {
  const { modern } = await start(t);
  let asked = await modern.asked('ask');
  for (let attempt = 1; attempt < 8; attempt++) asked = await modern.asked('ask', {}, retryOf(asked, { '#1': accepted({}) }));
  assert.equal(await modern.ended('ask', {}, retryOf(asked, { '#1': accepted({ name: 'Ada' }) })), 'accept {"name":"Ada"}');
});

test('a tool may allow fewer attempts', async (t) => {
  const { modern } = await start(t);
  let asked = await modern.asked('ask', { attempts: 2 });
  asked = await modern.asked('ask', { attempts: 2 }, retryOf(asked, { '#1': accepted({}) }));
  const reply = await modern.call('ask', { attempts: 2 }, retryOf(asked, { '#1': accepted({}) }));
  assert.equal(reply.result.isError, true);
});

test('responses that are not shaped as such are a JSON-RPC error, and the question stays open', async (t) => {
  const { modern } = await start(t, { capabilities: EVERYTHING });
  const asked = await modern.asked('every_kind');
  const bad = [
    [], 'text', 1, null, { name: null }, { name: 'Ada' }, { name: [] }, { name: {} }, { name: { action: 'maybe' } }, { name: { action: 1 } },
    { name: { content: { word: 'x' } } }, { name: accepted('text') }, { name: accepted([]) }, { name: sampled },
    { idea: accepted({}) }, { idea: {} }, { idea: { role: 'assistant' } }, { folders: {} }, { folders: { roots: 'x' } }, { folders: accepted({}) },
  ];
  for (const inputResponses of bad) {
    const reply = await modern.call('every_kind', {}, { requestState: asked.requestState, inputResponses });
    assert.equal(reply.error?.code, -32602, `${JSON.stringify(inputResponses)}: ${reply.text}`);
    assert.equal(reply.status, 400);
  }
  const answers = { name: word('Ada'), idea: sampled, folders: { roots: [] } };
  assert.equal(await modern.ended('every_kind', {}, retryOf(asked, answers)), 'Ada, an idea, 0 roots');
});

// --- answers before the question ---

test('responses on a first call count for data, never for a confirmation or an approval', async (t) => {
  const { modern } = await start(t);
  const early = { note: word('early'), sure: accepted({}), approval: accepted({}) };
  let asked = await modern.asked('consents', {}, { inputResponses: early });
  assert.deepEqual(keysOf(asked), ['sure']);
  asked = await modern.asked('consents', {}, retryOf(asked, { sure: accepted({}), approval: accepted({}) }));
  assert.deepEqual(keysOf(asked), ['approval'], 'what was not asked in the last round is not answered by it');
  assert.equal(await modern.ended('consents', {}, retryOf(asked, { approval: { action: 'decline' } })), 'early, sure 1, approved 0');
});

test('responses on a first call that do not fit are as if they were not there', async (t) => {
  const { modern } = await start(t);
  for (const note of [accepted({ word: 1 }), accepted(), { action: 'maybe' }, {}]) {
    const asked = await modern.asked('consents', {}, { inputResponses: { note } });
    assert.deepEqual(keysOf(asked), ['note']);
    assert.equal(asked.inputRequests.note.params.message, 'A note?');
  }
});

test('a tool that needs a confirmation by rule asks it whatever a first call brings', async (t) => {
  const { modern } = await start(t);
  const first = await modern.asked('gated', { what: 'x' });
  const [key] = keysOf(first);
  const asked = await modern.asked('gated', { what: 'x' }, { inputResponses: { [key]: accepted({}) } });
  assert.deepEqual(keysOf(asked), [key]);
  assert.equal(await modern.ended('gated', { what: 'x' }, retryOf(asked, { [key]: accepted({}) })), 'local');
});

// --- time ---

test('an ask that has run out in a state that has not is ELICITATION_TIMEOUT', async (t) => {
  const { modern } = await start(t);
  const asked = await modern.asked('ask', { ttl: 50 });
  await pause(120);
  for (let i = 0; i < 2; i++) {
    const reply = await modern.call('ask', { ttl: 50 }, retryOf(asked, { '#1': accepted({ name: 'late' }) }));
    assert.equal(reply.result?.resultType, 'complete', reply.text);
    assert.equal(reply.result.isError, true);
    assert.match(reply.text, /ELICITATION_TIMEOUT/);
  }
});

// --- connections, duplicates ---

test('a connection that drops loses nothing: the same retry works', (t) => atAnyPace(t, async (times) => {
  const { deeds, modern } = await start(t);
  const ms = 200 * times;
  const asked = await modern.asked('write_slowly', { ms });
  const retry = retryOf(asked, { word: word('kept') });
  const drop = new AbortController();
  const dropped = modern.call('write_slowly', { ms }, retry, { signal: drop.signal });
  await pause(100);
  drop.abort();
  await assert.rejects(dropped);
  assert.equal(await modern.ended('write_slowly', { ms }, retry), 'wrote kept');
  assert.deepEqual(deeds.lines(), ['kept']);
}));

test('a duplicate of a running round waits for its end; all get the one result', async (t) => {
  const { deeds, modern } = await start(t);
  const asked = await modern.asked('write_slowly', { ms: 300 });
  const retry = retryOf(asked, { word: word('once') });
  const all = await Promise.all(Array.from({ length: 10 }, () => modern.ended('write_slowly', { ms: 300 }, retry)));
  assert.deepEqual(new Set(all), new Set(['wrote once']));
  assert.deepEqual(deeds.lines(), ['once']);
});

test('of two retries with different answers at the same time one is taken, and the other refused', async (t) => {
  const { deeds, modern } = await start(t);
  const asked = await modern.asked('write_slowly', { ms: 100 });
  const replies = await Promise.all(['left', 'right'].map((side) => modern.call('write_slowly', { ms: 100 }, retryOf(asked, { word: word(side) }))));
  const taken = replies.filter((reply) => reply.result);
  assert.equal(taken.length, 1, replies.map((reply) => reply.text).join('\n'));
  const refused = replies.find((reply) => !reply.result);
  assertSecond(refused, 'the other retry');
  assert.equal(deeds.lines().length, 1);
  assert.equal(textOf(taken[0].result), `wrote ${deeds.lines()[0]}`);
});

test('a step before the question is not done again by any retry', async (t) => {
  const { deeds, modern } = await start(t);
  let asked = await modern.asked('write_then_ask');
  for (let i = 0; i < 3; i++) asked = await modern.asked('write_then_ask', {}, retryOf(asked, {}));
  assert.equal(await modern.ended('write_then_ask', {}, retryOf(asked, { word: word('end') })), 'end');
  assert.deepEqual(deeds.lines(), ['begun']);
});

test('a duplicate of a finished call gets its result and executes nothing', async (t) => {
  const { deeds, modern } = await start(t);
  const asked = await modern.asked('write_slowly', { ms: 1 });
  const retry = retryOf(asked, { word: word('once') });
  for (let i = 0; i < 4; i++) assert.equal(await modern.ended('write_slowly', { ms: 1 }, retry), 'wrote once');
  assert.deepEqual(deeds.lines(), ['once']);
});

test('a call that is not taken up again holds no one back, and the server ends well with it', async (t) => {
  const { server, modern } = await start(t);
  await Promise.all(Array.from({ length: 200 }, () => modern.asked('two_rounds')));
  await server.stop();
});

// --- pages ---

test('a page that was agreed to is waited for; the answer comes when it is done', async (t) => {
  const { modern } = await start(t, { capabilities: EVERYTHING });
  const asked = await modern.asked('url', { wait: true });
  const [key] = keysOf(asked);
  const { params, method } = asked.inputRequests[key];
  assert.equal(method, 'elicitation/create');
  assert.equal(params.mode, 'url');
  const id = new URL(params.url).searchParams.get('id');
  assert.ok(id);
  const retry = modern.ended('url', { wait: true }, retryOf(asked, { [key]: accepted() }));
  await pause(100);
  assert.equal(await modern.ended('url_done', { id }), 'done');
  assert.equal(await retry, 'accept');
});

test('a page that is done before the retry comes needs no waiting', async (t) => {
  const { modern } = await start(t, { capabilities: EVERYTHING });
  const asked = await modern.asked('url', { wait: true });
  const [key] = keysOf(asked);
  const id = new URL(asked.inputRequests[key].params.url).searchParams.get('id');
  await modern.ended('url_done', { id });
  assert.equal(await modern.ended('url', { wait: true }, retryOf(asked, { [key]: accepted() })), 'accept');
});

test('a page may be declined, and one that is only opened needs no end', async (t) => {
  const { modern } = await start(t, { capabilities: EVERYTHING });
  for (const [answer, text] of [[{ action: 'decline' }, 'decline'], [{ action: 'cancel' }, 'cancel'], [accepted(), 'accept']]) {
    const asked = await modern.asked('url', {});
    assert.equal(await modern.ended('url', {}, retryOf(asked, { [keysOf(asked)[0]]: answer })), text);
  }
});

test('what needs a page first asks for it in a round', async (t) => {
  const { modern } = await start(t, { capabilities: EVERYTHING });
  const asked = await modern.asked('require_url');
  const request = asked.inputRequests[keysOf(asked)[0]];
  assert.equal(request.params.mode, 'url');
  assert.match(request.params.url, /^https:\/\/example\.org\/first\?id=./);
});

test('11.22: a page that is required first is held for: one prompt, however fast the client comes back', async (t) => {
  const session = await connectModern(t, 'http', 'probe', { capabilities: EVERYTHING, answer: () => accepted(),
    sample: () => sampled, roots: [] });
  const call = session.call('require_url').catch((error) => error);
  await within(PATIENCE_MS, 'the first prompt', (async () => { while (!session.asked.length) await pause(10); })());
  await pause(1500);
  assert.equal(session.asked.length, 1, JSON.stringify(session.asked.map(({ url }) => url)));
  const id = new URL(session.asked[0].url).searchParams.get('id');
  await session.call('url_done', { id }); // the probe wants another page then: a new question
  while (session.asked.length < 2) await pause(10);
  assert.notEqual(session.asked[1].url, session.asked[0].url);
  await session.stop();
  await call;
});

test('11.22: asked again, it is the same question: the same key and the same URL', async (t) => {
  const { modern } = await start(t, { capabilities: EVERYTHING });
  let asked = await modern.asked('require_url');
  const first = asked.inputRequests;
  for (let i = 0; i < 5; i++) {
    asked = await modern.asked('require_url', {}, retryOf(asked, {}));
    assert.deepEqual(asked.inputRequests, first);
  }
  const held = modern.call('require_url', {}, retryOf(asked, { [keysOf(asked)[0]]: accepted() }));
  await pause(200);
  await modern.ended('url_done', { id: new URL(first[keysOf(asked)[0]].params.url).searchParams.get('id') });
  const next = await held;
  assert.equal(next.result?.resultType, 'input_required', next.text); // the page is done, and the handler wants another
  assert.notDeepEqual(next.result.inputRequests, first);
});

// --- capabilities ---

test('what the client did not declare is -32021 with what is needed, and 400', async (t) => {
  const { modern } = await start(t);
  const cases = [
    ['ask', {}, {}, { elicitation: { form: {} } }],
    ['ask', {}, { elicitation: { url: {} } }, { elicitation: { form: {} } }],
    ['url', {}, { elicitation: {} }, { elicitation: { url: {} } }],
    ['url', {}, { elicitation: { form: {} } }, { elicitation: { url: {} } }],
    ['require_url', {}, { elicitation: {} }, { elicitation: { url: {} } }],
    ['sample', {}, { elicitation: {} }, { sampling: {} }],
  ];
  for (const [tool, args, capabilities, required] of cases) {
    const reply = await modern.call(tool, args, {}, { capabilities });
    assert.equal(reply.status, 400, `${tool}: ${reply.text}`);
    assert.equal(reply.error.code, -32021);
    assert.deepEqual(reply.error.data.requiredCapabilities, required);
  }
});

test('a confirmation that cannot be asked is a no, and a tool can see what can be asked', async (t) => {
  const { modern } = await start(t);
  assert.equal(await modern.ended('confirm', {}, {}, { capabilities: {} }), 'no');
  assert.deepEqual(JSON.parse(await modern.ended('supports', {}, {}, { capabilities: {} })), { form: false, url: false, sampling: false, roots: false });
  assert.deepEqual(JSON.parse(await modern.ended('supports', {}, {}, { capabilities: { elicitation: {} } })), { form: true, url: false, sampling: false, roots: false });
  assert.deepEqual(JSON.parse(await modern.ended('supports', {}, {}, { capabilities: EVERYTHING })), { form: true, url: true, sampling: true, roots: true });
});

test('capabilities belong to one request: a retry without them is told what is missing', async (t) => {
  const { modern } = await start(t);
  const asked = await modern.asked('two_rounds');
  const reply = await modern.call('two_rounds', {}, retryOf(asked, { first: word('a') }), { capabilities: {} });
  assert.equal(reply.status, 400, reply.text);
  assert.equal(reply.error.code, -32021);
});

// --- the envelope ---

test('lists and discovery say how long they are fresh and for whom', async (t) => {
  const { modern } = await start(t);
  for (const method of ['server/discover', 'tools/list', 'prompts/list', 'resources/list', 'resources/templates/list']) {
    const { result } = await modern.request(method);
    assert.equal(result.resultType, 'complete');
    assert.ok(Number.isInteger(result.ttlMs) && result.ttlMs >= 0, method);
    assert.ok(['public', 'private'].includes(result.cacheScope), method);
  }
  const first = await modern.request('tools/list');
  assert.deepEqual((await modern.request('tools/list')).result.tools, first.result.tools);
});

test('headers that do not agree with the body are -32020 and 400', async (t) => {
  const { modern } = await start(t);
  const cases = [
    { 'MCP-Protocol-Version': '2025-11-25' }, { 'MCP-Protocol-Version': '2027-01-01' },
    { 'Mcp-Method': 'tools/list' }, { 'Mcp-Method': '' }, { 'Mcp-Method': 'TOOLS/CALL' },
    { 'Mcp-Name': 'counters' }, { 'Mcp-Name': '' }, { 'Mcp-Name': 'WHOAMI' },
  ];
  for (const headers of cases) {
    const reply = await modern.call('whoami', {}, {}, { headers });
    assert.equal(reply.status, 400, `${JSON.stringify(headers)}: ${reply.text}`);
    assert.equal(reply.error.code, -32020, JSON.stringify(headers));
  }
  const encoded = `=?base64?${Buffer.from('whoami').toString('base64')}?=`;
  assert.equal(await modern.ended('whoami', {}, {}, { headers: { 'Mcp-Name': encoded } }), 'local');
});

test('an unknown version is -32022 with those there are, an unknown method -32601 with 404', async (t) => {
  const { modern } = await start(t);
  const unknown = await modern.request('tools/list', {}, { meta: metaOf({}, '2027-01-01'), headers: { 'MCP-Protocol-Version': '2027-01-01' } });
  assert.equal(unknown.status, 400);
  assert.equal(unknown.error.code, -32022);
  assert.ok(unknown.error.data.supported.includes(VERSION));
  assert.equal(unknown.error.data.requested, '2027-01-01');
  for (const method of ['initialize', 'ping', 'logging/setLevel', 'resources/subscribe', 'no/such']) {
    const reply = await modern.request(method);
    assert.equal(reply.status, 404, method);
    assert.equal(reply.error.code, -32601);
  }
});

test('nothing is not found by another code than -32602', async (t) => {
  const { modern } = await start(t);
  for (const reply of [await modern.call('no_such_tool'), await modern.request('prompts/get', { name: 'none' }), await modern.request('resources/read', { uri: 'probe://none' })])
    assert.equal(reply.error.code, -32602, reply.text);
});

test('two requests on one connection may be of different capabilities and eras', async (t) => {
  const { server, modern } = await start(t);
  const asked = await modern.asked('two_rounds');
  const legacy = await fetch(server.url, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', Accept: 'application/json, text/event-stream' },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'initialize', params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'x', version: '1' } } }),
  });
  assert.equal(legacy.status, 200);
  assert.match(await legacy.text(), /2025-11-25/);
  assert.equal((await modern.call('ask', {}, {}, { capabilities: {} })).error.code, -32021);
  await modern.asked('two_rounds', {}, retryOf(asked, { first: word('a') }));
});

// --- the pipe ---

class Pipe {
  constructor(t, env, args = []) {
    const child = spawn(program('probe'), args, { env: environment(env), stdio: ['pipe', 'pipe', 'pipe'] });
    this.child = child;
    this.waiting = new Map();
    this.others = [];
    this.bytes = '';
    let stderr = '';
    let rest = '';
    child.stderr.on('data', (data) => (stderr += data));
    child.stdout.setEncoding('utf8').on('data', (data) => {
      this.bytes += data;
      const lines = (rest + data).split('\n');
      rest = lines.pop();
      for (const line of lines) this.#arrived(JSON.parse(line));
    });
    this.ended = new Promise((resolve) => child.once('close', resolve));
    t.after(async () => {
      child.stdin.end();
      assert.equal(await within(PATIENCE_MS, 'the server ends', this.ended), this.killed ? null : 0, stderr);
      assert.doesNotMatch(stderr, /Sanitizer|runtime error:/);
      assertNothingForbidden([this.bytes]);
    });
  }

  async kill() {
    this.killed = true;
    this.child.kill('SIGKILL');
    await within(PATIENCE_MS, 'the server is gone', this.ended);
  }

  #arrived(message) {
    assertMessageAllowed(message);
    this.waiting.get(message.id)?.(message);
  }

  send(message) {
    this.child.stdin.write(JSON.stringify({ jsonrpc: '2.0', ...message }) + '\n');
  }

  request(id, method, params, capabilities) {
    const reply = new Promise((resolve) => this.waiting.set(id, resolve));
    this.send({ id, method, params: { ...params, _meta: metaOf(capabilities) } });
    return within(PATIENCE_MS, `the reply to ${method}`, reply);
  }
}

test('stdio: rounds work on a pipe, with both eras side by side on it', async (t) => {
  const pipe = new Pipe(t, {});
  const first = await pipe.request(1, 'tools/call', { name: 'two_rounds', arguments: {} });
  assert.equal(first.result.resultType, 'input_required');
  const second = await pipe.request(2, 'tools/call', { name: 'two_rounds', arguments: {}, ...retryOf(first.result, { first: word('a') }) });
  assert.deepEqual(keysOf(second.result), ['second']);
  const third = await pipe.request(3, 'tools/call', { name: 'two_rounds', arguments: {}, ...retryOf(second.result, { second: word('b') }) });
  assert.equal(textOf(third.result), 'a b');
  const foreign = await pipe.request(4, 'tools/call', { name: 'two_rounds', arguments: {}, requestState: 'x', inputResponses: {} });
  assert.deepEqual(foreign.error, { code: -32602, message: 'Invalid or expired requestState: make the call again, without it' });
});

test('stdio: a requestState counts at the server that was started again on the same store', async (t) => {
  const env = { MCP_ELICITATION_SECRET: 'a secret of more than thirty-two characters' };
  const folder = mkdtempSync(path.join(tmpdir(), 'nod-pipe-'));
  t.after(() => rmSync(folder, { recursive: true }));
  const args = ['--store', `sqlite:${path.join(folder, 'calls.db')}`];
  const before = new Pipe(t, env, args);
  const first = await before.request(1, 'tools/call', { name: 'two_rounds', arguments: {} });
  const second = await before.request(2, 'tools/call', { name: 'two_rounds', arguments: {}, ...retryOf(first.result, { first: word('a') }) });
  await before.kill();
  const after = new Pipe(t, env, args);
  const third = await after.request(1, 'tools/call', { name: 'two_rounds', arguments: {}, ...retryOf(second.result, { second: word('b') }) });
  assert.equal(textOf(third.result), 'a b');
});

test('stdio: a cancelled request is not answered', async (t) => {
  const pipe = new Pipe(t, {});
  const slow = pipe.request('slow', 'tools/call', { name: 'until_cancelled', arguments: {} }, {});
  let answered = false;
  slow.then(() => (answered = true), () => {});
  let asked = 0;
  const counted = async (name) => {
    for (let i = 0; i < 400; i++) {
      const counters = await pipe.request(`c${asked++}`, 'tools/call', { name: 'counters', arguments: {} }, {});
      if (JSON.parse(textOf(counters.result))[name]) return true;
      await pause(20);
    }
    return false;
  };
  assert.ok(await counted('working'), 'the handler has begun');
  pipe.send({ method: 'notifications/cancelled', params: { requestId: 'slow', _meta: metaOf({}) } });
  assert.ok(await counted('cancels'), 'the handler was told');
  assert.equal(answered, false);
  pipe.waiting.get('slow')({ id: 'slow' });
});
