// Hostile and clumsy peers: without a token, or with too many requests; and what browsers need.
import test from 'node:test';
import assert from 'node:assert/strict';
import net from 'node:net';
import { once } from 'node:events';
import { startHttp, rawPeer, runOnce, within, initializeMessage, defaultHeaders, HttpPeer, callTool, nextAsk, accept, resultOf,
  PATIENCE_MS } from './harness.js';
import { ADA, BOB, Modern, VERSION, metaOf, tokenFile } from './modern.js';

const withTokens = (t, args = []) => startHttp(t, 'probe', { args: ['--token-file', tokenFile(t), ...args] });

// A connection by hand: { socket, send(text), until(pattern) }.
async function dial(t, server) {
  const { hostname, port, host } = new URL(server.url);
  const socket = net.connect({ host: hostname, port: Number(port) });
  const talk = { socket, host, text: '', closed: false };
  socket.setEncoding('latin1');
  socket.on('data', (data) => (talk.text += data));
  socket.on('error', () => {});
  socket.on('close', () => (talk.closed = true));
  t.after(() => socket.destroy());
  await once(socket, 'connect');
  talk.send = (text) => socket.write(text, 'latin1');
  talk.until = (pattern) =>
    within(PATIENCE_MS, `${pattern} in ${JSON.stringify(talk.text)}`, (async () => {
      while (!pattern.test(talk.text)) {
        if (talk.closed) throw new Error(`closed without ${pattern}: ${talk.text}`);
        await Promise.race([once(socket, 'data'), once(socket, 'close')]);
      }
      return talk.text;
    })());
  return talk;
}

const head = (talk, { method = 'POST', path = '/mcp', host = talk.host, headers = {}, length } = {}) =>
  `${method} ${path} HTTP/1.1\r\nHost: ${host}\r\n` +
  Object.entries({ ...defaultHeaders, ...headers }).map(([name, value]) => `${name}: ${value}\r\n`).join('') +
  (length === undefined ? '' : `Content-Length: ${length}\r\n`) + '\r\n';

const bearer = (token) => ({ Authorization: `Bearer ${token}` });

// --- 18 ---

test('11.18: the token is looked at when the head is there, and so are Host, Origin, path and method', async (t) => {
  const server = await withTokens(t);
  const cases = [
    [{ headers: {} }, 401],
    [{ headers: bearer('wrong-token-0123456789') }, 401],
    [{ headers: bearer(ADA), host: 'evil.example' }, 403],
    [{ headers: { ...bearer(ADA), Origin: 'https://evil.example' } }, 403],
    [{ headers: bearer(ADA), path: '/elsewhere' }, 404],
    [{ headers: bearer(ADA), method: 'PUT' }, 405],
  ];
  for (const [request, status] of cases) {
    const talk = await dial(t, server);
    talk.send(head(talk, { ...request, length: 60000 })); // no byte of the body ever comes
    await talk.until(new RegExp(`^HTTP/1\\.1 ${status} `));
    talk.socket.destroy();
  }
});

test('11.18: connections without a token make room for those who come', async (t) => {
  const server = await withTokens(t);
  const silent = [];
  for (let i = 0; i < 1600; i++) {
    silent.push(await dial(t, server));
  }
  const ada = await rawPeer(t, 'http', 'probe', { server, token: ADA });
  assert.ok(ada.session);
  await within(PATIENCE_MS, 'the first have been closed', (async () => {
    while (!silent.slice(0, 100).every((talk) => talk.closed)) await new Promise(setImmediate);
  })());
  assert.ok(!silent.at(-1).closed);
});

// --- 19 ---

const WATCHED = 'test://watched-resource';
const share = (what, n) => [`--${what}-per-principal`, String(n)];

function refusedForNow(reply) {
  assert.equal(reply.status, 429);
  assert.match(reply.headers.get('retry-after'), /^\d+$/);
}

