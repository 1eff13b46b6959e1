// The front door: the addresses that a server listens on, and who gets in through which.
import test from 'node:test';
import assert from 'node:assert/strict';
import http from 'node:http';
import net from 'node:net';
import https from 'node:https';
import tls from 'node:tls';
import { copyFileSync, existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { once } from 'node:events';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { connect, defaultHeaders, initializeMessage, runOnce, startHttp } from './harness.js';
import { certificate, fetchOver, overTls } from './tls.js';

const ADA = 'ada-token-0123456789abcdef';
const BOB = 'bob-token-0123456789abcdef';
const ROOT = 'root-token-0123456789abcdef';
const bearer = (token) => ({ Authorization: `Bearer ${token}` });

function folder(t) {
  const name = mkdtempSync(path.join(tmpdir(), 'nod-front-'));
  t.after(() => rmSync(name, { recursive: true, force: true }));
  return name;
}

function tokenFile(t, text = `${ADA} ada\n`) {
  const file = path.join(folder(t), 'tokens');
  writeFileSync(file, text, { mode: 0o600 });
  return file;
}

const overSocket = (socketPath) => fetchOver(http.request, { socketPath });

async function whoami(t, server, options) {
  const session = await connect(t, 'http', 'probe', { server, ...options });
  return session.text('whoami');
}

test('one server listens on two ports and a Unix socket at once, and a call is asked over each', async (t) => {
  const socket = path.join(folder(t), 'nod.sock');
  const server = await startHttp(t, 'probe', { args: ['--http', '127.0.0.1:0', '--http', `unix:${socket}`] });
  const second = /url="?(http[^\s"]+)/.exec(await server.said(/listening.*http/))[1];
  await server.said(/listening.*unix:/);
  assert.notEqual(second, server.url);
  for (const options of [{}, { url: second }, { url: 'http://localhost/mcp', fetch: overSocket(socket) }]) {
    const session = await connect(t, 'http', 'probe', { server, ...options });
    const asked = session.text('ask', { message: 'Who?' });
    (await session.question()).accept({ name: 'Ada' });
    assert.equal(await asked, 'accept {"name":"Ada"}');
  }
  await server.stop();
  assert.ok(!existsSync(socket), 'the socket goes with the server');
});

test('a Unix socket is of this user alone, who needs no token there and may still use one', async (t) => {
  const socket = path.join(folder(t), 'nod.sock');
  const server = await startHttp(t, 'probe', { args: ['--http', `unix:${socket}`, '--token-file', tokenFile(t)] });
  const url = 'http://localhost/mcp';
  await server.said(/listening.*unix:/);
  assert.equal(statSync(socket).mode & 0o777, 0o600);
  assert.match(await whoami(t, server, { url, fetch: overSocket(socket) }), /local/);
  assert.match(await whoami(t, server, { url, fetch: overSocket(socket), token: ADA }), /ada/);
  const post = { method: 'POST', body: JSON.stringify(initializeMessage({})) };
  const wrong = { ...defaultHeaders, Authorization: 'Bearer wrong-token-0123456789' };
  assert.equal((await overSocket(socket)(url, { ...post, headers: wrong })).status, 401);
  assert.equal((await fetch(server.url, { ...post, headers: defaultHeaders })).status, 401, 'TCP needs a token as before');
});

test('the socket of a dead server is replaced, that of a live one and any other file are not', async (t) => {
  const dir = folder(t);
  const socket = path.join(dir, 'nod.sock');
  const args = ['--http', `unix:${socket}`];
  const first = await startHttp(t, 'probe', { args });
  await first.said(/listening.*unix:/);
  const refused = await runOnce('probe', args);
  assert.equal(refused.code, 1);
  assert.match(refused.stderr, /cannot listen/);
  assert.match(await whoami(t, first, { url: 'http://localhost/mcp', fetch: overSocket(socket) }), /local/);
  await first.kill();
  assert.ok(existsSync(socket));
  const second = await startHttp(t, 'probe', { args });
  await second.said(/listening.*unix:/);
  assert.match(await whoami(t, second, { url: 'http://localhost/mcp', fetch: overSocket(socket) }), /local/);

  const file = path.join(dir, 'precious');
  writeFileSync(file, 'data');
  const plain = await runOnce('probe', ['--http', `unix:${file}`]);
  assert.equal(plain.code, 1);
  assert.match(plain.stderr, /there is a file of this name, and it is no socket/);
  assert.ok(statSync(file).isFile());
});

