// Clients that come back.
//
//   2025    keeps its session and the last event id; resumes the stream of a call by GET with Last-Event-ID; sends an
//           answer again if its POST got no reply
//   2026    sends the same request again
//   tasks   asks for the task again
//
// How a client behaves can be varied:
//
//   pick       which node the next request goes to; otherwise one after the other
//   twice      every request that has a handle is sent twice, and once more when the call has ended; every response must
//              tell the same end
//   sameId     a request of 2025 that got no response is sent again with its id: it is the same call, on any node
//   token      who it is, where the servers have tokens
//   disorder   the second question of a round is answered before the first
//
// If the client has no handle to a call (no event id, no requestState, no task id), the call is simply begun again: the
// promise does not cover it. Any other call that does not come to its end is lost: `Lost` says what was seen last.
import assert from 'node:assert/strict';
import { defaultHeaders, initializeMessage, pause, PATIENCE_MS, sseEvents, textOf } from '../wire/harness.js';
import { Modern, word } from '../wire/modern.js';

const AGAIN_MS = 25; // before a request that failed is sent again
const POLL_MS = 25;
export const CALL_MS = Number(process.env.CHAOS_CALL_MS ?? PATIENCE_MS); // in which a call has to end, whatever is done to the servers
const TASKS = { elicitation: {}, extensions: { 'io.modelcontextprotocol/tasks': {} } };

export class Lost extends Error {}

export const wordsOf = (tag) => ({ first: `${tag}-a`, second: `${tag}-b` });
const noWord = { action: 'accept', content: { word: 7 } }; // what deed_retry is told first
export const rightText = (tool, tag) =>
  /^(word|crash(?!_sometimes))/.test(tool) ? `${tag}: ${tag}-a` : `${tag}: ${tag}-a ${tag}-b`;

// What a call has been through.
export class Story {
  // `over`: says that nobody waits for the end any more.
  constructor(tool, tag, ms = CALL_MS, over = () => false) {
    this.tool = tool;
    this.tag = tag;
    this.over = over;
    this.until = Date.now() + ms;
    this.lines = [];
    this.begun = 0;
    this.sentAgain = 0;
    this.whyAgain = []; // what was seen each time
    this.twins = []; // replies to what was sent once more
    this.wrong = new Set(); // questions that were answered wrongly
  }

  // What this question is told now.
  wordFor(named) {
    const key = named.split('.').at(-1); // a hook's keys are its own
    if (this.tool !== 'deed_retry' || this.wrong.has(key)) return word(wordsOf(this.tag)[key]);
    this.wrong.add(key);
    return noWord;
  }

  // Nobody may be told another end than the one that was told first.
  async agree(text) {
    for (const twin of await Promise.all(this.twins)) {
      if (!twin) continue; // its connection failed
      // The twin of wrong content, which came when the right one had been taken, is told so.
      if (this.wrong.size && /answered before, with other answers/.test(twin.error?.message ?? '')) continue;
      if (twin.error) throw this.lost(`the same request once more was refused: ${JSON.stringify(twin.error)}`);
      if (twin.text !== undefined && twin.text !== text) throw this.lost(`two ends: ${text} and ${twin.text}`);
    }
  }

  note(line) {
    this.lines.push(`${new Date().toISOString().slice(17, 23)} ${line}`);
    if (this.lines.length > 60) this.lines.shift();
  }

  lost(why) {
    return new Lost(`${this.tool} ${this.tag}: ${why}\n${this.lines.join('\n')}`);
  }

  async again(why) {
    this.note(why);
    this.whyAgain.push(why);
    this.sentAgain++;
    if (this.over() || Date.now() > this.until) throw this.lost('not in time');
    await pause(AGAIN_MS);
  }
}

// A connection that failed, by whichever name; anything else is a fault of the test or of the server.
export function connectionFailed(error) {
  if (error instanceof assert.AssertionError || error instanceof Lost || error instanceof SyntaxError) throw error;
  return error.cause?.code ?? error.cause?.message ?? error.message;
}

// Nobody was there: what was to begin has not begun.
const refused = (error) => error.cause?.code === 'ECONNREFUSED';

// Which node has answered, where a proxy says so.
const servedBy = (headers) => headers.get('x-served-by')?.split(', ').at(-1);

