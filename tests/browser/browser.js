// A browser for the tests of the page: Debian's chromium, one for all tests, and a context (a person with cookies of their
// own) for each. What a page logs as an error, and what its policy has blocked, fails the test that opened it.
import assert from 'node:assert/strict';
import { mkdirSync } from 'node:fs';
import path from 'node:path';
import { after } from 'node:test';
import { chromium } from 'playwright-core';
import { everyEnd, startHttp, HttpPeer, within, PATIENCE_MS } from '../wire/harness.js';
import { tokenFile } from '../wire/credentials.js';

// Ada and root, and others who have never been asked anything: each test takes the next.
const others = Array.from({ length: 120 }, (_, i) => ({ token: `token-of-person-${i}-0123456789`, name: `p${i}`, roles: 'ask answer' }));
export const CALLER = { token: 'caller-token-0123456789abcdef', name: 'carl', roles: 'ask' }; // answers nothing
export const PEOPLE = [
  { token: 'ada-token-0123456789abcdef', name: 'ada', roles: 'ask answer' },
  { token: 'root-token-0123456789abcdef', name: 'root', roles: 'admin' },
  ...others,
  CALLER,
];
export const SHOTS = path.join(process.env.NOD_BIN_DIR, 'screenshots');
mkdirSync(SHOTS, { recursive: true });

let browser;

const launch = () =>
  chromium.launch({
    executablePath: '/usr/bin/chromium',
    args: ['--headless', '--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking', '--disable-component-update', '--disable-sync'],
  });

const ends = []; // of the server that tests share
let shared;
after(async () => {
  await (await browser)?.close();
  for (const end of ends) await end();
});

// What most tests begin with: somebody with an empty list, their client, and their page.
export async function stage(t, { path: where, allow } = {}) {
  pagesOf(t);
  const server = await (shared ??= startServer({ after: (end) => ends.push(end) }));
  const name = others.shift().name;
  const [peer, page] = await Promise.all([client(t, server, name), person(t, server, name, { path: where, allow })]);
  return { server, name, peer, page };
}

// The pages of a test go before its servers do, so that none of them sees its server end. To be called first.
export function pagesOf(t) {
  if (t.pages) return t.pages;
  everyEnd(t);
  t.pages = { contexts: [], problems: [] };
  t.after(async () => {
    await Promise.all(t.pages.contexts.map((context) => context.close()));
    assert.deepEqual(t.pages.problems, []);
  });
  return t.pages;
}

export async function startServer(t, args = [], program = 'browser-server', options = {}) {
  pagesOf(t);
  const server = await startHttp(t, program, { args: ['--token-file', tokenFile(t, PEOPLE), ...args], ...options });
  server.origin = new URL(server.url).origin;
  return server;
}

const tokenOf = (name) => PEOPLE.find((person) => person.name === name).token;

// A client that cannot ask: its calls ask in the inbox.
export async function client(t, server, name = 'ada') {
  const peer = new HttpPeer(server.url, { token: tokenOf(name) });
  t.after(() => peer.close());
  await peer.initialize({});
  let id = 0;
  // Resolves when the call was sent; its result comes by `result()`.
  peer.call = async (tool, args = {}) => {
    const mine = `call-${++id}`;
    const body = typeof args === 'string' ? args : JSON.stringify(args);
    const sent = peer.post(`{"jsonrpc":"2.0","id":"${mine}","method":"tools/call","params":{"name":"${tool}","arguments":${body}}}`);
    sent.catch(() => {});
    const result = async () => {
      const message = await peer.next((one) => one.id === mine, `the result of ${tool}`);
      return message.result.content.map((block) => block.text).join('\n');
    };
    return { result };
  };
  return peer;
}

// A person: signs in with their token, or with a link.
export async function person(t, server, name = 'ada', { path: where = '/', link, allow, ...options } = {}) {
  const context = await (await (browser ??= launch())).newContext({ viewport: { width: 1280, height: 800 }, locale: 'en-GB', timezoneId: 'UTC', ...options });
  pagesOf(t).contexts.push(context);
  context.setDefaultTimeout(PATIENCE_MS);
  const page = await context.newPage();
  watch(t, page, link ? /401/ : allow); // by a link: nobody is signed in before
  if (link) {
    await openLink(page, link);
  } else {
    await signIn(page, server, name);
    await page.goto(server.origin + where);
  }
  await live(page);
  return page;
}