test('a socket in a folder that is missing is one error: what, where, and what to do', async (t) => {
  const socket = path.join(folder(t), 'missing', 'nod.sock');
  const refused = await runOnce('probe', ['--http', `unix:${socket}`]);
  assert.equal(refused.code, 1);
  const errors = refused.stderr.split('\n').filter((line) => /level=error/.test(line));
  assert.equal(errors.length, 1, refused.stderr);
  assert.match(errors[0], new RegExp(`cannot listen; give a path [^"]*folder that exists[^"]*" path=${socket} why="no such file or directory"`));
});

test('a kind of store that does not exist is a wrong command line', async () => {
  const refused = await runOnce('probe', ['--http', '127.0.0.1:0', '--store', 'sqllite:x']);
  assert.match(refused.stderr, /did you mean sqlite\?/);
  assert.equal(refused.code, 2);
});

test('localhost is both loopback addresses: if another program has one of them, the server does not start, and says which', async (t) => {
  for (const address of ['::1', '127.0.0.1']) {
    const other = net.createServer().listen(0, address);
    await once(other, 'listening');
    t.after(() => other.close());
    const { port } = other.address();
    await assert.rejects(startHttp(t, 'probe', { host: 'localhost', port, mayRefuse: true }), ({ message }) => {
      const errors = message.split('\n').filter((line) => /level=error/.test(line));
      assert.equal(errors.length, 1, message);
      assert.match(errors[0], new RegExp(`cannot listen; [^"]*" host="?${address}"? port=${port} why="the address is taken by another program"`));
      return true;
    });
  }
});

test('one address of several that cannot be listened on ends the start', async (t) => {
  const server = await startHttp(t, 'probe');
  const taken = new URL(server.url).host;
  const refused = await runOnce('probe', ['--http', '127.0.0.1:0', '--http', taken]);
  assert.equal(refused.code, 1);
  assert.match(refused.stderr, /cannot listen/);
  assert.doesNotMatch(refused.stderr, /event=listening/);
  const open = await runOnce('probe', ['--http', '127.0.0.1:0', '--http', '0.0.0.0:0']);
  assert.equal(open.code, 1);
  assert.match(open.stderr, /without tokens/);
});

test('a path without a route is 404, a method without one is 405 and says which there are', async (t) => {
  const server = await startHttp(t, 'probe');
  const at = (name, options) => fetch(new URL(name, server.url), options);
  assert.equal((await at('/mcp/x')).status, 404);
  assert.equal((await at('/%6dcp')).status, 404);
  const put = await at('/mcp', { method: 'PUT' });
  assert.equal(put.status, 405);
  assert.equal(put.headers.get('allow'), 'GET, POST, DELETE');
  assert.equal((await at('/mcp', { method: 'HEAD' })).status, 405);
  const post = await at('/healthz', { method: 'POST', body: 'x' });
  assert.equal(post.status, 405);
  assert.equal(post.headers.get('allow'), 'GET, HEAD');
  const head = await at('/readyz', { method: 'HEAD' });
  assert.equal(head.status, 200);
  assert.equal(await head.text(), '');
});

