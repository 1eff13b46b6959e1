// What docs/clients.md says of the official clients: how long they wait, what resets that, how they come back, how many
// rounds they go, what they declare. Times are small here, set through each client's own options; the defaults that the
// page names are read from the clients themselves. If a new version of a client behaves otherwise, a test here fails, and
// the page is to be mended with it.
import test, { describe } from 'node:test';
import assert from 'node:assert/strict';
import path from 'node:path';
import { Client as OldClient } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport as OldStdio } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport as OldHttp } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { DEFAULT_REQUEST_TIMEOUT_MSEC as OLD_TIMEOUT_MS } from '@modelcontextprotocol/sdk/shared/protocol.js';
import { ElicitRequestSchema } from '@modelcontextprotocol/sdk/types.js';
import { Client as NewClient, StreamableHTTPClientTransport as NewHttp, DEFAULT_REQUEST_TIMEOUT_MSEC as NEW_TIMEOUT_MS } from '@modelcontextprotocol/client';
import { StdioClientTransport as NewStdio } from '@modelcontextprotocol/client/stdio';
import { Inbox, atAnyPace, environment, freePort, pause, program, startHttp, textOf, within, PATIENCE_MS, withoutInbox } from './harness.js';
import { blockNamed } from '../docs/pages.js';
import { VERSION, accepted, deedsFile, scratchFolder } from './modern.js';

withoutInbox();

const SECRET = { MCP_ELICITATION_SECRET: 'a-secret-for-the-tests-of-clients-0123456789' };

// --- the clients ---

const old = {
  name: 'v1',
  Http: OldHttp,
  Stdio: OldStdio,
  make: (options) => new OldClient({ name: 'v1', version: '1' }, options),
  onQuestion: (client, take) => client.setRequestHandler(ElicitRequestSchema, (request, extra) => take(request.params, extra.signal)),
  call: (client, params, options) => client.callTool(params, undefined, options),
};
const young = {
  Http: NewHttp,
  Stdio: NewStdio,
  onQuestion: (client, take) => client.setRequestHandler('elicitation/create', (request, context) => take(request.params, context.mcpReq.signal)),
  call: (client, params, options) => client.callTool(params, options),
};
const youngBy = (name, versionNegotiation) =>
  ({ ...young, name, make: (options) => new NewClient({ name: 'v2', version: '2' }, { ...options, ...(versionNegotiation ? { versionNegotiation } : {}) }) });
const young2025 = youngBy('v2', undefined); // its default
const young2026 = youngBy('v2, 2026', { mode: { pin: VERSION } });
const all = [old, young2025, young2026];
const sessions = [old, young2025]; // who speaks the 2025 era

// Connects; questions are answered by `answer`, or one by one through session.question().
async function open(t, kind, generation, options = {}) {
  const { capabilities = { elicitation: {} }, answer, env, args = [], url, transport = {}, client: clientOptions = {} } = options;
  const client = generation.make({ capabilities, ...clientOptions });
  const questions = new Inbox();
  const session = { client, errors: [], asked: 0, question: (wanted) => questions.next(wanted, 'a question') };

  client.onerror = (error) => session.errors.push(error.message);
  if (capabilities.elicitation)
    generation.onQuestion(client, (params, signal) => {
      session.asked++;
      return answer ? answer(params) : new Promise((reply) => questions.push({ params, signal, reply, accept: (content) => reply(accepted(content)) }));
    });
  if (kind === 'stdio') await client.connect(new generation.Stdio({ command: program('probe'), args, env: environment(env), stderr: 'ignore' }));
  else await client.connect(new generation.Http(new URL(url ?? (await startHttp(t, 'probe', { env, args })).url), transport));
  t.after(() => client.close());
  session.call = (tool, args_ = {}, requestOptions = {}, retry = {}) =>
    generation.call(client, { name: tool, arguments: args_, ...retry }, { timeout: PATIENCE_MS, ...requestOptions });
  session.text = async (...call) => textOf(await session.call(...call));
  return session;
}

const endOf = (promise) => promise.then((result) => ({ result }), (error) => ({ error }));

function exchanged(text, from, to) {
  assert.ok(text.includes(from), `docs/clients.md has ${from}`);
  return text.replace(from, to);
}

async function until(true_, what) {
  for (const end = Date.now() + PATIENCE_MS; !true_();) {
    assert.ok(Date.now() < end, `${what}: not within ${PATIENCE_MS} ms`);
    await pause(10);
  }
}

// --- how long they wait ---

test('both give a request 60 s by default', () => {
  assert.equal(OLD_TIMEOUT_MS, 60000);
  assert.equal(NEW_TIMEOUT_MS, 60000);
});

