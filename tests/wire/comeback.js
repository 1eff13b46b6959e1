// Whoever comes back for a call: the handles that a client may hold, and the states that its call may be in meanwhile.
//
//   handles['event id']    begin(): a call that has asked, at the first node. answer(): its question is answered, and nobody waits for its
//                          end. come(node): its client comes back. foreign(node): another principal brings the same
//   states['running']      brings the call there; says at which node its client comes back
//
// What a client sees is told in words: see docs/inside/comeback.md. Nothing here knows more than what goes over the wire.
import assert from 'node:assert/strict';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import { HttpPeer, PATIENCE_MS, answer, environment, everyEnd, freePort, pause, program, rawPeer, startHttp, textOf, watchStderr, within } from './harness.js';
import { Api, token, tokenFile } from './inbox.js';
import { Modern, metaOf, scratchFolder, word } from './modern.js';
import { stores } from './stores.js';

const SECRET = 'a secret that is surely long enough for this';
const QUIET_MS = process.env.NOD_SOAK === '1' ? 1500 : 200; // in which a reply would have come; in full longer than the soft deadline
const WORD = 'it';
const DONE = `did ${WORD}`;
const TAKEN = 'The answer was taken. Whoever made the call is given its result.';
const VERSION2 = { COMEBACK_VERSION: '2' };
const WITHOUT = { COMEBACK_WITHOUT: '1' };
const STAYS = { COMEBACK_STAYS: '1' };

async function until(what, look, ms = PATIENCE_MS) {
  for (const end = Date.now() + ms; ;) {
    const found = await look();
    if (found) return found;
    assert.ok(Date.now() < end, `${what}: not within ${ms} ms`);
    await pause(20);
  }
}

// --- the servers ---

// A Redis whose clock goes by a file (later.h).
async function movableRedis(t, file) {
  const [folder, port] = [scratchFolder(t), await freePort()];
  const child = spawn('redis-server', ['--bind', '127.0.0.1', '--port', `${port}`, '--dir', folder, '--appendonly', 'yes', '--appendfsync', 'always',
    '--save', ''], { env: { ...environment(), LD_PRELOAD: path.join(path.dirname(program('probe')), 'later.so'), NOD_LATER_FILE: file }, stdio: ['ignore', 'pipe', 'inherit'] });
  const ended = once(child, 'close');
  t.last(async () => {
    child.kill('SIGTERM');
    await within(PATIENCE_MS, 'redis-server ends', ended);
  });
  await watchStderr('redis-server', child.stdout).lines.next((line) => /Ready to accept connections/.test(line), 'redis-server is up');
  return { address: `redis://127.0.0.1:${port}` };
}

const homes = {
  memory: { nodes: 1, create: async () => ({ address: 'memory:' }) },
  SQLite: { nodes: 1, lasts: true, create: stores.find(({ name }) => name === 'sqlite').create },
  Redis: { nodes: 2, lasts: true, create: movableRedis },
};

export class House {
  static async open(t, name, { args = [], soft = '1s', tokens = true } = {}) {
    everyEnd(t);
    const house = Object.assign(new House(), homes[name], { t, name, args: ['--soft-deadline', soft, ...args], tag: 'the-tag', servers: [] });
    house.folder = scratchFolder(t);
    house.clock = path.join(house.folder, 'later');
    writeFileSync(house.clock, Buffer.alloc(8));
    writeFileSync(house.path('deeds'), '');
    house.store = await homes[name].create(t, house.clock);
    house.tokens = tokens ? ['--token-file', tokenFile(t)] : [];
    return house;
  }

  path(name) {
    return path.join(this.folder, name);
  }

  env(more) {
    return { COMEBACK_FOLDER: this.folder, NOD_LATER_FILE: this.clock, MCP_ELICITATION_SECRET: SECRET, ...more };
  }

