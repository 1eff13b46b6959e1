// Answering: forms, approvals, refusals, and two people at once.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { stage, startServer, client, person, tab, ask, asks, pressed, ready, rows, button, shot } from './browser.js';

const outcome = (page) => page.locator('.outcome .verdict');

describe('answering', { concurrency: 2 }, () => {
  test('every kind of field is checked while typing, and what fits is what the tool gets', async (t) => {
    const { server, peer, page } = await stage(t, { allow: /422/ });
    const call = await peer.call('fields');
    await asks(page, 'Where shall the parcel go, and how?');
    const field = (name) => ask(page).getByLabel(new RegExp(`^${name}( required| optional)?$`));
    const problem = (name) => ask(page).locator('.field', { has: page.getByText(name, { exact: true }) }).locator('.error');

    // What the schema says is there: defaults, required marks, limits, descriptions.
    assert.equal(await field('Day').inputValue(), '2026-11-20');
    assert.equal(await field('Days in transit').inputValue(), '3');
    assert.equal(await field('Insure it').isChecked(), true);
    assert.equal(await field('Gift wrap').isChecked(), true);
    await ask(page).getByText('For the tracking number.').waitFor();
    await ask(page).getByText('(2 to 20 characters)').waitFor();
    await ask(page).getByText('(a whole number, 1 to 14)').waitFor();
    assert.equal(await ask(page).locator('.req').count(), 4);

    const wrong = [
      ['Name', 'A', /At least 2 characters/],
      ['E-mail', 'nobody', /an e-mail address/],
      ['Web site', 'example', /a whole address/],
      ['Ticket', '123', /look like T-123/],
      ['Days in transit', '1.5', /a whole number/],
      ['Weight in kg', '0.25', /At least 0\.5/],
    ];
    for (const [name, text, expected] of wrong) {
      await field(name).fill(text);
      await field(name).blur();
      assert.match(await problem(name).textContent(), expected);
      assert.equal(await field(name).getAttribute('aria-invalid'), 'true');
    }
    await field('Name').fill('A name that is far too long');
    assert.match(await problem('Name').textContent(), /At most 20 characters/, 'before the field is left');
    for (const extra of ['Signature', 'Overnight']) await field(extra).check();
    await field('Overnight').blur();
    assert.match(await problem('Extras').textContent(), /Choose at most 2/);
    await button(page, 'Submit').click();
    assert.match(await problem('Size').textContent(), /Please choose/);
    assert.equal(await field('Name').evaluate((node) => node === document.activeElement), true, 'the first that is wrong has the focus');
    await shot(page, 'form-wrong');

    const right = { Name: 'Grace', 'E-mail': 'grace@example.com', 'Web site': 'https://example.com/', 'Pick-up': '2026-02-28T09:00', Ticket: 'T-9', 'Days in transit': '14', 'Weight in kg': '1.50' };
    for (const [name, text] of Object.entries(right)) await field(name).fill(text);
    await field('Medium').check();
    await field('Country').selectOption({ label: 'France' });
    await field('Overnight').uncheck();
    await field('Insure it').uncheck();
    await field('Note').fill('two\nlines');
    assert.equal(await ask(page).locator('.error:not(:empty)').count(), 0, 'what was mended is no longer marked');

    // The server has the last word: of an address the page tries less than the server does.
    await field('Web site').fill('https://example.com:port/');
    await button(page, 'Submit').click();
    await problem('Web site').getByText(/./).waitFor();
    await field('Web site').fill('https://example.com/');
    await button(page, 'Submit').click();
    await outcome(page).getByText(/^Answered by you, /).waitFor();
    const result = 'Shipped: ' + JSON.stringify({ name: 'Grace', email: 'grace@example.com', site: 'https://example.com/', day: '2026-11-20', pickup: '2026-02-28T09:00:00+00:00', ticket: 'T-9', days: 14 })
      .replace('}', ',"weight":1.50,"insured":false,"size":"m","country":"fr","extras":["gift","sign"],"note":"two\\nlines"}');
    assert.equal(await call.result(), result);
    await ask(page).getByText(`Result: ${result}`).waitFor();
  });

  test('what is destructive is not approved by one press, nor by any in the first second', async (t) => {
    const { peer, page } = await stage(t);
    await peer.call('say', { text: 'Something else.' });
    await rows(page).first().waitFor();
    const call = await peer.call('erase');
    const approve = ask(page).locator('.primary');
    await rows(page).nth(1).waitFor();
    const words = await page.evaluate(() => {
      document.querySelectorAll('#list a')[1].click();
      const button = document.querySelector('.ask .primary');
      for (let i = 0; i < 3; i++) button.click();
      return button.textContent;
    });
    assert.equal(words, 'Approve', 'too soon: nothing was armed');
    await ask(page).getByText('▲ Destructive').waitFor();
    await ask(page).locator('.who', { hasText: /^p\d+ through raw · parcels\.erase · / }).waitFor();
    await approve.click();
    assert.equal(await approve.textContent(), 'Press again to approve');
    await shot(page, 'destructive-armed');
    await approve.click();
    await outcome(page).getByText(/^Approved by you, /).waitFor();
    assert.equal(await call.result(), 'Erased.');
    await shot(page, 'outcome');
  });

  test('a destructive tool whose box is not ticked: the box is named, and what is sent so is not called approved', async (t) => {
    const { peer, page } = await stage(t);
    for (const [tick, word, result] of [[false, 'Answered', 'Nothing was dropped.'], [true, 'Approved', 'Dropped.']]) {
      const call = await peer.call('drop');
      await asks(page, 'Drop the table?');
      await ready(page);
      const approve = ask(page).locator('.primary');
      await approve.click();
      await ask(page).locator('.field', { hasText: 'Drop it' }).getByText('This is not ticked: it says no.').waitFor();
      assert.equal(await approve.textContent(), 'Press again to send');
      if (!tick) await shot(page, 'box-unticked');
      await ready(page);
      if (tick) await ask(page).getByLabel('Drop it').check();
      assert.equal(await approve.textContent(), tick ? 'Approve' : 'Press again to send');
      await approve.click();
      await outcome(page).getByText(new RegExp(`^${word} by you, `)).waitFor();
      assert.equal(await call.result(), result);
      await ask(page).getByText(`Result: ${result}`).waitFor();
      assert.match(await outcome(page).textContent(), new RegExp(`^. ${word} by you, \\d\\d:\\d\\d, after [\\d ]+m?s\\.$`), 'also when the server has told how it ended');
    }
    await page.getByRole('link', { name: 'History' }).click();
    await page.locator('.entry').nth(1).waitFor();
    assert.deepEqual(await page.locator('.entry summary .badge').allTextContents(), ['✓ approved', '✓ answered']);
  });

  test('declined with a reason, dismissed, and both are in the history, which can be searched', async (t) => {
    const { peer, page } = await stage(t);
    const first = await peer.call('transfer', '{"amount":1200.00,"to":"Grace"}');
    await button(page, 'Add reason').click();
    await ask(page).getByLabel('Reason for your decision').fill('Not this month.');
    await pressed(page, 'Decline');
    await outcome(page).getByText(/^Declined by you, /).waitFor();
    assert.equal(await first.result(), 'Nothing was transferred.');
    await ask(page).getByText('Not this month.').waitFor();
    const second = await peer.call('say', { text: 'Shall I say hello?' });
    await asks(page, 'Shall I say hello?');
    await button(page, 'Dismiss').click();
    assert.equal(await second.result(), 'Not said.');

    await page.getByRole('link', { name: 'History' }).click();
    const entries = page.locator('.entry');
    await entries.nth(1).waitFor();
    assert.deepEqual(await entries.locator('summary .badge').allTextContents(), ['○ dismissed', '✕ declined']);
    await page.getByRole('searchbox').fill('hello');
    await page.waitForFunction(() => document.querySelectorAll('.entry').length === 1);
    await entries.getByText('Shall I say hello?').first().waitFor();
    await page.getByRole('searchbox').fill('');
    await page.getByLabel('State').selectOption('Declined');
    await page.waitForFunction(() => document.querySelectorAll('.entry .badge.declined').length === 1 && document.querySelectorAll('.entry').length === 1);
    await entries.locator('summary').first().click();
    await entries.getByText('1200.00', { exact: true }).waitFor();
    await entries.getByText('Not this month.').waitFor();
    await shot(page, 'history');
    await page.getByRole('searchbox').fill('nothing like it');
    await page.getByText('Nothing matches this search.').waitFor();
  });

  test('two people at once: one answer counts, and the other page says who was faster', async (t) => {
    const server = await startServer(t);
    const peer = await client(t, server, 'ada');
    const pages = await Promise.all(['ada', 'root'].map((name) => person(t, server, name, { allow: /409/ })));
    const call = await peer.call('transfer');
    for (const page of pages) await asks(page, 'Transfer the money to Grace Hopper?');
    for (const page of pages) await ready(page);
    await Promise.all(pages.map((page) => ask(page).locator('.primary').evaluate((node) => node.click())));
    const texts = await Promise.all(pages.map((page) => outcome(page).textContent()));
    const winner = texts.findIndex((text) => /by you/.test(text));
    assert.match(texts[winner], /Approved by you, /);
    assert.match(texts[1 - winner], winner === 0 ? /ada approved this, (just now|\d+ s ago)/ : /root approved this, (just now|\d+ s ago)/);
    assert.equal(await call.result(), 'Transferred.');
  });

  test('two tabs at once: both say the same, and the tool goes on once', async (t) => {
    const { peer, page } = await stage(t, { allow: /409/ });
    const call = await peer.call('erase');
    await ask(page).waitFor();
    const pages = [page, await tab(t, page, '/', /409/)];
    for (const press of ['Approve', 'Press again to approve']) {
      for (const one of pages) await ready(one);
      await Promise.all(pages.map((one) => button(one, press).evaluate((node) => node.click())));
    }
    for (const one of pages) await outcome(one).getByText(/^Approved by you, /).waitFor();
    assert.equal(await call.result(), 'Erased.');
  });

  test('an approval is remembered as chosen, passes without asking, is listed, and asks again once revoked', async (t) => {
    const { peer, page } = await stage(t);
    const first = await peer.call('refresh');
    await ask(page).waitFor();
    const choices = await ask(page).getByLabel('Remember this approval').locator('option').allTextContents();
    assert.equal(choices[0], 'Only this time');
    assert.ok(choices.length > 1, String(choices));
    await ask(page).getByLabel('Remember this approval').selectOption({ index: 1 });
    await pressed(page, 'Approve and remember');
    await outcome(page).waitFor();
    assert.equal(await first.result(), 'Refreshed.');
    assert.equal(await (await peer.call('refresh')).result(), 'Refreshed.', 'nobody was asked');
    await page.getByRole('link', { name: 'Remembered' }).click();
    await page.locator('.grant').getByText('refresh', { exact: true }).waitFor();
    await page.locator('.grant').getByText(/used 1 time/).waitFor();
    await page.locator('.grant').getByText('Allow Refresh the cache?').waitFor(); // what it was given for
    await shot(page, 'grants');
    await button(page, 'Revoke').click();
    await button(page, 'Press again to revoke').click();
    await page.getByText('Revoked. The next call asks again.').waitFor();
    await page.getByRole('link', { name: 'Inbox' }).click();
    await peer.call('refresh');
    await button(page, 'Approve').waitFor();
  });

  test('an answer elsewhere turns the ask in view into its outcome, and what was typed elsewhere stays', async (t) => {
    const { peer, page } = await stage(t);
    await peer.call('say', { text: 'The first.' });
    await rows(page).nth(0).waitFor(); // the calls race: the first asks before the second is made
    await peer.call('say', { text: 'The second.' });
    await rows(page).nth(1).waitFor();
    await ask(page).getByLabel('A word').fill('half a sen');
    const other = await tab(t, page);
    await rows(other).nth(1).click();
    await asks(other, 'The second.');
    await button(other, 'Submit').click();
    await rows(page).nth(1).getByText('answered').waitFor();
    assert.equal(await ask(page).getByLabel('A word').inputValue(), 'half a sen');
    await rows(page).nth(0).getByText('The first.').waitFor();
  });
});
