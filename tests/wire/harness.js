// The harness of the wire tests: starts real servers, drives them with the official client or with raw
// messages, and looks at how they end.
//
//   connect(t, 'http', 'delete-account', {...})   the official client, over stdio or HTTP
//   rawPeer(t, 'stdio', 'probe', {...})           messages written and read by hand, the same on both
//   startHttp(t, 'probe', {...})                  a server alone, for requests by fetch
//
// Whatever is started is stopped after the test `t`; a server that does not end with exit code 0, or whose
// stderr has a sanitizer's report, fails the test.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import assert from 'node:assert/strict';
import { createHash, randomInt } from 'node:crypto';
import path from 'node:path';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { createServer } from 'node:net';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { ElicitRequestSchema } from '@modelcontextprotocol/sdk/types.js';
import { PATIENCE_MS } from '../patience.js';

export { PATIENCE_MS };

export const transports = ['stdio', 'http'];

const binaries = process.env.NOD_BIN_DIR;
if (!binaries) throw new Error('NOD_BIN_DIR names the build folder; `make test SUITE=wire` sets it');

export function program(name) {
  if (path.isAbsolute(name)) return name; // one that a test has built
  const elsewhere = { accounts: 'tests/wire/accounts', 'toy-surface': 'tests/wire/toy-surface', 'inner-server': 'tests/wire/inner-server', 'toy-apps': 'tests/wire/toy-apps', 'grants-server': 'tests/wire/grants-server', 'model-server': 'tests/wire/model-server', 'turns-server': 'tests/wire/turns-server', 'where-server': 'tests/wire/where-server', names: 'tests/wire/names', 'consent-server': 'tests/wire/consent-server', pages: 'tests/wire/pages', closes: 'tests/wire/closes', 'comeback-server': 'tests/wire/comeback-server', secrets: 'tests/wire/secrets', probe: 'tests/wire/probe', 'cpp-17': 'tests/wire/cpp-17', 'cpp-20': 'tests/wire/cpp-20', nod: 'src/cli/nod', 'view-server': 'tests/view/view-server', 'browser-server': 'tests/browser/browser-server', 'toy-route': 'tests/wire/toy-route', 'live-server': 'tests/wire/live-server', 'own-process': 'tests/wire/own-process', window: 'tests/wire/window' };
  const file = path.join(binaries, elsewhere[name] ?? `examples/${name}`);
  if (!existsSync(file)) throw new Error(`there is no program ${name}: ${file} is not there. A server of tests is listed in program(), in tests/wire/harness.js`);
  return file;
}

// On aarch64 the sanitizer takes four seconds of CPU to look for leaks when a process ends, however small it is. There, one
// server in a hundred is looked at, another one each time (NOD_LEAKS_ONE_IN=1: all of them); elsewhere all of them always.
const LEAKS_ONE_IN = Number(process.env.NOD_LEAKS_ONE_IN ?? (process.arch === 'arm64' ? 100 : 1));

export function environment(extra) {
  const kept = ['ASAN_OPTIONS', 'UBSAN_OPTIONS', 'TSAN_OPTIONS', 'LSAN_OPTIONS', 'PATH'];
  const env = Object.fromEntries(kept.filter((name) => process.env[name]).map((name) => [name, process.env[name]]));
  if (env.ASAN_OPTIONS && Math.random() * LEAKS_ONE_IN >= 1) env.ASAN_OPTIONS += ':detect_leaks=0';
  // NOD_WIRE_SECRET=1: the same tests with servers that have a secret.
  if (process.env.NOD_WIRE_SECRET === '1') env.MCP_ELICITATION_SECRET = 'a secret of the wire tests, and long enough';
  return { ...env, ...extra };
}

export function within(ms, what, promise) {
  let timer;
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error(`${what}: not within ${ms} ms`)), ms).unref(); // what a test has given up keeps nobody waiting
  });
  return Promise.race([promise, late]).finally(() => clearTimeout(timer));
}

// For what must come promptly: within so many milliseconds of a machine that has nothing else to do. How busy this one is shows in requests
// to the same server, which are made meanwhile: ten times the slowest of them is added.
export async function promptly(url, ms, what, promise) {
  const began = performance.now();
  let [slowest, over] = [0, false];
  const done = within(PATIENCE_MS, what, promise).finally(() => (over = true));
  while (!over) {
    const sent = performance.now();
    await Promise.all([fetch(new URL('/healthz', url)).then((reply) => reply.text()), pause(10)]);
    slowest = Math.max(slowest, performance.now() - sent);
  }
  const [result, took] = [await done, performance.now() - began];
  assert.ok(took < ms + 10 * slowest, `${what}: took ${Math.round(took)} ms, and the slowest request beside it ${Math.round(slowest)} ms`);
  return result;
}

