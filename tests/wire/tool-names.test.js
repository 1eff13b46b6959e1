// Tools whose names are paths, and clients that are shown other names (--tool-names underscores): they may call by either, in both
// eras and over both transports; everything else has the path. So the option may change while calls wait.
import test from 'node:test';
import assert from 'node:assert/strict';
import { HttpPeer, accept, callTool, connect, nextAsk, pause, rawPeer, runOnce, startHttp, textOf, transports, within, PATIENCE_MS } from './harness.js';
import { Api, token, tokenFile } from './inbox.js';
import { Modern, connectModern, retryOf, scratchFolder, word } from './modern.js';
import { linesOf, serveHome } from './serving.js';

const UNDERSCORES = ['--tool-names', 'underscores'];
const PATHS = ['github.issues.create', 'github.issues.ask', 'github.issues.task', 'notes/add-1', 'plain_2', 'shapes.odd'];
const SHOWN = ['github_issues_create', 'github_issues_ask', 'github_issues_task', 'notes_add-1', 'plain_2', 'shapes_odd'];
const SECRET = { MCP_ELICITATION_SECRET: 'a secret that is surely long enough for this' };
const TASKS = { elicitation: {}, extensions: { 'io.modelcontextprotocol/tasks': {} } };

const CLIENTS = {
  'v1, 2025': connect,
  'v2, 2025': (t, kind, name, options) => connectModern(t, kind, name, { ...options, legacy: true }),
  'v2, 2026': connectModern,
};
const callBy = ({ client }, name, title = 'it') => client.callTool({ name, arguments: { title } });
const own = (name) => !/^(waitForPerson|sendElicitationResult|nod[A-Z])/.test(name);

for (const [which, join] of Object.entries(CLIENTS))
  for (const kind of transports) {
    test(`${kind}, ${which}: the client is shown underscores, and calls by these or by the path`, async (t) => {
      const session = await join(t, kind, 'names', { args: UNDERSCORES, capabilities: TASKS, answer: () => word('yes') });
      const { tools } = await session.client.listTools();
      const names = tools.map(({ name }) => name).filter(own);
      assert.deepEqual(names, SHOWN); // in the order in which they are registered
      for (const name of tools.map((tool) => tool.name)) assert.match(name, /^[A-Za-z0-9_-]+$/);
      for (const name of ['notes_add-1', 'notes/add-1']) assert.equal(textOf(await callBy(session, name)), 'added');
      for (const name of ['github_issues_ask', 'github.issues.ask']) assert.equal(textOf(await callBy(session, name)), 'it yes');
      for (const name of ['github_issues.ask', 'notes_add_1', 'plain.2', 'GITHUB_ISSUES_ASK'])
        await assert.rejects(callBy(session, name), (error) => error.message.includes(`Unknown tool: ${name}`), name);
      assert.match(session.stderr(), /the hook has seen github\.issues\.ask/);
      assert.doesNotMatch(session.stderr(), /github_issues_ask/);
    });

    test(`${kind}, ${which}: by default the client is shown paths, and nothing else is a name`, async (t) => {
      const session = await join(t, kind, 'names', { answer: () => word('yes') });
      const { tools } = await session.client.listTools();
      assert.deepEqual(tools.map(({ name }) => name).filter(own), PATHS);
      assert.equal(textOf(await callBy(session, 'github.issues.ask')), 'it yes');
      await assert.rejects(callBy(session, 'github_issues_ask'), /Unknown tool: github_issues_ask/);
    });
  }

test('a tool is listed as it is but for its name, to both eras', async (t) => {
  const servers = await Promise.all([[], UNDERSCORES].map((args) => startHttp(t, 'names', { args })));
  const listed = {
    2026: ({ url }) => new Modern(url).request('tools/list'),
    2025: async (server) => {
      const peer = await rawPeer(t, 'http', 'names', { server });
      const handle = await peer.send({ id: 'list', method: 'tools/list' });
      await peer.next(({ id }) => id === 'list', 'the list');
      return { text: handle.streamed ? handle.events.map(({ data }) => data ?? '').join('') : JSON.stringify(handle.json) };
    },
  };
  for (const [era, list] of Object.entries(listed)) {
    const [paths, shown] = await Promise.all(servers.map(list));
    const renamed = PATHS.reduce((text, path, i) => text.replace(`{"name":"${path}"`, `{"name":"${SHOWN[i]}"`), paths.text);
    assert.match(shown.text, /"name":"shapes_odd"/);
    assert.match(shown.text, /"name":"shapes\.odd"/); // in its own _meta
    assert.equal(shown.text.replace(/"id":\d+/, ''), renamed.replace(/"id":\d+/, ''), era);
  }
});