test('what is refused before it is looked at is a problem like every other of the API', async (t) => {
  const server = await startHttp(t, 'probe');
  const { host, hostname, port } = new URL(server.url);
  const socket = net.connect(port, hostname);
  socket.end(`POST /api/elicitation/x/resolve HTTP/1.1\r\nHost: ${host}\r\nContent-Type: application/json\r\nContent-Length: 99999999999\r\n\r\n`);
  let got = '';
  for await (const bytes of socket) got += bytes;
  assert.match(got, /^HTTP\/1\.1 413 .*\r\nContent-Type: application\/problem\+json\r\n/s);
  const { type, title, status, detail } = JSON.parse(got.split('\r\n\r\n')[1]);
  assert.deepEqual([type, status], ['about:blank', 413]);
  assert.ok(title);
  assert.match(detail, /too long: at most \d+ bytes are taken/);
});

test('whoever comes to the wrong place is told what is here and what to do', async (t) => {
  const server = await startHttp(t, 'probe');
  const at = (name, accept, options = {}) => fetch(new URL(name, server.url), { ...options, headers: { ...options.headers, Accept: accept } });
  const browser = 'text/html,application/xhtml+xml,*/*;q=0.8';
  assert.equal((await at('/', browser)).status, 200);
  const wrong = await at('/elsewhere', browser);
  assert.deepEqual([wrong.status, wrong.headers.get('content-type')], [404, 'text/html; charset=utf-8']);
  assert.match(wrong.headers.get('content-security-policy'), /^default-src 'none'/);
  assert.match(await wrong.text(), /nothing at this path\. This is an MCP server: clients connect to \/mcp[^]*<a href="\/">To the inbox<\/a>/);
  const plain = await startHttp(t, 'probe', { args: ['--no-inbox'] });
  const none = await fetch(new URL('/elsewhere', plain.url), { headers: { Accept: browser } });
  assert.deepEqual([none.status, none.headers.get('content-type')], [404, 'text/plain; charset=utf-8']);
  assert.match(await (await at('/elsewhere', '*/*')).text(), /clients connect to \/mcp/);
  assert.match((await (await at('/elsewhere', 'application/json')).json()).error, /clients connect to \/mcp/);

  const looked = await at('/mcp', browser);
  assert.equal(looked.status, 406);
  assert.match(await looked.text(), /^This is an MCP server.*give this address to an MCP client/);

  const put = await at('/mcp', defaultHeaders.Accept, { method: 'PUT' });
  assert.equal(put.status, 405);
  assert.match((await put.json()).error.message, /takes GET, POST, DELETE only\. .*\/mcp/);
  const old = await at('/mcp', defaultHeaders.Accept, { headers: { 'MCP-Protocol-Version': '2026-07-28' } });
  assert.deepEqual([old.status, old.headers.get('allow')], [405, 'POST']);
  assert.match((await old.json()).error.message, /sent with POST/);
});

test('an address that ends with a slash works', async (t) => {
  const server = await startHttp(t, 'probe');
  const session = await connect(t, 'http', 'probe', { server, url: `${server.url}/`, answer: () => ({ action: 'accept', content: {} }) });
  assert.equal(await session.text('confirm'), 'yes');
});

test('401 says how to get in, as JSON-RPC to a client and in words to a browser', async (t) => {
  const server = await startHttp(t, 'probe', { args: ['--token-file', tokenFile(t)] });
  const none = await fetch(server.url, { method: 'POST', headers: defaultHeaders, body: '{}' });
  const { error, jsonrpc } = await none.json();
  assert.deepEqual([none.status, jsonrpc], [401, '2.0']);
  assert.match(error.message, /Authorization: Bearer TOKEN/);
  const wrong = await fetch(server.url, { headers: { Accept: 'text/html', ...bearer('wrong-token-0123456789') } });
  assert.equal(wrong.status, 401);
  assert.match(await wrong.text(), /^This token is not one that the server knows; the operator keeps them in the token file\.\n$/);
});

async function shownTo(url, ca) {
  const { hostname, port } = new URL(url);
  const socket = tls.connect({ host: hostname, port, ca });
  await once(socket, 'secureConnect');
  const name = socket.getPeerCertificate().subject.CN;
  socket.destroy();
  return name;
}

