// A press that was meant for something else: it comes just after the page was opened or came to the front, in a run of clicks, or as
// the second half of a double click. It gives no consent, it is seen to do nothing, and the next one counts.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { connect } from '../wire/harness.js';
import { PEOPLE, ask, asks, button, fetched, live, soon, stage, startServer, stranger } from './browser.js';

const root = PEOPLE.find(({ name }) => name === 'root');
const note = (page) => ask(page).locator('.note');
const again = (page, text) => page.getByText(`${text} Please wait a second, then press again.`).waitFor();
const middle = async (node) => {
  const { x, y, width, height } = await node.boundingBox();
  return [x + width / 2, y + height / 2];
};
// The page's clock stands, so that nothing depends on how fast this machine is; `calm` lets the moment pass.
async function still(page, where) {
  await page.clock.install();
  await page.clock.pauseAt(new Date(Date.now() + 3600_000));
  await page.goto(where);
}
async function calm(page) {
  await page.clock.runFor(1100);
  await page.waitForFunction(() => document.querySelector('.ask .primary, #go')?.ariaDisabled === 'false');
}

// The window goes behind, and comes back to the front. A page of a test is otherwise told that it is always there.
async function windowOf(page) {
  await page._connection.toImpl(page).delegate._mainFrameSession._client.send('Emulation.setFocusEmulationEnabled', { enabled: false });
  const session = await page.context().newCDPSession(page);
  const { windowId } = await session.send('Browser.getWindowForTarget');
  const be = (windowState) => session.send('Browser.setWindowBounds', { windowId, bounds: { windowState } });
  return {
    async behind() {
      await be('minimized');
      await page.waitForFunction(() => document.hidden && !document.hasFocus());
    },
    async front() {
      await be('normal');
      await page.waitForFunction(() => !document.hidden && document.hasFocus());
    },
  };
}

async function linkFor(server, { token }) {
  const reply = await fetch(`${server.origin}/api/login-link`, { method: 'POST', headers: { Authorization: `Bearer ${token}` } });
  return (await reply.json()).url;
}

describe('haste', { concurrency: 2 }, () => {
  for (const how of ['click', 'key'])
    test(`a window that has just come to the front takes no ${how} for a yes, and says so`, async (t) => {
      const { server, peer, page } = await stage(t);
      const call = await peer.call('transfer');
      await still(page, server.origin);
      await asks(page, 'Transfer the money');
      await calm(page);
      const at = await middle(button(page, 'Approve'));
      const press = () => (how === 'click' ? page.mouse.click(...at) : page.keyboard.press('Control+Enter'));
      const { behind, front } = await windowOf(page);
      await behind();
      await front();
      await press();
      await again(page, 'This window has only just come to the front.');
      assert.equal(await page.locator('.outcome').count(), 0);
      await calm(page);
      await press();
      assert.equal(await call.result(), 'Transferred.');
    });

  test('a run of clicks that goes on while the tab is led to the inbox decides nothing, however long it is', async (t) => {
    const { server, peer, page } = await stage(t);
    const call = await peer.call('transfer');
    await asks(page, 'Transfer the money');
    const at = await middle(button(page, 'Approve'));
    await still(page, server.origin);
    const seen = () => page.evaluate(() => Boolean(document.querySelector('.ask .note:not([hidden]), .outcome')));
    for (let left = 15; left; ) {
      if (await seen()) left--;
      await page.mouse.click(...at);
      await page.clock.runFor(200); // five clicks a second
    }
    assert.equal(await page.locator('.outcome').count(), 0);
    await calm(page);
    await button(page, 'Approve').click();
    assert.equal(await call.result(), 'Transferred.');
  });

  for (const how of ['click', 'key'])
    test(`a link that a tab was just led to, or that has just come to the front, signs nobody in by a ${how}, and says so`, async (t) => {
      const { server } = await stage(t);
      const page = await stranger(t);
      await still(page, await linkFor(server, root));
      await page.locator('#go:enabled').waitFor();
      const press = async () => (how === 'click' ? page.mouse.click(...(await middle(page.locator('#go')))) : page.keyboard.press('Enter'));
      await press();
      await again(page, 'This page has only just opened.');
      await calm(page);
      const { behind, front } = await windowOf(page);
      await behind();
      await front();
      await press();
      await again(page, 'This window has only just come to the front.');
      assert.equal((await fetched(page, '/api/me')).status, 401);
      await calm(page);
      await press();
      await live(page);
      assert.equal((await fetched(page, '/api/me')).principal, 'root');
    });

  test('a page of one question sends nothing, and leads nowhere, at once', async (t) => {
    const server = await startServer(t, [], 'pages');
    const page = await stranger(t, { server, name: 'ada' });
    const session = await connect(t, 'http', 'pages', { server, token: PEOPLE[0].token, capabilities: { elicitation: { url: {} } } });
    for (const [tool, args] of [['form', {}], ['foreign', { url: 'http://localhost:9/pay?back={return}' }]]) {
      const call = session.text(tool, args);
      const question = await session.question();
      question.accept();
      await still(page, question.params.url);
      if (tool === 'form') await page.getByLabel(/^City/).fill('Oslo');
      await page.locator('.primary').dispatchEvent('click');
      await again(page, 'This page has only just opened.');
      await calm(page);
      assert.equal(page.url(), question.params.url);
      await button(page, tool === 'form' ? 'Submit' : 'Decline').click();
      assert.equal(await soon('the result', call), tool === 'form' ? 'accept by ada: {"city":"Oslo"}' : 'decline by ada: nothing');
    }
  });

  for (const [how, twice] of Object.entries({
    'a double click': async (page) => page.mouse.dblclick(...(await middle(ask(page).locator('.primary')))),
    'Ctrl+Enter twice at once': async (page) => {
      await page.keyboard.press('Control+Enter');
      await page.keyboard.press('Control+Enter');
    },
  }))
    test(`what is destructive takes two presses: ${how} is one`, async (t) => {
      const { server, peer, page } = await stage(t);
      const call = await peer.call('erase');
      await still(page, server.origin);
      await asks(page, 'Erase the disk?');
      await calm(page);
      await twice(page);
      await note(page).getByText(/Please wait a second, then press again\.$/).waitFor();
      assert.equal(await page.locator('.outcome').count(), 0);
      assert.match(await ask(page).locator('.primary').textContent(), /^Press again to /);
      await calm(page);
      await ask(page).locator('.primary').click();
      assert.equal(await call.result(), 'Erased.');
    });
});