  async start(env = {}) {
    const server = await startHttp(this.t, 'comeback-server', {
      env: this.env({ ...this.all, ...env }),
      args: ['--store', this.store.address, ...this.tokens, '--keep', '5m', ...this.args],
    });
    this.servers.push(server);
    return server;
  }

  // As many nodes as there are; the later ones may have other tools.
  async settle(others = {}) {
    this.first = await this.start();
    this.second = this.nodes > 1 ? await this.start(others) : this.first;
  }

  // Another server instead of the first one, which has ended; where there is a second node, that one.
  async replace(env) {
    if (this.nodes === 1) this.second = await this.start(env);
    return this.second;
  }

  async stop() {
    this.open();
    await Promise.all(this.servers.map((server) => server.stop()));
  }

  // So much time has passed since the start. Connections that were idle have been closed by then.
  async later(ms) {
    const bytes = Buffer.alloc(8);
    bytes.writeBigInt64LE(BigInt(ms));
    writeFileSync(this.clock, bytes, { flag: 'r+' });
    for (const { url } of new Set([this.first, this.second]))
      for (let well = 0; well < 2; await pause(50)) {
        const healthy = await fetch(new URL('/healthz', url)).then((reply) => reply.text()).catch(() => null);
        well = healthy === null ? 0 : well + 1;
      }
  }

  // The work that the test holds up may end.
  open() {
    for (const name of [this.tag, 'busy-1', 'busy-2']) writeFileSync(this.path(`open-${name}`), '');
  }

  begun(name = this.tag) {
    return until(`${name} has begun`, () => existsSync(this.path(`begun-${name}`)));
  }

  deeds() {
    return readFileSync(this.path('deeds'), 'utf8').split('\n').slice(0, -1);
  }

  // A figure of a node, summed over its labels that fit.
  async figure(server, name, labels = '') {
    const response = await fetch(new URL('/metrics', server.url), { headers: { Authorization: `Bearer ${token('root')}` } });
    const text = await response.text();
    assert.equal(response.status, 200, text);
    return text.split('\n').filter((line) => (line.startsWith(`${name}{`) || line.startsWith(`${name} `)) && line.includes(labels))
      .reduce((sum, line) => sum + Number(line.split(' ').at(-1)), 0);
  }

  // Both workers of a node have something else to do.
  async occupy(server) {
    for (const name of ['busy-1', 'busy-2']) {
      new Modern(server.url, { token: token('root') }).call('occupy', { tag: name }).catch(() => {}); // it outlasts the test, perhaps
      await this.begun(name);
    }
  }
}

// --- what comes ---

// The words for errors of the wire: rows of { word, status, code, message }, from the page.
export const legend = [];

function errorWord(status, error) {
  const row = legend.find((one) => one.status === `${status}` && one.code === `${error?.code}` && error?.message === one.message);
  return row?.word ?? `${status} ${error?.code} ${error?.message}`;
}

function resultWord(result) {
  if (result.isError) return result._meta?.code ?? textOf(result);
  if (result._meta?.elicitationPending) return 'asked';
  if (result.structuredContent?.pending) return 'pending';
  const [first] = result.content; // whoever called again is told more behind it
  if (first.text === DONE) return 'result';
  if (first.text === TAKEN) return 'taken';
  return `"${textOf(result)}"`;
}

// --- handles ---

class Client2025 {
  constructor(house, { capabilities = { elicitation: {} } } = {}) {
    Object.assign(this, { house, capabilities });
  }

  async begin() {
    const { house } = this;
    this.peer = await this.session(house.first, 'ada');
    this.id = 'the-call';
    this.handle = await this.peer.post(this.message());
    return this;
  }

  async session(server, who) {
    const peer = new HttpPeer(server.url, { token: token(who) });
    this.house.t.after(() => peer.close());
    return peer.initialize(this.capabilities);
  }

  // The same session, at any node, as anybody.
  at(node, who = 'ada') {
    const peer = Object.assign(new HttpPeer(node.url, { token: token(who) }), { session: this.peer.session });
    this.house.t.after(() => peer.close());
    return peer;
  }

