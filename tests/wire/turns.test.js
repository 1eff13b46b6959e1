// How long a turn of the loop takes, at its longest, while clients ask for as much as they may: nobody else is served meanwhile. What is
// measured is CPU time of the loop's thread, which the server counts itself (nod_turn_seconds_max in /metrics), so it does not matter how
// busy the machine is. What is too long is measured again with a new server before it counts.
//
// A sample by default: one store, and fewer questions. All of it with NOD_SOAK=1, which scripts/soak sets, with an optimised server.
// NOD_TURNS_SLOWER says how many times as long a sanitized server may take.
import { test } from 'node:test';
import assert from 'node:assert/strict';
import http from 'node:http';
import net from 'node:net';
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { PATIENCE_MS, everyEnd, initializeMessage, defaultHeaders, oneOf, pause, startHttp, within } from './harness.js';
import { VERSION, metaOf, scratchFolder } from './modern.js';
import { houses } from './inbox.js';
import { newSecret } from './receiver.js';

const FULL = process.env.NOD_SOAK === '1';
const MOST_MS = 50 * Number(process.env.NOD_TURNS_SLOWER ?? 1);
const TRIES = 3;
const READERS = 30;
const token = (name) => `${name}-token-0123456789abcdef`;
const bearer = (name) => ({ Authorization: `Bearer ${token(name)}` });

// NOD_TURNS_STORE names one.
const stores = FULL ? houses : [houses.find(({ name }) => name === process.env.NOD_TURNS_STORE) ?? oneOf(houses, 'store')];
const some = (full, sample) => (FULL ? full : sample);

async function open(t, store, { args = [], env = {} } = {}) {
  const file = path.join(scratchFolder(t), 'tokens');
  const names = ['ada', ...Array.from({ length: READERS }, (_, i) => `reader${i}`)];
  writeFileSync(file, names.map((name) => `${token(name)} ${name} ask answer approve\n`).join(''), { mode: 0o600 });
  const server = await startHttp(t, 'turns-server', {
    env,
    args: ['--token-file', file, '--store', store?.address ?? 'memory:', '--metrics', '127.0.0.1:0', '--surfaces', 'inbox',
      '--calls-per-principal', '20000', '--pending-per-principal', '20000', ...args],
  });
  const line = /event=metrics url=(\S+)/.exec(server.stderr()) ?? /url=(\S+)/.exec(await server.said(/event=metrics/));
  server.metrics = async () => (await fetch(line[1])).text();
  server.figure = async (name) => Number(new RegExp(`^${name} (\\S+)$`, 'm').exec(await server.metrics())[1]);
  // As long as the figure moves there is patience: thousands of writes take what the machine leaves them.
  server.until = async (name, fits, what) => {
    for (let value = await server.figure(name); !fits(value);) {
      const before = value;
      value = await within(PATIENCE_MS, `${what} (${name} stays at ${before})`, (async () => {
        for (;;) {
          const now = await server.figure(name);
          if (now !== before) return now;
          await pause(20);
        }
      })());
    }
  };
  server.longest = async () => Object.fromEntries([...(await server.metrics()).matchAll(/^nod_turn_seconds_max\{work="(\w+)"\} (\S+)$/gm)]
    .map(([, work, seconds]) => [work, Math.round(Number(seconds) * 1000)]));
  return server;
}

// `work` has a server of its own each time, and returns its figures.
async function short(t, what, work) {
  for (let tries = 1; ; tries++) {
    const longest = await work();
    t.diagnostic(`${what}: ${JSON.stringify(longest)}`);
    const over = Object.entries(longest).filter(([, ms]) => ms > MOST_MS);
    if (!over.length) return;
    assert.ok(tries < TRIES, `${what}: turns of more than ${MOST_MS} ms: ${JSON.stringify(Object.fromEntries(over))}`);
  }
}

// --- clients ---

let lastId = 0;

