// What a program has left in the browser that had the server's port before the server: scripts and pages in the cache, and a
// service worker. Once the person has signed in, none of it runs in the page.
import assert from 'node:assert/strict';
import http from 'node:http';
import { once } from 'node:events';
import { describe, test } from 'node:test';
import { PEOPLE, button, fetched, live, openLink, pagesOf, startServer, stranger } from './browser.js';
import { look } from './look.js';

const [{ token }] = PEOPLE;
const FOREVER = 'public, max-age=31536000, immutable';
const RUNS = "document.documentElement.dataset.hostile = 'runs';";
const PAGE = `<!doctype html><title>Inbox</title><p>left behind</p><script>${RUNS}</script>`;

// Had the port, and gives it back. `serve` -> [type, text, headers], or nothing.
async function occupant(port, serve) {
  const server = http.createServer(({ url }, reply) => {
    const [type, text, more] = serve(url) ?? ['text/html', '<!doctype html><title>x</title><p>visited', { 'Cache-Control': 'no-store' }];
    reply.writeHead(200, { 'Content-Type': type, 'Cache-Control': FOREVER, ...more }).end(text);
  }).listen(port, '127.0.0.1');
  await once(server, 'listening');
  return {
    port: server.address().port,
    origin: `http://127.0.0.1:${server.address().port}`,
    async leave() {
      server.closeAllConnections();
      await new Promise((left) => server.close(left));
    },
  };
}

const startAt = (t, port) => startServer(t, [], 'browser-server', { port });

async function linkOf(server) {
  const reply = await fetch(`${server.origin}/api/login-link`, { method: 'POST', headers: { Authorization: `Bearer ${token}` } });
  return (await reply.json()).url;
}

async function isOurs(page, where) {
  await live(page);
  assert.equal(await page.evaluate(() => document.documentElement.dataset.hostile), undefined, `${where}: nothing of it runs`);
  assert.equal((await fetched(page, '/api/me')).principal, 'ada', `${where}: the sign-in is whole`);
}

