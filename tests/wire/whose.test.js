// The tables of docs/security.md that say whose yes counts, walked: every cell is a call, an answer, and what becomes of it.
//
// The words are those of the page, written by hand. In `make test` a fresh sample of the cells on each store, and every cell of a
// finding; in the soak all of them. What fails says its cell. NOD_WHOSE_SEED draws the same sample again.
import test from 'node:test';
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { HttpPeer, environment, pause, program, startHttp, within, PATIENCE_MS } from './harness.js';
import { scratchFolder } from './modern.js';
import { as, openCopy, openFolder, possible } from './somebody.js';
import { Browser } from './credentials.js';
import { Visitor } from './visitor.js';
import { Api, houses, token, tokenFile } from './inbox.js';
import { LINKS, startFor, unique, ways, yesTo } from './consents.js';

const SOAK = Boolean(process.env.NOD_SOAK);
const SECRET = { MCP_ELICITATION_SECRET: 'a secret of the tests of whose yes counts' };

// --- the page ---

const page = readFileSync(new URL('../../docs/security.md', import.meta.url), 'utf8');
const bare = (text) => text.replaceAll('`', '').trim();
const listOf = (text) => bare(text).replace('ahead 2026, undeclared', 'undeclared 2026').split(', ');

// The tables of a section that begin with this head, as rows of { head: cell }.
function table(first) {
  const lines = page.slice(page.indexOf('## Whose yes counts'), page.indexOf('## Tokens and roles')).split('\n');
  const at = lines.findIndex((line) => line.startsWith(`| ${first} |`));
  assert.ok(at >= 0, `docs/security.md has no table that begins with ${first}`);
  const cut = (line) => line.slice(1, -1).split('|').map((cell) => cell.trim());
  const heads = cut(lines[at]);
  const rows = [];
  for (let i = at + 2; lines[i].startsWith('|'); i++) rows.push(Object.fromEntries(cut(lines[i]).map((cell, n) => [bare(heads[n]), cell])));
  assert.ok(rows.length > 1);
  return rows;
}
const settingsOf = (row, ...others) => Object.entries(row).filter(([head]) => !others.includes(head)).map(([head, word]) => [head === 'default' ? '' : head, word]);

const people = { carl: 'ask', eve: 'ask approve', ada: 'ask answer', root: 'ask admin', bob: 'ask answer' };
const names = { ask: 'carl', approve: 'eve', answer: 'ada', admin: 'root' };
const whats = {
  data: ['data'], 'a yes': ['confirm', 'approve', 'gated', 'danger'], 'a link': ['link'], 'a page': ['page'], 'a secret': ['secret'], 'an account': ['account'], 'a grant': ['kept'],
  'a confirmation': ['confirm'], 'an approval': ['approve'], 'a gate': ['gated'], 'a destructive form': ['danger'],
};

// --- a sample ---

const seed = Number(process.env.NOD_WHOSE_SEED ?? Math.floor(Math.random() * 1e9));
let drawn = seed;
const draw = () => ((drawn = (drawn * 1103515245 + 12345) % 2147483648), drawn / 2147483648);
const sample = (cells, share, always = () => false) => cells.filter((cell) => SOAK || always(cell) || draw() < share);
console.log(`NOD_WHOSE_SEED=${seed}`);

// --- the servers, one for each setting, with and without tokens, on a store ---

function serversOf(t, house) {
  const made = new Map();
  const server = (setting, tokens = true) => {
    const key = `${setting} ${tokens}`;
    if (!made.has(key))
      made.set(key, (async () => startFor(t, tokens ? people : null, {
        env: SECRET,
        args: ['--soft-deadline', '1s', '--store', (await house.create(t))?.address ?? 'memory:', ...(setting ? setting.split(' ') : [])],
      }))());
    return made.get(key);
  };
  server.stop = async () => Promise.all((await Promise.all(made.values())).map((one) => one.stop())); // before their store
  return server;
}

// In `make test` a share of the cells on each store; in the soak all of them in memory, and a share on the others.
const shareOn = (house, cells, share, always) => (SOAK && house.name === 'memory' ? cells : sample(cells, share, always));
const walk = (t, cells, name, go) => Promise.all(cells.map((cell) => t.test(name(cell), () => within(3 * PATIENCE_MS, 'the cell', go(cell)))));

// --- by the client, and by its model ---