test('over TLS a call is asked and answered by the official client, and plain HTTP is not', async (t) => {
  const { cert, key, ca } = certificate(folder(t), 'nod');
  const server = await startHttp(t, 'probe', { args: ['--tls-cert', cert, '--tls-key', key, '--token-file', tokenFile(t)] });
  assert.match(server.url, /^https:/);
  const session = await connect(t, 'http', 'probe', { server, fetch: overTls(ca), token: ADA });
  const asked = session.text('ask', { message: 'Who?' });
  (await session.question()).accept({ name: 'Ada' });
  assert.equal(await asked, 'accept {"name":"Ada"}');
  assert.match(await session.text('whoami'), /ada/);
  assert.equal((await overTls(ca)(server.url, { method: 'POST', headers: defaultHeaders, body: '{}' })).status, 401);
  await assert.rejects(fetch(server.url.replace('https:', 'http:')));
  await assert.rejects(overTls(undefined)(server.url), /self-signed/, 'the certificate is what protects');
  assert.ok((await overTls(ca)(new URL('/readyz', server.url))).ok);
});

test('SIGHUP takes a new certificate without ending what is open; a bad one changes nothing', async (t) => {
  const dir = folder(t);
  const [first, second] = ['first', 'second'].map((name) => certificate(dir, name));
  const [cert, key] = [path.join(dir, 'used.crt'), path.join(dir, 'used.key')];
  const use = (pair) => [[pair.cert, cert], [pair.key, key]].forEach(([from, to]) => copyFileSync(from, to));
  use(first);
  const server = await startHttp(t, 'probe', { args: ['--tls-cert', cert, '--tls-key', key] });
  const ca = [first.ca, second.ca];
  const agent = new https.Agent({ ca, keepAlive: true });
  t.after(() => agent.destroy());
  const session = await connect(t, 'http', 'probe', { server, fetch: overTls(ca, agent) });
  const asked = session.text('ask', { message: 'Who?' });
  const question = await session.question();
  assert.equal(await shownTo(server.url, ca), 'first');

  use(second);
  server.signal('SIGHUP');
  await server.said(/certificate was read anew/);
  assert.equal(await shownTo(server.url, ca), 'second');
  question.accept({ name: 'Ada' });
  assert.equal(await asked, 'accept {"name":"Ada"}', 'the stream that was open is still there');

  writeFileSync(cert, 'no certificate');
  server.signal('SIGHUP');
  await server.said(/certificate stays as it was/);
  await server.said(/certificate or its key cannot be used/);
  assert.equal(await shownTo(server.url, ca), 'second');
  copyFileSync(first.cert, cert); // with the key of the other one
  server.signal('SIGHUP');
  await server.said(/certificate stays as it was/);
  assert.equal(await shownTo(server.url, ca), 'second');
  assert.match(await session.text('whoami'), /local/);
});

test('SIGHUP reads the token file again: who is in it comes in, who is not does not; a bad file changes nothing', async (t) => {
  const file = tokenFile(t, `${ADA} ada\n${BOB} bob\n`);
  const server = await startHttp(t, 'probe', { args: ['--token-file', file] });
  const status = async (token) =>
    (await fetch(server.url, { method: 'POST', headers: { ...defaultHeaders, ...bearer(token) }, body: JSON.stringify(initializeMessage({})) })).status;
  const ada = await connect(t, 'http', 'probe', { server, token: ADA });
  const asked = ada.text('ask', { message: 'Who?' });
  const question = await ada.question();
  assert.deepEqual([await status(ADA), await status(BOB), await status(ROOT)], [200, 200, 401]);

  writeFileSync(file, `${ADA} ada ask answer\n${ROOT} root admin\n`);
  server.signal('SIGHUP');
  await server.said(/token file was read again.*tokens=2/);
  assert.deepEqual([await status(ADA), await status(BOB), await status(ROOT)], [200, 401, 200]);
  question.accept({ name: 'Ada' });
  assert.equal(await asked, 'accept {"name":"Ada"}', 'the call that was open goes on');

  for (const [text, why] of [[`${ADA} ada\nshort x\n`, /:2: the token is shorter/], ['', /no token in it/]]) {
    writeFileSync(file, text);
    server.signal('SIGHUP');
    assert.match(await server.said(/new token file cannot be used; the tokens stay/), why);
    assert.deepEqual([await status(ADA), await status(BOB), await status(ROOT)], [200, 401, 200]);
  }
  rmSync(file);
  server.signal('SIGHUP');
  assert.match(await server.said(/new token file cannot be used; the tokens stay/), /cannot be read/);
  assert.match(await ada.text('whoami'), /ada/);
});

