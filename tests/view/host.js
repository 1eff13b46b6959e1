// A chat with views for the tests: a page in Chromium with the official host bridge (app-bridge of
// @modelcontextprotocol/ext-apps), and the official client behind it, in either era.
//
//   const chat = await openChat(t, '2025')           its server, its client, its page
//   const call = chat.begin('word', { tag: 'a' })    the model calls a tool; call.result is its result
//   await chat.show(call)                            the host shows the view of that call
//   chat.view                                        the frame of the view, for playwright
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import path from 'node:path';
import { after } from 'node:test';
import { chromium } from 'playwright-core';
import { everyEnd, startHttp, textOf, within, PATIENCE_MS } from '../wire/harness.js';
import { tokenFile } from '../wire/credentials.js';
import { connectModern } from '../wire/modern.js';
import { UI } from './clients.js';

const modules = path.join(process.env.NOD_SOURCE_DIR, 'node_modules');
const imports = {
  '@modelcontextprotocol/ext-apps/app-bridge': '@modelcontextprotocol/ext-apps/dist/src/app-bridge.js',
  '@modelcontextprotocol/client': '@modelcontextprotocol/client/dist/index.mjs',
  '@modelcontextprotocol/client/_shims': '@modelcontextprotocol/client/dist/shimsBrowser.mjs',
  '@modelcontextprotocol/core': '@modelcontextprotocol/core/dist/index.mjs',
  '@modelcontextprotocol/core/internal': '@modelcontextprotocol/core/dist/internal.mjs',
  'zod/v4': 'zod/v4/index.js',
  eventsource: 'eventsource/dist/index.js',
  'eventsource-parser': 'eventsource-parser/dist/index.js',
  'eventsource-parser/stream': 'eventsource-parser/dist/stream.js',
  'pkce-challenge': 'pkce-challenge/dist/index.browser.js',
  jose: 'jose/dist/webapi/index.js',
};
const map = JSON.stringify({ imports: Object.fromEntries(Object.entries(imports).map(([name, file]) => [name, `/m/${file}`])) });
const page = readFileSync(new URL('host.html', import.meta.url), 'utf8').replace('IMPORTS', () => map);

// The host's page, and the modules of the bridge as they are: nothing is bundled.
function serve(request, response) {
  const { pathname } = new URL(request.url, 'http://host');
  const file = path.join(modules, pathname.slice('/m'.length));
  if (pathname === '/') return response.setHeader('Content-Type', 'text/html').end(page);
  if (pathname === '/favicon.ico') return response.writeHead(204).end();
  if (!pathname.startsWith('/m/') || !file.startsWith(modules) || !/\.m?js$/.test(file)) return response.writeHead(404).end();
  response.setHeader('Content-Type', 'text/javascript').setHeader('Cache-Control', 'max-age=3600').end(readFileSync(file));
}

let browser, site;
const launch = () =>
  chromium.launch({ executablePath: '/usr/bin/chromium', args: ['--headless', '--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking', '--disable-component-update', '--disable-sync'] });
const open = () =>
  new Promise((resolve) => {
    const server = createServer(serve).listen(0, '127.0.0.1', () => resolve(server));
  });
after(async () => {
  await (await browser)?.close();
  (await site)?.closeAllConnections();
  (await site)?.close();
});

// What a host may tell a view, and what this one can do.
export const ABLE = { serverTools: {}, openLinks: {}, updateModelContext: { text: {}, structuredContent: {} }, message: { text: {} } };

// One server for all tests, unless a test wants its own, and for each chat a person who was never asked anything.
const people = Array.from({ length: 100 }, (_, i) => ({ token: `token-of-person-${i}-0123456789`, name: `p${i}`, roles: 'ask answer' }));
const ends = [];
let shared, next = 0;
after(() => Promise.all(ends.map((end) => end())));
const start = (t, args) => startHttp(t, 'view-server', { args: ['--token-file', tokenFile(t, people), ...args] });

