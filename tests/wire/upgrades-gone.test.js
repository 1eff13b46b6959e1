// A call comes back to a node that does not have its tool, by every way there is: an event id, the same request again, waitForPerson
// in both eras, a retry. What has ended gives its end. What has not is left to a node that has the tool, and ends when none has.
import { describe, it } from 'node:test';
import assert from 'node:assert/strict';
import { HttpPeer, callTool, nextAsk, pause, rawPeer, resultOf, startHttp, textOf, within, PATIENCE_MS } from './harness.js';
import { Api, token, tokenFile } from './inbox.js';
import { Modern, deedsFile, retryOf, word } from './modern.js';
import { stores } from './stores.js';

const tests = [];
const test = (name, fn) => tests.push([name, fn]);
const LANES = 4;
const SECRET = 'a secret that is surely long enough for this';
const WITHOUT = { PROBE_WITHOUT: 'renewed' };
const V2 = { PROBE_VERSION: '2' };
const MUTE = { capabilities: {} }; // a client that cannot be asked
const GONE_MS = 60000; // for a node to count as gone, and for a call whose tool no node has to end

// Servers on one store.
async function housed(t, kind) {
  const deeds = deedsFile(t);
  const store = await stores.find(({ name }) => name === kind).create(t);
  const tokens = tokenFile(t);
  const servers = [];
  const start = async (env = {}) => {
    servers.push(await startHttp(t, 'probe', {
      env: { PROBE_FILE: deeds.file, MCP_ELICITATION_SECRET: SECRET, ...env },
      args: ['--store', store.address, '--token-file', tokens, '--surfaces', 'client,inbox', '--soft-deadline', '1s'],
    }));
    return servers.at(-1);
  };
  return { deeds, start, close: () => Promise.all(servers.map((server) => server.stop())) }; // before their store goes
}

// The end of a call, or null: it has none yet, and the client may come again.
const endOf = (message) => {
  assert.ok(message.result, JSON.stringify(message));
  return message.result.structuredContent?.pending ? null : message.result;
};

// Each begins a call of a tool that asks, and looks how it ended, at any server.
const WAYS = {
  async 'an event id'(t, server, tool) {
    const peer = await rawPeer(t, 'http', 'probe', { server, token: token('ada') });
    const call = await callTool(peer, tool, { for: 'me' });
    await nextAsk(peer);
    const last = call.handle.events.filter(({ id }) => id !== undefined).at(-1).id;
    return async (at) => {
      peer.url = at.url;
      const back = await peer.request('GET', { headers: { 'Last-Event-ID': last }, stream: 'back' });
      assert.equal(back.status, 200);
      await within(PATIENCE_MS, 'the stream ends', back.finished);
      const said = back.events.filter(({ data }) => data).map(({ data }) => JSON.parse(data)).find(({ id }) => id === call.id);
      return said ? endOf(said) : null;
    };
  },
  async 'the same request'(t, server, tool) {
    const peer = await rawPeer(t, 'http', 'probe', { server, token: token('ada') });
    const call = await callTool(peer, tool, { for: 'me' });
    await nextAsk(peer);
    call.handle.drop();
    return async (at) => {
      const there = Object.assign(new HttpPeer(at.url, { token: token('ada') }), { session: peer.session });
      t.after(() => there.close());
      const again = await there.post({ jsonrpc: '2.0', id: call.id, method: 'tools/call', params: { name: tool, arguments: { for: 'me' } } });
      if (again.status === 503) return null;
      assert.equal(again.status, 200);
      return endOf(await there.inbox.next(({ id }) => id === call.id, 'the response'));
    };
  },
  async 'waitForPerson, 2025'(t, server, tool) {
    const peer = await rawPeer(t, 'http', 'probe', { server, token: token('ada'), ...MUTE });
    const { callId } = (await (await callTool(peer, tool, { for: 'me' })).reply()).result.structuredContent;
    return async (at) => {
      peer.url = at.url;
      return endOf(await (await callTool(peer, 'waitForPerson', { callId })).reply());
    };
  },
  async 'waitForPerson, 2026'(t, server, tool) {
    const modern = new Modern(server.url, { token: token('ada'), ...MUTE });
    const { callId } = (await modern.call(tool, { for: 'me' })).result.structuredContent;
    return async (at) => endOf(await modern.call('waitForPerson', { callId }, {}, { url: at.url }));
  },
  async 'a retry, 2026'(t, server, tool) {
    const modern = new Modern(server.url, { token: token('ada') });
    const asked = await modern.asked(tool, { for: 'me' });
    return async (at) => {
      const reply = await modern.call(tool, { for: 'me' }, retryOf(asked, {}), { url: at.url });
      if (reply.status === 503) return null;
      if (reply.result) return reply.result.resultType === 'complete' ? reply.result : null;
      assert.equal(reply.error?.code, -32602, reply.text); // the end of a call whose tool is not there has no shape of that tool
      return { isError: true, _meta: reply.error.data, content: [{ type: 'text', text: reply.error.message }] };
    };
  },
};

