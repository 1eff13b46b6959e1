// Handlers that crash, beside whatever else happens in a world of chaos: one in a hundred runs, call after call, and one whenever it
// is run. The call of the second ends by that (HANDLER_CRASHED, or OUTCOME_UNKNOWN where a step was open); no other call does.
//
//   const crashers = await letCrash(house, era, urls)     they begin
//   crashers.isOver()                                     the one that always crashes has ended
//   crashers.deaths()                                     by it; those of a server that was told to stop are not counted
//   total.join(await crashers.end(), 'beside')            the world is over: they come to their ends, and are counted
//
// The nodes have to be kept (see house.js): a handler that crashes takes its node down.
//
//   CRASHING=1     in every world; otherwise in some, and in a soak in all
//   SEED=n         draws the same again, here and in the tests that draw a sample (what the machine adds is not repeated)
import test from 'node:test';
import { pause, seeded } from './house.js';
import { Client2025, Client2026, Count, TaskClient } from './clients.js';
import { PATIENCE_MS, within } from '../wire/harness.js';

export const SOAK = Number(process.env.NOD_SOAK) > 0;
export const CRASHING = SOAK || Number(process.env.CRASHING) > 0; // where they would take too long for every run of the tests

// Between two calls of the handler that crashes at random. It must not crash every few seconds: a suspect that was counted twice is
// run when its server has been up for 10 s.
const BETWEEN_MS = 250;
export const DEATHS = 4; // by the call that always crashes: the one that makes it a suspect, and three that are counted
const TOOLS = ['crash', 'crash_blocking', 'crash_step', 'crash_once', 'crash_hook', 'crash_finish', 'crash_gate'];

export const SEED = Number(process.env.SEED ?? Math.floor(Math.random() * 2 ** 31));
export const random = seeded(SEED);
console.log(`SEED=${SEED}`);

// All of them in a soak; in the tests one, drawn each time.
export const drawn = (all) => (SOAK ? all : [random.pick(all)]);

export const codeOf = (call) => call.result?._meta?.code ?? call.error?.data?.code ?? call.error?.error?.data?.code ?? JSON.stringify(call.result ?? call.error);

// `manners`: see clients.js.
export async function letCrash(house, era, urls, manners) {
  const count = new Count();
  const tools = era === '2026' ? [...TOOLS, 'crash_task'] : TOOLS;
  const tool = random.pick(tools);
  const clientFor = (one) => (one === 'crash_task' ? new TaskClient(urls, manners) : era === '2026' ? new Client2026(urls, manners) : new Client2025(urls, manners)).connect();
  const [client, guilty] = await Promise.all(['crash_sometimes', tool].map(clientFor));
  let enough = false;
  let ended = false;
  const over = () => house.over; // if the test has failed, nobody says that it was enough
  const sometimes = (async () => {
    for (let i = 0; !enough && !over(); i++, await pause(BETWEEN_MS))
      await count.of(house, 'crash_sometimes', `sometimes${i}`, client.call('crash_sometimes', `sometimes${i}`, { over }));
  })();
  const always = guilty.call(tool, 'always', { ms: Infinity, over }).then((call) => {
    count.crashed++;
    if (!/^(HANDLER_CRASHED|OUTCOME_UNKNOWN)$/.test(codeOf(call))) count.fault('lost', `${tool}, which always crashes, ended with ${codeOf(call)}`);
  }, (error) => count.fault('lost', error.message)).finally(() => (ended = true));
  return {
    tool,
    isOver: () => ended,
    deaths: () => house.crashesOf('always'),
    async end() {
      enough = true;
      await sometimes;
      await within(PATIENCE_MS, `${tool}, which always crashes, ends`, always);
      return count;
    },
  };
}

// The same test in both worlds: `work` is told whether handlers crash.
export function worlds(name, work) {
  test(name, (t) => work(t, false));
  if (CRASHING) test(`${name}; beside handlers that crash`, (t) => work(t, true));
}

// For these worlds: whoever crashes if `crash` says so, or nobody.
export async function crashersBeside(crash, ...where) {
  const crashers = crash ? await letCrash(...where) : undefined;
  return { check: async (t) => crashers && (await crashers.end()).check(t, where[0], `${crashers.tool}, and crash_sometimes`) };
}