const driver = { 'form 2025': 'form 2025', 'round 2026': 'round 2026', task: 'task', 'view 2025': 'view', 'view 2026': 'view 2026', 'ahead 2026': 'ahead 2026', 'undeclared 2026': 'ahead 2026, declares nothing', model: 'model' };
const outcomes = { counts: ['counts'], 'goes to the inbox': ['inbox'], 'is asked': ['asked'], 'goes to its page': ['inbox'], refused: ['nobody', 'refused'] };
const hasTask = ['data', 'danger', 'confirm'];

const byClient = [];
for (const row of table('who | way'))
  for (const who of listOf(row.who)) for (const way of listOf(row.way)) for (const what of listOf(row.what)) for (const tool of whats[what])
    for (const [setting, word] of settingsOf(row, 'who', 'way', 'what'))
      if (way !== 'task' || hasTask.includes(tool)) byClient.push({ who, way, what, tool, setting, word });
for (const row of table('who | what'))
  for (const who of listOf(row.who)) for (const what of listOf(row.what)) for (const tool of whats[what])
    for (const [setting, word] of settingsOf(row, 'who', 'what')) byClient.push({ who, way: 'model', what, tool, setting, word });

// What was found: a token with `ask` that says yes to its own call, an answer ahead of its question, a view of nobody's.
const found = ({ who, way, what, setting }) => what === 'a yes' && setting === '' && ((who === 'ask' && ['form 2025', 'round 2026', 'view 2025', 'task'].includes(way)) || way === 'undeclared 2026' || (who === 'no tokens' && way.startsWith('view')));
const tokenOf = (who) => (who === 'no tokens' ? undefined : token(names[who]));

// A client may say what it likes: nothing is remembered of it. It is called twice, and asks twice.
async function remembers(server, who, way) {
  for (let i = 0; i < 2; i++) await ways[driver[way]](server, tokenOf(who), 'kept');
  const api = who === 'no tokens' ? null : await new Api(server, 'root').getInTime('/api/grants');
  return api ? api.json.items : [];
}

for (const house of houses)
  test(`whose yes counts, by the client: ${house.name}`, { concurrency: true }, async (t) => {
    const server = serversOf(t, house);
    const cells = shareOn(house, byClient, 0.08, house.name === 'memory' ? found : undefined);
    await walk(t, cells, ({ setting, way, who, tool, word }) => `${setting || 'default'}: ${way}: ${who}: ${tool}: ${word}`, async ({ setting, way, who, tool, word }) => {
      const at = await server(setting, who !== 'no tokens');
      if (word === 'cannot be') return assert.deepEqual(await remembers(at, who, way), []);
      const became = await ways[driver[way]](at, tokenOf(who), tool);
      assert.ok(outcomes[word], `an unknown word: ${word}`);
      assert.ok(outcomes[word].includes(became), `${became}, and not ${word}`);
    });
    await server.stop();
  });

// --- in the inbox ---

// A question of somebody's call that waits in the inbox, or on its page.
async function begin(t, server, who, tool) {
  const peer = new HttpPeer(server.url, { token: token(who) });
  t.after(() => peer.close());
  const args = unique();
  const root = new Api(server, 'root');
  await peer.initialize(['page', 'secret'].includes(tool) ? LINKS : {});
  await peer.send({ id: 'call', method: 'tools/call', params: { name: tool, arguments: args } });
  if (['page', 'secret'].includes(tool)) {
    const { id, params } = await peer.next((one) => one.method === 'elicitation/create', 'the link');
    await peer.send({ id, result: { action: 'accept' } });
    return { link: params.url, root, done: () => peer.next((one) => one.id === 'call', 'its end') };
  }
  const [item] = await within(PATIENCE_MS, 'the question', (async () => {
    for (;;) {
      const items = (await root.getInTime(`/api/elicitation?tool=${tool}&limit=200`)).json.items.filter((one) => one.arguments.call === args.call);
      if (items.length) return items;
      await pause(10);
    }
  })());
  return { item, root };
}

const answerTo = (item) => ({ ...yesTo(item.tool), ...(item.tool === 'kept' ? { remember: { scope: item.remember[0].scope, match: item.remember[0].match, for: item.remember[0].for } } : {}) });
const run = (command, args) => new Promise((resolve) => execFile(command, args, { env: environment({}) }, (error, stdout, stderr) => resolve({ code: error?.code ?? 0, stdout, stderr })));

