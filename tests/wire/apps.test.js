// People's own tools: two principals have an app of the same name, and what there is changes while calls wait. (toy_apps.c)
import test from 'node:test';
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { HttpPeer, accept, callTool, isAsk, pause, rawPeer, resultOf, sseEvents, startHttp, textOf, within, withoutInbox, defaultHeaders, PATIENCE_MS } from './harness.js';
import { ADA, BOB, Modern, VERSION, metaOf, retryOf, scratchFolder, word } from './modern.js';

withoutInbox(); // what is asked waits at its client

const EVE = 'eve-token-0123456789abcdef';
const WAITING = 250; // calls of each of two people, in each of two eras
const RENEWALS = 1000;
const MANY = 10000;

async function start(t) {
  const file = path.join(scratchFolder(t), 'tokens');
  writeFileSync(file, `${ADA} ada ask answer\n${BOB} bob ask answer\n${EVE} eve ask answer\n`, { mode: 0o600 });
  const server = await startHttp(t, 'toy-apps', { args: ['--token-file', file] });
  const people = {};
  for (const [name, token] of [['ada', ADA], ['bob', BOB], ['eve', EVE]])
    people[name] = {
      name,
      session: await rawPeer(t, 'http', 'toy-apps', { server, token }),
      modern: new Modern(server.url, { token }),
    };
  return { server, ...people };
}

async function listOf(person, era, params = {}) {
  if (era === '2026') return (await person.modern.request('tools/list', params)).result;
  const id = `list-${Math.random()}`;
  await person.session.send({ id, method: 'tools/list', params });
  return (await person.session.next((message) => message.id === id, 'the list')).result;
}

// What a call of `notes` that does not ask says, or its error.
async function notesOf(person, era) {
  if (era === '2026') {
    const { result, error } = await person.modern.call('notes');
    return result ? textOf(result) : error.message;
  }
  const reply = await (await callTool(person.session, 'notes')).reply();
  return reply.result ? textOf(reply.result) : reply.error.message;
}

const ERAS = ['2025', '2026'];

// Every change of a list that a client is told of; until() waits for a prompts/list_changed, which comes after all others.
class Told {


  static async session(t, person) {
    const told = new Told();
    const stream = await person.session.request('GET');
    told.next = async () => JSON.parse((await stream.arrived.next(({ data }) => data, 'a change')).data);
    return told;
  }

  static async listener(t, person) {
    const told = new Told();
    const stop = new AbortController();
    t.after(() => stop.abort());
    const response = await fetch(person.modern.url, {
      method: 'POST',
      headers: { ...defaultHeaders, 'MCP-Protocol-Version': VERSION, 'Mcp-Method': 'subscriptions/listen', Authorization: `Bearer ${person.modern.token}` },
      body: JSON.stringify({ jsonrpc: '2.0', id: 'ears', method: 'subscriptions/listen',
        params: { notifications: { toolsListChanged: true, promptsListChanged: true }, _meta: metaOf() } }),
      signal: stop.signal,
    });
    const events = sseEvents(response.body)[Symbol.asyncIterator]();
    told.next = async () => {
      for (;;) {
        const { value, done } = await within(PATIENCE_MS, 'a change', events.next());
        assert.ok(!done, 'the stream has ended');
        if (value.data) return JSON.parse(value.data);
      }
    };
    assert.match((await told.next()).method, /acknowledged/);
    return told;
  }

  // How often it was told that the list of tools has changed, since the last fence.
  async toFence() {
    for (let count = 0; ; ) {
      const { method } = await this.next();
      if (method === 'notifications/prompts/list_changed') return count;
      assert.equal(method, 'notifications/tools/list_changed');
      count++;
    }
  }
}

test('each is shown and given their own, in both eras, and for others there is none', async (t) => {
  const { ada, bob, eve } = await start(t);
  for (const era of ERAS) {
    for (const person of [ada, bob]) {
      const named = (await listOf(person, era)).tools.filter(({ name }) => name === 'notes');
      assert.deepEqual(named.map(({ title }) => title), [`${person.name} notes`], era);
      assert.match(await notesOf(person, era), new RegExp(`^${person.name} \\d+$`), era);
    }
    assert.deepEqual((await listOf(eve, era)).tools.filter(({ name }) => name === 'notes'), []);
    assert.equal(await notesOf(eve, era), 'Unknown tool: notes');
  }
});

