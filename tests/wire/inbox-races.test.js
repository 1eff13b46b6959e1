// The client's form and the inbox, by its API: the first answer wins, in both eras and on every store. And what a client that cannot
// ask gets: a pending result, or the page.
import test, { describe, it } from 'node:test';
import assert from 'node:assert/strict';
import { atAnyPace, rawPeer, startHttp, callTool, nextAsk, accept, pause, textOf, within, PATIENCE_MS } from './harness.js';
import { Api, Watcher, houses, openHouse, token, tokenFile } from './inbox.js';
import { Modern, accepted, deedsFile, retryOf, word } from './modern.js';

const SECRET = 'a secret that is surely long enough for this';
const RACES = Number(process.env.RACES ?? (Number(process.env.NOD_SOAK) ? 1000 : 24)); // of each house and era
const LANES = 8;

async function open(t, house, args) {
  const deeds = deedsFile(t);
  const env = { MCP_ELICITATION_SECRET: SECRET, TOYS_DEEDS: deeds.file };
  return { ...(await openHouse(t, house, { program: 'toy-surface', args, env })), deeds };
}

const lanes = async (work) => {
  let i = 0;
  await Promise.all(Array.from({ length: LANES }, async (_, lane) => {
    while (i < RACES) await work(i++, lane);
  }));
};
const jitter = () => (Math.random() < 0.5 ? Promise.resolve() : pause(Math.random() * 4));
const isCancelled = (id) => (message) => message.method === 'notifications/cancelled' && message.params.requestId === id;
const shown = (api, tag) => within(PATIENCE_MS, `${tag} is in the inbox`, (async () => {
  for (;;) {
    const item = (await api.list({ limit: 200 })).json.items.find(({ message }) => message.startsWith(`${tag},`));
    if (item) return item;
    await pause(5);
  }
})());

const told = (watcher, tag) => within(PATIENCE_MS, `who watches is told of ${tag}`, (async () => {
  const has = ({ event, data }) => event === 'changes' && data.pending.some(({ message }) => message.startsWith(`${tag},`));
  while (!watcher.events.some(has)) await pause(20);
})());

// What both were told, and what was done, is the same.
const judge = (wins, tag, text, told) => {
  const winner = text === `${tag}: inbox` ? 'inbox' : 'client';
  assert.equal(text, `${tag}: ${winner}`);
  assert.equal(told.status, winner === 'inbox' ? 200 : 409, told.text);
  if (told.status === 409) assert.deepEqual([told.json.state, told.json.answer.by], ['accepted', 'ada']);
  wins[winner]++;
  return winner;
};