test('the inbox, rules, remembered approvals and the log have the path, however the tool is called', async (t) => {
  const args = [...UNDERSCORES, '--token-file', tokenFile(t), '--surfaces', 'inbox', '--remember', 'github.issues.create=principal,tool'];
  const server = await startHttp(t, 'names', { args, inbox: true });
  const api = new Api(server, 'ada');
  const peer = await rawPeer(t, 'http', 'names', { server, token: token('ada') });
  const call = await callTool(peer, 'github_issues_create', { title: 'a' });
  const [item] = await api.pending();
  assert.equal(item.tool, 'github.issues.create');
  const remember = item.remember.find(({ scope, match }) => scope === 'principal' && match === 'tool');
  assert.equal((await api.resolve(item.id, { approved: true, remember })).status, 200);
  assert.equal(textOf((await call.reply()).result), 'created');
  const grants = (await api.get('/api/grants')).json.items;
  assert.deepEqual(grants.map(({ tool }) => tool), ['github.issues.create']);
  for (const name of ['github.issues.create', 'github_issues_create']) // by both it is approved already
    assert.equal(textOf((await (await callTool(peer, name, { title: 'b' })).reply()).result), 'created');
  assert.match(server.stderr(), /event=answered.* tool=github\.issues\.create/);
  assert.doesNotMatch(server.stderr(), /github_issues_create|an option names a tool/);
});

test('a view is told of the questions of the tool that its host names', async (t) => {
  const capabilities = { extensions: { 'io.modelcontextprotocol/ui': { mimeTypes: ['text/html;profile=mcp-app'] } } };
  const peer = await rawPeer(t, 'http', 'names', { args: [...UNDERSCORES, '--soft-deadline', '1s'], capabilities });
  await callTool(peer, 'github_issues_ask', { title: 'it' });
  const told = async (tool, now) => {
    const { result } = await (await callTool(peer, 'nodQuestions', { tool, now })).reply();
    return JSON.parse(textOf(result)).questions.map((question) => question.tool);
  };
  assert.deepEqual(await told('github_issues_ask', false), ['github.issues.ask']); // people read the path
  assert.deepEqual(await told('github.issues.ask', true), ['github.issues.ask']);
  assert.deepEqual(await told('github_issues_task', true), []);
});

// --- what waits while the option changes ---

const either = [
  { before: [], began: 'github.issues.ask', after: UNDERSCORES, back: 'github_issues_ask' },
  { before: UNDERSCORES, began: 'github_issues_ask', after: [], back: 'github.issues.ask' },
  { before: UNDERSCORES, began: 'github_issues_ask', after: UNDERSCORES, back: 'github.issues.ask' },
];
const named = ({ before, after }) => [before, after].map((args) => (args.length ? 'underscores' : 'paths')).join(' to ');

for (const row of either)
  test(`${named(row)}: calls that wait go on after a restart, and their clients come back with the other name`, async (t) => {
    const store = ['--store', `sqlite:${scratchFolder(t)}/nod.db`, '--surfaces', 'client,inbox', '--token-file', tokenFile(t)];
    const start = (args, port) => startHttp(t, 'names', { args: [...store, ...args], env: SECRET, inbox: true, port });
    const task = (name) => name.replace('ask', 'task');
    const first = await start(row.before);
    const modern = new Modern(first.url, { token: token('ada'), capabilities: TASKS });
    const asked = await modern.asked(row.began, { title: 'state' });
    const { taskId } = (await modern.call(task(row.began), { title: 'task' })).result;
    assert.ok(taskId);
    const peer = await rawPeer(t, 'http', 'names', { server: first, token: token('ada') });
    const held = await callTool(peer, row.began, { title: 'held' });
    const ask = await nextAsk(peer);
    assert.deepEqual((await new Api(first, 'ada').pending(3)).map(({ tool }) => tool).sort(),
      ['github.issues.ask', 'github.issues.ask', 'github.issues.task']);
    held.handle.drop();
    await first.stop();

    const second = await start(row.after);
    modern.url = second.url;
    assert.deepEqual((await new Api(second, 'ada').pending(3)).map(({ tool }) => tool).sort(),
      ['github.issues.ask', 'github.issues.ask', 'github.issues.task']);
    const [key] = Object.keys(asked.inputRequests);
    assert.equal(await modern.ended(row.back, { title: 'state' }, retryOf(asked, { [key]: word('one') })), 'state one');
    // The same request again, by the other name.
    const again = Object.assign(new HttpPeer(second.url, { token: token('ada') }), { session: peer.session });
    t.after(() => again.close());
    await again.send({ id: held.id, method: 'tools/call', params: { name: row.back, arguments: { title: 'held' } } });
    assert.equal((await nextAsk(again)).id, ask.id);
    await accept(again, ask.id, { word: 'two' });
    const { result } = await again.next((message) => message.id === held.id && !message.method, 'the reply');
    assert.equal(textOf(result), 'held two');
    // Another tool of that session's id is another request.
    const other = await again.post({ jsonrpc: '2.0', id: held.id, method: 'tools/call', params: { name: 'plain_2', arguments: { title: 'held' } } });
    assert.match(JSON.stringify(other.json ?? other.events), /used for another request/);
    const { inputRequests } = (await modern.request('tasks/get', { taskId })).result;
    const [wanted] = Object.keys(inputRequests);
    await modern.request('tasks/update', { taskId, inputResponses: { [wanted]: word('three') } });
    const done = await within(PATIENCE_MS, 'the task has ended', (async () => {
      for (;; await pause(10)) {
        const { result: now } = await modern.request('tasks/get', { taskId });
        if (now.status === 'completed') return now.result;
      }
    })());
    assert.equal(textOf(done), 'task three');
  });

