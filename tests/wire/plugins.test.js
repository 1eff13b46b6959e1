// The plugins of examples/plugins, served by `nod serve` and called by the official clients: paths, approvals, accounts, a crash in the
// middle of a change; and hooks alone, around the tools of another plugin.
import test from 'node:test';
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { AuthorizationServer } from './authorization-server.js';
import { Person } from './accounts.js';
import { GitHub } from './github.js';
import { connect, freePort } from './harness.js';
import { token, tokenFile } from './inbox.js';
import { Modern, accepted, connectModern, retryOf } from './modern.js';
import { linesOf, serveHome } from './serving.js';

const capabilities = { elicitation: { form: {}, url: {} } };
const clients = {
  'v1, 2025': (t, server) => connect(t, 'http', 'nod', { server, token: token('ada'), capabilities }),
  'v2, 2025': (t, server) => connectModern(t, 'http', 'nod', { server, token: token('ada'), capabilities, legacy: true }),
  'v2, 2026': (t, server) => connectModern(t, 'http', 'nod', { server, token: token('ada'), capabilities }),
};

// `nod serve` with the plugin github, its service and a GitHub.
async function openGitHub(t, { service = true } = {}) {
  const home = serveHome(t);
  const oauth = await AuthorizationServer.start(t);
  const github = await GitHub.start(t, oauth);
  const section = service ? oauth.section('oauth github', { title: 'GitHub' }) : '';
  home.configure(`[server]\nplugin = ${home.plugin('github')}\ntoken-file = ${tokenFile(t)}\n
[plugin github]\nrepository = ada/engine\napi = ${github.api}\n\n${section}`);
  const port = await freePort();
  const start = (env = {}) => home.start({ port, env: { ...oauth.env, ...env } });
  return { home, github, service: oauth, start, server: await start() };
}

for (const [name, open] of Object.entries(clients))
  test(`github, ${name}: an issue is created and closed when a person has agreed, in their name, and nothing is without it`, async (t) => {
    const { github, service, server } = await openGitHub(t);
    const ada = await Person.at(server, 'ada');
    const session = await open(t, server);
    const { tools } = await session.client.listTools();
    assert.deepEqual(tools.map(({ name }) => name).filter((name) => name.startsWith('github.')), ['github.issues.list', 'github.issues.create', 'github.issues.close']);

    const declined = session.text('github.issues.create', { title: 'No' });
    (await session.question()).decline();
    assert.equal(await declined, 'No issue was created.');
    assert.deepEqual([github.requests, service.asked.authorize], [[], 0], 'nobody was sent anywhere, and GitHub was not asked');

    const created = session.text('github.issues.create', { title: 'It does not start', body: 'At all.' });
    const approval = await session.question();
    assert.match(approval.params.message, /^Create the issue "It does not start" in ada\/engine\?/);
    approval.accept({});
    const question = await session.question();
    assert.deepEqual([question.params.mode, question.params.message], ['url', 'Connect your GitHub account, for the issues of ada/engine.']);
    question.accept();
    await ada.connect(question.params.url);
    assert.equal(await created, 'Created #1: https://github.com/ada/engine/issues/1');
    assert.equal(await session.text('github.issues.list'), '#1 It does not start');

    const closed = session.text('github.issues.close', { number: 1 });
    (await session.question()).accept({});
    assert.equal(await closed, 'Closed #1.');
    assert.equal(await session.text('github.issues.list'), 'ada/engine has no open issues.');
    assert.deepEqual(github.issues.map(({ title, state }) => [title, state]), [['It does not start', 'closed']]);
    assert.match(github.issues[0].body, /^At all\.\n\n<!-- nod: \S+ -->$/);
    for (const given of service.given) assert.ok(!server.stderr().includes(given), 'no token is in the log');
  });

// A person who has connected their account; a client that comes back with what it holds.
async function connected(t) {
  const opened = await openGitHub(t);
  const session = await clients['v2, 2026'](t, opened.server);
  const listed = session.text('github.issues.list');
  const question = await session.question();
  question.accept();
  await (await Person.at(opened.server, 'ada')).connect(question.params.url);
  assert.equal(await listed, 'ada/engine has no open issues.');
  await session.stop();
  return { ...opened, client: new Modern(opened.server.url, { token: token('ada'), capabilities }) };
}