// Of one user only so many requests may wait for the store: who is told so comes again.
async function insist(send, isTooMany) {
  for (;; await pause(50)) {
    const reply = await send();
    if (!isTooMany(reply)) return reply;
  }
}
const is429 = ({ status }) => status === 429;

// Each says whether the answer was taken.
const places = {
  async API(t, server, who, item) {
    return (await insist(() => new Api(server, who).request('POST', `/api/elicitation/${item.id}/resolve`, { body: answerTo(item) }), is429)).status === 200;
  },
  async page(t, server, who, item) {
    const browser = new Browser(server.url);
    if (who) await browser.signIn(token(who));
    return (await insist(() => browser.fetch(`/api/elicitation/${item.id}/resolve`, { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(answerTo(item)) }), is429)).status === 200;
  },
  async terminal(t, server, who, item) {
    const file = path.join(scratchFolder(t), 'token');
    writeFileSync(file, who ? token(who) : 'nobodys-token-0123456789abcdef', { mode: 0o600 });
    const { code } = await insist(() => run(program('nod'), ['inbox', new URL(server.url).origin, 'answer', item.id, '--accept', ...(item.tool === 'kept' ? ['--remember', '1'] : []), ...(/danger|data/.test(item.tool) ? ['confirmed=yes'] : []), '--token-file', file]), ({ code, stderr }) => code !== 0 && /try again|429/.test(stderr));
    return code === 0;
  },
};

async function onPage(server, who, tool, link) {
  const visitor = new Visitor(server.url);
  if (who) await visitor.signIn(token(who));
  await visitor.page(new URL(link).pathname);
  return (await visitor.submit(new URL(link).pathname, tool === 'secret' ? { secret: 'a key of somebody' } : { confirmed: true })).status === 200;
}

const inInbox = [];
for (const row of table('what | whose call'))
  for (const what of listOf(row.what)) for (const [tool] of [whats[what]])
    for (const [who, word] of Object.entries(row).filter(([head]) => !['what', 'whose call'].includes(head)))
      for (const place of row['whose call'].includes('on its page') ? ['its page'] : Object.keys(places)) inInbox.push({ what, tool, own: row['whose call'].startsWith('one'), who, place, word });

for (const house of houses)
  test(`whose yes counts, in the inbox: ${house.name}`, { concurrency: true }, async (t) => {
    const servers = serversOf(t, house);
    const server = await servers('');
    const cells = shareOn(house, inInbox, 0.12).filter(({ word }) => word !== 'cannot be');
    await walk(t, cells, ({ what, own, who, place, word }) => `${place}: ${who}: ${what} of ${own ? 'one\'s own' : 'another\'s'} call: ${word}`, async ({ tool, own, who, place, word }) => {
      const me = names[who] ?? null;
      const { item, link, root } = await begin(t, server, own ? me ?? 'ada' : 'bob', tool);
      const taken = place === 'its page' ? await onPage(server, me, tool, link) : await places[place](t, server, me, item);
      assert.equal(taken ? 'counts' : 'refused', word);
      if (!item) return;
      const { json } = await root.getInTime(`/api/elicitation/${item.id}`);
      assert.equal(json.state, taken ? 'accepted' : 'pending');
      if (taken) assert.equal(json.answer.by, me);
    });
    const grants = (await new Api(server, 'root').getInTime('/api/grants')).json.items;
    for (const { tool } of grants) assert.equal(tool, 'kept');
    await servers.stop();
  });

// --- by where it comes from ---

const SCRIPT = `
const [what, url, ...rest] = process.argv.slice(2);
const headers = JSON.parse(rest[0] ?? '{}');
const post = (to, body, more = {}) => fetch(to, { method: 'POST', redirect: 'manual', headers: { 'Content-Type': 'application/json', Accept: 'application/json, text/event-stream', ...headers, ...more }, body: JSON.stringify(body) });
const meta = { 'io.modelcontextprotocol/protocolVersion': '2026-07-28', 'io.modelcontextprotocol/clientInfo': { name: 'somebody', version: '1' }, 'io.modelcontextprotocol/clientCapabilities': { elicitation: { form: {} } } };
const call = (params) => post(url, { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'danger', arguments: { from: rest[1] }, ...params, _meta: meta } }, { 'MCP-Protocol-Version': '2026-07-28', 'Mcp-Method': 'tools/call', 'Mcp-Name': 'danger' });
if (what === 'mcp') {
  const first = await call({});
  if (first.status !== 200) { console.log(first.status); process.exit(); }
  const { result } = JSON.parse((await first.text()).replace(/^(?:.*\\n)*data: ?/, ''));
  const second = await call({ requestState: result.requestState, inputResponses: { form: { action: 'accept', content: { confirmed: true } } } });
  console.log((await second.text()).includes('"yes"') ? 'counts' : 'refused');
} else {
  console.log((await post(url, { action: 'accept', content: { confirmed: true } })).status);
}`;

