// The tour, killed in the middle of each of its tools: while each of its questions is open, and around each of its steps.
// The official clients come back by themselves where they can (2025: with the last event they saw); where the protocol
// leaves that to whoever uses them (2026), the same request is sent again. Every step is done once.
//
// Then again (one case, drawn, in the tests) beside handlers that crash: the tool is called until the call that always crashes has ended,
// and the questions of its first call wait for one crash after the other.
//
//   SEED=n      chooses the same cases again; all of them with NOD_SOAK=1
import test from 'node:test';
import assert from 'node:assert/strict';
import path from 'node:path';
import { Client as ClientV1 } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport as HttpV1 } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { CreateMessageRequestSchema, ElicitRequestSchema } from '@modelcontextprotocol/sdk/types.js';
import { Client as ClientV2, StreamableHTTPClientTransport as HttpV2 } from '@modelcontextprotocol/client';
import { openHouse, pause, sideBySide, startRedis, stores } from './house.js';
import { Count } from './clients.js';
import { DEATHS, SEED, SOAK, drawn, letCrash, random } from './crashers.js';
import { textOf, within, PATIENCE_MS } from '../wire/harness.js';
import { VERSION } from '../wire/modern.js';
import { assertRight, capabilities, clients, deedsIn, everyPair, modelSays, personSays, programs, tools } from '../wire/tour.js';

const SIDE_BY_SIDE = 6;
const CALL_MS = PATIENCE_MS; // in which a call has to end, whatever was done to its server
const AGAIN_MS = 50;
const NEXT_MS = 200; // between two calls beside handlers that crash

// Where a tool is killed: while its n-th question is open, or at a named instant of its n-th step.
const momentsOf = (tool) => [
  ...Array.from({ length: tools[tool].questions }, (_, i) => ({ question: i + 1 })),
  ...tools[tool].deeds.flatMap((_, i) => ['effect_before', 'effect_after', 'step_after'].map((point) => ({ point: `${point}:${i + 1}` }))),
  { point: 'result_after' },
];

// Every pair of these, each with a moment of its tool; with NOD_SOAK=1 every pair of these and the moments.
const settings = { program: programs, client: clients, store: stores };
const cases = SOAK
  ? Object.keys(tools).flatMap((tool) => everyPair({ ...settings, tool: [tool], moment: momentsOf(tool) }, random).chosen)
  : everyPair({ ...settings, tool: Object.keys(tools) }, random).chosen.map((one) => ({ ...one, moment: random.pick(momentsOf(one.tool)) }));

// A connection that failed is tried again, as a proxy or a patient program would.
async function patientFetch(url, init) {
  for (const until = Date.now() + CALL_MS; ; ) {
    try {
      return await fetch(url, init);
    } catch (error) {
      if (init?.signal?.aborted || Date.now() > until) throw error;
      await pause(AGAIN_MS);
    }
  }
}

// The client of the case. `ask` is called with every question, and may take its time.
async function connectTo(t, which, url, ask) {
  const reconnectionOptions = {
    initialReconnectionDelay: AGAIN_MS, maxReconnectionDelay: AGAIN_MS, reconnectionDelayGrowFactor: 1, maxRetries: CALL_MS / AGAIN_MS,
  };
  const options = { reconnectionOptions, fetch: patientFetch };
  const legacy = which === 'v2, 2025';
  let client;
  if (which === 'v1, 2025') {
    client = new ClientV1({ name: 'tour', version: '1' }, { capabilities });
    client.setRequestHandler(ElicitRequestSchema, ({ params }) => ask(personSays, params));
    client.setRequestHandler(CreateMessageRequestSchema, ({ params }) => ask(modelSays, params));
    await client.connect(new HttpV1(new URL(url), options));
  } else {
    client = new ClientV2({ name: 'tour', version: '2' }, { capabilities, versionNegotiation: { mode: legacy ? 'legacy' : { pin: VERSION } } });
    client.setRequestHandler('elicitation/create', ({ params }) => ask(personSays, params));
    client.setRequestHandler('sampling/createMessage', ({ params }) => ask(modelSays, params));
    await client.connect(new HttpV2(new URL(url), options));
  }
  const close = () => {
    reconnectionOptions.maxRetries = 0; // it would go on with a stream whose time has come while it closed
    return client.close();
  };
  t.after(close);
  return { client, close };
}

