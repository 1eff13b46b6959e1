// The event stream of the inbox: what comes and goes is told to whoever may see it, on every node, joined, and again to
// those who come back.
import test from 'node:test';
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import http from 'node:http';
import { json } from 'node:stream/consumers';
import { connect, pause, promptly, textOf, within, PATIENCE_MS } from './harness.js';
import { Browser } from './credentials.js';
import { Api, Watcher, houses, mute, openHouse, token } from './inbox.js';

const SOAK = Number(process.env.NOD_SOAK);

for (const house of houses) {
  test(`${house.name}: an ask is told when it comes up and when it ends, on whatever node`, async (t) => {
    const { first, last } = await openHouse(t, house);
    const ada = new Api(first, 'ada');
    const watcher = await Watcher.open(t, new Api(last, 'ada'));
    const others = await Watcher.open(t, new Api(last, 'bob'));
    await watcher.ready();
    await others.ready();
    const client = await mute(t, first, 'ada');
    const call = client.call('ask', { message: 'live?' });
    const came = await watcher.item('pending', 'live?');
    const { inputSchema: _, ...alone } = (await ada.one(came.id)).json;
    assert.deepEqual(alone, came);
    assert.equal((await ada.resolve(came.id, { action: 'accept', content: { name: 'Xy' } })).status, 200);
    const ended = await watcher.item('ended', 'live?');
    assert.deepEqual([ended.id, ended.state, ended.answer.by, ended.answer.content], [came.id, 'accepted', 'ada', { name: 'Xy' }]);
    await call;
    assert.ok(others.events.every(({ event }) => event === 'reset'), 'another principal is told nothing');
  });

  test(`${house.name}: who comes back is told what was missed, once; what is too old is a reset`, async (t) => {
    const { first } = await openHouse(t, house);
    const ada = new Api(first, 'ada');
    const stays = await Watcher.open(t, ada); // as long as somebody watches, numbers go on
    await stays.ready();
    const client = await mute(t, first, 'ada');
    const calls = [client.call('ask', { message: 'one' })];
    const one = await stays.item('pending', 'one');
    const before = stays.last;
    await ada.resolve(one.id, { action: 'decline' });
    calls.push(client.call('ask', { message: 'two' }));
    await stays.item('pending', 'two');
    const back = await Watcher.open(t, ada, { last: before });
    const { data } = await back.next('changes', ({ ended }) => ended.length);
    assert.deepEqual([data.pending.map(({ message }) => message), data.ended.map(({ message }) => message)], [['two'], ['one']]);
    const again = await Watcher.open(t, ada, { last: back.last });
    calls.push(client.call('ask', { message: 'three' }));
    await again.item('pending', 'three');
    assert.deepEqual(again.events.map(({ event }) => event), ['changes'], 'nothing was missed, so nothing is repeated');
    for (const last of ['nonsense', `${'x'.repeat(22)}-1`, `${before.slice(0, 23)}999999`])
      await (await Watcher.open(t, ada, { last })).next('reset');
    for (const { id } of (await ada.list()).json.items) await ada.resolve(id, { approved: false });
    await Promise.all(calls);
  });
}

test('what a call led to is told to its own principal and to admins, and to no approver', async (t) => {
  const { first } = await openHouse(t, houses[0]);
  const readers = ['ada', 'root', 'dora'];
  const before = {}; // where each of them reads on once the call has ended
  for (const who of readers) {
    const watcher = await Watcher.open(t, new Api(first, who));
    await watcher.ready();
    before[who] = watcher.last;
  }
  const call = (await mute(t, first, 'ada')).text('approve');
  const [{ id, message }] = await new Api(first, 'ada').pending();
  assert.equal((await new Api(first, 'ada').resolve(id, { approved: true, data: { reason: 'private' } })).status, 200);
  const result = await call;
  const told = {};
  for (const who of readers) {
    const watcher = await Watcher.open(t, new Api(first, who), { last: before[who] });
    const { call: said } = await watcher.item('ended', message);
    told[who] = said;
  }
  assert.deepEqual(told, { ada: { state: 'finished', result }, root: { state: 'finished', result }, dora: { state: 'finished', result: null } });
});

