// A handler that crashes takes its process down, and not the server for good: its call is run again three times, one
// suspect at a time, and then ends with HANDLER_CRASHED (OUTCOME_UNKNOWN if a step was open). Everybody else is served.
//
// A node that is told to stop has crashed nothing, however often that happens, and whatever kills it afterwards.
import { describe, test } from 'node:test';
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { combinations, openHouse, pause, startRedis } from './house.js';
import { Client2025, Client2026, TaskClient, rightText } from './clients.js';
import { DEATHS, SOAK, codeOf, drawn, random } from './crashers.js';
import { PATIENCE_MS, environment, textOf, within } from '../wire/harness.js';
import { Modern, metaOf, word } from '../wire/modern.js';

const BESIDE = 3; // calls that run beside the one that crashes
const ANSWER_DEATHS = 3; // by a hook of the answer: each is counted
const CALL_MS = Number(process.env.CHAOS_CALL_MS ?? 120000); // a limit that only a hang reaches: 0, 1 and 10 s between the deaths, and what is detected late

const page = readFileSync(new URL('../../docs/troubleshooting.md', import.meta.url), 'utf8');

const until = (what, isSo) =>
  within(PATIENCE_MS * 4, what, (async () => {
    while (!(await isSo())) await pause(20);
  })());

const logOf = (house) => house.nodes.map((node) => node.log + node.watched.stderr).join('');

const clientOf = (era, tool, urls) =>
  (tool === 'crash_task' ? new TaskClient(urls) : era === '2026' ? new Client2026(urls) : new Client2025(urls)).connect();

async function houseOf(t, store) {
  const house = await openHouse(t, store, { redis: store === 'redis' ? await startRedis(t) : undefined, plugin: random.pick([true, false]) });
  t.diagnostic(house.plugin ? 'tools of a plugin, under nod serve' : 'tools of a server of their own');
  const count = store === 'redis' ? 2 : 1;
  for (let i = 0; i < count; i++) (await house.node()).keep();
  return house;
}

const toolsOf = (era) => [
  ['crash', 'HANDLER_CRASHED'], ['crash_blocking', 'HANDLER_CRASHED'], ['crash_step', 'HANDLER_CRASHED'], ['crash_once', 'OUTCOME_UNKNOWN'],
  ['crash_hook', 'HANDLER_CRASHED'], ['crash_finish', 'HANDLER_CRASHED'], ['crash_gate', 'HANDLER_CRASHED'],
  ...(era === '2026' ? [['crash_task', 'HANDLER_CRASHED']] : []),
];