  message(id = this.id, tool = 'deed', args = { tag: this.house.tag }) {
    return { jsonrpc: '2.0', id, method: 'tools/call', params: { name: tool, arguments: args } };
  }

  cancel() {
    return this.at(this.house.first).post({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: this.id } });
  }

  // The client is there, and says so.
  async lives(node) {
    const { status } = await this.at(node).post({ jsonrpc: '2.0', id: `ping-${Math.random()}`, method: 'ping' });
    assert.equal(status, 200);
  }

  // What comes on a stream, or as a response: questions and the end.
  visit(sent, id) {
    const next = async () => {
      const handle = await sent;
      const messages = handle.streamed ? handle.arrived : null;
      if (!messages) {
        if (handle.json?.result) return { word: resultWord(handle.json.result), result: handle.json.result };
        return { word: errorWord(handle.status, handle.json?.error) };
      }
      for (;;) {
        const event = await Promise.race([messages.next(({ data }) => data !== undefined && data !== ''), handle.finished.then(() => null)])
          ?? messages.rest(({ data }) => data)[0];
        if (!event) return { word: 'closed' };
        const message = JSON.parse(event.data);
        if (message.method === 'elicitation/create') return { word: message.id === this.ask?.id ? 'asked' : 'new call' };
        if (message.id !== id || message.method) continue;
        if (message.error) return { word: errorWord(handle.status, message.error) };
        return { word: resultWord(message.result), result: message.result };
      }
    };
    return { next };
  }

  // A tool of nod's own.
  async own(peer, tool, args) {
    const id = `own-${Math.random()}`;
    return this.visit(peer.post(this.message(id, tool, args)), id);
  }
}

// A client that was asked on its stream, and lost the stream.
class Asked2025 extends Client2025 {
  async begin() {
    await super.begin();
    this.ask = await this.peer.next(({ method }) => method === 'elicitation/create', 'a question');
    this.last = this.handle.events.filter(({ id }) => id !== undefined).at(-1).id;
    this.handle.drop();
    return this;
  }

  async answer(node = this.house.first) {
    const posted = await answer(this.at(node), this.ask.id, word(WORD));
    assert.equal(posted.status, 202);
  }

  // Who was asked once more answers the same question.
  async asked(node) {
    await this.answer(node);
  }
}

class EventId extends Asked2025 {
  async come(node, who = 'ada') {
    return this.visit(this.at(node, who).request('GET', { headers: { 'Last-Event-ID': this.last } }), this.id);
  }

  async foreign(node) {
    const own = await this.session(node, 'bob');
    return [await this.come(node, 'bob'), this.visit(own.request('GET', { headers: { 'Last-Event-ID': this.last } }), this.id)];
  }
}

class RequestId extends Asked2025 {
  async come(node, who = 'ada') {
    return this.visit(this.at(node, who).post(this.message()), this.id);
  }

  async foreign(node) {
    return [await this.come(node, 'bob')];
  }
}

class Client2026 {
  constructor(house, { capabilities = { elicitation: {} } } = {}) {
    Object.assign(this, { house, capabilities });
  }

  client(node, who = 'ada') {
    return new Modern(node.url, { token: this.house.tokens.length ? token(who) : undefined, capabilities: this.capabilities });
  }

  begin() {
    return this.request(this.house.first);
  }

  // A request whose connection is cut once what it says has counted.
  async cut(send) {
    const abort = new AbortController();
    const { house } = this;
    const before = await house.figure(house.first, 'nod_asks_ended_total', 'state="accepted"');
    const sent = send(abort.signal).catch(() => {});
    await until('the answer counts', async () => (await house.figure(house.first, 'nod_asks_ended_total', 'state="accepted"')) > before);
    abort.abort();
    await sent;
  }

  visit(sent) {
    return { next: async () => {
      const { status, result, error } = await sent;
      if (result?.resultType === 'input_required') return { word: 'asked', result };
      return result ? { word: resultWord(result), result } : { word: errorWord(status, error) };
    } };
  }
}

