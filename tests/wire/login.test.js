// Where the inbox is, whether it is on, and how it is opened: by the link of the start, and by `nod login`.
import test from 'node:test';
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import http from 'node:http';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { environment, freePort, pause, program, runOnce, startHttp, watchStderr, within, PATIENCE_MS } from './harness.js';
import { certificate, fetchOver, overTls } from './tls.js';
import { Browser, PEOPLE, tokenFile } from './credentials.js';

const scripts = path.join(import.meta.dirname, '../../scripts');

function folder(t) {
  const name = mkdtempSync(path.join(tmpdir(), 'nod-login-'));
  t.after(() => rmSync(name, { recursive: true, force: true }));
  return name;
}

// A server on stdio whose client says nothing; resolves to what it logs.
async function startStdio(t, args) {
  const child = spawn(program('probe'), args, { env: environment({}), stdio: ['pipe', 'pipe', 'pipe'] });
  const watched = watchStderr('probe', child.stderr).follow(child);
  t.after(async () => {
    child.stdin.end();
    await watched.stop(null);
  });
  const said = (wanted) => watched.lines.next((line) => wanted.test(line), `a line like ${wanted}`);
  const initialize = { id: 1, method: 'initialize', params: { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 't', version: '1' } } };
  const send = (message) => child.stdin.write(JSON.stringify({ jsonrpc: '2.0', ...message }) + '\n');
  const next = async () => JSON.parse((await within(PATIENCE_MS, 'an answer', once(child.stdout, 'data')))[0]);
  const answered = () => {
    const reply = next();
    send(initialize);
    return reply;
  };
  return { said, answered, send, next, stderr: () => watched.stderr };
}

const linkIn = (line) => /url="?(http[^\s"]+)/.exec(line)[1];

test('a server on stdio has it where --inbox says, beside its client', async (t) => {
  const server = await startStdio(t, ['--inbox', '127.0.0.1:0']);
  const link = linkIn(await server.said(/event=inbox /));
  const browser = await new Browser(link).open(link);
  assert.equal((await (await browser.fetch('/api/me')).json()).principal, 'local');
  assert.equal((await fetch(new URL('/mcp', link), { method: 'POST', body: '{}' })).status, 404, 'its client is on stdio');
  assert.equal((await server.answered()).result.serverInfo.name, 'probe');
});

test('the page answers for a client on stdio that cannot ask', async (t) => {
  const server = await startStdio(t, ['--inbox', '127.0.0.1:0']);
  const link = linkIn(await server.said(/event=inbox /));
  const browser = await new Browser(link).open(link);
  await server.answered();
  server.send({ method: 'notifications/initialized' });
  const result = server.next();
  server.send({ id: 2, method: 'tools/call', params: { name: 'ask', arguments: { message: 'Who?' } } });
  let items = [];
  for (const until = Date.now() + PATIENCE_MS; !items.length && Date.now() < until; await pause(20)) ({ items } = await (await browser.fetch('/api/elicitation')).json());
  assert.deepEqual(items.map(({ message, principal }) => [message, principal]), [['Who?', 'local']]);
  const taken = await browser.fetch(`/api/elicitation/${items[0].id}/resolve`, {
    method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify({ action: 'accept', content: { name: 'Ada' } }),
  });
  assert.equal(taken.status, 200);
  assert.equal((await result).result.content[0].text, 'accept {"name":"Ada"}');
});

test('a taken port is said, and a server on stdio goes on without', async (t) => {
  const other = createServer().listen(0, '127.0.0.1');
  await once(other, 'listening');
  t.after(() => other.close());
  const server = await startStdio(t, ['--inbox', `127.0.0.1:${other.address().port}`]);
  await server.said(/the inbox cannot be opened at this address; the server goes on without it.*why="the address is taken by another program"/);
  assert.ok((await server.answered()).result);
  assert.doesNotMatch(server.stderr(), /event=inbox/);
});

test('on a Unix socket alone there is no link to follow; the log says where the socket is', async (t) => {
  const socket = path.join(folder(t), 'nod.sock');
  const server = await startStdio(t, ['--inbox', `unix:${socket}`]);
  assert.match(await server.said(/event=inbox /), new RegExp(`url=unix:${socket} sign_in="over the socket, as this user"`));
});