// A client of each era that can be asked nothing itself: { call(tool, args as text) }.
const eras = {
  2025: async (server, who = 'ada') => {
    const post = (body, headers = {}, signal) => fetch(server.url, { method: 'POST', headers: { ...defaultHeaders, ...bearer(who), ...headers }, body, signal });
    const begun = await post(JSON.stringify(initializeMessage({})));
    await begun.text();
    const headers = { 'Mcp-Session-Id': begun.headers.get('mcp-session-id'), 'MCP-Protocol-Version': '2025-11-25' };
    await (await post(JSON.stringify({ jsonrpc: '2.0', method: 'notifications/initialized' }), headers)).text();
    const send = (method, params, signal) => post(`{"jsonrpc":"2.0","id":${++lastId},"method":"${method}","params":${params}}`, headers, signal).then((r) => r.text());
    return { headers: { ...headers, ...bearer(who) }, send, call: (tool, args, signal) => send('tools/call', `{"name":"${tool}","arguments":${args}}`, signal) };
  },
  2026: async (server, who = 'ada') => {
    const send = async (method, params, signal, headers = {}) => (await fetch(server.url, {
      method: 'POST',
      headers: { ...defaultHeaders, ...bearer(who), 'MCP-Protocol-Version': VERSION, 'Mcp-Method': method, ...headers },
      body: `{"jsonrpc":"2.0","id":${++lastId},"method":"${method}","params":${params.slice(0, -1)}${params === '{}' ? '' : ','}"_meta":${JSON.stringify(metaOf({}))}}}`,
      signal,
    })).text();
    return { send, call: (tool, args, signal) => send('tools/call', `{"name":"${tool}","arguments":${args}}`, signal, { 'Mcp-Name': tool }) };
  },
};

// So many calls of clients of 2025 that wait for somebody. Their connections are dropped: whoever is behind them may come back.
async function waiting(server, count, { args = () => '{}', who = 'ada', tool = 'ask' } = {}) {
  const url = new URL(server.url);
  const begun = await server.figure('nod_asks_total');
  const clients = [];
  for (let from = 0; from < count; from += 500) {
    const client = await eras[2025](server, who); // a session has room for 1024
    clients.push(client);
    const sockets = Array.from({ length: Math.min(500, count - from) }, () => {
      const body = `{"jsonrpc":"2.0","id":${++lastId},"method":"tools/call","params":{"name":"${tool}","arguments":${args()}}}`;
      const socket = net.connect(url.port, url.hostname);
      socket.on('error', () => {});
      const headers = { ...defaultHeaders, ...client.headers, Host: url.host, 'Content-Length': Buffer.byteLength(body) };
      socket.write(`POST ${url.pathname} HTTP/1.1\r\n${Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`).join('')}\r\n${body}`);
      return socket;
    });
    await server.until('nod_asks_total', (asked) => asked >= begun + from + sockets.length, `${from + sockets.length} questions`);
    for (const socket of sockets) socket.destroy();
  }
  return clients;
}

// --- arguments ---

const list = (count, item) => Array.from({ length: count }, (_, i) => item(i)).join(',');
const deep = `${'{"a":'.repeat(50)}1${'}'.repeat(50)}`;
const heavy = {
  'a million numbers': () => `{"numbers":[${list(1e6, () => 7)}]}`,
  'as many numbers as may be': () => `{"numbers":[${list(19900, (i) => 7 + i)}]}`,
  'as many fractions as may be': () => `{"numbers":[${list(19900, (i) => 0.1 + i / 7)}]}`,
  'as many fields as may be': () => `{${list(19900, (i) => `"f${i}":${i}`)}}`,
  'as many different values as may be': () => `{"different":[${list(19900, (i) => i)}]}`,
  'deep objects': () => `{"x":[${list(390, () => deep)}]}`,
  'a long string': () => `{"words":["${'a'.repeat(4e6)}"]}`,
  'a string of escapes': () => `{"words":["${'\\u00e9'.repeat(650000)}"]}`,
  'many long words': () => `{"words":[${list(19900, (i) => `"${'word'.repeat(20)}${i}"`)}]}`,
  'fields with long texts': () => `{${list(400, (i) => `"f${i}":"${'t'.repeat(9000)}"`)}}`,
};

for (const house of stores)
  for (const era of Object.keys(eras))
    for (const [name, make] of Object.entries(heavy))
      if (FULL || /million|fractions|fields as/.test(name)) test(`${house.name}, ${era}: calls with ${name}`, async (t) => {
        everyEnd(t);
        const args = make();
        for (const tool of some(['take', 'checked', 'ask', 'gated'], ['checked', 'ask']))
          await short(t, `${tool} with ${name}`, async () => {
            const server = await open(t, await house.create(t), { args: ['--soft-deadline', '1s'] });
            const client = await eras[era](server);
            const text = await client.call(tool, args);
            if (/million/.test(name)) assert.match(text, /more values than are allowed/);
            else assert.doesNotMatch(text, /"error"/);
            const longest = await server.longest();
            await server.stop();
            return longest;
          });
      });

// --- lists ---

for (const house of stores)
  test(`${house.name}: thirty people read lists of 8 MB`, async (t) => {
    everyEnd(t);
    await short(t, 'lists', async () => {
      const server = await open(t, await house.create(t));
      const pad = 'x'.repeat(1e6);
      await waiting(server, some(24, 12), { tool: 'gated', args: () => `{"pad":"${pad}"}` });
      const base = new URL('/', server.url);
      const lengths = await Promise.all(Array.from({ length: READERS }, async (_, i) => {
        for (;;) {
          const response = await fetch(new URL('/api/elicitation?limit=200', base), { headers: bearer(`reader${i}`) });
          const { byteLength } = await response.arrayBuffer();
          if (response.status === 200) return byteLength;
          await pause(100); // there is room for some of them at a time
        }
      }));
      assert.ok(lengths.every((length) => length > 5e6), `${lengths}`);
      const longest = await server.longest();
      await server.stop();
      return longest;
    });
  });

// --- very many questions ---

const MANY = some(9000, 600);

for (const house of stores)
  test(`${house.name}: ${MANY} questions, and a webhook that never answers`, async (t) => {
    everyEnd(t);
    const hung = http.createServer(() => {});
    hung.listen(0, '127.0.0.1');
    await new Promise((resolve) => hung.once('listening', resolve));
    t.after(() => {
      hung.closeAllConnections();
      hung.close();
    });
    const target = `127.0.0.1:${hung.address().port}`;
    const secret = path.join(scratchFolder(t), 'secret');
    writeFileSync(secret, `${newSecret()}\n`, { mode: 0o600 });
    await short(t, 'webhook', async () => {
      const server = await open(t, await house.create(t), { args: ['--webhook', `http://${target}/hook`, '--webhook-allow', target, '--webhook-secret', secret] });
      await waiting(server, MANY);
      await pause(some(15000, 1000)); // what is sent is given up after ten seconds, and kept
      const longest = await server.longest();
      await server.stop();
      return longest;
    });
  });

