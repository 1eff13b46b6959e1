// A question that is up in two places: at the MCP client and on a toy surface (toy_surface.c), in both eras and on every
// store. The first answer wins, and no question that no longer counts stays up.
import test from 'node:test';
import assert from 'node:assert/strict';
import { startHttp, runOnce, rawPeer, callTool, nextAsk, accept, textOf, pause, within, PATIENCE_MS } from './harness.js';
import { stores } from './stores.js';
import { Toy } from './toy.js';
import { Modern, accepted, assertSecond, deedsFile, retryOf, word } from './modern.js';

const SECRET = 'a secret that is surely long enough for this';
const RACES = Number(process.env.RACES ?? (Number(process.env.NOD_SOAK) ? 1000 : 60)); // of each house and era
const LANES = 8;

// --- houses ---

const houses = [
  { name: 'memory', nodes: 1, create: async () => null },
  { name: 'sqlite', nodes: 1, create: stores.find(({ name }) => name === 'sqlite').create },
  { name: 'two nodes of redis', nodes: 2, create: stores.find(({ name }) => name === 'redis').create },
];

async function open(t, { nodes, create }) {
  const store = await create(t);
  const deeds = deedsFile(t);
  const start = async () => {
    const server = await startHttp(t, 'toy-surface', {
      env: { MCP_ELICITATION_SECRET: SECRET, TOYS_DEEDS: deeds.file },
      args: ['--surfaces', 'client,toy', '--store', store?.address ?? 'memory:'],
    });
    server.toy = await Toy.at(t, server);
    return server;
  };
  const servers = [];
  for (let i = 0; i < nodes; i++) servers.push(await start());
  return { servers, start, deeds, first: servers[0], last: servers.at(-1) };
}

const done = (deeds, line) =>
  within(PATIENCE_MS, `${line} is done`, (async () => {
    while (!deeds.lines().includes(line)) await pause(5);
  })());
const isCancelled = (id) => (message) => message.method === 'notifications/cancelled' && message.params.requestId === id;

