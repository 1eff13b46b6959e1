// Signing in: one-time links, cookies, and who may what with which of them.
import test from 'node:test';
import assert from 'node:assert/strict';
import http from 'node:http';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promptly, startHttp, within, PATIENCE_MS } from './harness.js';
import { fetchOver } from './tls.js';
import { stores } from './stores.js';
import { Browser, PEOPLE, bearer, line, statuses, tokenFile, ways } from './credentials.js';

const ME = '/signed/me';
const linkOf = async (server) => /event=inbox url="?(http[^\s"]+)/.exec(await server.said(/event=inbox /))[1];
const PAGE_HEADERS = {
  'content-security-policy':
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'",
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
  'cache-control': 'no-store',
};

function folder(t) {
  const name = mkdtempSync(path.join(tmpdir(), 'nod-signin-'));
  t.after(() => rmSync(name, { recursive: true, force: true }));
  return name;
}

test('the link of the start opens it once, as the local user with all roles, and the cookie is for our pages alone', async (t) => {
  const server = await startHttp(t, 'toy-route');
  const link = await linkOf(server);
  assert.match(new URL(link).pathname, /^\/login\/[\w-]{22}$/);
  // To look at it uses nothing up and signs nobody in, whoever looks.
  const document = { 'Sec-Fetch-Dest': 'document', 'Sec-Fetch-Mode': 'navigate' };
  for (const [method, headers, status] of [
    ['HEAD', {}, 200], ['GET', { 'Sec-Purpose': 'prefetch', ...document }, 200], ['GET', { 'Sec-Fetch-Site': 'cross-site', ...document }, 200], ['GET', { 'Sec-Fetch-Site': 'none', ...document }, 200],
    ['GET', { 'Sec-Fetch-Dest': 'image' }, 403], ['GET', { 'Sec-Fetch-Dest': 'iframe' }, 403], ['GET', { 'Sec-Fetch-Dest': 'empty' }, 403],
  ]) {
    const looked = await fetch(link, { method, headers, redirect: 'manual' });
    assert.deepEqual([looked.status, looked.headers.getSetCookie()], [status, []], JSON.stringify(headers));
    if (method === 'GET' && status === 200) assert.match(await looked.text(), /This link signs you in as <bdi[^>]*>local</);
  }
  // To use it takes its own page.
  const origin = new URL(link).origin;
  for (const headers of [{}, { Origin: 'http://127.0.0.1:1' }, { Origin: 'null' }, { Origin: origin, 'Sec-Fetch-Site': 'cross-site' }, { Origin: origin, 'Sec-Fetch-Site': 'same-site' }]) {
    const refused = await fetch(link, { method: 'POST', headers });
    assert.deepEqual([refused.status, refused.headers.getSetCookie()], [403, []], JSON.stringify(headers));
  }
  const browser = new Browser(server.url);
  await browser.open(link);
  assert.equal(browser.lastSet.key, `nod-${new URL(server.url).port}`);
  assert.equal(browser.lastSet.attributes, '; Path=/; Max-Age=43200; HttpOnly; SameSite=Strict');
  const me = await (await browser.fetch(ME)).json();
  assert.deepEqual([me.principal, me.roles, browser.key.length], ['local', 15, 22]);
  for (const again of [link, new URL('/login/AAAAAAAAAAAAAAAAAAAAAA', link), new URL('/login/short', link)]) for (const method of ['GET', 'POST']) {
    const refused = await fetch(again, { method, headers: { Origin: origin }, redirect: 'manual' });
    assert.equal(refused.status, again === link ? 410 : 404);
    assert.equal(refused.headers.getSetCookie().length, 0);
    assert.match((await refused.json()).detail, /SIGHUP/);
  }
});

test('of twenty that open a link at once, one is signed in', async (t) => {
  const server = await startHttp(t, 'toy-route');
  const link = await linkOf(server);
  const all = await Promise.all(Array.from({ length: 20 }, () => fetch(link, { method: 'POST', headers: { Origin: new URL(link).origin } })));
  assert.deepEqual(all.map((reply) => reply.status).sort(), [200, ...Array(19).fill(410)].sort());
});

