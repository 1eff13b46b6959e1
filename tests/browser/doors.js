// Who gets in, and who does not: another program of this machine that is sent the cookie, links that somebody else has made, two
// people in one browser, and a browser that has lost half of its sign-in. Each is refused or harmless, and the person reads what
// has happened.
import assert from 'node:assert/strict';
import http from 'node:http';
import { once } from 'node:events';
import { describe, test } from 'node:test';
import { connect, within, PATIENCE_MS } from '../wire/harness.js';
import { CALLER, PEOPLE, ask, asks, button, fetched, live, openLink, ready, rows, shot, signIn, soon, stage, startServer, stranger, tab } from './browser.js';
import { look } from './look.js';

const tokenOf = (name) => PEOPLE.find((person) => person.name === name).token;

// A program on another port of 127.0.0.1: what it serves, and what it is sent.
async function program(t, serve) {
  const seen = [];
  const server = http.createServer((request, reply) => {
    if (request.url !== '/favicon.ico') seen.push(request.headers);
    reply.setHeader('Content-Type', 'text/html');
    reply.end(serve(request, reply) ?? '<!doctype html><title>Elsewhere</title><p>hello');
  }).listen(0);
  await once(server, 'listening');
  t.after(() => (server.close(), server.closeAllConnections()));
  const { port } = server.address();
  return { seen, at: (name = '127.0.0.1') => `http://${name}:${port}/` };
}

async function linkFor(server, token) {
  const reply = await fetch(`${server.origin}/api/login-link`, { method: 'POST', headers: { Authorization: `Bearer ${token}` } });
  return (await reply.json()).url;
}

const whoIs = async (page) => (await fetched(page, '/api/me')).principal;
const menu = async (page, name) => {
  await page.locator('#menu summary').click();
  await button(page, name).click();
};