export const away = (status) => status === 502 || status === 503 || status === 504;

// A request gives up by itself, so that a server that is asleep does not hold the client for ever.
export const patience = (story, ms) => AbortSignal.timeout(Math.max(1, Math.min(ms, story.until - Date.now())));

const tryLater = ({ error }) => error && /try again later/.test(error.message);

// Sends until there is a reply: `once` resolves to one with its status.
export async function patiently(what, once) {
  const story = new Story(what, '');
  for (;;) {
    try {
      const reply = await once();
      if (!away(reply.status) && !tryLater(reply)) return reply;
      await story.again(`${what}: ${reply.status} ${reply.text}`);
    } catch (error) {
      await story.again(`${what}: ${connectionFailed(error)}`);
    }
  }
}

// Requests by hand, each sent until there is a reply.
export class Patient extends Modern {
  request(method, params, options) {
    return patiently(method, () => super.request(method, params, options));
  }
}

class Client {
  constructor(urls, { patienceMs = 30000, pick, twice = false, disorder = false, sameId = false, token, capabilities = { elicitation: {} } } = {}) {
    this.capabilities = capabilities;
    this.token = token;
    this.urls = [urls].flat();
    this.patienceMs = patienceMs;
    this.pick = pick ?? ((all) => all[this.turn++ % all.length]);
    this.twice = twice;
    this.disorder = disorder;
    this.sameId = sameId;
    this.turn = 0;
    this.answers = this.elsewhere = 0; // given, and through another node than the one that asked
  }

  // No two requests of a client need to reach the same node.
  get url() {
    return this.pick(this.urls);
  }
}

// --- 2026 ---

export class Client2026 extends Client {
  constructor(urls, manners) {
    super(urls, manners);
    this.modern = new Modern(this.urls[0], { token: this.token, capabilities: this.capabilities });
  }

  async connect() {
    return this;
  }

  // The same once more, to whichever node. What comes of it is looked at when the call has ended.
  twin(story, method, params, options) {
    const reply = this.modern.request(method, params, { url: this.url, signal: patience(story, this.patienceMs), ...options });
    story.twins.push(reply.then((told) => (away(told.status) || tryLater(told) ? null
      : { error: told.error, text: told.result?.resultType === 'complete' && told.result.content ? textOf(told.result) : undefined }),
    (error) => void connectionFailed(error)));
  }

  async request(story, method, params, options = {}) {
    for (;;) {
      if (options.fragile) story.begun++;
      if (this.twice && !options.fragile) this.twin(story, method, params, options);
      try {
        const reply = await this.modern.request(method, params, { url: this.url, signal: patience(story, this.patienceMs), ...options });
        if (!away(reply.status) && !tryLater(reply)) return reply;
        await story.again(`${method}: ${reply.status} ${reply.text}`);
      } catch (error) {
        if (options.fragile && refused(error)) story.begun--;
        await story.again(`${method}: ${connectionFailed(error)}`);
      }
      if (options.fragile) return null;
    }
  }

  async call(tool, tag, { ms, over, slow_ms, crashes, meanwhile } = {}) {
    const story = new Story(tool, tag, ms, over);
    const args = { tag, ...(slow_ms ? { slow_ms } : {}), ...(crashes === undefined ? {} : { crashes }) };
    const retries = [];
    let retry;
    let asker;
    for (;;) {
      const reply = await this.request(story, 'tools/call', { name: tool, arguments: args, ...retry }, { fragile: !retry });
      if (!reply) continue; // no state yet: begun again
      if (retry) this.answers++;
      if (retry && servedBy(reply.headers) !== asker) this.elsewhere++;
      asker = servedBy(reply.headers);
      const { result } = reply;
      if (!result) return { error: reply.error, story };
      if (result.resultType === 'complete') {
        if (this.twice && tool !== 'deed_retry') // with every state it ever had, the oldest too
          for (const old of retries) this.twin(story, 'tools/call', { name: tool, arguments: args, ...old }, {});
        await story.agree(textOf(result));
        return { result, text: textOf(result), story };
      }
      let keys = Object.keys(result.inputRequests ?? {});
      story.note(`asked for ${keys}`);
      if (this.disorder && keys.length > 1) keys = keys.slice(-1);
      const responses = Object.fromEntries(keys.map((key) => [key, story.wordFor(key)]));
      retry = { requestState: result.requestState, inputResponses: result.inputRequests ? responses : retry?.inputResponses };
      retries.push(retry);
      await meanwhile?.(result);
    }
  }
}