test('SIGHUP with nothing to read again does not end the server', async (t) => {
  const server = await startHttp(t, 'probe', { args: ['--no-inbox'] });
  const session = await connect(t, 'http', 'probe', { server });
  server.signal('SIGHUP');
  await server.said(/no token file and no certificate to read again/);
  assert.match(await session.text('whoami'), /local/);
});

test('a certificate that cannot be used ends the start; TLS does not replace tokens', async (t) => {
  const { cert, key } = certificate(folder(t), 'nod');
  const missing = await runOnce('probe', ['--http', '127.0.0.1:0', '--tls-cert', '/nonexistent', '--tls-key', key]);
  assert.equal(missing.code, 1);
  assert.match(missing.stderr, /\/nonexistent/);
  const swapped = await runOnce('probe', ['--http', '127.0.0.1:0', '--tls-cert', cert, '--tls-key', cert]);
  assert.equal(swapped.code, 1);
  const open = await runOnce('probe', ['--http', '0.0.0.0:0', '--tls-cert', cert, '--tls-key', key]);
  assert.equal(open.code, 1);
  assert.match(open.stderr, /without tokens/);
});

test('with TLS a Unix socket stays plain, and many clients at once are served', async (t) => {
  const dir = folder(t);
  const { cert, key, ca } = certificate(dir, 'nod');
  const socket = path.join(dir, 'nod.sock');
  const server = await startHttp(t, 'probe', { args: ['--http', `unix:${socket}`, '--tls-cert', cert, '--tls-key', key] });
  await server.said(/listening.*unix:/);
  assert.match(await whoami(t, server, { url: 'http://localhost/mcp', fetch: overSocket(socket) }), /local/);
  await Promise.all(
    Array.from({ length: 24 }, async (_, i) => {
      const content = { name: 'x'.repeat(2 + 2000 * i) };
      const session = await connect(t, 'http', 'probe', { server, fetch: overTls(ca), answer: () => ({ action: 'accept', content }) });
      assert.equal(await session.text('ask', { message: 'Who?' }), `accept ${JSON.stringify(content)}`);
    }),
  );
});

test('bytes that are no TLS, handshakes that stop and ends without a word harm nobody', async (t) => {
  const { cert, key, ca } = certificate(folder(t), 'nod');
  const server = await startHttp(t, 'probe', { args: ['--tls-cert', cert, '--tls-key', key] });
  const { hostname: host, port } = new URL(server.url);
  const dial = async (bytes) => {
    const socket = net.connect({ host, port });
    socket.on('error', () => {});
    await once(socket, 'connect');
    socket.write(bytes);
    return socket;
  };
  // The first bytes of a handshake that is real: what a client says before it is answered.
  const hello = await new Promise((resolve) => {
    const sink = net.createServer((socket) => socket.once('data', (data) => (resolve(data), socket.destroy(), sink.close())));
    sink.listen(0, '127.0.0.1', () => tls.connect({ host: '127.0.0.1', port: sink.address().port }).on('error', () => {}));
  });
  const silent = await Promise.all(Array.from({ length: 50 }, (_, i) => dial(hello.subarray(0, 1 + ((i * 7) % hello.length)))));
  for (const bytes of ['GET /mcp HTTP/1.1\r\nHost: localhost\r\n\r\n', Buffer.alloc(70000, 0x16), Buffer.from([0x16, 3, 1, 0xff, 0xff]), hello]) {
    const socket = await dial(bytes);
    socket.end();
    socket.resume();
    await new Promise((resolve) => socket.once('close', resolve)); // with an error or without
  }
  const cut = tls.connect({ host, port, ca });
  await once(cut, 'secureConnect');
  cut.write('POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Le');
  cut.destroy();
  assert.match(await whoami(t, server, { fetch: overTls(ca) }), /local/);
  silent.forEach((socket) => socket.destroy());
  assert.match(await whoami(t, server, { fetch: overTls(ca) }), /local/);
});

