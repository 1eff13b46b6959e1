// A tool that waits for the call of another tool (inner_server.c, core/inner.c), on every store: whatever the inner call comes to, and wherever
// its questions are answered, the outer call is told what a client would be told that had called the inner tool itself.
import test from 'node:test';
import assert from 'node:assert/strict';
import { startHttp, rawPeer, callTool, nextAsk, accept, answer, connect, textOf, pause, within, PATIENCE_MS } from './harness.js';
import { stores } from './stores.js';
import { Modern, accepted, deedsFile, retryOf, word } from './modern.js';
import { Api, mute, openHouse } from './inbox.js';

const SECRET = 'a secret that is surely long enough for this';
const inMemory = async () => null;
const houses = [
  { name: 'memory', nodes: 1, create: inMemory },
  { name: 'sqlite', nodes: 1, create: stores.find(({ name }) => name === 'sqlite').create },
  { name: 'two nodes of redis', nodes: 2, create: stores.find(({ name }) => name === 'redis').create },
];

async function open(t, { nodes, create }, options = {}) {
  const store = await create(t);
  const deeds = deedsFile(t);
  const servers = [];
  for (let i = 0; i < nodes; i++)
    servers.push(await startHttp(t, 'inner-server', {
      env: { MCP_ELICITATION_SECRET: SECRET, TOYS_DEEDS: deeds.file },
      args: ['--store', store?.address ?? 'memory:', ...(options.args ?? [])],
      inbox: options.inbox,
    }));
  return { servers, deeds, first: servers[0], last: servers.at(-1) };
}

const inside = (tool, args = {}) => ({ tool, arguments: args });

// What each tool is called with, and how its questions are answered in turn.
const said = (action, content) => ({ action, ...(content ? { content } : {}) });
const rows = [
  ['plain', {}, []],
  ['fails', {}, []],
  ['word', {}, []], // its arguments do not fit
  ['word', { tag: 'a' }, [said('accept', { word: 'yes' })]],
  ['word', { tag: 'b' }, [said('decline')]],
  ['word', { tag: 'c' }, [said('cancel')]],
  ['two', { tag: 'd' }, [said('accept', { word: 'one' }), said('accept', { word: 'two' })]],
  ['approval', {}, [said('accept', {})]],
  ['approval', {}, [said('decline')]],
  ['gated', {}, [said('accept', {})]],
  ['gated', {}, [said('decline')]],
];

// With a held stream.
async function held(peer, tool, args, answers) {
  const call = await callTool(peer, tool, args);
  for (const one of answers) {
    const ask = await nextAsk(peer);
    if (tool === 'outer') assert.ok(ask.params.message.startsWith(`outer ▸ ${args.tool}: `), ask.params.message);
    await answer(peer, ask.id, one);
  }
  return (await call.reply()).result;
}

// In rounds, each at the next node.
async function rounds(clients, tool, args, answers) {
  let reply = await clients[0].call(tool, args);
  for (const [i, one] of answers.entries()) {
    assert.equal(reply.result?.resultType, 'input_required', reply.text);
    const keys = Object.keys(reply.result.inputRequests);
    assert.equal(keys.length, 1, reply.text);
    reply = await clients[(i + 1) % clients.length].call(tool, args, retryOf(reply.result, { [keys[0]]: one }));
  }
  assert.equal(reply.result?.resultType, 'complete', reply.text);
  return reply.result;
}

function same(direct, outer, what) {
  if (direct.isError && direct._meta?.code) assert.ok(textOf(outer).startsWith(`${direct._meta.code}: `), `${what}: ${textOf(outer)} and ${JSON.stringify(direct)}`);
  else assert.deepEqual([textOf(outer), !!outer.isError], [textOf(direct), !!direct.isError], what);
}