// --- tools that are gone, and tools that would be one ---

test('a tool that is gone: the client comes back with the name that it was shown, and is told how its call ended', async (t) => {
  const home = serveHome(t);
  const start = (object) => home.start({ args: [...UNDERSCORES, '--surfaces', 'client,inbox', '--plugin', home.plugin(object, 'steady')] });
  const first = await start('steady-1');
  const modern = new Modern(first.url);
  const states = await Promise.all(['steady_ask', 'steady.ask'].map(async (name) => [name, await modern.asked(name, { what: name })]));
  const peer = await rawPeer(t, 'http', 'nod', { server: first });
  const held = await callTool(peer, 'steady_ask', { what: 'held' });
  await nextAsk(peer);
  held.handle.drop();
  await first.stop();

  const second = await start('steady-gone');
  for (const [name, asked] of states) {
    const other = name === 'steady_ask' ? 'steady.ask' : 'steady_ask';
    const forged = await modern.call('steady_plain', { what: name }, retryOf(asked, {}), { url: second.url });
    assert.equal(forged.error?.code, -32602, forged.text);
    assert.match(forged.text, /Invalid or expired requestState/);
    for (const by of [name, other]) {
      const { error, text } = await modern.call(by, { what: name }, retryOf(asked, {}), { url: second.url });
      assert.equal(error?.data?.code, 'TOOL_GONE', text);
      assert.match(error.message, /steady\.ask is no longer there/);
    }
  }
  const again = Object.assign(new HttpPeer(second.url), { session: peer.session });
  t.after(() => again.close());
  await again.send({ id: held.id, method: 'tools/call', params: { name: 'steady_ask', arguments: { what: 'held' } } });
  const { result } = await again.next(({ id }) => id === held.id, 'the reply');
  assert.equal(result?._meta?.code, 'TOOL_GONE', JSON.stringify(result));
});

test('two tools that clients could not tell apart: refused at start, or where the second is registered', async (t) => {
  const meet = { NAMES_MEET: '1' };
  const { code, stderr } = await runOnce('names', ['--http', '127.0.0.1:0', ...UNDERSCORES], meet);
  assert.equal(code, 2);
  const [line] = linesOf(stderr, 'error');
  assert.match(line.why, /under one name: rename one of the two, or take the option out/);
  assert.deepEqual([line.tool, line.other].sort(), ['github.issues.ask', 'github_issues.ask']);
  const fine = await startHttp(t, 'names', { env: meet });
  const names = (await new Modern(fine.url).request('tools/list')).result.tools.map(({ name }) => name);
  assert.ok(names.includes('github_issues.ask') && names.includes('github.issues.ask'));
});

test('a plugin with such a tool is not loaded, nothing of it stays, and the others serve', async (t) => {
  const home = serveHome(t);
  const [steady, meets] = [home.plugin('steady-1'), home.plugin('meets')];
  home.configure(`[server]\ntool-names = underscores\nplugin = ${steady}\nplugin = ${meets}\n`);
  const server = await home.start();
  const [line] = linesOf(server.stderr(), 'error');
  assert.equal(line.file, meets);
  assert.match(line.why, /its tool steady_plain and steady\.plain, of the plugin steady, under one name: rename one of the two/);
  const names = async () => (await new Modern(server.url).request('tools/list')).result.tools.map(({ name }) => name).filter((name) => /^(steady|meets)/.test(name)).sort();
  const before = await names();
  assert.ok(before.includes('steady_ask') && !before.includes('meets_own'), before.join());
  assert.equal(await new Modern(server.url).ended('steady_plain', { what: 'it' }), 'one: it');
  home.configure(`[server]\ntool-names = underscores\nplugin = ${meets}\n`);
  server.signal('SIGHUP');
  await server.said(/unloaded one/);
  assert.deepEqual(await names(), ['meets_own', 'steady_plain']);
});
