// A call that stays goes on at its home. Two nodes on one Redis, behind nginx without affinity, and a toy provider that keeps something for
// each of its calls (home.c): the answers of a client, and the client that comes back, reach any node; so does whoever answers in the inbox.
// While its home lives, every call ends right, also if nodes fall asleep for a while. When its home is killed, every call ends once in
// OUTCOME_UNKNOWN. Each is begun once.
import test from 'node:test';
import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import path from 'node:path';
import { SECRET, combinations, openHouse, pause, sideBySide, startRedis } from './house.js';
import { startNginx } from './nginx.js';
import { Client2025, Client2026, patiently, rightText, wordsOf } from './clients.js';
import { PATIENCE_MS, runOnce, textOf, within } from '../wire/harness.js';
import { token, tokenFile } from '../wire/inbox.js';
import { word } from '../wire/modern.js';

const SOAK = process.env.NOD_SOAK === '1';
const CALLS = Number(process.env.CALLS ?? (SOAK ? 500 : 20)); // of each era
const KILLED = SOAK ? 100 : 6;
const SIDE_BY_SIDE = SOAK ? 10 : 4; // so that each node sleeps while some are under way
const ASLEEP_MS = 4000; // the time to live of a node is 5 s
const BETWEEN_MS = 1500; // two naps
const SPREAD_MS = SOAK ? 0 : 1000; // before a call, so that few calls meet both sleepers
const CALL_MS = 2 * PATIENCE_MS;
const PROGRAM = 'tests/chaos/home-server';
const AS_ADA = { Authorization: `Bearer ${token('ada')}` };

const eras = combinations.filter(({ store }) => store === 'redis').map(({ era }) => era);
const clientOf = (era, urls, manners) => new (era === '2025' ? Client2025 : Client2026)(urls, { token: token('ada'), ...manners }).connect();

async function open(t, second = {}) {
  const redis = await startRedis(t);
  const house = await openHouse(t, 'redis', { redis });
  const node = { program: PROGRAM, args: ['--surfaces', 'client,inbox', '--token-file', tokenFile(t)] };
  return { house, nodes: [await house.node(node), await house.node({ ...node, ...second })] };
}

// The calls that were begun, by their ids.
const begunOf = (house, tag) => readdirSync(path.join(house.folder, 'deeds')).filter((name) => name.startsWith(`${tag}@`))
  .map((name) => /@(.{22})-\d+$/.exec(name)[1]);

function begunOnce(house) {
  const begun = begunOf(house, '');
  const all = readdirSync(path.join(house.folder, 'deeds')).map((name) => /@(.{22})-\d+$/.exec(name)[1]);
  assert.equal(begun.length, 0, 'no call without a tag');
  assert.equal(new Set(all).size, all.length, 'no call is begun twice');
  return all.length;
}

// Somebody in the inbox: answers the question of that tag, at any node.
async function answerInInbox(url, tag, key) {
  const api = url.replace(/mcp$/, 'api/elicitation');
  const until = Date.now() + CALL_MS;
  for (;; await pause(50)) {
    assert.ok(Date.now() < until, `${tag}: the ${key} question is not in the inbox`);
    const reply = await fetch(`${api}?limit=200`, { headers: AS_ADA, signal: AbortSignal.timeout(10000) }).catch(() => null);
    const items = reply?.status === 200 ? (await reply.json()).items : await reply?.text().then(() => []);
    const ask = items?.find(({ message }) => message === `${tag}, the ${key} word?`);
    if (!ask) continue;
    const resolved = await fetch(`${api}/${ask.id}/resolve`, {
      method: 'POST', headers: { ...AS_ADA, 'Content-Type': 'application/json' }, signal: AbortSignal.timeout(10000),
      body: JSON.stringify(word(wordsOf(tag)[key])),
    }).catch(() => null);
    await resolved?.text();
    if ([200, 202, 409].includes(resolved?.status)) return;
  }
}

// Everything is answered in the inbox; the client comes back for what has become of it.
async function callByInbox(era, client, url, tag) {
  if (era === '2025')
    return client.call('stays', tag, { ms: CALL_MS, onAsk: (ask) => answerInInbox(url, tag, /the (\w+) word/.exec(ask.params.message)[1]) });
  let retry;
  const until = Date.now() + CALL_MS;
  for (const key of ['first', 'second', 'no']) {
    for (;;) {
      assert.ok(Date.now() < until, `${tag}: not in time`);
      const reply = await patiently(tag, () => client.modern.call('stays', { tag }, retry ?? {}, { url, signal: AbortSignal.timeout(10000) }));
      const { result } = reply;
      assert.ok(result, reply.text);
      if (result.resultType === 'complete') return { text: textOf(result) };
      retry = { requestState: result.requestState };
      if (Object.keys(result.inputRequests ?? {}).includes(key)) break;
      await pause(50);
    }
    await answerInInbox(url, tag, key);
  }
  throw new Error(`${tag}: asked too often`);
}