test('loopback is not consent: without a credential nothing is seen, also where /mcp is open to the local user', async (t) => {
  const server = await startHttp(t, 'toy-route');
  const origin = new URL(server.url).origin;
  assert.equal((await fetch(`${origin}/toy/x`)).status, 200, 'other routes know the local user');
  for (const [method, name] of [['GET', ME], ['POST', ME], ['GET', '/signed-stream'], ['POST', '/api/login'], ['POST', '/api/login-link'], ['POST', '/api/logout']]) {
    const reply = await fetch(origin + name, { method });
    assert.equal(reply.status, 401, `${method} ${name}`);
    assert.equal(reply.headers.get('content-type'), 'application/problem+json');
    assert.match((await reply.json()).detail, /sign-in/);
    for (const [header, value] of Object.entries(PAGE_HEADERS)) assert.equal(reply.headers.get(header), value, header);
  }
});

test('who may what', async (t) => {
  const server = await startHttp(t, 'toy-route', { args: ['--token-file', tokenFile(t)] });
  const all = await ways(server.url);
  const nobody = { 'no credential': 401, 'no credential, our origin': 401, 'an unknown token': 401, 'an unknown cookie': 401, 'signed out': 401 };
  const foreign = { 'cookie, foreign Origin': 403, 'cookie, from another site': 403, 'cookie, from another port': 403, 'bearer, from another site': 403 };
  const people = (ask, answer, approve, admin) => ({
    'bearer: ask': ask, 'cookie: ask': ask, 'bearer: answer': answer, 'cookie: answer': answer, 'bearer: approve': approve, 'cookie: approve': approve,
    'bearer: admin': admin, 'cookie: admin': admin, 'bearer: other': answer, 'cookie: other': answer,
  });
  const halves = { 'cookie, no key': 403, 'cookie, wrong key': 401, 'cookie, key of another sign-in': 401, 'key, no cookie': 401 };
  const sloppy = (status) => ({ ...halves, 'cookie, wrong Origin': status, 'cookie, no Origin': status });
  assert.deepEqual(await statuses(all, 'GET', ME), { ...nobody, ...foreign, ...people(403, 200, 403, 200), ...sloppy(200) });
  // Half a sign-in does not even read. A change needs the Origin, too.
  assert.deepEqual(await statuses(all, 'POST', ME, 'x'), { ...nobody, ...foreign, ...people(403, 200, 403, 200), ...sloppy(403) });
  // A cookie is no credential where a new sign-in or a link is made: that takes the token.
  const tokens = { 'bearer: ask': 1, 'bearer: answer': 1, 'bearer: approve': 1, 'bearer: admin': 1, 'bearer: other': 1 };
  for (const [name, status] of [['/api/login', 200], ['/api/login-link', 200]]) {
    const seen = await statuses(all, 'POST', name);
    for (const [way, got] of Object.entries(seen))
      assert.equal(got, tokens[way] ? status : foreign[way] ?? 401, `${name}: ${way}`);
  }
});

test('/mcp takes no cookie', async (t) => {
  const server = await startHttp(t, 'toy-route', { args: ['--token-file', tokenFile(t)] });
  const browser = await new Browser(server.url).signIn(PEOPLE.admin.token);
  assert.equal((await browser.fetch('/mcp', { method: 'POST', body: '{}' })).status, 401);
  assert.equal((await browser.fetch('/toy/x')).status, 401);
});

test('logout ends the sign-in and takes the cookie away; a stream that is open is told at once', async (t) => {
  const server = await startHttp(t, 'toy-route', { args: ['--token-file', tokenFile(t)] });
  const browser = await new Browser(server.url).signIn(PEOPLE.answer.token);
  const old = browser.cookie;
  const stream = await browser.fetch('/signed-stream');
  const text = stream.text();
  assert.equal((await browser.fetch('/api/logout', { method: 'POST' })).status, 204);
  assert.match(await promptly(server.url, 1000, 'the stream ends', text), /event: hello[^]*event: bye\ndata: signed out/);
  assert.match(browser.lastSet.attributes, /Max-Age=0/);
  assert.equal((await browser.fetch(ME, { headers: { Cookie: old } })).status, 401);
});