// For a limit of seconds that belongs to what is tested, a client's patience or a time to live, and that the test itself has to keep. On a machine
// that is too busy for it nothing is shown: the test is tried again with all its times longer. What is wrong is wrong at each pace.
export async function atAnyPace(t, attempt) {
  for (const times of [1, 4, 16])
    try {
      return await attempt(times);
    } catch (error) {
      if (times === 16) throw error;
      t.diagnostic(`not at this pace (${times}): ${error.message.split('\n')[0]}`);
    }
}

// What a test has begun is ended, in that order, also if one of the ends finds something wrong: then the test fails with that, once
// the others are through. By itself node leaves the rest out, and whatever is left keeps the program going until its timeout. To be called first.
// What others rest on (a store, a folder) is ended with t.last: after all of them, the newest first.
export function everyEnd(t) {
  if (t.ends) return t;
  const ends = (t.ends = []);
  const lasts = [];
  t.last = (end) => lasts.unshift(end);
  t.after(async () => {
    const wrong = [];
    for (const list of [ends, lasts]) for (const end of list) await (async () => end())().catch((error) => wrong.push(error));
    if (wrong.length) throw wrong[0];
  });
  t.after = (end) => ends.push(end);
  return t;
}

// Lines end with \n and nothing else; readline would end them at U+2028 too.
function eachLine(stream, take) {
  let text = '';
  stream.setEncoding('utf8');
  stream.on('data', (data) => {
    const lines = (text + data).split('\n');
    text = lines.pop();
    lines.forEach(take);
  });
}

// NOD_WIRE_STORE=sqlite: the same tests with servers that keep their calls in a file.
export function storeArgs(t, args) {
  if (process.env.NOD_WIRE_STORE !== 'sqlite' || args.includes('--store') || !t?.after) return [];
  const folder = mkdtempSync(path.join(tmpdir(), 'nod-wire-'));
  everyEnd(t).last(() => rmSync(folder, { recursive: true, force: true }));
  return ['--store', `sqlite:${path.join(folder, 'nod.db')}`];
}

// For tests of what happens when nobody can be asked: without the inbox and the model, only the client can.
export const always = [];
export const withoutInbox = () => always.push('--no-inbox', '--no-model');

// A port that nobody has, and that the kernel gives to nobody by itself: a server that leaves it for a while finds it free again, and no client
// meets another server there meanwhile.
const FIRST_GIVEN = Number(readFileSync('/proc/sys/net/ipv4/ip_local_port_range', 'utf8').split(/\s/)[0]);
export async function freePort() {
  for (;;) {
    const server = createServer();
    const port = randomInt(11000, FIRST_GIVEN); // higher than those that browsers do not open
    const isFree = await new Promise((resolve) => server.once('error', () => resolve(false)).listen(port, '127.0.0.1', () => resolve(true)));
    if (!isFree) continue;
    await new Promise((resolve) => server.close(resolve));
    return port;
  }
}

export const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

// A queue that can be awaited: what arrives, in order, for whoever asks for it by a predicate.
export class Inbox {
  #items = [];
  #waiting = [];

  push(item) {
    const index = this.#waiting.findIndex((waiter) => waiter.wanted(item));
    if (index < 0) this.#items.push(item);
    else this.#waiting.splice(index, 1)[0].resolve(item);
  }