// As the page of the sign-in does it.
export async function signIn(page, server, name) {
  await page.goto(`${server.origin}/login`);
  const status = await page.evaluate(async (token) => {
    const { signIn } = await import('/assets/any/live.js');
    return (await signIn('/api/login', { Authorization: `Bearer ${token}` })).status;
  }, tokenOf(name));
  assert.equal(status, 200);
}

// A one-time link: where nobody is signed in, Enter is enough.
export async function openLink(page, link) {
  await page.goto(link);
  await page.waitForFunction(() => document.activeElement?.id === 'go' && document.activeElement.ariaDisabled === 'false');
  await page.keyboard.press('Enter');
  await page.waitForURL((url) => !url.pathname.startsWith('/login/'));
}

// Where the page of a question leads, as its own person reads it.
export async function goOf({ params }, token) {
  const reply = await fetch(`${params.url}/data`, { headers: { Authorization: `Bearer ${token}` } });
  return new URL((await reply.json()).go);
}

// What another site has sent came to a browser in which nobody is signed in. Whoever began it signs in there with a link.
export async function notTaken(page, server, token) {
  await page.waitForFunction(() => !location.search.includes('state='));
  await page.getByText('Nobody is signed in here: what the other site has sent was not taken.').waitFor();
  await page.reload();
  const reply = await fetch(`${server.origin}/api/login-link`, { method: 'POST', headers: { Authorization: `Bearer ${token}` } });
  await openLink(page, (await reply.json()).url);
  await live(page);
  assert.equal(page.url(), `${server.origin}/`);
}

// What the API says to a page, with all that its own script sends.
export const fetched = (page, path) =>
  page.evaluate(async (path) => (await fetch(path, { headers: { 'X-Page-Key': localStorage.getItem('nod-key') } })).json(), path);

// Somebody with an empty page, who has signed in if there is a name.
export async function stranger(t, { server, name, allow } = {}) {
  const context = await (await (browser ??= launch())).newContext({ locale: 'en-GB', timezoneId: 'UTC' });
  pagesOf(t).contexts.push(context);
  context.setDefaultTimeout(PATIENCE_MS);
  const page = await context.newPage();
  watch(t, page, allow ?? (name ? undefined : /401/)); // who is not signed in is told so
  if (name) await signIn(page, server, name);
  return page;
}

export const live = (page) => page.waitForSelector('body[data-live=live]');

export async function tab(t, page, where = '/', allow) {
  const other = await page.context().newPage();
  watch(t, other, allow);
  await other.goto(new URL(where, page.url()).href);
  await live(other);
  return other;
}

// `allow`: errors that a test makes on purpose, such as a server that is gone.
function watch(t, page, allow) {
  const { problems } = t.pages;
  page.on('pageerror', (error) => problems.push(String(error.stack ?? error)));
  page.on('console', (message) => message.type() === 'error' && !allow?.test(message.text()) && problems.push(message.text()));
  page.on('dialog', (dialog) => (problems.push(`a dialog: ${dialog.message()}`), dialog.dismiss()));
  page.on('request', (request) => !request.isNavigationRequest() && new URL(request.url()).origin !== new URL(page.url()).origin && problems.push(`outside: ${request.url()}`));
}

export const rows = (page) => page.locator('#list li');
export const ask = (page) => page.locator('article.ask');
export const asks = (page, text) => ask(page).locator('.message', { hasText: text }).waitFor();
export const ready = (page) => page.waitForFunction(() => document.querySelector('.ask .primary')?.ariaDisabled === 'false');
export const button = (page, name) => page.getByRole('button', { name, exact: true });
// Pressed when it lets itself be: not while it has just moved under the pointer.
export async function pressed(page, name) {
  await button(page, name).hover();
  await page.waitForFunction((name) => [...document.querySelectorAll('.bar button')].find((one) => one.textContent === name)?.ariaDisabled === 'false', name);
  await button(page, name).click();
}
export const shot = (page, name) => page.screenshot({ path: path.join(SHOTS, `${name}.png`) });
export const soon = (what, promise) => within(PATIENCE_MS, what, promise);
