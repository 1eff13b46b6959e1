// How it looks: axe-core finds nothing serious in either theme, nothing is wider than the screen, and there is a screenshot
// of each state at each width.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { stage, ask, asks, pressed, ready, rows } from './browser.js';
import { look } from './look.js';

describe('looks', { concurrency: 2 }, () => {
  test('with nothing, one, and two hundred asks, the pages, and signing in: accessible, in both themes, at three widths', async (t) => {
    const { server, peer, page } = await stage(t);
    await look(page, 'empty');
    await peer.call('erase');
    await ask(page).waitFor();
    await ready(page);
    await look(page, 'one', true);
    await peer.call('fields');
    await rows(page).nth(1).waitFor();
    for (let i = 0; i < 198; i++) await peer.call(i % 2 ? 'transfer' : 'say', { text: `Question ${i}` });
    await page.getByText('200 waiting').waitFor();
    await rows(page).nth(1).click();
    await asks(page, 'Where shall the parcel go');
    await ready(page);
    await look(page, 'two-hundred');
    await page.setViewportSize({ width: 320, height: 600 });
    assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), 'it fits into 320 px');
    await page.setViewportSize({ width: 1280, height: 800 });
    await pressed(page, 'Decline');
    await page.locator('.outcome').waitFor();
    await look(page, 'outcome');
    await page.getByRole('link', { name: 'History' }).click();
    await page.locator('.entry summary').first().click();
    await page.locator('.past').waitFor();
    await look(page, 'history');
    await page.goto(`${server.origin}/login`);
    await look(page, 'login');
  });

  test('all of it weighs less than 90 KB, and every file has the policy that lets nothing in from elsewhere', async (t) => {
    const { server, page } = await stage(t);
    const files = ['/', '/login', ...new Set(await page.evaluate(() => performance.getEntriesByType('resource').map(({ name }) => new URL(name).pathname).filter((name) => name.startsWith('/assets/')))), '/assets/any/login.js'];
    let weight = 0;
    for (const name of files) {
      const reply = await page.request.get(server.origin + name);
      assert.equal(reply.status(), 200, name);
      const headers = reply.headers();
      assert.equal(headers['content-security-policy'], "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'");
      assert.deepEqual(['cross-origin-opener-policy', 'cross-origin-resource-policy', 'referrer-policy', 'x-content-type-options', 'cache-control'].map((header) => headers[header]),
        ['same-origin', 'same-origin', 'no-referrer', 'nosniff', 'no-store'], name);
      weight += (await reply.body()).length;
    }
    assert.ok(files.length >= 13, String(files));
    assert.ok(weight < 90_000, `${weight} bytes`);
  });

  test('the icon is where browsers look for it', async (t) => {
    const { server } = await stage(t);
    const reply = await fetch(`${server.origin}/favicon.ico`);
    assert.deepEqual([reply.status, reply.headers.get('content-type')], [200, 'image/svg+xml']);
  });

  test('a theme that is chosen stays', async (t) => {
    const { page } = await stage(t);
    const background = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
    const light = await background();
    await page.locator('#menu summary').click();
    await page.getByLabel('Theme').selectOption('dark');
    assert.notEqual(await background(), light);
    await page.reload();
    assert.notEqual(await background(), light);
  });
});
