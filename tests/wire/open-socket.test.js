// The local user is who holds an open socket: the link alone lets a process of the server's own user in, and nobody else's, however
// and whenever that one closes its end. What is left of a closed socket is root's for the kernel. With NOD_SOAK=1 in full.
import test from 'node:test';
import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { connect as connectFrom } from 'node:net';
import path from 'node:path';
import { promisify } from 'node:util';
import { PATIENCE_MS, connect, environment, freePort, pause, program, startHttp, within } from './harness.js';
import { as, openCopy, openFolder, possible } from './somebody.js';
import { fillIn } from './visitor.js';
import { used } from './secrets.js';

const TRIES = process.env.NOD_SOAK === '1' ? 1000 : 100;
const [FREE, BLIND] = [45, 27]; // every way, moment and cut once; and of the ways those that read nothing
const SECRET = { MCP_ELICITATION_SECRET: 'a secret of the tests of open sockets, long enough' };
const URL_MODE = { elicitation: { url: {} } };
const [SERVER, STRANGER] = ['64123', '65534'];

// A server that another user runs: what is needed of startHttp's.
async function startAs(t, user, name, ...within_) {
  const server = openCopy(t, program(name));
  const url = `http://127.0.0.1:${await freePort()}/mcp`;
  const [command, ...args] = as(user, ...within_, server, '--http', new URL(url).host);
  const child = spawn(command, args, { env: environment(SECRET), cwd: '/', stdio: ['ignore', 'inherit', 'pipe'] });
  let said = '';
  child.stderr.on('data', (data) => (said += data));
  t.after(async () => {
    child.kill();
    const [code] = child.exitCode === null ? await once(child, 'close') : [child.exitCode];
    assert.deepEqual([code, /Sanitizer|runtime error:/.test(said)], [0, false], said);
  });
  const until = Date.now() + PATIENCE_MS;
  while (!/event=inbox /.test(said) && Date.now() < until) await pause(20);
  return { url, pid: child.pid, signal: (one) => child.kill(one), stderr: () => said };
}

const houses = {
  'a server of root': { start: (t, name) => startHttp(t, name, { env: SECRET }), user: String(process.getuid()) },
  'a server of a user of its own': { start: (t, name) => startAs(t, SERVER, name), user: SERVER },
};

async function run(user, ...command) {
  const [program_, ...args] = as(user, ...command);
  return (await within(PATIENCE_MS * 4, 'the tries', promisify(execFile)(program_, args, { cwd: '/', env: environment({}) }))).stdout;
}

// The bytes of what a page sends, as a browser on this machine would send them: to read its question, or to answer it.
const bytesOf = (link, body) => {
  const { host, origin, pathname } = new URL(link);
  const text = body && JSON.stringify(body);
  return [`${body ? `POST ${pathname}` : `GET ${pathname}/data`} HTTP/1.1`, `Host: ${host}`, ...(body ? [`Origin: ${origin}`, 'Content-Type: application/json', `Content-Length: ${Buffer.byteLength(text)}`] : []), '', text ?? ''].join('\r\n');
};

// What the stranger runs, and the file that it reads its request from.
function stranger(t) {
  const folder = openFolder(t);
  return { closes: openCopy(t, program('closes'), folder), file: path.join(folder, 'request') };
}

// Until the kernel has nothing left of the other ends but who they were connected to: none is in FIN_WAIT1 any more.
async function haveGone(port) {
  const leaving = new RegExp(`^ *\\d+: \\S+ \\S+:${Number(port).toString(16).toUpperCase().padStart(4, '0')} 04 `, 'm');
  const until = Date.now() + PATIENCE_MS;
  while (leaving.test(readFileSync('/proc/net/tcp', 'latin1')) && Date.now() < until) await pause(10);
}

const asked = async (t, server, name, tool) => {
  const session = await connect(t, 'http', name, { server, capabilities: URL_MODE });
  const call = session.text(tool);
  call.catch(() => {});
  const question = await session.question();
  question.accept();
  return { call, link: question.params.url };
};

const GIVEN = 'of the server\'s own user';
const cases = {
  pages: { tool: 'form', theirs: { city: 'Rome' }, ours: { city: 'Oslo' }, end: 'accept by local: {"city":"Oslo"}' },
  secrets: { tool: 'use', theirs: { secret: 'planted' }, ours: { secret: GIVEN }, end: used(GIVEN) },
};

