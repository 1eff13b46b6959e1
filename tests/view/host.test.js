// The view in Chromium under the official host bridge, in both eras. In `make test` a part of it in one era, in the soak all.
import { describe, it } from 'node:test';
import assert from 'node:assert/strict';
import { mkdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import Ajv from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import { ABLE, openChat, soon } from './host.js';

const SHOTS = path.join(process.env.NOD_BIN_DIR, 'screenshots');
mkdirSync(SHOTS, { recursive: true });

const all = Boolean(process.env.NOD_SOAK);
const tests = [];
// One era of each, the other one in turn, unless everything is wanted.
let turn = 0;
const inBoth = (name, fn) => {
  const mine = ++turn % 2;
  ['2025', '2026'].forEach((era, i) => (all || i === mine) && tests.push([`${era}: ${name}`, (t) => fn(t, era)]));
};
const inSoak = (name, fn) => all && inBoth(name, fn);
// What a view shows before it has the handle of its call: in 2026 nothing.
const in2025 = (name, fn) => tests.push([`2025: ${name}`, (t) => fn(t, '2025')]);

const field = (chat, name) => chat.view.getByRole('textbox', { name: new RegExp(`^${name}`) });
const word = async (chat, text) => {
  await field(chat, 'Word').fill(text);
  await chat.press('Submit');
};

// --- forms ---

inBoth('every kind of field, invalid then valid', async (t, era) => {
  const chat = await openChat(t, era);
  const call = chat.begin('kinds');
  await chat.show(call);
  await chat.asks('Where shall the parcel go');
  await field(chat, 'Name').fill('A');
  await chat.press('Submit');
  await chat.view.getByText('At least 2 characters, please').waitFor();
  await field(chat, 'Name').fill('Ada <b>Lovelace</b>');
  await field(chat, 'E-mail').fill('ada@example.com');
  await field(chat, 'Web site').fill('https://example.com/?q=1');
  await chat.view.getByLabel('Day optional').fill('2026-12-24');
  await field(chat, 'Pick-up').fill('2026-12-24T10:00');
  await field(chat, 'Ticket').fill('not a ticket'); // a pattern that only the server tries
  await field(chat, 'Days in transit').fill('7');
  await field(chat, 'Account').fill('9007199254740993');
  await field(chat, 'Weight').fill('0.50');
  await chat.view.getByLabel('Insure it').uncheck();
  await chat.view.getByLabel('Medium').check();
  await chat.view.getByLabel('Country').selectOption({ label: 'Germany' });
  await chat.view.getByLabel('Overnight').check();
  await field(chat, 'Note').fill('Fragile\nThis side up');
  await chat.press('Submit');
  await chat.view.locator('.field.wrong', { hasText: 'Ticket' }).waitFor();
  await field(chat, 'Ticket').fill('T-9');
  await chat.press('Submit');
  const text = await soon('the parcel is shipped', chat.text(call));
  const content = text.slice('Shipped: '.length);
  assert.match(content, /"account":9007199254740993/);
  assert.match(content, /"weight":0.50/);
  const { account, ...rest } = JSON.parse(content);
  assert.deepEqual(rest, { name: 'Ada <b>Lovelace</b>', email: 'ada@example.com', site: 'https://example.com/?q=1', day: '2026-12-24', pickup: '2026-12-24T10:00:00+00:00', ticket: 'T-9', days: 7, weight: 0.5, insured: false, size: 'm', country: 'de', extras: ['gift', 'night'], note: 'Fragile\nThis side up' });
  await chat.verdict('Answered by you');
});

inSoak('an approval is given, and one is declined with a reason', async (t, era) => {
  const chat = await openChat(t, era);
  const yes = chat.begin('pay', { amount: 12.5 });
  await chat.show(yes);
  await chat.asks('Pay Grace Hopper?');
  assert.equal(await chat.view.locator('.remember').count(), 0, 'a client\'s word is not remembered');
  await chat.press('Approve');
  assert.match(await soon('it is paid', chat.text(yes)), /^Paid by /);
  const no = chat.begin('erase');
  await chat.show(no);
  await chat.asks('Erase the disk?');
  await chat.view.getByText('Destructive').waitFor();
  await chat.button('Add reason').click();
  await field(chat, 'Reason').fill('not today');
  await chat.press('Decline');
  assert.equal(await soon('it is kept', chat.text(no)), 'Nothing was erased.');
  const sure = chat.begin('erase');
  await chat.show(sure);
  await chat.press('Approve');
  await chat.press('Press again to approve');
  assert.equal(await soon('it is erased', chat.text(sure)), 'Erased.');
});

inBoth('a call that asks three times, and one that asks nothing', async (t, era) => {
  const chat = await openChat(t, era);
  const call = chat.begin('three', { tag: 'a' });
  await chat.show(call);
  for (const [which, text] of [['first', 'x'], ['second', 'y'], ['third', 'z']]) {
    await chat.asks(`a: the ${which} word?`);
    await word(chat, text);
  }
  assert.equal(await soon('the call ends', chat.text(call)), 'x y z');
  const quiet = chat.begin('quiet');
  await chat.show(quiet);
  await quiet.told;
  assert.equal(await chat.view.locator('main').textContent(), '');
  await chat.until('sizes', 'all.at(-1).height <= 4'); // it is small
});

// --- the host ---

inSoak('the host\'s theme and colours, in the light and in the dark', async (t, era) => {
  const variables = { '--color-background-primary': 'rgb(250, 240, 230)', '--color-text-primary': 'rgb(1, 2, 3)', '--font-sans': 'serif', '--color-border-primary': 'url(https://elsewhere.example/x)' };
  const chat = await openChat(t, era, { look: { theme: 'light', styles: { variables } } });
  const call = chat.begin('kinds');
  await chat.show(call);
  await chat.asks('Where shall the parcel go');
  const look = () => chat.view.locator('main').evaluate((node) => ({ back: getComputedStyle(node).backgroundColor, text: getComputedStyle(node).color, font: getComputedStyle(node).fontFamily, scheme: getComputedStyle(document.documentElement).colorScheme }));
  assert.deepEqual(await look(), { back: 'rgb(250, 240, 230)', text: 'rgb(1, 2, 3)', font: 'serif', scheme: 'light' });
  await chat.change({ theme: 'dark', styles: { variables: { '--color-background-primary': 'rgb(10, 20, 30)', '--color-text-primary': 'rgb(200, 210, 220)' } } });
  await chat.view.locator('html[data-theme=dark]').waitFor();
  assert.deepEqual(await look(), { back: 'rgb(10, 20, 30)', text: 'rgb(200, 210, 220)', font: 'serif', scheme: 'dark' });
  await chat.press('Decline');
  assert.equal(await soon('no parcel', chat.text(call)), 'No parcel.');
});

// What axe says of what the view shows now.
const axe = readFileSync(path.join(process.env.NOD_SOURCE_DIR, 'node_modules/axe-core/axe.min.js'), 'utf8');
async function accessible(chat, what) {
  const frame = chat.host.frames().at(-1);
  await frame.evaluate(axe);
  const { violations } = await frame.evaluate(() => window.axe.run(document, { runOnly: ['wcag2a', 'wcag2aa', 'wcag21aa'] }));
  assert.deepEqual(violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join(' ')}`), [], what);
}

all && in2025('pictures, to look at, and what axe sees in them', async (t, era) => {
  for (const theme of ['light', 'dark']) {
    const chat = await openChat(t, era, { look: { theme } });
    await chat.host.setViewportSize({ width: 760, height: 2100 }); // what is outside of it is not painted
    await chat.host.evaluate((back) => (document.body.style.background = back), theme === 'dark' ? '#101216' : '#fff');
    const take = (name) => chat.host.screenshot({ path: path.join(SHOTS, `view-${era}-${theme}-${name}.png`) });
    const form = chat.begin('kinds');
    await chat.show(form);
    await chat.view.locator('.primary[aria-disabled=false]').waitFor();
    await take('form');
    await accessible(chat, `${theme}, a form`);
    const erase = chat.begin('erase', {});
    await chat.show(form, { toolInfo: false, input: false, result: false });
    await chat.view.locator('.asks').waitFor();
    await chat.view.locator('.primary[aria-disabled=false]').waitFor();
    await take('several');
    await accessible(chat, `${theme}, a list`);
    await chat.show(form);
    await chat.press('Decline');
    await chat.verdict('Declined by you');
    await form.told;
    await take('over');
    await accessible(chat, `${theme}, an outcome`);
    await chat.show(erase);
    await chat.press('Approve');
    await chat.button('Press again to approve').waitFor();
    await take('destructive');
    await accessible(chat, `${theme}, a destructive one`);
    await chat.press('Decline');
    assert.equal(await soon('it is kept', chat.text(erase)), 'Nothing was erased.');
  }
});

inSoak('a reload shows the same question, and nothing is answered twice', async (t, era) => {
  const chat = await openChat(t, era);
  const call = chat.begin('word', { tag: 'again' });
  await chat.show(call);
  await chat.asks('again: the only word?');
  await field(chat, 'Word').fill('lost');
  await chat.show(call);
  await chat.asks('again: the only word?');
  assert.equal(await field(chat, 'Word').inputValue(), '');
  await word(chat, 'found');
  assert.equal(await soon('the call ends', chat.text(call)), 'again: found');
});

in2025('two calls at once: each view draws its own; one that knows nothing draws a list', async (t, era) => {
  const chat = await openChat(t, era);
  const [a, b] = [chat.begin('word', { tag: 'a' }), chat.begin('word', { tag: 'b' })];
  await chat.show(a, { toolInfo: false, input: false, result: false });
  await chat.view.locator('.asks button').nth(1).waitFor();
  assert.deepEqual((await chat.view.locator('.asks .gist').allTextContents()).sort(), ['a: the only word?', 'b: the only word?']);
  await chat.view.locator('.asks button', { hasText: 'b: the only' }).click();
  await chat.asks('b: the only word?');
  await chat.show(b); // with what the host knows of it
  await chat.asks('b: the only word?');
  assert.equal(await chat.view.locator('.asks').count(), 0);
  await word(chat, 'of b');
  assert.equal(await soon('b ends', chat.text(b)), 'b: of b');
  await chat.show(a);
  await chat.asks('a: the only word?');
  await word(chat, 'of a');
  assert.equal(await soon('a ends', chat.text(a)), 'a: of a');
});

in2025('a question that comes late stands where it was asked', async (t, era) => {
  const chat = await openChat(t, era);
  const a = chat.begin('word', { tag: 'a' });
  const listed = { toolInfo: false, input: false, result: false };
  await chat.show(a, listed);
  await chat.asks('a: the only word?');
  chat.begin('word', { tag: 'b' });
  await chat.view.locator('.asks button').nth(1).waitFor();
  chat.passes = (result) => { // of the first look the older one is missing
    const { questions, ...told } = JSON.parse(result.content[0].text);
    if (questions.length < 2) return result;
    chat.passes = undefined;
    return { ...result, content: [{ type: 'text', text: JSON.stringify({ ...told, questions: questions.slice(1) }) }] };
  };
  await chat.show(a, listed);
  await chat.view.locator('.asks button').nth(1).waitFor();
  assert.equal(chat.passes, undefined);
  assert.deepEqual(await chat.view.locator('.asks .gist').allTextContents(), ['a: the only word?', 'b: the only word?']);
});

in2025('what somebody types stays, also if it turns out to be of another call', async (t, era) => {
  const chat = await openChat(t, era);
  const [a, b, c] = ['a', 'b', 'c'].map((tag) => chat.begin('word', { tag }));
  await chat.show(a, { toolInfo: false, input: false, result: false });
  await chat.view.locator('.asks button').nth(2).waitFor();
  await chat.view.locator('.asks button', { hasText: 'b: the only' }).click();
  await field(chat, 'Word').pressSequentially('mi');
  await chat.host.evaluate((args) => window.host.bridge.sendToolInput({ arguments: args }), a.args);
  await chat.view.locator('.asks button', { hasText: 'c: the only' }).waitFor({ state: 'detached' });
  assert.deepEqual((await chat.view.locator('.asks .gist').allTextContents()).sort(), ['a: the only word?', 'b: the only word?'], 'nobody has touched the third');
  await chat.host.keyboard.type('ne'); // where the focus is
  const { content } = await chat.views.client.callTool({ name: 'nodQuestions', arguments: { arguments: a.args } });
  const [{ nonce }] = JSON.parse(content[0].text).questions;
  await chat.views.client.callTool({ name: 'nodAnswer', arguments: { nonce, action: 'decline' } });
  await chat.tell(await a.result); // its call has ended
  await chat.view.locator('.asks').waitFor({ state: 'detached' });
  await chat.asks('b: the only word?');
  assert.equal(await field(chat, 'Word').inputValue(), 'mine');
  await chat.press('Submit');
  assert.equal(await soon('b ends', chat.text(b)), 'b: mine');
  await chat.show(c);
  await word(chat, 'of c');
  assert.equal(await soon('c ends', chat.text(c)), 'c: of c');
});

inBoth('hosts that hold tool-input back, tell nothing of the tool, and use a second session', async (t, era) => {
  const chat = await openChat(t, era, { second: true });
  const call = chat.begin('word', { tag: 'held back' });
  await chat.show(call, { toolInfo: false, input: false });
  await chat.asks('held back: the only word?');
  await word(chat, 'here');
  assert.equal(await soon('the call ends', chat.text(call)), 'held back: here');
});

all && in2025('a question that is answered elsewhere says so in its place', async (t, era) => {
  const chat = await openChat(t, era);
  const call = chat.begin('word', { tag: 'race' });
  await chat.show(call);
  await chat.asks('race: the only word?');
  const { content } = await chat.views.client.callTool({ name: 'nodQuestions', arguments: { tool: 'word' } });
  const [{ nonce }] = JSON.parse(content[0].text).questions;
  await chat.views.client.callTool({ name: 'nodAnswer', arguments: { nonce, action: 'accept', content: { word: 'faster' } } });
  await chat.verdict('answered this');
  assert.equal(await soon('the call ends', chat.text(call)), 'race: faster');
});

inSoak('hostile text is text', async (t, era) => {
  const chat = await openChat(t, era);
  const hostile = '</script><script>parent.postMessage({jsonrpc:"2.0",id:1,method:"tools/call"},"*")</script><img src=x onerror=alert(1)>\u202Eevil\u0000 [link](javascript:alert(1))';
  const text = hostile.replace('\u0000', '\u0007');
  const call = chat.begin('say', { text, '<b>key</b>': ['</style><style>*{display:none}</style>'] });
  await chat.show(call);
  await chat.ask.locator('.message').waitFor();
  assert.equal(await chat.view.locator('script, img, a, b:has-text("key"), .message *:not(.mark)').evaluateAll((nodes) => nodes.filter((node) => node.tagName !== 'SCRIPT' || node.parentNode !== document.body).length), 0);
  const shown = await chat.ask.locator('.message').textContent();
  assert.match(shown, /<img src=x onerror=alert\(1\)>U\+202Eevil/);
  await chat.press('Decline');
  assert.equal(await soon('the call ends', chat.text(call)), 'Not said.');
});

// --- calls that are over before the answer ---

inBoth('a host that opens the view only after the result: the answer is given to the model', async (t, era) => {
  const chat = await openChat(t, era);
  const call = chat.begin('word', { tag: 'late' });
  const pending = await call.result; // after ten seconds
  assert.equal(pending._meta.ui.resourceUri, 'ui://nod/ask');
  assert.notEqual(pending.isError, true);
  await chat.show(call);
  await chat.asks('late: the only word?');
  await word(chat, 'better');
  await chat.verdict('Answered by you');
  await chat.view.getByText('Result: late: better').waitFor();
  await chat.until('contexts', 'all.length === 1');
  await chat.until('messages', 'all.length === 1');
  const [[context], [message]] = [await chat.said('contexts'), await chat.said('messages')];
  assert.deepEqual(context.content.map(({ text }) => text).slice(1), ['late: better']);
  assert.match(message.content[0].text, /its call has ended\. Its result is in your context/);
  assert.equal(message.role, 'user');
});

inSoak('a host without a model context is sent a message with the result; one without either shows it', async (t, era) => {
  const { updateModelContext, message, ...least } = ABLE;
  const speaks = async (capabilities) => {
    const chat = await openChat(t, era, { capabilities });
    const call = chat.begin('word', { tag: 'late' });
    await call.result;
    await chat.show(call);
    await chat.asks('late: the only word?');
    await word(chat, 'better');
    await chat.view.getByText('Result: late: better').waitFor();
    return chat;
  };
  const [one, none] = await Promise.all([speaks({ ...least, message }), speaks(least)]);
  await one.until('messages', 'all.length === 1');
  assert.match((await one.said('messages'))[0].content[0].text, /Its result: late: better$/);
  assert.deepEqual([await one.said('contexts'), await none.said('contexts'), await none.said('messages')], [[], [], []]);
});

inSoak('a host without serverTools: the view says where else to answer', async (t, era) => {
  const chat = await openChat(t, era, { capabilities: { openLinks: {} } });
  const call = chat.begin('word', { tag: 'elsewhere' });
  await chat.show(call);
  const { structuredContent } = await call.result;
  await chat.view.getByText('This chat cannot pass it on').waitFor();
  await chat.view.getByText(structuredContent.answerAt).waitFor();
  await chat.button('Open that page').click();
  await chat.until('links', 'all.length === 1');
  assert.deepEqual(await chat.said('links'), [{ url: structuredContent.answerAt }]);
  assert.deepEqual(await chat.said('tools'), []);
});

inSoak('the soft deadline: a call whose view is open is pending, and goes on with the answer', async (t, era) => {
  const chat = await openChat(t, era, { args: ['--soft-deadline', '12s'] });
  const call = chat.begin('three', { tag: 'slow' });
  await chat.show(call);
  await chat.asks('slow: the first word?');
  const pending = await call.result;
  assert.equal(pending.structuredContent.pending, true);
  await call.told;
  await chat.asks('slow: the first word?');
  for (const [which, text] of [['first', 'x'], ['second', 'y'], ['third', 'z']]) {
    await chat.asks(`slow: the ${which} word?`);
    await word(chat, text);
  }
  await chat.view.getByText('Result: x y z').waitFor();
  await chat.until('contexts', 'all.length === 1');
});

// --- the wire ---

inBoth('what the view and its host say is as the schema of MCP Apps has it', async (t, era) => {
  const schema = JSON.parse(readFileSync(path.join(process.env.NOD_SOURCE_DIR, 'node_modules/@modelcontextprotocol/ext-apps/dist/src/generated/schema.json'), 'utf8'));
  const ajv = new Ajv({ strict: false });
  addFormats(ajv);
  const chat = await openChat(t, era);
  const call = chat.begin('three', { tag: 'wire' });
  await chat.show(call);
  for (const which of ['first', 'second', 'third']) {
    await chat.asks(`wire: the ${which} word?`);
    await word(chat, 'w');
  }
  await soon('the call ends', call.told);
  await chat.change({ theme: 'dark' });
  assert.deepEqual(await chat.host.evaluate(() => window.host.bridge.teardownResource({})), {});
  const wire = await chat.said('wire');
  const kinds = { 'ui/initialize': 'McpUiInitializeRequest', 'ui/notifications/initialized': 'McpUiInitializedNotification', 'ui/notifications/size-changed': 'McpUiSizeChangedNotification', 'ui/notifications/tool-input': 'McpUiToolInputNotification', 'ui/notifications/tool-result': 'McpUiToolResultNotification', 'ui/notifications/host-context-changed': 'McpUiHostContextChangedNotification', 'ui/resource-teardown': 'McpUiResourceTeardownRequest' };
  const seen = new Set();
  for (const { message } of wire) {
    assert.equal(message.jsonrpc, '2.0');
    const kind = kinds[message.method];
    if (!kind) continue;
    seen.add(message.method);
    const { jsonrpc, id, ...bare } = message;
    const check = ajv.compile(schema.$defs[kind]);
    assert.ok(check(bare), `${message.method}: ${JSON.stringify(check.errors)} in ${JSON.stringify(bare)}`);
  }
  assert.deepEqual([...seen].sort(), Object.keys(kinds).sort());
  const from = (who) => wire.filter((one) => one.from === who).map(({ message }) => message.method);
  assert.deepEqual(from('view').filter(Boolean).slice(0, 3), ['ui/initialize', 'ui/notifications/initialized', 'tools/call'], 'it asks before anybody tells it anything');
  const begun = wire.find(({ message }) => message.method === 'ui/initialize').message.params;
  assert.deepEqual([begun.protocolVersion, begun.appInfo.name], ['2026-01-26', 'nod']);
  for (const { message } of wire) if (message.method === 'tools/call') assert.ok(['nodQuestions', 'nodAnswer'].includes(message.params.name));
});

describe('view', { concurrency: 4 }, () => tests.forEach(([name, fn]) => it(name, fn)));
