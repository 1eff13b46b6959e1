// The units of docs/deploy.md and docs/serve.md: systemd takes them without a word, and their commands serve.
import test from 'node:test';
import assert from 'node:assert/strict';
import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { appendFileSync, chmodSync, copyFileSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import https from 'node:https';
import path from 'node:path';
import { complaints, connect, environment, freePort, pause, program, watchStderr } from '../wire/harness.js';
import { scratchFolder } from '../wire/modern.js';
import { certificate, overTls } from '../wire/tls.js';
import { blockNamed } from '../docs/pages.js';
import { blockOf, exchange } from './page.js';

const UNIT = 'One server under systemd';
const TLS = 'TLS of its own';

function verify(folder) {
  const { status, stdout, stderr } = spawnSync('systemd-analyze', ['verify', 'nod.service'],
    { env: { ...process.env, SYSTEMD_UNIT_PATH: `${folder}:` }, encoding: 'utf8' });
  return { status, said: stdout + stderr };
}

test('systemd takes the unit, and the unit with TLS, without a word', (t) => {
  const folder = scratchFolder(t);
  const ours = ['/usr/local/bin/my-server', program('delete-account')]; // systemd looks for the program
  const unit = exchange(blockOf(UNIT, 'ini'), ours);
  writeFileSync(path.join(folder, 'nod.service'), unit);
  assert.deepEqual(verify(folder), { status: 0, said: '' });

  mkdirSync(path.join(folder, 'nod.service.d'));
  writeFileSync(path.join(folder, 'nod.service.d/tls.conf'), exchange(blockOf(TLS, 'ini'), ours));
  assert.deepEqual(verify(folder), { status: 0, said: '' });

  // That it would say something.
  writeFileSync(path.join(folder, 'nod.service.d/tls.conf'), blockOf(TLS, 'ini'));
  assert.match(verify(folder).said, /my-server is not executable/);
  writeFileSync(path.join(folder, 'nod.service.d/tls.conf'), '[Service]\nRestartSecond=1\n');
  assert.match(verify(folder).said, /Unknown key.* 'RestartSecond'/);
});

test('systemd takes the units of nod serve without a word: for a machine, and for a user', (t) => {
  const folder = scratchFolder(t);
  const nod = program('nod');
  writeFileSync(path.join(folder, 'nod.service'), exchange(blockOf(UNIT, 'ini'), ['/usr/local/bin/my-server', nod]));
  mkdirSync(path.join(folder, 'nod.service.d'));
  const drop = blockNamed('docs/serve.md', 'unit-serve');
  assert.ok(drop.includes('/usr/local/bin/nod serve'));
  writeFileSync(path.join(folder, 'nod.service.d/serve.conf'), drop.replace('/usr/local/bin/nod', nod));
  assert.deepEqual(verify(folder), { status: 0, said: '' });

  const user = scratchFolder(t);
  const own = blockNamed('docs/serve.md', 'unit-user');
  assert.ok(own.includes('%h/.local/bin/nod serve'));
  writeFileSync(path.join(user, 'nod.service'), own.replace('%h/.local/bin/nod', nod));
  assert.deepEqual(verify(user), { status: 0, said: '' });
});

const MOST_EXPOSED = 3.0;

test(`systemd says that the unit, and the unit with TLS, are exposed by ${MOST_EXPOSED} at most`, (t) => {
  const folder = scratchFolder(t);
  const ours = ['/usr/local/bin/my-server', program('delete-account')];
  const unit = exchange(blockOf(UNIT, 'ini'), ours);
  const tls = exchange(blockOf(TLS, 'ini'), ours, ['[Service]\n', '']);
  const exposed = (text) => {
    writeFileSync(path.join(folder, 'nod.service'), text);
    const said = execFileSync('systemd-analyze', ['security', '--offline=true', '--no-pager', path.join(folder, 'nod.service')], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] });
    return Number(/Overall exposure level for nod\.service: ([\d.]+)/.exec(said)[1]);
  };
  const alone = exposed(unit);
  t.diagnostic(`exposed by ${alone}, with TLS by ${exposed(exchange(unit, ['[Install]', `${tls}[Install]`]))}`);
  assert.ok(alone <= MOST_EXPOSED, `${alone}`);
  assert.ok(exposed(exchange(unit, ['[Install]', `${tls}[Install]`])) <= MOST_EXPOSED);
  assert.equal(Number(/says ([\d.]+)\./.exec(unit)[1]), alone, 'the comment of the unit');
  assert.match(unit, /^UMask=0077$/m);
});

