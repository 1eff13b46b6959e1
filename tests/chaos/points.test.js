// Killed at every point: for each crash point, in both eras, on both stores, the server dies there and is brought back,
// and its clients come back. Every call gets the right result, and its deed was done once. So it is where the tools are a plugin's, under
// nod serve; on Redis with two of them, each of which dies there. Then once more for each point, beside handlers that crash.
//
// That is the soak. The tests draw a sample: each point in each era, on one store in the one and on the other in the other, and with the
// tools in a plugin or not; of the points that cannot be reached, and of those beside handlers that crash, one for each era and store.
import { describe, it, test } from 'node:test';
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { combinations, eras, keepLog, openHouse, sideBySide, startRedis } from './house.js';
import { Client2025, Client2026, Count, TaskClient } from './clients.js';
import { SOAK, drawn, letCrash, random } from './crashers.js';

const program = path.join(process.env.NOD_BIN_DIR, 'tests/chaos/chaos-server');
const points = execFileSync(program, { env: { ...process.env, NOD_CRASH_AT: 'list' }, encoding: 'utf8' }).trim().split('\n');
const SIDE_BY_SIDE = 3; // of each of two combinations

// What does not come about in a combination, and why. Whatever is not in here has to.
const unreached = {
  priming_after: ({ era }) => era === '2026', // it has no streams to come back to
  secret_before: () => true, // a person gives it on a page: tests/wire/secrets.test.js dies there
  secret_after: () => true,
  task_before: ({ era }) => era === '2025', // it has no tasks
  task_after: ({ era }) => era === '2025',
  open_before: ({ era }) => era === '2025', // of a task
  open_after: ({ era }) => era === '2025',
  task_told_after: ({ era }) => era === '2025',
  page_before: () => true, // pages.test.js does
  page_after: () => true,
  return_before: () => true,
  handle_before: () => true, // of pending results: model.test.js has these four
  handle_after: () => true,
  pended_after: () => true,
  collect_before: () => true, // handle.test.js does
  collect_after: () => true,
  attach_after: () => true,
  // a person connects an account, its token is refreshed, it is disconnected: tests/wire/accounts-points.test.js dies there
  ...Object.fromEntries(['flow_before', 'flow_after', 'connect_before', 'connect_held', 'connect_replaces', 'connect_after', 'lease_before', 'lease_after', 'refresh_before', 'refresh_after', 'revoke_before', 'revoke_marked', 'revoke_after'].map((point) => [point, () => true])),
  view_before: () => true, // view.test.js does
  view_after: () => true,
  sqlite_commit_before: ({ store }) => store !== 'sqlite',
  sqlite_commit_after: ({ store }) => store !== 'sqlite',
  redis_send_before: ({ store }) => store !== 'redis',
  redis_send_after: ({ store }) => store !== 'redis',
  redis_reply_after: ({ store }) => store !== 'redis',
};

// How a server is made to come by a point: the lives it has, each with where it ends. The first way, and for every other
// point, drawn each time, one more; all of them with NOD_SOAK=1.
function livesOf(point) {
  const [first, ...others] = waysTo(point);
  if (SOAK) return [first, ...others];
  return random.below(2) ? [first] : [first, random.pick(others)];
}

function waysTo(point) {
  if (point.startsWith('take_')) return [['answer_after:1', point], ['answer_after:3', `${point}:2`]];
  if (/^(sqlite|redis)_/.test(point)) return [2, 6, 11, 17, 24, 32].map((n) => [`${point}:${n}`]); // for heartbeats too
  return [[point], [`${point}:2`], [`${point}:5`], [point, point]];
}

async function callsOf(era, urls, count, house) {
  const client = era === '2025' ? await new Client2025(urls).connect() : new Client2026(urls);
  const tasks = era === '2026' && new TaskClient(urls);
  const tools = ['deed', 'deed_blocking', 'deed_once'];
  const work = tools.map((tool) => count.of(house, tool, `${tool}-1`, client.call(tool, `${tool}-1`)));
  if (tasks) work.push(count.of(house, 'deed_task', 'task-1', tasks.call('deed_task', 'task-1')));
  work.push((tasks || client).cancelled('word_task', 'cancelled-1').catch((error) => count.fault('lost', error.message)));
  await Promise.all(work);
}

