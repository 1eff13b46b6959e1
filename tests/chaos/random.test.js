// Killed at random: rounds of calls on servers that are killed again and again, at random times or at a crash point.
//
// The rounds vary what has revealed faults before: two nodes and requests to any of them, a node whose clock is an hour
// off, every request sent twice, answers in the wrong order, and a stop of all servers that is longer than ends are
// usually kept. The tools vary too: a deed before the first question, two questions at once, questions that wait for
// hours, questions that are put again, a handler that crashes once in a hundred runs. In some rounds (in a soak in all) one call
// crashes its server whenever it is run: it ends by that, and nobody else's call does.
//
//   SEED=n      repeats what is random in a run (what the machine adds is not)
//   ROUNDS=n    8 unless it says otherwise; `make chaos` and `make soak` have 300
import test from 'node:test';
import { execFileSync } from 'node:child_process';
import path from 'node:path';
import { combinations, keepLog, openHouse, pause, seeded, sideBySide, startRedis } from './house.js';
import { Client2025, Client2026, Count, TaskClient } from './clients.js';
import { SEED, SOAK, letCrash } from './crashers.js';

const ROUNDS = Number(process.env.ROUNDS ?? (SOAK ? 300 : 8));
const CALLS = 50;
const DEATHS = 6; // of a server in one round; then it is left alone, so that the round ends
const SESSIONS = 5;
const SIDE_BY_SIDE = 2;
const BEGIN_WITHIN_MS = 1500;
const SKEW_MS = 3600000;
const KEEP = '1s'; // of rounds with a long stop
const STOP_MS = 2500;

const program = path.join(process.env.NOD_BIN_DIR, 'tests/chaos/chaos-server');
const points = execFileSync(program, { env: { ...process.env, NOD_CRASH_AT: 'list' }, encoding: 'utf8' }).trim().split('\n');

const toolsOf = (era, store) => [
  'deed', 'deed_blocking', 'deed_early', 'deed_pair', 'deed_long', 'deed_retry', 'crash_sometimes',
  ...(era === '2025' || store === 'redis' ? ['deed_once'] : []),
  ...(era === '2026' ? ['deed_task'] : []),
];

async function clientsOf(era, urls, manners) {
  if (era === '2026') return { clients: [new Client2026(urls, manners)], tasks: new TaskClient(urls, manners) };
  const clients = [];
  for (let i = 0; i < SESSIONS; i++) clients.push(await new Client2025(urls, manners).connect());
  return { clients };
}

// Half of its deaths come by the clock, half at a point.
async function killNowAndThen(node, random, isOver) {
  while (!isOver() && node.deaths < DEATHS) {
    await pause(30 + random.below(300));
    if (!isOver() && node.deaths < DEATHS && random.below(2)) node.child.kill('SIGKILL');
  }
}

// All of them are down for a while.
async function stopForLong(nodes, random, isOver) {
  await pause(random.below(BEGIN_WITHIN_MS));
  if (isOver()) return;
  const over = pause(STOP_MS);
  nodes.forEach((node) => node.rest(over));
  await over;
}

// What this round is like.
const mannersOf = (random, era, store) => ({
  twice: random.below(2) === 1,
  disorder: random.below(2) === 1,
  stop: random.below(4) === 0,
  skew: store === 'redis' && random.below(2) ? SKEW_MS * (random.below(2) ? 1 : -1) : 0,
  nodes: store === 'redis' ? 1 + random.below(2) : 1, // a SQLite file is one server's
  crash: SOAK || random.below(4) === 0,
});

async function nodesOf(house, manners, random) {
  const args = manners.stop ? ['--keep', KEEP] : [];
  const nodes = [];
  for (let i = 0; i < manners.nodes; i++) {
    const off = i === manners.nodes - 1 && manners.skew; // the last one
    const node = await house.node({ args, env: off ? { NOD_CLOCK_AHEAD_MS: String(manners.skew) } : {} });
    node.keep(() => (node.deaths < DEATHS && random.below(2) ? `${random.pick(points)}:${1 + random.below(20)}` : undefined));
    nodes.push(node);
  }
  return nodes;
}

async function round({ era, store }, seed, house) {
  const random = seeded(seed);
  const manners = mannersOf(random, era, store);
  const nodes = await nodesOf(house, manners, random);
  const urls = nodes.map(({ url }) => url);
  const { clients, tasks } = await clientsOf(era, urls, { ...manners, pick: random.pick });
  const count = new Count();
  const tools = toolsOf(era, store);
  const plan = Array.from({ length: CALLS }, (_, i) => ({ tool: random.pick(tools), at: random.below(BEGIN_WITHIN_MS), tag: `c${i}` }));
  let over = false;
  const isOver = () => over;
  const killers = [...nodes.map((node) => killNowAndThen(node, random, isOver)), ...(manners.stop ? [stopForLong(nodes, random, isOver)] : [])];
  const crashers = manners.crash && (await letCrash(house, era, urls));
  await Promise.all(plan.map(async ({ tool, at, tag }, i) => {
    await pause(at);
    const client = tool === 'deed_task' ? tasks : clients[i % clients.length];
    await count.of(house, tool, tag, client.call(tool, tag));
  }));
  over = true;
  await Promise.all(killers);
  if (crashers) count.join(await crashers.end(), `beside ${crashers.tool}`);
  return { count, manners };
}

test(`${ROUNDS} rounds of ${CALLS} calls on servers that are killed at random: SEED=${SEED}`, async (t) => {
  const redis = combinations.some(({ store }) => store === 'redis') ? await startRedis(t) : undefined;
  const total = new Count();
  let again = 0;
  let deaths = 0;
  let crashes = 0;
  await sideBySide(SIDE_BY_SIDE, Array.from({ length: ROUNDS }, (_, i) => i), async (i) => {
    const combination = combinations[i % combinations.length];
    const house = await openHouse(t, combination.store, { redis });
    const { count, manners } = await round(combination, SEED + i, house);
    const what = `round ${i} (${combination.era}, ${combination.store}, ${JSON.stringify(manners)})`;
    total.join(count, what);
    again += house.again().length;
    deaths += house.deaths();
    crashes += house.crashed().length;
    if (count.faults.length) keepLog(house, what);
    await house.close();
  });
  t.diagnostic(`SEED=${SEED}: servers killed ${deaths} times, crashed ${crashes} times, second attempts at a deed ${again}`);
  total.check(t, null, `${ROUNDS} rounds`);
});
