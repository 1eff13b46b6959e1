// Two nodes, one Redis, behind nginx round-robin: each request of a call may reach another node.
// Then the same with one node killed every second and brought back.
import test from 'node:test';
import assert from 'node:assert/strict';
import { combinations, openHouse, pause, sideBySide, startRedis } from './house.js';
import { startNginx } from './nginx.js';
import { Client2025, Client2026, Count } from './clients.js';

const CALLS = Number(process.env.CALLS ?? (Number(process.env.NOD_SOAK) ? 1000 : 150));
const SIDE_BY_SIDE = 24;
const KILL_MS = 1000;

async function behindNginx(t) {
  const redis = await startRedis(t);
  const house = await openHouse(t, 'redis', { redis });
  const nodes = [await house.node(), await house.node()];
  const { url } = await startNginx(t, nodes.map(({ port }) => port));
  return { house, nodes, url };
}

async function thousand(era, url, house) {
  const count = new Count();
  const clients = await Promise.all(Array.from({ length: SIDE_BY_SIDE }, () =>
    (era === '2025' ? new Client2025(url) : new Client2026(url)).connect()));
  await sideBySide(SIDE_BY_SIDE, Array.from({ length: CALLS }, (_, i) => i), async (i) => {
    const tool = i % 2 ? 'deed' : 'deed_blocking';
    await count.of(house, tool, `n${i}`, clients[i % SIDE_BY_SIDE].call(tool, `n${i}`));
  });
  const answers = clients.reduce((sum, { answers: given }) => sum + given, 0);
  const elsewhere = clients.reduce((sum, { elsewhere: given }) => sum + given, 0);
  return { count, answers, elsewhere };
}

for (const { era } of combinations.filter(({ store }) => store === 'redis')) {
  test(`${era}: ${CALLS} calls with two asks each, half of the answers through the other node`, async (t) => {
    const { house, url } = await behindNginx(t);
    const { count, answers, elsewhere } = await thousand(era, url, house);
    t.diagnostic(`${era}: ${answers} answers, ${elsewhere} of them through another node than the one that asked`);
    count.check(t, house, `${era}, two nodes`);
    assert.ok(elsewhere > answers * 0.25 && elsewhere < answers * 0.75, 'about half of them');
    await house.close();
  });

  test(`${era}: the same with one node killed every second and brought back`, async (t) => {
    const { house, nodes, url } = await behindNginx(t);
    nodes.forEach((node) => node.keep());
    let over = false;
    const killer = (async () => {
      for (let i = 0; !over; i++) {
        await pause(KILL_MS);
        if (!over) nodes[i % 2].child.kill('SIGKILL');
      }
    })();
    const { count } = await thousand(era, url, house);
    over = true;
    await killer;
    t.diagnostic(`${era}: nodes killed ${house.deaths()} times`);
    count.check(t, house, `${era}, two nodes, killed`);
    await house.close();
  });
}
