// Redis goes away in the middle of many pending asks, by kill -9, and comes back. None is lost, and /readyz told. In a soak handlers crash meanwhile.
import test from 'node:test';
import assert from 'node:assert/strict';
import { combinations, openHouse, pause, startRedis } from './house.js';
import { Client2025, Client2026, Count } from './clients.js';
import { crashersBeside, worlds } from './crashers.js';
import { PATIENCE_MS, within } from '../wire/harness.js';

const ASKS = 200;
const AWAY_MS = 5000;
const SESSIONS = 5;

// What /readyz says, noted whenever it changes.
function watchReadiness(t, url) {
  const seen = [];
  let over = false;
  t.after(() => (over = true));
  const done = (async () => {
    while (!over) {
      const response = await fetch(url.replace(/\/mcp$/, '/readyz')).catch(() => null); // no server
      const [status, text] = [response?.status ?? 0, await response?.text()];
      if (seen.at(-1)?.status !== status) seen.push({ status, text });
      await pause(50);
    }
  })();
  return { seen, stop: () => ((over = true), done) };
}

for (const { era } of combinations.filter(({ store }) => store === 'redis'))
  worlds(`${era}: ${ASKS} questions wait while Redis is away for ${AWAY_MS / 1000} s: none is lost`, async (t, crash) => {
    const redis = await startRedis(t);
    const house = await openHouse(t, 'redis', { redis });
    const node = (await house.node()).keep();
    const clients = era === '2026' ? [new Client2026(node.url)]
      : await Promise.all(Array.from({ length: SESSIONS }, () => new Client2025(node.url).connect()));
    const crashers = await crashersBeside(crash, house, era, node.url);
    const readiness = watchReadiness(t, node.url);
    const count = new Count();
    let asked = 0;
    let allAsked;
    let goOn;
    const all = new Promise((resolve) => (allAsked = resolve));
    const back = new Promise((resolve) => (goOn = resolve));
    // Every other one is answered while the store is away, the rest when it is back.
    const hold = async (i) => {
      if (++asked === ASKS) allAsked();
      await (i % 2 ? back : all);
    };
    const calls = Promise.all(Array.from({ length: ASKS }, (_, i) => {
      const client = clients[i % clients.length];
      const tag = `w${i}`;
      let held = false;
      const once = async () => held || ((held = true), hold(i));
      const options = era === '2026' ? { meanwhile: once }
        : { onAsk: async (ask, story) => { await once(); await client.answer(story, tag, ask); } };
      return count.of(house, 'deed', tag, client.call('deed', tag, options));
    }));
    await within(PATIENCE_MS, 'all have asked', all);
    await redis.stop('SIGKILL');
    await pause(AWAY_MS);
    await redis.again();
    goOn();
    await calls;
    await crashers.check(t);
    count.check(t, house, `${era}: Redis away for ${AWAY_MS} ms`);
    await within(PATIENCE_MS, 'ready again', (async () => {
      while (readiness.seen.at(-1)?.status !== 200) await pause(50);
    })());
    await readiness.stop();
    t.diagnostic(`/readyz: ${readiness.seen.map(({ status }) => status).join(' ')}`);
    if (!crash) assert.deepEqual(readiness.seen.map(({ status }) => status), [200, 503, 200]);
    for (const { text } of readiness.seen.filter(({ status }) => status === 503)) assert.match(text, /redis/i, 'and says why');
    await house.close();
  });

test('2026: while Redis is known to be away, a step that would come first is not begun', async (t) => {
  const redis = await startRedis(t);
  const house = await openHouse(t, 'redis', { redis });
  const node = await house.node();
  await redis.stop('SIGKILL');
  await within(PATIENCE_MS, 'the server knows', (async () => {
    while ((await fetch(node.url.replace(/\/mcp$/, '/readyz'))).status !== 503) await pause(20);
  })());
  const { modern } = new Client2026(node.url);
  for (const tag of ['one', 'two']) {
    const { text } = await modern.request('tools/call', { name: 'deed_first', arguments: { tag } });
    assert.match(text, /STORE_UNAVAILABLE|cannot be stored now/);
    assert.equal(house.deedsOf(tag), 0);
  }
  await redis.again();
  await house.close();
});