describe('what another program has left at this address', { concurrency: 2 }, () => {
  test('scripts in the cache, under every path that the server had before: its pages ask for none of them', async (t) => {
    const before = await startAt(t, 0);
    const page = await stranger(t);
    await page.goto(`${before.origin}/login`);
    await page.goto(await linkOf(before));
    await openLink(page, page.url());
    await live(page);
    const scripts = await page.evaluate(() => performance.getEntriesByType('resource').map(({ name }) => new URL(name).pathname).filter((name) => name.endsWith('.js')));
    assert.ok(scripts.length > 8, String(scripts));
    await page.goto('about:blank');
    await before.stop();

    const other = await occupant(new URL(before.origin).port, (url) => (url.endsWith('.js') ? ['text/javascript', RUNS] : undefined));
    await page.goto(other.origin);
    await page.evaluate((names) => Promise.all(names.map((name) => import(name))), scripts);
    assert.equal(await page.evaluate(() => document.documentElement.dataset.hostile), 'runs');
    await page.goto('about:blank');
    await other.leave();

    const server = await startAt(t, other.port);
    await openLink(page, await linkOf(server));
    await isOurs(page, 'the inbox');
    await page.goto(`${server.origin}/history`);
    await isOurs(page, 'the history');
  });

  for (const way of ['link', 'token'])
    test(`pages in the cache: a sign-in by ${way} takes them out, and what leads on is the server's own`, async (t) => {
      const page = await stranger(t);
      const paths = ['/', '/history', '/accounts', '/api/me'];
      const other = await occupant(0, (url) => (url === '/api/me' ? ['application/json', '{"principal":"mallory"}'] : paths.includes(url) ? ['text/html', PAGE] : undefined));
      for (const path of paths) await page.goto(other.origin + path);
      await page.goto('about:blank');
      await other.leave();

      const server = await startAt(t, other.port);
      await page.goto(server.origin);
      await page.getByText('left behind').waitFor(); // nobody can help that: the server is not asked
      if (way === 'link') {
        await page.goto(await linkOf(server));
        await page.getByText('Nobody is signed in here now.').waitFor();
        await openLink(page, await linkOf(server));
      } else {
        await page.goto(`${server.origin}/login`);
        await page.getByLabel('Your token').fill(token);
        await button(page, 'Sign in').click();
      }
      await isOurs(page, 'the inbox');
      for (const path of ['/history', '/accounts', '/']) {
        await page.goto(server.origin + path);
        await isOurs(page, path);
      }
      await page.reload();
      await isOurs(page, 'again');
    });

  for (const [what, script, options] of [
    ['at the top', '/sw.js', {}],
    ['far down, with leave for everything', '/a/b/c/worker', { scope: '/' }],
    ['a module', '/assets/x/live.js', { scope: '/', type: 'module' }],
  ])
    test(`a service worker (${what}): it answers the first page, and is gone by itself; after the sign-in nothing of it runs`, async (t) => {
      pagesOf(t);
      const page = await stranger(t);
      const worker = `
        addEventListener('install', () => skipWaiting());
        addEventListener('activate', (event) => event.waitUntil(caches.open('x').then((one) => one.put('/', new Response('x'))).then(() => clients.claim())));
        addEventListener('fetch', (event) => event.respondWith(new Response(${JSON.stringify(PAGE)}, { headers: { 'Content-Type': 'text/html' } })));`;
      const other = await occupant(0, (url) => (url === script ? ['text/javascript', worker, { 'Service-Worker-Allowed': '/' }] : undefined));
      await page.goto(other.origin);
      await page.evaluate(async ([script, options]) => {
        await navigator.serviceWorker.register(script, options);
        await new Promise((taken) => (navigator.serviceWorker.controller ? taken() : navigator.serviceWorker.addEventListener('controllerchange', taken)));
      }, [script, options]);
      await page.goto('about:blank');
      await other.leave();

      const server = await startAt(t, other.port);
      await page.goto(server.origin);
      await page.getByText('left behind').waitFor(); // the first page is the worker's
      await page.getByLabel('Your token').waitFor(); // until the browser has asked the server for the worker
      await server.said(/a service worker that is not this server's/);
      await openLink(page, await linkOf(server));
      await isOurs(page, 'the inbox');
      assert.deepEqual(await page.evaluate(async () => [(await navigator.serviceWorker.getRegistrations()).length, await caches.keys()]), [0, []]);
      await page.goto(`${server.origin}/history`);
      await isOurs(page, 'the history');
    });

  test('a service worker that lets everything through is found by the page, which says so and takes it away', async (t) => {
    pagesOf(t);
    const page = await stranger(t);
    const worker = "addEventListener('install', () => skipWaiting()); addEventListener('fetch', (event) => event.respondWith(fetch(event.request)));";
    // The browser has it in its cache, and does not ask the server for it for a day.
    const other = await occupant(0, (url) => (url === '/sw.js' ? ['text/javascript', worker] : undefined));
    await page.goto(other.origin);
    await page.evaluate(async () => {
      await fetch('/sw.js');
      await navigator.serviceWorker.register('/sw.js', { updateViaCache: 'all' });
      await navigator.serviceWorker.ready;
    });
    await page.goto('about:blank');
    await other.leave();

    const server = await startAt(t, other.port);
    await page.goto(server.origin);
    await page.getByText('Another program that had this address has left a script in this browser (a service worker)').waitFor();
    assert.equal(await page.evaluate(async () => (await navigator.serviceWorker.getRegistrations()).length), 0);
    await look(page, 'planted-worker');
    await button(page, 'Continue').click();
    await page.getByLabel('Your token').waitFor();
    await openLink(page, await linkOf(server));
    await isOurs(page, 'the inbox');
  });

  test('whoever signs in while the page still looks for service workers is signed in, and not by a form of the browser', async (t) => {
    const server = await startServer(t);
    const page = await stranger(t);
    await page.addInitScript(() => {
      const look = navigator.serviceWorker.getRegistrations.bind(navigator.serviceWorker);
      navigator.serviceWorker.getRegistrations = () => new Promise((found) => setTimeout(() => found(look()), 2000));
    });
    await page.goto(`${server.origin}/login?next=/history`);
    await page.getByLabel('Your token').fill(token);
    await button(page, 'Sign in').click();
    await page.getByRole('heading', { name: 'History' }).waitFor();
    assert.equal(page.url(), `${server.origin}/history`);
  });

  test('whoever asks for a service worker, at whatever path, gets one that takes itself away, and only for GET and under our own name', async (t) => {
    const server = await startServer(t);
    for (const path of ['/', '/sw.js', '/api/me', '/mcp', '/a/b', '/assets/x/live.js', '/login/x']) {
      const reply = await fetch(server.origin + path, { headers: { 'Service-Worker': 'script' } });
      assert.deepEqual(['content-type', 'cache-control', 'service-worker-allowed', 'x-content-type-options'].map((name) => reply.headers.get(name)),
        ['text/javascript; charset=utf-8', 'no-store', '/', 'nosniff'], path);
      assert.match(await reply.text(), /unregister/);
    }
    assert.equal((await fetch(`${server.origin}/api/login`, { method: 'POST', headers: { 'Service-Worker': 'script' } })).status, 401);
    const strange = http.get(server.origin, { headers: { 'Service-Worker': 'script', Host: 'evil.example' } });
    const [reply] = await once(strange, 'response');
    reply.resume();
    assert.equal(reply.statusCode, 403);
  });
});
