// A plugin that is replaced while 100 calls of both eras wait and many more come and go: 20 times by another edition, and 5 times by what
// is refused. Then the server is told to stop, and starts again on SQLite. Nothing is lost, nothing is done twice; the old editions are gone
// from the memory of the process; and its memory does not grow.
import test from 'node:test';
import assert from 'node:assert/strict';
import { chmodSync, copyFileSync, mkdirSync, readFileSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { keepLog, openHouse, pause } from './house.js';
import { Client2025, Client2026, Count, TaskClient } from './clients.js';
import { SOAK, random } from './crashers.js';
import { beginLoad } from './load.js';
import { PATIENCE_MS, textOf, within } from '../wire/harness.js';
import { Modern } from '../wire/modern.js';

const built = path.join(process.env.NOD_BIN_DIR, 'tests/chaos/chaos-plugin.so');
const SANITIZED = readFileSync(path.join(process.env.NOD_BIN_DIR, 'src/cli/nod')).includes('__asan_');

const WAITING = 100;
const EDITIONS = 20;
const RATE = 1000; // calls a second
const BETWEEN_MS = SOAK ? 1000 : 250; // reloads
const TAKEN = /event="the configuration was read again"/;
const REFUSED = /event="the configuration is not taken, and nothing changes"/;

async function serve(t) {
  const house = await openHouse(t, 'sqlite');
  t.after(() => t.passed === false && keepLog(house, t.name));
  const file = (name) => path.join(house.folder, name);
  const [plugin, config, run] = [file('chaos.so'), file('nod.ini'), file('run')];
  const edition = (number) => Buffer.from(readFileSync(built, 'latin1').replace('edition-0000', `edition-${String(number).padStart(4, '0')}`), 'latin1');
  mkdirSync(run, { mode: 0o700 });
  // In place every other time: code of the old edition runs meanwhile.
  const put = (number) => {
    const to = number % 2 ? `${plugin}.new` : plugin;
    writeFileSync(to, edition(number), { mode: 0o700 });
    if (to !== plugin) renameSync(to, plugin);
  };
  const configure = (text = '') => writeFileSync(config, `[server]\nplugin = ${plugin}\n${text}`, { mode: 0o600 });
  put(0);
  configure();
  const node = (await house.node({ program: 'src/cli/nod', command: ['serve', '--config', config], env: { HOME: house.folder, XDG_RUNTIME_DIR: run } })).keep();
  const modern = new Modern(node.url);
  const reload = async (wanted) => {
    node.child.kill('SIGHUP');
    const line = await Promise.race([node.watched.lines.next((text) => TAKEN.test(text) || REFUSED.test(text), 'the end of a reload'), node.kept]);
    assert.match(line, wanted);
  };
  return {
    house, node, plugin, put, configure, reload,
    serving: async () => textOf((await modern.call('edition')).result),
    // Objects of the plugin in the process: the names of their copies.
    objects: () => [...new Set(readFileSync(`/proc/${node.pid}/maps`, 'latin1').split('\n').map((line) => /\/copies-[^/]+\/(\d+-chaos\.so)/.exec(line)?.[1]).filter(Boolean))],
    resident: () => Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${node.pid}/status`, 'utf8'))[1]),
  };
}

const until = (what, isSo) => within(PATIENCE_MS, what, (async () => {
  while (!(await isSo())) await pause(20);
})());

const named = (number) => `edition-${String(number).padStart(4, '0')}`;

// What is refused, one after the other; each is put right again, without a reload.
const BROKEN = [
  ['half of a file', ({ plugin }) => writeFileSync(plugin, readFileSync(built).subarray(0, 20000), { mode: 0o700 })],
  ['no object at all', ({ plugin }) => writeFileSync(plugin, 'x'.repeat(1000), { mode: 0o700 })],
  ['no file', ({ plugin }) => rmSync(plugin)],
  ['an unknown key', ({ configure }) => configure('plugn = x\n')],
  ['a setting that the plugin does not have', ({ configure }) => configure('[plugin chaos]\nlimit = 3\n')],
];

// Calls that wait: both of their questions are answered at some reload, drawn before; the last ones when the server has been away.
async function waitingCalls(house, url, count) {
  const LAST = EDITIONS + BROKEN.length;
  const gates = Array.from({ length: LAST + 1 }, () => {
    let open;
    const opened = new Promise((resolve) => (open = resolve));
    return { opened, open };
  });
  const clients = { 2025: await new Client2025(url).connect(), 2026: new Client2026(url), task: new TaskClient(url) };
  let asked = 0;
  const calls = Array.from({ length: WAITING }, (_, i) => {
    const kind = ['2025', '2026', 'task'][i % 3];
    const [tool, tag] = [kind === 'task' ? 'deed_task' : ['deed', 'deed_blocking', 'deed_once'][(i / 3) % 3 | 0], `waits${i}`];
    const first = random.below(LAST);
    const at = [first, first + random.below(LAST + 1 - first)];
    if (i % 4 === 0) at[1] = LAST; // the server is away while it waits
    const next = () => {
      if (at.length === 2) asked++;
      return gates[at.shift() ?? LAST].opened;
    };
    const client = clients[kind];
    const patience = { ms: 10 * PATIENCE_MS, over: () => house.over };
    const call = kind === '2025' ? client.call(tool, tag, { ...patience, onAsk: (message, story) => next().then(() => client.answer(story, tag, message)) })
      : client.call(tool, tag, { ...patience, meanwhile: next });
    return count.of(house, tool, tag, call);
  });
  await until('all of them wait', () => asked === WAITING);
  return { calls, open: (i) => gates[i].open(), last: LAST };
}

test(`reload under load: ${EDITIONS} editions and ${BROKEN.length} that are refused, then SIGTERM and a start`, async (t) => {
  const world = await serve(t);
  const { house, node, reload } = world;
  const count = new Count();
  const waiting = await waitingCalls(house, node.url, count);
  const load = beginLoad(t, { url: node.url, rate: RATE });
  const refusedAt = new Map(BROKEN.map((broken, i) => [(i + 1) * 5 - 1, broken]));
  let number = 0;
  for (let i = 0; i < waiting.last; i++) {
    await pause(BETWEEN_MS);
    waiting.open(i); // they go on while the plugin is replaced
    const broken = refusedAt.get(i);
    if (broken) {
      broken[1](world);
      await reload(REFUSED);
      world.configure();
      world.put(number);
    } else {
      world.put(++number);
      await reload(TAKEN);
    }
    assert.equal(await world.serving(), named(number), broken?.[0]);
  }
  assert.equal(number, EDITIONS);
  await until('the old objects are gone', () => world.objects().length === 1);
  await load.mayCut(true);
  await node.leave();
  await until('it is up again', async () => (await node.starting) && node.child.exitCode === null);
  await load.mayCut(false);
  waiting.open(waiting.last);
  await Promise.all(waiting.calls);
  assert.equal(await world.serving(), named(EDITIONS));
  const { done, cut, wrong, perSecond } = await load.end();
  const deeds = new Map();
  for (const name of readdirSync(path.join(house.folder, 'deeds'))) {
    const tag = name.split('@')[0];
    deeds.set(tag, (deeds.get(tag) ?? 0) + 1);
  }
  const lost = done.filter((tag) => !deeds.has(tag));
  const doubled = [...done, ...cut].filter((tag) => deeds.get(tag) > 1);
  t.diagnostic(`load: ${done.length} calls, ${perSecond} a second, lost ${lost.length}, doubled ${doubled.length}; closed by the stop ${cut.length}, ${cut.filter((tag) => deeds.has(tag)).length} of them done`);
  assert.deepEqual({ wrong: wrong.slice(0, 5), lost, doubled }, { wrong: [], lost: [], doubled: [] });
  count.check(t, house, 'waiting');
  await house.close();
});

// A sanitizer keeps what was freed, and measures nothing here; that nothing leaks it says at the end.
const RELOADS = SANITIZED ? 40 : 200;

test(`${RELOADS} reloads: the memory of the process is at most 1.1 times what it was after 20, and the old objects are gone`, async (t) => {
  const world = await serve(t);
  const seen = {};
  const client = new Client2026(world.node.url);
  const call = async (i) => assert.equal((await client.call('deed', `m${i}`)).text, `m${i}: m${i}-a m${i}-b`);
  for (let i = 1; i <= RELOADS; i++) {
    world.put(i);
    await world.reload(TAKEN);
    await call(i);
    if (i === 20 || i === RELOADS) {
      await until('the old objects are gone', () => world.objects().length === 1);
      seen[i] = world.resident();
    }
  }
  assert.equal(await world.serving(), named(RELOADS));
  t.diagnostic(`resident after 20 reloads ${seen[20]} KiB, after ${RELOADS} ${seen[RELOADS]} KiB: ${(seen[RELOADS] / seen[20]).toFixed(2)} times${SANITIZED ? ', with a sanitizer' : ''}`);
  if (!SANITIZED) assert.ok(seen[RELOADS] <= 1.1 * seen[20], JSON.stringify(seen));
  await world.house.close();
});
