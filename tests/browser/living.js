// The page over time: asks come and go, expire, servers go away and come back, and people only have a keyboard.
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { describe, test } from 'node:test';
import { startHttp, freePort } from '../wire/harness.js';
import { line } from '../wire/credentials.js';
import { PEOPLE, pagesOf, stage, client, person, live, ask, asks, ready, rows, button, shot } from './browser.js';

describe('over time', { concurrency: 2 }, () => {
  test('a new ask arrives without a reload, at the end, is announced, and is counted in the title', async (t) => {
    const { peer, page } = await stage(t);
    await page.getByText('Nothing is waiting').waitFor();
    await page.evaluate(() => (window.same = true));
    await peer.call('say', { text: 'The first.' });
    await asks(page, 'The first.');
    await peer.call('transfer');
    await rows(page).nth(1).getByText('Transfer money').waitFor();
    await asks(page, 'The first.');
    assert.equal(await page.title(), '(2) parcels');
    assert.equal(await page.locator('#count').textContent(), '2 waiting');
    assert.equal(await page.locator('#arrivals[aria-live=polite]').textContent(), 'New: Transfer money');
    assert.equal(await page.evaluate(() => window.same), true);
  });

  test('a notification, where it was allowed and the page is not in sight, says the title of the tool alone', async (t) => {
    const { peer, page, server } = await stage(t);
    await page.context().grantPermissions(['notifications'], { origin: server.origin });
    await page.locator('#menu summary').click();
    await page.getByLabel('Notify me of new questions').check();
    await page.evaluate(() => {
      Object.defineProperty(document, 'hidden', { value: true });
      window.Notification = class extends Notification {
        constructor(...given) {
          super(...given);
          window.notified = given;
        }
      };
    });
    await peer.call('transfer', { secret: 'not for the lock screen' });
    await page.waitForFunction(() => window.notified);
    assert.deepEqual(await page.evaluate(() => window.notified), ['Transfer money', { tag: 'nod' }]);
  });

  test('an ask that expires while it is shown says so, and can no longer be answered', async (t) => {
    const { peer, page } = await stage(t);
    const call = await peer.call('brief');
    await asks(page, 'Quick: yes?');
    await ask(page).locator('.left.soon').waitFor();
    await ask(page).getByText(/Expired: nobody answered in time/).waitFor();
    assert.equal(await ask(page).locator('.bar').count(), 0);
    assert.equal(await call.result(), 'Too late.');
    assert.match(await page.locator('#outcomes[aria-live=assertive]').textContent(), /Expired/);
    await shot(page, 'expired');
  });

  test('a server that is restarted under the open page: decisions rest, what was typed stays, and then it goes on', async (t) => {
    pagesOf(t);
    const folder = mkdtempSync(path.join(tmpdir(), 'nod-browser-'));
    t.after(() => rmSync(folder, { recursive: true, force: true }));
    const tokens = path.join(folder, 'tokens');
    writeFileSync(tokens, PEOPLE.map(line).join(''), { mode: 0o600 });
    const port = await freePort();
    const start = () => startHttp(t, 'browser-server', { port, args: ['--token-file', tokens, '--store', `sqlite:${path.join(folder, 'nod.db')}`] });
    const origin = `http://127.0.0.1:${port}`;
    const first = await start();
    const server = { url: `${origin}/mcp`, origin };
    const peer = await client(t, server);
    const page = await person(t, server, 'ada', { allow: /Failed to load resource|ERR_/ });
    await peer.call('say', { text: 'Are you still there?' });
    await ask(page).getByLabel('A word').fill('half a word');
    await first.kill();
    await page.getByText(/The connection is lost/).waitFor();
    assert.equal(await ask(page).locator('.primary').getAttribute('aria-disabled'), 'true');
    await shot(page, 'reconnecting');
    await start();
    await live(page);
    assert.equal(await ask(page).getByLabel('A word').inputValue(), 'half a word');
    assert.equal(await rows(page).count(), 1);
    await button(page, 'Submit').click();
    await ask(page).getByText(/Answered by you/).waitFor();
    await ask(page).getByText('Result: Said.').waitFor();
  });

  test('with the keyboard alone: move, open, fill in, approve, decline; and keys can be switched off', async (t) => {
    const { peer, page } = await stage(t);
    const calls = [];
    for (const text of ['The first.', 'The second.', 'The third.']) {
      calls.push(await peer.call('say', { text }));
      await rows(page).nth(calls.length - 1).waitFor();
    }
    const press = async (...keys) => {
      for (const key of keys) await page.keyboard.press(key);
    };
    await press('j', 'Enter');
    await asks(page, 'The second.');
    assert.equal(await page.evaluate(() => document.activeElement.tagName), 'H2');
    await press('Tab', 'Tab');
    while (!(await page.evaluate(() => document.activeElement.tagName === 'INPUT'))) await press('Tab');
    await page.keyboard.type('djk?/ and so on');
    assert.equal(await ask(page).getByLabel('A word').inputValue(), 'djk?/ and so on', 'single keys are off while typing');
    await ready(page);
    await press('Control+Enter');
    await ask(page).getByText(/Answered by you/).waitFor();
    assert.equal(await calls[1].result(), 'Said.');
    await press('Enter'); // on Next, which has the focus
    await asks(page, 'The third.');
    await ready(page);
    await press('d');
    await page.keyboard.type('No.');
    await press('Enter');
    await ask(page).getByText(/Declined by you/).waitFor();
    assert.equal(await calls[2].result(), 'Not said.');
    await press('?');
    await page.getByRole('dialog').getByText('down and up the list').waitFor();
    await press('Escape', '/');
    assert.equal(await page.evaluate(() => document.activeElement.type), 'search');
    await page.goBack();
    await page.locator('#menu summary').focus();
    await press('Enter');
    await page.getByLabel('Single-key shortcuts').uncheck();
    await press('?');
    assert.equal(await page.getByRole('dialog').count(), 0);
  });

  test('signing out ends the page in every tab; a wrong token is told so; without a script the page says where to answer', async (t) => {
    const { server, peer, page } = await stage(t, { allow: /401/ });
    await peer.call('transfer');
    await rows(page).first().waitFor();
    const plain = await page.context().browser().newContext({ javaScriptEnabled: false, storageState: await page.context().storageState() });
    t.after(() => plain.close());
    const still = await plain.newPage();
    await still.goto(server.origin);
    await still.getByText(/This page needs JavaScript. In a terminal, nod inbox works without it/).waitFor();
    assert.equal(await still.getByText('Transfer money').count(), 0, 'a cookie alone is told nothing');

    await page.locator('#menu summary').click();
    await button(page, 'Sign out').click();
    await page.getByLabel('Your token').fill('not a token');
    await button(page, 'Sign in').click();
    await page.getByText('This token is not known here.').waitFor();
    await page.goto(`${server.origin}/history`);
    await page.getByLabel('Your token').fill(PEOPLE[0].token);
    await button(page, 'Sign in').click();
    await page.getByRole('heading', { name: 'History' }).waitFor();
  });

  test('"Try it" makes an ask wait, without a client and without tokens; the link of the log opens the page', async (t) => {
    pagesOf(t);
    const server = await startHttp(t, 'delete-account', { args: ['--demo'] });
    const [link] = /http\S+\/login\/[\w-]+/.exec(await server.said(/event=inbox/));
    const page = await person(t, { origin: new URL(server.url).origin }, null, { link });
    await button(page, 'Try it').click();
    await asks(page, 'Permanently delete account ada? This cannot be undone.');
    await ask(page).getByLabel('Confirm deletion').check();
    await ask(page).getByLabel('Reason optional', { exact: true }).fill('A trial.');
    await shot(page, 'try-it');
    await button(page, 'Approve').click();
    await ask(page).getByText('Result: Deleted ada. Reason: A trial.').waitFor();
  });
});
