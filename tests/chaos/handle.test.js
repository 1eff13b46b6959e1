// No effect before a handle: what a client of the 2025 era holds when the server dies around the first step of its call,
// and what then becomes of the call.
//
// Then again (one of them, drawn, in the tests) beside handlers that crash, from that death on: the client comes back whenever its server
// has gone.
import { describe, it } from 'node:test';
import assert from 'node:assert/strict';
import { HttpPeer, PATIENCE_MS, nextAsk, pause, textOf, within } from '../wire/harness.js';
import { openHouse, startRedis, stores } from './house.js';
import { away, connectionFailed, patiently, Story } from './clients.js';
import { DEATHS, drawn, letCrash } from './crashers.js';
import { Api, token, tokenFile } from '../wire/inbox.js';
import { word } from '../wire/modern.js';

const LANES = 4; // these mostly wait
const LOOKED_MS = 4000; // more than the time to live of a node, and two looks for calls that nobody works on

// A client that is told, when its server has died as it was to, whether handlers begin to crash. If so, whatever it sends is sent until it is
// taken, and a call is followed through all streams.
class Peer extends HttpPeer {
  async request(method, options) {
    for (const story = new Story(method, ''); ; ) {
      try {
        const handle = await super.request(method, options);
        if (!this.patient || !away(handle.status)) return handle;
        await story.again(`${method}: ${handle.status}`);
      } catch (error) {
        if (!this.patient || this.closed) throw error;
        await story.again(`${method}: ${connectionFailed(error)}`);
      }
    }
  }

  // Until the reply to `id` has come: with the last event id that was seen, or as it was begun.
  async follow(id, begin) {
    const first = await begin();
    const replied = ({ streamed, events }) => !streamed || events.some(({ data }) => data && isReply(JSON.parse(data), id));
    const rest = async () => {
      let last;
      for (let handle = first; ; handle = last ? await this.resume(last) : await begin()) {
        await handle.finished;
        if (replied(handle) || this.closed) return;
        last = idsOf(handle).at(-1) ?? last;
      }
    };
    if (this.patient) rest().catch((error) => this.closed || this.inbox.push({ id, error: { message: error.stack } }));
    return first;
  }

  async resume(event) {
    const back = await this.request('GET', { headers: { 'Last-Event-ID': event } });
    assert.equal(back.status, 200);
    return back;
  }

  call(id, params) {
    return this.follow(id, () => this.send({ id, method: 'tools/call', params }));
  }

  async reply(id) {
    const { result, error } = await this.next((message) => isReply(message, id), `the reply to ${id}`);
    assert.ok(result, error?.message);
    return result;
  }

  async answer(ask, text) {
    const { status } = await this.send({ id: ask.id, result: word(text) });
    assert.equal(status, 202);
  }

  close() {
    this.closed = true;
    super.close();
  }
}

class PatientApi extends Api {
  request(...given) {
    return patiently(given.slice(0, 2).join(' '), () => super.request(...given));
  }
}

const isReply = (message, id) => message.id === id && !message.method;

// Handlers crash on this node from now on, if `crash` says so; `end` is for when the call has ended.
async function crashBeside(t, crash, house, node, peer, manners) {
  if (!crash) return { more: () => {}, end: () => {} };
  node.keep();
  peer.patient = true;
  const crashers = await letCrash(house, '2025', node.url, manners);
  return {
    // What comes next, comes after one more crash.
    async more() {
      const before = house.crashed().length;
      await within(PATIENCE_MS, 'a handler crashes', (async () => {
        while (house.crashed().length === before && !crashers.isOver()) await pause(20);
      })());
    },
    async end() {
      const count = await crashers.end();
      count.check(t, house, `${crashers.tool}, which crashed ${crashers.deaths()} times, and crash_sometimes`);
      assert.ok(crashers.deaths() >= 1 && crashers.deaths() <= DEATHS, `${crashers.tool} has ended after ${crashers.deaths()} deaths`);
      assert.equal(node.deaths, 0, 'by nothing else');
      await house.close();
    },
  };
}

// Each is a test of its own; then they come beside handlers that crash. All side by side, because they mostly wait.
const worlds = [];
const world = (name, work) => worlds.push({ name, work });

