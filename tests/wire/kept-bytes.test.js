// One token does its worst with bytes that are kept for it, and nobody else notices: large arguments of calls that wait,
// results that are fetched and results that are not, questions that run out.
//
// With every store. A sample by default; with NOD_SOAK=1 ten minutes in all, and the times of another user's calls are
// compared with those beside an honest client that sends as many bytes, in turns.
import test from 'node:test';
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import net from 'node:net';
import path from 'node:path';
import { HttpPeer, defaultHeaders, startHttp, pause, withoutInbox } from './harness.js';
import { Modern, VERSION, deedsFile, metaOf, retryOf, scratchFolder, word } from './modern.js';
import { stores } from './stores.js';

withoutInbox();

const FULL = process.env.NOD_SOAK === '1';
const TURN_MS = FULL ? 5000 : 500;
const TURNS = FULL ? 18 : 1; // of each of the two clients, and with each store
const RATIO_MOST = 4;
const MIB = 1 << 20;
const SHARE_MIB = FULL ? 8 : 2; // of one principal
const UNIT = SHARE_MIB * MIB / 8; // bytes of a large text
const TRIES = FULL ? 40 : 14, ENDS = FULL ? 40 : 10;
const RSS_MOST = 160 * MIB; // more than at the start: requests on their way, and what is kept twice for a moment
const LARGE = 'x'.repeat(UNIT - 4096);
const EVE = 'eve-token-0123456789abcdef', BOB = 'bob-token-0123456789abcdef', ROOT = 'root-token-0123456789abcdef';

const places = [{ name: 'memory', create: async () => ({ address: 'memory:' }) }, ...stores];

