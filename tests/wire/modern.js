// What the tests of the 2026 era share: the second generation of the official client, and requests by hand.
//
//   connectModern(t, 'http', 'delete-account', {...})   the official client; `legacy: true` for its 2025 way
//   new Modern(server.url, {...})                       requests by fetch, one by one
//
// Everything that arrives is kept, and searched at the end of the test for what must never be sent in this era.
import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { Inbox, PATIENCE_MS, always, defaultHeaders, environment, everyEnd, program, startHttp, storeArgs, textOf, transportsFor, watchStderr } from './harness.js';

export const VERSION = '2026-07-28';
const PREFIX = 'io.modelcontextprotocol/';

export const ADA = 'ada-token-0123456789abcdef';
export const BOB = 'bob-token-0123456789abcdef';

export function scratchFolder(t) {
  const folder = mkdtempSync(path.join(tmpdir(), 'nod-wire-'));
  everyEnd(t).last(() => rmSync(folder, { recursive: true }));
  return folder;
}

export function tokenFile(t) {
  const file = path.join(scratchFolder(t), 'tokens');
  writeFileSync(file, `${ADA} ada ask answer\n${BOB} bob ask answer\n`, { mode: 0o600 });
  return file;
}

// A file that the probe's steps write to: { file, lines() }.
export function deedsFile(t) {
  const file = path.join(scratchFolder(t), 'deeds');
  writeFileSync(file, '');
  return { file, lines: () => readFileSync(file, 'utf8').split('\n').slice(0, -1) };
}

// --- what must never come ---

const NEVER = [
  /-32042/, /-32002/, /elicitationId/, /notifications\/elicitation\/complete/, /notifications\/cancelled/,
  /Mcp-Session-Id/i,
];
// Every message with a method that came by itself has to be one of these.
const TOLD = ['notifications/progress', 'notifications/message', 'notifications/subscriptions/acknowledged',
  'notifications/tools/list_changed', 'notifications/prompts/list_changed', 'notifications/resources/list_changed',
  'notifications/resources/updated', 'notifications/tasks'];

export function assertNothingForbidden(texts) {
  for (const text of texts) for (const never of NEVER) assert.doesNotMatch(text, never);
}

export function assertMessageAllowed(message) {
  if (message.method === undefined) return;
  assert.equal(message.id, undefined, `a request to the client: ${JSON.stringify(message)}`);
  assert.ok(TOLD.includes(message.method), `an unknown notification: ${JSON.stringify(message)}`);
}

// --- requests by hand ---

export function metaOf(capabilities = { elicitation: {} }, version = VERSION) {
  return {
    [`${PREFIX}protocolVersion`]: version,
    [`${PREFIX}clientInfo`]: { name: 'raw', version: '1' },
    [`${PREFIX}clientCapabilities`]: capabilities,
  };
}

function messagesOf(type, text) {
  if (type.startsWith('application/json')) return text ? [JSON.parse(text)] : [];
  return text.split('\n\n').flatMap((event) => {
    const data = event.split('\n').filter((line) => line.startsWith('data:')).map((line) => line.slice(5).trim()).join('\n');
    return data ? [JSON.parse(data)] : [];
  });
}

let lastId = 0;

export class Modern {
  constructor(url, { token, capabilities = { elicitation: {} } } = {}) {
    this.url = url;
    this.token = token;
    this.capabilities = capabilities;
  }

  // One request; resolves to { status, headers, text, messages, result, error }.
  async request(method, params = {}, options = {}) {
    const { capabilities = this.capabilities, meta = {}, headers = {}, signal, token = this.token, id = ++lastId, edit = (text) => text } = options;
    const name = params.name ?? params.uri ?? params.taskId;
    const response = await fetch(options.url ?? this.url, {
      method: 'POST',
      headers: {
        ...defaultHeaders,
        'MCP-Protocol-Version': VERSION,
        'Mcp-Method': method,
        ...(name === undefined ? {} : { 'Mcp-Name': name }),
        ...(token ? { Authorization: `Bearer ${token}` } : {}),
        ...headers,
      },
      // `edit` may put into the body what JavaScript has no value for.
      body: edit(JSON.stringify({ jsonrpc: '2.0', id, method, params: { ...params, _meta: { ...metaOf(capabilities), ...meta } } })),
      signal,
    });
    const text = await response.text();
    assertNothingForbidden([text, JSON.stringify([...response.headers])]);
    const messages = messagesOf(response.headers.get('content-type') ?? '', text);
    messages.forEach(assertMessageAllowed);
    const last = messages.at(-1) ?? {};
    if (last.result) {
      assert.equal(last.id, id);
      assert.ok(['complete', 'input_required', 'task'].includes(last.result.resultType), `no resultType: ${text}`);
      assert.ok(last.result._meta?.[`${PREFIX}serverInfo`]?.name, `no serverInfo: ${text}`);
    }
    return { status: response.status, headers: response.headers, text, messages, result: last.result, error: last.error };
  }

