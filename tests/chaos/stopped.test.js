// SIGTERM is no worse than SIGKILL: a server that is told to stop while blocking calls run, wait for a worker, or have just
// done their step, ends none of them. They go on at the next start, or on another node, and each deed is done once.
//
// Four workers: two are in a step that is longer than any stop (it is done again, with its key), two in one that ends
// after the drain and before the end of the process, and the other calls wait behind them, with their answers taken. In a soak handlers
// begin to crash at that instant.
import { describe, test } from 'node:test';
import assert from 'node:assert/strict';
import { combinations, openHouse, pause, startRedis } from './house.js';
import { Client2025, Client2026, Count, TaskClient } from './clients.js';
import { crashersBeside, worlds } from './crashers.js';
import { PATIENCE_MS, within } from '../wire/harness.js';

const STUCK_MS = 11000; // longer than the drain and what is left to workers after it
const LATE_MS = 6000; // ends between the two
const SLOW = [STUCK_MS, STUCK_MS, LATE_MS, LATE_MS]; // one for each worker
const QUEUED = 8;
const LANES = 4; // these mostly wait for a server that stops

// At the end a thread is left behind in its step: the look for leaks would stop it, and wait for ever.
const env = { ASAN_OPTIONS: `${process.env.ASAN_OPTIONS ?? ''}:detect_leaks=0` };

async function clientOf(era, tool, urls) {
  if (tool === 'deed_blocking_task') return new TaskClient(urls);
  return era === '2026' ? new Client2026(urls) : new Client2025(urls).connect();
}

const toolsOf = (era) => (era === '2026' ? ['deed_blocking', 'deed_blocking_task'] : ['deed_blocking']);

const until = (what, isSo) =>
  within(PATIENCE_MS, what, (async () => {
    while (!isSo()) await pause(10);
  })());

// A call that gives its second answer only when `open` is.
function heldCall(client, tool, tag, open, atGate) {
  const gate = async (isSecond) => {
    if (isSecond) {
      atGate();
      await open;
    }
  };
  return client.call(tool, tag, {
    meanwhile: ({ inputRequests = {} }) => gate('second' in inputRequests),
    onAsk: async (ask, story) => {
      await gate(/second/.test(ask.params.message));
      await client.answer(story, tag, ask);
    },
  });
}

// Comes to the instant where everything hangs in the balance.
async function busyHouse(t, { era, store }, tool, nodes) {
  const redis = store === 'redis' ? await startRedis(t) : undefined;
  const house = await openHouse(t, store, { redis });
  for (let i = 0; i < nodes; i++) await house.node({ env });
  const [first] = house.nodes;
  const client = await clientOf(era, tool, first.url);
  const count = new Count();
  const calls = [];
  let waiting = 0;
  let goOn;
  const open = new Promise((resolve) => (goOn = resolve));
  const add = (tag, call) => calls.push(count.of(house, tool, tag, call));
  for (let i = 0; i < QUEUED; i++) add(`q${i}`, heldCall(client, tool, `q${i}`, open, () => waiting++));
  await until('all have asked for their second word', () => waiting === QUEUED);
  for (const [i, slow_ms] of SLOW.entries()) add(`s${i}`, client.call(tool, `s${i}`, { slow_ms }));
  await until('all workers are in a step', () => SLOW.every((_, i) => house.deedsOf(`s${i}`)));
  goOn();
  const answers = 2 * (QUEUED + SLOW.length);
  await until('all answers are taken', () => first.watched.stderr.match(/event=answer .*status=ok/g)?.length === answers);
  return { house, first, client, count, calls };
}

describe('told to stop', { concurrency: LANES }, () => {
  for (const combination of combinations)
    for (const tool of toolsOf(combination.era))
      worlds(`11.10: ${combination.era}, ${combination.store}, ${tool}: calls that run or wait for a worker go on at the next start`, async (t, crash) => {
        const { house, first, count, calls } = await busyHouse(t, combination, tool, 1);
        first.keep();
        const crashers = await crashersBeside(crash, house, combination.era, first.url);
        await first.leave();
        await Promise.all(calls);
        await crashers.check(t);
        count.check(t, house, `stopped and started, ${tool}`);
        await house.close();
      });

  for (const { era } of combinations.filter(({ store }) => store === 'redis'))
    worlds(`11.10: ${era}, redis: what a node leaves when it is told to stop goes on at the other`, async (t, crash) => {
      const { house, first, client, count, calls } = await busyHouse(t, { era, store: 'redis' }, 'deed_blocking', 2);
      const other = house.nodes[1].keep();
      client.urls = [other.url];
      const crashers = await crashersBeside(crash, house, era, other.url);
      const began = Date.now();
      await first.leave();
      await Promise.all(calls);
      t.diagnostic(`all ended ${Date.now() - began} ms after the signal`);
      await crashers.check(t);
      assert.equal(other.deaths, 0);
      count.check(t, house, 'stopped, and the other goes on');
      first.stopped = Promise.resolve();
      await house.close();
    });
});

// Calls of sessions that are stored, without end, on a node that stops: those that it does not serve any more go elsewhere.
test('11.10: redis: a request that meets a node which stops is never told that its session is gone', async (t) => {
  const [ROUNDS, CLIENTS] = [8, 6];
  const redis = await startRedis(t);
  const house = await openHouse(t, 'redis', { redis });
  const seen = new Map();
  const post = (url, session, body) => fetch(url, {
    method: 'POST',
    signal: AbortSignal.timeout(PATIENCE_MS),
    headers: { 'Content-Type': 'application/json', Accept: 'application/json, text/event-stream', ...(session ? { 'Mcp-Session-Id': session } : {}) },
    body: JSON.stringify({ jsonrpc: '2.0', ...body }),
  });
  const begin = async (url) => {
    const params = { protocolVersion: '2025-11-25', capabilities: { elicitation: {} }, clientInfo: { name: 'one', version: '1' } };
    const reply = await post(url, null, { id: 0, method: 'initialize', params });
    await reply.text();
    return reply.headers.get('mcp-session-id');
  };
  for (let round = 0; round < ROUNDS; round++) {
    const node = await house.node({ env });
    let over = false;
    const clients = Array.from({ length: CLIENTS }, async (_, n) => {
      for (let id = 1; !over; ) {
        try {
          const session = await begin(node.url);
          for (let i = 0; i < 3 && session; i++, id++) {
            const reply = await post(node.url, session, { id, method: 'tools/call', params: { name: 'word', arguments: { tag: `${round}-${n}-${id}` } } });
            seen.set(reply.status, (seen.get(reply.status) ?? 0) + 1);
            await reply.body.cancel();
          }
        } catch {
          await pause(2); // it does not listen any more
        }
      }
    });
    await pause(300);
    await node.leave();
    node.stopped = Promise.resolve();
    over = true;
    await Promise.all(clients);
  }
  t.diagnostic(`statuses: ${[...seen].map(([status, count]) => `${status}: ${count}`).join(', ')}`);
  assert.equal(seen.get(404) ?? 0, 0);
  await house.close();
});
