// Pages of one question (/a/...): opened from a link, filled in and sent; and pages of somebody else, which send the person back.
import assert from 'node:assert/strict';
import http from 'node:http';
import { after, describe, test } from 'node:test';
import { connect, PATIENCE_MS } from '../wire/harness.js';
import { connectModern } from '../wire/modern.js';
import { PEOPLE, button, client, person, startServer, asks, ask, ready, soon, stranger } from './browser.js';
import { look } from './look.js';

// One server for all of them; each is somebody else where that matters.
const ends = [];
let shared;
const pagesServer = () => (shared ??= startServer({ after: (end) => ends.push(end) }, [], 'pages'));
after(async () => {
  for (const end of ends.reverse()) await end();
});

const capabilities = { elicitation: { url: {} } };
const [{ token }] = PEOPLE;
const clients = {
  'v1, 2025': (t, server) => connect(t, 'http', 'pages', { server, token, capabilities }),
  'v2, 2026': (t, server) => connectModern(t, 'http', 'pages', { server, token, capabilities }),
};

// A site that is not ours: what it was asked for, with which headers.
async function foreignSite(t, answer) {
  const seen = [];
  const site = http.createServer((request, reply) => {
    if (request.url !== '/favicon.ico') seen.push({ url: request.url, headers: request.headers });
    reply.setHeader('Content-Type', 'text/html');
    reply.end(`<!doctype html><title>Elsewhere</title>${answer(new URL(request.url, 'http://localhost'))}`);
  });
  await new Promise((done) => site.listen(0, '127.0.0.1', done));
  t.after(() => (site.close(), site.closeAllConnections()));
  return { seen, origin: `http://localhost:${site.address().port}` }; // another site than 127.0.0.1
}