test('whose yes counts, by where it comes from', async (t) => {
  if (!possible(t, 'to be two users')) return;
  const folder = openFolder(t);
  const script = path.join(folder, 'agent.mjs');
  writeFileSync(script, SCRIPT);
  const nod = openCopy(t, program('nod'), folder);
  const node = openCopy(t, process.execPath, folder);
  const socket = path.join(folder, 'nod.sock');
  const open = await startHttp(t, 'consent-server', { env: SECRET, args: ['--http', `unix:${socket}`] });
  const closed = await startHttp(t, 'consent-server', { args: ['--token-file', tokenFile(t, people)] });
  const me = String(process.getuid());
  const origin = new URL(open.url).origin;
  await run('chmod', ['0666', socket]);

  // A question in the inbox, and the links of two pages, of calls of the local user.
  const links = {};
  for (const tool of ['page', 'danger_page']) {
    const peer = await new HttpPeer(open.url).initialize(LINKS);
    t.after(() => peer.close());
    await peer.send({ id: 'call', method: 'tools/call', params: { name: tool, arguments: {} } });
    const { id, params } = await peer.next((one) => one.method === 'elicitation/create', 'the link');
    await peer.send({ id, result: { action: 'accept' } });
    links[tool] = new URL(params.url, origin).href;
  }
  const ada = await begin(t, closed, 'ada', 'danger');
  const resolve = new URL(`/api/elicitation/${ada.item.id}/resolve`, closed.url).href;

  const froms = {
    "a process of the server's own user": [me, {}],
    'a process of another user': ['65534', {}],
    'a web page of another port': [me, { Origin: 'http://127.0.0.1:1', 'Sec-Fetch-Site': 'same-site' }],
    'a web page of another site': [me, { Origin: 'https://evil.example', 'Sec-Fetch-Site': 'cross-site' }],
  };
  let calls = 0;
  const agent = async ([user, headers], what, url, more = {}) => {
    const [command, ...args] = as(user, node, script, what, url, JSON.stringify({ ...headers, ...more }), String(++calls));
    const { stdout, stderr } = await run(command, args);
    assert.ok(stdout.trim(), stderr);
    return stdout.trim();
  };
  const taken = (status) => (status === '200' ? 'counts' : 'refused');
  const attempts = {
    '/mcp, no tokens': async (from) => ((await agent(from, 'mcp', open.url)) === 'counts' ? 'counts' : 'refused'),
    '/mcp, tokens': async (from) => ((await agent(from, 'mcp', closed.url)) === 'counts' ? 'counts' : 'refused'),
    'the API': async (from) => taken(await agent(from, 'post', resolve)),
    'the Unix socket': async ([user]) => {
      const [command, ...args] = as(user, nod, 'login', `unix:${socket}`);
      return (await run(command, args)).code === 0 ? 'counts' : 'refused';
    },
    'the link of a page: data': async (from) => taken(await agent(from, 'post', links.page, from[1].Origin ? {} : { Origin: origin })),
    'the link of a page: a yes': async (from) => taken(await agent(from, 'post', links.danger_page, from[1].Origin ? {} : { Origin: origin })),
  };
  // What is refused comes first: a page that was filled in is over.
  const cells = table('from | `/mcp`, no tokens').flatMap(({ from, ...row }) => Object.entries(row).map(([way, word]) => ({ from, way, word })));
  assert.equal(cells.length, 24);
  for (const { from, way, word } of cells.sort((a, b) => (a.word === 'counts') - (b.word === 'counts')))
    if (word !== 'cannot be') await t.test(`${from}: ${way}: ${word}`, async () => assert.equal(await attempts[way](froms[from]), word));
});
