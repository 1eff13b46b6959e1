// The recipe of docs/security.md against an agent on the same machine: the server runs as one user, the agent as another. The agent
// calls tools, and says yes to none of its calls, in whatever way it tries; a person can. It takes root (or sudo), to be two users; they
// are numbers, and no user is made.
import test from 'node:test';
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { HttpPeer, environment, freePort, pause, program, textOf, within, PATIENCE_MS } from '../wire/harness.js';
import { Modern } from '../wire/modern.js';
import { VIEWS, ways } from '../wire/consents.js';
import { as, asRoot, openCopy, openFolder, possible } from '../wire/somebody.js';
import { Browser, bearer } from '../wire/credentials.js';
import { blockNamed } from '../docs/pages.js';
import { exchange } from './page.js';

const [SERVER, AGENT] = ['64123', '64124'];

function run([command, ...args]) {
  const { status, stdout, stderr } = spawnSync(command, args, { encoding: 'utf8', env: environment({}), cwd: '/' });
  return { status, stdout, stderr };
}

// Starts what the page says, below a folder of ours and as a user without a name.
async function startAsThePage(t) {
  const folder = openFolder(t);
  const port = await freePort();
  for (const [name, file] of [['consent-server', 'my-server'], ['nod', 'nod']]) openCopy(t, program(name), folder, file);
  const script = exchange(blockNamed('docs/security.md', 'another-user'), ['useradd --system --home-dir /var/lib/nod --shell /usr/sbin/nologin nod\n', ''],
    ['-o nod ', `-o ${SERVER} `], ['--reuid nod --regid nod', `--reuid ${SERVER} --regid ${SERVER}`], ['/usr/local/bin', folder], ['/var/lib/nod', path.join(folder, 'var')],
    ['/run/nod', path.join(folder, 'run')], ['8080', String(port)], ['--token-file', '--soft-deadline 1s --token-file']);
  const [command, ...args] = asRoot(['sh', '-ec', `${script}echo $!; wait`]);
  const child = spawn(command, args, { env: environment({}), cwd: '/', stdio: ['ignore', 'pipe', 'inherit'] });
  const [said] = await within(PATIENCE_MS, 'the process', new Promise((resolve) => child.stdout.once('data', (data) => resolve([String(data)]))));
  const pid = said.trim();
  t.after(async () => {
    run(asRoot(['kill', pid]));
    await new Promise((resolve) => (child.exitCode === null ? child.once('close', resolve) : resolve()));
    assert.doesNotMatch(log(), /Sanitizer|runtime error:/);
    run(asRoot(['rm', '-rf', path.join(folder, 'var'), path.join(folder, 'run')]));
  });
  const log = () => run(asRoot(['cat', path.join(folder, 'var/log')])).stdout;
  const until = Date.now() + PATIENCE_MS;
  while (!/event=inbox /.test(log()) && Date.now() < until) await pause(50);
  assert.match(log(), /event=inbox /);
  const tokens = Object.fromEntries(run(asRoot(['cat', path.join(folder, 'var/tokens')])).stdout.trim().split('\n').map((line) => line.split(' ').slice(0, 2).reverse()));
  return { folder, pid, tokens, origin: `http://127.0.0.1:${port}`, socket: path.join(folder, 'run/nod.sock') };
}

// What the agent's user runs, with what it knows: its own token, the address, the names of files, the number of the process.
const SCRIPT = `
const [url, token] = process.argv.slice(2);
const reply = await fetch(url, { method: 'POST', headers: { 'Content-Type': 'application/json', ...(token ? { Authorization: 'Bearer ' + token } : {}) }, body: '{"action":"accept","content":{"confirmed":true}}', redirect: 'manual' });
console.log(reply.status);`;

