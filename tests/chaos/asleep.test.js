// Asleep, not dead: a node is stopped in the middle of a deed, for longer than its heartbeat. Another takes over and
// finishes. When the first one wakes up, it may write nothing, and the client gets one result. In a soak handlers crash on the other one
// meanwhile, and on both afterwards.
import test from 'node:test';
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { combinations, openHouse, pause, startRedis } from './house.js';
import { Client2025, Client2026, Count, rightText, wordsOf } from './clients.js';
import { CRASHING, letCrash } from './crashers.js';
import { PATIENCE_MS, sseEvents, textOf, within } from '../wire/harness.js';
import { retryOf, word } from '../wire/modern.js';

const ASLEEP = -1; // for slow_ms: the node falls asleep in the middle of the deed
const LATE_MS = 1000; // for what must not come any more
const tools = ['deed', 'deed_blocking'];

async function twoNodes(t) {
  const redis = await startRedis(t);
  const house = await openHouse(t, 'redis', { redis });
  return { house, sleeper: await house.node(), other: await house.node() };
}

async function until(what, isTrue) {
  await within(PATIENCE_MS, what, (async () => {
    while (!isTrue()) await pause(10);
  })());
}

const fallsAsleep = (house, sleeper, tag) =>
  until('the node sleeps, and the deed is begun', () => house.deedsOf(tag) === 1 && /^State:\s+T/m.test(readFileSync(`/proc/${sleeper.child.pid}/status`, 'utf8')));

// The sleeper is awake, and has found out.
async function wakeUp(house, sleeper, tag) {
  sleeper.child.kill('SIGCONT');
  await until('the sleeper learns that it was taken over', () => /taken over/.test(sleeper.watched.stderr));
  assert.equal(house.deedsOf(tag), 1, 'the deed is there once');
  assert.equal(house.again().length, 1, 'tried again once, under the same key');
}

for (const tool of tools.filter(() => combinations.some(({ era, store }) => era === '2026' && store === 'redis')))
  test(`2026, ${tool}: the same retry at the other node brings the result, and the first request the same`, async (t) => {
    const { house, sleeper, other } = await twoNodes(t);
    const client = new Client2026(sleeper.url);
    const args = { tag: 's', slow_ms: ASLEEP };
    const first = await client.modern.asked(tool, args);
    const second = await client.modern.asked(tool, args, retryOf(first, { first: word('s-a') }));
    const retry = retryOf(second, { second: word('s-b') });
    const held = client.modern.call(tool, args, retry);
    held.catch(() => {});
    await fallsAsleep(house, sleeper, 's');
    const reply = await client.modern.call(tool, args, retry, { url: other.url });
    assert.equal(textOf(reply.result), rightText(tool, 's'), reply.text);
    await wakeUp(house, sleeper, 's');
    const late = await within(PATIENCE_MS, 'the held request is answered', held);
    assert.deepEqual(late.result, reply.result, 'the same, and not another');
    await house.close();
  });

for (const tool of tools.filter(() => combinations.some(({ era, store }) => era === '2025' && store === 'redis')))
  test(`2025, ${tool}: the stream is taken up at the other node and has the result, once`, async (t) => {
    const { house, sleeper, other } = await twoNodes(t);
    const client = await new Client2025(sleeper.url).connect();
    const seen = {};
    const results = [];
    const story = { note() {}, begun: 0, until: Date.now() + PATIENCE_MS, wordFor: (key) => word(wordsOf('s')[key]) };
    const response = await client.begin(story, tool, { tag: 's', slow_ms: ASLEEP }, 'the-call');
    const held = (async () => {
      for await (const event of sseEvents(response.body)) {
        if (event.id) seen.last = event.id;
        if (!event.data) continue;
        const message = JSON.parse(event.data);
        if (message.method === 'elicitation/create') await client.answer(story, 's', message);
        else if (message.id === 'the-call') results.push(message);
      }
    })().catch(() => {});
    await fallsAsleep(house, sleeper, 's');
    client.urls = [other.url];
    const again = await client.resume(story, seen);
    const message = await within(PATIENCE_MS, 'the result at the other node', client.read(story, 's', again, 'the-call', seen, []));
    assert.equal(textOf(message.result), rightText(tool, 's'), JSON.stringify(message));
    await wakeUp(house, sleeper, 's');
    await pause(LATE_MS);
    for (const late of results) assert.deepEqual(late, message, 'what the old stream still says is the same');
    await house.close();
    await held;
  });

for (const { era } of combinations.filter(({ store }) => store === 'redis' && CRASHING))
  for (const tool of tools)
    test(`${era}, ${tool}: asleep while handlers crash on the other node: the client gets one result, and the deed is done once`, async (t) => {
      const { house, sleeper, other } = await twoNodes(t);
      house.nodes.forEach((node) => node.keep());
      const client = await (era === '2025' ? new Client2025(sleeper.url, { patienceMs: 5000 }) : new Client2026(sleeper.url, { patienceMs: 5000 })).connect();
      const count = new Count();
      const call = count.of(house, tool, 's', client.call(tool, 's', { slow_ms: ASLEEP }));
      await fallsAsleep(house, sleeper, 's');
      client.urls = [other.url];
      const crashers = await letCrash(house, era, other.url);
      await call;
      sleeper.child.kill('SIGCONT');
      count.join(await crashers.end(), `beside ${crashers.tool}`);
      count.check(t, house, `${era}, ${tool}, asleep`);
      await house.close();
    });
