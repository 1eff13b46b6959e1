// The tools that nod itself has (waitForPerson, sendElicitationResult, nodQuestions, nodAnswer), with members of a request that
// they do not expect, in both eras; and what waitForPerson says at its soft deadline while another node works.
import { describe, it } from 'node:test';
import assert from 'node:assert/strict';
import { HttpPeer, callTool, pause, rawPeer, startHttp, textOf } from './harness.js';
import { Modern, accepted, assertRefused, metaOf, word } from './modern.js';
import { stores } from './stores.js';
import { Toy } from './toy.js';

const tests = [];
const test = (name, fn) => tests.push([name, fn]);
const LANES = 3;
const MUTE = { capabilities: {} }; // a client that cannot be asked
const VIEWS = { capabilities: { extensions: { 'io.modelcontextprotocol/ui': { mimeTypes: ['text/html;profile=mcp-app'] } } } };
const SECRET = { MCP_ELICITATION_SECRET: 'a secret that is surely long enough for this' };

async function toys(t, args, options = {}) {
  const server = await startHttp(t, 'toy-surface', { args: ['--surfaces', 'client,toy', '--soft-deadline', '1s', ...args], ...options });
  server.toy = await Toy.at(t, server);
  return server;
}

const pendingOf = (result) => {
  assert.equal(result?.structuredContent?.pending, true, JSON.stringify(result));
  assert.ok(!result.isError);
  return result.structuredContent;
};

// --- members that nobody expects ---

const anyId = 'AAAAAAAAAAAAAAAAAAAAAA';
const ownTools = [
  ['waitForPerson', { callId: anyId }],
  ['sendElicitationResult', { elicitId: anyId, action: 'accept', content: { word: 'x' } }],
  ['nodQuestions', { now: true }],
  ['nodAnswer', { nonce: anyId, action: 'accept', content: { word: 'x' } }],
];
const wrong = [null, true, 0, -1.5, '', 'x', [], [[]], {}, { a: { b: [1] } }];
const members = [
  ...['requestState', 'inputResponses', 'task', 'progressToken', 'uri', 'cursor', 'argument', 'notifications', 'taskIds']
    .flatMap((name) => wrong.map((value) => ({ [name]: value }))),
  { inputResponses: { first: word('x') } },
  { inputResponses: { '#1': accepted({}) }, requestState: 'x' },
  { inputResponses: { first: 7 } },
  { requestState: 'x'.repeat(1 << 15) },
  { task: { ttl: 1000 } },
];
const metas = ['progressToken', 'io.modelcontextprotocol/logLevel', 'io.modelcontextprotocol/related-task', 'io.modelcontextprotocol/clientInfo', 'nod', 'x/y']
  .flatMap((name) => wrong.map((value) => ({ [name]: value })));
const unexpected = [...members.map((one) => [one, {}]), ...metas.map((one) => [{}, one])];

// One server with every one of these tools, and a call that waits in the model and elsewhere.
const withAll = (t) => startHttp(t, 'model-server', { args: ['--no-inbox', '--soft-deadline', '1s'] });

test('2026, http: own tools, with every member that they do not expect, answer and stay', async (t) => {
  const server = await withAll(t);
  for (const { capabilities } of [MUTE, VIEWS]) {
    const modern = new Modern(server.url, { capabilities });
    const { callId, questions } = pendingOf((await modern.call('trip', { tag: 'a' }, {}, MUTE)).result);
    const known = { callId, elicitId: questions[0].elicitId };
    for (const [tool, args] of ownTools)
      for (const given of [args, tool === 'sendElicitationResult' ? { ...args, elicitId: known.elicitId, action: 'no' } : { ...args, ...(args.callId && { callId }) }])
        await Promise.all(unexpected.map(async ([params, meta]) => { // each of them may wait for a second
          const reply = await modern.call(tool, given, params, { meta });
          assert.ok(reply.result || reply.error, `${tool} ${JSON.stringify([params, meta])}: ${reply.text}`);
          assert.notEqual(reply.result?.resultType, 'input_required', reply.text);
          if (typeof params.requestState === 'string' && !/Unknown tool/.test(reply.text)) assertRefused(reply, `${tool} ${JSON.stringify(params)}`);
        }));
  }
});

