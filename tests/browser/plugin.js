// A tool of a plugin: the details of its question say which plugin it is from.
import test from 'node:test';
import assert from 'node:assert/strict';
import { runOnce } from '../wire/harness.js';
import { Modern } from '../wire/modern.js';
import { serveHome } from '../wire/serving.js';
import { ask, asks, pagesOf, person } from './browser.js';

test('the details of a question say which plugin its tool is from', async (t) => {
  pagesOf(t);
  const home = serveHome(t);
  const server = await home.start({ args: ['--plugin', home.plugin('steady-1')] });
  const page = await person(t, server, 'local', { link: (await runOnce('nod', ['login', `unix:${home.at('run/nod/nod.sock')}`], home.env)).stdout.trim() });
  const call = new Modern(server.url, { capabilities: {} }).ended('steady.ask', { what: 'tea' });
  call.catch(() => {}); // it ends with the server
  await asks(page, 'Which word for tea?');
  await ask(page).locator('.details summary').click();
  assert.deepEqual(await ask(page).locator('.details dl > div', { hasText: /^Plugin/ }).allTextContents(), ['Pluginsteady']);
});