test('a question too large for an event is a reset for whoever may see it; others are told the rest', async (t) => {
  const { first } = await openHouse(t, houses[0]);
  const [ada, bob] = [new Api(first, 'ada'), new Api(first, 'bob')];
  const [watcher, other] = [await Watcher.open(t, ada), await Watcher.open(t, bob)];
  await watcher.ready();
  await other.ready();
  const before = watcher.last;
  const [hers, his] = [await mute(t, first, 'ada'), await mute(t, first, 'bob')];
  const messages = ['small before', 'large', 'small behind']; // all in one event
  const calls = messages.map((message) => hers.call('ask', { message, ...(message === 'large' && { more: 'A'.repeat(300 << 10) }) }));
  calls.push(his.call('ask', { message: 'of bob' }));
  await watcher.next('reset');
  await watcher.next('changes', ({ pending }) => messages.every((message) => pending.some((item) => item.message === message)));
  await other.item('pending', 'of bob');
  assert.equal(other.events.filter(({ event }) => event === 'reset').length, 1, 'bob is told to look at nothing of hers');
  await (await Watcher.open(t, ada, { last: before })).next('reset'); // also where it was missed
  for (const api of [ada, bob]) for (const { id } of (await api.list()).json.items) await api.resolve(id, { approved: false });
  await Promise.all(calls);
});

test('one user takes at most a quarter of all streams, and has them back when they end', async (t) => {
  const { first } = await openHouse(t, houses[0]);
  const [ada, bob] = [new Api(first, 'ada'), new Api(first, 'bob')];
  const open = async (api) => {
    const request = http.get(`${api.base}/api/events`, { headers: api.credential(), agent: false });
    t.after(() => request.destroy());
    const [response] = await once(request, 'response');
    return { request, response, status: response.statusCode };
  };
  const streams = [];
  while (streams.length < 500) streams.push(...(await Promise.all(Array.from({ length: 50 }, () => open(ada)))));
  assert.ok(streams.every(({ status }) => status === 200));
  const refused = await open(ada);
  assert.equal(refused.status, 429);
  assert.equal((await json(refused.response)).detail, 'You have too many event streams; close one.');
  assert.ok(refused.response.headers['retry-after']);
  assert.equal((await open(bob)).status, 200);
  streams[0].request.destroy();
  await within(PATIENCE_MS, 'room for another', (async () => {
    while ((await open(ada)).status !== 200) await pause(10);
  })());
});

test('what comes and goes is joined: at most four events a second, and every list is right at the end', async (t) => {
  const { first } = await openHouse(t, houses[0]);
  const ada = new Api(first, 'ada');
  const watchers = await Promise.all(Array.from({ length: SOAK ? 50 : 5 }, () => Watcher.open(t, ada)));
  await Promise.all(watchers.map((watcher) => watcher.ready()));
  const client = await mute(t, first, 'ada');
  const left = new Set();
  const one = async (n) => {
    const call = client.call('ask', { message: `many ${n}` }, { timeout: PATIENCE_MS });
    const items = await ada.pending(1, { q: `many ${n}` });
    const { id } = items.find(({ message }) => message === `many ${n}`);
    if (n % 20 === 7) {
      left.add(id);
      call.catch(() => {});
    } else {
      assert.equal((await ada.resolve(id, { approved: true, data: { name: 'Xy' } })).status, 200);
      await call;
    }
  };
  const lanes = Array.from({ length: 8 }, async (_, lane) => {
    for (let n = lane; n < (SOAK ? 800 : 80); n += 8) await one(n);
  });
  await Promise.all(lanes);
  const listOf = (watcher) => {
    const list = new Set();
    for (const { data } of [...watcher.looked, ...watcher.events]) {
      for (const { id } of data.pending ?? []) list.add(id);
      for (const { id } of data.ended ?? []) list.delete(id);
      for (const id of data.gone ?? []) list.delete(id);
    }
    return list;
  };
  const same = (list) => list.size === left.size && [...left].every((id) => list.has(id));
  for (const watcher of watchers) {
    while (!same(listOf(watcher))) await watcher.next('changes');
    const times = watcher.events.filter(({ event }) => event === 'changes').map(({ data }) => Date.parse(data.now)); // the server's time: ours has the load of this machine in it
    const seconds = (times.at(-1) - times[0]) / 1000; // an event may be late, and the next one in time: so not each pair is looked at
    assert.ok(times.length <= 4 * seconds + 3, `${times.length} events in ${seconds} s`);
  }
  for (const id of left) await ada.resolve(id, { approved: false });
});