test('11.19: sessions are shared out', async (t) => {
  const server = await withTokens(t, share('sessions', 3));
  const bobs = [];
  for (let i = 0; i < 3; i++) bobs.push(await rawPeer(t, 'http', 'probe', { server, token: BOB }));
  const more = new HttpPeer(server.url, { token: BOB });
  const refused = await more.post(initializeMessage({}));
  refusedForNow(refused);
  assert.match(refused.json.error.message, /sessions/);
  await rawPeer(t, 'http', 'probe', { server, token: ADA }); // nobody else notices
  assert.equal((await bobs[0].request('DELETE')).status, 204);
  await rawPeer(t, 'http', 'probe', { server, token: BOB });
});

test('11.19: live calls are shared out, in both eras', async (t) => {
  const server = await withTokens(t, share('calls', 2));
  const bob = await rawPeer(t, 'http', 'probe', { server, token: BOB });
  const calls = [await callTool(bob, 'ask'), await callTool(bob, 'ask')];
  const question = await nextAsk(bob);
  await nextAsk(bob);
  const third = await callTool(bob, 'counters');
  refusedForNow(third.handle);
  assert.equal((await third.reply()).id, third.id);
  refusedForNow(await new Modern(server.url, { token: BOB }).call('counters'));

  const ada = await rawPeer(t, 'http', 'probe', { server, token: ADA });
  await resultOf(ada, 'counters');
  assert.equal((await new Modern(server.url, { token: ADA }).call('counters')).status, 200);

  await accept(bob, question.id, { name: 'Bob' });
  await Promise.race(calls.map((call) => call.reply()));
  await resultOf(bob, 'counters');
});

async function listen(t, server, token, notifications = { toolsListChanged: true }) {
  const abort = new AbortController();
  t.after(() => abort.abort());
  const response = await fetch(server.url, {
    method: 'POST',
    signal: abort.signal,
    headers: { ...defaultHeaders, ...bearer(token), 'MCP-Protocol-Version': VERSION, 'Mcp-Method': 'subscriptions/listen' },
    body: JSON.stringify({ jsonrpc: '2.0', id: 'ears', method: 'subscriptions/listen', params: { notifications, _meta: metaOf() } }),
  });
  return { response, status: response.status, headers: response.headers, drop: () => abort.abort() };
}

test('11.19: listeners are shared out, in both eras', async (t) => {
  const server = await withTokens(t, share('listeners', 2));
  const bob = await rawPeer(t, 'http', 'probe', { server, token: BOB });
  const standing = await bob.request('GET');
  assert.equal(standing.status, 200);
  const ears = await listen(t, server, BOB);
  assert.equal(ears.status, 200);
  refusedForNow(await listen(t, server, BOB));
  refusedForNow(await bob.request('GET'));

  assert.equal((await listen(t, server, ADA)).status, 200);
  const ada = await rawPeer(t, 'http', 'probe', { server, token: ADA });
  assert.equal((await ada.request('GET')).status, 200);

  ears.drop();
  await within(PATIENCE_MS, 'there is room again', (async () => {
    while ((await listen(t, server, BOB)).status !== 200) await new Promise((resolve) => setTimeout(resolve, 20));
  })());
});

test('11.19: subscriptions are shared out, in both eras', async (t) => {
  const server = await startHttp(t, 'everything', { args: ['--token-file', tokenFile(t), ...share('subscriptions', 1)] });
  const bob = await rawPeer(t, 'http', 'probe', { server, token: BOB });
  const other = await rawPeer(t, 'http', 'probe', { server, token: BOB });
  const subscribe = (peer, method = 'resources/subscribe') => peer.send({ id: 50, method, params: { uri: WATCHED } });
  assert.equal((await subscribe(bob)).status, 200);
  assert.equal((await subscribe(bob)).status, 200); // the same once more is not one more
  refusedForNow(await subscribe(other));
  refusedForNow(await listen(t, server, BOB, { resourceSubscriptions: [WATCHED] }));

  const ada = await rawPeer(t, 'http', 'probe', { server, token: ADA });
  assert.equal((await subscribe(ada)).status, 200);
  assert.equal((await subscribe(bob, 'resources/unsubscribe')).status, 200);
  assert.equal((await listen(t, server, BOB, { resourceSubscriptions: [WATCHED] })).status, 200);
});