const answered = async (server) => {
  const api = new Api(server, 'ada');
  const [item] = await api.pending(1);
  assert.equal((await api.resolve(item.id, { approved: true, data: { word: 'it' } })).status, 200);
};

async function ends(end, server, ms = PATIENCE_MS) {
  for (const until = Date.now() + ms; ;) {
    const result = await end(server);
    if (result) return result;
    assert.ok(Date.now() < until, 'the call never ends');
    await pause(100);
  }
}

function assertGone(result, says = /is no longer there/) {
  assert.equal(result.isError, true, JSON.stringify(result));
  assert.equal(result._meta.code, 'TOOL_GONE', JSON.stringify(result));
  assert.match(textOf(result), /is no longer there/);
  assert.match(textOf(result), says);
}

for (const [way, begin] of Object.entries(WAYS)) {
  test(`sqlite, ${way}: a call that waits ends in TOOL_GONE, which names the steps, and stays so`, async (t) => {
    const house = await housed(t, 'sqlite');
    const first = await house.start();
    const end = await begin(t, first, 'renewed_between');
    await first.stop();
    const second = await house.start(WITHOUT);
    const result = await end(second);
    assertGone(result, /Done before: 'before'\./);
    await second.stop();
    const third = await house.start();
    assertGone(await end(third));
    assert.deepEqual(house.deeds.lines(), ['before']);
  });

  test(`sqlite, ${way}: a call that has ended gives its result when its tool is gone`, async (t) => {
    const house = await housed(t, 'sqlite');
    const first = await house.start();
    const end = await begin(t, first, 'renewed');
    await answered(first);
    assert.equal(textOf(await ends(end, first)), 'renewed it');
    await first.stop();
    assert.equal(textOf(await end(await house.start(WITHOUT))), 'renewed it');
  });

  test(`sqlite, ${way}: a call that was ended by a rule gives its failure each time, and is not "cancelled"`, async (t) => {
    const house = await housed(t, 'sqlite');
    const first = await house.start();
    const end = await begin(t, first, 'renewed');
    await first.stop();
    const second = await house.start(V2);
    for (let i = 0; i < 2; i++) assert.equal((await end(second))._meta.code, 'TOOL_CHANGED');
    assert.deepEqual(house.deeds.lines(), []);
  });

  test(`two nodes of redis, ${way}: the node without the tool leaves a call to the node that has it, and then has its result`, async (t) => {
    const house = await housed(t, 'redis');
    const [first, second] = [await house.start(), await house.start(WITHOUT)];
    const end = await begin(t, first, 'renewed');
    assert.equal(await end(second), null);
    assert.equal(await end(second), null);
    await answered(second);
    assert.equal(textOf(await ends(end, second)), 'renewed it');
    assert.deepEqual(house.deeds.lines(), ['it']);
    await house.close();
  });
}

test('sqlite: a tool that is taken away, and an answer that comes when it is gone, end its calls with the steps that were done', async (t) => {
  const house = await housed(t, 'sqlite');
  const first = await house.start();
  const begin = async () => {
    const peer = await rawPeer(t, 'http', 'probe', { server: first, token: token('ada') });
    const call = await callTool(peer, 'renewed_between', { for: 'me' });
    return { peer, call, ask: await nextAsk(peer) };
  };
  const [one, two] = [await begin(), await WAYS['an event id'](t, first, 'renewed_between')];
  await first.stop();
  const second = await house.start(WITHOUT);
  one.peer.url = second.url;
  const posted = await one.peer.request('POST', { body: { jsonrpc: '2.0', id: one.ask.id, result: word('it') } });
  assert.equal(posted.status, 409);
  const last = one.call.handle.events.filter(({ id }) => id !== undefined).at(-1).id;
  assert.equal((await one.peer.request('GET', { headers: { 'Last-Event-ID': last }, stream: 'back' })).status, 200);
  assertGone((await one.call.reply()).result, /Done before: 'before'\./);
  assertGone(await two(second), /Done before: 'before'\./);
  await second.stop();
  const third = await house.start();
  const removed = await rawPeer(t, 'http', 'probe', { server: third, token: token('ada') });
  const call = await callTool(removed, 'renewed_between', { for: 'me' });
  await nextAsk(removed);
  assert.equal(await resultOf(removed, 'remove_renewed'), 'removed');
  assertGone((await call.reply()).result, /Done before: 'before'\./);
});

test('two nodes of redis: when no node has had the tool for 30 s, its calls end, by every way', async (t) => {
  const house = await housed(t, 'redis');
  const [first, second] = [await house.start(), await house.start(WITHOUT)];
  const looks = [];
  for (const [way, begin] of Object.entries(WAYS)) looks.push([way, await begin(t, first, 'renewed')]);
  await first.stop();
  const began = Date.now();
  await Promise.all(looks.map(async ([way, end]) => {
    assert.equal(await end(second), null, `${way}: the tool may come back`);
    assertGone(await ends(end, second, GONE_MS));
    assert.ok(Date.now() - began > 29000, way);
  }));
  assert.deepEqual(house.deeds.lines(), []);
  await house.close();
});

describe('tools that are gone', { concurrency: LANES }, () => tests.forEach(([name, fn]) => it(name, fn)));