test('a reader that does not read costs the others nothing, and is right when it reads on', async (t) => {
  const { first } = await openHouse(t, houses[0]);
  const ada = new Api(first, 'ada');
  const fine = await Watcher.open(t, ada);
  await fine.ready();
  const response = await fetch(`${ada.base}/api/events`, { headers: ada.credential() }); // nobody reads its body
  t.after(() => response.body.cancel().catch(() => {}));
  const client = await mute(t, first, 'ada');
  const call = client.call('ask', { message: 'while one sleeps' });
  const { id } = await fine.item('pending', 'while one sleeps');
  await ada.resolve(id, { approved: true, data: { name: 'Yz' } });
  await fine.item('ended', 'while one sleeps');
  assert.equal(textOf(await call), 'accept {"name":"Yz"}');
});

test('without a credential there is no stream, and a token in the query is none', async (t) => {
  const { first } = await openHouse(t, houses[0]);
  const nobody = new Api(first, null);
  assert.equal((await nobody.get('/api/events')).status, 401);
  assert.equal((await nobody.get(`/api/events?token=${token('ada')}`)).status, 401);
  assert.equal((await nobody.get(`/api/events?access_token=${token('ada')}`)).status, 401);
  assert.equal((await new Api(first, 'carl').get('/api/events')).status, 403);
});

test('a stream ends within a second of a lost role or a lost token, and says why', async (t) => {
  const { first, tokens } = await openHouse(t, houses[0]);
  const ada = await Watcher.open(t, new Api(first, 'ada'));
  const bob = await Watcher.open(t, new Api(first, 'bob'));
  const root = await Watcher.open(t, new Api(first, 'root'));
  await Promise.all([ada, bob, root].map((watcher) => watcher.ready()));
  writeFileSync(tokens, `${token('ada')} ada ask\n${token('root')} root ask admin\n`); // bob is gone, ada answers no more
  first.signal('SIGHUP');
  await promptly(first.url, 1500, 'both streams end', Promise.all([ada, bob].map(async (watcher) => {
    assert.match((await watcher.next('bye')).data.why, /role|token/);
    assert.equal(await watcher.ended, 'ended');
  })));
  const client = await mute(t, first, 'root');
  const call = client.call('ask', { message: 'still told' });
  const { id } = await root.item('pending', 'still told');
  await new Api(first, 'root').resolve(id, { approved: false });
  await call;
});

test('a stream of a browser takes its cookie, and ends when it signs out', async (t) => {
  const { first } = await openHouse(t, houses[0]);
  const browser = await new Browser(first.url).signIn(token('ada'));
  const api = Object.assign(new Api(first, 'ada'), { credential: () => ({ Cookie: browser.cookie, 'X-Page-Key': browser.key, 'Sec-Fetch-Site': 'same-origin' }) });
  const watcher = await Watcher.open(t, api);
  await watcher.ready();
  assert.equal((await browser.fetch('/api/logout', { method: 'POST' })).status, 204);
  await promptly(first.url, 1500, 'the stream ends', watcher.next('bye').then(async () => assert.equal(await watcher.ended, 'ended')));
});