async function start(t, place) {
  const folder = scratchFolder(t);
  const tokens = path.join(folder, 'tokens');
  const deeds = deedsFile(t);
  writeFileSync(tokens, `${EVE} eve ask\n${BOB} bob ask\n${ROOT} root admin\n`, { mode: 0o600 });
  const store = await place.create(t);
  const server = await startHttp(t, 'probe', {
    args: ['--store', store.address, '--token-file', tokens, '--kept-mib-per-principal', String(SHARE_MIB)],
    env: { PROBE_FILE: deeds.file, ASAN_OPTIONS: 'quarantine_size_mb=4:detect_leaks=0' },
  });
  const rss = () => Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${server.pid}/status`, 'utf8'))[1]) * 1024;
  const metric = async (name) => {
    const response = await fetch(new URL('/metrics', server.url), { headers: { Authorization: `Bearer ${ROOT}` } });
    return Number(new RegExp(`^${name} (\\d+)$`, 'm').exec(await response.text())?.[1]);
  };
  return { server, deeds, rss, metric, eve: new Modern(server.url, { token: EVE }), bob: new Modern(server.url, { token: BOB }) };
}

async function until(what) {
  for (let tries = 0; tries < 1000 && !(await what()); tries++) await pause(10);
  assert.ok(await what());
}

// A whole call of somebody else.
async function served(bob) {
  const asked = await bob.asked('bulky', { pad: 'small' });
  assert.match(await bob.ended('bulky', { pad: 'small' }, retryOf(asked, { [Object.keys(asked.inputRequests)[0]]: word('bob') })), /^bob /);
}

// A client that sends a call and reads nothing: its response is written, and is cut off with the connection.
function unread(url, name, args, params) {
  const { hostname, port, pathname } = new URL(url);
  const body = JSON.stringify({ jsonrpc: '2.0', id: 'unread', method: 'tools/call',
    params: { name, arguments: args, ...params, _meta: metaOf() } });
  const head = { ...defaultHeaders, Host: `${hostname}:${port}`, 'MCP-Protocol-Version': VERSION, 'Mcp-Method': 'tools/call', 'Mcp-Name': name,
    Authorization: `Bearer ${EVE}`, 'Content-Length': Buffer.byteLength(body) };
  const socket = net.connect({ host: hostname, port: Number(port) });
  socket.pause();
  socket.on('error', () => {});
  socket.write(`POST ${pathname} HTTP/1.1\r\n${Object.entries(head).map(([key, value]) => `${key}: ${value}\r\n`).join('')}\r\n${body}`);
  return socket;
}

const answered = (asked, text) => retryOf(asked, { [Object.keys(asked.inputRequests)[0]]: word(text) });

function assertFull(reply) {
  assert.equal(reply.status, 429, reply.text?.slice(0, 300));
  assert.ok(Number(reply.headers.get('retry-after')) > 0);
  const error = reply.error ?? reply.json.error;
  assert.equal(error.code, -32603);
  assert.match(error.message, new RegExp(`kept here for 'eve', .* ${SHARE_MIB * MIB} bytes .*--kept-mib-per-principal.*: fetch .* answer or cancel`));
}

for (const place of places) {
  test(`${place.name}: arguments of calls that wait, and results, of both eras`, async (t) => {
    const { server, deeds, rss, metric, eve, bob } = await start(t, place);
    await served(bob);
    const before = rss();

    // Calls that wait.
    const waiting = [];
    for (let i = 0; i < TRIES; i++) {
      const reply = await eve.call('bulky', { pad: LARGE });
      if (reply.status === 200) waiting.push(reply.result);
      else assertFull(reply);
    }
    assert.ok(waiting.length >= 4 && waiting.length <= 8, `${waiting.length} wait`);
    const peer = await new HttpPeer(server.url, { token: EVE }).initialize();
    t.after(() => peer.close());
    assertFull(await peer.send({ id: 'much', method: 'tools/call', params: { name: 'bulky', arguments: { pad: LARGE } } }));
    await served(bob);
    assert.ok((await metric('nod_kept_bytes')) <= 9 * UNIT);
    assert.ok((await metric('nod_kept_refused_total')) >= 1);

    // All of them may end, with large results, which are fetched at once.
    for (const [i, asked] of waiting.entries())
      assert.equal((await eve.ended('bulky', { pad: LARGE }, answered(asked, `w${i}`))).length, 4);
    assert.equal(deeds.lines().filter((line) => line.startsWith('w')).length, waiting.length);

    // What was handed out makes room: eve is served on and on.
    const states = [];
    for (let i = 0; i < ENDS; i++) {
      const asked = await eve.asked('bulky', { back: UNIT });
      const text = await eve.ended('bulky', { back: UNIT }, answered(asked, `h${i}`));
      assert.equal(text.length, UNIT + `h${i} `.length);
      states.push(answered(asked, `h${i}`));
    }
    assert.ok((await metric('nod_kept_dropped_total')) > 0);
    // A state of a call whose content has gone runs nothing again.
    for (const state of states) {
      const reply = await eve.call('bulky', { back: UNIT }, state);
      assert.ok(reply.status === 400 || reply.result?.resultType === 'complete', reply.text.slice(0, 300));
    }
    assert.equal(deeds.lines().filter((line) => line.startsWith('h')).length, ENDS);

    // Results that nobody fetches: the client is gone when its call ends.
    const unfetched = [], slow = { back: UNIT, ms: 600 };
    for (let i = 0; i < TRIES; i++) {
      const reply = await eve.call('bulky_slow', slow);
      if (reply.status !== 200) {
        assertFull(reply);
        break;
      }
      const retry = answered(reply.result, `u${i}`);
      const done = () => deeds.lines().includes(`u${i}`);
      for (let wait = 100; !done(); wait *= 2) { // a busy machine may not have taken the answer by then
        const gone = new AbortController();
        const left = eve.call('bulky_slow', slow, retry, { signal: gone.signal }).catch(() => {});
        await pause(wait);
        gone.abort();
        await left;
        for (let tries = 0; tries < 300 && !done(); tries++) await pause(10);
      }
      unfetched.push(retry);
    }
    assert.ok(unfetched.length >= 4 && unfetched.length <= 9, `${unfetched.length} unfetched`);
    await until(async () => (await metric('nod_calls_live')) === 0);
    for (let i = 0; i < 5; i++) assertFull(await eve.call('bulky', { pad: LARGE }));
    await served(bob);
    for (const [i, retry] of unfetched.entries())
      assert.equal((await eve.ended('bulky_slow', slow, retry)).length, UNIT + `u${i} `.length);
    assert.equal(deeds.lines().filter((line) => line.startsWith('u')).length, unfetched.length);
    await served(bob);
    const grown = rss() - before;
    t.diagnostic(`memory grew by ${(grown / MIB).toFixed(0)} MiB`);
    assert.ok(grown < RSS_MOST, `memory grew by ${grown}`);
  });

  test(`${place.name}: a result whose connection is cut at the end of its call waits for whoever comes back`, async (t) => {
    const { server, deeds, metric, eve, bob } = await start(t, place);
    const slow = { back: UNIT, ms: 50 }, CUT = 6; // of the eight that fit
    const cut = [];
    for (let i = 0; i < CUT; i++) {
      const retry = answered(await eve.asked('bulky_slow', slow), `c${i}`);
      const socket = unread(server.url, 'bulky_slow', slow, retry);
      await until(() => deeds.lines().includes(`c${i}`));
      await until(async () => (await metric('nod_calls_live')) === 0);
      socket.resetAndDestroy();
      cut.push(retry);
    }
    // The room that is left is taken, again and again, and what was cut off is not touched.
    let full = 0;
    for (let i = 0; i < TRIES; i++) {
      const reply = await eve.call('bulky', { pad: LARGE });
      if (reply.status !== 200) full++;
    }
    assert.ok(full > 0);
    await served(bob);
    for (const [i, retry] of cut.entries())
      assert.equal((await eve.ended('bulky_slow', slow, retry)).length, UNIT + `c${i} `.length);
    assert.equal(deeds.lines().filter((line) => line.startsWith('c')).length, CUT);
    await until(async () => (await eve.call('bulky', { pad: LARGE })).status === 200); // they were fetched, and make room
  });

  test(`${place.name}: the calls of others while one token sends all it can`, async (t) => {
    const { rss, metric, eve, bob } = await start(t, place);
    const before = rss();
    const times = { attack: [], honest: [] };
    const flood = {
      attack: () => eve.call('bulky', { pad: LARGE, ttl: 500 }),
      honest: () => eve.call('swallow', { pad: LARGE }),
    };
    await served(bob);
    for (let turn = 0; turn < 2 * TURNS; turn++) {
      const kind = turn % 2 ? 'honest' : 'attack';
      const end = Date.now() + TURN_MS;
      const floods = Array.from({ length: 4 }, async () => {
        while (Date.now() < end) {
          const reply = await flood[kind]();
          assert.ok([200, 429].includes(reply.status), reply.text.slice(0, 300));
        }
      });
      while (Date.now() < end) {
        const begun = performance.now();
        await served(bob);
        times[kind].push(performance.now() - begun);
      }
      await Promise.all(floods);
    }
    const p99 = (list) => list.toSorted((a, b) => a - b)[Math.floor(list.length * 0.99)];
    const ratio = p99(times.attack) / p99(times.honest);
    t.diagnostic(`attack p99 ${p99(times.attack).toFixed(1)} ms (${times.attack.length}), honest ${p99(times.honest).toFixed(1)} ms (${times.honest.length}), attack bytes ratio ${ratio.toFixed(2)}`);
    if (FULL) assert.ok(ratio <= RATIO_MOST, `${ratio}`);
    assert.ok((await metric('nod_kept_bytes')) <= 9 * UNIT + times.attack.length * 4096 + times.honest.length * 4096);
    assert.ok(rss() - before < RSS_MOST, `memory grew by ${rss() - before}`);
  });
}
