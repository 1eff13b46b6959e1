// Remembered approvals over the wire: each choice passes what it says and asks for everything else, on every store, after a restart, on
// another node, and after a crash between the answer and the grant.
import test from 'node:test';
import assert from 'node:assert/strict';
import { startHttp, runOnce, connect, rawPeer, callTool, nextAsk, accept, textOf, pause, within, PATIENCE_MS } from './harness.js';
import { Api, houses, openHouse, token, tokenFile } from './inbox.js';
import { Modern, accepted, retryOf } from './modern.js';
import { stores } from './stores.js';

const SECRET = 'a secret that is surely long enough for this';
const PROGRAM = 'grants-server';
const sqlite = houses.find(({ name }) => name === 'sqlite');
const twoNodes = houses.find(({ nodes }) => nodes === 2);

// A 2025 session of a client that cannot ask anybody.
const session = (t, server, who) => rawPeer(t, 'http', PROGRAM, { server, token: token(who), capabilities: {} });

// Begins a call. It passes, and then `result` is there; or it asks, and then `item` is what is seen in the inbox.
async function begin(peer, api, tool, args = {}) {
  const call = await callTool(peer, tool, args);
  const reply = call.reply();
  let result;
  reply.then((message) => (result = message.result ?? message), () => {});
  const item = await within(PATIENCE_MS, `${tool} passes or asks`, (async () => {
    for (;;) {
      if (result) return null;
      const { json } = await api.list({ tool });
      const mine = json.items.find((one) => one.principal === api.who && !asked.has(one.id));
      if (mine) return mine;
      await pause(5);
    }
  })());
  if (item) asked.add(item.id);
  return { item, handle: call.handle, reply: async () => (await reply).result, result };
}
const asked = new Set();

// Does it pass without a question? If not, the question is declined, and nothing is done.
async function passes(peer, api, tool, args) {
  const { item, reply, result } = await begin(peer, api, tool, args);
  if (!item) {
    assert.equal(result.isError ?? false, false, JSON.stringify(result));
    return result;
  }
  assert.equal((await api.resolve(item.id, { approved: false, reason: 'not now' })).status, 200);
  const declined = await reply();
  assert.ok(declined.isError || textOf(declined) === 'not approved', JSON.stringify(declined));
  return null;
}

// Calls, approves, and has it remembered. Resolves to what was offered.
async function grant(peer, api, tool, args, { scope, match, timed }) {
  const { item, reply } = await begin(peer, api, tool, args);
  assert.ok(item, `${tool} asks`);
  const choice = item.remember.find((one) => one.scope === scope && one.match === match && (one.for !== null) === Boolean(timed));
  assert.ok(choice, `${scope} ${match} is offered: ${JSON.stringify(item.remember)}`);
  const taken = await api.resolve(item.id, { approved: true, remember: { scope: choice.scope, match: choice.match, for: choice.for } });
  assert.equal(taken.status, 200, taken.text);
  assert.equal((await reply()).isError ?? false, false);
  return { item, choice };
}

// The client comes back for a call whose server was killed.
const comeBack = (peer, { handle }) =>
  peer.request('GET', { headers: { 'Last-Event-ID': handle.events.filter(({ id }) => id !== undefined).at(-1).id }, stream: 'resumed' });

const grants = async (api) => (await api.get('/api/grants')).json.items;

async function revokeAll(api) {
  for (const { id } of await grants(api)) assert.equal((await api.request('DELETE', `/api/grants/${id}`)).status, 204);
}

const choices = [
  { scope: 'session', match: 'arguments', label: 'Allow for this session, with these arguments' },
  { scope: 'principal', match: 'arguments', timed: true, label: 'Allow for 1 hour, with these arguments' },
  { scope: 'principal', match: 'arguments', label: 'Always allow, with these arguments' },
  { scope: 'session', match: 'tool', label: 'Allow for this session' },
  { scope: 'principal', match: 'tool', timed: true, label: 'Allow for 1 hour' },
  { scope: 'principal', match: 'tool', label: 'Always allow' },
];