  next(wanted = () => true, what = 'a message') {
    const index = this.#items.findIndex(wanted);
    if (index >= 0) return Promise.resolve(this.#items.splice(index, 1)[0]);
    return within(PATIENCE_MS, what, new Promise((resolve) => this.#waiting.push({ wanted, resolve })));
  }

  // What has arrived and was not taken.
  rest(wanted = () => true) {
    return this.#items.filter(wanted);
  }
}

// Watches a process: its stderr, its end, and what a sanitizer says.
class Watched {
  constructor(name, stderr) {
    this.name = name;
    this.stderr = '';
    this.lines = new Inbox();
    eachLine(stderr, (line) => {
      this.stderr += line + '\n';
      this.lines.push(line);
    });
  }

  follow(child) {
    this.child = child;
    this.ended = new Promise((resolve) => child.once('close', (code, signal) => resolve({ code, signal })));
    return this;
  }

  // The look for leaks at the end takes seconds of CPU (see environment), which may be minutes beside many others.
  async stop(signal = 'SIGTERM') {
    if (signal) this.child.kill(signal);
    let end;
    try {
      end = await within(PATIENCE_MS * 3, `${this.name} ends after ${signal ?? 'its input'}`, this.ended);
    } catch (error) {
      this.child.kill('SIGKILL');
      throw new Error(`${error.message}\n${this.stderr}`);
    }
    assert.doesNotMatch(this.stderr, /Sanitizer|runtime error:/, `${this.name} reported:\n${this.stderr}`);
    assert.deepEqual(end, { code: 0, signal: null }, `${this.name} ended badly:\n${this.stderr}`);
  }
}

export const watchStderr = (name, stderr) => new Watched(name, stderr);

// What a log complains of, but for who runs the tests: that may be root.
export const complaints = (log) => log.split('\n').filter((line) => /level=(warn|error)/.test(line) && !/this server runs as root/.test(line));

// Starts a server on a free port. Resolves to { url, stop, stderr() }.
// mayRefuse: whether it starts is for the test to judge; if not, this is rejected with what it said.
export async function startHttp(t, name, { env = {}, command = [], args = [], host = '127.0.0.1', port = 0, inbox = false, mayRefuse = false } = {}) {
  everyEnd(t);
  const child = spawn(program(name), [...command, '--http', `${host}:${port}`, ...(inbox ? [] : always), ...args, ...storeArgs(t, args)], {
    env: environment(env),
    stdio: ['ignore', 'inherit', 'pipe'],
  });
  const watched = new Watched(name, child.stderr).follow(child);
  let stopped;
  const stop = () => (stopped ??= watched.stop());
  t.after(stop);
  const early = watched.ended.then(() => {
    if (mayRefuse) stopped = Promise.resolve();
    throw new Error(`${name} did not start:\n${watched.stderr}`);
  });
  early.catch(() => {});
  const line = await Promise.race([watched.lines.next((text) => /listening/.test(text), `${name} listens`), early]);
  const url = /url="?(http[^\s"]+)/.exec(line)?.[1];
  assert.ok(url, `no address in: ${line}`);
  // As a machine that loses power would.
  const kill = async () => {
    stopped = Promise.resolve();
    child.kill('SIGKILL');
    await watched.ended;
  };
  // It has been told to die by itself: NOD_CRASH_AT.
  const killed = async () => {
    stopped = Promise.resolve();
    await within(PATIENCE_MS, `${name} dies`, watched.ended);
  };
  const signal = (name) => child.kill(name); // SIGSTOP, SIGCONT, SIGHUP
  const said = (wanted) => watched.lines.next((text) => wanted.test(text), `a line like ${wanted}`);
  return { url, pid: child.pid, stop, kill, killed, signal, said, stderr: () => watched.stderr };
}

// Starts a server that is expected to refuse; resolves to its exit code and stderr.
export async function runOnce(name, args, env = {}) {
  const child = spawn(program(name), args, { env: environment(env), stdio: ['ignore', 'pipe', 'pipe'] });
  let stderr = '';
  let stdout = '';
  child.stderr.on('data', (data) => (stderr += data));
  child.stdout.on('data', (data) => (stdout += data));
  const [code] = await within(PATIENCE_MS, `${name} ends`, once(child, 'close'));
  return { code, stderr, stdout };
}

// One question as the person's client sees it, to be answered when the test wants to.
class Question {
  constructor(request, extra) {
    this.params = request.params;
    this.id = extra.requestId;
    this.signal = extra.signal;
    this.answered = new Promise((resolve, reject) => {
      this.reply = resolve;
      this.fail = reject;
    });
  }

  accept(content) {
    this.reply({ action: 'accept', ...(content === undefined ? {} : { content }) });
  }

  decline() {
    this.reply({ action: 'decline' });
  }

  cancel() {
    this.reply({ action: 'cancel' });
  }

