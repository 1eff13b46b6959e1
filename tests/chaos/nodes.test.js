// Two nodes, one Redis, behind nginx round-robin: each request of a call may reach another node.
// Then the same with one node killed after the other, while handlers crash (see crashers.js).
import test from 'node:test';
import assert from 'node:assert/strict';
import { combinations, openHouse, pause, startRedis } from './house.js';
import { startNginx } from './nginx.js';
import { Client2025, Client2026, Count } from './clients.js';
import { CRASHING, SOAK, letCrash } from './crashers.js';
import { PATIENCE_MS, within } from '../wire/harness.js';

const CALLS = Number(process.env.CALLS ?? (SOAK ? 1000 : 150));
const KILLS = Number(process.env.KILLS ?? (SOAK ? 40 : 5)); // at least
const SIDE_BY_SIDE = 24;
const BOTH_UP_MS = 500; // before the next one dies

async function behindNginx(t) {
  const redis = await startRedis(t);
  const house = await openHouse(t, 'redis', { redis });
  const nodes = [await house.node(), await house.node()];
  const { url } = await startNginx(t, nodes.map(({ at }) => at));
  return { house, nodes, url };
}

// So many calls, and more while `goOn` says so.
async function thousand(era, url, house, goOn = () => false) {
  const count = new Count();
  let next = 0;
  const clients = await Promise.all(Array.from({ length: SIDE_BY_SIDE }, () =>
    (era === '2025' ? new Client2025(url, { sameId: true }) : new Client2026(url)).connect()));
  await Promise.all(clients.map(async (client) => {
    while (next < CALLS || goOn()) {
      const i = next++;
      const tool = ['deed', 'deed_blocking'][i % 2];
      await count.of(house, tool, `n${i}`, client.call(tool, `n${i}`));
    }
  }));
  const answers = clients.reduce((sum, { answers: given }) => sum + given, 0);
  const elsewhere = clients.reduce((sum, { elsewhere: given }) => sum + given, 0);
  return { count, answers, elsewhere };
}

// nginx takes a node for down for a second or two after a request that failed, and has nobody to go to if the other one dies
// by then: every request would be a 502, and nod would have no part in the test.
const passedOnTo = (node, url) =>
  within(PATIENCE_MS, 'nginx finds the node', (async () => {
    for (;; await pause(20)) {
      const reply = await fetch(url.replace(/mcp$/, 'readyz'));
      await reply.text();
      if (reply.status === 200 && reply.headers.get('x-served-by') === node.at) return;
    }
  })());

for (const { era } of combinations.filter(({ store }) => store === 'redis')) {
  test(`${era}: ${CALLS} calls with two asks each, half of the answers through the other node`, async (t) => {
    const { house, url } = await behindNginx(t);
    const { count, answers, elsewhere } = await thousand(era, url, house);
    t.diagnostic(`${era}: ${answers} answers, ${elsewhere} of them through another node than the one that asked`);
    count.check(t, house, `${era}, two nodes`);
    assert.ok(elsewhere > answers * 0.25 && elsewhere < answers * 0.75, 'about half of them');
    await house.close();
  });

  test(`${era}: the same with one node killed after the other, as soon as nginx has both`, async (t) => {
    const { house, nodes, url } = await behindNginx(t);
    nodes.forEach((node) => node.keep());
    let over = false;
    const killer = (async () => {
      for (let i = 0; !over; i++) {
        await pause(BOTH_UP_MS);
        await Promise.all(nodes.map((node) => passedOnTo(node, url)));
        if (!over) await nodes[i % 2].killAndReturn();
      }
    })();
    const crashers = CRASHING ? await letCrash(house, era, url) : undefined; // a crash takes both nodes away in turn, for seconds
    const { count } = await thousand(era, url, house, () => house.deaths() < KILLS);
    over = true;
    await killer;
    if (crashers) count.join(await crashers.end(), `beside ${crashers.tool}`);
    t.diagnostic(`${era}: nodes killed ${house.deaths()} times`);
    count.check(t, house, `${era}, two nodes, killed`);
    await house.close();
  });
}
