// Who may what: every way in which a request can come to a server with tokens, as a list, so that a table of them can be
// tested for any route: statuses(server, people, method, path) gives { 'no credential': 401, 'bearer: ask': 403, ... }.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import http from 'node:http';
import assert from 'node:assert/strict';
import { fetchOver } from './tls.js';

export const PEOPLE = {
  ask: { token: 'ask-token-0123456789abcdef', name: 'ann', roles: 'ask' },
  answer: { token: 'answer-token-0123456789abcdef', name: 'ada', roles: 'answer' },
  approve: { token: 'approve-token-0123456789abcdef', name: 'abe', roles: 'approve' },
  admin: { token: 'admin-token-0123456789abcdef', name: 'root', roles: 'admin' },
  other: { token: 'other-token-0123456789abcdef', name: 'bob', roles: 'answer' },
};

export const line = ({ token, name, roles }) => `${token} ${name} ${roles}\n`;

export function tokenFile(t, people = Object.values(PEOPLE)) {
  const folder = mkdtempSync(path.join(tmpdir(), 'nod-signin-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const file = path.join(folder, 'tokens');
  writeFileSync(file, people.map(line).join(''), { mode: 0o600 });
  return file;
}

export const bearer = (token) => ({ Authorization: `Bearer ${token}` });

// Failed attempts are slowed by address. So that a table of them is quick, each comes from another address of this machine.
let guests = 0;
async function fetchAsGuest(url, { body, headers, ...options }) {
  guests = (guests + 1) % 60000;
  const send = fetchOver(http.request, { localAddress: `127.1.${guests >> 8}.${guests & 255}` });
  if (!(body instanceof Blob)) return send(url, { body, headers, ...options });
  return send(url, { body: Buffer.from(await body.arrayBuffer()), headers: { 'Content-Type': body.type, ...headers }, ...options });
}

// A browser that is signed in: it sends its cookie, the key that its pages keep and, with a change, its origin.
export class Browser {
  constructor(url) {
    this.origin = new URL(url).origin;
    this.jar = new Map();
  }

  get cookie() {
    return [...this.jar].map(([name, value]) => `${name}=${value}`).join('; ');
  }

  async fetch(name, { method = 'GET', headers = {}, body, redirect = 'manual', signal } = {}) {
    const own = { Cookie: this.cookie, 'X-Page-Key': this.key, 'Sec-Fetch-Site': 'same-origin' };
    if (method !== 'GET') own.Origin = this.origin;
    const all = Object.entries({ ...own, ...headers }).filter(([, value]) => value !== undefined && value !== '');
    const reply = await (this.guest ? fetchAsGuest : fetch)(new URL(name, this.origin), { method, headers: Object.fromEntries(all), body, redirect, signal });
    for (const set of reply.headers.getSetCookie()) {
      const [, key, value, attributes] = /^([^=]+)=([^;]*)(.*)$/.exec(set);
      this.lastSet = { key, value, attributes };
      if (/Max-Age=0/.test(attributes)) this.jar.delete(key);
      else this.jar.set(key, value);
    }
    return reply;
  }

  async #keep(reply) {
    assert.equal(reply.status, 200, reply.statusText);
    this.key = (await reply.json()).key;
    return this;
  }

  // The page of a link is opened, and its button pressed.
  async open(link) {
    const page = await this.fetch(link, { headers: { 'Sec-Fetch-Site': 'none', 'Sec-Fetch-Dest': 'document' } });
    assert.equal(page.status, 200, await page.text());
    return this.#keep(await this.fetch(link, { method: 'POST' }));
  }

  async signIn(token) {
    return this.#keep(await this.fetch('/api/login', { method: 'POST', headers: bearer(token) }));
  }

  // The same sign-in, as another browser object at another address.
  as(other) {
    return Object.assign(this, { jar: other.jar, key: other.key });
  }
}

// Every way to come. Each is a function of (method, path, body) that gives the reply.
export async function ways(url) {
  const raw = (headers, send = fetch) => (method, name, body) => send(new URL(name, url), { method, headers, body, redirect: 'manual' });
  const signedIn = async ({ token }) => {
    const browser = await new Browser(url).signIn(token);
    browser.old = browser.lastSet.value;
    return browser;
  };
  const by = (browser, headers) => (method, name, body) => browser.fetch(name, { method, headers, body });
  const ada = await signedIn(PEOPLE.answer);
  const out = await signedIn(PEOPLE.answer);
  assert.equal((await out.fetch('/api/logout', { method: 'POST' })).status, 204);
  const ended = new Browser(url);
  ended.jar.set(out.lastSet.key, 'AAAAAAAAAAAAAAAAAAAAAA');
  Object.assign(ended, { key: 'A'.repeat(22), guest: true });
  const all = {
    'no credential': raw({}),
    'no credential, our origin': raw({ Origin: new URL(url).origin, 'Sec-Fetch-Site': 'same-origin' }),
    'an unknown token': raw(bearer('wrong-token-0123456789'), fetchAsGuest),
    'an unknown cookie': by(ended),
    'signed out': by(Object.assign(new Browser(url), { jar: new Map([[out.lastSet.key, out.old]]), key: out.key, guest: true })),
  };
  for (const role of ['ask', 'answer', 'approve', 'admin', 'other']) {
    all[`bearer: ${role}`] = raw(bearer(PEOPLE[role].token));
    all[`cookie: ${role}`] = by(await signedIn(PEOPLE[role]));
  }
  return {
    ...all,
    'cookie, wrong Origin': by(ada, { Origin: 'http://localhost:1' }),
    'cookie, foreign Origin': by(ada, { Origin: 'https://evil.example' }),
    'cookie, no Origin': by(ada, { Origin: undefined }),
    'cookie, no key': by(ada, { 'X-Page-Key': undefined }),
    'cookie, wrong key': by(Object.assign(new Browser(url), { jar: ada.jar, key: 'A'.repeat(22), guest: true })),
    'cookie, key of another sign-in': by(Object.assign(new Browser(url), { jar: ada.jar, key: (await signedIn(PEOPLE.answer)).key, guest: true })),
    'key, no cookie': by(Object.assign(new Browser(url), { key: ada.key })),
    'cookie, from another site': by(ada, { 'Sec-Fetch-Site': 'cross-site' }),
    'cookie, from another port': by(ada, { 'Sec-Fetch-Site': 'same-site' }),
    'bearer, from another site': raw({ ...bearer(PEOPLE.admin.token), 'Sec-Fetch-Site': 'cross-site' }),
  };
}

// The status that each way of coming leads to.
export async function statuses(all, method, name, body) {
  const seen = {};
  for (const [way, send] of Object.entries(all)) {
    const reply = await send(method, name, body);
    await reply.body?.cancel();
    seen[way] = reply.status;
  }
  return seen;
}
