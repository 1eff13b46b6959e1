// The front door: what is listened on, and who comes in by which address.
import test from 'node:test';
import assert from 'node:assert/strict';
import http from 'node:http';
import { existsSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { once } from 'node:events';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { Readable } from 'node:stream';
import { connect, startHttp, runOnce, defaultHeaders, initializeMessage } from './harness.js';

const ADA = 'ada-token-0123456789abcdef';

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

// fetch, but over what http.request is told to use: a Unix socket, or a connection of its own.
function fetchOver(request, options) {
  return async (url, { method = 'GET', headers = {}, body, signal } = {}) => {
    const sent = request(url, { ...options, method, headers: Object.fromEntries(new Headers(headers)), signal });
    sent.end(body);
    const [response] = await once(sent, 'response');
    const bodiless = [101, 204, 205, 304].includes(response.statusCode);
    return new Response(bodiless ? null : Readable.toWeb(response), {
      status: response.statusCode,
      headers: Object.entries(response.headers).flatMap(([name, value]) => [value].flat().map((one) => [name, one])),
    });
  };
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
  assert.equal((await runOnce('probe', ['--http', `unix:${file}`])).code, 1);
  assert.ok(statSync(file).isFile());
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
  assert.equal((await at('/mcp/')).status, 404);
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