for (const point of ['effect_after', 'step_after'])
  test(`github: killed at ${point}, between GitHub's answer and the end of the call, there is one issue`, async (t) => {
    const { github, server, start, client } = await connected(t);
    await server.stop();
    const doomed = await start({ NOD_CRASH_AT: point });
    const asked = await client.asked('github.issues.create', { title: 'Once' });
    const retry = retryOf(asked, { [Object.keys(asked.inputRequests)[0]]: accepted({}) });
    await assert.rejects(client.call('github.issues.create', { title: 'Once' }, retry));
    await doomed.killed();
    assert.equal(github.issues.length, 1, 'it was made before the process died');
    await start();
    assert.equal(await client.ended('github.issues.create', { title: 'Once' }, retry), 'Created #1: https://github.com/ada/engine/issues/1');
    assert.equal(github.issues.length, 1);
  });

test('github: what GitHub refuses is said with its words, and so is a token that it does not take', async (t) => {
  const { github, service, client } = await connected(t);
  const create = async () => {
    const asked = await client.asked('github.issues.create', { title: 'Never' });
    return client.ended('github.issues.create', { title: 'Never' }, retryOf(asked, { [Object.keys(asked.inputRequests)[0]]: accepted({}) }));
  };
  github.says = [410, 'Issues are disabled for this repo'];
  assert.match(await create(), /GitHub said no \(410\): Issues are disabled for this repo/);
  service.accesses.clear();
  assert.match(await client.ended('github.issues.list'), /GitHub said no \(401\): Bad credentials/);
  assert.deepEqual(github.issues, []);
});

test('github: without its section and without its service it says what is missing', async (t) => {
  const { server } = await openGitHub(t, { service: false });
  const reply = await new Modern(server.url, { token: token('ada'), capabilities }).call('github.issues.list');
  assert.match(reply.text, /github/);
  assert.match(reply.text, /SERVICE_UNKNOWN/);
  await server.stop();
  const home = serveHome(t);
  const bare = await home.start({ args: ['--plugin', home.plugin('github')] });
  assert.equal(linesOf(bare.stderr(), 'error')[0].why, 'it needs a section [plugin github]: repository is required');
});

test('house: what people write is cleaned before a tool gets it, and every question is recorded', async (t) => {
  const home = serveHome(t);
  const record = home.at('record.jsonl');
  home.configure(`[server]\nplugin = ${home.plugin('house')}\nplugin = ${home.plugin('steady-1')}\n\n[plugin house]\nrecord = ${record}\n`);
  const server = await home.start();
  const session = await connect(t, 'http', 'nod', { server });
  const words = { '\u202etxt.exe\u202c\u200b': 'txt.exe', 'one\ntwo\ttabs \\u0007 "quoted" \u0007bell': 'one\ntwo\ttabs \\u0007 "quoted" bell', 'plain é 👨\u200d👩\u200d👧': 'plain é 👨\u200d👩\u200d👧' };
  for (const [written, clean] of Object.entries(words)) {
    const call = session.text('steady.ask', { what: 'it' });
    (await session.question()).accept({ word: written });
    assert.equal(await call, `one: ${clean}`);
  }
  const declined = session.text('steady.ask', { what: 'it' });
  (await session.question()).decline();
  assert.equal(await declined, 'one: nothing');
  await server.stop();
  const lines = readFileSync(record, 'utf8').trim().split('\n').map((line) => JSON.parse(line));
  assert.deepEqual(lines.map(({ tool, asked, ended }) => [tool, asked, ended]),
    ['accepted', 'accepted', 'accepted', 'declined'].map((ended) => ['steady.ask', 'Which word for it?', ended]));
  for (const { seconds } of lines) assert.ok(seconds > 0 && seconds < 600, `${seconds}`);
});

test('house: a record that cannot be written is said where the plugin is loaded', async (t) => {
  const home = serveHome(t);
  home.configure(`[server]\nplugin = ${home.plugin('house')}\n\n[plugin house]\nrecord = ${home.at('nowhere/record')}\n`);
  const server = await home.start();
  assert.match(server.stderr(), /nowhere\/record: No such file or directory/);
  assert.match(linesOf(server.stderr(), 'error')[0].why, /its \.load has failed \(i\/o error\)/);
});