export class TaskClient extends Client2026 {
  async begin(story, tool, tag, slow_ms, crashes) {
    const args = { tag, ...(slow_ms ? { slow_ms } : {}), ...(crashes === undefined ? {} : { crashes }) };
    for (;;) {
      const reply = await this.request(story, 'tools/call', { name: tool, arguments: args }, { capabilities: TASKS, fragile: true });
      if (reply && !reply.result?.taskId) throw story.lost(`no task: ${reply.text}`);
      if (reply) return reply.result.taskId;
    }
  }

  // While the store is away, it is said that nothing was done, and to come later.
  async patient(story, method, params) {
    for (;;) {
      const reply = await this.request(story, method, params, { capabilities: TASKS });
      if (!/store cannot be reached/.test(reply.error?.message) || Date.now() > story.until) return reply;
      await pause(POLL_MS);
    }
  }

  get(story, taskId) {
    return this.patient(story, 'tasks/get', { taskId });
  }

  async call(tool, tag, { ms, over, slow_ms, crashes, meanwhile } = {}) {
    const story = new Story(tool, tag, ms, over);
    const taskId = await this.begin(story, tool, tag, slow_ms, crashes);
    for (;;) {
      const reply = await this.get(story, taskId);
      const task = reply.result;
      if (!task) throw story.lost(`the task is gone: ${reply.text}`);
      story.note(`${task.status} ${Object.keys(task.inputRequests ?? {})}`);
      if (task.status === 'completed') {
        await story.agree(textOf(task.result));
        return { result: task.result, text: textOf(task.result), story };
      }
      if (task.status !== 'working' && task.status !== 'input_required') return { error: task, story };
      if (Date.now() > story.until) throw story.lost('not in time');
      if (task.status === 'input_required') {
        await meanwhile?.(task);
        const inputResponses = Object.fromEntries(Object.keys(task.inputRequests).map((key) => [key, story.wordFor(key)]));
        const updated = await this.patient(story, 'tasks/update', { taskId, inputResponses });
        if (!updated.result) throw story.lost(`tasks/update: ${updated.text}`);
      } else {
        await pause(POLL_MS);
      }
    }
  }

  // Begins one, and cancels it while it asks.
  async cancelled(tool, tag) {
    const story = new Story(tool, tag);
    const taskId = await this.begin(story, tool, tag);
    for (let status; status !== 'input_required'; await pause(POLL_MS)) {
      const reply = await this.get(story, taskId);
      if (!reply.result) throw story.lost(`the task is gone: ${reply.text}`);
      status = reply.result.status;
      if (Date.now() > story.until) throw story.lost('not in time');
    }
    for (let status; status !== 'cancelled'; await pause(POLL_MS)) {
      await this.request(story, 'tasks/cancel', { taskId }, { capabilities: TASKS }); // it is a wish, and may be forgotten
      const reply = await this.get(story, taskId);
      status = reply.result?.status;
      if (Date.now() > story.until) throw story.lost(`not in time: ${reply.text}`);
    }
  }
}

// --- 2025 ---

let lastId = 0;

const DISORDER_MS = 120; // the first answer comes after the second

export class Client2025 extends Client {
  headers(extra = {}) {
    return {
      ...defaultHeaders,
      'MCP-Protocol-Version': '2025-11-25',
      ...(this.session ? { 'Mcp-Session-Id': this.session } : {}),
      ...(this.token ? { Authorization: `Bearer ${this.token}` } : {}),
      ...extra,
    };
  }

  fetch(story, method, body, headers, url = this.url) {
    return fetch(url, { method, headers: this.headers(headers), body: body && JSON.stringify(body), signal: patience(story, this.patienceMs) });
  }