for (const house of houses.slice(1)) {
  test(`${house.name}, 2025: ${RACES} races between the form and the inbox, one winner each, and no prompt left standing`, async (t) => {
    const { servers, first, deeds } = await open(t, house, ['--surfaces', 'client,inbox']);
    const peers = await Promise.all(Array.from({ length: LANES }, () => rawPeer(t, 'http', 'toy-surface', { server: first, token: token('ada') })));
    const apis = servers.map((server) => new Api(server, 'ada'));
    const wins = { client: 0, inbox: 0 };
    await lanes(async (i, lane) => {
      const peer = peers[lane];
      const tag = `r${i}`;
      const call = await callTool(peer, 'word', { tag });
      const ask = await nextAsk(peer);
      let answered = false;
      const [told] = await Promise.all([
        jitter().then(() => apis[i % apis.length].resolve(ask.id, { approved: true, data: { word: 'inbox' } })),
        jitter().then(async () => {
          answered = i % 5 > 0 && peer.inbox.rest(isCancelled(ask.id)).length === 0; // nobody answers what was taken back
          if (answered) await accept(peer, ask.id, { word: 'client' });
        }),
      ]);
      const winner = judge(wins, tag, textOf((await call.reply()).result), told);
      if (winner === 'client') assert.ok(answered);
      if (!answered) await peer.next(isCancelled(ask.id), 'the prompt is taken back');
    });
    t.diagnostic(`won by the client ${wins.client}, by the inbox ${wins.inbox}`);
    assert.equal(wins.client + wins.inbox, RACES);
    assert.equal(new Set(deeds.lines()).size, RACES);
    assert.equal(deeds.lines().length, RACES, 'each deed once');
    assert.deepEqual((await apis[0].list()).json.items, []);
  });

  test(`${house.name}, 2026: ${RACES} races between the round and the inbox, one winner each, told to both`, async (t) => {
    const { servers, deeds } = await open(t, house, ['--surfaces', 'client,inbox']);
    const apis = servers.map((server) => new Api(server, 'ada'));
    const modern = new Modern(servers[0].url, { token: token('ada') });
    const wins = { client: 0, inbox: 0 };
    await lanes(async (i) => {
      const tag = `r${i}`;
      const asked = await modern.asked('word', { tag }, undefined, { url: servers[i % 3 % servers.length].url });
      const { id } = await shown(apis[i % apis.length], tag);
      const [told, text] = await Promise.all([
        jitter().then(() => apis[i % apis.length].resolve(id, { approved: true, data: { word: 'inbox' } })),
        jitter().then(() => modern.ended('word', { tag }, retryOf(asked, { first: word('client') }), { url: servers.at(-1).url })),
      ]);
      judge(wins, tag, text, told);
    });
    t.diagnostic(`won by the client ${wins.client}, by the inbox ${wins.inbox}`);
    assert.equal(wins.client + wins.inbox, RACES);
    assert.equal(deeds.lines().length, RACES, 'each deed once');
  });
}

// --- a client that cannot ask ---

test('in turn: a client that cannot ask waits for the inbox, and is told the page', async (t) => {
  const { first } = await open(t, houses[0], ['--surfaces', 'client>inbox', '--soft-deadline', '1s']);
  const ada = new Api(first, 'ada');
  const peer = await rawPeer(t, 'http', 'toy-surface', { server: first, token: token('ada'), capabilities: {} });
  const { result } = await (await callTool(peer, 'word', { tag: 'a' })).reply();
  const item = await shown(ada, 'a');
  assert.equal(result.structuredContent.callId, item.executionId);
  assert.equal(result.structuredContent.answerAt, `${ada.base}/ask/${item.id}`);
  assert.ok(!JSON.stringify(result).includes(token('ada')));
  assert.equal((await ada.resolve(item.id, { approved: true, data: { word: 'inbox' } })).status, 200);
  assert.equal(textOf((await (await callTool(peer, 'waitForPerson', { callId: item.executionId })).reply()).result), 'a: inbox');
});

for (const [surfaces, elicitation] of [['client,inbox', { url: {} }], ['inbox', { form: {}, url: {} }]])
  test(`2026, ${surfaces}: a client that can open pages is given the page, and what it says of the page is no answer`, async (t) => {
    const { first } = await open(t, houses[0], ['--surfaces', surfaces, '--soft-deadline', '1s']);
    const ada = new Api(first, 'ada');
    const modern = new Modern(first.url, { token: token('ada'), capabilities: { elicitation } });
    const asked = await modern.asked('word', { tag: 'a' });
    const item = await shown(ada, 'a');
    const { method, params } = asked.inputRequests.first;
    assert.deepEqual([method, params.mode, params.url], ['elicitation/create', 'url', `${ada.base}/ask/${item.id}`]);
    const again = await modern.asked('word', { tag: 'a' }, retryOf(asked, { first: accepted() }));
    assert.equal(again.inputRequests.first.params.url, params.url, 'it waits on');
    const end = modern.ended('word', { tag: 'a' }, retryOf(again, { first: { action: 'decline' } }));
    assert.equal((await ada.resolve(item.id, { approved: true, data: { word: 'inbox' } })).status, 200);
    assert.equal(await end, 'a: inbox');
  });