test('at /mcp a token needs the role ask or admin; what else it has does not matter', async (t) => {
  const file = tokenFile(t, `${ADA} ada\n${BOB} bob answer approve\n${ROOT} root admin\n`);
  const server = await startHttp(t, 'probe', { args: ['--token-file', file] });
  for (const [token, name] of [[ADA, 'ada'], [ROOT, 'root']]) assert.match(await whoami(t, server, { token }), new RegExp(name));
  for (const method of ['POST', 'GET', 'DELETE']) {
    const body = method === 'POST' ? JSON.stringify(initializeMessage({})) : undefined;
    const refused = await fetch(server.url, { method, headers: { ...defaultHeaders, ...bearer(BOB) }, body });
    assert.equal(refused.status, 403);
    const { error } = await refused.json();
    assert.equal(error.code, -32600);
    assert.match(error.message, /needs the role ask or admin/);
  }
  const wrong = await runOnce('probe', ['--http', '127.0.0.1:0', '--token-file', tokenFile(t, `${ADA} ada\n${BOB} bob asks\n`)]);
  assert.equal(wrong.code, 1);
  assert.match(wrong.stderr, /:2: .{0,2}asks.{0,2} is no role/);
  assert.ok(!wrong.stderr.includes(BOB), 'no token in the log');
});

// The toy: a route that tests/wire/toy_route.c adds to a server that has /mcp as well.

async function toy(t, args = []) {
  const file = tokenFile(t, `${ADA} ada\n${BOB} bob answer\n${ROOT} root admin\n`);
  const server = await startHttp(t, 'toy-route', { args: ['--token-file', file, ...args] });
  server.at = (name, options) => fetch(new URL(name, server.url), options);
  return server;
}

test('a route of a module of its own stands beside /mcp, behind the same door', async (t) => {
  const server = await toy(t);
  const got = await server.at('/toy/caf%C3%A9%2F1?x=1', { headers: bearer(BOB) });
  assert.equal(got.status, 200);
  assert.deepEqual(await got.json(), {
    method: 'GET', name: 'caf\u00e9/1', rest: '', principal: 'bob', address: '127.0.0.1', link: new URL('/toy', server.url).href, body: '', roles: 2, secure: false,
  });
  const posted = await server.at('/toy/x', { method: 'POST', body: 'hello', headers: bearer(ADA) });
  assert.deepEqual([posted.status, (await posted.json()).body], [200, 'hello']);
  assert.equal((await server.at('/toy/x', { headers: bearer(ROOT) })).status, 200, 'an administrator may everything');

  const refused = await server.at('/toy/x', { headers: bearer(ADA) });
  assert.equal(refused.status, 403);
  assert.match((await refused.json()).error, /needs the role answer or approve or admin/);
  assert.equal((await server.at('/toy/x')).status, 401);
  assert.equal((await server.at('/toy/x/y', { headers: bearer(BOB) })).status, 404);
  assert.equal((await server.at('/toy/%zz', { headers: bearer(BOB) })).status, 400);
  const put = await server.at('/toy/x', { method: 'PUT', headers: bearer(BOB) });
  assert.deepEqual([put.status, put.headers.get('allow')], [405, 'GET, HEAD, POST']);
  const head = await server.at('/toy/x', { method: 'HEAD', headers: bearer(BOB) });
  assert.deepEqual([head.status, await head.text()], [200, '']);

  const open = await (await server.at('/open/a/b')).json();
  assert.deepEqual([open.rest, open.principal, open.roles], ['a/b', '', 0]);
  assert.equal((await server.at('/open/x', { headers: { Origin: 'https://evil.example' } })).status, 403);
  const session = await connect(t, 'http', 'toy-route', { server, token: ADA });
  assert.deepEqual((await session.client.listTools()).tools, []);
});

