// Killed at random: rounds of calls on a server that is killed again and again, by the clock or at a named instant.
//
//   SEED=n      repeats what is random in a run (what the machine adds is not)
//   ROUNDS=n    20 unless it says otherwise; `make chaos` has 300
import test from 'node:test';
import { execFileSync } from 'node:child_process';
import path from 'node:path';
import { combinations, keepLog, openHouse, pause, seeded, sideBySide, startRedis } from './house.js';
import { Client2025, Client2026, Count, TaskClient } from './clients.js';

const ROUNDS = Number(process.env.ROUNDS ?? 20);
const SEED = Number(process.env.SEED ?? Math.floor(Math.random() * 2 ** 31));
const CALLS = 50;
const DEATHS = 6; // of a server in one round; then it is left alone, so that the round ends
const SESSIONS = 5;
const SIDE_BY_SIDE = 2;
const BEGIN_WITHIN_MS = 1500;

const program = path.join(process.env.NOD_BIN_DIR, 'tests/chaos/chaos-server');
const points = execFileSync(program, { env: { ...process.env, NOD_CRASH_AT: 'list' }, encoding: 'utf8' }).trim().split('\n');

const toolsOf = (era, store) => [
  'deed', 'deed', 'deed_blocking',
  ...(era === '2025' || store === 'redis' ? ['deed_once'] : []),
  ...(era === '2026' ? ['deed_task'] : []),
];

async function clientsOf(era, url) {
  if (era === '2026') return { clients: [new Client2026(url)], tasks: new TaskClient(url) };
  const clients = [];
  for (let i = 0; i < SESSIONS; i++) clients.push(await new Client2025(url).connect());
  return { clients };
}

// Half of its deaths come by the clock, half at a point.
async function killNowAndThen(node, random, isOver) {
  while (!isOver() && node.deaths < DEATHS) {
    await pause(30 + random.below(300));
    if (!isOver() && node.deaths < DEATHS && random.below(2)) node.child.kill('SIGKILL');
  }
}

async function round({ era, store }, seed, house) {
  const random = seeded(seed);
  const nextCrash = () => (node.deaths < DEATHS && random.below(2) ? `${random.pick(points)}:${1 + random.below(20)}` : undefined);
  const node = await house.node();
  node.keep(nextCrash);
  const { clients, tasks } = await clientsOf(era, node.url);
  const count = new Count();
  const tools = toolsOf(era, store);
  const plan = Array.from({ length: CALLS }, (_, i) => ({ tool: random.pick(tools), at: random.below(BEGIN_WITHIN_MS), tag: `c${i}` }));
  let over = false;
  const killer = killNowAndThen(node, random, () => over);
  await Promise.all(plan.map(async ({ tool, at, tag }, i) => {
    await pause(at);
    const client = tool === 'deed_task' ? tasks : clients[i % clients.length];
    await count.of(house, tool, tag, client.call(tool, tag));
  }));
  over = true;
  await killer;
  return count;
}

test(`${ROUNDS} rounds of ${CALLS} calls on servers that are killed at random: SEED=${SEED}`, async (t) => {
  const redis = combinations.some(({ store }) => store === 'redis') ? await startRedis(t) : undefined;
  const total = new Count();
  let again = 0;
  let deaths = 0;
  await sideBySide(SIDE_BY_SIDE, Array.from({ length: ROUNDS }, (_, i) => i), async (i) => {
    const combination = combinations[i % combinations.length];
    const house = await openHouse(t, combination.store, { redis });
    const what = `round ${i} (${combination.era}, ${combination.store})`;
    const count = await round(combination, SEED + i, house);
    total.join(count, what);
    again += house.again().length;
    deaths += house.deaths();
    if (count.faults.length) keepLog(house, what);
    await house.close();
  });
  t.diagnostic(`SEED=${SEED}: servers killed ${deaths} times, second attempts at a deed ${again}`);
  total.check(t, null, `${ROUNDS} rounds`);
});
