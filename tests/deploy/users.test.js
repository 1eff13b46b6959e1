// The recipe of docs/security.md against an agent on the same machine: the server runs as one user, the agent as another. The agent
// calls tools and can neither see nor answer what they ask; a person can. It takes root (or sudo), to be two users; they are numbers,
// and no user is made.
import test from 'node:test';
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { chmodSync, copyFileSync } from 'node:fs';
import path from 'node:path';
import { connect, environment, freePort, pause, program, within, PATIENCE_MS } from '../wire/harness.js';
import { scratchFolder } from '../wire/modern.js';
import { Browser, bearer } from '../wire/credentials.js';
import { blockNamed } from '../docs/pages.js';
import { exchange } from './page.js';

const [SERVER, AGENT] = ['64123', '64124'];
const asRoot = (command) => (process.getuid() === 0 ? command : ['sudo', '-n', '--preserve-env', ...command]);
const as = (user, ...command) => asRoot(['setpriv', '--reuid', user, '--regid', user, '--clear-groups', ...command]);

function run([command, ...args]) {
  const { status, stdout, stderr } = spawnSync(command, args, { encoding: 'utf8', env: environment({}) });
  return { status, stdout, stderr };
}

// Starts what the page says, below a folder of ours and as a user without a name.
async function startAsThePage(t) {
  const folder = scratchFolder(t);
  const port = await freePort();
  chmodSync(folder, 0o755);
  for (const [name, file] of [['probe', 'my-server'], ['nod', 'nod']]) {
    copyFileSync(program(name), path.join(folder, file));
    chmodSync(path.join(folder, file), 0o755);
  }
  const script = exchange(blockNamed('docs/security.md', 'another-user'), ['useradd --system --home-dir /var/lib/nod --shell /usr/sbin/nologin nod\n', ''],
    ['-o nod ', `-o ${SERVER} `], ['--reuid nod --regid nod', `--reuid ${SERVER} --regid ${SERVER}`], ['/usr/local/bin', folder], ['/var/lib/nod', path.join(folder, 'var')],
    ['/run/nod', path.join(folder, 'run')], ['8080', String(port)]);
  const [command, ...args] = asRoot(['sh', '-ec', `${script}echo $!; wait`]);
  const child = spawn(command, args, { env: environment({}), stdio: ['ignore', 'pipe', 'inherit'] });
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

test('an agent under another user calls tools, and neither sees nor answers what they ask', async (t) => {
  const { folder, pid, tokens, origin, socket } = await startAsThePage(t);
  const session = await connect(t, 'http', 'probe', { url: `${origin}/mcp`, token: tokens.agent, capabilities: {} });
  const call = session.text('confirm');

  // The server's own user can do everything: that is what the page says, and why there are two.
  const link = run(as(SERVER, path.join(folder, 'nod'), 'login', `unix:${socket}`));
  assert.equal(link.status, 0, link.stderr);
  assert.equal(run(as(SERVER, 'cat', path.join(folder, 'var/tokens'))).status, 0);

  // The agent's user can do none of it.
  for (const file of ['var/tokens', 'var/nod.db', 'var/log']) assert.match(run(as(AGENT, 'cat', path.join(folder, file))).stderr, /Permission denied/);
  for (const file of ['environ', 'mem']) assert.match(run(as(AGENT, 'cat', `/proc/${pid}/${file}`)).stderr, /Permission denied/);
  const refused = run(as(AGENT, path.join(folder, 'nod'), 'login', `unix:${socket}`));
  assert.deepEqual([refused.status, refused.stdout], [1, '']);
  assert.equal(run(asRoot(['chmod', '0666', socket])).status, 0);
  assert.match(run(as(AGENT, path.join(folder, 'nod'), 'login', `unix:${socket}`)).stderr, /401: This needs a token/, 'the kernel says whose process it is');
  assert.equal(run(as(SERVER, path.join(folder, 'nod'), 'login', `unix:${socket}`)).status, 0);

  // With its token it is who it is: it sees nothing.
  assert.equal((await fetch(`${origin}/api/elicitation`)).status, 401);
  assert.equal((await fetch(`${origin}/api/elicitation`, { headers: bearer(tokens.agent) })).status, 403);
  const agent = await new Browser(origin).signIn(tokens.agent);
  assert.equal((await agent.fetch('/api/elicitation')).status, 403);

  // A person sees it, and answers.
  const person = await new Browser(origin).open(link.stdout.trim(), '/api/me');
  let items = [];
  for (const until = Date.now() + PATIENCE_MS; !items.length && Date.now() < until; await pause(50)) ({ items } = await (await person.fetch('/api/elicitation')).json());
  assert.equal(items.length, 1);
  const answer = { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify({ action: 'accept', content: {} }) };
  const stolen = await agent.learn('/api/me').then(() => agent.fetch(`/api/elicitation/${items[0].id}/resolve`, answer));
  assert.equal(stolen.status, 403);
  assert.equal((await person.fetch(`/api/elicitation/${items[0].id}/resolve`, answer)).status, 200);
  assert.equal(await call, 'yes');
});
