// A request that changes to another protocol: the route /echo/{name} of tests/wire/toy_route.c, which says everything back. Over TCP, TLS
// and a Unix socket; what is refused, and that nothing of it can be taken for something else.
import test from 'node:test';
import assert from 'node:assert/strict';
import net from 'node:net';
import path from 'node:path';
import tls from 'node:tls';
import { writeFileSync } from 'node:fs';
import { PATIENCE_MS, startHttp, within } from './harness.js';
import { scratchFolder } from './modern.js';
import { certificate } from './tls.js';

const [ADA, BOB] = ['ada-token-0123456789abcdef', 'bob-token-0123456789abcdef']; // ada has the role ask alone
const ASKED = { Host: 'localhost', Authorization: `Bearer ${BOB}`, Connection: 'keep-alive, Upgrade', Upgrade: 'other/1, toy-echo' };

async function echoes(t) {
  const folder = scratchFolder(t);
  const file = path.join(folder, 'tokens');
  const socket = path.join(folder, 'socket');
  writeFileSync(file, `${ADA} ada ask\n${BOB} bob answer\n`, { mode: 0o600 });
  const { cert, key, ca } = certificate(folder, 'echo');
  const args = ['--token-file', file];
  const plain = await startHttp(t, 'toy-route', { args });
  const secure = await startHttp(t, 'toy-route', { args: [...args, '--tls-cert', cert, '--tls-key', key, '--http', `unix:${socket}`] });
  await secure.said(/listening.*unix:/);
  const port = (server) => Number(new URL(server.url).port);
  return {
    plain,
    secure,
    ways: {
      tcp: () => net.connect(port(plain), '127.0.0.1'),
      tls: () => tls.connect({ port: port(secure), host: '127.0.0.1', ca, servername: 'localhost' }),
      unix: () => net.connect(socket),
    },
  };
}

// A raw connection: what it has got so far, and waiting for more of it.
function talk(t, socket) {
  let got = '';
  let wake = () => {};
  let ended = false;
  socket.setEncoding('latin1');
  socket.on('data', (data) => { got += data; wake(); });
  socket.on('close', () => { ended = true; wake(); });
  socket.on('error', () => {});
  t.after(() => socket.destroy());
  const until = (what, wanted) => within(PATIENCE_MS, what, (async () => {
    while (!wanted()) await new Promise((resolve) => { wake = resolve; });
  })());
  return {
    socket,
    say: (text) => socket.write(text, 'latin1'),
    got: () => got,
    until: async (text) => { await until(`${JSON.stringify(text)} in ${JSON.stringify(got.slice(0, 500))}`, () => got.includes(text) || ended); assert.ok(got.includes(text), got); },
    closed: () => until('the end', () => ended),
  };
}

const head = (headers, { method = 'GET', at = '/echo/x', version = '1.1' } = {}) =>
  `${method} ${at} HTTP/${version}\r\n${Object.entries(headers).filter(([, value]) => value !== undefined).map(([name, value]) => `${name}: ${value}\r\n`).join('')}\r\n`;
const behind = (text) => text.slice(text.indexOf('\r\n\r\n', text.indexOf('HTTP/1.1 101')) + 4);

test('the stream is taken over, over TCP, TLS and a Unix socket, with what came behind the request', async (t) => {
  const { ways } = await echoes(t);
  for (const [way, dial] of Object.entries(ways)) {
    const one = talk(t, dial());
    const many = Array.from({ length: 100000 }, (_, i) => String.fromCharCode(i * 31 % 251)).join('');
    one.say(head({ Host: 'localhost' }, { at: '/open/first' }) + head(ASKED) + many);
    await one.until('HTTP/1.1 101 Switching Protocols\r\n');
    await one.until('\r\nConnection: Upgrade\r\nUpgrade: toy-echo\r\nX-Whose: bob\r\n\r\n');
    one.say('the end');
    await one.until('the end');
    assert.ok(behind(one.got()) === `${many}the end`, `${way}: every byte, once`);
    assert.match(one.got(), /^HTTP\/1\.1 200 OK\r\n/, way);
    one.socket.end();
    await one.closed();
  }
});

test('what is not allowed, or does not ask for it, is refused and stays HTTP', async (t) => {
  const { ways } = await echoes(t);
  const rows = [
    [403, { ...ASKED, Host: 'evil.example' }],
    [403, { ...ASKED, Origin: 'https://evil.example' }],
    [401, { ...ASKED, Authorization: undefined }],
    [401, { ...ASKED, Authorization: 'Bearer nobody-has-this-token' }],
    [403, { ...ASKED, Authorization: `Bearer ${ADA}` }],
    [426, { ...ASKED, Connection: undefined }],
    [426, { ...ASKED, Upgrade: undefined }],
    [426, { ...ASKED, Connection: 'keep-alive' }],
    [426, { ...ASKED, Upgrade: 'websocket, toy-echo/2, toy-echoes' }],
    [426, ASKED, { version: '1.0' }],
    [400, { ...ASKED, 'Content-Length': '5' }],
    [400, { ...ASKED, 'Transfer-Encoding': 'chunked' }],
    [405, ASKED, { method: 'HEAD' }],
    [405, { ...ASKED, 'Content-Length': '0' }, { method: 'POST' }],
    [404, ASKED, { at: '/echo/a-long-name' }], // by the handler itself
  ];
  for (const [status, headers, how] of rows) {
    const one = talk(t, ways.tcp());
    one.say(head(headers, how));
    await one.until('\r\n\r\n');
    assert.ok(one.got().startsWith(`HTTP/1.1 ${status} `), `${status}: ${JSON.stringify(headers)}: ${one.got()}`);
    if (status === 426) assert.match(one.got(), /\r\nUpgrade: toy-echo\r\nConnection: Upgrade\r\n/);
    assert.ok(!one.got().includes(' 101 '));
    one.socket.destroy();
  }
});

test('a body that looks like another request is the body of what was refused, and nothing else', async (t) => {
  const { ways } = await echoes(t);
  const inner = head({ Host: 'localhost', Authorization: `Bearer ${BOB}` }, { at: '/toy/smuggled' });
  const one = talk(t, ways.tcp());
  one.say(`${head({ ...ASKED, 'Content-Length': inner.length })}${inner}${head({ Host: 'localhost' }, { at: '/open/next' })}`);
  await one.until('"rest":"next"');
  assert.match(one.got(), /^HTTP\/1\.1 400 /);
  assert.ok(!one.got().includes('smuggled') && !one.got().includes(' 101 '), one.got());
  // Chunked, both at once, or a length of nothing: none of them becomes a stream with a body in it.
  const two = talk(t, ways.tcp());
  two.say(`${head({ ...ASKED, 'Content-Length': '0' })}${inner}`);
  await two.until('smuggled');
  assert.equal(behind(two.got()), inner, 'after 101 it is not HTTP');
  const three = talk(t, ways.tcp());
  three.say(`${head({ ...ASKED, 'Content-Length': '0', 'Transfer-Encoding': 'chunked' })}0\r\n\r\n${inner}`);
  await three.closed();
  assert.match(three.got(), /^HTTP\/1\.1 400 /);
  assert.ok(!three.got().includes('smuggled'), three.got());
});

test('a server that stops closes what was taken over, and goes', async (t) => {
  const { plain, secure, ways } = await echoes(t);
  const all = Object.values(ways).map((dial) => talk(t, dial()));
  for (const one of all) {
    one.say(`${head(ASKED)}here`);
    await one.until('here');
  }
  await Promise.all([plain.stop(), secure.stop()]); // which looks at how they ended
  for (const one of all) await one.closed();
});