// Begins `deed_first` on a server that dies at `at`; resolves to what the client has seen by then.
async function begin(t, store, crash, { version, at, token: progressToken }) {
  const redis = store === 'redis' ? await startRedis(t) : undefined;
  const house = await openHouse(t, store, { redis });
  const node = await house.node({ crash: at, args: ['--no-inbox'] }); // who cannot be asked is told so at once
  const peer = await new Peer(node.url, { version }).initialize();
  t.after(() => peer.close());
  const params = { name: 'deed_first', arguments: { tag: 'tag' }, ...(progressToken ? { _meta: { progressToken } } : {}) };
  let why;
  const call = await peer.send({ id: 'call', method: 'tools/call', params }).catch((error) => void (why = error));
  await call?.finished;
  await within(PATIENCE_MS, 'the server dies', node.ended);
  await node.start();
  const crashers = await crashBeside(t, crash, house, node, peer);
  const end = async (deeds) => {
    assert.equal(house.deedsOf('tag'), deeds);
    await crashers.end();
    assert.equal(house.deedsOf('tag'), deeds, 'and still');
  };
  return { peer, call, why, params, crashers, end, deeds: () => house.deedsOf('tag') };
}

const idsOf = (call) => (call?.events ?? []).filter((event) => event.id).map((event) => event.id);

// Comes back, answers, and gets the result.
async function finish({ peer, crashers, end }, event) {
  await peer.follow('call', () => peer.resume(event));
  const ask = await nextAsk(peer);
  await crashers.more();
  await peer.answer(ask, 'tag-a');
  assert.equal(textOf(await peer.reply('call')), 'tag: tag-a');
  await end(1);
}

for (const store of stores)
  for (const at of ['effect_before', 'effect_after', 'step_after']) {
    world(`11.3: ${store}: 2025-11-25 has an event id before the first effect (${at})`, async (t, crash) => {
      const begun = await begin(t, store, crash, { version: '2025-11-25', at });
      assert.ok(begun.call, begun.why?.cause?.stack);
      const [first] = begun.call.events;
      assert.ok(first.id && !first.data, 'a priming event');
      await finish(begun, first.id);
    });

    world(`11.3: ${store}: 2025-06-18 has one on a message, if it gave a progress token (${at})`, async (t, crash) => {
      const begun = await begin(t, store, crash, { version: '2025-06-18', at, token: 'p' });
      assert.ok(begun.call, begun.why?.cause?.stack);
      for (const event of begun.call.events) assert.ok(event.data, 'no event without data');
      assert.equal(JSON.parse(begun.call.events[0].data).method, 'notifications/progress');
      await finish(begun, idsOf(begun.call)[0]);
    });
  }

for (const store of stores)
  for (const [version, at] of [['2025-06-18', 'effect_before'], ['2025-03-26', 'effect_before'], ['2025-11-25', 'open_after']])
    world(`11.3: ${store}: a call of ${version} whose client has nothing to come back with (${at}) is not run on`, async (t, crash) => {
      const { peer, call, params, crashers, deeds, end } = await begin(t, store, crash, { version, at });
      assert.deepEqual(idsOf(call), []);
      await Promise.all([pause(LOOKED_MS), crashers.more()]);
      assert.equal(deeds(), 0, 'nobody can come for it');
      // Its client calls again: under another id it is another call, and the only one.
      await peer.call('another', params);
      if (version === '2025-03-26') await peer.reply('another'); // there is nobody to ask
      else await nextAsk(peer);
      peer.close();
      await end(1);
    });

for (const store of stores)
  world(`11.3: ${store}: the request itself, sent again, finds a call that nothing else leads to`, async (t, crash) => {
    const { peer, params, crashers, deeds, end } = await begin(t, store, crash, { version: '2025-06-18', at: 'effect_after' });
    assert.equal(deeds(), 1);
    await Promise.all([pause(2000), crashers.more()]); // the node that had it is known to be gone
    await peer.call('call', params);
    const ask = await nextAsk(peer);
    await crashers.more();
    await peer.answer(ask, 'tag-a');
    assert.equal(textOf(await peer.reply('call')), 'tag: tag-a');
    await end(1); // under the key it had
  });

// --- pending results ---