  // Begins a session; one whose beginning failed is begun again.
  async connect() {
    const story = new Story('initialize', '');
    for (;;) {
      try {
        this.session = undefined;
        const reply = await this.fetch(story, 'POST', initializeMessage(this.capabilities));
        const text = await reply.text();
        if (away(reply.status)) throw new Error(`initialize: ${reply.status}`);
        assert.equal(reply.status, 200, text);
        this.session = reply.headers.get('mcp-session-id');
        const taken = await this.fetch(story, 'POST', { jsonrpc: '2.0', method: 'notifications/initialized' });
        await taken.text();
        if (taken.status === 202) return this;
        await story.again(`initialized: ${taken.status}`);
      } catch (error) {
        await story.again(connectionFailed(error));
      }
    }
  }

  // The same answer once more: it is taken, or it is told that it came too late.
  twin(story, message) {
    story.twins.push(this.fetch(story, 'POST', { jsonrpc: '2.0', ...message }).then(async (reply) => {
      const text = await reply.text();
      return [202, 409].includes(reply.status) || away(reply.status) ? null : { error: `${reply.status} ${text}` };
    }, (error) => void connectionFailed(error)));
  }

  // A message that is not answered by a message: sent until it is taken.
  async post(story, message) {
    for (;;) {
      try {
        const reply = await this.fetch(story, 'POST', { jsonrpc: '2.0', ...message });
        const text = await reply.text();
        if (reply.status === 202) return reply;
        if (reply.status === 409 && message.result === noWord) return reply; // it was said before, and has been put right since
        if (reply.status === 409 && story.tool === 'crash_answer') return reply; // its call has ended by it
        if (!away(reply.status)) throw story.lost(`an answer was refused: ${reply.status} ${text}`);
        await story.again(`answer: ${reply.status}`);
      } catch (error) {
        await story.again(`answer: ${connectionFailed(error)}`);
      }
    }
  }

  async answer(story, tag, ask, asker) {
    const key = /the (\w+) word/.exec(ask.params.message)[1];
    if (this.disorder && key === 'first') await pause(DISORDER_MS);
    const message = { id: ask.id, result: story.wordFor(key) };
    if (this.twice) this.twin(story, message);
    const taken = await this.post(story, message);
    this.answers++;
    if (servedBy(taken.headers) !== asker) this.elsewhere++;
    story.note(`answered ${key} (${ask.id})`);
  }

  // Reads a response until its end, or the result of `id`. Remembers in `seen` what to come back with.
  async read(story, tag, response, id, seen, answers, onAsk) {
    for await (const event of sseEvents(response.body)) {
      if (event.id) seen.last = event.id;
      if (!event.data) continue;
      const message = JSON.parse(event.data);
      if (message.method === 'elicitation/create') {
        story.note(`asked (${message.id}) at ${event.id}`);
        answers.push(onAsk ? onAsk(message, story) : this.answer(story, tag, message, servedBy(response.headers)));
        answers.at(-1).catch((error) => (seen.failure = error));
      } else if (message.id === id && !message.method) {
        return message;
      }
      if (seen.failure) throw seen.failure;
    }
    return null;
  }

  async begin(story, tool, args, id) {
    story.begun++;
    const message = { jsonrpc: '2.0', id, method: 'tools/call', params: { name: tool, arguments: args } };
    const response = await this.fetch(story, 'POST', message);
    if (response.status === 200) return response;
    const text = await response.text();
    if (!away(response.status)) throw story.lost(`tools/call: ${response.status} ${text}`);
    throw new Error(`tools/call: ${response.status}`);
  }

  async resume(story, seen) {
    const response = await this.fetch(story, 'GET', undefined, { 'Last-Event-ID': seen.last });
    if (response.status === 200) return response;
    const text = await response.text();
    if (!away(response.status)) throw story.lost(`resuming after ${seen.last}: ${response.status} ${text}`);
    throw new Error(`resuming: ${response.status}`);
  }

  async call(tool, tag, { ms, over, slow_ms, crashes, onAsk } = {}) {
    const story = new Story(tool, tag, ms, over);
    const args = { tag, ...(slow_ms ? { slow_ms } : {}), ...(crashes === undefined ? {} : { crashes }) };
    const answers = [];
    let seen = {};
    let id;
    for (;;) {
      try {
        const fresh = seen.last === undefined;
        if (fresh && !(id && this.sameId)) id = `${tag}-${++lastId}`;
        const response = fresh ? await this.begin(story, tool, args, id) : await this.resume(story, seen);
        story.note(fresh ? 'begun' : `resumed after ${seen.last}`);
        const message = response.headers.get('content-type')?.startsWith('application/json')
          ? await response.json() : await this.read(story, tag, response, id, seen, answers, onAsk);
        if (message) {
          await Promise.all(answers);
          await story.agree(message.result && textOf(message.result));
          return { ...message, text: message.result && textOf(message.result), story };
        }
        await story.again('the stream has ended');
      } catch (error) {
        if (seen.last === undefined && refused(error)) story.begun--;
        await story.again(connectionFailed(error));
      }
      if (seen.failure) throw seen.failure;
    }
  }