for (const [house, { start, user }] of Object.entries(houses))
  for (const [name, { tool, theirs, ours, end }] of Object.entries(cases))
    test(`${house}, ${name}: nobody who closes their end is the local user`, async (t) => {
      if (!possible(t, 'to be another user')) return;
      const server = await start(t, name);
      const { call, link } = await asked(t, server, name, tool);
      const { closes, file } = stranger(t);
      const send = async (who, body, ...tries) => {
        writeFileSync(file, bytesOf(link, body));
        return [...new Set((await run(who, closes, new URL(link).port, file, ...tries)).split('\n').filter(Boolean))];
      };
      for (let tries = 0; tries < TRIES; tries += FREE + BLIND) {
        assert.deepEqual(await send(STRANGER, undefined, `${FREE}`), ['401'], 'it may not read');
        assert.deepEqual(await send(STRANGER, { action: 'accept', content: theirs }, `${FREE}`), ['401'], 'nor write');
        server.signal('SIGSTOP'); // it is busy, and looks when they have gone
        await send(STRANGER, { action: 'accept', content: theirs }, `${BLIND}`, 'blind');
        await haveGone(new URL(link).port);
        server.signal('SIGCONT');
      }
      assert.equal((await fetch(new URL('/healthz', link))).status, 200); // behind all of them
      assert.deepEqual(await send(user, undefined, '0'), ['200'], 'the local user reads it');
      assert.deepEqual(await send(user, { action: 'accept', content: ours }, '0'), ['200'], 'it has waited for the local user');
      assert.equal(await call, end);
    });

// The server has accepted, and is busy. Meanwhile the stranger sends, and goes; a socket of root's gets the same two ends.
test('whoever has the port of a connection that was reset is not who sent what was read from it', async (t) => {
  if (!possible(t, 'to be another user')) return;
  const server = await startHttp(t, 'pages', { env: SECRET });
  const { call, link } = await asked(t, server, 'pages', 'form');
  const { closes, file } = stranger(t);
  const { hostname, port } = new URL(link);
  writeFileSync(file, bytesOf(link, { action: 'accept', content: { city: 'Rome' } }));
  for (let round = 0; round < TRIES / 30; round++) {
    const from = await freePort();
    const [command, ...args] = as(STRANGER, closes, port, file, 'leave', String(from));
    const child = spawn(command, args, { cwd: '/', env: environment({}), stdio: ['pipe', 'pipe', 'inherit'] });
    const ended = once(child, 'close');
    await within(PATIENCE_MS, 'the server knows the connection', once(child.stdout, 'data'));
    server.signal('SIGSTOP');
    child.stdin.end();
    await within(PATIENCE_MS, 'the stranger has gone', ended);
    const ours = connectFrom({ host: hostname, port: Number(port), localAddress: hostname, localPort: from });
    await within(PATIENCE_MS, 'our own socket', once(ours, 'connect'));
    server.signal('SIGCONT');
    assert.equal((await fetch(new URL('/healthz', link))).status, 200);
    ours.destroy();
  }
  assert.equal((await fillIn(link, { city: 'Oslo' })).status, 200, 'it has waited for the local user');
  assert.equal(await call, 'accept by local: {"city":"Oslo"}');
});

// Whom a user namespace has no number for is nobody (65534) in it. So is a server that has no number itself.
test('a server that cannot tell users apart takes nobody for the local user', async (t) => {
  if (!possible(t, 'a user namespace', as(SERVER, 'unshare', '--user', 'true'))) return;
  const server = await startAs(t, SERVER, 'pages', 'unshare', '--user');
  const { link } = await asked(t, server, 'pages', 'form');
  const { closes, file } = stranger(t);
  writeFileSync(file, bytesOf(link));
  for (const user of [STRANGER, SERVER, '64125']) assert.equal(await run(user, closes, new URL(link).port, file, '0'), '401\n', user);
});

test('a server of root says so when it starts, and that it should not be; one of a user of its own does not', async (t) => {
  if (!possible(t, 'to be another user')) return;
  const RUNS_AS_ROOT = /level=warn event="this server runs as root: [^"]*run it as a user of its own"/;
  assert.equal(RUNS_AS_ROOT.test((await startHttp(t, 'pages', { env: SECRET })).stderr()), process.getuid() === 0);
  assert.doesNotMatch((await startAs(t, SERVER, 'pages')).stderr(), RUNS_AS_ROOT);
});