// Four calls at once, each of which waits for its person; heartbeats come thirty times faster than patience ends, so that a busy machine does not end it.
for (const kind of ['stdio', 'http'])
  for (const generation of sessions)
    test(`${kind}, ${generation.name}: heartbeats keep a call alive with onprogress and resetTimeoutOnProgress, and not otherwise`, (t) => atAnyPace(t, async (times) => {
      const session = await open(t, kind, generation, { env: { PROBE_HEARTBEAT_MS: '60' } });
      const heard = [];
      const begin = async (message, options) => {
        const end = endOf(session.call('ask', { message }, { timeout: 2000 * times, ...options }));
        return { end, question: await session.question(({ params }) => params.message.endsWith(message)) };
      };
      const onprogress = ({ progress }) => heard.push(progress);
      const plain = await begin('plain', {});
      const hears = await begin('hears', { onprogress });
      const bounded = await begin('bounded', { onprogress: () => {}, resetTimeoutOnProgress: true, maxTotalTimeout: 2500 * times });
      const patient = await begin('patient', { onprogress: () => {}, resetTimeoutOnProgress: true });

      for (const { end, question } of [plain, hears]) {
        const { error } = await end;
        assert.match(error?.message ?? 'no error', /Request timed out/);
        await within(PATIENCE_MS, 'the question is taken down', new Promise((resolve) => {
          if (question.signal.aborted) resolve();
          else question.signal.addEventListener('abort', resolve);
        }));
      }
      assert.ok(heard.length >= 3, `progress was there and did not help: ${heard}`);
      assert.match((await bounded.end).error?.message ?? 'no error', /Maximum total timeout exceeded/);
      patient.question.accept({ name: 'Ada' });
      const { result, error } = await patient.end;
      assert.ok(result, error?.message);
      assert.equal(textOf(result), 'accept {"name":"Ada"}');
    }));

test('what the page advises is what both take', (t) => atAnyPace(t, async (times) => {
  const advised = blockNamed('docs/clients.md', 'patience');
  const AsyncFunction = (async () => {}).constructor;
  const { url } = await startHttp(t, 'probe', { env: { PROBE_HEARTBEAT_MS: '60' } });
  for (const [generation, text] of [[old, advised], [young2025, exchanged(advised, ' undefined,', '')]]) {
    const session = await open(t, 'http', generation, { url });
    const call = endOf(new AsyncFunction('client', 'name', 'args', `${exchanged(text, '60_000', `${2000 * times}`)}; return result;`)(session.client, 'ask', {}));
    const question = await session.question();
    await pause(2500 * times);
    question.accept({ name: 'Ada' });
    const { result, error } = await call;
    assert.equal(result && textOf(result), 'accept {"name":"Ada"}', error?.message);
  }
}));

for (const kind of ['stdio', 'http'])
  test(`${kind}, v2, 2026: the time of a person does not count, and maxTotalTimeout counts it`, (t) => atAnyPace(t, async (times) => {
    const session = await open(t, kind, young2026);
    const slow = endOf(session.call('ask', {}, { timeout: 2000 * times }));
    const question = await session.question();
    await pause(2500 * times);
    question.accept({ name: 'Ada' });
    const { result, error } = await slow;
    assert.equal(result && textOf(result), 'accept {"name":"Ada"}', error?.message);

    const bounded = endOf(session.call('ask', {}, { timeout: 2000 * times, maxTotalTimeout: 2000 * times }));
    const late = await session.question();
    await pause(2100 * times);
    late.accept({ name: 'Ada' });
    assert.match((await bounded).error?.message ?? 'no error', /Maximum total timeout exceeded/);
  }));

// --- rounds ---

test('v2, 2026: ten rounds by default, inputRequired.maxRounds for more; questions of one round count once', async (t) => {
  let wrong = 10;
  const answer = () => accepted({ name: 'Ada', age: wrong-- > 0 ? 999 : 36 });
  const args = { attempts: 20 };
  const tenWrong = await open(t, 'http', young2026, { answer });
  const { error } = await endOf(tenWrong.call('ask', args)); // each wrong answer is a round
  assert.match(error?.message ?? 'no error', /still required input after 10 rounds \(inputRequired\.maxRounds\)/);
  assert.equal(tenWrong.asked, 10);
  wrong = 9;
  assert.equal(await tenWrong.text('ask', args), 'accept {"name":"Ada","age":36}');
  wrong = 10;
  const more = await open(t, 'http', young2026, { answer, client: { inputRequired: { maxRounds: 30 } } });
  assert.equal(await more.text('ask', args), 'accept {"name":"Ada","age":36}');

  const short = await open(t, 'http', young2026, { answer: () => accepted({ word: 'w' }), client: { inputRequired: { maxRounds: 1 } } });
  assert.equal(await short.text('two_at_once'), 'left w, right w');
  assert.match((await endOf(short.call('two_rounds'))).error?.message ?? 'no error', /after 1 rounds/);
});