test('--no-inbox: nothing is there, and no link is made', async (t) => {
  const server = await startHttp(t, 'probe', { args: ['--no-inbox'] });
  for (const name of ['/api/me', '/login/AAAAAAAAAAAAAAAAAAAAAA', '/login', '/'])
    assert.equal((await fetch(new URL(name, server.url))).status, 404, name);
  assert.equal((await fetch(new URL('/api/login', server.url), { method: 'POST' })).status, 404);
  await server.stop();
  assert.doesNotMatch(server.stderr(), /event=inbox/);
});

test('options that do not go together are refused', async () => {
  for (const [args, why] of [
    [['--inbox', '127.0.0.1:0', '--http', '127.0.0.1:0'], /--inbox is for a server on standard input and output/],
    [['--inbox', '127.0.0.1:0', '--no-inbox'], /do not go together/],
    [['--inbox', 'nowhere'], /--inbox takes HOST:PORT, a PORT alone \(0 to 65535\), or unix:PATH/],
    [['--no-inbox=1'], /takes no value/],
  ]) {
    const { code, stderr } = await runOnce('probe', args);
    assert.equal(code, 2);
    assert.match(stderr, why);
  }
});

// As a browser asks that takes localhost for the address of the server.
function named(server, name, { method = 'GET', path: where = '/login', headers = {} } = {}) {
  const { hostname, port } = new URL(server.url);
  const origin = `http://${name}:${port}`;
  const send = fetchOver(http.request, { hostname: hostname.replace(/^\[|\]$/g, ''), port });
  return send(`${origin}${where}`, { method, headers: { Host: `${name}:${port}`, Accept: 'text/html', ...(method === 'POST' && { Origin: origin }), ...headers } });
}

test('under the name localhost nobody signs in, unless both of its addresses are the server’s: people are led to its address', async (t) => {
  const { token } = PEOPLE.answer;
  const tokens = ['--token-file', tokenFile(t)];
  for (const [host, address] of [['127.0.0.1', '127.0.0.1'], ['[::1]', '[::1]']]) {
    const server = await startHttp(t, 'probe', { host, args: tokens });
    const { port } = new URL(server.url);
    for (const where of ['/', '/login?next=%2Fhistory', '/ask/x', '/login/pb0S4eGzVYb4cN1m0v2TbA']) {
      const reply = await named(server, 'LocalHost', { path: where });
      assert.deepEqual([reply.status, reply.headers.get('location'), reply.headers.get('cache-control')], [307, `http://${address}:${port}${where}`, 'no-store']);
    }
    const login = (name) => named(server, name, { method: 'POST', path: '/api/login', headers: { Accept: '*/*', Authorization: `Bearer ${token}` } });
    const refused = await login('localhost');
    assert.deepEqual([refused.status, refused.headers.get('set-cookie')], [403, null]);
    assert.match((await refused.json()).detail, new RegExp(`^As localhost this server could be taken .*; use http://${address.replace(/[[\]]/g, '\\$&')}:${port} instead\\.$`));
    const taken = await login(host);
    const { key } = await taken.json();
    const both = { Accept: '*/*', Cookie: taken.headers.get('set-cookie').split(';')[0], 'X-Page-Key': key };
    const me = async (name, headers) => (await named(server, name, { path: '/api/me', headers: { Accept: '*/*', ...headers } })).status;
    assert.deepEqual([await me(host, both), await me('localhost', both)], [200, 403]);
    assert.equal(await me('localhost', { Authorization: `Bearer ${token}` }), 200, 'a program with its token keeps nothing');
    assert.equal(await me('localhost', { ...both, 'X-Forwarded-For': '127.0.0.1' }), 200, 'a proxy calls it what it likes');
  }
});

test('a port that is forwarded from localhost leads to the same port of 127.0.0.1', async (t) => {
  const server = await startHttp(t, 'probe', { host: 'localhost' });
  const reply = await named(server, 'localhost', { headers: { Host: 'localhost:9000' } });
  assert.deepEqual([reply.status, reply.headers.get('location')], [307, 'http://127.0.0.1:9000/login']);
});

test('localhost is a name of the server if it has both addresses, or was told to answer to it', async (t) => {
  const port = await freePort();
  for (const [host, more] of [['localhost', []], ['127.0.0.1', ['--http', `[::1]:${port}`]], ['127.0.0.1', ['--allow-host', 'localhost']]]) {
    const server = await startHttp(t, 'probe', { host, port, args: more });
    assert.equal(new URL(linkIn(await server.said(/event=inbox /))).hostname, host);
    assert.equal((await named(server, 'localhost')).status, 200, host + more);
    await server.stop();
  }
});