for (const house of houses)
  test(`2026, ${house.name}: a question of a task names the client that made it`, async (t) => {
    const { servers, first } = await open(t, house, ['--surfaces', 'inbox']);
    const modern = new Modern(first.url, { token: token('ada'), capabilities: { extensions: { 'io.modelcontextprotocol/tasks': {} } } });
    const { result } = await modern.call('word_task', { tag: 'a' });
    assert.equal(result.resultType, 'task', JSON.stringify(result));
    const item = await shown(new Api(servers.at(-1), 'ada'), 'a');
    assert.deepEqual([item.executionId, item.client], [result.taskId, { name: 'raw', version: '1' }]);
  });

test('what the operator has asked at the client only is not in the inbox, and cannot be answered there', async (t) => {
  const { first } = await open(t, houses[0], ['--surfaces', 'client']);
  const ada = new Api(first, 'ada');
  const peer = await rawPeer(t, 'http', 'toy-surface', { server: first, token: token('ada') });
  const call = await callTool(peer, 'word', { tag: 'a' });
  const { id } = await nextAsk(peer);
  assert.deepEqual((await ada.list()).json.items, []);
  assert.equal((await ada.one(id)).status, 404);
  assert.equal((await ada.resolve(id, { approved: true, data: { word: 'inbox' } })).status, 404);
  await accept(peer, id, { word: 'client' });
  assert.equal(textOf((await call.reply()).result), 'a: client');
});

// --- in turn ---

const turns = []; // they wait for a clock, and run side by side
const turn = (name, fn) => turns.push([name, fn]);

for (const house of houses)
  turn(`${house.name}: the inbox neither lists nor answers what is not its turn yet, and is told when it is`, (t) => atAnyPace(t, async (times) => {
    const { servers, first } = await open(t, house, ['--surfaces', 'client>inbox', '--next-surface', `${4 * times}s`]);
    const peer = await rawPeer(t, 'http', 'toy-surface', { server: first, token: token('ada') });
    const modern = new Modern(first.url, { token: token('ada') });
    const call = await callTool(peer, 'word', { tag: 'a' });
    const { id } = await nextAsk(peer);
    const carried = await modern.asked('word', { tag: 'b' });
    const apis = servers.map((server) => new Api(server, 'ada'));
    const watchers = await Promise.all(apis.map((api) => Watcher.open(t, api)));
    for (const watcher of watchers) assert.deepEqual((await watcher.ready()).data.pending, []);
    for (const api of apis) {
      assert.deepEqual((await api.list()).json.items, []);
      assert.equal((await api.one(id)).status, 404);
      assert.equal((await api.resolve(id, { approved: true, data: { word: 'early' } })).status, 404);
    }
    for (const tag of ['a', 'b']) {
      for (const watcher of watchers) await told(watcher, tag);
      for (const api of apis) await shown(api, tag);
    }
    const last = apis.at(-1);
    assert.equal((await last.resolve(id, { approved: true, data: { word: 'inbox' } })).status, 200);
    assert.equal(textOf((await call.reply()).result), 'a: inbox');
    assert.equal((await last.resolve((await shown(last, 'b')).id, { approved: true, data: { word: 'inbox' } })).status, 200);
    assert.equal(await modern.ended('word', { tag: 'b' }, retryOf(carried, { first: word('client') })), 'b: inbox');
  }));