// --- coming back ---

// A fetch whose connections can be cut, and that writes down what it was asked for.
function cuttable() {
  const requests = [];
  const open_ = new Set();
  const fetch_ = (url, init = {}) => {
    const cut = new AbortController();
    open_.add(cut);
    requests.push({ method: init.method, lastEventId: new Headers(init.headers).get('last-event-id'), at: Date.now() });
    return fetch(url, { ...init, signal: init.signal ? AbortSignal.any([init.signal, cut.signal]) : cut.signal });
  };
  const resumed = () => requests.filter(({ method, lastEventId }) => method === 'GET' && lastEventId);
  return { fetch: fetch_, requests, resumed, cut: () => open_.forEach((connection) => connection.abort()) };
}

// They wait for seconds, and not for each other.
describe('coming back', { concurrency: true }, () => {
  for (const generation of sessions)
    test(`http, ${generation.name}: a lost stream is taken up again with Last-Event-ID, a second later as nod asks`, (t) => atAnyPace(t, async (times) => {
      const line = cuttable();
      const session = await open(t, 'http', generation, { transport: { fetch: line.fetch } });
      const call = session.text('ask');
      const question = await session.question();
      const cutAt = Date.now();
      line.cut();
      await until(() => line.resumed().length > 0, 'the client comes back');
      const waited = line.resumed()[0].at - cutAt;
      assert.ok(waited >= 900 && waited < 5000 * times, `${waited} ms`);
      question.accept({ name: 'Ada' });
      assert.equal(await call, 'accept {"name":"Ada"}');
      assert.equal(session.asked, 1, 'nobody is asked twice');
    }));

  for (const generation of sessions)
    test(`http, ${generation.name}: a stream that is lost again before any message came on it is taken up again, too`, async (t) => {
      const { url } = await startHttp(t, 'probe', { env: { PROBE_HEARTBEAT_MS: '100' } });
      const lostTwice = async (options, again) => {
        const line = cuttable();
        const session = await open(t, 'http', generation, { url, transport: { fetch: line.fetch } });
        let stream; // of the call; the client has another one, for messages outside of calls
        const resumed = () => line.resumed().filter(({ lastEventId }) => lastEventId.startsWith(`${stream}_`)).length;
        let told = 0; // ids that came on the stream since it was taken up
        const onresumptiontoken = (id) => {
          stream ??= id.slice(0, id.lastIndexOf('_'));
          told += resumed();
        };
        const end = endOf(session.call('ask', {}, { onresumptiontoken, ...options(resumed) }));
        const question = await session.question();
        line.cut();
        await until(() => resumed() === 1, 'the client comes back');
        await again(() => told);
        line.cut();
        await until(() => resumed() === 2, 'the client comes back once more');
        question.accept({ name: 'Ada' });
        return { ...(await end), resumed: resumed() };
      };
      let beats = 0;
      const [silent, beating] = await Promise.all([
        lostTwice(() => ({}), (told) => until(() => told() > 0, 'the last id comes')),
        lostTwice((resumed) => ({ onprogress: () => resumed() && beats++ }), () => until(() => beats > 1, 'progress comes')),
      ]);
      for (const { result, error, resumed } of [silent, beating]) {
        assert.ok(result, error?.message);
        assert.equal(resumed, 2);
      }
    });

  // A server on a port of its own, which can go and come back with what it has stored.
  async function lasting(t, env = {}) {
    const port = await freePort();
    const file = path.join(scratchFolder(t), 'nod.db');
    const house = { url: `http://127.0.0.1:${port}/mcp` };
    house.start = async () => {
      house.server = await startHttp(t, 'probe', { args: ['--http', `127.0.0.1:${port}`, '--store', `sqlite:${file}`], env: { ...SECRET, ...env } });
    };
    await house.start();
    return house;
  }

  const PATIENT = { reconnectionOptions: { maxRetries: 60, initialReconnectionDelay: 1000, maxReconnectionDelay: 30000, reconnectionDelayGrowFactor: 1.5 } };

  for (const generation of sessions)
    test(`http, ${generation.name}: a client tries twice, a second apart, and then waits for its timeout; more maxRetries bring it back`, (t) => atAnyPace(t, async (times) => {
      const house = await lasting(t);
      const begin = async (transport, timeout) => {
        const session = await open(t, 'http', generation, { url: house.url, transport });
        const end = endOf(session.call('ask', {}, { timeout }));
        return { session, end, question: await session.question() };
      };
      const [brief, patient, hasty] = [await begin({}, 9000 * times), await begin(PATIENT, PATIENCE_MS), await begin(PATIENT, 9000 * times)];
      await house.server.kill();
      hasty.question.accept({ name: 'Ada' }); // nobody is there to take it
      await until(() => brief.session.errors.some((message) => /Maximum reconnection attempts \(2\) exceeded/.test(message)), 'it gives up');
      await until(() => hasty.session.errors.some((message) => /Failed to send response/.test(message)), 'the answer is lost');
      await house.start();
      patient.question.accept({ name: 'Grace' });
      const { result, error } = await patient.end;
      assert.equal(result && textOf(result), 'accept {"name":"Grace"}', error?.message);
      for (const { session, end } of [brief, hasty]) {
        assert.match((await end).error?.message ?? 'no error', /Request timed out/);
        assert.equal(session.asked, 1, 'the question does not come again either');
      }
    }));
});