test('a cookie of our name that another server has set does not shut out the one that is valid', async (t) => {
  const server = await startHttp(t, 'toy-route', { args: ['--token-file', tokenFile(t)] });
  const browser = await new Browser(server.url).signIn(PEOPLE.answer.token);
  const [own, other] = [browser.cookie, `${browser.lastSet.key}=AAAAAAAAAAAAAAAAAAAAAA`];
  const many = `${other}; `.repeat(180); // more than a browser keeps
  for (const Cookie of [`${other}; ${own}`, `${own}; ${other}`, `${many}${own}`, `${many}${own}; ${many}`]) assert.equal((await browser.fetch(ME, { headers: { Cookie } })).status, 200, Cookie);
  for (const Cookie of [`${other}; ${other}`, many]) assert.equal((await browser.fetch(ME, { headers: { Cookie } })).status, 401);
  const Cookie = `${other}; ${own}`;
  assert.equal((await browser.fetch('/api/logout', { method: 'POST', headers: { Cookie } })).status, 204);
  assert.equal((await browser.fetch(ME, { headers: { Cookie } })).status, 401);
});

test('a role that is taken from the token file is gone for its sign-ins and ends their streams; so is a token', async (t) => {
  const file = tokenFile(t);
  const server = await startHttp(t, 'toy-route', { args: ['--token-file', file] });
  const [ada, root] = await Promise.all(['answer', 'admin'].map((who) => new Browser(server.url).signIn(PEOPLE[who].token)));
  const streams = [await ada.fetch('/signed-stream'), await root.fetch('/signed-stream'), await fetch(new URL('/signed-stream', server.url), { headers: bearer(PEOPLE.admin.token) })];
  const texts = Promise.all(streams.map((stream) => stream.text()));
  writeFileSync(file, line({ ...PEOPLE.admin, roles: 'answer' }) + line(PEOPLE.other));
  server.signal('SIGHUP');
  for (const text of await promptly(server.url, 1500, 'the streams end', texts)) assert.match(text, /event: bye\ndata: the token is no longer valid, or has lost a role/);
  assert.equal((await ada.fetch(ME)).status, 401);
  assert.equal((await (await root.fetch(ME)).json()).roles, 2);
});