// They wait for the clock, mostly: side by side, the longest first.
describe('handlers that crash', { concurrency: SOAK ? 4 : 8 }, () => {
  // Replaced without being told: each node is killed, and the next one 10 s later. The call is suspected each time, and runs on
  // the node that was started last, so it is not killed again before it is cleared.
  if (combinations.some(({ store }) => store === 'redis'))
    test('three Redis nodes are killed in turn, 10 s apart, with a long step under way: it ends right', async (t) => {
      const [rounds, slow_ms, ttl] = SOAK ? [2, 120000, '5000'] : [1, 20000, '1500'];
      const house = await openHouse(t, 'redis', { redis: await startRedis(t) });
      for (let i = 0; i < 3; i++) (await house.node({ env: { CHAOS_NODE_TTL_MS: ttl } })).keep();
      const clients = await Promise.all(['2025', '2026'].map((era) => clientOf(era, 'word_slow', house.nodes.map(({ url }) => url))));
      const calls = clients.map((client, i) => client.call('word_slow', `r${i}`, { ms: 600000, slow_ms }));
      calls.forEach((call) => call.catch(() => {}));
      await until('both are at work', () => house.again().length === clients.length);
      for (let i = 0; i < 3 * rounds; i++) {
        house.nodes[i % 3].child.kill('SIGKILL');
        await pause(10000);
      }
      for (const [i, call] of (await Promise.all(calls)).entries()) assert.equal(call.text, rightText('word_slow', `r${i}`));
      t.diagnostic(`nodes killed ${house.deaths()} times, steps begun ${house.again().length} times`);
      await house.close();
    });

  for (const { era, store } of combinations)
    for (const [tool, code] of drawn(toolsOf(era)))
      test(`${era}, ${store}, ${tool}: the call ends after three counted deaths, and everybody else is served`, async (t) => {
        const house = await houseOf(t, store);
        const urls = house.nodes.map(({ url }) => url);
        const [client, other] = await Promise.all([clientOf(era, tool, urls), clientOf(era, 'word', urls)]);
        // In the midst of a step when the other one crashes: suspects as well, and innocent.
        const beside = Array.from({ length: BESIDE }, (_, i) => other.call('word_slow', `b${i}`, { ms: CALL_MS, slow_ms: 2000 }));
        beside.forEach((call) => call.catch(() => {}));
        await until('they are at work', () => house.again().length === BESIDE);
        const crashing = client.call(tool, 'c', { ms: CALL_MS });
        crashing.catch(() => {});
        await until('the server has died', () => house.crashesOf('c') > 0);
        let served = 0;
        let over = false;
        const load = (async () => {
          for (; !over; served++) {
            const call = await other.call('word', `w${served}`, { ms: CALL_MS });
            assert.equal(call.text, rightText('word', `w${served}`));
            await pause(50);
          }
        })();
        const call = await crashing.finally(() => {
          over = true;
          t.diagnostic(`the server died ${house.crashesOf('c')} times by it, and ${served} other calls were served`);
        });
        await load;
        for (const [i, innocent] of (await Promise.all(beside)).entries()) assert.equal(innocent.text, rightText('word_slow', `b${i}`));
        assert.equal(codeOf(call), code);
        const said = call.result?.content?.[0]?.text;
        if (code === 'HANDLER_CRASHED' && said) assert.ok(page.includes(said.replace(tool, 'my_tool')), `docs/troubleshooting.md lacks what the client is told: ${said}`);
        assert.equal(house.crashesOf('c'), DEATHS);
        assert.deepEqual([house.deaths(), house.crashed().length], [0, DEATHS], 'by nothing else');
        assert.ok(served > 0, 'others were served');
        await until('the log names the tool', () => new RegExp(`level=error event="a call has ended because the server died[^\n]*target=${tool}[^\n]*call=\\S+ registered=\\S*tools\\.c:\\d+`).test(logOf(house)));
        assert.equal(logOf(house).match(new RegExp(`level=warn event="a call is run again whose process died[^\n]*target=${tool}[^\n]* call=\\S+ deaths=\\d`, 'g'))?.length, DEATHS - 1, 'it is said from the first death on');
        const after = await other.call('word', 'after', { ms: CALL_MS });
        assert.equal(after.text, rightText('word', 'after'));
        await house.close();
      });

  // The call waits meanwhile: it is the question that nodes had in hand when they died.
  for (const { era, store } of combinations)
    test(`${era}, ${store}: a hook of the answer that crashes ends the call after three deaths, and others are served`, async (t) => {
      const house = await houseOf(t, store);
      const urls = house.nodes.map(({ url }) => url);
      const [client, other] = await Promise.all([clientOf(era, 'crash_answer', urls), clientOf(era, 'word', urls)]);
      const call = await client.call('crash_answer', 'c', { ms: CALL_MS });
      assert.equal(codeOf(call), 'HANDLER_CRASHED');
      const said = call.result?.content?.[0]?.text;
      if (said) assert.ok(page.includes(said.replace('crash_answer', 'my_tool')), `docs/troubleshooting.md lacks what the client is told: ${said}`);
      assert.deepEqual([house.crashesOf('c'), house.deaths(), house.crashed().length], [ANSWER_DEATHS, 0, ANSWER_DEATHS]);
      const named = /level=error event="a call has ended because the server died whenever an answer to it came"[^\n]*target=crash_answer[^\n]*call=\S+ registered=\S*tools\.c:\d+/;
      await until('the log names the tool', () => named.test(logOf(house)));
      const after = await other.call('word', 'after', { ms: CALL_MS });
      assert.equal(after.text, rightText('word', 'after'));
      await house.close();
    });

  // The fourth answer finds the call ended. If the process dies right after it was claimed, the answer still counts for nothing.
  for (const { store } of combinations.filter(({ era }) => era === '2026'))
    test(`${store}: after three deaths no answer counts that the hook has not seen, wherever the next process dies`, async (t) => {
      const house = await openHouse(t, store, { redis: store === 'redis' ? await startRedis(t) : undefined });
      const node = await house.node();
      const modern = new Modern(node.url);
      const args = { tag: 'c' };
      const { requestState, inputRequests } = await modern.asked('crash_answer', args);
      const retry = { requestState, inputResponses: Object.fromEntries(Object.keys(inputRequests).map((key) => [key, word('c-a')])) };
      for (let i = 1; i <= ANSWER_DEATHS; i++) {
        await assert.rejects(modern.call('crash_answer', args, retry));
        await within(PATIENCE_MS, 'the server dies', node.ended);
        assert.equal(house.crashesOf('c'), i);
        await node.start(i === ANSWER_DEATHS ? 'answer_after' : undefined);
      }
      await assert.rejects(modern.call('crash_answer', args, retry));
      await within(PATIENCE_MS, 'the server dies by its crash point', node.ended);
      await node.start();
      const after = await modern.call('crash_answer', args, retry);
      assert.equal(codeOf(after), 'HANDLER_CRASHED', after.text);
      assert.equal(house.crashesOf('c'), ANSWER_DEATHS);
      await until('the log says so', () => logOf(house).includes('event="a call has ended because the server died whenever an answer to it came"'));
      assert.doesNotMatch(logOf(house), /event=answered /);
      await house.close();
    });

  for (const { era, store } of drawn(combinations))
    test(`${era}, ${store}: a handler that crashes twice on probation, and then does not, ends well`, async (t) => {
      const house = await houseOf(t, store);
      const client = await clientOf(era, 'crash', house.nodes.map(({ url }) => url));
      const call = await client.call('crash', 'c', { ms: CALL_MS, crashes: DEATHS - 1 });
      assert.equal(call.text, rightText('crash', 'c'));
      assert.equal(house.crashesOf('c'), DEATHS - 1);
      await house.close();
    });

  // The step is under way at each stop, and takes longer than a stop may take.
  const killedAfterwards = async (node) => {
    node.child.kill('SIGTERM');
    await until('the store knows', () => /the store knows that this node was told to stop" status=ok/.test(node.watched.stderr));
    await node.kill();
  };
  const toldTwice = async (node) => {
    node.child.kill('SIGINT');
    node.child.kill('SIGTERM');
    assert.deepEqual(await node.ended, { code: 130, signal: null });
  };
  const ends = [['told to stop, and killed afterwards', killedAfterwards], ['told to stop twice at once', toldTwice]];
  for (const { era, store, how, end } of combinations.flatMap((one) => ends.map(([how, end]) => ({ ...one, how, end }))))
    test(`${era}, ${store}: ${how}, any number of times counts nothing`, async (t) => {
      const TIMES = SOAK ? 25 : 12; // more than the deaths that end a call, early and late
      const house = await openHouse(t, store, { redis: store === 'redis' ? await startRedis(t) : undefined });
      const node = await house.node();
      const client = await clientOf(era, 'word_slow', node.url);
      const call = client.call('word_slow', 'd', { ms: CALL_MS * 4, slow_ms: 3600000 });
      call.catch(() => {});
      for (let i = 1; i <= TIMES; i++) {
        await until(`the step is begun for the ${i}. time`, () => house.again().length === i);
        await end(node);
        await node.start();
      }
      await until('the step is begun for the last time', () => house.again().length === TIMES + 1);
      writeFileSync(path.join(house.folder, 'go'), '');
      const ended = await call;
      assert.equal(ended.text, rightText('word_slow', 'd'));
      await house.close();
    });

  // A request that runs is answered also after the end of the input, however long it takes.
  if (combinations.some(({ era, store }) => era === '2026' && store === 'sqlite'))
    test('2026, sqlite, on a pipe: the end of the input, and killed afterwards, counts nothing; one that was killed before is left, and the server ends', async (t) => {
      const house = await openHouse(t, 'sqlite');
      const params = { name: 'word_slow', arguments: { tag: 'p', slow_ms: 3600000 }, _meta: metaOf() };
      const begin = (retry) => {
        const child = spawn(path.join(process.env.NOD_BIN_DIR, 'tests/chaos/chaos-server'), ['--store', house.address, '--log', 'debug'], {
          env: environment({ MCP_ELICITATION_SECRET: 'a secret of at least thirty-two characters', CHAOS_DIR: house.folder }),
        });
        t.after(() => child.kill('SIGKILL'));
        const life = { child, log: '', said: '', ended: new Promise((resolve) => child.once('close', resolve)) };
        child.stderr.on('data', (data) => (life.log += data));
        child.stdout.on('data', (data) => (life.said += data));
        child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { ...params, ...retry } })}\n`);
        return life;
      };
      const kill = async ({ child, ended }) => {
        child.kill('SIGKILL');
        await ended;
      };
      const replyOf = async (life) => {
        await until('the reply', () => life.said.includes('\n'));
        return JSON.parse(life.said);
      };
      const first = begin();
      const { requestState, inputRequests } = (await replyOf(first)).result;
      await kill(first);
      const retry = { requestState, inputResponses: Object.fromEntries(Object.keys(inputRequests).map((key) => [key, word('p-a')])) };
      const works = async (times) => {
        const life = begin(retry);
        await until(`the step is begun for the ${times}. time`, () => house.again().length === times);
        return life;
      };
      for (let i = 1; i <= DEATHS + 1; i++) {
        const life = await works(i);
        life.child.stdin.end();
        await until('the store knows', () => /the store knows that this node was told to stop" status=ok/.test(life.log));
        await kill(life);
      }
      for (let i = 1; i < DEATHS; i++) await kill(await works(DEATHS + 1 + i));
      const late = begin(retry); // it would have its turn in 10 s
      late.child.stdin.end();
      assert.equal(await within(PATIENCE_MS, 'the server ends', late.ended), 0, late.log);
      assert.match((await replyOf(late)).error.message, /send the request again later/);
      writeFileSync(path.join(house.folder, 'go'), '');
      const patient = begin(retry);
      assert.equal(textOf((await replyOf(patient)).result), rightText('word_slow', 'p'));
      patient.child.stdin.end();
      assert.equal(await within(PATIENCE_MS, 'the server ends', patient.ended), 0, patient.log);
      await house.close();
    });
});