// Who shows what: in turn as the operator says, and by default, each with a tool of its own.
const ways = [
  { way: 'in turn', options: ['--surfaces', 'client>inbox', '--next-surface', '1h'], program: 'toy-surface', tool: 'word', args: (tag) => ({ tag }), data: { word: 'inbox' }, end: 'a: inbox' },
  { way: 'by default', options: [], program: 'probe', tool: 'ask', args: (tag) => ({ message: `${tag}, the first word?` }), data: { name: 'inbox' }, end: 'accept {"name":"inbox"}' },
];
for (const house of houses)
  for (const { way, options, program, tool, args, data, end } of ways)
    turn(`${house.name}, ${way}: what the client shows is not in the inbox, in either era; what it refuses is, at once, on every node`, async (t) => {
      const { servers, first } = await openHouse(t, house, { program, args: options });
      const apis = servers.map((server) => new Api(server, 'ada'));
      const watchers = await Promise.all(apis.map((api) => Watcher.open(t, api)));
      for (const watcher of watchers) await watcher.ready();
      const peer = await rawPeer(t, 'http', program, { server: first, token: token('ada') });
      const call = await callTool(peer, tool, args('a'));
      const { id } = await nextAsk(peer);
      await new Modern(first.url, { token: token('ada') }).asked(tool, args('b'));
      for (const api of apis) {
        assert.deepEqual((await api.list()).json.items, []);
        assert.equal((await api.one(id)).status, 404);
        assert.equal((await api.resolve(id, { approved: true, data })).status, 404);
      }
      await peer.send({ id, error: { code: -32603, message: 'No person is here' } });
      for (const watcher of watchers) assert.equal((await watcher.item('pending', 'a, the first word?')).id, id);
      for (const api of apis) {
        assert.equal((await shown(api, 'a')).id, id);
        assert.equal((await api.one(id)).status, 200);
      }
      assert.equal((await apis.at(-1).resolve(id, { approved: true, data })).status, 200);
      assert.equal(textOf((await call.reply()).result), end);
    });

// The client's error comes to a node that does not have the call: another one has, or none.
const refuses = async (peer, server, id) => {
  peer.url = server.url;
  const { status } = await peer.send({ id, error: { code: -32601, message: 'No handler' } });
  assert.equal(status, 202);
};
for (const { way, options, program, tool, args, data, end } of ways) {
  const begin = async (t, house, more = options) => {
    const open = await openHouse(t, house, { program, args: more, env: { MCP_ELICITATION_SECRET: SECRET } });
    const peer = await rawPeer(t, 'http', program, { server: open.first, token: token('ada') });
    const call = await callTool(peer, tool, args('a'));
    return { ...open, peer, call, id: (await nextAsk(peer)).id };
  };

  turn(`two nodes of redis, ${way}: an error that comes to the other node ends the offer, and the inbox has it at once on both`, async (t) => {
    const { servers, last, peer, call, id } = await begin(t, houses[2]);
    const apis = servers.map((server) => new Api(server, 'ada'));
    const watchers = await Promise.all(apis.map((api) => Watcher.open(t, api)));
    for (const watcher of watchers) await watcher.ready();
    await refuses(peer, last, id);
    for (const watcher of watchers) assert.equal((await watcher.item('pending', 'a, the first word?')).id, id);
    for (const api of apis) assert.equal((await shown(api, 'a')).id, id);
    await refuses(peer, last, id); // once more: nothing ends
    assert.equal((await apis[0].resolve(id, { approved: true, data })).status, 200);
    assert.equal(textOf((await call.reply()).result), end);
  });

  for (const house of houses.slice(1))
    turn(`${house.name}, ${way}: an error after the death of the node ends the offer, and whoever comes back is not asked again`, async (t) => {
      const { first, last, start, peer, call, id } = await begin(t, house);
      await first.kill();
      const server = last === first ? await start() : last;
      const api = new Api(server, 'ada');
      const watcher = await Watcher.open(t, api);
      await watcher.ready();
      await refuses(peer, server, id);
      assert.equal((await watcher.item('pending', 'a, the first word?')).id, id);
      const [seen] = call.handle.events.filter((event) => event.id !== undefined);
      const back = await peer.request('GET', { headers: { 'Last-Event-ID': seen.id }, stream: 'resumed' });
      assert.equal(back.status, 200);
      assert.equal((await shown(api, 'a')).id, id);
      assert.equal((await api.resolve(id, { approved: true, data })).status, 200);
      assert.equal(textOf((await call.reply()).result), end);
      assert.deepEqual(back.events.filter((event) => event.data?.includes('elicitation/create')), []);
    });
}

