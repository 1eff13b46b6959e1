// The inbox as tests use it: servers with tokens of every role on every store, and the API by fetch.
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { startHttp, pause, within, connect, PATIENCE_MS } from './harness.js';
import { scratchFolder } from './modern.js';
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

export async function openHouse(t, { nodes, create }, { program = 'probe', args = [], env = {} } = {}) {
  const store = await create(t);
  const file = tokenFile(t);
  const servers = [];
  for (let i = 0; i < nodes; i++)
    servers.push(await startHttp(t, program, { env, args: ['--token-file', file, '--store', store?.address ?? 'memory:', ...args] }));
  return { servers, first: servers[0], last: servers.at(-1), tokens: file };
}

// The API of a server as one of the people sees it. `who` null: without any credential.
export class Api {
  constructor(server, who) {
    this.base = new URL('/', server.url).href.slice(0, -1);
    this.who = who;
  }

  async request(method, target, { body, headers = {} } = {}) {
    const response = await fetch(this.base + target, {
      method,
      headers: {
        ...(this.who ? { Authorization: `Bearer ${token(this.who)}` } : {}),
        ...(body === undefined ? {} : { 'Content-Type': 'application/json' }),
        ...headers,
      },
      body: body === undefined || typeof body === 'string' ? body : JSON.stringify(body),
    });
    const text = await response.text();
    const type = response.headers.get('content-type') ?? '';
    return { status: response.status, type, headers: response.headers, text, json: /json/.test(type) ? JSON.parse(text) : null };
  }

  get(target, options) {
    return this.request('GET', target, options);
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