class RequestState extends Client2026 {
  async begin() {
    this.state = (await this.client(this.house.first).asked('deed', { tag: this.house.tag })).requestState;
    return this;
  }

  retry(node, who, inputResponses, options) {
    return this.client(node, who).call('deed', { tag: this.house.tag }, { requestState: this.state, ...(inputResponses ? { inputResponses } : {}) }, options);
  }

  answer(node = this.house.first) {
    return this.cut((signal) => this.retry(node, 'ada', { word: word(WORD) }, { signal }));
  }

  async come(node, who) {
    return this.visit(this.retry(node, who, { word: word(WORD) }));
  }

  async asked(node, { result }) {
    this.state = result.requestState;
    return this.visit(this.retry(node, 'ada', { word: word(WORD) }));
  }

  async foreign(node) {
    return [await this.come(node, 'bob')];
  }
}

class StateAlone extends RequestState {
  async come(node, who) {
    return this.visit(this.retry(node, who));
  }
}

// Over HTTP a client can cancel nothing that it could come back for. Over a pipe it can; then it comes back over the pipe, or where the
// store has lasted to a server without tokens, whose user is the same.
const piped = (State) => class extends State {
  async begin() {
    const { house } = this;
    this.pipe = await rawPeer(house.t, 'stdio', 'comeback-server', { env: house.env(), args: ['--store', house.store.address] });
    this.state = (await this.over({ id: 'first' })).result.requestState;
    assert.equal(typeof this.state, 'string');
    return this;
  }

  async over({ id, ...more }) {
    const params = { name: 'deed', arguments: { tag: this.house.tag }, ...more, _meta: metaOf() };
    await this.pipe.send({ id, method: 'tools/call', params });
    return this.pipe.next((message) => message.id === id, id);
  }

  async cancel() {
    const { house } = this;
    this.over({ id: 'retry', requestState: this.state, inputResponses: { word: word(WORD) } }).catch(() => {}); // it gets no reply
    await house.begun();
    await this.pipe.send({ method: 'notifications/cancelled', params: { requestId: 'retry', _meta: metaOf() } });
    if (house.lasts && house.nodes === 1) await this.pipe.stop();
    if (house.lasts) house.second = await house.start();
  }

  retry(node, who, inputResponses) {
    if (this.house.lasts) return super.retry(node, who, inputResponses);
    return this.over({ id: 'again', requestState: this.state, inputResponses }).then((message) => ({ status: 400, ...message })); // as it would be over HTTP
  }

  async foreign() {
    return [];
  }
};

const TASKS = { elicitation: {}, extensions: { 'io.modelcontextprotocol/tasks': {} } };

class TaskId extends Client2026 {
  constructor(house) {
    super(house, { capabilities: TASKS });
  }

  async begin() {
    const { result, text } = await this.client(this.house.first).call('deed_task', { tag: this.house.tag });
    this.task = result?.taskId;
    assert.ok(this.task, text);
    await until('the task asks', async () => (await this.get(this.house.first)).result?.status === 'input_required');
    return this;
  }

  get(node, who) {
    return this.client(node, who).request('tasks/get', { taskId: this.task });
  }

  update(node) {
    return this.client(node).request('tasks/update', { taskId: this.task, inputResponses: { word: word(WORD) } });
  }

  async answer(node = this.house.first) {
    const { result, text } = await this.update(node);
    assert.ok(result, text);
  }

  cancel() {
    return this.client(this.house.first).request('tasks/cancel', { taskId: this.task });
  }

  async come(node, who) {
    return { next: async () => {
      const { status, result, error } = await this.get(node, who);
      if (!result) return { word: errorWord(status, error) };
      const { status: is } = result;
      if (is === 'input_required') return { word: 'asked' };
      if (is === 'completed') return { word: resultWord(result.result) };
      if (is === 'failed') return { word: errorWord('failed', result.error) };
      return { word: is };
    } };
  }