test('docs/inside/crashes.md has every crash point, in their order', () => {
  const page = readFileSync(new URL('../../docs/inside/crashes.md', import.meta.url), 'utf8');
  const listed = [...page.matchAll(/^\| `(\w+)` \|/gm)].map(([, name]) => name);
  assert.deepEqual(listed, points);
});

test('a name that is none is refused', () => {
  assert.throws(() => execFileSync(program, { env: { ...process.env, NOD_CRASH_AT: 'nowhere' }, stdio: 'pipe' }), /NOD_CRASH_AT=nowhere/);
});

// CHAOS_POINT=name,... narrows a run down: these, in every combination.
const wanted = process.env.CHAOS_POINT?.split(',');
const all = SOAK || Boolean(wanted);
const sqliteIn = Object.fromEntries(points.map((point) => [point, random.pick(eras)])); // and Redis in the other one
const isDrawn = (point, { era, store }) => all || (store === 'sqlite') === (era === sqliteIn[point]);

// With the tools in a plugin, or not. Two nodes on Redis take longer: one waits for what the other has left, as long as nod serve does.
const PLUGINS_OF = { sqlite: [true, false], redis: [true, false, false, false, false] };
const pluginsFor = ({ store }) => (all ? [false, true] : [random.pick(PLUGINS_OF[store])]);

function casesOf(combination) {
  const here = points.filter((point) => wanted?.includes(point) ?? true);
  const unreachable = here.filter((point) => unreached[point]?.(combination));
  const reachable = here.filter((point) => !unreachable.includes(point) && isDrawn(point, combination));
  const expected = all ? unreachable : drawn(unreachable);
  const crashing = (reachable.length ? drawn(reachable) : []).map((point) => ({ point, lives: waysTo(point)[0], crash: true })); // first: they take long
  const killed = [...reachable, ...expected].flatMap((point) => livesOf(point).flatMap((lives) => pluginsFor(combination).map((plugin) => ({ point, lives, plugin }))));
  return { reachable, expected, cases: [...crashing, ...killed] };
}

describe('killed at every point', { concurrency: 2 }, () => {
  for (const { era, store, reachable, expected, cases } of combinations.map((combination) => ({ ...combination, ...casesOf(combination) })))
    it(`${era}, ${store}: nothing is lost and nothing done twice`, async (t) => {
      const redis = store === 'redis' ? await startRedis(t) : undefined;
      const reached = new Set();
      const total = new Count();
      let again = 0;
      let plugins = 0;
      let deaths = 0;
      let crashes = 0;
      await sideBySide(SIDE_BY_SIDE, cases, async ({ point, lives, crash, plugin }) => {
        const house = await openHouse(t, store, { redis, plugin });
        // Two nodes share what comes after their first lives: four deaths of one call would rightly end it.
        const [first, ...rest] = lives;
        for (let nodes = plugin && redis ? 2 : 1; nodes > 0; nodes--) (await house.node({ crash: first })).keep(() => rest.shift());
        const urls = house.nodes.map(({ url }) => url);
        const count = new Count();
        const crashers = crash && (await letCrash(house, era, urls));
        await callsOf(era, urls, count, house);
        if (crashers) count.join(await crashers.end(), `beside ${crashers.tool}`);
        total.join(count, `killed at ${lives}${plugin ? ', a plugin' : ''}`);
        if (!crash && house.nodes.some((node) => node.deaths === lives.length)) reached.add(point); // by the calls of this test
        plugins += plugin ? 1 : 0;
        again += house.again().length;
        deaths += house.deaths();
        crashes += house.nodes.reduce((sum, node) => sum + node.crashes, 0);
        if (count.faults.length) keepLog(house, `${era} ${store} ${lives}`);
        await house.close();
      });
      t.diagnostic(`${era}, ${store}: ${cases.length} cases, ${plugins} of them with a plugin, killed ${deaths} times, crashed ${crashes} times, second attempts at a deed ${again}`);
      total.check(t, null, `${era}, ${store}`);
      t.diagnostic(`${era}, ${store}: reached ${[...reached].join(' ')}; not to be reached here: ${expected.join(' ') || 'none'}`);
      assert.deepEqual(reachable.filter((point) => !reached.has(point)), [], 'whatever is not in the list of what cannot be reached is reached');
      assert.deepEqual(expected.filter((point) => reached.has(point)), [], 'and the list is right');
    });
});
