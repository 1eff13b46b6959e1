// The page and other sites: what a browser sends from elsewhere, and what it keeps from us and from others.
import assert from 'node:assert/strict';
import http from 'node:http';
import { once } from 'node:events';
import { test } from 'node:test';
import { connect, startHttp } from '../wire/harness.js';
import { PEOPLE, fetched, goOf, notTaken, pagesOf, openLink, stage, startServer, person, stranger, asks, ask, live } from './browser.js';

// A web site on this machine. As "localhost" it is another site than 127.0.0.1; under that name it is the same site, on another port.
async function site(t, body) {
  const server = http.createServer((request, response) => response.setHeader('Content-Type', 'text/html').end(body)).listen(0);
  await once(server, 'listening');
  t.after(() => server.close());
  return (name) => `http://${name}:${server.address().port}/`;
}

test('a deep link in a chat opens the ask, for whoever is signed in; anybody else is led to sign in, and from there to it', async (t) => {
  const { server, peer, page } = await stage(t, { allow: /./ });
  await peer.call('say', { text: 'Asked.' });
  await asks(page, 'Asked.');
  const { items } = await fetched(page, '/api/elicitation');
  const deep = `${server.origin}/ask/${items[0].id}`;
  const chat = await site(t, `<a href="${deep}">look</a>`);
  const context = page.context();
  for (const name of ['localhost', '127.0.0.1']) {
    const tab = await context.newPage();
    await tab.goto(chat(name));
    await tab.click('a');
    await asks(tab, 'Asked.');
    assert.equal(tab.url(), deep);
  }
  const stranger = await context.browser().newContext();
  t.pages.contexts.push(stranger);
  const tab = await stranger.newPage();
  await tab.goto(chat('localhost'));
  await tab.click('a');
  await tab.waitForURL(/\/login\?next=%2Fask%2F/);
  await tab.getByLabel('Your token').fill('no token of this server');
  await tab.getByRole('button', { name: 'Sign in' }).click();
  await tab.getByText('This token is not known here.').waitFor();
  await tab.getByLabel('Your token').fill(PEOPLE.find(({ name }) => name === 'root').token);
  await tab.getByRole('button', { name: 'Sign in' }).click();
  await tab.waitForURL(deep);
});

test('after the sign-in only a page of ours is opened, whatever the address says', async (t) => {
  const { server, page } = await stage(t, { allow: /./ });
  const context = await page.context().browser().newContext();
  t.pages.contexts.push(context);
  await context.route((url) => url.hostname === 'evil.example', (route) => route.fulfill({ contentType: 'text/html', body: '<p>evil' }));
  const tab = await context.newPage();
  for (const next of ['://evil.example/phish', ' //evil.example', '//evil.example', '/\t/evil.example', '/\\evil.example', 'https://evil.example', 'javascript:alert(1)', '/../x', '//evil.example/a/return?x', '/a/return?x\n//evil.example', '/a/return?\\evil.example', '/a/return/../..//evil.example?x']) {
    await tab.goto(`${server.origin}/login?next=${encodeURIComponent(next)}`);
    await tab.getByLabel('Your token').fill(PEOPLE.find(({ name }) => name === 'root').token);
    await tab.getByRole('button', { name: 'Sign in' }).click();
    await tab.waitForURL((url) => url.pathname !== '/login');
    assert.equal(new URL(tab.url()).origin, server.origin, next);
  }
});

test('no address leads from the sign-in to a link of somebody else, nor to what another site has sent', async (t) => {
  const { server, page } = await stage(t, { allow: /./ });
  const context = await page.context().browser().newContext();
  t.pages.contexts.push(context);
  const tab = await context.newPage();
  for (const next of ['/login/AAAAAAAAAAAAAAAAAAAAAA', '/login', '/a/return?state=abc&code=d', '/a/return']) {
    await tab.goto(`${server.origin}/login?next=${encodeURIComponent(next)}`);
    await tab.getByLabel('Your token').fill(PEOPLE.find(({ name }) => name === 'root').token);
    await tab.getByRole('button', { name: 'Sign in' }).click();
    await tab.waitForURL((url) => !url.search);
    assert.equal(tab.url(), `${server.origin}/`, next);
  }
});