for (const house of stores)
  test(`${house.name}: ${MANY} questions end at the same moment, and are swept`, async (t) => {
    everyEnd(t);
    await short(t, 'expiry', async () => {
      const server = await open(t, await house.create(t), { args: ['--keep', '2s'] });
      for (let round = 0; round < some(10, 1); round++) {
        const at = Date.now() + some(12000, 3000);
        // Each time of somebody else: what nobody has fetched counts for its person as long as their session could come for it.
        await waiting(server, MANY, { who: `reader${round}`, args: () => `{"ttl":${Math.max(at - Date.now(), 1000)}}` });
        await server.until('nod_asks_pending', (left) => left === 0, 'all have ended');
      }
      await pause(some(10000, 3000));
      const longest = await server.longest();
      await server.stop();
      return longest;
    });
  });

for (const house of stores)
  test(`${house.name}: clients with ${MANY} calls end their sessions, and another start finds as many`, async (t) => {
    everyEnd(t);
    await short(t, 'the end of sessions', async () => {
      const store = await house.create(t);
      const server = await open(t, store);
      const clients = await waiting(server, MANY);
      await waiting(server, MANY, { who: 'reader0' });
      for (const { headers } of clients) await (await fetch(server.url, { method: 'DELETE', headers: { ...defaultHeaders, ...headers } })).text();
      await server.until('nod_asks_pending', (left) => left <= MANY, 'their calls have ended');
      const longest = await server.longest();
      await server.kill();
      if (!store) return longest;
      const next = await open(t, store);
      for (let i = 0; i < 50; i++) {
        await (await fetch(new URL('/api/elicitation?limit=200', next.url), { headers: bearer('reader0') })).text();
        await pause(some(100, 20));
      }
      const after = await next.longest();
      await next.stop();
      return { ...longest, ...Object.fromEntries(Object.entries(after).map(([work, ms]) => [`${work} after a start`, ms])) };
    });
  });

// --- lists of tools, pages ---

for (const era of Object.keys(eras))
  test(`${era}: ten thousand tools are listed`, async (t) => {
    everyEnd(t);
    await short(t, 'tools/list', async () => {
      const server = await open(t, null, { env: { TURNS_TOOLS: '9990', TURNS_PAGE: '10000' } });
      const client = await eras[era](server);
      assert.match(await client.send('tools/list', '{}'), /"tool1"/);
      const longest = await server.longest();
      await server.stop();
      return longest;
    });
  });

test('pages for signing in, by many at once', async (t) => {
  everyEnd(t);
  await short(t, 'pages', async () => {
    const server = await open(t, null);
    for (const page of ['/', '/login', '/inbox', '/openapi.json', '/api/me'])
      await Promise.all(Array.from({ length: 200 }, async () => (await fetch(new URL(page, server.url))).text()));
    const longest = await server.longest();
    await server.stop();
    return longest;
  });
});