turn('two nodes of redis: an error that comes to the other node after the turn of the client, or before it, ends nothing', async (t) => {
  for (const surfaces of ['client>inbox', 'inbox>client']) {
    const { servers, first, last } = await open(t, houses[2], ['--surfaces', surfaces, '--next-surface', surfaces === 'client>inbox' ? '1s' : '1h']);
    const peer = await rawPeer(t, 'http', 'toy-surface', { server: first, token: token('ada') });
    const call = await callTool(peer, 'word', { tag: 'a' });
    const apis = servers.map((server) => new Api(server, 'ada'));
    const { id } = await shown(apis[0], 'a');
    await refuses(peer, last, id);
    for (const api of apis) assert.equal((await shown(api, 'a')).id, id);
    assert.equal((await apis[0].resolve(id, { approved: true, data: { word: 'inbox' } })).status, 200);
    assert.equal(textOf((await call.reply()).result), 'a: inbox');
  }
});

turn('two nodes of redis: an error that comes to the other node ends the question if nobody else can be asked', async (t) => {
  const { first, last } = await open(t, houses[2], ['--surfaces', 'client']);
  const peer = await rawPeer(t, 'http', 'toy-surface', { server: first, token: token('ada') });
  const call = await callTool(peer, 'word', { tag: 'a' });
  await refuses(peer, last, (await nextAsk(peer)).id);
  assert.equal((await call.reply()).result.isError, true);
});

turn('2026: what is said of the page is no answer to the question, though it is the client\'s turn by then', (t) => atAnyPace(t, async (times) => {
  const { first } = await open(t, houses[0], ['--surfaces', 'inbox>client', '--next-surface', `${4 * times}s`, '--soft-deadline', '1s']);
  const modern = new Modern(first.url, { token: token('ada'), capabilities: { elicitation: { form: {}, url: {} } } });
  const began = performance.now();
  const page = await modern.asked('approval');
  assert.equal(page.inputRequests['#1'].params.mode, 'url');
  const again = await modern.asked('approval', {}, retryOf(page, { '#1': accepted({}) }));
  assert.equal(again.inputRequests['#1'].params.mode, 'url', 'it is not its turn yet');
  await pause(Math.max(0, 4100 * times - (performance.now() - began)));
  const round = await modern.asked('approval', {}, retryOf(again, { '#1': accepted({}) }));
  assert.equal(round.inputRequests['#1'].params.mode, 'form', 'it is asked itself now');
  assert.equal(await modern.ended('approval', {}, retryOf(round, { '#1': accepted({}) })), 'yes');
}));

describe('in turn', { concurrency: LANES }, () => turns.forEach(([name, fn]) => it(name, fn)));

// --- the next start has another plan ---

describe('asked under another plan', { concurrency: true }, () => {
  const forms = { elicitation: {} };
  for (const [before, after, capabilities] of [
    [['--surfaces', 'inbox'], [], {}],
    [['--surfaces', 'client,inbox'], [], forms],
    [['--surfaces', 'inbox>client', '--next-surface', '1h'], [], forms],
    [['--surfaces', 'client>inbox', '--next-surface', '1s'], [], forms],
    [[], ['--surfaces', 'client>inbox', '--next-surface', '1h'], {}],
  ])
    it(`${before.join(' ') || 'as usual'}, then ${after.join(' ') || 'as usual'}: what waits in the inbox waits there, though nobody comes back for it`, async (t) => {
      const store = await houses.find(({ name }) => name === 'sqlite').create(t);
      const tokens = tokenFile(t);
      const start = (args) => startHttp(t, 'where-server', { env: { MCP_ELICITATION_SECRET: SECRET }, args: ['--token-file', tokens, '--store', store.address, ...args] });
      const server = await start(before);
      const peer = await rawPeer(t, 'http', 'where-server', { server, token: token('ada'), capabilities });
      await callTool(peer, 'data');
      const [{ id }] = await new Api(server, 'ada').pending();
      await server.kill();
      const api = new Api(await start(after), 'ada');
      assert.equal((await api.pending())[0].id, id);
      const resolved = await api.resolve(id, { action: 'accept', content: { word: 'inbox' } });
      assert.equal(resolved.status, 200, resolved.text);
    });
});
