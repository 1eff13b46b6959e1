// A rolling restart: two nodes, one Redis, behind nginx, and SIGTERM for one node after the other while calls come and go.
// Nothing is lost, nothing is done twice, and a client sees only what every client library handles by itself:
//
//   2025    the stream of a waiting call ends, and is resumed by GET with Last-Event-ID
//   both    a request that a stopping node no longer takes is sent again: its connection is closed, or it gets 502 (nginx:
//           the node closed the connection before it had read the request) or 503 with Retry-After
//
// The same request, sent again, goes through; in 2025 with its id, so that it is one call even if the node had begun it. Any other status, and any JSON-RPC error, fails the test.
// Then again beside handlers that crash, in a soak: the same holds, and a node that a handler ends while it stops has been told to.
import test from 'node:test';
import assert from 'node:assert/strict';
import { combinations, openHouse, pause, startRedis } from './house.js';
import { startNginx } from './nginx.js';
import { Client2025, Client2026, Count } from './clients.js';
import { CRASHING, SOAK, letCrash } from './crashers.js';

const SIDE_BY_SIDE = 24;
const ROUNDS = Number(process.env.ROUNDS ?? (SOAK ? 8 : 4)); // nodes that are replaced
const UP_MS = 2500; // before the next one goes: longer than nginx takes a node for down that was (fail_timeout, in whole seconds)

// What a client may see, by the words that clients.js notes when it comes again.
const SEEN = [
  ['stream ended', /^the stream has ended$/],
  ['connection closed', /ECONNRESET|other side closed|UND_ERR_SOCKET|socket hang up|terminated/],
  ['502', /(^|: )502\b/],
  ['503', /(^|: )503\b/],
];

// One node goes and comes back before the next one does.
async function roll(nodes) {
  const took = [];
  for (let i = 0; i < ROUNDS; i++) {
    await pause(UP_MS);
    const node = nodes[i % nodes.length];
    const began = Date.now();
    await node.leave();
    took.push(Date.now() - began);
    await node.starting;
  }
  return took;
}

const reasons = (stories) => {
  const seen = Object.fromEntries(SEEN.map(([name]) => [name, 0]));
  const others = [];
  for (const line of stories.flatMap(({ whyAgain }) => whyAgain)) {
    const known = SEEN.find(([, words]) => words.test(line));
    if (known) seen[known[0]]++;
    else others.push(line);
  }
  return { seen, others };
};

const worlds = combinations.filter(({ store }) => store === 'redis').flatMap(({ era }) => [{ era }, ...(CRASHING ? [{ era, crash: true }] : [])]);

for (const { era, crash } of worlds)
  test(`rolling restart, ${era}${crash ? ', beside handlers that crash' : ''}: nothing is lost, and a client sees nothing that it does not deal with by itself`, async (t) => {
    const redis = await startRedis(t);
    const house = await openHouse(t, 'redis', { redis });
    const nodes = [(await house.node()).keep(), (await house.node()).keep()];
    const { url } = await startNginx(t, nodes.map(({ at }) => at));
    const clients = await Promise.all(Array.from({ length: SIDE_BY_SIDE }, () =>
      (era === '2025' ? new Client2025(url, { sameId: true }) : new Client2026(url)).connect()));
    const count = new Count();
    const stories = [];
    let over = false;
    let next = 0;
    const crashers = crash && (await letCrash(house, era, url));
    const rolling = roll(nodes).finally(() => (over = true));
    const load = async (client) => {
      while (!over) {
        const i = next++;
        const tool = ['deed', 'deed_blocking', 'deed_early'][i % 3];
        const call = client.call(tool, `r${i}`);
        call.then(({ story }) => stories.push(story), () => {});
        await count.of(house, tool, `r${i}`, call);
        const early = house.deedsOf(`r${i}.early`);
        if (era === '2025' && early > 1) count.fault('doubled', `${tool} r${i}: the same request did its first deed ${early} times`);
      }
    };
    const [took] = await Promise.all([rolling, ...clients.map(load)]);
    const { seen, others } = reasons(stories);
    t.diagnostic(`${era}: ${took.length} nodes replaced, each down after ${Math.min(...took)} to ${Math.max(...took)} ms; seen: ${JSON.stringify(seen)}`);
    if (crashers) count.join(await crashers.end(), `beside ${crashers.tool}`);
    count.check(t, house, `${era}, rolling restart`);
    assert.deepEqual(others, [], 'nothing else was seen');
    assert.ok(count.calls > ROUNDS * SIDE_BY_SIDE, `only ${count.calls} calls: that is no load`);
    await house.close();
  });