// The names that SystemCallFilter= allows, and their numbers on this machine.
function allowed(unit) {
  const names = new Set();
  const groups = (group) => execFileSync('systemd-analyze', ['syscall-filter', '--no-pager', group], { encoding: 'utf8' }).split('\n').slice(1).map((line) => line.trim()).filter((line) => line && !line.startsWith('#'));
  const each = (word, use) => (word.startsWith('@') ? groups(word).forEach((inner) => each(inner, use)) : use(word));
  for (const [, not, words] of unit.matchAll(/^SystemCallFilter=(~?)(.+)$/gm))
    for (const word of words.split(' ')) each(word, (name) => (not ? names.delete(name) : names.add(name)));
  each('@default', (name) => names.add(name)); // which systemd always allows
  const defined = execFileSync('cc', ['-dM', '-E', '-include', 'sys/syscall.h', '-'], { input: '', encoding: 'utf8' });
  const values = new Map([...defined.matchAll(/^#define (__NR\w+) (\w+)$/gm)].map(([, name, value]) => [name, value]));
  const number = (value) => (values.has(value) ? number(values.get(value)) : value); // some are defined by others: __NR3264_mmap
  return [...names].map((name) => number(`__NR_${name}`)).filter((value) => /^\d+$/.test(value));
}

test('with the system calls of the unit alone, and its umask, the server does all its work', async (t) => {
  // Leaks are looked for with ptrace, which no server needs.
  const made = { ...prepared(t), env: { ASAN_OPTIONS: `${process.env.ASAN_OPTIONS ?? ''}:detect_leaks=0` } };
  const port = await freePort();
  const unit = blockOf(UNIT, 'ini');
  const numbers = allowed(unit);
  const confined = path.join(process.env.NOD_BIN_DIR, 'tests/deploy/confined');
  assert.match(spawnSync(confined, [numbers.join(','), '/bin/chown', String(process.getuid()), made.folder], { encoding: 'utf8', env: { LC_ALL: 'C' } }).stderr, /Operation not permitted/, 'the filter filters');
  assert.ok(numbers.length > 150 && numbers.length < 350, `${numbers.length} calls`);
  const server = await execStart(t, unit, made, ['127.0.0.1:8080', `127.0.0.1:${port}`], [program('delete-account'), [confined, numbers.join(','), program('probe')].join(' ')]);
  const at = (where) => `http://127.0.0.1:${port}${where}`;
  const session = await connect(t, 'http', 'probe', { server: { url: at('/mcp'), stderr: () => server.stderr }, token: made.token, answer: () => ({ action: 'accept', content: { word: 'x' } }) });
  assert.equal(await session.text('three'), 'x x x');
  assert.equal(await session.text('three_blocking'), 'x x x', 'also on threads of its own');
  assert.equal((await fetch(at('/metrics'), { headers: { Authorization: `Bearer ${made.token}` } })).status, 200);
  reload(server);
  await server.lines.next((line) => /token file was read again/.test(line), 'the tokens are read again');
  assert.equal(statSync(path.join(made.folder, 'nod.db')).mode & 0o077, 0, 'the file is for nobody else');
  await server.end();
  assert.doesNotMatch(server.stderr, /level=error|not permitted/i);
});

// What the unit's command needs, made by the commands of the page in another place; making the user is for root alone,
// and is done in a clean Debian by tests/deploy/container.test.js.
function prepared(t) {
  const folder = scratchFolder(t);
  const script = exchange(blockOf(UNIT, 'sh'), ['useradd --system --home-dir /var/lib/nod --shell /usr/sbin/nologin nod\n', ''],
    ['chown nod: /etc/nod/tokens\n', ''], ['/etc/nod', path.join(folder, 'etc')]);
  execFileSync('sh', ['-e', '-c', script]);
  const [, secret] = /^MCP_ELICITATION_SECRET=(\w{64})\n$/.exec(readFileSync(path.join(folder, 'etc/environment'), 'utf8'));
  const [token, name, role] = readFileSync(path.join(folder, 'etc/tokens'), 'utf8').trim().split(' ');
  assert.deepEqual([name, role], ['alice', 'admin']);
  for (const file of ['environment', 'tokens']) assert.equal(statSync(path.join(folder, 'etc', file)).mode & 0o077, 0, `${file} is for nobody else`);
  return { folder, secret, token };
}

// Starts what stands behind ExecStart= as systemd would, with the page's paths below `folder`.
async function execStart(t, unit, { folder, secret, env = {} }, ...pairs) {
  const commands = unit.match(/^ExecStart=.+$/gm);
  const [command, ...args] = exchange(commands.at(-1).slice('ExecStart='.length), ['/usr/local/bin/my-server', program('delete-account')],
    ['/etc/nod', path.join(folder, 'etc')], ['/var/lib/nod', folder], ...pairs).split(' ');
  const child = spawn(command, args, { env: environment({ MCP_ELICITATION_SECRET: secret, ...env }), stdio: ['ignore', 'inherit', 'pipe'] });
  const server = watchStderr('my-server', child.stderr).follow(child);
  let stopped;
  server.end = (signal) => (stopped ??= server.stop(signal));
  t.after(() => server.end());
  await server.lines.next((line) => /listening/.test(line), 'it listens');
  assert.deepEqual(complaints(server.stderr), []);
  return server;
}

// What stands behind ExecReload=.
function reload(server) {
  const command = /^ExecReload=(.+)$/m.exec(blockOf(UNIT, 'ini'))[1];
  execFileSync('sh', ['-c', exchange(command, ['$MAINPID', String(server.child.pid)])]);
}

test('the command of the unit serves whom the page gave a token, and the reload takes new tokens', async (t) => {
  const made = prepared(t);
  const port = await freePort();
  const server = await execStart(t, blockOf(UNIT, 'ini'), made, ['127.0.0.1:8080', `127.0.0.1:${port}`]);
  const at = (where) => `http://127.0.0.1:${port}${where}`;
  assert.equal((await fetch(at('/readyz'))).status, 200);
  const session = await connect(t, 'http', 'delete-account', { server: { url: at('/mcp'), stderr: () => server.stderr }, token: made.token });
  const call = session.text('delete_account', { userId: 'ada' });
  const question = await session.question();

  const other = { Authorization: 'Bearer a-token-that-came-later-0123456789' };
  assert.equal((await fetch(at('/mcp'), { method: 'POST', headers: other })).status, 401);
  appendFileSync(path.join(made.folder, 'etc/tokens'), 'a-token-that-came-later-0123456789 bob\n');
  reload(server);
  while ((await fetch(at('/mcp'), { method: 'POST', headers: other })).status === 401) await pause(20);
  question.accept({ confirmed: true });
  assert.equal(await call, 'Deleted ada.', 'what waited was not touched');
});

test('the command of the unit with TLS serves, and the reload takes a new certificate', async (t) => {
  const made = prepared(t);
  const etc = path.join(made.folder, 'etc');
  const [first, next] = ['tls', 'next'].map((name) => certificate(etc, name));
  const ca = [first.ca, next.ca];
  const port = await freePort();
  const server = await execStart(t, blockOf(TLS, 'ini'), made, ['0.0.0.0:443', `127.0.0.1:${port}`]);
  const agent = new https.Agent({ ca });
  t.after(() => agent.destroy());
  const session = await connect(t, 'http', 'delete-account', { server: { url: `https://127.0.0.1:${port}/mcp`, stderr: () => server.stderr },
    token: made.token, fetch: overTls(ca, agent) });
  const call = session.text('delete_account', { userId: 'ada' });
  const question = await session.question();

  copyFileSync(next.cert, first.cert);
  copyFileSync(next.key, first.key);
  reload(server);
  await server.lines.next((line) => /the certificate was read anew/.test(line), 'the certificate is read anew');
  question.accept({ confirmed: true });
  assert.equal(await call, 'Deleted ada.', 'what waited was not touched');
});

test('the command of the unit of nod serve, with the folders and the system calls of the unit, serves a plugin, and the reload takes another', async (t) => {
  const made = prepared(t);
  const at = (name) => path.join(made.folder, name);
  const port = await freePort();
  const object = (name) => copyFileSync(path.join(process.env.NOD_BIN_DIR, `tests/wire/plugins/${name}.so`), at('steady.so'));
  object('steady-1');
  chmodSync(at('steady.so'), 0o755);
  writeFileSync(at('etc/nod.ini'), `[server]\nhttp = 127.0.0.1:${port}\nplugin = ${at('steady.so')}\n`);
  const [, command] = blockNamed('docs/serve.md', 'unit-serve').match(/^ExecStart=(.+)$/m);
  const [nod, ...args] = exchange(command, ['/etc/nod', at('etc')]).split(' ');
  assert.equal(nod, '/usr/local/bin/nod');
  const confined = path.join(process.env.NOD_BIN_DIR, 'tests/deploy/confined');
  const child = spawn(confined, [allowed(blockOf(UNIT, 'ini')).join(','), program('nod'), ...args], {
    env: environment({ ASAN_OPTIONS: `${process.env.ASAN_OPTIONS ?? ''}:detect_leaks=0`, MCP_ELICITATION_SECRET: made.secret, HOME: made.folder,
      CONFIGURATION_DIRECTORY: at('etc'), STATE_DIRECTORY: made.folder, RUNTIME_DIRECTORY: made.folder }),
    stdio: ['ignore', 'inherit', 'pipe'],
  });
  const server = watchStderr('nod serve', child.stderr).follow(child);
  let stopped;
  const end = () => (stopped ??= server.stop());
  t.after(end);
  await server.lines.next((line) => /url=unix:/.test(line), 'it listens');
  const session = await connect(t, 'http', 'nod', { server: { url: `http://127.0.0.1:${port}/mcp`, stderr: () => server.stderr }, token: made.token });
  const made_by = async () => (await session.client.callTool({ name: 'steady.plain', arguments: { what: 'tea' } })).content[0].text;
  assert.equal(await made_by(), 'one: tea');
  object('steady-2');
  reload(server);
  await server.lines.next((line) => /event="a plugin was replaced"/.test(line), 'the plugin is replaced');
  assert.equal(await made_by(), 'two: tea');
  for (const name of ['nod.db', 'nod.sock']) assert.equal(statSync(at(name)).mode & 0o077, 0, `${name} is for nobody else`);
  await end();
  assert.deepEqual(complaints(server.stderr), []);
});