test('a change is told once in a turn, and what is somebody\'s own to nobody else', async (t) => {
  const { ada, bob } = await start(t);
  const ears = { ada: [await Told.session(t, ada), await Told.listener(t, ada)], bob: [await Told.session(t, bob), await Told.listener(t, bob)] };
  const since = async (person) => Promise.all(ears[person].map((one) => one.toFence()));

  assert.equal(await resultOf(bob.session, 'renew', { times: 50, now: true }), 'done');
  await resultOf(bob.session, 'fence');
  assert.deepEqual(await since('ada'), [1, 1]);
  assert.deepEqual(await since('bob'), [0, 0]);

  assert.equal(await resultOf(bob.session, 'add_many', { count: 500 }), 'added');
  await resultOf(bob.session, 'fence');
  assert.deepEqual(await since('ada'), [1, 1]);
  assert.deepEqual(await since('bob'), [1, 1]);
});

test('whoever reads a list by page has each tool once that was there all the time', async (t) => {
  const { ada } = await start(t);
  await resultOf(ada.session, 'add_many', { count: 350 });
  for (const era of ERAS) {
    const seen = [];
    let page = await listOf(ada, era);
    for (let pages = 1; ; pages++) {
      seen.push(...page.tools.map(({ name }) => name));
      if (!page.nextCursor) break;
      if (pages === 1) assert.equal(await resultOf(ada.session, 'remove_some', { from: 10, count: 60 }), 'removed'); // most of them on the page that was read
      if (pages === 2) assert.equal(await resultOf(ada.session, 'renew', { times: 3, now: true }), 'done');
      if (pages === 2) assert.equal(await resultOf(ada.session, 'add_many', { count: 60 }), 'added');
      page = await listOf(ada, era, { cursor: page.nextCursor });
      assert.ok(page, 'the cursor leads on');
    }
    assert.equal(new Set(seen).size, seen.length, 'none twice');
    const now = [];
    for (let rest = await listOf(ada, era); ; rest = await listOf(ada, era, { cursor: rest.nextCursor })) {
      now.push(...rest.tools.map(({ name }) => name));
      if (!rest.nextCursor) break;
    }
    assert.deepEqual(now.filter((name) => !seen.includes(name)), [], 'none left out');
  }
});

test(`an app is replaced ${RENEWALS} times, and ${MANY} are added, while calls wait and others come: nobody meets a wrong one, or none`, async (t) => {
  const { ada, bob } = await start(t);
  const people = [ada, bob];
  const ears = await Promise.all(people.map((person) => Told.listener(t, person)));

  // Calls that wait, in both eras.
  const held = [];
  for (const person of people)
    for (let i = 0; i < WAITING; i++) held.push({ person, call: await callTool(person.session, 'notes', { ask: true }) });
  const asks = new Map(people.map((person) => [person, []]));
  for (const { person } of held) asks.get(person).push(await person.session.next(isAsk, 'a question'));
  const carried = [];
  for (const person of people)
    for (let i = 0; i < WAITING; i++) carried.push({ person, asked: await person.modern.asked('notes', { ask: true }) });

  // Others come while Ada's app is replaced.
  await resultOf(ada.session, 'renew', { times: RENEWALS });
  let left = RENEWALS, calls = 0;
  const come = async (person, era) => {
    for (; left > 0 || calls < 100; calls++) assert.match(await notesOf(person, era), new RegExp(`^${person.name} \\d+$`));
  };
  const watch = async () => {
    for (; left > 0; await pause(20)) left = Number.parseInt(await resultOf(bob.session, 'how_far'), 10);
  };
  await Promise.all([watch(), ...people.flatMap((person) => ERAS.map((era) => come(person, era)))]);
  await resultOf(bob.session, 'fence');
  const [toAda, toBob] = await Promise.all(ears.map((one) => one.toFence()));
  assert.ok(toAda >= 1 && toAda <= RENEWALS, `${toAda} changes were told`);
  assert.equal(toBob, 0);

  // Many are added in one batch.
  assert.equal(await resultOf(bob.session, 'add_many', { count: MANY }), 'added');
  await resultOf(bob.session, 'fence');
  assert.deepEqual(await Promise.all(ears.map((one) => one.toFence())), [1, 1]);

  // All that waited end with their own: Ada's with the newest, which is of the same version.
  for (const person of people) for (const { id } of asks.get(person)) await accept(person.session, id, { word: 'yes' });
  for (const { person, call } of held) {
    const { result } = await call.reply();
    assert.equal(textOf(result), person === ada ? `ada ${2 + RENEWALS}` : 'bob 2');
  }
  for (const { person, asked } of carried)
    assert.equal(await person.modern.ended('notes', { ask: true }, retryOf(asked, { go: word('yes') })), person === ada ? `ada ${2 + RENEWALS}` : 'bob 2');
  assert.match(await resultOf(bob.session, 'how_far'), new RegExp(`^0 left, ${MANY + 2} alive$`)); // what was replaced is gone
  t.diagnostic(`${held.length + carried.length} calls waited, ${calls} came while the app was replaced, ${toAda} changes were told to its owner`);
});