for (const kind of ['http', 'stdio'])
  test(`2025, ${kind}: own tools, with every member that they do not expect, answer and stay`, async (t) => {
    const peer = await rawPeer(t, kind, 'model-server', { args: [...(kind === 'http' ? ['--no-inbox'] : []), '--soft-deadline', '1s'], ...MUTE });
    const { callId, questions } = pendingOf((await (await callTool(peer, 'trip', { tag: 'a' })).reply()).result);
    let id = 1000;
    for (const [tool, args] of ownTools)
      for (const given of [args, tool === 'sendElicitationResult' ? { ...args, elicitId: questions[0].elicitId, action: 'no' } : { ...args, ...(args.callId && { callId }) }])
        await Promise.all(unexpected.map(async ([params, meta]) => {
          const own = ++id;
          await peer.send({ id: own, method: 'tools/call', params: { name: tool, arguments: given, ...params, _meta: meta } });
          const reply = await peer.next((message) => message.id === own && !message.method, tool);
          assert.ok(reply.result || reply.error, JSON.stringify(reply));
        }));
  });

test('2026, stdio: own tools, with every member that they do not expect, answer and stay', async (t) => {
  const peer = await rawPeer(t, 'stdio', 'model-server', { args: ['--soft-deadline', '1s'], ...MUTE });
  const ask = async (id, params, meta) => {
    await peer.send({ id, method: 'tools/call', params: { ...params, _meta: { ...metaOf({}), ...meta } } });
    return peer.next((message) => message.id === id && !message.method, params.name);
  };
  const { callId } = pendingOf((await ask('begin', { name: 'trip', arguments: { tag: 'a' } })).result);
  let id = 1000;
  for (const [tool, args] of ownTools)
    await Promise.all(unexpected.map(async ([params, meta]) => {
      const reply = await ask(++id, { name: tool, arguments: args.callId ? { callId } : args, ...params }, meta);
      assert.ok(reply.result || reply.error, JSON.stringify(reply));
      assert.notEqual(reply.result?.resultType, 'input_required', JSON.stringify(reply));
    }));
});

test('2026: waitForPerson takes no answer with it, and no state; the person\'s answer counts', async (t) => {
  const server = await toys(t, []);
  const modern = new Modern(server.url, MUTE);
  const { callId } = pendingOf((await modern.call('word', { tag: 'a' })).result);
  const offer = await server.toy.offer('a');
  assertRefused(await modern.call('waitForPerson', { callId }, { requestState: 'x' }), 'a state');
  const wait = modern.call('waitForPerson', { callId }, { inputResponses: { first: word('ahead') } });
  await pause(100);
  assert.equal((await server.toy.answer(offer, 'toy')).status, 'ok', 'the question still waits');
  assert.equal(textOf((await wait).result), 'a: toy');
});

// --- at the soft deadline, while another node works ---

for (const era of ['2025', '2026'])
  test(`${era}, two nodes of redis: waitForPerson at its soft deadline, after the answer and before the next question, is a pending result`, async (t) => {
    const store = await stores.find(({ name }) => name === 'redis').create(t);
    const [one, two] = [await toys(t, ['--store', store.address], { env: SECRET }), await toys(t, ['--store', store.address], { env: SECRET })];
    const modern = new Modern(one.url, MUTE);
    const peer = await rawPeer(t, 'http', 'toy-surface', { server: one, ...MUTE });
    const there = Object.assign(new HttpPeer(two.url), { session: peer.session });
    t.after(() => there.close());
    const call = async (at, tool, args) => {
      if (era === '2026') return (await modern.call(tool, args, {}, { url: at.url })).result;
      return (await (await callTool(at === one ? peer : there, tool, args)).reply()).result;
    };
    const tags = ['a', 'b', 'c', 'd'];
    const replies = await Promise.all(tags.map(async (tag) => {
      const { callId } = pendingOf(await call(one, 'slow', { tag }));
      const offer = await one.toy.offer(tag);
      const wait = call(two, 'waitForPerson', { callId });
      await pause(200);
      assert.equal((await one.toy.answer(offer, 'one')).status, 'ok');
      return [callId, await wait];
    }));
    for (const [i, [callId, result]] of replies.entries()) {
      if (era === '2026') assert.equal(result.resultType, 'complete', JSON.stringify(result));
      const pending = pendingOf(result);
      assert.equal(pending.callId, callId);
      assert.equal(pending.waitWith, 'waitForPerson');
      assert.ok(Array.isArray(pending.waitingFor));
      assert.match(textOf(result), new RegExp(`waitForPerson with .*${callId}`));
      const isSecond = ({ message }) => message === `${tags[i]}, the second word?`;
      const second = await Promise.any([one, two].map(({ toy }) => toy.offers.next(isSecond, 'the second question')));
      assert.equal((await one.toy.answer(second, 'two')).status, 'ok');
      let end = { structuredContent: { pending: true } };
      for (let n = 0; n < 20 && end?.structuredContent?.pending; n++) end = await call(two, 'waitForPerson', { callId });
      assert.equal(textOf(end), `${tags[i]}: one two`);
    }
  });