test('the public URL is what links are made of, and its Host and Origin pass; what a request says is not', async (t) => {
  const server = await toy(t, ['--public-url', 'https://Nod.example.org:443/base/']);
  // fetch sets Host by itself; http.request lets us say another one.
  const at = (headers) => fetchOver(http.request, {})(new URL('/toy/x', server.url), { headers: { ...bearer(BOB), ...headers } });
  const seen = await (await at({ Host: 'nod.example.org' })).json();
  assert.deepEqual([seen.link, seen.secure], ['https://nod.example.org/base/toy', true]);
  const lied = await at({ 'X-Forwarded-Host': 'evil.example', 'X-Forwarded-Proto': 'http', Forwarded: 'host=evil.example' });
  assert.equal((await lied.json()).link, 'https://nod.example.org/base/toy');
  const ours = await at({ Host: 'nod.example.org', Origin: 'https://nod.example.org' });
  assert.deepEqual([ours.status, ours.headers.get('access-control-allow-origin')], [200, 'https://nod.example.org']);
  for (const headers of [{ Host: 'other.example.org' }, { Origin: 'http://nod.example.org' }, { Origin: 'https://nod.example.org:8443' }])
    assert.equal((await at(headers)).status, 403, JSON.stringify(headers));
  for (const url of ['nod.example.org', 'ftp://nod.example.org', 'https://a/?b'])
    assert.notEqual((await runOnce('toy-route', ['--http', '127.0.0.1:0', '--public-url', url])).code, 0, url);
});

test("an address is the peer's, unless a proxy that is trusted says another one", async (t) => {
  const from = async (server, forwarded) => (await (await server.at('/open/', { headers: { 'X-Forwarded-For': forwarded } })).json()).address;
  const plain = await toy(t);
  assert.equal(await from(plain, '203.0.113.7'), '127.0.0.1');
  const server = await toy(t, ['--trusted-proxy', '127.0.0.0/8', '--trusted-proxy', '2001:db8::/32', '--log', 'debug']);
  assert.equal(await from(server, '203.0.113.7'), '203.0.113.7');
  assert.equal(await from(server, '1.1.1.1, 203.0.113.7, 2001:db8::9'), '203.0.113.7');
  assert.equal(await from(server, '1.1.1.1, 2001:db9::7'), '2001:db9::7');
  assert.equal(await from(server, 'nonsense'), '127.0.0.1');
  await server.at('/toy/x', { headers: { ...bearer('wrong-token-0123456789'), 'X-Forwarded-For': '203.0.113.9' } });
  await server.said(/token refused.*203\.0\.113\.9/);
  const wrong = await runOnce('probe', ['--http', '127.0.0.1:0', '--trusted-proxy', '10.0.0.1/8']);
  assert.equal(wrong.code, 2);
  assert.match(wrong.stderr, /--trusted-proxy takes an address, or a net .*10\.0\.0\.1\/8/);
});

test('over a Unix socket a request that was passed on needs its token', async (t) => {
  const socket = path.join(folder(t), 'nod.sock');
  const server = await toy(t, ['--http', `unix:${socket}`]);
  await server.said(/listening.*unix:/);
  const at = (headers) => overSocket(socket)('http://localhost/toy/x', { headers });
  const own = await (await at({})).json();
  assert.deepEqual([own.principal, own.address, own.roles], ['local', 'unix', 15]);
  assert.equal((await at({ 'X-Forwarded-For': '203.0.113.7' })).status, 401);
  assert.equal((await (await at({ 'X-Forwarded-For': '203.0.113.7', ...bearer(BOB) })).json()).principal, 'bob');
});