test('a sign-in whose token was gone does not come back with it, also if nobody has used it meanwhile', async (t) => {
  const file = tokenFile(t);
  const args = ['--token-file', file, '--store', `sqlite:${path.join(folder(t), 'nod.db')}`];
  const start = () => startHttp(t, 'toy-route', { args: [...args, '--public-url', 'http://127.0.0.1:9'] });
  const write = (...people) => writeFileSync(file, people.map(line).join(''));
  const first = await start();
  const [ada, bob] = await Promise.all(['answer', 'other'].map((who) => new Browser(first.url).signIn(PEOPLE[who].token)));
  const at = async (server, { cookie, key }) => (await fetch(new URL(ME, server.url), { headers: { Cookie: cookie, 'X-Page-Key': key } })).status;
  assert.deepEqual([await at(first, ada), await at(first, bob)], [200, 200]);
  write(PEOPLE.other);
  first.signal('SIGHUP');
  await first.said(/whose token is gone have ended" count=1/);
  write(PEOPLE.other, PEOPLE.answer);
  first.signal('SIGHUP');
  await first.said(/read again[^\n]*tokens=2/);
  assert.deepEqual([await at(first, ada), await at(first, bob)], [401, 200]);
  await first.stop();
  write(PEOPLE.answer); // while no server runs: the next one finds it at its start
  const second = await start();
  await second.said(/whose token is gone have ended" count=1/);
  await second.stop();
  write(PEOPLE.other, PEOPLE.answer);
  const last = await start();
  assert.deepEqual([await at(last, ada), await at(last, bob)], [401, 401]);
});

test('a sign-in ends by time, and when it is not used; a link when it is not followed', async (t) => {
  const env = { TOY_SESSION_MS: '2500', TOY_IDLE_MS: '700', TOY_LINK_MS: '300' };
  const server = await startHttp(t, 'toy-route', { env, args: ['--token-file', tokenFile(t)] });
  const made = await (await fetch(new URL('/api/login-link', server.url), { method: 'POST', headers: bearer(PEOPLE.other.token) })).json();
  const signIn = () => new Browser(server.url).signIn(PEOPLE.answer.token);
  const idle = await signIn();
  let busy, began, stream;
  do [busy, began] = [await signIn(), Date.now()];
  while ((stream = await busy.fetch('/signed-stream')).status !== 200); // on a slow machine it may have ended before
  const text = await within(PATIENCE_MS, 'the stream ends', stream.text());
  assert.match(text, /event: bye\ndata: the sign-in has expired/);
  assert.ok(Date.now() - began > 1000, 'a page that is open is not idle');
  for (const [method, name] of [['GET', ME], ['POST', ME], ['GET', '/signed-stream'], ['POST', '/api/logout']])
    for (const browser of [busy, idle]) assert.equal((await browser.fetch(name, { method })).status, 401, `${method} ${name}`);
  assert.equal((await fetch(made.url, { redirect: 'manual' })).status, 404);
});

test('a link for a token is its owner\'s; with tokens none is made at the start', async (t) => {
  const server = await startHttp(t, 'toy-route', { args: ['--token-file', tokenFile(t)] });
  assert.equal(await linkOf(server), `${new URL(server.url).origin}/`);
  const { url, seconds } = await (await fetch(new URL('/api/login-link', server.url), { method: 'POST', headers: bearer(PEOPLE.other.token) })).json();
  assert.equal(seconds, 600);
  const browser = await new Browser(server.url).open(url);
  assert.equal((await (await browser.fetch(ME)).json()).principal, 'bob');
});

test('a link ends the sign-in that was there before, for whoever has both of its halves', async (t) => {
  const server = await startHttp(t, 'toy-route', { args: ['--token-file', tokenFile(t)] });
  const { origin } = new URL(server.url);
  const makeLink = async () => (await (await fetch(new URL('/api/login-link', origin), { method: 'POST', headers: bearer(PEOPLE.other.token) })).json()).url;
  const use = async (headers) => assert.equal((await fetch(await makeLink(), { method: 'POST', headers: { Origin: origin, ...headers } })).status, 200);
  const browser = await new Browser(server.url).signIn(PEOPLE.answer.token);
  const another = await new Browser(server.url).signIn(PEOPLE.other.token);
  const isIn = async () => (await browser.fetch(ME)).status === 200;
  await use({ 'X-Page-Key': browser.key });
  assert.ok(await isIn(), 'the page key alone');
  await use({ Cookie: browser.cookie });
  assert.ok(await isIn(), 'the cookie alone');
  await use({ Cookie: another.cookie, 'X-Page-Key': browser.key });
  assert.ok(await isIn(), 'the page key, with the cookie of another sign-in');
  await use({ Cookie: browser.cookie, 'X-Page-Key': browser.key });
  assert.ok(!await isIn(), 'both halves');
});

test('over the Unix socket the server\'s own user makes a link, and a browser behind a proxy there does not', async (t) => {
  const socket = path.join(folder(t), 'nod.sock');
  const server = await startHttp(t, 'toy-route', { args: ['--http', `unix:${socket}`, '--token-file', tokenFile(t)] });
  const over = fetchOver(http.request, { socketPath: socket });
  const ask = (headers = {}) => over('http://localhost/api/login-link', { method: 'POST', headers });
  const { url } = await (await ask()).json();
  const browser = await new Browser(server.url).open(url);
  assert.equal((await (await browser.fetch(ME)).json()).principal, 'local');
  for (const headers of [{ 'X-Forwarded-For': '203.0.113.7' }, { Origin: 'http://localhost' }, { 'Sec-Fetch-Site': 'none' }])
    assert.equal((await ask(headers)).status, 401, JSON.stringify(headers));
});

test('a sign-in lives in the store: it survives a restart on SQLite, and ends with the process in memory', async (t) => {
  const store = `sqlite:${path.join(folder(t), 'nod.db')}`;
  for (const [args, status] of [[['--store', store], 200], [['--store', 'memory:'], 401]]) {
    const first = await startHttp(t, 'toy-route', { args });
    const browser = await new Browser(first.url).open(await linkOf(first));
    await first.stop();
    const port = new URL(first.url).port;
    const second = await startHttp(t, 'toy-route', { args: [...args, '--http', `127.0.0.1:${port}`] });
    const key = `nod-${new URL(second.url).port}`; // the first address of the second server is another
    assert.equal((await fetch(new URL(ME, second.url), { headers: { Cookie: `${key}=${browser.cookie.split('=')[1]}`, 'X-Page-Key': browser.key } })).status, status);
  }
});

test('two nodes of Redis: a link works once in all, and a sign-in on both until one of them ends it', async (t) => {
  const store = await stores.find(({ name }) => name === 'redis').create(t);
  const args = ['--store', store.address, '--token-file', tokenFile(t), '--public-url', 'http://127.0.0.1:9'];
  const [first, last] = [await startHttp(t, 'toy-route', { args }), await startHttp(t, 'toy-route', { args })];
  const at = (server, name) => new URL(name, server.url);
  const makeLink = async () => new URL((await (await fetch(at(first, '/api/login-link'), { method: 'POST', headers: bearer(PEOPLE.answer.token) })).json()).url).pathname;
  for (let i = 0; i < 5; i++) {
    const link = await makeLink();
    const seen = await Promise.all(Array.from({ length: 8 }, (_, n) => fetch(at(n % 2 ? first : last, link), { method: 'POST', headers: { Origin: 'http://127.0.0.1:9' } })));
    assert.equal(seen.filter(({ status }) => status === 200).length, 1);
    assert.equal(seen.filter(({ status }) => status === 410).length, 7);
  }
  const here = await new Browser(first.url).open(await makeLink());
  const there = new Browser(last.url).as(here);
  assert.equal(here.lastSet.key, 'nod-9');
  assert.equal((await there.fetch(ME, { method: 'POST', body: 'x' })).status, 200);
  const stream = await there.fetch('/signed-stream');
  const text = stream.text();
  const cookie = here.cookie;
  assert.equal((await here.fetch('/api/logout', { method: 'POST' })).status, 204);
  assert.match(await promptly(last.url, 1000, 'the stream ends', text), /event: bye\ndata: the sign-in has ended/);
  assert.equal((await there.fetch(ME, { headers: { Cookie: cookie } })).status, 401);
});

test('failed attempts are counted and slowed; a valid credential never waits', async (t) => {
  const server = await startHttp(t, 'toy-route', { args: ['--token-file', tokenFile(t)] });
  const browser = await new Browser(server.url).signIn(PEOPLE.answer.token);
  const link = (await (await fetch(new URL('/api/login-link', server.url), { method: 'POST', headers: bearer(PEOPLE.answer.token) })).json()).url;
  const stop = new AbortController();
  const seen = [];
  const guesses = [
    () => fetch(new URL(ME, server.url), { headers: bearer('wrong-token-0123456789'), signal: stop.signal }),
    () => fetch(new URL('/mcp', server.url), { method: 'POST', headers: bearer('wrong-token-0123456789'), body: '{}', signal: stop.signal }),
    () => fetch(new URL(ME, server.url), { headers: { Cookie: browser.cookie, 'X-Page-Key': 'AAAAAAAAAAAAAAAAAAAAAA' }, signal: stop.signal }),
    () => fetch(new URL('/login/AAAAAAAAAAAAAAAAAAAAAA', server.url), { redirect: 'manual', signal: stop.signal }),
  ];
  const guess = async (n) => seen.push((await guesses[n % guesses.length]()).status);
  for (let i = 0; i < 10; i++) await guess(i);
  assert.deepEqual(seen.sort(), [401, 401, 401, 401, 401, 401, 401, 401, 404, 404], 'the first ten at once');
  await server.said(/many failed attempts to get in; further ones are answered slowly" address=127\.0\.0\.1/);
  const began = Date.now();
  await guess(0);
  await guess(1);
  assert.ok(Date.now() - began >= 300, `100 and 200 ms: ${Date.now() - began}`);

  const all = Array.from({ length: 30 }, (_, n) => guess(n).catch(() => seen.push('ended by us')));
  while (seen.filter((status) => status === 429).length < 14) await new Promise((resolve) => setImmediate(resolve));
  const slow = seen.length;
  assert.equal((await fetch(new URL(ME, server.url), { headers: bearer(PEOPLE.answer.token) })).status, 200);
  assert.equal((await browser.fetch(ME)).status, 200);
  assert.equal((await fetch(link, { method: 'POST', headers: { Origin: new URL(link).origin } })).status, 200);
  assert.ok(seen.length - slow <= 2, 'valid ones overtake those that wait');
  stop.abort();
  await Promise.all(all);
  const figures = await (await fetch(new URL('/metrics', server.url), { headers: bearer(PEOPLE.admin.token) })).text();
  assert.match(figures, /^nod_failed_attempts_total 42$/m);
});