test('2026: a server that shuts down leaves a waitForPerson with a pending result', async (t) => {
  const store = await stores.find(({ name }) => name === 'sqlite').create(t);
  const server = await toys(t, ['--store', store.address, '--soft-deadline', '1h'], { env: SECRET });
  const modern = new Modern(server.url, MUTE);
  const first = modern.call('word', { tag: 'a' });
  const { call: callId } = await server.toy.offer('a');
  assert.ok(callId);
  await server.stop();
  const reply = await first;
  assert.ok(reply.result || reply.error, reply.text);
  const again = await toys(t, ['--store', store.address, '--soft-deadline', '1h'], { env: SECRET });
  const waits = modern.call('waitForPerson', { callId }, {}, { url: again.url });
  await pause(300);
  await again.stop();
  const { result } = await waits;
  assert.equal(pendingOf(result).callId, callId);
});

// --- the stream of a request that found a call which was made before ---

const HELD = ['--soft-deadline', '1h'];
const lastId = ({ events }) => events.filter(({ id }) => id !== undefined).at(-1)?.id;

for (const name of ['sqlite', 'redis'])
  for (const [how, tool] of [['waitForPerson', 'waitForPerson'], ['calling again', 'word']])
    test(`2025, ${name}: the stream of ${how} is taken up ${name === 'redis' ? 'at another node' : 'after a restart'}, and brings the result`, async (t) => {
      const store = await stores.find((one) => one.name === name).create(t);
      const start = async (args = HELD) => toys(t, ['--store', store.address, ...args], { env: SECRET });
      const first = await start([]);
      const peer = await rawPeer(t, 'http', 'toy-surface', { server: first, ...MUTE });
      const { callId } = pendingOf((await (await callTool(peer, 'word', { tag: 'a' })).reply()).result);
      if (name === 'sqlite') await first.stop();
      const second = await start();
      peer.url = second.url;
      const wait = await callTool(peer, tool, tool === 'word' ? { tag: 'a' } : { callId });
      await wait.handle.arrived.next(({ id }) => id !== undefined, 'an id to come back with');
      const seen = lastId(wait.handle);
      if (name === 'sqlite') await second.stop();
      else wait.handle.drop();
      const third = await start();
      peer.url = third.url;
      const resume = async (last, stream) => {
        const back = await peer.request('GET', { headers: { 'Last-Event-ID': last }, stream });
        assert.equal(back.status, 200, JSON.stringify(back.json));
        return back;
      };
      const back = await resume(seen, 'back');
      const offer = await Promise.any([second, third].map(({ toy }) => toy.offer('a')));
      assert.equal((await third.toy.answer(offer, 'toy')).status, 'ok');
      const reply = await wait.reply();
      assert.equal(reply.result.content[0].text, 'a: toy');
      assert.equal(reply.result._meta?.['nod/attached']?.callId, tool === 'word' ? callId : undefined);
      await back.finished;
      const again = await resume(seen, 'again'); // its end was lost
      await again.finished;
      assert.deepEqual((await wait.reply()).result, reply.result);
      assert.deepEqual((await resume(lastId(again), 'after the end')).events.filter(({ data }) => data), []);
    });

describe('own tools', { concurrency: LANES }, () => tests.forEach(([name, fn]) => it(name, fn)));