  // Whether the answer was taken shows in what becomes of the task.
  async asked(node) {
    await this.update(node);
    return this.come(node);
  }

  async foreign(node) {
    return [await this.come(node, 'bob')];
  }
}

// --- a pending result ---

const resolved = async (node) => {
  const api = new Api(node, 'ada');
  const [item] = await api.pending(1);
  const { status, text } = await api.resolve(item.id, { approved: true, data: { word: WORD } });
  assert.equal(status, 200, text);
};

class CallId2025 extends Client2025 {
  constructor(house) {
    super(house, { capabilities: {} });
  }

  async begin() {
    await super.begin();
    const item = await this.visit(this.handle, this.id).next();
    this.callId = item.result?.structuredContent?.callId;
    assert.ok(this.callId, JSON.stringify(item));
    return this;
  }

  answer(node = this.house.first) {
    return resolved(node);
  }

  come(node) {
    return this.own(this.at(node), 'waitForPerson', { callId: this.callId });
  }

  async foreign(node) {
    return [await this.own(await this.session(node, 'bob'), 'waitForPerson', { callId: this.callId })];
  }
}

// The client calls the same tool with the same arguments.
class SameCall2025 extends CallId2025 {
  async come(node) {
    const visit = await this.own(this.at(node), 'deed', { tag: this.house.tag });
    return this.known(visit);
  }

  // A pending result of another call is a new call.
  known({ next }) {
    return { next: async () => {
      const item = await next();
      const other = item.word === 'pending' && item.result.structuredContent.callId !== this.callId;
      return other ? { word: 'new call' } : item;
    } };
  }

  // Where no worker is free, nobody else's call begins either.
  async foreign(node, state) {
    if (state === 'runnable') return [];
    return [this.known(await this.own(await this.session(node, 'bob'), 'deed', { tag: this.house.tag }))];
  }
}

class CallId2026 extends Client2026 {
  constructor(house) {
    super(house, { capabilities: {} });
  }

  async begin() {
    const { result, text } = await this.client(this.house.first).call('deed', { tag: this.house.tag });
    this.callId = result?.structuredContent?.callId;
    assert.ok(this.callId, text);
    return this;
  }

  answer(node = this.house.first) {
    return resolved(node);
  }

  // All it can cancel is that it waits.
  async cancel() {
    const abort = new AbortController();
    const sent = this.client(this.house.first).call('waitForPerson', { callId: this.callId }, {}, { signal: abort.signal }).catch(() => {});
    await pause(QUIET_MS);
    abort.abort();
    await sent;
  }

  async come(node, who) {
    return this.visit(this.client(node, who).call('waitForPerson', { callId: this.callId }));
  }

  async foreign(node) {
    return [await this.come(node, 'bob')];
  }
}

// --- a question that the model was told ---

const ANSWERED = { action: 'accept', content: { word: WORD } };

class ElicitId2025 extends Client2025 {
  constructor(house) {
    super(house, { capabilities: {} });
  }

  async begin() {
    await super.begin();
    const item = await this.visit(this.handle, this.id).next();
    this.elicitId = item.result?._meta?.elicitationPending?.elicitId;
    assert.ok(this.elicitId, JSON.stringify(item));
    return this;
  }

  async answer(node = this.house.first) {
    const { house } = this;
    const before = await house.figure(node, 'nod_asks_ended_total', 'state="accepted"');
    const peer = this.at(node);
    const sent = (await this.own(peer, 'sendElicitationResult', { elicitId: this.elicitId, ...ANSWERED })).next().catch(() => {});
    await until('the answer counts', async () => (await house.figure(node, 'nod_asks_ended_total', 'state="accepted"')) > before);
    peer.close();
    await sent;
  }

  come(node) {
    return this.own(this.at(node), 'sendElicitationResult', { elicitId: this.elicitId, ...ANSWERED });
  }