for (const house of houses) {
  // --- 2025 ---

  test(`${house.name}, 2025: what is answered on the toy is taken back from the client, and the call goes on`, async (t) => {
    const { first } = await open(t, house);
    const peer = await rawPeer(t, 'http', 'toy-surface', { server: first });
    const call = await callTool(peer, 'word', { tag: 'a' });
    const [ask, offer] = await Promise.all([nextAsk(peer), first.toy.offer('a')]);
    assert.equal(offer.id, ask.id);
    const told = await first.toy.answer(offer, 'toy');
    assert.deepEqual([told.status, told.state, told.via], ['ok', 'accepted', 'toy']);
    await peer.next(isCancelled(ask.id), 'the prompt is taken back');
    assert.equal(textOf((await call.reply()).result), 'a: toy');
    assert.equal((await accept(peer, ask.id, { word: 'late' })).status < 500, true, 'who is late is not an error of the server');
  });

  test(`${house.name}, 2025: what the client answers is taken down from the toy, which is told who won`, async (t) => {
    const { first } = await open(t, house);
    const peer = await rawPeer(t, 'http', 'toy-surface', { server: first });
    const call = await callTool(peer, 'word', { tag: 'a' });
    const [ask, offer] = await Promise.all([nextAsk(peer), first.toy.offer('a')]);
    await accept(peer, ask.id, { word: 'client' });
    assert.equal(textOf((await call.reply()).result), 'a: client');
    const gone = await first.toy.withdrawn(offer);
    assert.deepEqual([gone.state, gone.via, gone.by], ['accepted', 'client', offer.principal]);
    const late = await first.toy.answer(offer, 'toy');
    assert.deepEqual([late.status, late.state, late.via], ['stale', 'accepted', 'client']);
  });

  test(`${house.name}, 2025: an answer by its id, where the question is not up`, async (t) => {
    const { first, last, deeds } = await open(t, house);
    const peer = await rawPeer(t, 'http', 'toy-surface', { server: first });
    const call = await callTool(peer, 'word', { tag: 'a' });
    const [ask, offer] = await Promise.all([nextAsk(peer), first.toy.offer('a')]);
    assert.equal((await last.toy.answer(offer, 'toy')).status, 'ok');
    await peer.next(isCancelled(ask.id), 'the prompt is taken back');
    assert.equal(textOf((await call.reply()).result), 'a: toy');
    if (first !== last) {
      const gone = await first.toy.withdrawn(offer);
      assert.deepEqual([gone.state, gone.by], ['accepted', offer.principal]);
    }
    assert.deepEqual(deeds.lines(), ['a: toy']);
  });

  test(`${house.name}, 2025: who has not the role finds no such question`, async (t) => {
    const { first } = await open(t, house);
    const peer = await rawPeer(t, 'http', 'toy-surface', { server: first });
    const call = await callTool(peer, 'word', { tag: 'a' });
    const [ask, offer] = await Promise.all([nextAsk(peer), first.toy.offer('a')]);
    for (const who of [{ roles: ['ask'] }, { roles: [] }, { by: 'mallory', roles: ['answer', 'approve'] }])
      assert.equal((await first.toy.answer(offer, 'toy', who)).status, 'not found', JSON.stringify(who));
    await accept(peer, ask.id, { word: 'client' });
    assert.equal(textOf((await call.reply()).result), 'a: client');
  });

  // --- 2026 ---

  test(`${house.name}, 2026: what is answered on the toy is run on at once, and the retry gets the result whatever it brings`, async (t) => {
    const { first, last, deeds } = await open(t, house);
    const modern = new Modern(first.url);
    const asked = await modern.asked('word', { tag: 'a' });
    assert.deepEqual(Object.keys(asked.inputRequests), ['first']);
    assert.equal((await first.toy.answer(await first.toy.offer('a'), 'toy')).status, 'ok');
    await done(deeds, 'a: toy'); // nobody has come back yet
    for (const url of [first.url, last.url]) {
      assert.equal(await modern.ended('word', { tag: 'a' }, { requestState: asked.requestState }, { url }), 'a: toy', 'nothing');
      assert.equal(await modern.ended('word', { tag: 'a' }, retryOf(asked, { first: word('client') }), { url }), 'a: toy', 'another answer');
      assert.equal(await modern.ended('word', { tag: 'a' }, retryOf(asked, { first: { action: 'decline' } }), { url }), 'a: toy', 'a no');
    }
    assert.deepEqual(deeds.lines(), ['a: toy']);
  });

  test(`${house.name}, 2026: what the client answers is taken down from the toy, which is told who won`, async (t) => {
    const { first, deeds } = await open(t, house);
    const modern = new Modern(first.url);
    const asked = await modern.asked('word', { tag: 'a' });
    const offer = await first.toy.offer('a');
    assert.equal(await modern.ended('word', { tag: 'a' }, retryOf(asked, { first: word('client') })), 'a: client');
    const gone = await first.toy.withdrawn(offer);
    assert.deepEqual([gone.state, gone.via, gone.by], ['accepted', 'mrtr', offer.principal]);
    assert.equal((await first.toy.answer(offer, 'toy')).status, 'stale');
    assertSecond(await modern.call('word', { tag: 'a' }, retryOf(asked, { first: word('other') })), 'its own answers still stand');
    assert.deepEqual(deeds.lines(), ['a: client']);
  });

  test(`${house.name}, 2026: the retry gets the next question, which is up on the toy as well`, async (t) => {
    const { first, last } = await open(t, house);
    const modern = new Modern(first.url);
    const asked = await modern.asked('two', { tag: 'a' });
    await first.toy.answer(await first.toy.offer('a'), 'toy');
    const offer = await first.toy.offer('a'); // the second word, with no client in sight
    const next = await modern.asked('two', { tag: 'a' }, retryOf(asked, { first: word('client') }), { url: last.url });
    assert.deepEqual(Object.keys(next.inputRequests), ['second']);
    const end = modern.ended('two', { tag: 'a' }, retryOf(next, { second: word('client') }), { url: last.url });
    assert.equal(await end, 'a: toy client');
    assert.equal((await first.toy.answer(offer, 'toy')).status, 'stale');
  });

  test(`${house.name}, 2026: a round of two, one answered on the toy, the other by the client`, async (t) => {
    const { first, last } = await open(t, house);
    const modern = new Modern(first.url);
    const asked = await modern.asked('pair', { tag: 'a' });
    const offer = await first.toy.offers.next(({ key }) => key === 'first', 'the first');
    assert.equal((await first.toy.answer(offer, 'toy')).status, 'ok');
    const retry = retryOf(asked, { first: word('client'), second: word('client') });
    assert.equal(await modern.ended('pair', { tag: 'a' }, retry, { url: last.url }), 'a: toy client');
  });

  test(`${house.name}, 2026: an answer by its id, where the question is not up`, async (t) => {
    const { first, last, deeds } = await open(t, house);
    const modern = new Modern(first.url);
    const asked = await modern.asked('word', { tag: 'a' });
    assert.equal((await last.toy.answer(await first.toy.offer('a'), 'toy')).status, 'ok');
    await done(deeds, 'a: toy');
    assert.equal(await modern.ended('word', { tag: 'a' }, retryOf(asked, { first: word('client') })), 'a: toy');
    assert.deepEqual(deeds.lines(), ['a: toy']);
  });

  test(`${house.name}, 2026: the question of a task is up on the toy as well`, async (t) => {
    const { first } = await open(t, house);
    const modern = new Modern(first.url, { capabilities: { elicitation: {}, extensions: { 'io.modelcontextprotocol/tasks': {} } } });
    const { result } = await modern.call('word_task', { tag: 'a' });
    assert.equal(result.resultType, 'task');
    assert.equal((await first.toy.answer(await first.toy.offer('a'), 'toy')).status, 'ok');
    const ended = async () => (await modern.request('tasks/get', { taskId: result.taskId })).result;
    await within(PATIENCE_MS, 'the task ends', (async () => {
      while ((await ended()).status !== 'completed') await pause(20);
    })());
    assert.equal(textOf((await ended()).result), 'a: toy');
  });

  test(`${house.name}, 2026: a client that cannot be asked waits for the toy`, async (t) => {
    const { first } = await open(t, house);
    const modern = new Modern(first.url, { capabilities: {} });
    const end = modern.ended('word', { tag: 'a' });
    await first.toy.answer(await first.toy.offer('a'), 'toy');
    assert.equal(await end, 'a: toy');
  });

  test(`${house.name}, 2026: an approval is an approver's to give, too`, async (t) => {
    const { first } = await open(t, house);
    const modern = new Modern(first.url);
    const asked = await modern.asked('approval');
    const offer = await first.toy.offers.next(() => true, 'the approval');
    assert.equal((await first.toy.answer(offer, '', { by: 'bob', roles: ['answer'] })).status, 'not found');
    assert.equal((await first.toy.answer(offer, '', { by: 'bob', roles: ['admin'] })).status, 'ok');
    const [key] = Object.keys(asked.inputRequests);
    assert.equal(await modern.ended('approval', {}, retryOf(asked, { [key]: accepted() })), 'no', 'the no came first');
  });

  // --- after a crash ---

  if (house.name !== 'memory')
    test(`${house.name}, 2026: what was asked before a crash is answered by its id after it, and run on without the client`, async (t) => {
      const { servers, start, first, deeds } = await open(t, house);
      const modern = new Modern(first.url);
      const asked = await modern.asked('word', { tag: 'a' });
      const offer = await first.toy.offer('a');
      for (const server of servers) await server.kill();
      const next = await start();
      assert.equal((await next.toy.answer(offer, 'toy')).status, 'ok');
      await done(deeds, 'a: toy');
      assert.equal(await modern.ended('word', { tag: 'a' }, retryOf(asked, { first: word('client') }), { url: next.url }), 'a: toy');
    });

  // --- races ---

  const lanes = async (work) => {
    let i = 0;
    await Promise.all(Array.from({ length: LANES }, async (_, lane) => {
      while (i < RACES) await work(`r${i++}`, lane);
    }));
  };
  const jitter = () => (Math.random() < 0.5 ? Promise.resolve() : pause(Math.random() * 4));
  // Both at the same moment, more or less; on two nodes the toy is the other node's half of the time.
  const toyOf = (servers, tag) => servers[Number(tag.slice(1)) % servers.length].toy;

  test(`${house.name}, 2025: ${RACES} races, one winner each, and no prompt left standing`, async (t) => {
    const { servers, first, deeds } = await open(t, house);
    const peers = await Promise.all(Array.from({ length: LANES }, () => rawPeer(t, 'http', 'toy-surface', { server: first })));
    const wins = { client: 0, toy: 0 };
    let taken = 0;
    await lanes(async (tag, lane) => {
      const peer = peers[lane];
      const call = await callTool(peer, 'word', { tag });
      const [ask, offer] = await Promise.all([nextAsk(peer), first.toy.offer(tag)]);
      const away = Number(tag.slice(1)) % 5 === 0; // nobody is at the client: its prompt is the toy's to take down
      let answered = false;
      const [told] = await Promise.all([
        jitter().then(() => toyOf(servers, tag).answer(offer, 'toy')),
        jitter().then(async () => {
          answered = !away && peer.inbox.rest(isCancelled(ask.id)).length === 0; // nobody answers what was taken back
          if (answered) await accept(peer, ask.id, { word: 'client' });
        }),
      ]);
      const text = textOf((await call.reply()).result);
      const winner = text === `${tag}: toy` ? 'toy' : 'client';
      assert.equal(text, `${tag}: ${winner}`);
      assert.equal(told.status, winner === 'toy' ? 'ok' : 'stale', JSON.stringify(told));
      if (winner === 'client') assert.ok(answered);
      if (!answered) taken += Boolean(await peer.next(isCancelled(ask.id), 'the prompt is taken back'));
      wins[winner]++;
    });
    t.diagnostic(`won by the client ${wins.client}, by the toy ${wins.toy}; taken back before anybody answered ${taken}`);
    assert.equal(wins.client + wins.toy, RACES);
    assert.equal(new Set(deeds.lines()).size, RACES);
    assert.equal(deeds.lines().length, RACES, 'each deed once');
  });

  test(`${house.name}, 2026: ${RACES} races, one winner each, told to both`, async (t) => {
    const { servers, first, deeds } = await open(t, house);
    const modern = new Modern(first.url);
    const wins = { client: 0, toy: 0 };
    await lanes(async (tag) => {
      const at = servers[Number(tag.slice(1)) % 3 % servers.length];
      const asked = await modern.asked('word', { tag }, undefined, { url: at.url });
      const offer = await at.toy.offer(tag);
      const [told, text] = await Promise.all([
        jitter().then(() => toyOf(servers, tag).answer(offer, 'toy')),
        jitter().then(() => modern.ended('word', { tag }, retryOf(asked, { first: word('client') }), { url: servers.at(-1).url })),
      ]);
      const winner = text === `${tag}: toy` ? 'toy' : 'client';
      assert.equal(text, `${tag}: ${winner}`);
      assert.equal(told.status, winner === 'toy' ? 'ok' : 'stale', JSON.stringify(told));
      wins[winner]++;
    });
    t.diagnostic(`won by the client ${wins.client}, by the toy ${wins.toy}`);
    assert.equal(wins.client + wins.toy, RACES);
    assert.equal(deeds.lines().length, RACES, 'each deed once');
  });
}

test('a surface that is not there is refused at start', async () => {
  for (const [list, name] of [['client,outbox', 'outbox'], ['client,', ''], ['toys', 'toys']]) {
    const { code, stderr } = await runOnce('toy-surface', ['--http', '127.0.0.1:0', '--surfaces', list]);
    assert.equal(code, 1, stderr);
    assert.match(stderr, /there is no such surface/, list);
    assert.ok(stderr.includes(name), stderr);
  }
  const { code, stderr } = await runOnce('probe', ['--http', '127.0.0.1:0', '--surfaces', 'web']); // whose main is nod_main
  assert.equal(code, 2, 'as any other word on the command line that is wrong');
  assert.match(stderr, /there is no such surface/);
});

test('portable states and several surfaces do not go together', async () => {
  const { code, stderr } = await runOnce('toy-surface', ['--http', '127.0.0.1:0', '--surfaces', 'client,toy', '--portable-states'],
    { MCP_ELICITATION_SECRET: SECRET });
  assert.equal(code, 1, stderr);
  assert.match(stderr, /answered elsewhere/);
});