// A call of a client that cannot be asked, on a server that dies at `at`: the question is in the inbox only.
async function inInbox(t, store, crash, at) {
  const redis = store === 'redis' ? await startRedis(t) : undefined;
  const house = await openHouse(t, store, { redis });
  const node = await house.node({ crash: at, args: ['--surfaces', 'client,inbox', '--soft-deadline', '1s', '--token-file', tokenFile(t)] });
  const peer = await new Peer(node.url, { token: token('ada') }).initialize({});
  t.after(() => peer.close());
  const api = new (crash ? PatientApi : Api)(node, 'ada');
  const call = async (id, name, args) => {
    const { finished } = await peer.call(id, { name, arguments: args });
    return { finished, result: () => peer.reply(id) };
  };
  const wait = (id, callId) => call(id, 'waitForPerson', { callId });
  let crashers;
  return {
    api, wait,
    word: (id) => call(id, 'deed_first', { tag: 'tag' }),
    async answer() {
      const [{ id }] = await api.pending(1);
      await crashers?.more();
      const { status, text } = await api.resolve(id, { approved: true, data: { word: 'inbox' } });
      assert.ok(status === 200 || (crash && status === 409), text); // sent again, it is told that it was answered
    },
    // What the tool says in the end; a call that was held up, by a crash or by a busy machine, may be pending first.
    async said(begun) {
      let result = await begun.result();
      for (let n = 0; result.structuredContent?.pending; n++)
        result = await (await wait(`${result.structuredContent.callId}-${n}`, result.structuredContent.callId)).result();
      return result.content[0].text;
    },
    deeds: () => house.deedsOf('tag'),
    async dies() {
      await within(PATIENCE_MS, 'the server dies', node.ended);
      await node.start();
      crashers = await crashBeside(t, crash, house, node, peer, { token: token('bob') });
      await pause(2000); // the node that had it is known to be gone
    },
    end: () => crashers.end(),
  };
}

for (const store of stores) {
  for (const [at, id] of [['handle_before', 'call'], ['handle_after', 'another']])
    world(`${store}: killed at ${at}, the call is found again by ${id === 'call' ? 'its request' : 'calling again'}`, async (t, crash) => {
      const { api, word: ask, answer, said, dies, deeds, end } = await inInbox(t, store, crash, at);
      const lost = await ask('call');
      await lost.finished?.catch(() => {});
      await dies();
      const again = await ask(id);
      await answer();
      assert.equal(await said(again), 'tag: inbox');
      assert.deepEqual([(await api.list()).json.items.length, deeds()], [0, 1], 'asked once, done once');
      await end();
      assert.equal(deeds(), 1);
    });

  for (const at of ['collect_before', 'collect_after'])
    world(`${store}: killed at ${at}, the handle still leads to the result, and what was handed out is no answer to another call`, async (t, crash) => {
      const { word: ask, wait, answer, said, dies, deeds, end } = await inInbox(t, store, crash, at);
      const { callId } = (await (await ask('call')).result()).structuredContent;
      await answer();
      await wait('lost', callId).then((lost) => lost.finished, () => {}).catch(() => {});
      await dies();
      assert.equal(await said(await wait('again', callId)), 'tag: inbox');
      assert.equal(deeds(), 1);
      const other = await ask('other');
      await answer();
      assert.equal(await said(other), 'tag: inbox');
      await end();
      assert.equal(deeds(), 2, 'another call');
    });
}

// SQLite, because the clock of that store is the node's own.
world('11.28: sqlite: an answer that was stored before everything was down for days has a result to come back for', async (t, crash) => {
  const house = await openHouse(t, 'sqlite');
  const node = await house.node({ crash: 'answer_after' });
  const peer = await new Peer(node.url, { version: '2025-11-25' }).initialize();
  t.after(() => peer.close());
  const call = await peer.send({ id: 'call', method: 'tools/call', params: { name: 'deed_first', arguments: { tag: 'tag' } } });
  const ask = await nextAsk(peer);
  await peer.send({ id: ask.id, result: word('tag-a') }).catch(() => {});
  await within(PATIENCE_MS, 'the server dies', node.ended);
  const later = await house.node({ env: { NOD_CLOCK_AHEAD_MS: String(80 * 3600000) } });
  peer.url = later.url;
  const crashers = await crashBeside(t, crash, house, later, peer);
  await crashers.more();
  await peer.follow('call', () => peer.resume(idsOf(call).at(-1))); // its session is kept
  assert.equal(textOf(await peer.reply('call')), 'tag: tag-a');
  await crashers.end();
  assert.equal(house.deedsOf('tag'), 1);
});

describe('no effect before a handle', { concurrency: LANES }, () => {
  for (const { name, work } of drawn(worlds)) it(`${name}; beside handlers that crash`, (t) => work(t, true)); // first: they take long
  for (const { name, work } of worlds) it(name, (t) => work(t, false));
});
