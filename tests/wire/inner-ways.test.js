// What an inner call asks, in every place where people answer, and what bounds it (inner_server.c, core/inner.c): each is compared with
// the same tool called directly. inner.test.js has the ends, the rounds, the tasks, the inbox and the model.
import test from 'node:test';
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { startHttp, rawPeer, callTool, nextAsk, accept, environment, pause, program, textOf, within, PATIENCE_MS } from './harness.js';
import { stores } from './stores.js';
import { Modern, deedsFile } from './modern.js';
import { Api, houses, openHouse, token } from './inbox.js';
import { VIEWS } from './consents.js';

const SECRET = 'a secret that is surely long enough for this';
const PROGRAM = 'inner-server';
const inside = (tool, args = {}) => ({ tool, arguments: args });

const seen = { action: 'accept', content: { word: 'seen' } };

let tags = 0;
const unique = () => ({ tag: `t${++tags}` });

// A tool called directly, and through another one: [name, arguments].
const both = [
  (tool, args) => [tool, args],
  (tool, args) => ['outer', inside(tool, args)],
];

async function open(t, house, options = {}) {
  const deeds = deedsFile(t);
  return { deeds, ...(await openHouse(t, house, { program: PROGRAM, env: { MCP_ELICITATION_SECRET: SECRET, TOYS_DEEDS: deeds.file }, ...options })) };
}

const session = (t, server, who, capabilities = {}) => rawPeer(t, 'http', PROGRAM, { server, token: token(who), capabilities });
const end = async (peer, tool, args) => (await (await callTool(peer, tool, args)).reply()).result;

// What a failure says, whoever is told: the client of the call, or the call that waited for it.
const saidOf = (result) => (result.isError && result._meta?.code ? `${result._meta.code}: ${textOf(result)}` : textOf(result));