test('11.19: tasks are shared out', async (t) => {
  const server = await withTokens(t, share('tasks', 1));
  const capabilities = { elicitation: {}, extensions: { 'io.modelcontextprotocol/tasks': {} } };
  const [bob, ada] = [BOB, ADA].map((token) => new Modern(server.url, { token, capabilities }));
  assert.equal((await bob.call('plant_task', { mark: 'b' })).result.resultType, 'task');
  refusedForNow(await bob.call('plant_task', { mark: 'b' }));
  assert.equal((await ada.call('plant_task', { mark: 'a' })).result.resultType, 'task');
});

// --- 24 ---

test('11.24: a listen that the server ends is cancelled, and answered', async (t) => {
  const server = await startHttp(t, 'probe');
  const ears = await listen(t, server, ADA);
  assert.equal(ears.status, 200);
  const text = ears.response.text();
  await server.stop();
  const messages = (await text).split('\n').filter((line) => line.startsWith('data: ')).map((line) => JSON.parse(line.slice(6)));
  const [cancelled, result] = messages.slice(-2);
  const meta = { 'io.modelcontextprotocol/subscriptionId': 'ears' };
  assert.equal(cancelled.method, 'notifications/cancelled');
  assert.equal(cancelled.params.requestId, 'ears');
  assert.match(cancelled.params.reason, /\w/);
  assert.deepEqual(cancelled.params._meta, meta);
  assert.equal(result.id, 'ears');
  assert.equal(result.result.resultType, 'complete');
  assert.equal(result.result._meta['io.modelcontextprotocol/subscriptionId'], 'ears');
});

test('11.24: two Accept lines are one list', async (t) => {
  const server = await startHttp(t, 'probe');
  const body = JSON.stringify(initializeMessage({}));
  const talk = await dial(t, server);
  talk.send(`POST /mcp HTTP/1.1\r\nHost: ${talk.host}\r\nContent-Type: application/json\r\nAccept: application/json\r\n` +
    `Accept: text/event-stream\r\nContent-Length: ${body.length}\r\n\r\n${body}`);
  await talk.until(/^HTTP\/1\.1 200 /);
  const one = await dial(t, server);
  one.send(`POST /mcp HTTP/1.1\r\nHost: ${one.host}\r\nContent-Type: application/json\r\nAccept: application/json\r\n` +
    `Accept: text/html\r\nContent-Length: ${body.length}\r\n\r\n${body}`);
  await one.until(/^HTTP\/1\.1 406 /);
});

const PAGE = 'https://app.example.com';

function preflight(server, origin, headers) {
  return fetch(server.url, {
    method: 'OPTIONS',
    headers: { Origin: origin, 'Access-Control-Request-Method': 'POST', 'Access-Control-Request-Headers': headers },
  });
}

