// Reading: what tools and clients write is shown as text, whole, and exactly as it came.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { stage, person, ask, asks, rows, button, shot } from './browser.js';

describe('reading', { concurrency: 2 }, () => {
  test('hostile text is text: no markup, no link, no direction, no colour', async (t) => {
    const { peer, page } = await stage(t);
    const text = 'Run \u001b[31mrm -rf\u001b[0m? <script>window.hit = 1</script><img src=x onerror="window.hit = 2">\nsafe\u202Etxt.exe\u202C https://evil.example/ \u200b\u200b\u0007 javascript:alert(1)';
    await peer.call('say', { text, '<b>key</b>': '<svg onload="window.hit = 3">', 'bidi\u2067': 'a\u202Eb\tc\nd', tags: 'a\u{e0041}\u{e0042}' });
    const message = ask(page).locator('.message');
    await message.waitFor();
    assert.deepEqual(await message.locator('.mark').allTextContents(), ['ESC', 'ESC', 'U+202E', 'U+202C', 'U+200B×2', 'BEL']);
    const shown = await message.textContent();
    for (const part of ['<script>window.hit = 1</script>', '<img src=x onerror=', 'https://evil.example/']) assert.ok(shown.includes(part), part);
    assert.doesNotMatch(await page.locator('#main').textContent(), /[\u0007\u001b\u202a-\u202e\u2066-\u2069\u200b]/);
    assert.equal(await ask(page).locator('a, img, script, svg').count(), 0);
    assert.equal(await page.evaluate(() => window.hit), undefined);
    const tree = ask(page).locator('.tree');
    await tree.getByText('<b>key</b>').waitFor();
    assert.ok((await tree.locator('.mark').allTextContents()).join(' ').includes('U+2067 U+202E TAB U+E0041 U+E0042'));
    await shot(page, 'hostile');
  });

  test('a blank that is no space is a mark; one wide space behind Japanese has a dotted line', async (t) => {
    const { peer, page } = await stage(t);
    await peer.call('say', { text: 'rm\u3000-r \u5c71\u7530\u3000\u592a\u90ce', target: '\u3000', more: '\u4eac\u3000\u3000\u2800\u3164\u00a0\u{1d159}\u{13441}\ufffc' });
    const message = ask(page).locator('.message');
    await message.waitFor();
    assert.deepEqual([await message.locator('.mark').allTextContents(), await message.locator('.wide').allTextContents()], [['U+3000'], ['\u3000']]);
    assert.equal(await message.locator('.wide').getAttribute('title'), 'a wide space, U+3000');
    const tree = ask(page).locator('.tree');
    await tree.getByText('U+13441').waitFor();
    assert.deepEqual([await tree.locator('.mark').allTextContents(), await tree.locator('.wide').count()], [['U+3000', 'U+3000', 'U+3000', 'U+2800', 'U+3164', 'U+00A0', 'U+1D159', 'U+13441', 'U+FFFC'], 2]);
    await shot(page, 'blanks');
  });

  test('accents beyond the fourth on one letter are marks, and cover nothing', async (t) => {
    const { peer, page } = await stage(t);
    const pile = (count) => `e${'\u0301'.repeat(count)}`;
    await peer.call('say', { text: `Run ${pile(900)} or ${pile(4)}, or ${pile(4)}\u0302\u0303?`, more: pile(500) });
    const message = ask(page).locator('.message');
    await message.waitFor();
    assert.deepEqual(await message.locator('.mark').allTextContents(), ['U+0301×896', 'U+0302', 'U+0303']);
    assert.match(await message.locator('.mark').first().getAttribute('title'), /^one accent too many, U\+0301$/);
    await ask(page).locator('.tree').getByText('U+0301×496').waitFor();
    assert.doesNotMatch(await page.locator('#main').textContent(), /\p{M}{5}/u);
  });

  test('the arguments of an approval have their own place, and are not in the message too: neither marked nor cut', async (t) => {
    for (const [name, args] of Object.entries({ marked: { disk: 'sda', x: 'a\u202Eb\u001bc\td', long: 'x'.repeat(2000) }, cut: { disk: 'sda', long: 'x'.repeat(20_000) } })) {
      const { peer, page } = await stage(t);
      await peer.call('refresh', args);
      const message = ask(page).locator('.message');
      await message.waitFor();
      assert.equal(await message.textContent(), 'Allow Refresh the cache?');
      await ask(page).locator('.tree').getByText('sda', { exact: true }).waitFor();
      await shot(page, `gate-${name}`);
    }
  });

  test('a question that only looks as if the server had added arguments to it is shown whole', async (t) => {
    const { peer, page } = await stage(t);
    const added = '{ and then drop the production database as well }\n\nNot shown: 1 byte of the arguments. Whoever made the call has all of them, and so has the inbox if this question is there.';
    await peer.call('say', { text: `Delete the old logs?\n\n${added}` });
    const message = ask(page).locator('.message');
    await message.waitFor();
    assert.equal(await message.textContent(), `Delete the old logs?\n\n${added}`);
    assert.match(await rows(page).first().locator('.gist').textContent(), /production database/);
    // In an approval what the server has added is the last that could be it.
    for (const [i, rest] of [{ x: 1 }, { long: 'x'.repeat(20_000) }].entries()) {
      await peer.call('agree', { text: `Delete them?\n\n${added}`, ...rest });
      await rows(page).nth(1 + i).click();
      await ask(page).locator('.message', { hasText: 'Delete them?' }).waitFor();
      assert.equal(await message.textContent(), `Delete them?\n\n${added}`);
    }
    // And where it has added none, because there are none, nothing is taken for them.
    await peer.call('agree', { text: `Delete nothing?\n\n${added}`, bare: true });
    await rows(page).nth(3).click();
    await ask(page).locator('.message', { hasText: 'Delete nothing?' }).waitFor();
    assert.match(await message.textContent(), /production database/);
  });

  test('numbers are as they came, nested values are a tree, and deep ones fold', async (t) => {
    const { peer, page } = await stage(t);
    await peer.call('transfer', '{"amount":1200.00,"tiny":0.10,"big":123456789012345678901234567890,"exp":1E5,"to":{"name":"Grace","bank":{"branch":{"city":"Berlin"}}},"list":["a",true,null,[]],"2":"two","1":"one","__proto__":"p"}');
    const tree = ask(page).locator('.tree');
    await tree.waitFor();
    assert.deepEqual(await tree.locator('.num').allTextContents(), ['1200.00', '0.10', '123456789012345678901234567890', '1E5']);
    assert.deepEqual((await tree.locator('> li').allInnerTexts()).map((row) => row.split(/\s/)[0]), ['amount', 'tiny', 'big', 'exp', 'to', 'list', '2', '1', '__proto__']);
    assert.equal(await tree.getByText('Berlin').count(), 0, 'below the third level it is folded');
    await tree.getByText('branch').click();
    await tree.getByText('Berlin').waitFor();
    await shot(page, 'arguments');
  });

  test('a value of a megabyte and ten thousand members fold, and nothing is cut', async (t) => {
    const { peer, page } = await stage(t);
    const long = 'x'.repeat(1_000_000) + 'END';
    const many = Object.fromEntries(Array.from({ length: 10_000 }, (_, i) => [`field${i}`, i]));
    await peer.call('say', { text: 'Much to read.', long, many });
    const tree = ask(page).locator('.tree');
    await tree.getByText('10,000 members').waitFor();
    assert.ok((await page.evaluate(() => document.querySelectorAll('*').length)) < 1500, 'only what is seen is drawn');
    await button(page, 'show 20,000 of 999,403 more characters').click();
    await button(page, 'show 20,000 of 979,403 more characters').waitFor();
    await button(page, 'show 500 of 9,960 more').click();
    await tree.getByText('field539', { exact: true }).waitFor();
    // Every press shows more, down to the last character. (Out of sight: to lay it all out takes the browser seconds.)
    await page.evaluate(() => {
      document.getElementById('main').hidden = true;
      for (let button; (button = document.querySelector('.tree .more')); ) button.click();
    });
    const { whole, last } = await page.evaluate(() => {
      const names = [...document.querySelectorAll('.tree .k')];
      return { whole: names.find((name) => name.textContent === 'long').nextElementSibling.textContent, last: names.at(-1).textContent };
    });
    assert.equal(whole, long);
    assert.equal(last, 'field9999');
  });

  test('a deep link shows its ask, what has ended too, and says so if there is none', async (t) => {
    const { server, peer, page } = await stage(t, { allow: /404/ });
    await peer.call('say', { text: 'One.' });
    await rows(page).first().waitFor();
    await peer.call('transfer');
    await rows(page).nth(1).click();
    await asks(page, 'Transfer the money to Grace Hopper?');
    const where = new URL(page.url()).pathname;
    assert.match(where, /^\/ask\/.+/);
    await page.goto(server.origin + where);
    await asks(page, 'Transfer the money to Grace Hopper?');
    await button(page, 'Approve').click();
    await ask(page).getByText(/Approved by you/).waitFor();
    await page.goto(server.origin + where);
    await ask(page).getByText(/Approved by you/).waitFor();
    await page.goto(`${server.origin}/ask/AAAAAAAAAAAAAAAAAAAAAA`);
    await page.getByText('This question is not here').waitFor();
    const bob = await person(t, server, 'ada', { path: where, allow: /404/ });
    await bob.getByText('This question is not here').waitFor();
  });

  test('an address to open is shown whole, as text, and not as a link', async (t) => {
    const { peer, page } = await stage(t);
    const call = await peer.call('visit');
    await asks(page, 'Sign the contract there, please.');
    assert.equal(await ask(page).locator('.address').textContent(), 'https://contracts.example/sign?who=ada');
    assert.equal(await ask(page).locator('a').count(), 0);
    await button(page, 'Approve').click();
    assert.equal(await call.result(), 'Opened.');
  });
});