const FULL = Boolean(process.env.NOD_SOAK);

for (const house of houses) {
  test(`${house.name}: each choice passes what it says, and asks for everything else`, async (t) => {
    const { first, last } = await openHouse(t, house, { program: PROGRAM });
    const [ada, bob] = ['ada', 'bob'].map((who) => new Api(last, who));
    const [one, other] = [await session(t, first, 'ada'), await session(t, last, 'ada')];
    const stranger = await session(t, first, 'bob');
    const some = FULL || house.name === 'memory' ? choices : [choices[0], choices[4]];
    for (const [i, choice] of some.entries()) {
      const args = { n: i };
      const { item } = await grant(one, ada, 'guarded', args, choice);
      assert.deepEqual(item.remember.map(({ label }) => label), choices.map(({ label }) => label));
      const [kept] = await grants(ada);
      assert.deepEqual([kept.tool, kept.scope, kept.match, kept.principal, kept.by, kept.label, kept.uses],
        ['guarded', choice.scope, choice.match, 'ada', 'ada', choice.label, 0]);
      assert.equal(kept.expiresAt === null, choice.scope === 'principal' && !choice.timed);

      const passed = await passes(one, ada, 'guarded', args);
      assert.deepEqual(passed?._meta['nod/remembered'], [kept.id], 'the result says so');
      assert.equal((await grants(ada))[0].uses, 1);
      await first.said(/event="a remembered approval counts: nobody is asked".*tool=guarded.*principal=ada.*by=ada/);
      assert.equal(Boolean(await passes(one, ada, 'guarded', { n: 1000 + i })), choice.match === 'tool', 'other arguments');
      assert.equal(Boolean(await passes(other, ada, 'guarded', args)), choice.scope === 'principal', 'another session, on the other node');
      assert.equal(await passes(stranger, bob, 'guarded', args), null, 'another principal');

      assert.deepEqual(await grants(bob), []);
      assert.equal((await bob.request('DELETE', `/api/grants/${kept.id}`)).status, 404);
      await revokeAll(ada);
      assert.equal(await passes(one, ada, 'guarded', args), null, 'revoked');
      assert.deepEqual(await grants(ada), []);
    }
  });

  test(`${house.name}: a time runs out, and a session ends`, async (t) => {
    const { first, last } = await openHouse(t, house, { program: PROGRAM });
    const ada = new Api(last, 'ada');
    const one = await session(t, first, 'ada');
    await grant(one, ada, 'brief', { n: 1 }, { scope: 'principal', match: 'tool', timed: true });
    await within(PATIENCE_MS, 'the time runs out', (async () => {
      while (await passes(one, ada, 'brief', { n: 2 })) await pause(50);
    })());
    assert.deepEqual(await grants(ada), []);
    await grant(one, ada, 'guarded', {}, choices[3]);
    assert.equal((await one.request('DELETE')).status, 204);
    await within(PATIENCE_MS, 'it went with its session', (async () => {
      while ((await grants(ada)).length) await pause(10);
    })());
  });
}

// --- restarts ---

async function lasting(t, extra = {}) {
  const store = await stores.find(({ name }) => name === 'sqlite').create(t);
  const tokens = tokenFile(t);
  const house = { store };
  house.start = async (env = {}, args = []) => {
    house.server = await startHttp(t, PROGRAM, {
      env: { MCP_ELICITATION_SECRET: SECRET, ...extra, ...env }, args: ['--token-file', tokens, '--store', store.address, ...args],
    });
    return house.server;
  };
  house.again = async (peer, api, env, args) => {
    await house.server.kill();
    await house.start(env, args);
    peer.url = house.server.url;
    api.base = new URL('/', house.server.url).href.slice(0, -1);
  };
  await house.start();
  return house;
}