test('11.24: a page of an allowed origin may ask beforehand, and read what it is answered', async (t) => {
  const server = await withTokens(t, ['--allow-origin', PAGE]);
  const wanted = 'authorization, content-type, mcp-protocol-version, mcp-session-id, last-event-id, mcp-method, mcp-name, mcp-param-region, x-evil';
  const asked = await preflight(server, PAGE, wanted);
  assert.equal(asked.status, 204);
  assert.equal(asked.headers.get('access-control-allow-origin'), PAGE);
  assert.deepEqual(asked.headers.get('access-control-allow-methods').split(', ').sort(), ['DELETE', 'GET', 'POST']);
  assert.equal(asked.headers.get('access-control-allow-headers'), wanted.replace(', x-evil', ''));
  assert.match(asked.headers.get('access-control-max-age'), /^\d+$/);
  assert.match(asked.headers.get('vary'), /origin/i);

  const page = { ...defaultHeaders, Origin: PAGE };
  const refused = await fetch(server.url, { method: 'POST', headers: page, body: '{}' });
  assert.equal(refused.status, 401);
  assert.equal(refused.headers.get('access-control-allow-origin'), PAGE);
  assert.match(refused.headers.get('access-control-expose-headers'), /WWW-Authenticate/i);

  const begun = await fetch(server.url, { method: 'POST', headers: { ...page, ...bearer(ADA) }, body: JSON.stringify(initializeMessage({})) });
  assert.equal(begun.status, 200);
  assert.equal(begun.headers.get('access-control-allow-origin'), PAGE);
  assert.match(begun.headers.get('access-control-expose-headers'), /Mcp-Session-Id/i);
  const session = begun.headers.get('mcp-session-id');
  await begun.text();

  const abort = new AbortController();
  const stream = await fetch(server.url, { headers: { ...page, ...bearer(ADA), 'Mcp-Session-Id': session }, signal: abort.signal });
  assert.equal(stream.headers.get('content-type'), 'text/event-stream');
  assert.equal(stream.headers.get('access-control-allow-origin'), PAGE);
  abort.abort();
});

test('11.24: other origins get no leave, and none is given to those who were not named', async (t) => {
  const server = await withTokens(t, ['--allow-origin', PAGE]);
  for (const origin of ['https://evil.example', `${PAGE}.evil.example`, 'null', 'http://localhost:3000']) {
    const asked = await preflight(server, origin, 'authorization');
    assert.notEqual(asked.status, 204, origin);
    assert.equal(asked.headers.get('access-control-allow-origin'), null, origin);
  }
  const plain = await fetch(server.url, { method: 'POST', headers: { ...defaultHeaders, ...bearer(ADA) }, body: '{' });
  assert.equal(plain.headers.get('access-control-allow-origin'), null);
  for (const wrong of ['app.example.com', `${PAGE}/`, '*', 'null']) {
    const refused = await runOnce('probe', ['--http', '127.0.0.1:0', '--allow-origin', wrong]);
    assert.notEqual(refused.code, 0, wrong);
    assert.match(refused.stderr, /https:\/\//, wrong);
  }
});

test('11.24: the body of an HTTP error has the id of its request, or none', async (t) => {
  const server = await startHttp(t, 'probe');
  const post = async (body, headers = {}) => {
    const response = await fetch(server.url, { method: 'POST', headers: { ...defaultHeaders, ...headers }, body });
    return { status: response.status, body: JSON.parse(await response.text()) };
  };
  const ping = JSON.stringify({ jsonrpc: '2.0', id: 7, method: 'ping' });
  const cases = [
    ['{', {}, 400, undefined],
    ['[]', {}, 400, undefined],
    ['{"jsonrpc":"2.0","id":7,"method":1}', {}, 400, 7],
    ['{"jsonrpc":"1.0","method":"x"}', {}, 400, undefined],
    [ping, {}, 400, undefined],
    [ping, { 'Mcp-Session-Id': 'unknown' }, 404, undefined],
    [ping, { 'MCP-Protocol-Version': '1999-01-01' }, 400, 7],
    [ping, { Origin: 'https://evil.example' }, 403, undefined],
    [ping, { 'Content-Type': 'text/plain' }, 415, undefined],
  ];
  for (const [body, headers, status, id] of cases) {
    const reply = await post(body, headers);
    assert.equal(reply.status, status, body);
    assert.ok(reply.body.error.message, body);
    assert.equal(reply.body.id, id, `${body} ${JSON.stringify(headers)}`);
    assert.equal('id' in reply.body, id !== undefined, `${body} ${JSON.stringify(headers)}`);
  }
});
