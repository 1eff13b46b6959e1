// The inbox as tests use it: servers with tokens of every role on every store, and the API by fetch.
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { Inbox, startHttp, pause, within, connect, sseEvents, PATIENCE_MS } from './harness.js';
import { scratchFolder } from './modern.js';
import { Description } from './openapi.js';
import { stores } from './stores.js';

// Who there is. `ask` calls tools and answers nothing.
export const people = {
  ada: 'ask answer', // calls, and answers what was put to her
  bob: 'ask answer',
  carl: 'ask', // an agent
  dora: 'approve',
  root: 'ask admin',
};
export const token = (name) => `${name}-token-0123456789abcdef`;

export function tokenFile(t, roles = people) {
  const file = path.join(scratchFolder(t), 'tokens');
  writeFileSync(file, Object.entries(roles).map(([name, words]) => `${token(name)} ${name} ${words}\n`).join(''), { mode: 0o600 });
  return file;
}

export const houses = [
  { name: 'memory', nodes: 1, create: async () => null },
  { name: 'sqlite', nodes: 1, create: stores.find(({ name }) => name === 'sqlite').create },
  { name: 'two nodes of redis', nodes: 2, create: stores.find(({ name }) => name === 'redis').create },
];

export async function openHouse(t, { nodes, create }, { program = 'probe', args = [], env = {}, people: roles } = {}) {
  const store = await create(t);
  const file = tokenFile(t, roles);
  const start = (more = []) => startHttp(t, program, { env, args: ['--token-file', file, '--store', store?.address ?? 'memory:', ...args, ...more] });
  const servers = [];
  for (let i = 0; i < nodes; i++) servers.push(await start());
  return { servers, first: servers[0], last: servers.at(-1), tokens: file, store, start };
}

// The API of a server as one of the people sees it. `who` null: without any credential.
export class Api {
  constructor(server, who, description) {
    this.base = new URL('/', server.url).href.slice(0, -1);
    this.who = who;
    this.description = description; // replies are checked against it
  }

  credential() {
    return this.who ? { Authorization: `Bearer ${token(this.who)}` } : {};
  }

  async request(method, target, { body, headers = {} } = {}) {
    const response = await fetch(this.base + target, {
      method,
      headers: {
        ...this.credential(),
        ...(body === undefined ? {} : { 'Content-Type': 'application/json' }),
        ...headers,
      },
      body: body === undefined || typeof body === 'string' ? body : JSON.stringify(body),
    });
    const text = await response.text();
    const type = response.headers.get('content-type') ?? '';
    const reply = { status: response.status, type, headers: response.headers, text, json: /json/.test(type) ? JSON.parse(text) : null };
    this.description?.check(method, target, reply);
    return reply;
  }

  get(target, options) {
    return this.request('GET', target, options);
  }

  // As somebody who comes again when told to: of one user only so many requests may wait for the store.
  async getInTime(target) {
    for (;; await pause(50)) {
      const reply = await this.get(target);
      if (reply.status !== 429) return reply;
    }
  }

  async describe() {
    this.description = new Description((await this.get('/api/openapi.json')).json);
    return this;
  }

  as(who) {
    return new Api({ url: this.base }, who, this.description);
  }

  me() {
    return this.get('/api/me');
  }

  list(query = {}) {
    return this.get(`/api/elicitation?${new URLSearchParams(query)}`);
  }

  one(id) {
    return this.get(`/api/elicitation/${id}`);
  }

  resolve(id, body, options) {
    return this.request('POST', `/api/elicitation/${id}/resolve`, { body, ...options });
  }

  // The pending asks, once there are so many.
  pending(count = 1, query = {}) {
    return within(PATIENCE_MS, `${count} pending`, (async () => {
      for (;;) {
        const { json } = await this.list(query);
        if (json.items?.length >= count) return json.items;
        await pause(10);
      }
    })());
  }
}

// A client that cannot ask anybody: what its calls ask is asked in the inbox.
export const mute = (t, server, who, options = {}) => connect(t, 'http', 'probe', { server, token: token(who), capabilities: {}, ...options });

// A reader of GET /api/events. What has come is in `events`; `list` is what the page would show as pending.
export class Watcher {
  static async open(t, api, { last } = {}) {
    const made = new Watcher();
    made.api = api;
    made.events = []; // as they came
    made.looked = []; // lists that were fetched after a reset
    made.arrived = new Inbox();
    made.abort = new AbortController();
    t.after(() => made.abort.abort());
    made.response = await fetch(`${api.base}/api/events`, {
      headers: { Accept: 'text/event-stream', ...api.credential(), ...(last ? { 'Last-Event-ID': last } : {}) },
      signal: made.abort.signal,
    });
    made.ended = made.#read();
    return made;
  }

  async #read() {
    try {
      for await (const { id, event, data, comment } of sseEvents(this.response.body)) {
        if (comment !== undefined || !event) continue;
        const one = { id, event, at: Date.now(), data: JSON.parse(data) };
        this.events.push(one);
        this.arrived.push(one);
        // As the page does. At the end of a test its store stops first, and then the server, perhaps in the middle of this; who waits for
        // the list fails without it.
        if (event === 'reset') this.#look(one).catch(() => {});
      }
      return 'ended';
    } catch {
      return 'dropped';
    }
  }

  async #look({ id, at }) {
    const { json } = await this.api.list({ limit: 200 });
    const one = { id, event: 'changes', at, looked: true, data: { pending: json.items, ended: [], gone: [] } };
    this.looked.push(one);
    this.arrived.push(one);
  }

  // It was told to look, and has looked: what comes from now on is told.
  async ready() {
    await this.next('reset');
    return this.arrived.next(({ looked }) => looked, 'the list after a reset');
  }

  get last() {
    return this.events.at(-1)?.id;
  }

  next(event, wanted = () => true) {
    return this.arrived.next((one) => one.event === event && wanted(one.data), `the event ${event}`);
  }

  // The item with this message, in the first event that has it in `where`.
  async item(where, message) {
    const { data } = await this.next('changes', (data) => data[where].some((item) => item.message === message));
    return data[where].find((item) => item.message === message);
  }
}