test('sqlite: after a restart each still passes, sealed; a changed tool asks again', async (t) => {
  const house = await lasting(t);
  const ada = new Api(house.server, 'ada');
  const one = await session(t, house.server, 'ada');
  for (const [i, choice] of choices.slice(0, 3).entries()) await grant(one, ada, 'guarded', { n: i }, choice);
  await house.again(one, ada);
  for (let i = 0; i < 3; i++) assert.ok(await passes(one, ada, 'guarded', { n: i }), `choice ${i} after a restart`);
  assert.equal((await grants(ada)).length, 3);
  for (const { name, bytes } of house.store.bytes()) assert.ok(!bytes.includes('guarded'), `${name} is sealed`);

  for (const env of [{ GRANTS_VERSION: '2' }, { GRANTS_INPUT: '{"type":"object","properties":{"n":{"type":"number"}}}' }]) {
    await house.again(one, ada, env);
    for (let i = 0; i < 3; i++) assert.equal(await passes(one, ada, 'guarded', { n: i }), null, JSON.stringify(env));
  }
  await house.again(one, ada, { GRANTS_NAME: 'renamed' });
  assert.equal(await passes(one, ada, 'renamed', { n: 0 }), null);
  await house.again(one, ada);
  for (let i = 0; i < 3; i++) assert.ok(await passes(one, ada, 'guarded', { n: i }), 'as it was');
});

// Wherever it dies on the way from the answer to the result, the call ends well, and its approval is remembered, once.
const points = ['answer_after', 'answer_before', 'rerun_before', 'effect_before', 'effect_after', 'step_after', 'result_before', 'result_after'];
for (const point of FULL ? points : points.slice(0, 1)) {
  test(`sqlite: killed at ${point}, the next start makes the grant`, async (t) => {
    const house = await lasting(t);
    const ada = new Api(house.server, 'ada');
    const one = await session(t, house.server, 'ada');
    await house.again(one, ada, { NOD_CRASH_AT: point });
    const call = await begin(one, ada, 'guarded', { n: 1 });
    const answer = () => ada.resolve(call.item.id, { approved: true, remember: { scope: 'session', match: 'arguments', for: null } });
    await answer().catch(() => {});
    await within(PATIENCE_MS, 'it dies', (async () => {
      while (await ada.me().catch(() => null)) await pause(5);
    })());
    await house.again(one, ada);
    await comeBack(one, call);
    assert.equal((await answer()).status, 200, 'the same answer counts as given');
    assert.equal(textOf(await call.reply()), 'done');
    assert.equal((await grants(ada)).length, 1);
    assert.ok(await passes(one, ada, 'guarded', { n: 1 }));
  });
}

test('two nodes of redis: the node that took the answer dies, and the other makes the grant', async (t) => {
  const store = await twoNodes.create(t);
  const args = ['--token-file', tokenFile(t), '--store', store.address];
  const first = await startHttp(t, PROGRAM, { args });
  const second = await startHttp(t, PROGRAM, { args, env: { NOD_CRASH_AT: 'answer_after' } });
  const [here, there] = [new Api(first, 'ada'), new Api(second, 'ada')];
  const one = await session(t, first, 'ada');
  const { item, reply } = await begin(one, here, 'guarded', { n: 1 });
  await assert.rejects(there.resolve(item.id, { approved: true, remember: { scope: 'session', match: 'tool', for: null } }));
  await second.kill(); // it has died by itself
  assert.equal(textOf(await reply()), 'done');
  assert.ok(await passes(one, here, 'guarded', { n: 2 }));
});

test('sqlite: what was revoked while its call waited is not made again when the call goes on', async (t) => {
  const house = await lasting(t);
  const ada = new Api(house.server, 'ada');
  const one = await session(t, house.server, 'ada');
  const first = await begin(one, ada, 'twice', { n: 1 });
  await ada.resolve(first.item.id, { approved: true, remember: { scope: 'principal', match: 'tool', for: null } });
  const [second] = await ada.pending(1, { tool: 'twice' });
  assert.equal(second.message, 'Really?');
  assert.deepEqual(second.remember, [], 'a question that is no approval offers nothing');
  assert.equal((await grants(ada)).length, 1);
  await revokeAll(ada);
  await house.again(one, ada);
  await ada.resolve(second.id, { action: 'accept' });
  await comeBack(one, first);
  assert.equal(textOf(await first.reply()), 'done');
  assert.deepEqual(await grants(ada), []);
  assert.equal(await passes(one, ada, 'twice', { n: 1 }), null);
});