export async function openChat(t, era, { args, capabilities = ABLE, second = false, look = { theme: 'light' } } = {}) {
  everyEnd(t);
  const server = await (args ? start(t, args) : (shared ??= start({ after: (end) => ends.push(end) }, [])));
  const { token } = people[next++];
  const connect = () => connectModern(t, 'http', 'view-server', { server, token, capabilities: UI, legacy: era === '2025' });
  const model = await connect();
  const views = second ? await connect() : model; // hosts were seen using a second session for their views
  const { contents: [resource] } = await views.client.readResource({ uri: 'ui://nod/ask' });
  const { tools } = await model.client.listTools();

  const context = await (await (browser ??= launch())).newContext({ viewport: { width: 760, height: 900 }, locale: 'en-GB', timezoneId: 'UTC' });
  const problems = [];
  t.after(async () => {
    await context.close();
    assert.deepEqual(problems, []);
  });
  context.setDefaultTimeout(PATIENCE_MS);
  const host = await context.newPage();
  host.on('pageerror', (error) => problems.push(String(error.stack ?? error)));
  host.on('console', (message) => message.type() === 'error' && problems.push(message.text()));
  host.on('dialog', (dialog) => (problems.push(`a dialog: ${dialog.message()}`), dialog.dismiss()));
  const origin = `http://127.0.0.1:${(await (site ??= open())).address().port}`;
  host.on('request', (request) => !request.url().startsWith(origin) && !request.url().startsWith('about:') && problems.push(`outside: ${request.url()}`));
  // A host calls only names that are listed, and none of a view's that is not for views.
  await host.exposeFunction('toServer', (params) => {
    const tool = tools.find(({ name }) => name === params.name);
    if (!(tool?._meta?.ui?.visibility ?? ['model', 'app']).includes('app')) throw new Error(`not for views: ${params.name}`);
    return views.client.callTool(params, { timeout: PATIENCE_MS }).then((result) => chat.passes?.(result) ?? result);
  });
  await host.goto(origin, { timeout: PATIENCE_MS });
  await host.waitForFunction(() => window.ready, undefined, { timeout: PATIENCE_MS });

  const chat = { server, model, views, host, tools, resource, problems, view: host.frameLocator('iframe') };
  let calls = 0;
  chat.begin = (name, args = {}) => {
    const call = { name, args, id: ++calls };
    call.result = model.client.callTool({ name, arguments: args }, { timeout: PATIENCE_MS });
    call.result.catch(() => {});
    return call;
  };
  // If the machine was too slow to show the question in time, the call has returned its pending result, and ends by the answer.
  chat.text = async (call) => {
    const result = await call.result;
    const { pending, callId } = result.structuredContent ?? {};
    return textOf(pending ? await model.client.callTool({ name: 'waitForPerson', arguments: { callId } }) : result);
  };
  // toolInfo: false: the host tells nothing of the call; input: false: it holds the arguments back.
  chat.show = async (call, { toolInfo = true, input = true, result = true } = {}) => {
    const tool = tools.find(({ name }) => name === call.name);
    assert.equal(tool._meta.ui.resourceUri, resource.uri);
    await host.evaluate((given) => window.host.open(given), { html: resource.text, csp: resource._meta.ui.csp, capabilities, context: { ...look, ...(toolInfo ? { toolInfo: { tool } } : {}) } });
    if (input) await host.evaluate((args) => window.host.bridge.sendToolInput({ arguments: args }), call.args);
    if (result) call.told = call.result.then((end) => chat.tell(end)).catch(() => {});
  };
  chat.tell = (result) => host.evaluate((end) => window.host.bridge.sendToolResult(end), result).catch(() => {});
  chat.change = (told) => host.evaluate((given) => window.host.bridge.sendHostContextChange(given), told);
  chat.said = (what) => host.evaluate((name) => window.host[name], what);
  chat.until = (what, test) => host.waitForFunction(([name, body]) => new Function('all', `return ${body}`)(window.host[name]), [what, test]);
  chat.ask = chat.view.locator('article.ask');
  chat.asks = (text) => chat.ask.locator('.message', { hasText: text }).waitFor();
  chat.button = (name) => chat.view.getByRole('button', { name, exact: true });
  // Buttons do nothing for a moment after a question came into view.
  chat.press = async (name) => {
    await chat.view.locator('.primary[aria-disabled=false]').waitFor();
    await chat.button(name).click();
  };
  chat.verdict = (text) => chat.ask.locator('.verdict', { hasText: text }).waitFor();
  return chat;
}

export const soon = (what, promise) => within(PATIENCE_MS, what, promise);