test('where other machines reach it, it is on only with TLS or an https address', async (t) => {
  const tokens = ['--token-file', tokenFile(t)];
  const { cert, key } = certificate(folder(t), 'nod');
  for (const [args, on] of [[[], false], [['--public-url', 'http://nod.example'], false], [['--public-url', 'https://nod.example'], true], [['--tls-cert', cert, '--tls-key', key], true]]) {
    const server = await startHttp(t, 'probe', { args: ['--http', '0.0.0.0:0', ...tokens, ...args] });
    if (on) await server.said(/event=inbox /);
    await server.stop();
    assert.equal(/the inbox is off: other machines reach this address/.test(server.stderr()), !on, args.join(' '));
    assert.equal(/event=inbox /.test(server.stderr()), on);
  }
});

test('where other machines reach it and nobody has said under which name, it says at start that links lead to this machine only', async (t) => {
  const args = ['--token-file', tokenFile(t)];
  const { cert, key } = certificate(folder(t), 'nod');
  const tls = ['--tls-cert', cert, '--tls-key', key];
  for (const [host, more, here] of [
    ['0.0.0.0', tls, true], ['127.0.0.1', [...tls, '--http', '0.0.0.0:0'], true], ['[::]', tls, true],
    ['0.0.0.0', [...tls, '--public-url', 'https://nod.example'], false], ['127.0.0.1', tls, false], ['127.0.0.1', [], false],
  ]) {
    const server = await startHttp(t, 'probe', { host, args: [...args, ...more] });
    await server.said(/event=inbox /);
    await server.stop();
    assert.equal(/links to this server lead to this machine only[^]*--public-url[^]*links=https:\/\/(localhost|127\.0\.0\.1):\d+\//.test(server.stderr()), here, `${host} ${more.join(' ')}\n${server.stderr()}`);
  }
});

test('over TLS the cookie is Secure and of this host alone', async (t) => {
  const { cert, key, ca } = certificate(folder(t), 'nod');
  const server = await startHttp(t, 'probe', { args: ['--tls-cert', cert, '--tls-key', key] });
  const link = linkIn(await server.said(/event=inbox /));
  const reply = await overTls(ca)(link, { method: 'POST', headers: { Origin: new URL(link).origin } });
  assert.equal(reply.status, 200);
  assert.match(reply.headers.get('set-cookie'), new RegExp(`^__Host-nod-${new URL(link).port}=[\\w-]{22}; Path=/; Max-Age=43200; HttpOnly; SameSite=Strict; Secure$`));
});

const login = (args, env) => runOnce('nod', ['login', ...args], env);

test('nod login: a link over the Unix socket, with a token, and over TLS; each opens it once', async (t) => {
  const dir = folder(t);
  const socket = path.join(dir, 'nod.sock');
  const { cert, key } = certificate(dir, 'nod');
  const own = path.join(dir, 'own-token');
  writeFileSync(own, `${PEOPLE.other.token}\n`);
  const server = await startHttp(t, 'probe', { args: ['--http', `unix:${socket}`, '--token-file', tokenFile(t)] });
  const origin = new URL(server.url).origin;
  for (const [args, env, who] of [
    [[`unix:${socket}`], {}, 'local'],
    [[`unix:${socket}`, '--token-file', own], {}, 'bob'],
    [[origin, '--token-file', own], {}, 'bob'],
    [[`${origin}/`], { NOD_TOKEN: PEOPLE.answer.token }, 'ada'],
  ]) {
    const { code, stdout, stderr } = await login(args, env);
    assert.equal(code, 0, stderr);
    assert.match(stdout, /^http:\/\/127\.0\.0\.1:\d+\/login\/[\w-]{22}\n$/);
    const browser = await new Browser(server.url).open(stdout.trim());
    assert.equal((await (await browser.fetch('/api/me')).json()).principal, who);
  }
  const secure = await startHttp(t, 'probe', { args: ['--tls-cert', cert, '--tls-key', key, '--token-file', tokenFile(t)] });
  const at = new URL(secure.url).origin;
  assert.match((await login([at, '--ca-file', cert, '--token-file', own])).stdout, /^https:/);
  const unknown = await login([at, '--token-file', own]);
  assert.deepEqual([unknown.code, unknown.stdout], [1, '']);
  assert.match(unknown.stderr, /certificate/);
});

test('nod login says what is wrong', async (t) => {
  const dir = folder(t);
  const empty = path.join(dir, 'empty');
  writeFileSync(empty, '\n');
  const server = await startHttp(t, 'probe', { args: ['--token-file', tokenFile(t)] });
  const off = await startHttp(t, 'probe', { args: ['--no-inbox', '--token-file', tokenFile(t)] });
  const wrong = { NOD_TOKEN: 'wrong-token-0123456789' };
  for (const [args, env, code, why] of [
    [['a', 'b'], {}, 2, /one address too many/],
    [['a'], {}, 2, /a is no address of a server/],
    [['--loud'], {}, 2, /--loud is not an option/],
    [[server.url.replace('/mcp', ''), '--token-file'], {}, 2, /needs a value/],
    [[`127.0.0.1:${await freePort()}`], {}, 1, /cannot be reached: nothing listens there \(connection refused\)/],
    [[`unix:${path.join(dir, 'none.sock')}`], {}, 1, /none\.sock cannot be reached: there is no such socket/],
    [[new URL(server.url).origin], {}, 1, /401: This needs a token /],
    [[new URL(server.url).origin], wrong, 1, /401: it does not know the token of NOD_TOKEN/],
    [[new URL(server.url).origin, '--token-file', empty], {}, 1, /there is no token in it/],
    [[new URL(server.url).origin, '--token-file', path.join(dir, 'none')], {}, 1, /cannot be read/],
    [[new URL(off.url).origin], { NOD_TOKEN: PEOPLE.admin.token }, 1, /404: it has no inbox/],
  ]) {
    const seen = await login(args, env);
    assert.equal(seen.code, code, seen.stderr);
    assert.match(seen.stderr, why);
    assert.equal(seen.stdout, '');
  }
});

test('make run prints the link first, in words', async (t) => {
  const address = `127.0.0.1:${await freePort()}`;
  const child = spawn(path.join(scripts, 'run'), [program('delete-account'), address], { env: environment({}), stdio: ['ignore', 'pipe', 'pipe'] });
  const watched = watchStderr('run', child.stdout).follow(child);
  t.after(() => watched.stop());
  await watched.lines.next((line) => /^delete-account listens/.test(line), 'what to do next');
  const [, words, link] = watched.stderr.split('\n');
  assert.match(words, /^Open this in a browser \(it works once, within ten minutes\)/);
  await new Browser(link.trim()).open(link.trim());
  // It is used up, or lost: what is printed makes another.
  const [, command, socket] = /^If it is lost: (\S+) login (unix:\S+)$/m.exec(watched.stderr);
  assert.equal(command, program('nod'));
  const again = await login([socket]);
  await new Browser(link.trim()).open(again.stdout.trim());
  assert.match(watched.stderr, new RegExp(`answer in a terminal: ${command} inbox ${socket}$`, 'm'));
});

test('a lost link: SIGHUP logs another one, and what is refused says what this very server offers', async (t) => {
  const socket = path.join(folder(t), 'nod.sock');
  for (const [args, offers] of [
    [[], /SIGHUP/],
    [['--http', `unix:${socket}`], /`nod login unix:PATH`/],
    [['--token-file', tokenFile(t)], /with a token/],
  ]) {
    const server = await startHttp(t, 'probe', { args });
    const origin = new URL(server.url).origin;
    const says = async (where) => (await (await fetch(origin + where, { redirect: 'manual' })).json()).detail;
    assert.match(await says('/login/AAAAAAAAAAAAAAAAAAAAAA'), offers);
    assert.match(await says('/api/me'), args[0] === '--token-file' ? /This needs a token from the operator's token file/ : offers);
    const page = (await (await fetch(`${origin}/login`)).text()).replace(/<[^>]*hidden[^>]*>[^]*?<\/(p|form)>/g, '').replace(/<\/?code>/g, '`');
    assert.match(page, offers);
    for (const other of [/SIGHUP/, /unix:PATH/, /with a token/].filter((one) => one.source !== offers.source && !offers.source.includes(one.source))) assert.doesNotMatch(page, other);
    if (args[0] !== '--token-file') {
      const first = linkIn(await server.said(/event=inbox /));
      server.signal('SIGHUP');
      await within(PATIENCE_MS, 'another link', (async () => {
        while (server.stderr().match(/event=inbox url=/g).length < 2) await pause(10);
      })());
      const link = server.stderr().match(/\S+\/login\/[\w-]{22}/g).at(-1).replace(/^.*url=/, '');
      assert.notEqual(link, first);
      await new Browser(link).open(link);
    }
    await server.stop();
  }
});