test('two nodes of redis: many calls at once pass by one grant, and after a revoke none does', async (t) => {
  const { first, last } = await openHouse(t, twoNodes, { program: PROGRAM });
  const ada = new Api(last, 'ada');
  const peers = [await session(t, first, 'ada'), await session(t, last, 'ada')];
  await grant(peers[0], ada, 'guarded', { n: 1 }, choices[5]);
  const calls = await Promise.all(Array.from({ length: 24 }, (_, n) => callTool(peers[n % 2], 'guarded', { n })));
  for (const call of calls) assert.equal(textOf((await call.reply()).result), 'done');
  const [{ uses }] = await grants(ada);
  assert.ok(uses > 0 && uses <= 24, `${uses} uses`);
  await revokeAll(ada);
  const late = await Promise.all(Array.from({ length: 6 }, (_, n) => callTool(peers[n % 2], 'guarded', { n })));
  const items = await ada.pending(6);
  assert.deepEqual(await Promise.all(items.map(async ({ id }) => (await ada.resolve(id, { approved: false })).status)), Array(6).fill(200));
  for (const call of late) assert.ok((await call.reply()).result.isError);
});

for (const house of houses) {
  test(`${house.name}: a revoke wins while many calls use the grant, and what comes after it asks`, async (t) => {
    const { first, last } = await openHouse(t, house, { program: PROGRAM });
    const ada = new Api(last, 'ada');
    const peers = [await session(t, first, 'ada'), await session(t, last, 'ada')];
    await grant(peers[0], ada, 'guarded', { n: 1 }, choices[5]);
    const [{ id }] = await grants(ada);
    // Each of them calls again and again until it is asked, which ends it.
    let passed = 0;
    const busy = Array.from({ length: 12 }, async (_, n) => {
      for (;;) {
        const { result } = await (await callTool(peers[n % 2], 'guarded', { n })).reply();
        if (result.isError) return;
        passed++;
      }
    });
    await within(PATIENCE_MS, 'all are at it', (async () => { while (passed < 12) await pause(1); })());
    assert.equal((await ada.request('DELETE', `/api/grants/${id}`)).status, 204, 'the first time');
    const late = await callTool(peers[0], 'guarded', { n: 99 });
    const items = await ada.pending(13);
    for (const item of items) assert.equal((await ada.resolve(item.id, { approved: false })).status, 200);
    assert.ok((await late.reply()).result.isError);
    await Promise.all(busy);
    assert.deepEqual(await grants(ada), []);
  });
}

// --- the 2026 era, and clients that ask ---

test('2026: there is no session, so a time is offered, and passes', async (t) => {
  const { first } = await openHouse(t, houses[0], { program: PROGRAM, args: ['--remember', 'guarded=session'], env: { MCP_ELICITATION_SECRET: SECRET } });
  const ada = new Api(first, 'ada');
  const modern = new Modern(first.url, { token: token('ada'), capabilities: {} });
  const call = modern.call('guarded', { n: 1 });
  const [item] = await ada.pending();
  assert.deepEqual(item.remember, [{ scope: 'principal', match: 'arguments', for: 3600, label: 'Allow for 1 hour, with these arguments' }]);
  const { label, ...remember } = item.remember[0];
  assert.equal((await ada.resolve(item.id, { approved: true, remember })).status, 200, label);
  assert.equal(textOf((await call).result), 'done');
  const passed = await modern.call('guarded', { n: 1 });
  assert.equal(textOf(passed.result), 'done');
  assert.deepEqual(passed.result._meta['nod/remembered'], [(await grants(ada))[0].id]);
  // A 2026 client that can ask passes too, and one that is asked cannot say that it is to be remembered.
  const able = new Modern(first.url, { token: token('ada') });
  assert.equal(await able.ended('guarded', { n: 1 }), 'done');
  const question = await able.asked('guarded', { n: 2 });
  const [key] = Object.keys(question.inputRequests);
  const said = { ...accepted({ remember: remember }), remember, _meta: { remember } };
  assert.equal(await able.ended('guarded', { n: 2 }, retryOf(question, { [key]: said })), 'done');
  assert.equal((await grants(ada)).length, 1);
  assert.equal((await able.asked('guarded', { n: 2 })).resultType, 'input_required');
});

