// The list: each row says what is asked before who asks it, and what is different before what is the same.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { stage, ask, button, ready, rows, shot } from './browser.js';
import { look } from './look.js';

const row = (page, text) => rows(page).filter({ hasText: text });
const title = (page, i) => rows(page).nth(i).locator('a > :first-child');
const HOUR = 3_600_000;

describe('the list', { concurrency: 2 }, () => {
  test('the question is the title of its row; below it are the tool, who asks and the client, and when it was asked', async (t) => {
    const { name, peer, page } = await stage(t);
    await peer.call('transfer');
    await rows(page).first().waitFor();
    assert.equal(await title(page, 0).textContent(), 'Transfer the money to Grace Hopper?');
    assert.equal(await rows(page).first().locator('.label').textContent(), `Transfer money · ${name} · raw`);
    assert.match(await rows(page).first().locator('.when').innerText(), /^(just now|\d+ s ago)/);
    await peer.call('refresh', { cache: 'names' });
    await rows(page).nth(1).waitFor();
    assert.equal(await title(page, 1).textContent(), 'Allow Refresh the cache? cache: names', 'what the message does not say');
    await peer.call('erase');
    await rows(page).nth(2).getByText('▲ Destructive').waitFor();
  });

  test('time left is said in words, under an hour only, in seconds in the last minute, and what is nearly over is marked', async (t) => {
    const { peer, page } = await stage(t);
    for (const [text, ms] of [['long', 3 * HOUR], ['some', HOUR - 1000], ['little', 125_000], ['none', 50_000]]) {
      await peer.call('lasts', { text, ms });
      await row(page, text).waitFor();
    }
    const left = (text) => row(page, text).locator('.until');
    assert.equal(await left('long').isVisible(), false);
    assert.match(await left('some').innerText(), /5[89] min left$/);
    assert.match(await left('little').innerText(), /2 min left$/);
    assert.match(await left('none').innerText(), /(50|[1-4]?\d) s left$/);
    assert.equal(await page.locator('#list .soon').count(), 1);
    assert.equal(await left('none').locator('.soon').count(), 1);
    await page.evaluate(() => {
      const was = Date.now;
      Date.now = () => was() + 80_000;
    });
    await left('little').locator('.soon', { hasText: /^[1-4]?\d s left$/ }).waitFor();
    await shot(page, 'row-times');
  });

  test('questions that begin alike differ in what is seen of them, at every width', async (t) => {
    const { peer, page } = await stage(t);
    const begin = 'Shall I send the reminder about the invoice of last month, which is still open although it was due three weeks ago, to';
    const whom = ['Ada', 'Grace', 'Alan', 'Edsger'];
    for (const [i, one] of whom.entries()) {
      await peer.call('say', { text: `${begin} ${one}, or not?` });
      await rows(page).nth(i).waitFor();
    }
    for (const width of [1280, 768, 360]) {
      await page.setViewportSize({ width, height: 800 });
      for (const [i, one] of whom.entries())
        await page.waitForFunction(([i, one]) => {
          const node = document.querySelectorAll('#list .gist')[i], text = [...node.childNodes].find((part) => part.data?.includes(one));
          if (!text) return false;
          const range = document.createRange(), at = text.data.lastIndexOf(one);
          range.setStart(text, at), range.setEnd(text, at + one.length);
          const box = node.getBoundingClientRect();
          return range.getBoundingClientRect().bottom <= box.bottom + 1 && box.height < 48;
        }, [i, one]);
      assert.match(await title(page, 0).textContent(), /^Shall I send the … (weeks )?ago, to Ada, or not\?$/, 'the beginning is there, too, and the words before the difference');
    }
    await page.setViewportSize({ width: 1280, height: 800 });
    assert.match(await ask(page).locator('.message').textContent(), /^Shall I send the reminder about the invoice of last month/, 'the question in view is whole');
  });

  test('what gives way ends at a blank: a sign, the digits of a number, and a "not" before the difference stay', async (t) => {
    const { peer, page } = await stage(t);
    await page.setViewportSize({ width: 360, height: 800 });
    const long = 'Transfer from the current account of the household to the savings account at the bank in Vienna, reference 2026-11,';
    const pairs = [
      ['the sum of 1,000,500 EUR today', 'the sum of 1,000,600 EUR today', 'sum of 1,000,500 EUR'],
      ['the sum of 1 000 500 EUR today', 'the sum of 1 000 600 EUR today', 'sum of 1 000 500 EUR'],
      ['the sum of -500 EUR today', 'the sum of -600 EUR today', 'sum of -500 EUR'],
      ['the sum of 0.0001 today', 'the sum of 0.0002 today', 'sum of 0.0001 today'],
      ['and IBAN AT61.19043002345 alone', 'and IBAN AT61.29043002345 alone', 'IBAN AT61.19043002345 alone'],
      ['for the cluster non-production alone', 'for the cluster non-staging alone', 'cluster non-production alone'],
      ['and it is asked that you do not delete it', 'and it is asked that you do not keep it', 'you do not delete it'],
      ['and uninstall all of it at night', 'and unlock all of it at night', 'and uninstall all'],
      [`see ${'https://example.com/'.padEnd(60, 'x')}?sum=-1.5`, `see ${'https://example.com/'.padEnd(60, 'x')}?sum=-1.7`, '?sum=-1.5'],
    ];
    for (const [i, [one, other]] of pairs.entries()) {
      await peer.call('say', { text: `${i}${long} ${one}, and confirm it before noon or all of this is void.` });
      await rows(page).nth(2 * i).waitFor({ state: 'attached' });
      await peer.call('say', { text: `${i}${long} ${other}, and confirm it before noon or all of this is void.` });
      await rows(page).nth(2 * i + 1).waitFor({ state: 'attached' });
    }
    for (const [i, [, , kept]] of pairs.entries()) {
      await rows(page).nth(2 * i).scrollIntoViewIfNeeded();
      const gist = rows(page).nth(2 * i).locator('.gist', { hasText: '…' });
      await gist.waitFor();
      const text = await gist.textContent();
      assert.ok(text.includes(kept), text);
    }
  });

  test('of a long list only the rows in view are laid out, and each when it comes into view', async (t) => {
    const { peer, page } = await stage(t);
    const begin = 'word '.repeat(150);
    for (let i = 0; i < 60; i++) await peer.call('say', { text: `${begin}${i} of many` });
    await page.getByText('60 waiting').waitFor();
    const gist = (i) => rows(page).nth(i).locator('.gist', { hasText: '…' });
    await gist(0).waitFor();
    assert.ok((await page.locator('#list .gist', { hasText: '…' }).count()) < 30);
    assert.equal(await gist(59).count(), 0);
    await rows(page).nth(59).scrollIntoViewIfNeeded();
    await gist(59).waitFor();
    assert.match(await gist(59).textContent(), /… word word word \d+ of many$/);
  });

  test('thirty rows with the worst text: nothing is wider than its row, nothing runs, and all of it is accessible', async (t) => {
    const { peer, page } = await stage(t);
    const worst = ['<img src=x onerror="window.hit=1">', 'x'.repeat(3000), 'a\u202Eb\u0007c', '\u05d4\u05d0\u05dd \u05dc\u05de\u05d7\u05d5\u05e7 \u05d0\u05ea \u05d4\u05e7\u05d5\u05d1\u05e5?', '\u{1f469}\u200d\u{1f680}'.repeat(200), '\n\n\nThree lines\nof it'];
    for (let i = 0; i < 30; i++) {
      await peer.call('say', { text: worst[i] ?? `Question ${i} of a tool that asks many, and says the same words each time; this is ${i}` });
      await rows(page).nth(i).waitFor();
    }
    await ready(page);
    await look(page, 'thirty', true);
    assert.equal(await page.evaluate(() => window.hit), undefined);
    assert.equal(await page.evaluate(() => [...document.querySelectorAll('#list li')].every((one) => one.scrollWidth <= one.clientWidth && one.clientHeight < 110)), true);
  });

  test('what was answered says so in its row, and in the history the question is the title as well', async (t) => {
    const { peer, page } = await stage(t);
    await peer.call('say', { text: 'Shall I?' });
    await rows(page).first().waitFor();
    await ready(page);
    await button(page, 'Decline').click();
    await rows(page).first().locator('.when', { hasText: 'declined' }).waitFor();
    await page.getByRole('link', { name: 'History' }).click();
    assert.equal(await page.locator('.entry summary b').first().textContent(), 'Shall I?');
    assert.match(await page.locator('.entry summary .label').first().textContent(), /^say · p\d+ · raw$/);
  });
});
