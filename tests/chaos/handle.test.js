// No effect before a handle: what a client of the 2025 era holds when the server dies around the first step of its call,
// and what then becomes of the call.
import test, { describe, it } from 'node:test';
import assert from 'node:assert/strict';
import { HttpPeer, PATIENCE_MS, nextAsk, pause, textOf, within } from '../wire/harness.js';
import { openHouse, startRedis, stores } from './house.js';
import { Api, token, tokenFile } from '../wire/inbox.js';
import { word } from '../wire/modern.js';

const LANES = 4; // these mostly wait
const LOOKED_MS = 4000; // more than the time to live of a node, and two looks for calls that nobody works on

// Begins `deed_first` on a server that dies at `crash`; resolves to what the client has seen by then.
async function begin(t, store, { version, crash, token }) {
  const redis = store === 'redis' ? await startRedis(t) : undefined;
  const house = await openHouse(t, store, { redis });
  const node = await house.node({ crash, args: ['--no-inbox'] }); // who cannot be asked is told so at once
  const peer = await new HttpPeer(node.url, { version }).initialize();
  t.after(() => peer.close());
  const params = { name: 'deed_first', arguments: { tag: 'tag' }, ...(token ? { _meta: { progressToken: token } } : {}) };
  const call = await peer.send({ id: 'call', method: 'tools/call', params }).catch(() => undefined);
  await call?.finished;
  await within(PATIENCE_MS, 'the server dies', node.ended);
  await node.start();
  return { house, peer, call, params, deeds: () => house.deedsOf('tag') };
}

const idsOf = (call) => (call?.events ?? []).filter((event) => event.id).map((event) => event.id);

// Comes back, answers, and gets the result.
async function finish(peer, event) {
  const back = await peer.request('GET', { headers: { 'Last-Event-ID': event } });
  assert.equal(back.status, 200);
  const ask = await nextAsk(peer);
  await peer.send({ id: ask.id, result: word('tag-a') });
  const reply = await peer.next((message) => message.id === 'call' && !message.method, 'the result');
  assert.equal(textOf(reply.result), 'tag: tag-a');
}

for (const store of stores)
  for (const crash of ['effect_before', 'effect_after', 'step_after']) {
    test(`11.3: ${store}: 2025-11-25 has an event id before the first effect (${crash})`, async (t) => {
      const { peer, call, deeds } = await begin(t, store, { version: '2025-11-25', crash });
      const [first] = call.events;
      assert.ok(first.id && !first.data, 'a priming event');
      await finish(peer, first.id);
      assert.equal(deeds(), 1);
    });

    test(`11.3: ${store}: 2025-06-18 has one on a message, if it gave a progress token (${crash})`, async (t) => {
      const { peer, call, deeds } = await begin(t, store, { version: '2025-06-18', crash, token: 'p' });
      for (const event of call.events) assert.ok(event.data, 'no event without data');
      assert.equal(JSON.parse(call.events[0].data).method, 'notifications/progress');
      await finish(peer, idsOf(call)[0]);
      assert.equal(deeds(), 1);
    });
  }

for (const store of stores)
  for (const version of ['2025-06-18', '2025-03-26'])
    test(`11.3: ${store}: a call of ${version} whose client has nothing to come back with is not run on`, async (t) => {
      const { peer, call, params, deeds } = await begin(t, store, { version, crash: 'effect_before' });
      assert.deepEqual(idsOf(call), []);
      await pause(LOOKED_MS);
      assert.equal(deeds(), 0, 'nobody can come for it');
      // Its client calls again: under another id it is another call, and the only one.
      const second = await peer.send({ id: 'another', method: 'tools/call', params });
      if (version === '2025-06-18') await nextAsk(peer);
      else await peer.next((message) => message.id === 'another', 'the result: there is nobody to ask');
      assert.equal(deeds(), 1);
      second.drop();
    });

for (const store of stores)
  test(`11.3: ${store}: 2025-11-25, stored and without its event id yet, is not run on`, async (t) => {
    const { peer, call, params, deeds } = await begin(t, store, { version: '2025-11-25', crash: 'open_after' });
    assert.deepEqual(idsOf(call), []);
    await pause(LOOKED_MS);
    assert.equal(deeds(), 0, 'nobody can come for it');
    await peer.send({ id: 'another', method: 'tools/call', params });
    await nextAsk(peer);
    assert.equal(deeds(), 1);
  });