test('2025: the client that asks passes by a grant, and makes none by its own word', async (t) => {
  const { first } = await openHouse(t, houses[0], { program: PROGRAM });
  const ada = new Api(first, 'ada');
  const one = await session(t, first, 'ada');
  await grant(one, ada, 'guarded', { n: 1 }, choices[2]);
  const able = await rawPeer(t, 'http', PROGRAM, { server: first, token: token('ada') });
  assert.equal(textOf((await (await callTool(able, 'guarded', { n: 1 })).reply()).result), 'done');
  const call = await callTool(able, 'guarded', { n: 2 });
  const ask = await nextAsk(able);
  await able.send({ id: ask.id, result: { action: 'accept', content: {}, remember: { scope: 'principal', match: 'tool', for: null } } });
  assert.equal(textOf((await call.reply()).result), 'done');
  assert.equal((await grants(ada)).length, 1);
  const again = await callTool(able, 'guarded', { n: 2 });
  await accept(able, (await nextAsk(able)).id);
  assert.equal(textOf((await again.reply()).result), 'done');
});

// --- for which tool ---

test('an approval that is for another tool names it, has its colour, and says so in each choice', async (t) => {
  const { first } = await openHouse(t, houses[0], { program: PROGRAM });
  const ada = new Api(first, 'ada');
  const one = await session(t, first, 'ada');
  const { item, reply } = await begin(one, ada, 'frank', { n: 1 });
  assert.deepEqual([item.tool, item.approves, item.destructive], ['frank', 'risky', true]);
  assert.deepEqual(item.remember.map(({ label }) => label), ['Allow risky for this session, with these arguments']);
  const [{ label, ...remember }] = item.remember;
  assert.equal((await ada.resolve(item.id, { approved: true, remember })).status, 200, label);
  assert.equal(textOf(await reply()), 'approved');
  assert.ok(await passes(one, ada, 'risky', { n: 1 }), 'it is for that tool');
  assert.deepEqual((await grants(ada)).map(({ tool }) => tool), ['risky']);
  const own = await begin(one, ada, 'risky', { n: 2 });
  assert.deepEqual([own.item.approves, own.item.destructive], [undefined, true], 'its own question names nobody else');
  assert.equal((await ada.resolve(own.item.id, { approved: false })).status, 200);
  const other = await begin(one, ada, 'approving', { n: 9 });
  assert.deepEqual([other.item.approves, other.item.destructive], ['guarded', false]);
  assert.equal((await ada.resolve(other.item.id, { approved: false })).status, 200);
});

test('a harmless tool does not ask for the approval of a destructive one, unless it was registered so', async (t) => {
  const { first } = await openHouse(t, houses[0], { program: PROGRAM });
  const ada = new Api(first, 'ada');
  const one = await session(t, first, 'ada');
  await grant(one, ada, 'risky', { n: 1 }, { scope: 'session', match: 'arguments' });
  for (const n of [1, 2]) { // remembered, and not
    const { item, result } = await begin(one, ada, 'sly', { n });
    assert.equal(item, null, 'nobody is asked');
    assert.equal(result.isError, true, JSON.stringify(result));
  }
  await first.said(/sly asks for the approval of risky, which is destructive.*\.approves/);
  assert.equal((await grants(ada))[0].uses, 0);
});