test('what another site has sent to a browser without a sign-in is kept for nobody, whoever signs in there next', async (t) => {
  pagesOf(t);
  const server = await startServer(t, [], 'pages');
  const [{ token }] = PEOPLE;
  const session = await connect(t, 'http', 'pages', { server, token, capabilities: { elicitation: { url: {} } } });
  const call = session.text('foreign', { url: 'http://localhost:9/pay?back={return}' });
  const question = await session.question();
  question.accept();
  const page = await stranger(t, { allow: /40[14]/ });
  const go = await goOf(question, token);
  await page.goto(`${go.searchParams.get('back')}?${new URLSearchParams({ state: go.searchParams.get('state'), code: 'of-somebody-else' })}`); // as the other site sends them back
  await notTaken(page, server, token);
  await page.goto(question.params.url); // it still waits
  await page.getByRole('button', { name: 'Decline' }).click();
  assert.equal(await call, 'decline by ada: nothing');
});

test('without tokens: whoever signs in with a link, in another tab, is led to the page that they wanted', async (t) => {
  pagesOf(t);
  const server = await startHttp(t, 'pages');
  const link = /url="?(http[^\s"]+)/.exec(await server.said(/event=inbox /))[1];
  const session = await connect(t, 'http', 'pages', { server, capabilities: { elicitation: { url: {} } } });
  const call = session.text('form', { consent: true });
  const question = await session.question();
  question.accept();
  const page = await stranger(t);
  await page.goto(question.params.url);
  await page.getByText('This server has no tokens: it is opened with a link.').waitFor();
  const tab = await page.context().newPage();
  await openLink(tab, link);
  await tab.waitForURL(question.params.url);
  await tab.getByRole('button', { name: 'Decline' }).click();
  assert.equal(await call, 'decline by local: nothing');
});

test('a page of another site, or of another port of this machine, can neither read nor change anything', async (t) => {
  const { server, peer, page } = await stage(t, { allow: /./ });
  await peer.call('say', { text: 'Not for you.' });
  await asks(page, 'Not for you.');
  const { items } = await fetched(page, '/api/elicitation');
  const elsewhere = await site(t, '<p>hello');
  const context = page.context();
  for (const name of ['localhost', '127.0.0.1']) {
    const tab = await context.newPage();
    const statuses = [];
    tab.on('response', (reply) => reply.url().startsWith(server.origin) && statuses.push(reply.status()));
    await tab.goto(elsewhere(name));
    const tried = await tab.evaluate(async ([origin, id]) => {
      const results = [];
      const attempt = async (url, options) => {
        try {
          const reply = await fetch(origin + url, { credentials: 'include', ...options });
          results.push(reply.type === 'opaque' ? 'opaque' : await reply.text());
        } catch {
          results.push('refused');
        }
      };
      await attempt('/api/elicitation', {});
      await attempt('/api/elicitation', { mode: 'no-cors' });
      await attempt(`/api/elicitation/${id}/resolve`, { method: 'POST', mode: 'no-cors', body: '{"action":"accept","content":{}}' });
      await attempt(`/api/elicitation/${id}/resolve`, { method: 'POST', headers: { 'Content-Type': 'application/json', 'X-Page-Key': 'x' }, body: '{"action":"accept","content":{}}' });
      return results;
    }, [server.origin, items[0].id]);
    assert.ok(tried.every((result) => ['refused', 'opaque'].includes(result)), JSON.stringify(tried));
    assert.ok(statuses.every((status) => status >= 400), JSON.stringify(statuses));
    const frame = await tab.evaluate(async (origin) => {
      const inside = document.createElement('iframe');
      inside.src = origin;
      const loaded = new Promise((resolve) => (inside.onload = resolve));
      document.body.append(inside);
      await loaded;
      return inside.contentDocument?.body?.textContent ?? 'not ours to read';
    }, server.origin);
    assert.equal(frame, 'not ours to read', 'the browser shows it in no frame');
  }
  assert.equal(await ask(page).locator('.bar').count(), 1, 'it still waits');
});

test('the link of the start opens it; opened again, it leads to the page that says why not', async (t) => {
  pagesOf(t);
  const server = await startHttp(t, 'delete-account');
  server.origin = new URL(server.url).origin;
  const link = /url="?(http[^\s"]+)/.exec(await server.said(/event=inbox /))[1];
  const page = await person(t, server, 'local', { link });
  assert.equal(page.url(), `${server.origin}/`);
  await page.goto(link);
  await page.getByText('This link was used before, and works once.').waitFor();
  assert.equal(page.url(), `${server.origin}/login?link=used`);
  await page.goto(`${server.origin}/login/AAAAAAAAAAAAAAAAAAAAAA`);
  await page.getByText('There is no such link, or its ten minutes are over.').waitFor();
  await page.goto(server.origin);
  await live(page);
});