const handlers = { 'elicitation/create': personSays, 'sampling/createMessage': modelSays };

// A call of the 2026 era, round by round: a request whose reply was cut off is sent again, as it was.
// `begins`: one without a state too, which begins the call again.
async function callInRounds(client, tool, ask, begins) {
  let retry = {};
  for (const until = Date.now() + CALL_MS; ; ) {
    let result;
    try {
      result = await client.callTool({ name: tool, arguments: tools[tool].args, ...retry }, { allowInputRequired: true, timeout: CALL_MS });
    } catch (error) {
      if (Date.now() > until || !(retry.requestState || begins)) throw error;
      await pause(AGAIN_MS);
      continue;
    }
    if (result.resultType !== 'input_required') return result;
    const inputResponses = {};
    for (const [key, { method, params }] of Object.entries(result.inputRequests ?? {})) inputResponses[key] = await ask(handlers[method], params);
    retry = { requestState: result.requestState, inputResponses };
  }
}

function callOf(which, client, tool, ask, { point, crash }) {
  const params = { name: tool, arguments: tools[tool].args };
  if (which === 'v2, 2026' && (point || crash)) return callInRounds(client, tool, ask, crash);
  return which === 'v1, 2025' ? client.callTool(params, undefined, { timeout: CALL_MS }) : client.callTool(params, { timeout: CALL_MS });
}

async function killed(t, { program, client: which, store, tool, moment: { question, point }, crash }, redis, total) {
  const house = await openHouse(t, store, { redis });
  const ledger = path.join(house.folder, 'ledger');
  const node = await house.node({ program: crash ? `tests/chaos/chaos-${program}` : `examples/${program}`, env: { TOUR_LEDGER: ledger }, crash: point });
  const where = `${program}, ${which}, ${store}, ${tool} killed at ${point ?? `question ${question}`}${crash ? ', beside handlers that crash' : ''}`;
  let crashers;
  let calls = 0;
  let asked;
  node.keep();
  const ask = async (says, params) => {
    const nth = ++asked;
    if (calls === 0 && nth === question) await node.killAndReturn();
    while (crashers && calls === 0 && crashers.deaths() < nth && !crashers.isOver()) await pause(AGAIN_MS);
    return says(params);
  };
  const { client, close } = await connectTo(t, which, node.url, ask);
  crashers = crash && (await letCrash(house, which.endsWith('2026') ? '2026' : '2025', node.url));
  let ending;
  do {
    const before = deedsIn(ledger).length;
    asked = 0;
    const result = await within(CALL_MS, `${tool} ends`, callOf(which, client, tool, ask, { point, crash }))
      .catch((error) => assert.fail(`${where}, call ${calls}: ${error.message}\n${node.log}${node.watched.stderr}`));
    assertRight(tool, textOf(result), deedsIn(ledger).slice(before), where);
    assert.equal(asked, tools[tool].questions, `${where}: nobody is asked twice`);
    calls++;
    // The last death comes when the server has been up for 10 s: no crash at random may come between.
    if (crashers && crashers.deaths() >= DEATHS - 1) ending ??= crashers.end();
    if (crashers) await pause(NEXT_MS);
  } while (crashers && !crashers.isOver());
  if (crashers) {
    total.count.join(await (ending ?? crashers.end()), `${where}, beside ${crashers.tool}`);
    assert.ok(crashers.deaths() >= 1 && crashers.deaths() <= DEATHS, `${where}: ${crashers.tool} has ended after ${crashers.deaths()} deaths`);
  } else {
    assert.equal(node.deaths, 1, `${where}: it was killed`);
  }
  total.calls += calls;
  total.deaths += node.deaths;
  total.crashes += node.crashes;
  await close();
  await house.close();
}

test(`the tour, killed in the middle: SEED=${SEED}`, async (t) => {
  const redis = await startRedis(t);
  const total = { count: new Count(), calls: 0, deaths: 0, crashes: 0 };
  const crashing = drawn(cases).map((one) => ({ ...one, crash: true })); // first: they take long
  await sideBySide(SIDE_BY_SIDE, [...crashing, ...cases], (one) => killed(t, one, redis, total));
  t.diagnostic(`SEED=${SEED}: ${cases.length} cases, and ${crashing.length} beside handlers that crash: calls ${total.calls}, servers killed ${total.deaths} times, crashed ${total.crashes} times; every step done once`);
  total.count.check(t, null, 'the handlers that crash');
});