test('a grant that sleeps says so in lists, and why', async (t) => {
  const house = await lasting(t);
  const ada = new Api(house.server, 'ada');
  const one = await session(t, house.server, 'ada');
  await grant(one, ada, 'guarded', { n: 1 }, choices[2]);
  const sleeps = async () => (await grants(ada)).map((one) => one.sleeps);
  assert.deepEqual(await sleeps(), [null]);
  const changed = 'the tool has changed since it was approved';
  for (const [env, why] of [[{ GRANTS_VERSION: '2' }, changed], [{ GRANTS_INPUT: '{"type":"object"}' }, changed], [{ GRANTS_NAME: 'renamed' }, 'the tool is not there'], [{}, null]]) {
    await house.again(one, ada, env);
    assert.deepEqual(await sleeps(), [why], JSON.stringify(env));
    if (!env.GRANTS_NAME) assert.equal(Boolean(await passes(one, ada, 'guarded', { n: 1 })), !why, 'and it is so');
  }
  for (const [rule, why] of [['none', 'it may not be remembered any more'], ['guarded=session', 'it may not be remembered any more'], ['guarded=principal', null]]) {
    await house.again(one, ada, {}, ['--remember', rule]);
    assert.deepEqual(await sleeps(), [why], rule);
  }
});

// --- approvals in a handler ---

test('nod_approve with a tool path honours the approvals of that tool, and makes them', async (t) => {
  const { first } = await openHouse(t, houses[0], { program: PROGRAM });
  const ada = new Api(first, 'ada');
  const one = await session(t, first, 'ada');
  await grant(one, ada, 'guarded', { n: 1 }, choices[0]);
  for (const tool of ['approving', 'approving_blocking']) {
    assert.equal(textOf(await passes(one, ada, tool, { n: 1 })), 'approved by ada');
    assert.equal(await passes(one, ada, tool, { n: 2 }), null, 'other arguments');
  }
  await grant(one, ada, 'approving_blocking', { n: 3 }, choices[0]);
  assert.ok(await passes(one, ada, 'guarded', { n: 3 }), 'what was approved there counts at the gate');
  const other = await begin(one, ada, 'approving_other', { n: 4 });
  assert.match(other.item.message, /"n": 5/);
  assert.deepEqual(other.item.arguments, { n: 4 }, 'of the call');
  assert.equal(other.item.remember[0].label, 'Allow guarded for this session, with the arguments in the question');
  assert.equal(other.item.remember.at(-1).label, 'Always allow guarded');
  await ada.resolve(other.item.id, { approved: true, remember: { scope: 'session', match: 'arguments', for: null } });
  assert.equal(textOf(await other.reply()), 'approved');
  assert.ok(await passes(one, ada, 'guarded', { n: 5 }), 'what was shown in the question');
  assert.equal(await passes(one, ada, 'guarded', { n: 4 }), null, 'what the call had');
  const own = await begin(one, ada, 'approving_other', { n: 5 });
  assert.equal(own.item, null, 'the same arguments');
  const { item } = await begin(one, ada, 'filling', { n: 3 });
  assert.deepEqual([item.schema.required, item.remember], [['many'], []], 'a form is filled in each time');
  await ada.resolve(item.id, { approved: false });
});