test('an agent under another user says yes to none of its calls, in twelve ways and more', async (t) => {
  if (!possible(t, 'to be two users')) return;
  const house = await startAsThePage(t);
  const { folder, pid, tokens, origin, socket } = house;
  const server = { url: `${origin}/mcp` };
  const nod = path.join(folder, 'nod');
  const secret = path.join(folder, 'token-of-the-agent');
  writeFileSync(secret, tokens.agent, { mode: 0o644 });
  const node = openCopy(t, process.execPath, folder);
  const script = path.join(folder, 'agent.mjs');
  writeFileSync(script, SCRIPT);
  const asAgent = (...command) => run(as(AGENT, ...command));
  const asServer = (...command) => run(as(SERVER, ...command));

  // A person, with a link that the server's own user has made.
  const link = asServer(nod, 'login', `unix:${socket}`);
  assert.equal(link.status, 0, link.stderr);
  const person = await new Browser(origin).open(link.stdout.trim());
  const items = async (state = 'pending') => (await (await person.fetch(`/api/elicitation?state=${state}&limit=200`)).json()).items;
  server.items = items;

  // A call of the agent's that waits for a person, which all the attacks from outside are about.
  const victim = new HttpPeer(server.url, { token: tokens.agent });
  t.after(() => victim.close());
  await victim.initialize({});
  await victim.send({ id: 'call', method: 'tools/call', params: { name: 'danger', arguments: { victim: true } } });
  let question;
  for (const until = Date.now() + PATIENCE_MS; !question && Date.now() < until; await pause(20)) question = (await items()).find((item) => item.arguments.victim);
  assert.ok(question, 'a person sees it');
  const resolve = `/api/elicitation/${question.id}/resolve`;
  const answer = { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify({ action: 'accept', content: { confirmed: true } }) };

  const consent = ['danger', 'confirm', 'approve', 'gated'];
  const own = (way, tools = consent) => async () => {
    await Promise.all(tools.map(async (tool) => assert.equal(await ways[way](server, tokens.agent, tool), 'inbox', tool)));
  };
  const status = async (reply, wanted) => assert.equal((await reply).status, wanted);
  const attacks = {
    'the form of its own client, 2025': own('form 2025'),
    'a round of its own client, 2026': own('round 2026'),
    'an answer ahead of the question': own('ahead 2026'),
    'an answer ahead of a question that it could not be asked': own('ahead 2026, declares nothing'),
    'a task': own('task', ['danger', 'confirm']),
    'a view, in its own session': own('view'),
    'a view, with the handle of its call': own('view 2026', ['danger', 'approve']),
    'the tool of models': async () => {
      const client = new Modern(server.url, { token: tokens.agent, capabilities: {} });
      for (const elicitId of [question.id, question.executionId, 'x'.repeat(44)]) {
        const { result, error } = await client.call('sendElicitationResult', { elicitId, action: 'accept', content: { confirmed: true } });
        assert.ok(error || result.isError, elicitId);
      }
    },
    'the API, without a token and with its own': async () => {
      await status(fetch(origin + resolve, answer), 401);
      await status(fetch(origin + resolve, { ...answer, headers: { ...answer.headers, ...bearer(tokens.agent) } }), 403);
      await status(fetch(`${origin}/api/elicitation`, { headers: bearer(tokens.agent) }), 403);
      assert.equal(asAgent(node, script, origin + resolve).stdout.trim(), '401');
      assert.equal(asAgent(node, script, origin + resolve, tokens.agent).stdout.trim(), '403');
    },
    'the page, signed in with its own token': async () => {
      const agent = await new Browser(origin).signIn(tokens.agent);
      await status(agent.fetch('/api/elicitation'), 403);
      await status(agent.fetch(resolve, answer), 403);
    },
    'the page, with the cookie and the key of nobody, and from another site or port': async () => {
      for (const headers of [{ Cookie: 'nod=AAAAAAAAAAAAAAAAAAAAAA' }, { Origin: origin, 'X-Page-Key': 'A'.repeat(22) }])
        await status(fetch(origin + resolve, { ...answer, headers: { ...answer.headers, ...headers } }), 401);
      for (const site of ['cross-site', 'same-site'])
        assert.ok([401, 403].includes((await fetch(origin + resolve, { ...answer, headers: { ...answer.headers, Origin: 'http://127.0.0.1:1', 'Sec-Fetch-Site': site } })).status), site);
    },
    'a terminal': async () => {
      const { status: code, stdout } = asAgent(nod, 'inbox', origin, 'answer', question.id, '--accept', 'confirmed=true', '--token-file', secret);
      assert.notEqual(code, 0, stdout);
      assert.notEqual(asAgent(nod, 'inbox', `unix:${socket}`, 'list').status, 0);
    },
    'a link to sign in, made by itself': async () => {
      const refused = asAgent(nod, 'login', origin, '--token-file', secret);
      if (refused.status === 0) await status((await new Browser(origin).open(refused.stdout.trim())).fetch(resolve, answer), 403); // it is itself there, too
      for (const made of ['A'.repeat(22), question.id]) assert.notEqual((await fetch(`${origin}/login/${made}`, { method: 'POST', headers: { Origin: origin } })).status, 200, made);
    },
    'the Unix socket, as it is and as one that everybody may open': async () => {
      const refused = asAgent(nod, 'login', `unix:${socket}`);
      assert.deepEqual([refused.status, refused.stdout], [1, '']);
      assert.equal(run(asRoot(['chmod', '0666', socket])).status, 0);
      assert.match(asAgent(nod, 'login', `unix:${socket}`).stderr, /401: This needs a token/, 'the kernel says whose process it is');
      assert.equal(asServer(nod, 'login', `unix:${socket}`).status, 0);
    },
    'the files of the server, and its process': async () => {
      for (const file of ['var/tokens', 'var/nod.db', 'var/log']) assert.match(asAgent('cat', path.join(folder, file)).stderr, /Permission denied/, file);
      for (const file of ['environ', 'mem', 'fd/0', 'cwd/x']) assert.notEqual(asAgent('cat', `/proc/${pid}/${file}`).status, 0, file);
      assert.ok(!asAgent('cat', `/proc/${pid}/cmdline`).stdout.includes(tokens.alice), 'no token is in its command line');
      assert.notEqual(asAgent('kill', '-HUP', pid).status, 0, 'it makes it say no new link');
    },
    'another server in its place': async () => {
      assert.match(asAgent('sh', '-c', `mv ${socket} ${socket}.old`).stderr, /Permission denied|not permitted/);
      assert.match(asAgent('sh', '-c', `echo "0123456789abcdef0123 agent admin" >> ${path.join(folder, 'var/tokens')}`).stderr, /Permission denied/);
      assert.match(asAgent('sh', '-c', `cp /dev/null ${path.join(folder, 'var/nod.db')}`).stderr, /Permission denied/);
    },
    'another session of its own, and everything that can be guessed of the call': async () => {
      const peer = await new HttpPeer(server.url, { token: tokens.agent }).initialize(VIEWS);
      for (const guess of [{}, { tool: 'danger' }, { tool: 'danger', arguments: { victim: true }, requestId: 'call' }, { callId: question.id }]) {
        const id = JSON.stringify(guess);
        await peer.send({ id, method: 'tools/call', params: { name: 'nodQuestions', arguments: { ...guess, now: true } } });
        const { result } = await peer.next((one) => one.id === id, 'the list');
        assert.deepEqual(JSON.parse(textOf(result)).questions, []);
      }
      peer.close();
    },
  };
  assert.ok(Object.keys(attacks).length >= 12);
  for (const [what, attack] of Object.entries(attacks)) await t.test(what, attack);

  // None of it has counted: whatever has ended was ended by nobody. And then a person says yes.
  const ended = (await items('ended')).filter(({ answer: { action } }) => action === 'accept');
  assert.deepEqual(ended, []);
  assert.equal((await items()).find(({ id }) => id === question.id)?.state, 'pending');
  await status(person.fetch(resolve, answer), 200);
  const { result } = await victim.next((one) => one.id === 'call', 'its end');
  if (!result.structuredContent?.pending) assert.equal(textOf(result), 'yes');
  // Data is the agent's to give.
  assert.equal(await ways['form 2025'](server, tokens.agent, 'data'), 'counts');
});