  withdrawn() {
    if (this.signal.aborted) return Promise.resolve();
    return within(PATIENCE_MS, 'the question is taken back', once(this.signal, 'abort'));
  }
}

// The official client, connected. `answer` (a function of params) answers every question by itself;
// without it questions come from `question()`. Capabilities: elicitation by default.
export async function connect(t, kind, name, options = {}) {
  everyEnd(t);
  const { capabilities = { elicitation: {} }, answer, env, args = [], token, server, clientInfo } = options;
  const client = new Client(clientInfo ?? { name: 'wire-test', version: '1.0.0' }, { capabilities });
  const questions = new Inbox();
  const asked = [];
  const session = { client, asked, questions, question: (wanted) => questions.next(wanted, 'a question') };

  if (capabilities.elicitation) {
    client.setRequestHandler(ElicitRequestSchema, (request, extra) => {
      asked.push(request.params);
      if (answer) return answer(request.params, extra);
      const question = new Question(request, extra);
      questions.push(question);
      return question.answered;
    });
  }

  let stop;
  if (kind === 'stdio') {
    session.transport = new StdioClientTransport({ command: program(name), args: [...(options.inbox ? [] : always), ...args, ...storeArgs(t, args)], env: environment(env), stderr: 'pipe' });
    await options.before?.(session);
    const watched = new Watched(name, session.transport.stderr);
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
    session.transport = new StreamableHTTPClientTransport(new URL(options.url ?? session.server.url), {
      fetch: options.fetch,
      requestInit: token ? { headers: { Authorization: `Bearer ${token}` } } : undefined,
    });
    await options.before?.(session);
    await client.connect(session.transport);
    session.stderr = session.server.stderr;
    stop = () => client.close();
  }
  let stopped;
  session.stop = () => (stopped ??= stop());
  t.after(session.stop);

  session.call = (tool, args_ = {}, requestOptions = {}) =>
    client.callTool({ name: tool, arguments: args_ }, undefined, { timeout: PATIENCE_MS, ...requestOptions });
  session.text = async (tool, args_, requestOptions) => textOf(await session.call(tool, args_, requestOptions));
  return session;
}

export function textOf(result) {
  return result.content.map((block) => block.text ?? '').join('\n');
}

// --- raw messages ---

// Splits a stream of bytes into SSE events; comments are events too: { comment }.
export async function* sseEvents(body) {
  let text = '';
  const decoder = new TextDecoder();
  for await (const chunk of body) {
    text += decoder.decode(chunk, { stream: true });
    let end;
    while ((end = text.indexOf('\n\n')) >= 0) {
      const event = {};
      for (const line of text.slice(0, end).split('\n')) {
        const [, field, value] = /^([^:]*):? ?([^]*)$/.exec(line);
        if (field === '') event.comment = value;
        else if (field === 'data') event.data = event.data === undefined ? value : `${event.data}\n${value}`;
        else event[field] = value;
      }
      text = text.slice(end + 2);
      yield event;
    }
  }
}

export const defaultHeaders = { 'Content-Type': 'application/json', Accept: 'application/json, text/event-stream' };

export function initializeMessage(capabilities, version = '2025-11-25', id = 'init') {
  return {
    jsonrpc: '2.0',
    id,
    method: 'initialize',
    params: { protocolVersion: version, capabilities, clientInfo: { name: 'raw', version: '1' } },
  };
}

// A session over HTTP, message by message. What arrives on any stream or in any response lands in the inbox.
export class HttpPeer {
  constructor(url, { token, version = '2025-11-25' } = {}) {
    this.url = url;
    this.version = version;
    this.token = token;
    this.inbox = new Inbox();
    this.events = []; // every SSE event of every stream, with the stream's name
    this.aborts = new Set();
  }

  headers(extra = {}) {
    return {
      ...defaultHeaders,
      ...(this.session ? { 'Mcp-Session-Id': this.session, 'MCP-Protocol-Version': this.version } : {}),
      ...(this.token ? { Authorization: `Bearer ${this.token}` } : {}),
      ...extra,
    };
  }

  async request(method, { body, headers, stream = method } = {}) {
    const abort = new AbortController();
    this.aborts.add(abort);
    const response = await fetch(this.url, {
      method,
      headers: this.headers(headers),
      body: body === undefined ? undefined : typeof body === 'string' ? body : JSON.stringify(body),
      signal: abort.signal,
    });
    const handle = { status: response.status, headers: response.headers, drop: () => abort.abort(), response };
    const type = response.headers.get('content-type') ?? '';
    if (type.startsWith('text/event-stream')) {
      handle.streamed = true;
      handle.events = [];
      handle.arrived = new Inbox();
      handle.finished = this.#read(response.body, handle, stream);
    } else {
      const text = await response.text();
      if (type.startsWith('application/json') && text) {
        handle.json = JSON.parse(text);
        for (const message of [handle.json].flat()) this.inbox.push(message);
      }
    }
    return handle;
  }

  async #read(body, handle, stream) {
    try {
      for await (const event of sseEvents(body)) {
        handle.events.push(event);
        handle.arrived.push(event);
        this.events.push({ stream, ...event });
        if (event.data) this.inbox.push(JSON.parse(event.data));
      }
      return 'ended';
    } catch {
      return 'dropped';
    }
  }

  post(body, options = {}) {
    return this.request('POST', { body, ...options });
  }

