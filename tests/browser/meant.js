// A person decides what they meant: no key and no click does something else than it says, none is swallowed without a sign, and
// what is agreed to can be read in full.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { CALLER, PEOPLE, stage, stranger, person, ask, asks, pressed, ready, rows, button, shot } from './browser.js';
import { look } from './look.js';

const outcome = (page) => page.locator('.outcome .verdict');
const note = (page) => ask(page).locator('.note');
const isOver = (page) => page.evaluate(() => document.querySelectorAll('.outcome').length);
const focused = (page) => page.evaluate(() => document.activeElement.labels?.[0]?.textContent ?? document.activeElement.textContent);
const type = (page, text) => page.keyboard.type(text);

describe('what a person meant', { concurrency: 2 }, () => {
  test('d opens the reason and puts the focus there: what is typed is the reason, Enter sends the no with it, Escape goes back', async (t) => {
    const { peer, page } = await stage(t);
    const call = await peer.call('label');
    await asks(page, 'What is on the label?');
    await ask(page).getByText('(at least 5 characters)').waitFor({ state: 'attached' });
    await page.keyboard.press('d'); // at once: the guard is for the pointer
    assert.match(await focused(page), /^Reason/);
    await type(page, ' not now');
    assert.equal(await isOver(page), 0, 'a blank sends nothing');
    await page.keyboard.press('Escape');
    assert.equal(await focused(page), 'Print a label');
    assert.equal(await ask(page).getByLabel(/^Reason/).isVisible(), false);
    await page.keyboard.press('d');
    assert.equal(await ask(page).getByLabel(/^Reason/).inputValue(), '', 'nothing is left of what Escape went back from');
    await type(page, ' not now, thank you');
    await ready(page);
    await page.keyboard.press('Enter');
    await outcome(page).getByText(/^Declined by you, /).waitFor();
    assert.equal(await call.result(), 'Not printed: not now, thank you');
  });

  test('a reason that was typed for a no goes with no yes: neither after Escape, nor if Approve is pressed instead', async (t) => {
    const { peer, page } = await stage(t);
    for (const yes of [() => page.keyboard.press('Escape').then(() => ready(page)).then(() => page.keyboard.press('Control+Enter')), () => button(page, 'Approve').click()]) {
      await peer.call('transfer');
      await asks(page, 'Transfer the money');
      await page.keyboard.press('d');
      await type(page, 'too much');
      await ready(page);
      const sent = page.waitForRequest((request) => request.method() === 'POST' && /\/api\/elicitation\//.test(request.url()));
      await yes();
      assert.deepEqual(Object.keys((await sent).postDataJSON()).sort(), ['action', 'content']);
      await outcome(page).getByText(/^Approved by you, /).waitFor();
      assert.equal(await page.locator('.outcome').getByText('too much').count(), 0);
    }
  });

  test('Ctrl+Enter in the reason for a no is that no; on Decline it declines; held, it does not press twice', async (t) => {
    const { peer, page } = await stage(t);
    const call = await peer.call('transfer');
    await asks(page, 'Transfer the money');
    await page.keyboard.press('d');
    await type(page, 'Never.');
    await ready(page);
    await page.keyboard.press('Control+Enter');
    assert.equal(await call.result(), 'Nothing was transferred.');
    const second = await peer.call('transfer');
    await asks(page, 'Transfer the money');
    await ready(page);
    await button(page, 'Decline').focus();
    await page.keyboard.press('Control+Enter');
    assert.equal(await second.result(), 'Nothing was transferred.');
    for (const held of ['Control', null]) {
      const third = await peer.call('erase');
      await asks(page, 'Erase the disk?');
      await ready(page);
      if (held) await page.keyboard.down(held);
      else await ask(page).locator('.primary').focus();
      for (let i = 0; i < 4; i++) await page.keyboard.down('Enter'); // repeats
      await page.keyboard.up('Enter');
      if (held) await page.keyboard.up(held);
      await button(page, 'Decline').click(); // it still waits
      assert.equal(await third.result(), 'Nothing was erased.');
    }
  });

  test('Enter in a line sends data, and never gives consent: it says how', async (t) => {
    const { peer, page } = await stage(t);
    const call = await peer.call('say', { text: 'Which word?' });
    await asks(page, 'Which word?');
    await ready(page);
    await ask(page).getByLabel('A word').focus();
    await type(page, 'hello');
    await page.keyboard.press('Enter');
    assert.equal(await call.result(), 'Said.');
    await peer.call('transfer');
    await asks(page, 'Transfer the money');
    await ready(page);
    await button(page, 'Add reason').click();
    await type(page, 'fine');
    await page.keyboard.press('Enter');
    await note(page).getByText('Press the button that you mean.').waitFor();
    assert.equal(await isOver(page), 0);
  });

  test('a click on Decline counts although the field that loses the focus is wrong, and what is wrong moves nothing', async (t) => {
    const { peer, page } = await stage(t);
    const call = await peer.call('label');
    await asks(page, 'What is on the label?');
    await ready(page);
    await ask(page).getByLabel('Code').fill('A');
    await button(page, 'Decline').hover();
    await page.mouse.down();
    await page.waitForTimeout(60); // a press takes a moment
    await page.mouse.up();
    await outcome(page).getByText(/^Declined by you, /).waitFor();
    await call.result();
    await peer.call('label');
    await asks(page, 'What is on the label?');
    await ready(page);
    const place = () => button(page, 'Decline').boundingBox();
    const before = await place();
    await ask(page).getByLabel('Code').fill('A');
    await ask(page).getByLabel('Code').blur();
    await ask(page).getByText(/At least 5 characters/).waitFor();
    assert.deepEqual(await place(), before);
  });

  test('Ctrl+Enter right after a field has grown counts; a click under which a button has moved does not, and says so', async (t) => {
    const { peer, page } = await stage(t);
    const call = await peer.call('label');
    await asks(page, 'What is on the label?');
    await ready(page);
    const text = ask(page).getByLabel('Text');
    await text.focus();
    // The pointer waits where Decline will be once the field has grown.
    const { x, y, height } = await button(page, 'Decline').boundingBox();
    await page.mouse.move(x + 20, y + height + 30);
    const moved = await page.evaluate(async ([x, y]) => {
      const area = document.querySelector('.ask textarea');
      const decline = [...document.querySelectorAll('.ask button')].find((one) => one.textContent === 'Decline');
      for (let i = 0; i < 12 && decline.getBoundingClientRect().top + 10 < y; i++) {
        area.value += '\n';
        await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
      }
      const seen = decline.ariaDisabled;
      decline.dispatchEvent(new MouseEvent('click', { bubbles: true, detail: 1, clientX: x, clientY: y }));
      return { seen, note: document.querySelector('.ask .note').textContent };
    }, [x + 20, y + height + 30]);
    assert.equal(moved.note, 'The buttons have just moved. Please press again.');
    assert.equal(await isOver(page), 0);
    await shot(page, 'moved');
    await ask(page).getByLabel('Code').fill('12345');
    await text.fill('a\nb\nc\nd\ne\nf\ng\nh');
    await page.keyboard.press('Control+Enter');
    assert.equal(await call.result(), 'Printed: {"code":"12345","text":"a\\nb\\nc\\nd\\ne\\nf\\ng\\nh"}');
  });

  test('a message that an agent made long and awkward is read in no time', async (t) => {
    const { page } = await stage(t);
    const read = (ends) => page.evaluate(async (end) => {
      const { messageOf } = await import('/assets/any/ask.js');
      const message = `x${'\n\n{'.repeat(100_000)}${end}`, begun = performance.now();
      return { same: messageOf({ kind: 'approval', message, arguments: { text: message } }) === message, ms: performance.now() - begun };
    }, ends);
    for (const end of ['a', '}', '\n\nNot shown: ']) {
      const { same, ms } = await read(end);
      assert.equal(same, true);
      assert.ok(ms < 5000, `${ms} ms`);
    }
  });

  test('a press in the first moment, and one without a connection, does nothing and says why', async (t) => {
    const { peer, page } = await stage(t, { allow: /ERR_|Failed/ });
    await peer.call('say', { text: 'The first.' });
    await rows(page).first().waitFor();
    await peer.call('transfer');
    await rows(page).nth(1).waitFor();
    const said = await page.evaluate(() => {
      document.querySelectorAll('#list a')[1].click();
      document.querySelector('.ask .primary').click();
      return document.querySelector('.ask .note').textContent;
    });
    assert.equal(said, 'This question has only just come into view. Please wait a second, then press again.');
    await ready(page);
    await page.context().setOffline(true);
    await page.evaluate(() => document.body.dataset.live);
    await button(page, 'Decline').click();
    await note(page).getByText(/cannot be reached|connection is lost/).waitFor();
    await page.context().setOffline(false);
  });

  test('a call that asks on says so, and its next question is opened from there, not somebody else\'s', async (t) => {
    const { peer, page } = await stage(t);
    // The page goes on by itself after a while: on a busy machine it may be there before the click.
    let clicks = 0;
    const onward = (name) => button(page, name).click({ timeout: 5000 }).then(() => clicks++, () => {});
    const call = await peer.call('tickets');
    await rows(page).nth(5).waitFor();
    await peer.call('say', { text: 'Something else.' });
    await rows(page).nth(6).waitFor();
    const gists = await page.locator('#list .gist').allTextContents();
    assert.deepEqual(gists, ['T-1', 'T-2', 'T-3', 'T-4', 'T-5', 'T-6', 'Something else.']);
    for (let i = 1; i <= 6; i++) {
      await asks(page, `T-${i}`);
      await ready(page);
      await button(page, 'Submit').click();
      if (i === 1) await ask(page).getByText('This call has another question.').waitFor();
      if (i === 1) await shot(page, 'asks-on');
      await onward('Its next question');
    }
    await asks(page, 'And who pays?');
    assert.ok(clicks, 'the next one is opened from there');
    await ready(page);
    await button(page, 'Submit').click();
    assert.equal(await call.result(), 'Paid.');
    await onward('Next');
    await asks(page, 'Something else.');
    assert.equal(await page.getByText('This call has another question').count(), 0);
  });

  test('one line is one line: Enter adds nothing to it; what may be long has several, which are seen; pasted lines are named', async (t) => {
    const { peer, page } = await stage(t);
    const call = await peer.call('fields');
    await asks(page, 'Where shall the parcel go');
    const kind = (name) => ask(page).getByLabel(new RegExp(`^${name}( required| optional)?$`)).evaluate((node) => `${node.tagName} ${node.rows ?? ''}`.trim());
    assert.deepEqual([await kind('Name'), await kind('Ticket'), await kind('Note')], ['INPUT', 'INPUT', 'TEXTAREA 3']);
    await peer.call('say', { text: 'Which word?' });
    await rows(page).nth(1).click();
    await asks(page, 'Which word?');
    assert.equal(await kind('A word'), 'INPUT');
    await ask(page).getByLabel('A word').focus();
    await page.evaluate(() => {
      const given = new DataTransfer();
      given.setData('text', 'two\nlines');
      document.activeElement.dispatchEvent(new ClipboardEvent('paste', { clipboardData: given, bubbles: true }));
    });
    await ask(page).getByText('You pasted several lines. Here they are one: please check it.').waitFor();
    void call;
  });

  for (const width of [1280, 360]) {
    test(`what will be remembered is read in full at the moment of the yes, and the button says so (${width} px)`, async (t) => {
      const { peer, page } = await stage(t);
      await page.setViewportSize({ width, height: 740 });
      const call = await peer.call('refresh');
      await rows(page).first().click();
      await asks(page, 'Allow Refresh the cache?');
      const choice = ask(page).getByLabel('Remember this approval');
      assert.equal(await ask(page).locator('.primary').textContent(), 'Approve');
      const labels = (await choice.locator('option').allTextContents()).slice(1);
      assert.ok(labels.length > 1);
      for (const [i, label] of labels.entries()) {
        await choice.selectOption({ index: i + 1 });
        const read = ask(page).getByText(`Your yes will be remembered for the tool refresh: ${label}.`);
        await read.waitFor();
        assert.equal(await read.evaluate((node) => node.scrollWidth <= node.clientWidth && getComputedStyle(node).textOverflow === 'clip'), true, label);
        assert.equal(await choice.evaluate((node) => {
          const room = node.clientWidth, alone = node.cloneNode(true);
          alone.replaceChildren(node.selectedOptions[0].cloneNode(true));
          alone.style.width = alone.style.maxWidth = 'max-content';
          node.after(alone);
          const wanted = alone.clientWidth;
          alone.remove();
          return wanted <= room;
        }), true, `${label}: all of it is in the list`);
        assert.equal(await ask(page).locator('.primary').textContent(), 'Approve and remember');
      }
      await shot(page, `remember-${width}`);
      await choice.selectOption({ index: 0 });
      assert.equal(await ask(page).locator('.primary').textContent(), 'Approve');
      await pressed(page, 'Approve');
      assert.equal(await call.result(), 'Refreshed.');
    });
  }

  test('a time is picked, in the zone of the person, which is shown; what is sent has its offset', async (t) => {
    const { server, name, peer } = await stage(t);
    const page = await person(t, server, name, { timezoneId: 'Europe/Berlin' });
    const call = await peer.call('meet');
    await asks(page, 'When shall we meet?');
    const when = ask(page).getByLabel(/^When/), until = ask(page).getByLabel(/^Until/);
    assert.deepEqual([await when.getAttribute('type'), await ask(page).getByLabel(/^Paid by/).getAttribute('type')], ['datetime-local', 'date']);
    assert.equal(await until.inputValue(), '2026-11-16T13:03:30');
    await when.fill('2026-07-01T09:30');
    await ask(page).getByText('In your time zone: Europe/Berlin, UTC+02:00').waitFor();
    await when.fill('2026-12-01T09:30');
    await ask(page).getByText('In your time zone: Europe/Berlin, UTC+01:00').nth(1).waitFor();
    await when.fill('2026-03-29T02:30');
    await when.blur();
    await ask(page).getByText(/no such time in your zone/).waitFor();
    await shot(page, 'time-zone');
    await when.fill('2026-12-01T09:30');
    await ask(page).getByLabel(/^Paid by/).fill('2026-12-24');
    await ready(page);
    await button(page, 'Submit').click();
    assert.equal(await call.result(), 'Met: {"when":"2026-12-01T09:30:00+01:00","until":"2026-11-16T12:03:30.5Z","day":"2026-12-24"}');
  });

  test('nothing of the fields is seen beside the buttons or through them, and Details open where they can be read', async (t) => {
    const { peer, page } = await stage(t);
    await page.setViewportSize({ width: 1280, height: 620 });
    await page.emulateMedia({ reducedMotion: 'reduce' });
    await peer.call('fields');
    await asks(page, 'Where shall the parcel go');
    await ready(page);
    await page.mouse.move(2, 2);
    const { x, y, width, height } = await ask(page).locator('.bar').boundingBox();
    const seen = [];
    for (const top of [200, 260, 300, 333, 480]) {
      await page.evaluate((top) => document.getElementById('pane').scrollTo(0, top), top);
      const picture = await page.screenshot({ clip: { x: x - 6, y: y + 2, width: width + 12, height: height - 2 } });
      seen.push(picture.toString('base64'));
    }
    assert.equal(new Set(seen).size, 1, 'the same picture, whatever is behind it');
    await ask(page).locator('.details summary').click();
    const last = ask(page).locator('.details dl > div').last();
    await page.waitForFunction(() => {
      const bar = document.querySelector('.bar').getBoundingClientRect(), end = [...document.querySelectorAll('.details dl > div')].at(-1).getBoundingClientRect();
      return end.height > 0 && end.bottom <= bar.top;
    });
    assert.ok(await last.isVisible());
  });

  test('who has a token that answers nothing, and who comes to a wrong address, has a page like the others, with a way out', async (t) => {
    const { server, page: mine } = await stage(t);
    const page = await stranger(t, { allow: /40[134]/ });
    // A program is refused as before.
    const program = await fetch(`${server.origin}/nowhere`, { headers: { Accept: 'application/json' } });
    assert.deepEqual([program.status, program.headers.get('content-type')], [404, 'application/json']);
    for (const where of ['/nowhere', '/deep/er/nowhere']) {
      await page.goto(server.origin + where);
      await page.getByRole('heading', { name: 'There is nothing here' }).waitFor();
      await look(page, 'nowhere');
      await page.getByRole('link', { name: 'To the inbox' }).click();
      await page.getByLabel('Your token').waitFor();
    }
    await page.getByLabel('Your token').fill(CALLER.token);
    await button(page, 'Sign in').click();
    await page.getByRole('heading', { name: 'This is not open to you' }).waitFor();
    await page.getByText('You are signed in as carl, who may call tools but not answer questions. That takes the role answer or approve.').waitFor();
    await look(page, 'no-role');
    await page.goto(`${server.origin}/history`);
    await page.getByRole('link', { name: 'Sign in as somebody else' }).click();
    await page.getByLabel('Your token').fill(PEOPLE[0].token);
    await button(page, 'Sign in').click();
    await page.getByRole('heading', { name: 'History' }).waitFor();
    void mine;
  });
});