test('v2, 2026: a retry that is cut off in the middle of a step fails, and the same retry brings the result of the one step', (t) => atAnyPace(t, async (times) => {
  const ms = 700 * times;
  const deeds = deedsFile(t);
  const line = cuttable();
  const session = await open(t, 'http', young2026, { env: { PROBE_FILE: deeds.file, ...SECRET }, transport: { fetch: line.fetch } });
  const asked = await session.call('write_slowly', { ms }, { allowInputRequired: true });
  assert.equal(asked.resultType, 'input_required');
  const retry = { requestState: asked.requestState, inputResponses: { word: accepted({ word: 'once' }) } };
  const cutOff = endOf(session.call('write_slowly', { ms }, {}, retry));
  await until(() => line.requests.length >= 3, 'the retry is on its way');
  await pause(200);
  line.cut();
  assert.ok((await within(PATIENCE_MS, 'the client gives up', cutOff)).error, 'it does not come back by itself');
  assert.equal(await session.text('write_slowly', { ms }, {}, retry), 'wrote once');
  assert.deepEqual(deeds.lines(), ['once']);
}));

// --- what they declare, and what they can show ---

const MODES = [
  ['nothing', {}, { form: false, url: false }],
  ['elicitation: {}', { elicitation: {} }, { form: true, url: false }],
  ['form and url', { elicitation: { form: {}, url: {} } }, { form: true, url: true }],
];

for (const generation of all)
  test(`${generation.name}: declares what its program says and nothing by itself`, async (t) => {
    const server = await startHttp(t, 'probe');
    for (const [what, capabilities, modes] of MODES) {
      const session = await open(t, 'http', generation, { url: server.url, capabilities, answer: () => accepted({ name: 'Ada' }) });
      const { form, url } = JSON.parse(await session.text('supports'));
      assert.deepEqual({ form, url }, modes, what);
      const asked = await endOf(session.call('ask'));
      if (modes.form) assert.equal(textOf(asked.result), 'accept {"name":"Ada"}', what);
      else assert.match(JSON.stringify(asked.result ?? { ...asked.error, message: asked.error.message }), /ELICITATION_NOT_SUPPORTED|-32021/, what);
      if (modes.url) assert.equal(await session.text('url'), 'accept');
    }
  });

test('v1 speaks 2025-11-25; v2 does too unless it is told to negotiate, and then 2026-07-28', async (t) => {
  const server = await startHttp(t, 'probe');
  const versionOf = async (generation) => {
    const { client } = await open(t, 'http', generation, { url: server.url });
    return client.getNegotiatedProtocolVersion?.() ?? client.transport._protocolVersion;
  };
  assert.equal(await versionOf(old), '2025-11-25');
  assert.equal(await versionOf(young2025), '2025-11-25');
  assert.equal(await versionOf(youngBy('v2, auto', { mode: 'auto' })), '2026-07-28');
});

for (const generation of sessions)
  test(`${generation.name}: "open this URL first" is an error with the URL in it, and the program has to call again`, async (t) => {
    const session = await open(t, 'http', generation, { capabilities: { elicitation: { form: {}, url: {} } }, answer: () => accepted() });
    const { error } = await endOf(session.call('require_url'));
    assert.equal(error.code, -32042);
    assert.match(error.data?.elicitations?.[0]?.url ?? error.elicitations[0].url, /^https:\/\/example\.org\/first/);
    assert.equal(session.asked, 0);
  });