  // Begins one, and cancels it when it asks.
  async cancelled(tool, tag) {
    const story = new Story(tool, tag);
    const id = `${tag}-${++lastId}`;
    for (let asked = false; !asked;) {
      try {
        const response = await this.begin(story, tool, { tag }, id);
        for await (const event of sseEvents(response.body))
          if (event.data && (asked = JSON.parse(event.data).method === 'elicitation/create')) break;
        if (!asked) await story.again('the stream has ended');
      } catch (error) {
        await story.again(connectionFailed(error));
      }
    }
    await this.post(story, { method: 'notifications/cancelled', params: { requestId: id, reason: 'the test wants it' } });
  }
}

// --- what came out ---

const unknownOutcome = (call) => /OUTCOME_UNKNOWN/.test(JSON.stringify(call.result?._meta ?? call.error ?? ''));

// Counts a call: right, or lost, or its deed was done twice.
export class Count {
  constructor() {
    this.calls = this.lost = this.doubled = this.unknown = this.crashed = this.begunAgain = this.sentAgain = 0;
    this.faults = [];
  }

  fault(kind, text) {
    this[kind]++;
    this.faults.push(text);
  }

  add(house, tool, tag, call) {
    const deeds = house.deedsOf(tag);
    const once = tool === 'deed_once';
    this.calls++;
    this.begunAgain += call.story.begun - 1;
    this.sentAgain += call.story.sentAgain;
    if (once && unknownOutcome(call)) this.unknown++;
    else if (call.text !== rightText(tool, tag) || call.result.isError)
      this.fault('lost', `${tool} ${tag} ended wrongly: ${JSON.stringify(call.result ?? call.error)}\n${call.story.lines.join('\n')}`);
    else if (!tool.startsWith('word') && deeds !== 1)
      this.fault(deeds ? 'doubled' : 'lost', `${tool} ${tag}: ${deeds} deeds`);
    const early = house.deedsOf(`${tag}.early`); // once for each call that was begun, and never for nobody
    if (tool === 'deed_early' && (early < 1 || early > call.story.begun))
      this.fault(early ? 'doubled' : 'lost', `${tool} ${tag}: ${early} early deeds, begun ${call.story.begun} times\n${call.story.lines.join('\n')}`);
    if (deeds > 1) this.fault('doubled', `${tool} ${tag}: ${deeds} deeds`);
    if (once && house.again().some((name) => name.startsWith(`${tag}@`))) this.fault('doubled', `${tool} ${tag}: tried a second time`);
  }

  async of(house, tool, tag, promise) {
    try {
      this.add(house, tool, tag, await promise);
    } catch (error) {
      this.calls++;
      this.fault('lost', error instanceof Lost ? error.message : error.stack);
    }
  }

  join(other, where) {
    for (const kind of ['calls', 'lost', 'doubled', 'unknown', 'crashed', 'begunAgain', 'sentAgain']) this[kind] += other[kind];
    this.faults.push(...other.faults.map((fault) => `${where}: ${fault}`));
  }

  check(t, house, what) {
    const again = house ? `, second attempts ${house.again().length}, crashes ${house.crashed().length}` : '';
    t.diagnostic(`${what}: calls ${this.calls}, lost ${this.lost}, doubled ${this.doubled}, outcome unknown ${this.unknown}` +
      `, ended by their crashes ${this.crashed}${again}, begun again without a handle ${this.begunAgain}, sent again ${this.sentAgain}`);
    assert.deepEqual({ lost: this.lost, doubled: this.doubled }, { lost: 0, doubled: 0 },
      `${this.faults.slice(0, 3).join('\n\n')}\n\nall of them:\n${this.faults.map((fault) => fault.split('\n')[0]).join('\n')}`);
  }
}