test('a client that nobody can be asked through passes by a grant', async (t) => {
  const house = await lasting(t);
  const ada = new Api(house.server, 'ada');
  const one = await session(t, house.server, 'ada');
  await grant(one, ada, 'guarded', { n: 1 }, choices[2]);
  await grant(one, ada, 'approving', { n: 7 }, choices[2]);
  await house.server.kill();
  const alone = await startHttp(t, PROGRAM, {
    env: { MCP_ELICITATION_SECRET: SECRET }, args: ['--no-inbox', '--token-file', tokenFile(t), '--store', house.store.address],
  });
  const mute = await connect(t, 'http', PROGRAM, { server: alone, token: token('ada'), capabilities: {} });
  assert.equal(await mute.text('guarded', { n: 1 }), 'done');
  assert.equal(await mute.text('approving', { n: 7 }), 'approved by ada');
  const refused = await mute.call('guarded', { n: 2 });
  assert.ok(refused.isError);
  assert.match(textOf(refused), /needs the confirmation of a person, and not the model's; nothing was done/);
  assert.equal(await mute.text('approving', { n: 2 }), 'not approved');
});

// --- what is offered, and to whom ---

test('an approval is remembered as it was first given: sent again with another choice it is refused, and the same again is not', async (t) => {
  const { first } = await openHouse(t, houses[0], { program: PROGRAM });
  const ada = new Api(first, 'ada');
  const peer = await session(t, first, 'ada');
  const remember = { scope: 'principal', match: 'arguments', for: 3600 };
  const plain = await begin(peer, ada, 'guarded', { n: 1 });
  for (let i = 0; i < 2; i++) assert.equal((await ada.resolve(plain.item.id, { approved: true })).status, 200);
  const late = await ada.resolve(plain.item.id, { approved: true, remember });
  assert.deepEqual([late.status, late.json.detail, late.json.answer?.by], [409, 'You have answered this before, and it is not remembered in this way.', 'ada']);
  assert.deepEqual(await grants(ada), []);
  await plain.reply();
  const kept = await begin(peer, ada, 'guarded', { n: 2 });
  for (let i = 0; i < 2; i++) assert.equal((await ada.resolve(kept.item.id, { approved: true, remember })).status, 200);
  assert.equal((await ada.resolve(kept.item.id, { approved: true, remember: { ...remember, scope: 'session', for: null } })).status, 409);
  await kept.reply();
  assert.equal((await grants(ada)).length, 1);
});

test('an option that names a tool which is not there is said at the start, with the names that are', async (t) => {
  const named = (tool) => ['--remember', `${tool}=none`, '--soft-deadline', `tool:${tool}=2m`, '--allow-field', `${tool}.pin`];
  const { first } = await openHouse(t, houses[0], { program: PROGRAM, args: [...named('riskie'), ...named('risky'), '--soft-deadline', 'client:riskie=2m'] });
  const said = first.stderr().split('\n').filter((line) => line.includes('names a tool that this server does not have'));
  assert.deepEqual(said.map((line) => line.match(/option=(\S+) value="?([^\s"]+)/).slice(1).join(' ')),
    ['--remember riskie=none', '--soft-deadline riskie', '--allow-field riskie.pin']);
  for (const line of said) assert.match(line, /tools="[^"]*\brisky\b/);
});

test('a destructive tool is remembered for any arguments only with the operator\'s leave', async (t) => {
  const offered = async (args) => {
    const { first } = await openHouse(t, houses[0], { program: PROGRAM, args });
    const ada = new Api(first, 'ada');
    const { item } = await begin(await session(t, first, 'ada'), ada, 'risky', { n: 1 });
    assert.equal(item.destructive, true);
    const refused = await ada.resolve(item.id, { approved: true, remember: { scope: 'principal', match: 'tool', for: null } });
    assert.deepEqual([refused.status, refused.json.errors[0].path], [422, '/remember']);
    await ada.resolve(item.id, { approved: false });
    return item.remember.map(({ scope, match, for: seconds }) => `${scope} ${match} ${seconds}`);
  };
  assert.deepEqual(await offered([]), ['session arguments null']);
  assert.deepEqual(await offered(['--remember', 'session,8h,tool']), ['session arguments null', 'principal arguments 28800']);
  assert.deepEqual(await offered(['--remember', 'none', '--remember', 'risky=session,90s,tool']), ['session tool null', 'principal tool 90']);
  assert.deepEqual(await offered(['--remember=risky=none']), []);
  for (const wrong of ['risky=', '=session', 'tool', 'session,1h,2h', 'session,']) {
    const { code, stderr } = await runOnce(PROGRAM, ['--remember', wrong]);
    assert.equal(code, 2, wrong);
    assert.match(stderr, /--remember takes/, wrong);
  }
});