  async foreign(node) {
    return [await this.own(await this.session(node, 'bob'), 'sendElicitationResult', { elicitId: this.elicitId, ...ANSWERED })];
  }
}

class ElicitId2026 extends Client2026 {
  constructor(house) {
    super(house, { capabilities: {} });
  }

  async begin() {
    const { result, text } = await this.client(this.house.first).call('deed', { tag: this.house.tag });
    this.elicitId = result?._meta?.elicitationPending?.elicitId;
    assert.ok(this.elicitId, text);
    return this;
  }

  send(node, who, options) {
    return this.client(node, who).call('sendElicitationResult', { elicitId: this.elicitId, ...ANSWERED }, {}, options);
  }

  answer(node = this.house.first) {
    return this.cut((signal) => this.send(node, 'ada', { signal }));
  }

  async come(node, who) {
    return this.visit(this.send(node, who));
  }

  async foreign(node) {
    return [await this.come(node, 'bob')];
  }
}

// --- a question that a view shows ---

const VIEWS = { extensions: { 'io.modelcontextprotocol/ui': { mimeTypes: ['text/html;profile=mcp-app'] } } };

class Nonce2025 extends Client2025 {
  constructor(house) {
    super(house, { capabilities: VIEWS });
  }

  async begin() {
    this.peer = await this.session(this.house.first, 'ada');
    this.id = 'the-call';
    this.sent = this.peer.post(this.message()).catch(() => {}); // it is held
    await this.look({ tool: 'deed', arguments: { tag: this.house.tag } });
    this.peer.close(); // the connection of the call is lost; the view has its own
    return this;
  }

  // As the view does.
  async look(args) {
    const { result } = await (await this.own(this.at(this.house.first), 'nodQuestions', args)).next();
    this.nonce = JSON.parse(textOf(result)).questions[0]?.nonce;
    assert.ok(this.nonce, JSON.stringify(result));
  }

  async say(peer) {
    const visit = await this.own(peer, 'nodAnswer', { nonce: this.nonce, ...ANSWERED });
    return { next: async () => {
      const item = await visit.next();
      const nod = item.result?._meta?.nod;
      if (!nod || nod.ended) return item;
      if (nod.taken) return { word: 'taken' };
      return { word: `not taken: ${JSON.parse(textOf(item.result)).state}` };
    } };
  }

  async answer(node = this.house.first) {
    const { house } = this;
    const before = await house.figure(node, 'nod_asks_ended_total', 'state="accepted"');
    const peer = this.at(node);
    const sent = (await this.say(peer)).next().catch(() => {});
    await until('the answer counts', async () => (await house.figure(node, 'nod_asks_ended_total', 'state="accepted"')) > before);
    peer.close();
    await sent;
  }

  come(node) {
    return this.say(this.at(node));
  }

  async foreign(node) {
    return [await this.say(await this.session(node, 'bob'))];
  }
}

// The view is opened with the pending result of its call.
class PendingNonce2025 extends Nonce2025 {
  async begin() {
    this.peer = await this.session(this.house.first, 'ada');
    this.id = 'the-call';
    const { result } = await this.visit(this.peer.post(this.message()), this.id).next();
    await this.look({ callId: result.structuredContent.callId, now: true });
    return this;
  }
}

// What a section of the page is called: who comes, with what.
export const handles = {
  'event id': { make: EventId },
  'request id': { make: RequestId },
  '`requestState` and answers': { make: RequestState, cancels: piped(RequestState) },
  '`requestState` alone': { make: StateAlone, cancels: piped(StateAlone) },
  'task id': { make: TaskId },
  '`callId`, 2025': { make: CallId2025 },
  '`callId`, 2026': { make: CallId2026 },
  'the same tool and arguments, 2025': { make: SameCall2025 },
  '`elicitId`, 2025': { make: ElicitId2025, args: ['--no-inbox'] },
  '`elicitId`, 2026': { make: ElicitId2026, args: ['--no-inbox'] },
  '`nonce`, 2025, its call held': { make: Nonce2025, soft: '1h' },
  '`nonce`, 2025, its call pending': { make: PendingNonce2025 },
};