for (const house of houses) {
  test(`${house.name}, 2025: an inner call ends as the same tool called directly`, async (t) => {
    const { first, deeds } = await open(t, house);
    const peer = await rawPeer(t, 'http', 'inner-server', { server: first });
    for (const [tool, args, answers] of rows) {
      const direct = await held(peer, tool, args, answers);
      const before = deeds.lines().length;
      const outer = await held(peer, 'outer', inside(tool, args), answers);
      same(direct, outer, `${tool} ${JSON.stringify(answers)}`);
      const did = tool === 'plain' || tool === 'word' && args.tag || tool === 'gated' && answers[0].action === 'accept';
      assert.equal(deeds.lines().length - before, did ? 1 : 0, `${tool} was done once`);
    }
  });

  test(`${house.name}, 2026: the same in rounds, each at the next node`, async (t) => {
    const { servers, deeds } = await open(t, house);
    const clients = servers.map(({ url }) => new Modern(url));
    for (const [tool, args, answers] of rows) {
      const direct = await rounds(clients, tool, args, answers);
      const before = deeds.lines().length;
      const outer = await rounds(clients, 'outer', inside(tool, args), answers);
      same(direct, outer, `${tool} ${JSON.stringify(answers)}`);
      const did = tool === 'plain' || tool === 'word' && args.tag || tool === 'gated' && answers[0].action === 'accept';
      assert.equal(deeds.lines().length - before, did ? 1 : 0, `${tool} was done once`);
    }
  });

  test(`${house.name}, 2026: the questions of both calls come in one round`, async (t) => {
    const { first, last, deeds } = await open(t, house);
    const asked = await new Modern(first.url).asked('beside', inside('word', { tag: 'a' }));
    const entries = Object.entries(asked.inputRequests);
    assert.equal(entries.length, 2, JSON.stringify(asked));
    const own = entries.find(([, { params }]) => params.message === 'And beside?');
    const inner = entries.find(([, { params }]) => params.message === 'beside ▸ word: a, the first word?');
    assert.ok(own && inner && own[0] === 'first', JSON.stringify(entries));
    // one of them: the other is asked again
    const client = new Modern(last.url);
    const left = await client.asked('beside', inside('word', { tag: 'a' }), retryOf(asked, { [inner[0]]: word('x') }));
    assert.deepEqual(Object.keys(left.inputRequests), ['first']);
    assert.equal(await new Modern(first.url).ended('beside', inside('word', { tag: 'a' }), retryOf(left, { first: word('y') })), 'a: x');
    assert.deepEqual(deeds.lines(), ['a: x']);
    const both = await client.asked('beside', inside('word', { tag: 'b' }));
    const answers = Object.fromEntries(Object.keys(both.inputRequests).map((key) => [key, word('z')]));
    assert.equal(await new Modern(first.url).ended('beside', inside('word', { tag: 'b' }), retryOf(both, answers)), 'b: z');
    assert.deepEqual(deeds.lines(), ['a: x', 'b: z']);
  });

  test(`${house.name}, 2026: a retry that is sent again unchanged is told what an inner call asks next, and its result`, async (t) => {
    const { first, last, deeds } = await open(t, house);
    const clients = [new Modern(first.url), new Modern(last.url)];
    for (const shape of [(args) => ['outer', inside('two', args)], (args) => ['beside', inside('two', args)], (args) => ['outer', inside('o1', inside('two', args))]]) {
      const call = shape({ tag: 'a' });
      const all = (round) => Object.fromEntries(Object.keys(round.inputRequests).map((key) => [key, word('w')]));
      const asked = await clients[0].asked(...call);
      let next;
      for (let i = 0; i < 3; i++) {
        next = await clients[i % 2].asked(...call, retryOf(asked, all(asked)));
        assert.deepEqual(Object.values(next.inputRequests).map(({ params }) => /the second word\?$/.test(params.message)), [true], JSON.stringify(next));
      }
      for (let i = 0; i < 3; i++) assert.equal(await clients[i % 2].ended(...call, retryOf(next, all(next))), 'a: w w');
    }
    assert.equal(deeds.lines().length, 0);
  });

  test(`${house.name}, 2026: content that does not fit is asked for again, with what is wrong`, async (t) => {
    const { first, last } = await open(t, house);
    const asked = await new Modern(first.url).asked('outer', inside('word', { tag: 'a' }));
    const [key] = Object.keys(asked.inputRequests);
    const again = await new Modern(last.url).asked('outer', inside('word', { tag: 'a' }), retryOf(asked, { [key]: accepted({ word: 7 }) }));
    assert.deepEqual(Object.keys(again.inputRequests), [key]);
    assert.match(again.inputRequests[key].params.message, /word/);
    assert.equal(await new Modern(first.url).ended('outer', inside('word', { tag: 'a' }), retryOf(again, { [key]: word('ok') })), 'a: ok');
  });

  test(`${house.name}, 2025: a cancelled call takes the question of its inner call down`, async (t) => {
    const { first, deeds } = await open(t, house);
    const peer = await rawPeer(t, 'http', 'inner-server', { server: first });
    const call = await callTool(peer, 'outer', inside('word', { tag: 'a' }));
    const ask = await nextAsk(peer);
    await peer.send({ method: 'notifications/cancelled', params: { requestId: call.id } });
    await peer.next((m) => m.method === 'notifications/cancelled' && m.params.requestId === ask.id, 'the prompt is taken back');
    await accept(peer, ask.id, { word: 'late' });
    assert.equal(textOf((await (await callTool(peer, 'plain')).reply()).result), 'plain');
    assert.deepEqual(deeds.lines(), ['plain']);
  });

  test(`${house.name}, 2025: once a cancel is accepted, no answer to a question of its call counts, at any node`, async (t) => {
    const { servers, deeds } = await open(t, house);
    const shapes = [['word', (args) => args], ['outer', (args) => inside('word', args)], ['outer', (args) => inside('o1', inside('word', args))]];
    for (const [tool, shape] of shapes)
      for (const cancelling of servers)
        for (const answering of servers)
          for (let i = 0; i < 4; i++) {
            const peer = await rawPeer(t, 'http', 'inner-server', { server: servers[0] });
            const call = await callTool(peer, tool, shape({ tag: 'a' }));
            const ask = await nextAsk(peer);
            peer.url = cancelling.url;
            assert.equal((await peer.send({ method: 'notifications/cancelled', params: { requestId: call.id } })).status, 202);
            peer.url = answering.url;
            const told = await accept(peer, ask.id, { word: 'late' });
            const said = [tool, servers.indexOf(cancelling), servers.indexOf(answering), told.status].join(' ');
            if (house.create !== inMemory) assert.equal(told.status, 409, said);
            peer.url = servers[0].url;
            // A cancel at the other node may reach the prompt after its answer; one that was answered is not taken back.
            if (cancelling === servers[0]) await peer.next((m) => m.method === 'notifications/cancelled' && m.params.requestId === ask.id, 'the prompt is taken back');
            assert.deepEqual(deeds.lines(), [], said);
          }
  });

  test(`${house.name}: a task shows what its inner call asks, and takes the answer`, async (t) => {
    const { first } = await open(t, house);
    const client = new Modern(first.url, { capabilities: { elicitation: {}, extensions: { 'io.modelcontextprotocol/tasks': {} } } });
    const begun = await client.call('outer', inside('two', { tag: 'a' }));
    assert.equal(begun.result?.resultType, 'task', begun.text);
    const { taskId } = begun.result.task ?? begun.result;
    const until = (wanted) => within(PATIENCE_MS, wanted, (async () => {
      for (;;) {
        const { result, text } = await client.request('tasks/get', { taskId });
        assert.ok(result, text);
        if (result.status === wanted) return result;
        await pause(20);
      }
    })());
    for (const text of ['one', 'two']) {
      const task = await within(PATIENCE_MS, `the question ${text}`, (async () => {
        for (let task; ; await pause(20)) if (Object.values((task = await until('input_required')).inputRequests ?? {}).some(({ params }) => params.message.includes(text === 'one' ? 'first' : 'second'))) return task;
      })());
      const [key] = Object.keys(task.inputRequests);
      const reply = await client.request('tasks/update', { taskId, inputResponses: { [key]: word(text) } });
      assert.equal(reply.error, undefined, reply.text);
    }
    assert.equal(textOf((await until('completed')).result), 'a: one two');
  });

  test(`${house.name}: what an inner call asks is in the inbox, as its own; an answer at the other node ends both`, async (t) => {
    const { first, last } = await openHouse(t, house, { program: 'inner-server' });
    const session = await mute(t, first, 'ada');
    const reply = session.client.callTool({ name: 'outer', arguments: inside('word', { tag: 'a' }) });
    const api = new Api(last, 'ada');
    const [item] = await api.pending(1);
    assert.match(item.message, /^outer ▸ word: a, the first word\?/);
    const told = await api.resolve(item.id, { action: 'accept', content: { word: 'inbox' } });
    assert.equal(told.status, 200, told.text);
    assert.equal(textOf(await reply), 'a: inbox');
    assert.equal((await api.list()).json.items.length, 0);
  });

  test(`${house.name}: a model answers for an inner call, and is given the result of the outer one`, async (t) => {
    const { first } = await open(t, house, { args: ['--no-inbox'], inbox: true });
    const session = await connect(t, 'http', 'inner-server', { server: first, capabilities: {} });
    const asked = (await session.client.callTool({ name: 'outer', arguments: inside('word', { tag: 'a' }) }));
    const pending = asked._meta?.elicitationPending;
    assert.ok(pending?.elicitId, JSON.stringify(asked));
    assert.match(pending.message, /outer ▸ word/);
    const reply = await session.client.callTool({ name: 'sendElicitationResult', arguments: { elicitId: pending.elicitId, action: 'accept', content: { word: 'model' } } });
    assert.equal(textOf(reply), 'a: model');
  });
}