test('who may list and revoke: each its own, an administrator all, an agent nothing', async (t) => {
  const { first } = await openHouse(t, houses[0], { program: PROGRAM });
  const [ada, dora, carl, root, nobody] = ['ada', 'dora', 'carl', 'root', null].map((who) => new Api(first, who));
  const one = await session(t, first, 'ada');
  // An approver says it, and it counts for whom it was said.
  const { item, reply } = await begin(one, ada, 'guarded', { n: 1 });
  assert.equal((await dora.resolve(item.id, { approved: true, remember: { scope: 'principal', match: 'tool', for: null } })).status, 200);
  assert.equal(textOf(await reply()), 'done');
  const [kept] = await grants(ada);
  assert.deepEqual([kept.principal, kept.by], ['ada', 'dora']);
  assert.deepEqual(await grants(dora), []);
  assert.equal((await grants(root)).length, 1);
  assert.equal((await carl.get('/api/grants')).status, 403);
  assert.equal((await nobody.get('/api/grants')).status, 401);
  assert.equal((await carl.request('DELETE', `/api/grants/${kept.id}`)).status, 403);
  assert.equal((await dora.request('DELETE', `/api/grants/${kept.id}`)).status, 404);
  assert.equal((await root.request('DELETE', '/api/grants/nothing')).status, 404);
  assert.equal((await ada.get('/api/grants?limit=0')).status, 400);
  assert.equal((await ada.get('/api/grants?cursor=nowhere')).status, 400);
  assert.equal((await ada.get('/api/grants?which=all')).status, 400);
  assert.equal((await root.request('DELETE', `/api/grants/${kept.id}`)).status, 204);
  assert.equal(await passes(one, ada, 'guarded', { n: 1 }), null);
});

test('grants are listed by page', async (t) => {
  const { first } = await openHouse(t, houses[0], { program: PROGRAM });
  const ada = new Api(first, 'ada');
  const one = await session(t, first, 'ada');
  for (let n = 0; n < 5; n++) await grant(one, ada, 'guarded', { n }, choices[2]);
  const seen = [];
  let cursor = '';
  for (let pages = 0; pages < 10 && cursor !== null; pages++) {
    const { json } = await ada.get(`/api/grants?limit=2${cursor ? `&cursor=${encodeURIComponent(cursor)}` : ''}`);
    assert.ok(json.items.length <= 2);
    seen.push(...json.items.map(({ id }) => id));
    cursor = json.next;
  }
  assert.equal(cursor, null);
  assert.equal(new Set(seen).size, 5);
});

// --- destructive tools, and the example ---

test('a destructive tool that asked nobody is logged; --confirm-destructive asks at the gate', async (t) => {
  const { first } = await openHouse(t, houses[0], { program: PROGRAM });
  const one = await session(t, first, 'ada');
  assert.ok(await passes(one, new Api(first, 'ada'), 'careless'));
  await first.said(/level=warn event="a destructive tool ran without asking anybody.*tool=careless principal=ada/);
  assert.match((await new Api(first, 'root').get('/metrics')).text, /^nod_destructive_unasked_total 1$/m);

  const { first: asking } = await openHouse(t, houses[0], { program: PROGRAM, args: ['--confirm-destructive'] });
  assert.equal(await passes(await session(t, asking, 'ada'), new Api(asking, 'ada'), 'careless'), null);
});

test('the example purge-cache: one approval, and the next purges of the zone pass', async (t) => {
  const { first } = await openHouse(t, sqlite, { program: 'purge-cache' });
  const ada = new Api(first, 'ada');
  const one = await session(t, first, 'ada');
  const { item } = await grant(one, ada, 'purge_zone', { zone: 'img' }, { scope: 'session', match: 'arguments' });
  assert.deepEqual([item.title, item.destructive], ['Purge a zone', true]);
  assert.equal(textOf(await passes(one, ada, 'purge_zone', { zone: 'img' })), 'Purged img; 2 in all.');
  assert.equal(textOf(await passes(one, ada, 'refresh_site', { zone: 'img' })), 'Refreshed img; 3 purges in all. Approved by ada.');
  assert.equal(await passes(one, ada, 'purge_zone', { zone: 'css' }), null);
  await revokeAll(ada);
  assert.equal(await passes(one, ada, 'purge_zone', { zone: 'img' }), null);
});