describe('doors', { concurrency: 2 }, () => {
  for (const way of ['typed', 'by a link of another site'])
    test(`a program on another port that the person visits (${way}) is sent the cookie, and neither reads nor approves with it`, async (t) => {
      const { server, name, peer, page } = await stage(t);
      await peer.call('transfer');
      await asks(page, 'Transfer the money');
      const { items } = await fetched(page, '/api/elicitation');
      const { id } = items[0];
      // From another site the first request has no cookie (SameSite=Strict), and the next one of the same page has it.
      const hostile = await program(t, ({ headers }) => (headers.cookie ? undefined : '<!doctype html><meta http-equiv="refresh" content="0"><p>a moment'));
      const site = await program(t, () => `<a href="${hostile.at()}">look</a>`);
      const visit = await page.context().newPage();
      await visit.goto(way === 'typed' ? hostile.at() : site.at('localhost'));
      if (way !== 'typed') await visit.click('a');
      await visit.getByText('hello').waitFor();
      const { cookie } = hostile.seen.at(-1);
      const own = new RegExp(`nod-${new URL(server.origin).port}=([\\w-]{22})`).exec(cookie);
      assert.ok(own, 'browsers send cookies to every port of a host');

      // A program can send whatever it likes.
      const headers = { Cookie: cookie, Origin: server.origin, 'Sec-Fetch-Site': 'same-origin', Accept: '*/*' };
      const approve = ['POST', `/api/elicitation/${id}/resolve`, { 'Content-Type': 'application/json' }, '{"approved":true}'];
      const all = [...['/api/me', '/api/elicitation', `/api/elicitation/${id}`, '/api/events', '/api/grants', '/api/secrets', '/api/credentials', '/api/openapi.json'].map((path) => ['GET', path]), approve, ['DELETE', '/api/grants/x'], ['POST', '/api/logout']];
      for (const [method, path, more, body] of all) {
        const reply = await fetch(server.origin + path, { method, headers: { ...headers, ...more }, body });
        assert.equal(reply.status, 403, `${method} ${path}`);
        assert.match((await reply.json()).detail, /^Half of the sign-in is missing: .* its cookie, and not the page key \(the header X-Page-Key\).* Sign in again\.$/);
      }
      for (const [method, path, more, body] of [all[0], approve]) {
        const guessed = await fetch(server.origin + path, { method, headers: { ...headers, ...more, 'X-Page-Key': own[1] }, body });
        assert.equal(guessed.status, 401, 'the one half does not tell the other');
      }
      for (const path of ['/', `/ask/${id}`, '/history', '/grants', '/secrets', '/accounts', '/login', '/a/x', '/a/return?state=x']) {
        const [told, nobody] = await Promise.all([headers, {}].map(async (all) => (await fetch(server.origin + path, { headers: { ...all, Accept: 'text/html' } })).text()));
        assert.equal(told, nobody, `${path} is the same for everybody`);
        assert.doesNotMatch(told, new RegExp(`Transfer|\\d waiting|\\b${name}\\b|${id}`), `${path} says nothing of anybody`);
      }
      await page.reload();
      await live(page);
      await ready(page);
      assert.equal(await ask(page).locator('.bar').count(), 1, 'it still waits, and the person is still signed in');
    });

  test('cookies that another port has set, of our name and many others, do not shut the person out', async (t) => {
    const { server, name, peer, page } = await stage(t);
    const call = await peer.call('transfer');
    await asks(page, 'Transfer the money');
    const { items } = await fetched(page, '/api/elicitation');
    const ours = `nod-${new URL(server.origin).port}`;
    const paths = ['/api', '/api/me', '/api/elicitation', `/api/elicitation/${items[0].id}`, '/api/events', '/a', '/login', '/assets'];
    const cookies = [...paths.flatMap((path) => [`${ours}=${'A'.repeat(22)}; Path=${path}`, `${ours}=${'B'.repeat(22)}; Path=${path}/`]), ...Array.from({ length: 100 }, (_, i) => `other-${i}=${'x'.repeat(100)}`)];
    const hostile = await program(t, (request, reply) => void reply.setHeader('Set-Cookie', cookies));
    const visit = await page.context().newPage();
    await visit.goto(hostile.at());
    assert.ok((await page.context().cookies(`${server.origin}/api/me`)).length > 100);
    await page.reload();
    await live(page);
    assert.equal(await whoIs(page), name);
    await ready(page);
    await button(page, 'Approve').click();
    assert.equal(await call.result(), 'Transferred.');
  });

  test('a link of somebody else, as a picture, in a frame, fetched ahead: it signs nobody in, and is not used up', async (t) => {
    const { server, name, page } = await stage(t);
    const link = await linkFor(server, CALLER.token); // a token that only asks makes links, too
    for (const [how, html] of Object.entries({
      picture: `<img src="${link}">`,
      frame: `<iframe src="${link}"></iframe>`,
      object: `<object data="${link}"></object>`,
      'fetched ahead': `<link rel="prefetch" href="${link}">`,
      'fetched ahead as a page': `<script type="speculationrules">{"prefetch":[{"source":"list","urls":["${link}"],"eagerness":"immediate"}]}</script>`,
      style: `<link rel="stylesheet" href="${link}">`,
      fetched: `<script>fetch("${link}", { mode: 'no-cors', credentials: 'include' }); fetch("${link}", { mode: 'no-cors', method: 'POST', credentials: 'include' })</script>`,
      'sent as a form': `<iframe name="f"></iframe><form method="post" target="f" action="${link}"></form><script>document.forms[0].submit()</script>`,
    })) {
      const hostile = await program(t, () => `<!doctype html><title>x</title>${html}<p>seen`);
      const visit = await page.context().newPage();
      await visit.goto(hostile.at());
      await visit.waitForLoadState('networkidle');
      await visit.close();
      assert.equal(await whoIs(page), name, how);
    }
    const again = await fetch(link, { redirect: 'manual' });
    assert.deepEqual([again.status, again.headers.getSetCookie()], [200, []], 'it can still be used');
    assert.match(await again.text(), /This link signs you in as <bdi[^>]*>carl</);
  });

  test('a link of somebody else that a page leads to: it names both, Enter alone does nothing, and the button changes who is signed in', async (t) => {
    const { server, name, peer, page } = await stage(t, { allow: /40[134]/ });
    await peer.call('say', { text: 'For the first.' });
    await asks(page, 'For the first.');
    await ask(page).getByLabel('A word').fill('typed by the first');
    const link = await linkFor(server, tokenOf('root'));
    const hostile = await program(t, () => `<!doctype html><title>x</title><script>location = "${link}"</script>`);
    const visit = await tab(t, page, '/history', /40[134]/);
    await visit.goto(hostile.at('localhost'));
    await visit.getByText(`${name} is signed in here now, and will be signed out. Whatever is asked and answered here after that is root’s.`).waitFor();
    await visit.getByText('This link signs you in as root.').waitFor();
    assert.equal(await visit.evaluate(() => document.activeElement === document.body), true, 'the button has no focus');
    await visit.keyboard.press('Enter');
    await look(visit, 'link-other');
    assert.equal(await whoIs(page), name);
    await button(visit, `Sign ${name} out, and root in`).click();
    await live(visit);
    assert.equal(await whoIs(visit), 'root');
    // The page of the first in the other tab is not sent on as the second's: it becomes the second's page.
    await page.locator('#who', { hasText: 'root' }).waitFor();
    await live(page);
    assert.equal(await page.getByText('typed by the first').count(), 0);
    const late = await fetch(`${server.origin}/login/${link.split('/').at(-1)}`, { redirect: 'manual' });
    assert.equal(late.status, 410);
  });

  test('a link where nobody is signed in: one Enter; a private window is one, too', async (t) => {
    const { server, page: first, name } = await stage(t);
    const page = await stranger(t); // a context of its own, as a private window is
    const link = await linkFor(server, tokenOf('root'));
    await page.goto(link);
    await page.getByText('Nobody is signed in here now.').waitFor();
    await look(page, 'link');
    await openLink(page, link);
    await live(page);
    assert.deepEqual([await whoIs(page), await whoIs(first)], ['root', name], 'the other window is as it was');
    const again = await linkFor(server, tokenOf('root'));
    await page.goto(again);
    await page.getByText('You are signed in here as root already. This signs you in again, with the roles of this link.').waitFor();
    await page.locator('#go[aria-disabled=false]').waitFor();
    assert.equal(await page.evaluate(() => document.activeElement === document.body), true, 'the roles may be others: the button has no focus');
  });

  test('a link that has died while it was looked at leaves whoever is signed in as they are', async (t) => {
    const { server, name, page } = await stage(t, { allow: /410/ });
    const link = await linkFor(server, tokenOf('root'));
    const visit = await tab(t, page, '/history', /410/);
    await visit.goto(link);
    await button(visit, `Sign ${name} out, and root in`).waitFor();
    const used = await fetch(link, { method: 'POST', headers: { Origin: server.origin } });
    assert.equal(used.status, 200);
    await button(visit, `Sign ${name} out, and root in`).click();
    await visit.getByText('was used before').waitFor();
    assert.equal(await whoIs(page), name);
    await page.reload();
    await live(page);
  });

  test('a browser that has lost half of its sign-in is asked to sign in, in words, and goes on where it was', async (t) => {
    const { server, name, page } = await stage(t, { path: '/history', allow: /40[13]/ });
    const other = await tab(t, page, '/', /40[13]/);
    await page.evaluate(() => localStorage.clear());
    await other.getByText('You are signed out.').waitFor();
    await page.reload();
    await page.getByRole('heading', { name: 'Please sign in again' }).waitFor();
    await page.getByText('This browser has lost half of its sign-in: it has the cookie, but not what this page had stored.').waitFor();
    await look(page, 'half');
    await page.getByRole('link', { name: 'Sign in', exact: true }).click();
    await page.getByLabel('Your token').fill(tokenOf(name));
    await button(page, 'Sign in').click();
    await page.getByRole('heading', { name: 'History' }).waitFor();
    await live(other);
    // The other half alone is as little.
    await page.context().clearCookies();
    await page.reload();
    await page.getByText('Your sign-in has ended. Please sign in again.').waitFor();
    assert.equal(new URL(page.url()).searchParams.get('next'), '/history');
    // Nor is it enough for another browser to have been given the cookie alone.
    await signIn(page, server, name);
    const thief = await stranger(t, { allow: /40[13]/ });
    await thief.context().addCookies(await page.context().cookies());
    await thief.goto(server.origin);
    await thief.getByRole('heading', { name: 'Please sign in again' }).waitFor();
    assert.equal(await thief.getByText(name, { exact: true }).count(), 0);
  });

  test('two tabs: signing out ends the stream of the other, which says so and keeps what was typed; signing in again, it goes on', async (t) => {
    const { server, name, peer, page } = await stage(t, { allow: /40[13]/ });
    await peer.call('say', { text: 'Which word?' });
    await asks(page, 'Which word?');
    await ask(page).getByLabel('A word').fill('half a word');
    const ended = within(PATIENCE_MS, 'the stream ends', new Promise((resolve) => {
      for (const how of ['requestfinished', 'requestfailed']) page.on(how, (request) => request.url().endsWith('/api/events') && resolve());
    }));
    const other = await tab(t, page, '/', /40[13]/);
    await menu(other, 'Sign out');
    await ended;
    await page.getByText('You are signed out. Sign in again, here or in another tab.').waitFor();
    assert.equal(await page.locator('#count').textContent(), '', 'what waits is not known now');
    assert.equal(await ask(page).locator('.primary').getAttribute('aria-disabled'), 'true', 'nothing can be sent');
    assert.deepEqual([await page.getByText('Which word?').filter({ visible: true }).count(), await rows(page).filter({ visible: true }).count()], [0, 0], 'and nothing can be read');
    assert.doesNotMatch(await page.title(), /\d/);
    await shot(page, 'signed-out');
    // Whoever looks at it again sees no more, also while the server has not yet said who is signed in.
    let asked, reply;
    const isAsked = new Promise((resolve) => (asked = resolve));
    await page.route('**/api/me', async (route) => {
      asked();
      await new Promise((resolve) => (reply = resolve));
      await route.continue();
    });
    await page.evaluate(() => dispatchEvent(new Event('focus')));
    await soon('the server is asked who is signed in', isAsked);
    assert.deepEqual([await page.locator('body').getAttribute('data-live'), await page.locator('#count').textContent(), await page.getByText('Which word?').filter({ visible: true }).count()], ['out', '', 0]);
    await Promise.all([page.waitForResponse('**/api/me'), reply()]);
    await page.unroute('**/api/me');
    await other.getByLabel('Your token').fill(tokenOf(name));
    await button(other, 'Sign in').click();
    await live(other);
    await live(page);
    assert.equal(await ask(page).getByLabel('A word').inputValue(), 'half a word');
    await button(page, 'Submit').click();
    await ask(page).getByText(/Answered by you/).waitFor();
    void server;
  });

  test('a page of one question says whose it is; who signs in elsewhere meanwhile gives nothing of theirs to it', async (t) => {
    const server = await startServer(t, [], 'pages');
    const page = await stranger(t, { server, name: 'ada', allow: /40[1349]/ });
    const session = await connect(t, 'http', 'pages', { server, token: tokenOf('ada'), capabilities: { elicitation: { url: {} } } });
    const call = session.text('form');
    const question = await session.question();
    question.accept();
    await page.goto(question.params.url);
    await page.getByText('Asked of ada; you are signed in as ada').waitFor();
    await page.getByLabel(/^City/).fill('Oslo');
    // Signed out in another tab: nothing is sent, and it stays until she is back.
    const other = await page.context().newPage();
    await other.goto(server.origin);
    await live(other);
    await menu(other, 'Sign out');
    await other.getByLabel('Your token').waitFor();
    await button(page, 'Submit').click();
    await page.getByText('You are signed out here, and nothing was sent. Sign in again in another tab: what you wrote is still here.').waitFor();
    await shot(page, 'hosted-signed-out');
    await signIn(other, server, 'ada');
    await page.locator('.note').waitFor({ state: 'hidden' });
    assert.equal(await page.getByLabel(/^City/).inputValue(), 'Oslo');
    // Somebody else signs in: it is not their page.
    await openLinkOver(other, await linkFor(server, tokenOf('root')));
    await page.getByText('There is no such page for you. You are signed in as root: the link may be for somebody else, or incomplete.').waitFor();
    await signIn(other, server, 'ada');
    await page.goto(question.params.url);
    await button(page, 'Decline').click();
    assert.equal(await soon('the result', call), 'decline by ada: nothing');
  });
});

// The link of somebody else is opened, and its button pressed.
async function openLinkOver(page, link) {
  await page.goto(link);
  await page.locator('#go:enabled').click();
  await live(page);
}