  call(tool, args = {}, retry = {}, options = {}) {
    return this.request('tools/call', { name: tool, arguments: args, ...retry }, options);
  }

  // Calls until it asks; resolves to the result of that.
  async asked(tool, args, retry, options) {
    const reply = await this.call(tool, args, retry, options);
    assert.equal(reply.result?.resultType, 'input_required', reply.text);
    assert.equal(typeof reply.result.requestState, 'string');
    return reply.result;
  }

  // Calls until it ends; resolves to its text.
  async ended(tool, args, retry, options) {
    const reply = await this.call(tool, args, retry, options);
    assert.equal(reply.result?.resultType, 'complete', reply.text);
    return textOf(reply.result);
  }
}

export const accepted = (content) => ({ action: 'accept', ...(content === undefined ? {} : { content }) });
export const word = (text) => accepted({ word: text });
export const retryOf = (result, inputResponses) => ({ requestState: result.requestState, inputResponses });

// The one refusal of a requestState.
export function assertRefused(reply, what) {
  assert.equal(reply.status, 400, `${what}: ${reply.text}`);
  assert.deepEqual(reply.error, { code: -32602, message: 'Invalid or expired requestState: make the call again, without it' }, what);
}

// What is told to whoever comes second, with other answers.
export function assertSecond(reply, what) {
  assert.equal(reply.status, 400, `${what}: ${reply.text}`);
  assert.equal(reply.error.code, -32602, what);
  assert.match(reply.error.message, /answered before, with other answers/, what);
}

// --- the official client, second generation ---

export const eras = ['2026', '2025'];

// One test for each transport and each way this client can speak.
export function onBothAndBothEras(test, name, body) {
  for (const era of eras)
    for (const kind of transportsFor(`${era} ${name}`)) test(`${kind}, ${era}: ${name}`, (t) => body(t, kind, { legacy: era === '2025' }));
}

export async function connectModern(t, kind, name, options = {}) {
  everyEnd(t);
  const { capabilities = { elicitation: {} }, answer, env, args = [], token, server, legacy = false } = options;
  const client = new Client(
    { name: 'wire-test', version: '2.0.0' },
    { capabilities, versionNegotiation: { mode: legacy ? 'legacy' : { pin: VERSION } } },
  );
  const questions = new Inbox();
  const asked = [];
  const session = { client, asked, question: (wanted) => questions.next(wanted, 'a question') };

  if (capabilities.elicitation)
    client.setRequestHandler('elicitation/create', (request) => {
      asked.push(request.params);
      if (answer) return answer(request.params);
      return new Promise((reply) => {
        questions.push({
          params: request.params,
          accept: (content) => reply(accepted(content)),
          decline: () => reply({ action: 'decline' }),
          cancel: () => reply({ action: 'cancel' }),
        });
      });
    });
  if (capabilities.sampling) client.setRequestHandler('sampling/createMessage', (request) => options.sample(request.params));
  if (capabilities.roots) client.setRequestHandler('roots/list', () => ({ roots: options.roots }));

  const came = [];
  const keep = (message) => {
    came.push(JSON.stringify(message));
    if (!legacy) assertMessageAllowed(message);
  };
  let stop;
  if (kind === 'stdio') {
    session.transport = new StdioClientTransport({ command: program(name), args: [...(options.inbox ? [] : always), ...args, ...storeArgs(t, args)], env: environment(env), stderr: 'pipe' });
    const watched = watchStderr(name, session.transport.stderr);
    await client.connect(session.transport).catch((error) => {
      throw new Error(`${error.message}\n${watched.stderr}`);
    });
    watched.follow(session.transport._process);
    session.stderr = () => watched.stderr;
    stop = async () => {
      session.transport._process?.stdin.end();
      await watched.stop(null);
      await client.close();
    };
  } else {
    session.server = server ?? (await startHttp(t, name, { env, args, inbox: options.inbox }));
    session.transport = new StreamableHTTPClientTransport(new URL(session.server.url), {
      requestInit: token ? { headers: { Authorization: `Bearer ${token}` } } : undefined,
    });
    await client.connect(session.transport);
    session.stderr = session.server.stderr;
    stop = () => client.close();
  }
  const { onmessage } = session.transport;
  session.transport.onmessage = (message, extra) => {
    keep(message);
    return onmessage(message, extra);
  };
  let stopped;
  session.stop = () => (stopped ??= stop());
  t.after(async () => {
    await session.stop();
    if (!legacy) assertNothingForbidden(came);
  });

  session.call = (tool, args_ = {}, requestOptions = {}) =>
    client.callTool({ name: tool, arguments: args_ }, { timeout: PATIENCE_MS, ...requestOptions });
  session.text = async (tool, args_, requestOptions) => textOf(await session.call(tool, args_, requestOptions));
  return session;
}