// --- states ---

// Together longer than anything is kept for (--keep, a session's idle hour after it, a task's hour, a state); each shorter than a session may be idle.
const LATER_MS = 50 * 60000;
const LATER_TIMES = 3;

// The first node has said that its call is over.
async function ended({ house, client }, node = house.first) {
  const before = await house.figure(node, 'nod_calls_ended_total', 'outcome="ok"');
  house.open();
  await client.answer();
  await until('the call has ended', async () => house.deeds().length === 1 && (await house.figure(node, 'nod_calls_ended_total', 'outcome="ok"')) > before);
}

async function told(world) {
  const { house, client } = world;
  await ended(world);
  const seen = await until('the end is told', async () => {
    const { word: got } = await (await client.come(house.first)).next();
    return got !== 'pending' && got !== 'working' && got;
  });
  assert.ok(seen === 'result' || seen === 'taken', seen);
}

const own = async (house, node, tool) => {
  const { result, text } = await new Modern(node.url, { token: token('root') }).call(tool);
  assert.ok(result && !result.isError, text);
};

// The target becomes another one, or goes, wherever it was.
async function renewed({ house }, env, tool) {
  if (!house.lasts) await own(house, house.first, tool);
  else {
    await house.first.stop();
    await house.replace(env);
  }
}

// Each brings the call there, and says { at: where its client comes back; goes: where it goes next, if it is sent away; opens: the step may end when it
// begins; answered: nothing is left to be answered; done: the step was done; ends: the call ends by itself, and nobody answers }.
const first = ({ house }) => house.first;
const second = ({ house }) => house.second;

export const states = {
  async running(world) {
    await world.client.answer();
    await world.house.begun();
    return { at: first, answered: true };
  },
  async waiting() {
    return { at: first, opens: true };
  },
  async runnable(world) {
    await world.house.occupy(world.house.first);
    await world.client.answer();
    assert.ok(!existsSync(world.house.path(`begun-${world.house.tag}`)));
    return { at: first, answered: true };
  },
  async ended(world) {
    await ended(world);
    return { at: second, answered: true, done: true };
  },
  async 'ended, and told'(world) {
    await told(world);
    return { at: second, answered: true, done: true };
  },
  async cancelled(world) {
    await world.client.cancel();
    return { at: second, opens: !world.alone };
  },
  async forgotten(world) {
    const { house, client } = world;
    await told(world);
    for (let i = 1; i <= LATER_TIMES; i++) {
      await house.later(i * LATER_MS);
      await client.lives?.(house.second);
    }
    return { at: second, answered: true, done: true };
  },
  async 'target changed'(world) {
    await renewed(world, VERSION2, 'renew');
    return { at: second, opens: true, ends: world.house.lasts };
  },
  async 'target gone'(world) {
    await renewed(world, WITHOUT, 'remove');
    return { at: second, opens: true, ends: world.house.lasts };
  },
  async 'ended, target changed'(world) {
    await ended(world);
    await renewed(world, VERSION2, 'renew');
    return { at: second, answered: true, done: true };
  },
  async 'ended, target gone'(world) {
    await ended(world);
    await renewed(world, WITHOUT, 'remove');
    return { at: second, answered: true, done: true };
  },
  async 'target changed here alone'() {
    return { at: second, opens: true, goes: first };
  },
  async 'target gone here alone'() {
    return { at: second, opens: true, goes: first };
  },
  async 'held elsewhere, running'(world) {
    await world.client.answer();
    await world.house.begun();
    return { at: second, answered: true };
  },
  async 'held elsewhere, waiting'() {
    return { at: second, opens: true };
  },
  async 'that node gone, running'(world) {
    await world.client.answer();
    await world.house.begun();
    await world.house.first.kill();
    await world.house.replace();
    return { at: second, answered: true };
  },
  async 'that node gone, waiting'(world) {
    await world.house.first.kill();
    await world.house.replace();
    return { at: second, opens: true };
  },
};
// The call stays where it was begun.
for (const is of ['running', 'waiting']) {
  states[`home elsewhere, ${is}`] = states[`held elsewhere, ${is}`];
  states[`home gone, ${is}`] = async (world) => ({ ...await states[`that node gone, ${is}`](world), ends: true });
}
states['home elsewhere, target gone here'] = states['target gone here alone'];