async function terminal(server, who, args) {
  const child = spawn(program('nod'), ['inbox', ...args], {
    env: environment({ NOD_SERVER: new URL(server.url).origin, NOD_TOKEN: token(who), LC_ALL: 'C.UTF-8' }),
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let shown = '';
  child.stdout.setEncoding('utf8').on('data', (data) => (shown += data));
  const [code] = await within(PATIENCE_MS, 'nod inbox ends', once(child, 'close'));
  return { code, shown };
}

for (const house of houses) {
  test(`${house.name}: the progress of an inner call comes with the token of the outer one, as of the tool itself`, async (t) => {
    const { first } = await open(t, house);
    const peer = await session(t, first, 'ada', { elicitation: {} });
    const client = new Modern(first.url, { token: token('ada') });
    const three = [1, 2, 3].map((n) => [n, 3, `${n} of 3`]);
    for (const way of both) {
      const call = await callTool(peer, ...way('counts', {}), { progressToken: 'p' });
      await call.reply();
      const told = (messages) => messages.filter(({ method, params }) => method === 'notifications/progress' && params.progressToken === 'p')
        .map(({ params }) => [params.progress, params.total, params.message]);
      assert.deepEqual(told(call.handle.events.filter(({ data }) => data).map(({ data }) => JSON.parse(data))), three, '2025');
      const reply = await client.call(...way('counts', {}), {}, { meta: { progressToken: 'p' } });
      assert.deepEqual(told(reply.messages), three, `2026: ${reply.text}`);
    }
  });

  test(`${house.name}: an approval that is remembered is made and used through an inner call as by the tool itself`, async (t) => {
    const { first, last, deeds } = await open(t, house);
    const ada = new Api(last, 'ada');
    const [one, other] = [await session(t, first, 'ada'), await session(t, last, 'ada')];
    const grants = async () => (await ada.get('/api/grants')).json.items;
    for (const [scope, match] of [['principal', 'tool'], ['session', 'arguments']])
      for (const [made, way] of both.entries()) {
        const args = unique();
        const call = await callTool(one, ...way('kept', args));
        const [item] = await ada.pending();
        assert.equal(item.tool, 'kept');
        const choice = item.remember.find((offer) => offer.scope === scope && offer.match === match);
        assert.ok(choice, JSON.stringify(item));
        const taken = await ada.resolve(item.id, { approved: true, remember: { scope, match, for: choice.for } });
        assert.equal(taken.status, 200, taken.text);
        assert.equal(textOf((await call.reply()).result), args.tag);
        const [grant] = await grants();
        assert.deepEqual([grant.tool, grant.scope, grant.match, grant.principal, grant.uses], ['kept', scope, match, 'ada', 0]);
        for (const used of both) assert.equal(textOf(await end(one, ...used('kept', args))), args.tag, `made by ${made}: nobody is asked`);
        assert.equal((await grants())[0].uses, 2);
        assert.deepEqual(deeds.lines().filter((line) => line === args.tag).length, 3);
        // what it does not cover is asked, whoever calls
        for (const used of scope === 'session' ? both : []) {
          const again = await callTool(other, ...used('kept', args));
          const [asked] = await ada.pending();
          assert.equal((await ada.resolve(asked.id, { approved: false })).status, 200);
          assert.match(saidOf((await again.reply()).result), /^CONFIRMATION_DECLINED/);
        }
        assert.equal((await ada.request('DELETE', `/api/grants/${grant.id}`)).status, 204);
      }
  });

  test(`${house.name}: a terminal shows and answers what an inner call asks`, async (t) => {
    const { first, last } = await open(t, house);
    const ada = new Api(last, 'ada');
    const peer = await session(t, first, 'ada');
    for (const way of both) {
      const args = unique();
      const call = await callTool(peer, ...way('word', args));
      const [item] = await ada.pending();
      const listed = await terminal(last, 'ada', ['list', '--json']);
      assert.deepEqual(JSON.parse(listed.shown), item);
      const taken = await terminal(last, 'ada', ['answer', item.id, '--accept', 'word=typed']);
      assert.equal(taken.code, 0, taken.shown);
      assert.equal(textOf((await call.reply()).result), `${args.tag}: typed`);
      assert.equal((await ada.one(item.id)).json.answer.via, 'terminal');
      assert.match(item.message, way === both[0] ? /^t\d+, the first/ : /^outer ▸ word: t\d+, the first/);
    }
  });

  test(`${house.name}, 2025: a view shows and answers what an inner call asks`, async (t) => {
    const { first } = await open(t, house);
    const peer = await session(t, first, 'ada', VIEWS);
    for (const way of both) {
      const args = unique();
      const [tool, given] = way('word', args);
      const calling = callTool(peer, tool, given); // there is no reply at all until it is answered
      const asked = await end(peer, 'nodQuestions', { tool, arguments: given });
      const [question] = JSON.parse(textOf(asked)).questions;
      assert.match(question.message, tool === 'word' ? /^t\d+, the first/ : /^outer ▸ word: t/);
      const answered = await end(peer, 'nodAnswer', { nonce: question.nonce, ...seen });
      assert.ok(answered._meta?.nod, JSON.stringify(answered));
      assert.equal(textOf((await (await calling).reply()).result), `${args.tag}: seen`);
    }
  });

  test(`${house.name}, 2026: a view that has the handle of the outer call shows and answers what the inner one asks`, async (t) => {
    const { first, last } = await open(t, house, { args: ['--soft-deadline', '1s'] });
    const [client, elsewhere] = [first, last].map(({ url }) => new Modern(url, { token: token('ada'), capabilities: VIEWS }));
    for (const way of both) {
      const args = unique();
      const reply = await client.call(...way('word', args));
      const { callId } = reply.result.structuredContent;
      const [shown] = JSON.parse(textOf((await client.call('nodQuestions', { callId, now: true })).result)).questions;
      assert.deepEqual([shown.arguments, shown.tool.name ?? shown.tool], [args, 'word'], 'it is shown what the inner tool is called with');
      const told = await elsewhere.call('nodAnswer', { nonce: shown.nonce, ...seen });
      assert.ok(told.result._meta?.nod?.ended, told.text);
      assert.equal(textOf(told.result), `${args.tag}: seen`);
    }
  });

  test(`${house.name}: whose token may only ask approves nothing for itself through an inner call`, async (t) => {
    const { first, last, deeds } = await open(t, house);
    const peer = await session(t, first, 'carl', { elicitation: {} });
    const root = new Api(last, 'root');
    for (const tool of ['danger', 'gated'])
      for (const way of both) {
        const before = deeds.lines().length;
        const call = await callTool(peer, ...way(tool, {}));
        const [item] = await root.pending();
        assert.equal(item.tool, tool);
        assert.deepEqual(peer.inbox.rest(({ method }) => method === 'elicitation/create'), [], 'its client is not asked');
        assert.ok([403, 404].includes((await new Api(last, 'carl').resolve(item.id, { approved: true })).status));
        assert.equal(deeds.lines().length, before);
        assert.equal((await root.resolve(item.id, { approved: true })).status, 200);
        assert.equal(textOf((await call.reply()).result), 'plain');
        assert.equal(deeds.lines().length, before + 1);
      }
  });

  test(`${house.name}: where nobody else could be asked, it is refused in the same words`, async (t) => {
    const { first, deeds } = await open(t, house, { args: ['--no-inbox', '--no-model'] });
    const peer = await session(t, first, 'carl', { elicitation: {} });
    const client = new Modern(first.url, { token: token('carl') });
    for (const tool of ['danger', 'gated']) {
      const [direct, inner] = [await end(peer, tool, {}), await end(peer, ...both[1](tool, {}))];
      assert.match(textOf(direct), /the role answer/);
      assert.equal(textOf(inner), saidOf(direct), '2025');
      const modern = (await client.call(...both[1](tool, {}))).result;
      assert.match(textOf(modern), /the role answer/);
    }
    assert.deepEqual(deeds.lines(), []);
  });

  test(`${house.name}: a bound of waiting questions counts what inner calls ask`, async (t) => {
    const { first } = await open(t, house, { args: ['--pending-per-principal', '1'] });
    const peer = await session(t, first, 'ada', { elicitation: {} });
    const waits = await callTool(peer, 'word', unique());
    const ask = await nextAsk(peer);
    const direct = await end(peer, 'word', unique());
    assert.match(saidOf(direct), /^LIMIT_REACHED: .*--pending-per-principal/);
    await accept(peer, ask.id, { word: 'x' });
    await waits.reply();
    // the call that waits for the call is one
    const inner = await end(peer, ...both[1]('word', unique()));
    assert.equal(textOf(inner), saidOf(direct));
  });

  test(`${house.name}: calls wait at most four deep inside of each other, and a circle is named`, async (t) => {
    const { first, deeds } = await open(t, house);
    const peer = await session(t, first, 'ada', { elicitation: {} });
    const client = new Modern(first.url, { token: token('ada') });
    const nested = (...tools) => tools.reduceRight((args, tool) => inside(tool, args), inside('word', { tag: 'deep' })).arguments;
    const deepest = ['o2', 'o3', 'o4', 'o5'];
    const call = await callTool(peer, 'o2', nested(...deepest));
    const ask = await nextAsk(peer);
    assert.equal(ask.params.message, 'o2 ▸ o3 ▸ o4 ▸ o5 ▸ word: deep, the first word?');
    await accept(peer, ask.id, { word: 'down' });
    assert.equal(textOf((await call.reply()).result), 'deep: down');
    for (const told of [await end(peer, 'o1', nested('o1', ...deepest)), (await client.call('o1', nested('o1', ...deepest))).result])
      assert.match(textOf(told), /^LIMIT_REACHED: At most 4 calls may wait inside of each other: o1 ▸ o2 ▸ o3 ▸ o4 ▸ o5 ▸ word$/);
    for (const told of [await end(peer, 'outer', inside('o1', inside('outer', inside('plain')))), (await client.call('outer', inside('outer', inside('plain')))).result])
      assert.match(textOf(told), /A tool may not wait for a call that waits for the tool: outer ▸ (o1 ▸ )?outer$/);
    assert.deepEqual(deeds.lines(), ['deep: down']);
  });
}

test('the view is that of the outer tool: an inner tool that has none is asked there', async (t) => {
  const { first } = await open(t, houses[0]);
  const peer = await session(t, first, 'ada', VIEWS);
  const args = unique();
  const calling = callTool(peer, 'outer', inside('two', args));
  for (const which of ['first', 'second']) {
    const [question] = JSON.parse(textOf(await end(peer, 'nodQuestions', { tool: 'outer', arguments: inside('two', args) }))).questions;
    assert.equal(question?.message, `outer ▸ two: ${args.tag}, the ${which} word?`);
    await end(peer, 'nodAnswer', { nonce: question.nonce, ...seen });
  }
  assert.equal(textOf((await (await calling).reply()).result), `${args.tag}: seen seen`);
});

// The process dies when the outer call has asked for the inner one, and has told nobody. The inner call of a task, which has a handle, is
// begun by the next process without anybody; that of a client that has nothing to come back with is not.
test('2025: no inner call is begun for a client that has no handle', async (t) => {
  const store = await stores.find(({ name }) => name === 'sqlite').create(t);
  const deeds = deedsFile(t);
  const start = (env) => startHttp(t, PROGRAM, { env: { MCP_ELICITATION_SECRET: SECRET, TOYS_DEEDS: deeds.file, ...env }, args: ['--store', store.address] });
  let server = await start({ NOD_CRASH_AT: 'ask_after' });
  const peer = await rawPeer(t, 'http', PROGRAM, { server });
  const lost = await callTool(peer, 'outer', inside('tagged', { tag: 'lost' })).catch(() => null);
  await server.killed();
  assert.deepEqual(lost?.handle.events?.filter(({ id }) => id !== undefined) ?? [], [], 'it has no event id');

  server = await start({ NOD_CRASH_AT: 'ask_after' });
  const tasks = { elicitation: {}, extensions: { 'io.modelcontextprotocol/tasks': {} } };
  new Modern(server.url, { capabilities: tasks }).call('outer', inside('tagged', { tag: 'task' })).catch(() => {});
  await server.killed();
  assert.deepEqual(deeds.lines(), []);

  server = await start({ NOD_CLOCK_AHEAD_MS: '60000' }); // what is listed is old enough to be looked at
  await within(PATIENCE_MS, 'the task goes on', (async () => {
    while (!deeds.lines().length) await pause(20);
  })());
  const again = await rawPeer(t, 'http', PROGRAM, { server });
  assert.equal(textOf(await end(again, 'outer', inside('tagged', { tag: 'again' }))), 'again');
  assert.deepEqual(deeds.lines(), ['task', 'again']);
});