for (const era of eras)
  test(`${era}: ${CALLS} calls, answered and come back for at any node, while nodes fall asleep: all right, each begun once`, async (t) => {
    const { house, nodes } = await open(t);
    const { url } = await startNginx(t, nodes.map(({ at }) => at));
    const tags = Array.from({ length: CALLS }, (_, i) => `h${i}`);
    let over = false;
    let naps = 0;
    const sleeper = (async () => {
      for (; !over; naps++) {
        const { child } = nodes[naps % 2];
        child.kill('SIGSTOP');
        await pause(ASLEEP_MS);
        child.kill('SIGCONT');
        await pause(BETWEEN_MS);
      }
    })();
    let elsewhere = 0;
    try {
      await sideBySide(SIDE_BY_SIDE, tags, async (tag, i) => {
        await pause(SPREAD_MS);
        const client = await clientOf(era, url, { patienceMs: 6000, sameId: true });
        const { text, error } = await (i % 2 ? callByInbox(era, client, url, tag) : client.call('stays', tag, { ms: CALL_MS }));
        assert.equal(text, rightText('deed', tag), JSON.stringify(error));
        assert.ok(begunOf(house, tag).length >= 1);
        elsewhere += client.elsewhere;
      });
    } finally {
      over = true;
      await sleeper;
    }
    for (const { watched } of nodes) assert.doesNotMatch(watched.stderr, /OUTCOME_UNKNOWN|the node that began it is gone/);
    t.diagnostic(`${era}: ${CALLS} calls, ${elsewhere} answers through another node than the one that asked, ${naps} naps, ${begunOnce(house)} begun`);
    await house.close();
  });

// The call has asked at its home, and its client holds a handle.
async function begin(era, node, tag) {
  const client = await clientOf(era, node.url);
  if (era === '2026') {
    const { requestState } = await client.modern.asked('stays', { tag });
    return { come: (url) => client.modern.call('stays', { tag }, { requestState, inputResponses: { first: word(wordsOf(tag).first) } }, { url }).then(({ result, text }) => result ?? text) };
  }
  const story = { note() {}, again: () => pause(20), begun: 0, until: Date.now() + CALL_MS };
  const seen = {};
  const response = await client.begin(story, 'stays', { tag }, tag);
  let held;
  const asked = new Promise((resolve) => {
    held = client.read(story, tag, response, tag, seen, [], async (ask) => resolve(ask)).catch(() => null);
  });
  await within(PATIENCE_MS, 'a question', asked);
  return { held, come: async (url) => {
    client.urls = [url];
    for (let message; ;) { // a stream that ends without a result is taken up again
      message = await client.read(story, tag, await client.resume(story, { ...seen }), tag, { ...seen }, [], async () => {});
      if (message) return message.result;
    }
  } };
}

for (const era of eras)
  test(`${era}: the home of ${KILLED} calls is killed: each ends once in OUTCOME_UNKNOWN, and was begun once`, async (t) => {
    const { house, nodes: [home, other] } = await open(t);
    const tags = Array.from({ length: KILLED }, (_, i) => `k${i}`);
    const calls = await Promise.all(tags.map((tag) => begin(era, home, tag)));
    await home.kill();
    home.stopping = true;
    const ends = await within(CALL_MS, 'every client is told', Promise.all(calls.map(({ come }) => come(other.url))));
    const again = await Promise.all(calls.map(({ come }) => come(other.url)));
    for (const [i, result] of ends.entries()) {
      assert.equal(result._meta?.code, 'OUTCOME_UNKNOWN', JSON.stringify(result));
      assert.deepEqual(again[i], result, 'the same to whoever comes again');
    }
    assert.equal(begunOnce(house), KILLED);
    await other.stop();
  });

for (const era of eras)
  test(`${era}: who comes to a node without the tool waits there for the end`, async (t) => {
    const { house, nodes: [home, other] } = await open(t, { env: { HOME_WITHOUT: '1' } });
    const { come } = await begin(era, home, 'w');
    const comes = come(other.url);
    if (era === '2025') await answerInInbox(other.url, 'w', 'first');
    else {
      const result = await within(PATIENCE_MS, 'the second question', comes);
      assert.equal(result.resultType, 'input_required', JSON.stringify(result));
      assert.deepEqual(Object.keys(result.inputRequests), ['second']);
    }
    await answerInInbox(other.url, 'w', 'second');
    const end = era === '2025' ? await within(PATIENCE_MS, 'the end', comes) : null;
    if (end) assert.equal(textOf(end), rightText('deed', 'w'));
    assert.equal(begunOnce(house), 1);
    await house.close();
  });

for (const era of eras)
  test(`${era}: an operator ends a call that waits at its home: its client is told, and its provider at home`, async (t) => {
    const { house, nodes: [home, other] } = await open(t);
    const { come, held } = await begin(era, home, 'o');
    const [call] = begunOf(house, 'o');
    const nod = (...args) => runOnce('nod', ['store', ...args, `--store=${house.address}`], { MCP_ELICITATION_SECRET: SECRET });
    const listed = await nod('list', '--json');
    assert.deepEqual(JSON.parse(listed.stdout).calls.map((one) => [one.call ?? one.id, one.state]), [[call, 'waiting']], listed.stdout);
    const ended = await nod('end', call, '--reason', 'a mistake');
    assert.equal(ended.code, 0, ended.stderr);
    await within(PATIENCE_MS, 'the provider is told', (async () => {
      while (!/a session has ended.*ENDED_BY_OPERATOR/.test(home.watched.stderr)) await pause(20);
    })());
    const result = held ? (await within(PATIENCE_MS, 'the end', held)).result : await come(other.url);
    assert.equal(result._meta?.code, 'ENDED_BY_OPERATOR', JSON.stringify(result));
    await house.close();
  });