// What the second node has in these.
const others = {
  'target changed': VERSION2, 'target gone': WITHOUT, 'ended, target changed': VERSION2, 'ended, target gone': WITHOUT,
  'target changed here alone': VERSION2, 'target gone here alone': WITHOUT, 'home elsewhere, target gone here': WITHOUT,
};

// Whether there can be such a cell: only several nodes differ, and not every client has something to cancel.
export function possible({ handle, state, store }) {
  const { make, cancels } = handles[handle];
  if (homes[store].nodes === 1 && /here alone|elsewhere/.test(state)) return false;
  return state !== 'cancelled' || Boolean(cancels ?? make.prototype.cancel);
}

// --- a cell ---

const AGAIN_MS = 100; // until a client that is told to come later does
const LONG_MS = PATIENCE_MS; // also for a call to end whose target no node has, and for a node to count as gone
const COMES_AGAIN = ['pending', 'working', 'closed', 'later', 'TOOL_ELSEWHERE'];

// Brings a call to its state, has its client come back, and tells what that client sees, in as many words as `expected` has; `foreign` is
// what another principal sees who brings the same.
export async function walk(t, { handle, state, store }, expected) {
  const { make, cancels, args, soft } = handles[handle];
  const alone = state === 'cancelled' && cancels; // it has its own servers
  const Handle = alone || make;
  const house = await House.open(t, store, { args, soft, tokens: !alone });
  if (/^home /.test(state)) house.all = STAYS;
  if (!alone) await house.settle(others[state]);
  const world = { house, alone, client: await new Handle(house).begin() };
  const { client } = world;
  const place = await states[state](world);
  if (place.opens) house.open();
  let node = place.at(world);

  const foreign = [];
  for (const visit of await client.foreign(node, state)) foreign.push((await within(PATIENCE_MS, 'a reply', visit.next())).word);

  const seen = [];
  let answered = place.answered;
  const release = async () => {
    if (!answered) await client.answer(node);
    answered = true;
    house.open();
  };
  let visit = await client.come(node);
  let coming = null; // what was waited for, and has not come yet
  for (const wanted of expected) {
    if (wanted === 'waits') {
      coming = visit.next();
      const early = await Promise.race([coming, pause(QUIET_MS)]);
      seen.push(early?.word ?? 'waits');
      if (early) break;
      await release();
      continue;
    }
    const latest = Date.now() + LONG_MS;
    let item;
    for (;;) {
      item = await within(LONG_MS, `${wanted}, after ${seen.join(', ')}`, coming ?? visit.next());
      coming = null;
      if (!seen.length || item.word === wanted || !COMES_AGAIN.includes(item.word) || Date.now() > latest) break;
      await pause(AGAIN_MS);
      visit = await client.come(node);
    }
    seen.push(item.word);
    if (seen.at(-1) !== wanted || seen.length === expected.length) break;
    if (item.word === 'asked') {
      visit = (await client.asked(node, item)) ?? visit;
      answered = true;
    } else if (COMES_AGAIN.includes(item.word)) {
      node = (place.goes ?? place.at)(world);
      if (!place.ends) await release();
      visit = await client.come(node);
    }
  }
  const due = place.done || (!place.ends && ['result', 'taken'].includes(seen.at(-1))) ? 1 : 0;
  if (due) house.open();
  if (due) await until('the deed is done', () => house.deeds().length);
  await house.stop();
  return { seen, foreign, deeds: house.deeds().length, due };
}