  async initialize(capabilities = { elicitation: {} }) {
    const reply = await this.post(initializeMessage(capabilities, this.version));
    assert.equal(reply.status, 200);
    this.initialized = await this.inbox.next((message) => message.id === 'init', 'the reply to initialize');
    this.session = reply.headers.get('mcp-session-id');
    this.version = this.initialized.result.protocolVersion;
    const accepted = await this.post({ jsonrpc: '2.0', method: 'notifications/initialized' });
    assert.equal(accepted.status, 202);
    return this;
  }

  // Sends without waiting for the response's end. Resolves to the handle of the POST.
  send(message, options) {
    return this.post({ jsonrpc: '2.0', ...message }, options);
  }

  next(wanted, what) {
    return this.inbox.next(wanted, what);
  }

  close() {
    for (const abort of this.aborts) abort.abort();
  }
}

class StdioPeer {
  constructor(child) {
    this.child = child;
    this.inbox = new Inbox();
    eachLine(child.stdout, (line) => this.inbox.push(JSON.parse(line)));
  }

  async initialize(capabilities, version) {
    this.child.stdin.write(JSON.stringify(initializeMessage(capabilities, version)) + '\n');
    this.initialized = await this.inbox.next((message) => message.id === 'init', 'the reply to initialize');
    await this.send({ method: 'notifications/initialized' });
    return this;
  }

  async send(message) {
    this.child.stdin.write(JSON.stringify({ jsonrpc: '2.0', ...message }) + '\n');
  }

  writeLine(line) {
    this.child.stdin.write(line + '\n');
  }

  next(wanted, what) {
    return this.inbox.next(wanted, what);
  }

  close() {}
}

// A peer that has been initialised, over either transport.
export async function rawPeer(t, kind, name, options = {}) {
  everyEnd(t);
  const { capabilities = { elicitation: {} }, version = '2025-11-25', env, args = [], token, server } = options;
  if (kind === 'http') {
    const running = server ?? (await startHttp(t, name, { env, args }));
    const peer = new HttpPeer(running.url, { token, version });
    peer.server = running;
    t.after(() => peer.close());
    return peer.initialize(capabilities);
  }
  const child = spawn(program(name), [...always, ...args], { env: environment(env), stdio: ['pipe', 'pipe', 'pipe'] });
  const watched = new Watched(name, child.stderr).follow(child);
  const peer = new StdioPeer(child);
  let stopped;
  peer.stop = () =>
    (stopped ??= (async () => {
      child.stdin.end();
      await watched.stop(null);
    })());
  peer.kill = async () => {
    stopped = Promise.resolve();
    child.kill('SIGKILL');
    await watched.ended;
  };
  t.after(peer.stop);
  return peer.initialize(capabilities, version);
}

let lastId = 100;

// Sends tools/call; resolves to its id at once and to the response by `reply`.
export async function callTool(peer, tool, args = {}, meta) {
  const id = ++lastId;
  const handle = await peer.send({
    id,
    method: 'tools/call',
    params: { name: tool, arguments: args, ...(meta ? { _meta: meta } : {}) },
  });
  return { id, handle, reply: () => peer.next((message) => message.id === id && !message.method, `the reply to ${tool}`) };
}

// The result of a tool by raw messages, for tools that do not ask.
export async function resultOf(peer, tool, args) {
  const call = await callTool(peer, tool, args);
  const reply = await call.reply();
  assert.ok(reply.result, JSON.stringify(reply));
  return textOf(reply.result);
}

export const isAsk = (message) => message.method === 'elicitation/create';
export const nextAsk = (peer, wanted = () => true) => peer.next((m) => isAsk(m) && wanted(m), 'elicitation/create');
export const answer = (peer, id, result) => peer.send({ id, result });
export const accept = (peer, id, content) => answer(peer, id, { action: 'accept', ...(content ? { content } : {}) });

// One of these, for the sample of that name, another one each time. NOD_WIRE_SEED=n chooses the same ones again.
const SEED = process.env.NOD_WIRE_SEED ?? randomInt(2 ** 31);
let told = false;
export function oneOf(all, name) {
  if (!told) console.log(`NOD_WIRE_SEED=${SEED}`);
  told = true;
  return all[createHash('sha256').update(`${SEED} ${name}`).digest().readUInt32BE() % all.length];
}

// NOD_WIRE_SAMPLE=1: each test on one transport only; on both with NOD_SOAK=1.
const SAMPLED = process.env.NOD_WIRE_SAMPLE === '1' && process.env.NOD_SOAK !== '1';
export const transportsFor = (name) => (SAMPLED ? [oneOf(transports, name)] : transports);

// One test on each transport, with the transport's name in front.
export function onBoth(test, name, body) {
  for (const kind of transportsFor(name)) test(`${kind}: ${name}`, (t) => body(t, kind));
}