describe('pages of one question', { concurrency: 2 }, () => {
  for (const [name, open] of Object.entries(clients)) {
    test(`${name}: a link is opened from elsewhere, filled in and sent; the client is given nothing but the link`, async (t) => {
      const server = await pagesServer();
      const page = await stranger(t, { server, name: 'ada', allow: /404|422/ });
      const session = await open(t, server);
      const call = session.text('form', { message: 'Where to,\n<b>Ada</b>?' });
      const question = await session.question();
      question.accept();
      const chat = await foreignSite(t, () => `<a href="${question.params.url}">open</a>`);
      await page.goto(chat.origin); // as from a chat
      await page.getByRole('link', { name: 'open' }).click();
      await page.getByText('Where to,').waitFor();
      assert.equal(await page.locator('#whose').textContent(), 'Asked of ada; you are signed in as ada');
      assert.equal(await page.locator('#message b').count(), 0, 'what a tool says is text');
      const city = page.getByLabel(/^City/);
      await button(page, 'Submit').click();
      await page.getByText('Please fill this in.').waitFor();
      await city.fill('Lisboa');
      await page.getByLabel(/^Floor/).fill('3');
      await page.reload();
      await city.fill('Lisboa');
      await ready(page);
      await city.press('Enter'); // a form of data
      await page.getByText('You can close this page.').waitFor();
      assert.equal(await soon('the result', call), 'accept by ada: {"city":"Lisboa"}');
      await page.goto(question.params.url);
      await page.getByText('This was answered, and the tool goes on.').waitFor();
      assert.equal(await page.locator('#form').isHidden(), true);
      assert.doesNotMatch(JSON.stringify(session.asked), /Lisboa/);
    });

    test(`${name}: a foreign page is given no trace of the link, and sends the person back`, async (t) => {
      const server = await pagesServer();
      const page = await stranger(t, { server, name: 'ada', allow: /404/ });
      const session = await open(t, server);
      const site = await foreignSite(t, (url) => `<a href="${url.searchParams.get('back')}?${new URLSearchParams({ state: url.searchParams.get('state'), code: 'c-1' })}">pay</a>`);
      const call = session.text('foreign', { url: `${site.origin}/pay?back={return}` });
      const question = await session.question();
      question.accept();
      const chat = await foreignSite(t, () => `<a href="${question.params.url}">open</a>`);
      await page.goto(chat.origin);
      await page.getByRole('link', { name: 'open' }).click();
      await page.getByText(`${site.origin}/pay`, { exact: true }).waitFor();
      assert.equal(site.seen.length, 0, 'it says where it leads before it does');
      await button(page, `Continue to ${new URL(site.origin).host}`).click();
      await page.getByRole('link', { name: 'pay' }).click();
      await page.getByText('You can close this page.').waitFor();
      assert.equal(await soon('the result', call), 'accept by ada: {"code":"c-1"}');
      const secret = new URL(question.params.url).pathname.slice(3);
      assert.ok(site.seen.length >= 1);
      assert.equal(site.seen.some(({ url, headers }) => (url + JSON.stringify(headers)).includes(secret)), false, 'no token, in no Referer');
      assert.equal(site.seen.some(({ headers }) => headers.referer), false);
    });
  }

  test('what is destructive takes a second press, and a box that is not ticked is named before it is sent', async (t) => {
    const server = await pagesServer();
    const page = await stranger(t, { server, name: 'ada' });
    const session = await clients['v1, 2025'](t, server);
    const open = async (tool) => {
      const call = session.text(tool);
      const question = await session.question();
      question.accept();
      await page.goto(question.params.url);
      await page.locator('.who', { hasText: /Destructive.*[45] min left$/ }).waitFor();
      return { call };
    };
    let { call } = await open('wipe');
    await page.getByLabel(/^City/).fill('Oslo');
    await page.getByLabel(/^City/).press('Enter');
    await page.getByText('Enter alone sends nothing here: press Submit.').waitFor();
    await button(page, 'Submit').click();
    await button(page, 'Press again to submit').click();
    assert.equal(await soon('the result', call), 'accept by ada: {"city":"Oslo"}');
    for (const [tick, expected] of [[false, 'false'], [true, 'true']]) {
      ({ call } = await open('erase'));
      await button(page, 'Submit').click();
      await page.getByText('This is not ticked: it says no.').waitFor();
      if (tick) await page.getByLabel('Erase it').check();
      await button(page, tick ? 'Submit' : 'Press again to send').click();
      assert.equal(await soon('the result', call), `accept by ada: {"sure":${expected}}`);
    }
  });

  test('it says how long it waits, and when that is over; what was typed can still be read', async (t) => {
    const server = await pagesServer();
    const page = await stranger(t, { server, name: 'ada', allow: /409/ });
    const session = await clients['v1, 2025'](t, server);
    const open = async (args) => {
      const call = session.text('form', args);
      const question = await session.question();
      question.accept();
      await page.goto(question.params.url);
      await page.getByLabel(/^City/).fill('Lisboa');
      return { call };
    };
    const ended = async () => {
      await page.getByText('The time for this is over: nobody answered. What you wrote was not sent.').waitFor();
      assert.deepEqual([await page.getByLabel(/^City/).inputValue(), await button(page, 'Submit').count(), await button(page, 'Decline').count()], ['Lisboa', 0, 0]);
    };
    await page.clock.install();
    const first = await open();
    await page.getByText(/[45] min left$/).waitFor();
    assert.equal(await page.getByText('(at most 40 characters)').count(), 1, 'that one is at least one character is not worth saying');
    await page.clock.fastForward('06:00');
    await ended();
    await page.reload(); // by the clock of the server it waits
    await page.getByText(/[45] min left$/).waitFor();
    await button(page, 'Decline').click();
    assert.equal(await soon('the result', first.call), 'decline by ada: nothing');
    await page.clock.pauseAt(new Date(Date.now() + 3600_000)); // a page that does not notice is told when it sends
    const second = await open({ ttl: 5000 });
    await page.clock.runFor(1100);
    await soon('the result', second.call);
    await button(page, 'Submit').click();
    await ended();
  });

  test('in a frame of another site it does not open', async (t) => {
    const server = await pagesServer();
    const page = await stranger(t, { server, name: 'ada', allow: /frame|Framing|ancestor|blocked|refused/i });
    const session = await clients['v1, 2025'](t, server);
    const call = session.text('form');
    const question = await session.question();
    const site = await foreignSite(t, () => `<iframe src="${question.params.url}"></iframe>`);
    await page.goto(site.origin);
    await page.waitForLoadState('networkidle');
    const [, frame] = page.frames();
    assert.equal(await frame.locator('#form').count(), 0);
    question.decline();
    await call;
  });

  test('the form, how it ended, and what others read: accessible, in both themes', async (t) => {
    const server = await pagesServer();
    const page = await stranger(t, { server, name: 'ada' });
    const session = await clients['v1, 2025'](t, server);
    const call = session.call('form', {}, { timeout: 2 * PATIENCE_MS }); // looking takes long on a machine that is busy
    const { params } = await session.question();
    await page.goto(params.url);
    await page.getByLabel(/^City/).waitFor();
    await look(page, 'hosted-form');
    const root = await stranger(t, { server, name: 'root', allow: /404/ });
    await root.goto(params.url);
    await root.getByText('There is no such page for you.').waitFor();
    await look(root, 'hosted-refused');
    await button(page, 'Decline').click();
    await page.getByText('This was declined').waitFor();
    if (process.env.NOD_SOAK) await look(page, 'hosted-ended');
    await call;
  });

  test('the inbox shows name and message, and opens the page; another person cannot', async (t) => {
    const server = await pagesServer();
    const page = await person(t, server);
    const peer = await client(t, server);
    const call = await peer.call('form');
    await asks(page, 'Where does it go?');
    await ask(page).getByText('You answer this on a page of its own.').waitFor();
    assert.equal(await ask(page).locator('.form .field').count(), 0);
    await ready(page);
    const [opened] = await Promise.all([page.context().waitForEvent('page'), button(page, 'Open the page').click()]);
    await opened.getByLabel(/^City/).fill('Oslo');
    const link = opened.url();
    const root = await stranger(t, { server, name: 'root', allow: /404/ });
    await root.goto(link);
    await root.getByText('There is no such page for you.').waitFor();
    await root.getByRole('link', { name: 'Sign in as somebody else' }).click();
    await root.getByLabel('Your token').waitFor();
    assert.equal(new URL(root.url()).searchParams.get('next'), new URL(link).pathname, 'and then comes back here');
    await button(opened, 'Submit').click();
    await opened.getByText('You can close this page.').waitFor();
    assert.equal(await call.result(), 'accept by ada: {"city":"Oslo"}');
    await page.locator('.outcome').waitFor();
  });

  test('who has not signed in is led to do so, and then to the page', async (t) => {
    const server = await pagesServer();
    const session = await clients['v1, 2025'](t, server);
    const call = session.text('form');
    const question = await session.question();
    const page = await stranger(t);
    await page.goto(question.params.url);
    await page.getByLabel('Your token').fill(token);
    await button(page, 'Sign in').click();
    await button(page, 'Decline').click();
    await page.getByText('This was declined').waitFor();
    assert.equal(await call, 'decline by ada: nothing');
  });
});