for (const store of stores)
  test(`11.3: ${store}: the request itself, sent again, finds a call that nothing else leads to`, async (t) => {
    const { peer, params, deeds } = await begin(t, store, { version: '2025-06-18', crash: 'effect_after' });
    assert.equal(deeds(), 1);
    await pause(2000); // the node that had it is known to be gone
    await peer.send({ id: 'call', method: 'tools/call', params });
    const ask = await nextAsk(peer);
    await peer.send({ id: ask.id, result: word('tag-a') });
    const reply = await peer.next((message) => message.id === 'call' && !message.method, 'the result');
    assert.equal(textOf(reply.result), 'tag: tag-a');
    assert.equal(deeds(), 1, 'under the key it had');
  });

// --- pending results ---

// A call of a client that cannot be asked, on a server that dies at `crash`: the question is in the inbox only.
async function inInbox(t, store, crash) {
  const redis = store === 'redis' ? await startRedis(t) : undefined;
  const house = await openHouse(t, store, { redis });
  const node = await house.node({ crash, args: ['--surfaces', 'client,inbox', '--soft-deadline', '1s', '--token-file', tokenFile(t)] });
  const peer = await new HttpPeer(node.url, { token: token('ada') }).initialize({});
  t.after(() => peer.close());
  const api = new Api(node, 'ada');
  const call = async (id, name, args) => {
    const { response, finished } = await peer.send({ id, method: 'tools/call', params: { name, arguments: args } });
    return { response, finished, result: () => peer.next((message) => message.id === id, `the reply to ${id}`).then((reply) => reply.result) };
  };
  return {
    api, call, node,
    word: (id) => call(id, 'deed_first', { tag: 'tag' }),
    wait: (id, callId) => call(id, 'waitForPerson', { callId }),
    answer: async ({ id }) => assert.equal((await api.resolve(id, { approved: true, data: { word: 'inbox' } })).status, 200),
    deeds: () => house.deedsOf('tag'),
    async dies() {
      await within(PATIENCE_MS, 'the server dies', node.ended);
      await node.start();
      await pause(2000); // the node that had it is known to be gone
    },
  };
}

describe('pending results', { concurrency: LANES }, () => {
  for (const store of stores) {
    for (const [crash, id] of [['handle_before', 'call'], ['handle_after', 'another']])
      it(`${store}: killed at ${crash}, the call is found again by ${id === 'call' ? 'its request' : 'calling again'}`, async (t) => {
        const { api, word, answer, dies, deeds } = await inInbox(t, store, crash);
        const lost = await word('call');
        await lost.finished?.catch(() => {});
        await dies();
        const again = await word(id);
        const [item] = await api.pending(1);
        await answer(item);
        assert.equal((await again.result()).content[0].text, 'tag: inbox');
        assert.deepEqual([(await api.list()).json.items.length, deeds()], [0, 1], 'asked once, done once');
      });

    for (const crash of ['collect_before', 'collect_after'])
      it(`${store}: killed at ${crash}, the handle still leads to the result, and what was handed out is no answer to another call`, async (t) => {
        const { api, word, wait, answer, dies, deeds } = await inInbox(t, store, crash);
        const { callId } = (await (await word('call')).result()).structuredContent;
        await answer((await api.pending(1))[0]);
        await wait('lost', callId).then((lost) => lost.finished, () => {}).catch(() => {});
        await dies();
        assert.equal(textOf(await (await wait('again', callId)).result()), 'tag: inbox');
        assert.equal(deeds(), 1);
        const other = await word('other');
        await answer((await api.pending(1))[0]);
        assert.equal(textOf(await other.result()), 'tag: inbox');
        assert.equal(deeds(), 2, 'another call');
      });
  }
});

// SQLite, because the clock of that store is the node's own.
test('11.28: sqlite: an answer that was stored before everything was down for days has a result to come back for', async (t) => {
  const house = await openHouse(t, 'sqlite');
  const node = await house.node({ crash: 'answer_after' });
  const peer = await new HttpPeer(node.url, { version: '2025-11-25' }).initialize();
  t.after(() => peer.close());
  const call = await peer.send({ id: 'call', method: 'tools/call', params: { name: 'deed_first', arguments: { tag: 'tag' } } });
  const ask = await nextAsk(peer);
  await peer.send({ id: ask.id, result: word('tag-a') }).catch(() => {});
  await within(PATIENCE_MS, 'the server dies', node.ended);
  const later = await house.node({ env: { NOD_CLOCK_AHEAD_MS: String(80 * 3600000) } });
  peer.url = later.url;
  const back = await peer.request('GET', { headers: { 'Last-Event-ID': idsOf(call).at(-1) } });
  assert.equal(back.status, 200, 'its session is kept');
  const reply = await peer.next((message) => message.id === 'call' && !message.method, 'the result');
  assert.equal(textOf(reply.result), 'tag: tag-a');
  assert.equal(house.deedsOf('tag'), 1);
});
