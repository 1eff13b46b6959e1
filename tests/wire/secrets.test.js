// Secrets: asked for once, on a page, and given to handlers only. A planted value is looked for everywhere, and found nowhere
// but where it belongs.
import test from 'node:test';
import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import https from 'node:https';
import path from 'node:path';
import { connect, oneOf, pause, runOnce, startHttp, textOf, within, PATIENCE_MS } from './harness.js';
import { Modern, VERSION, accepted, metaOf, retryOf, scratchFolder } from './modern.js';
import { Api, houses, openHouse, token, tokenFile } from './inbox.js';
import { stores } from './stores.js';
import { Visitor, SECRET, URL_MODE, clients, coreOf, plant, used, whereIs } from './secrets.js';
import { certificate, overTls } from './tls.js';
import { fillIn } from './visitor.js';

const SOAK = process.env.NOD_SOAK === '1';
const open = (t, house, more = {}) => openHouse(t, house, { program: 'secrets', env: SECRET, ...more });

// The question of a client that can be sent to a page, and where it is sent.
async function sent(session) {
  const question = await session.question();
  assert.equal(question.params.mode, 'url');
  question.accept();
  return question.params.url;
}

for (const house of houses)
  for (const [name, connect] of Object.entries(clients))
    test(`${house.name}, ${name}: it is asked for once, given on any node, and used until it is deleted`, async (t) => {
      const { first, last } = await open(t, house);
      const session = await connect(t, first);
      const value = plant();
      const call = session.text('use');
      const link = await sent(session);
      const ada = await Visitor.of(last);
      const { data } = await ada.page(link);
      assert.deepEqual([data.kind, data.name, data.state, data.lasting], ['secret', 'stripe', 'pending', house.name !== 'memory']);
      assert.equal((await ada.give(link, value)).status, 200);
      assert.equal(await call, used(value));
      assert.match((await ada.page(link)).said, /The secret was taken, and the tool goes on\./);
      const late = await ada.give(link, 'another');
      assert.deepEqual([late.status, late.body.outcome], [409, 'This was answered before. What you have sent now was not taken.'], 'once');

      const other = await connect(t, last); // nobody is asked again, by whatever tool, on whatever node
      for (const tool of ['use', 'use_blocking']) assert.equal(await other.text(tool), used(value));
      assert.equal(session.asked.length + other.asked.length, 1);

      const api = await new Api(last, 'ada').describe();
      const { items, lasting } = (await api.get('/api/secrets')).json;
      assert.deepEqual(items.map((one) => [one.name, one.principal, one.tool, one.expiresAt]), [['stripe', 'ada', 'use', null]]);
      assert.equal(lasting, house.name !== 'memory');
      assert.deepEqual((await api.as('bob').get('/api/secrets')).json.items, []);
      assert.equal((await api.as('bob').request('DELETE', `/api/secrets/${items[0].id}`)).status, 404);
      assert.equal((await api.as('root').get('/api/secrets')).json.items.length, 1, 'an administrator sees its name');
      assert.equal((await api.request('DELETE', '/api/secrets/stripe')).status, 204);
      const again = session.text('use');
      assert.equal((await ada.give(await sent(session), 'changed')).status, 200);
      assert.equal(await again, used('changed'));
    });

test('a client without URL mode: the inbox has the message, the name and the link, and no form', async (t) => {
  const { first } = await open(t, houses[1]);
  const session = await clients['v1, 2025'](t, first, 'ada', {});
  const api = await new Api(first, 'ada').describe();
  const call = session.text('use');
  const [item] = await api.pending();
  assert.deepEqual([item.kind, item.secret, item.message, item.schema], ['url', 'stripe', 'The key of the payment service, please.', null]);
  assert.match(item.page, /\/a\/[\w-]+$/);
  const bob = await Visitor.of(first, 'bob');
  assert.equal((await bob.page(item.page)).status, 404, 'it is for nobody else');
  const value = plant();
  const here = await api.resolve(item.id, { action: 'accept', content: { secret: value } });
  assert.deepEqual([here.status, here.json.pending, here.text.includes(value)], [200, true, false], 'that it was opened is no answer');
  assert.equal((await api.one(item.id)).json.state, 'pending', 'it is given on the page, and nowhere else');
  assert.equal((await (await Visitor.of(first)).give(item.page, value)).status, 200);
  assert.equal(await call, used(value));
  const [ended] = (await api.list({ state: 'ended' })).json.items;
  assert.deepEqual([ended.answer.by, ended.answer.via, ended.answer.content ?? null], ['ada', 'page', null]);
});

test('who has no token with the role answer is not asked for one, by nobody and nowhere', async (t) => {
  const { first } = await open(t, houses[1], { args: ['--surfaces', 'client,inbox'] });
  for (const session of [await clients['v1, 2025'](t, first, 'carl'), await clients['v1, 2025'](t, first, 'carl', {})]) {
    const result = await session.call('use');
    assert.deepEqual([result.isError, result._meta.code, session.asked.length], [true, 'ELICITATION_NOT_SUPPORTED', 0]);
    assert.match(textOf(result), /no token of that name has the role answer/);
  }
  assert.deepEqual((await new Api(first, 'root').list()).json.items, []);
});

test('two secrets, a step and a question in one call, with the replay check', async (t) => {
  const deeds = path.join(scratchFolder(t), 'deeds');
  const { first } = await open(t, houses[1], { env: { ...SECRET, NOD_REPLAY_CHECK: '1', NOD_DEEDS: deeds } });
  const session = await clients['v1, 2025'](t, first, 'ada', { elicitation: { url: {}, form: {} } });
  const ada = await Visitor.of(first);
  const call = session.text('use_two');
  for (const value of ['1st', '2nd']) assert.equal((await ada.give(await sent(session), value)).status, 200);
  (await session.question()).accept({});
  assert.equal(await call, `1: ${used('1st').slice(-8)} ${used('2nd').slice(-8)}`);
  assert.equal(readFileSync(deeds, 'utf8').split('\n').length - 1, 1);
});

test('whoever else waits for the same secret of the same person goes on with it; others do not', async (t) => {
  const { first, last } = await open(t, houses[2]);
  const [one, other, bobs] = await Promise.all([clients['v1, 2025'](t, first), clients['v2, 2026'](t, last), clients['v1, 2025'](t, first, 'bob')]);
  const calls = [one, other].map((session) => session.text('use'));
  const bob = bobs.text('use');
  const links = await Promise.all([one, other].map(sent));
  const his = await sent(bobs);
  const value = plant();
  assert.equal((await (await Visitor.of(last)).give(links[0], value)).status, 200);
  assert.deepEqual(await Promise.all(calls), [used(value), used(value)]);
  assert.equal((await (await Visitor.of(first, 'bob')).give(his, 'of bob')).status, 200);
  assert.equal(await bob, used('of bob'));
});

test('by the link alone nobody gives what a destructive tool waits for as well', async (t) => {
  const session = await connect(t, 'http', 'secrets', { capabilities: URL_MODE, inbox: true, env: SECRET });
  const tools = ['use', 'wipe', 'use_blocking'];
  const calls = {}, links = {};
  for (const tool of tools) {
    calls[tool] = session.call(tool);
    links[tool] = await sent(session);
  }
  let wiped = false;
  calls.wipe.then(() => { wiped = true; }, () => {});
  assert.equal((await fillIn(links.use, { secret: 'by link' })).status, 200);
  for (const tool of ['use', 'use_blocking']) assert.equal(textOf(await calls[tool]), used('by link'), tool);
  assert.equal((await fillIn(links.wipe, { secret: 'by link' })).status, 401, 'nor is its own link enough');
  assert.equal(await session.text('use'), used('by link'));
  assert.equal(wiped, false, 'it still waits for a person');
});

test('two values for the same secret at the same instant: the one that was taken is kept, and the other is refused', async (t) => {
  const { first, last } = await open(t, houses[2]);
  const sessions = await Promise.all([first, last].map((server) => clients['v1, 2025'](t, server)));
  const adas = await Promise.all([first, last].map((server) => Visitor.of(server)));
  const api = new Api(first, 'ada');
  for (let round = 0; round < (SOAK ? 50 : 8); round++) {
    const tabs = round % 2; // two questions, or two tabs of one
    const asking = tabs ? [sessions[0]] : sessions;
    const calls = asking.map((session) => session.text('use'));
    const links = await Promise.all(asking.map(sent));
    const values = ['one', 'other'].map((word) => `${word} ${round}`);
    const replies = await Promise.all(values.map((value, i) => adas[i].give(links[tabs ? 0 : i], value)));
    const taken = values.filter((value, i) => replies[i].status === 200);
    assert.deepEqual(replies.map(({ status }) => status).sort(), [200, 409]);
    assert.deepEqual(await Promise.all(calls), calls.map(() => used(taken[0])));
    assert.equal(await sessions[0].text('use'), used(taken[0]));
    assert.equal((await api.request('DELETE', '/api/secrets/stripe')).status, 204);
  }
});

test('a handler may want a secret twice, in other words too: it is asked for once, and declined once', async (t) => {
  const { first } = await open(t, houses[1]);
  const session = await clients['v1, 2025'](t, first);
  const ada = await Visitor.of(first);
  const declined = session.text('insist');
  assert.equal((await ada.give(await sent(session), '', 'decline')).status, 200);
  assert.equal(await declined, 'refused, refused');
  const given = session.text('insist');
  assert.equal((await ada.give(await sent(session), 'a key')).status, 200);
  assert.equal(await given, 'ok, ok');
  assert.equal(session.asked.length, 2);
});

test('who has declined is not overruled by a secret that is given afterwards', async (t) => {
  const { first } = await open(t, houses[1]);
  const session = await clients['v1, 2025'](t, first, 'ada', { elicitation: { url: {}, form: {} } });
  const ada = await Visitor.of(first);
  const call = session.text('without');
  assert.equal((await ada.give(await sent(session), '', 'decline')).status, 200);
  const without = await session.question();
  const other = session.text('use');
  assert.equal((await ada.give(await sent(session), 'later')).status, 200);
  assert.equal(await other, used('later'));
  without.accept({});
  assert.equal(await call, 'without');
});

test('declined in the inbox and given on the page at the same instant: one of them counts', async (t) => {
  const { first, last } = await open(t, houses[2], { args: ['--surfaces', 'client,inbox'] });
  const session = await clients['v1, 2025'](t, first);
  const ada = await Visitor.of(last);
  const api = await new Api(first, 'ada').describe();
  for (let round = 0; round < (SOAK ? 60 : 12); round++) {
    const call = session.call('use');
    const link = await sent(session);
    const [item] = await api.pending();
    await ada.page(link);
    const wait = (ms) => new Promise((done) => setTimeout(done, ms));
    const [declined, given] = await Promise.all([wait(Math.random() * 10).then(() => api.resolve(item.id, { action: 'decline' })), wait(Math.random() * 10).then(() => ada.send(link, `r${round}`))]);
    assert.deepEqual([declined.status, given.status].sort(), [200, 409], JSON.stringify([declined.status, declined.text, given]));
    const end = await call;
    if (given.status === 200) assert.equal(textOf(end), used(`r${round}`));
    else assert.equal(end._meta?.code, 'SECRET_DECLINED', textOf(end));
    const kept = async () => (await api.get('/api/secrets')).json.items.length;
    const until = Date.now() + PATIENCE_MS;
    while ((await kept()) !== (given.status === 200 ? 1 : 0)) assert.ok(Date.now() < until, 'what was declined is taken back');
    if (given.status === 200) await api.request('DELETE', '/api/secrets/stripe');
  }
});

test('however many wait for the same secret, all go on with it', async (t) => {
  const { first } = await open(t, houses[1]);
  const session = await clients['v1, 2025'](t, first);
  const calls = [];
  const links = [];
  for (let i = 0; i < (SOAK ? 230 : 70); i++) {
    calls.push(session.text('use'));
    links.push(await sent(session));
  }
  assert.equal((await (await Visitor.of(first)).give(links[0], 'of all')).status, 200);
  assert.deepEqual(new Set(await within(PATIENCE_MS, 'all of them', Promise.all(calls))), new Set([used('of all')]));
});

test('declined, dismissed, late, empty, too long: nothing is stored, and the caller is told', async (t) => {
  const { first } = await open(t, houses[1]);
  const session = await clients['v1, 2025'](t, first);
  const ada = await Visitor.of(first);
  const api = new Api(first, 'ada');
  const declined = session.call('use');
  assert.equal((await ada.give(await sent(session), '', 'decline')).status, 200);
  assert.deepEqual([(await declined).isError, (await declined)._meta.code], [true, 'SECRET_DECLINED']);
  const dismissed = session.call('use');
  (await session.question()).cancel();
  assert.equal((await dismissed)._meta.code, 'SECRET_CANCELLED');

  const call = session.text('use');
  const link = await sent(session);
  for (const bad of ['', 'x'.repeat(16385), 7, null, undefined]) assert.equal((await ada.give(link, bad)).status, 422, String(bad).slice(0, 9));
  const large = 'x'.repeat(16384);
  assert.equal((await ada.give(link, large)).status, 200);
  assert.equal(await call, used(large));
  assert.equal((await api.request('DELETE', '/api/secrets/stripe')).status, 204);

  const late = session.call('use', { ttl: 300 });
  const gone = await sent(session);
  assert.equal((await late)._meta.code, 'ELICITATION_TIMEOUT');
  assert.equal((await ada.give(gone, 'late')).status, 409);
  assert.deepEqual((await api.get('/api/secrets')).json.items, []);
  for (const name of ['', 'a b', '.a', 'x'.repeat(65)]) assert.match((await session.call('wrong', { name })).content[0].text, /calls nod_secret with a \.name that is none/);
});

test('it expires, and is asked for again', async (t) => {
  const { first } = await open(t, houses[1]);
  const session = await clients['v1, 2025'](t, first);
  const ada = await Visitor.of(first);
  const api = new Api(first, 'ada');
  const call = session.text('use', { keep: 1500 });
  const link = await sent(session);
  assert.equal(Number((await ada.page(link)).data.keepMs), 1500);
  await ada.give(link, 'short');
  assert.equal(await call, used('short'));
  const [{ createdAt, expiresAt }] = (await api.get('/api/secrets')).json.items;
  assert.equal(new Date(expiresAt) - new Date(createdAt), 1500);
  await within(PATIENCE_MS, 'it expires', (async () => {
    while ((await api.get('/api/secrets')).json.items.length) await pause(20);
  })());
  const again = session.text('use');
  await ada.give(await sent(session), 'long');
  assert.equal(await again, used('long'));
});

test('without a secret for the store it is in memory only, says so, and is asked for again after a restart', async (t) => {
  const store = await stores.find(({ name }) => name === 'sqlite').create(t);
  const file = tokenFile(t);
  const start = () => startHttp(t, 'secrets', { args: ['--token-file', file, '--store', store.address] });
  const value = plant();
  for (const life of [1, 2]) {
    const server = await start();
    const session = await clients['v1, 2025'](t, server);
    const ada = await Visitor.of(server);
    const call = session.text('use');
    const link = await sent(session);
    assert.equal((await ada.page(link)).data.lasting, false, `in life ${life}`);
    assert.equal((await ada.give(link, value)).status, 200);
    assert.equal(await call, used(value));
    assert.equal((await new Api(server, 'ada').get('/api/secrets')).json.lasting, false);
    await session.stop();
    await server.stop();
    assert.deepEqual(store.bytes().filter(({ bytes }) => bytes.includes(value)), []);
  }
});

test('nod store reseal brings it under the new secret', async (t) => {
  const store = await stores.find(({ name }) => name === 'sqlite').create(t);
  const file = tokenFile(t);
  const start = (env) => startHttp(t, 'secrets', { env, args: ['--token-file', file, '--store', store.address] });
  const next = 'another-secret-of-the-tests-of-secrets-long-enough';
  const value = plant();
  const server = await start(SECRET);
  const session = await clients['v1, 2025'](t, server);
  const call = session.text('use');
  await (await Visitor.of(server)).give(await sent(session), value);
  assert.equal(await call, used(value));
  await session.stop();
  await server.stop();
  const done = await runOnce('nod', ['store', 'reseal', '--store', store.address], { MCP_ELICITATION_SECRET: next, MCP_PREVIOUS_SECRETS: SECRET.MCP_ELICITATION_SECRET });
  assert.match(done.stdout, /refused 0/);
  const later = await start({ MCP_ELICITATION_SECRET: next });
  assert.equal(await (await clients['v1, 2025'](t, later)).text('use'), used(value));
});

// Each point that giving it comes by. The person sees an error, and opens the page again; the client comes back with what its
// era gives it, or the call goes on without it.
const POINTS = ['secret_before', 'secret_after', 'page_before', 'answer_before', 'answer_after', 'rerun_before', 'effect_before', 'result_after'];

const SAMPLE = ['secret_before', 'secret_after', oneOf(POINTS.slice(2), 'points')]; // all of them with NOD_SOAK=1

// 2025: a client without URL mode, whose question waits in the inbox, and goes on there.
const returns2025 = {
  async begin(t, server) {
    const session = await clients['v1, 2025'](t, server, 'ada', {});
    const call = session.call('use', {}, { timeout: PATIENCE_MS }).catch(() => null);
    const [{ page }] = await new Api(server, 'ada').pending();
    return { link: page, comes: () => {}, leave: async () => (await session.stop().catch(() => {}), await call) };
  },
  ended: (server, mark, deeds) => within(PATIENCE_MS, `${mark}: the call goes on`, (async () => {
    while (!existsSync(deeds)) await pause(20);
  })()),
};

// 2026: a client that is given a link, and sends its request again with the state that it was given.
const returns2026 = {
  async begin(t, server) {
    const client = new Modern(server.url, { token: token('ada'), capabilities: URL_MODE });
    const asked = await client.asked('use');
    const [[key, { params }]] = Object.entries(asked.inputRequests);
    this.again = (url) => client.call('use', {}, retryOf(asked, { [key]: accepted() }), { url });
    return { link: params.url, comes: () => this.again(server.url).catch(() => null), leave: async () => {} };
  },
  async ended(server, mark, deeds, value) {
    const { result } = await this.again(server.url);
    assert.equal(textOf(result), used(value), mark);
  },
};

for (const [era, returns] of Object.entries({ 'v1, 2025': returns2025, 'v2, 2026': returns2026 }))
  test(`${era}: killed at each point of giving it, nothing is lost, asked twice or done twice`, async (t) => {
    for (const point of process.env.NOD_SOAK === '1' ? POINTS : SAMPLE) {
      const store = await stores.find(({ name }) => name === 'sqlite').create(t);
      const deeds = path.join(scratchFolder(t), 'deeds');
      const file = tokenFile(t);
      const start = (port, env = {}) => startHttp(t, 'secrets', { port, env: { ...SECRET, NOD_DEEDS: deeds, ...env }, args: ['--token-file', file, '--store', store.address] });
      const value = plant();
      const doomed = await start(0, { NOD_CRASH_AT: point });
      const { link, comes, leave } = await returns.begin(t, doomed);
      await (await Visitor.of(doomed)).give(link, value).catch(() => null);
      await comes();
      await doomed.killed();
      const server = await start(new URL(doomed.url).port);
      const ada = await Visitor.of(server);
      if ((await ada.page(link)).data.state === 'pending') assert.equal((await ada.give(link, value)).status, 200, point);
      await returns.ended(server, point, deeds, value);
      const fresh = await clients[era](t, server);
      assert.equal(await fresh.text('use'), used(value), point); // and it is there
      assert.equal(fresh.asked.length, 0, point);
      const api = new Api(server, 'root');
      assert.equal((await api.list({ state: 'ended' })).json.items.length, 1, `${point}: asked once`);
      assert.deepEqual((await api.list()).json.items, [], point);
      const done = readFileSync(deeds, 'utf8').trim().split('\n').map((line) => line.split(' ')[0]);
      assert.equal(new Set(done).size, done.length, `${point}: done once`);
      assert.equal(done.length, 2, `${point}: by the call that was killed, and by the one after it`);
      await Promise.all([leave(), fresh.stop()]);
      await server.stop();
    }
  });

// The value is stored, the node dies, and the person declines after all.
for (const name of ['sqlite', 'redis'])
  test(`${name}: killed when it is stored, and declined then: it is not kept, and not used`, async (t) => {
    const store = await stores.find((one) => one.name === name).create(t);
    const file = tokenFile(t);
    const start = (port, env = {}) => startHttp(t, 'secrets', { port, env: { ...SECRET, ...env }, args: ['--token-file', file, '--store', store.address, '--surfaces', 'client,inbox'] });
    const doomed = await start(0, { NOD_CRASH_AT: 'secret_after' });
    const { link, again } = Object.assign(returns2026, await returns2026.begin(t, doomed));
    await (await Visitor.of(doomed)).give(link, plant()).catch(() => null);
    await doomed.killed();
    const server = await start(new URL(doomed.url).port);
    const api = new Api(server, 'ada');
    assert.equal((await api.get('/api/secrets')).json.items.length, 1, 'it is there while the question waits');
    const [{ id }] = (await api.list()).json.items;
    assert.equal((await api.resolve(id, { action: 'decline' })).status, 200);
    await within(PATIENCE_MS, 'it is taken back', (async () => {
      while ((await api.get('/api/secrets')).json.items.length) await pause(10);
    })());
    assert.equal((await again(server.url)).result._meta.code, 'SECRET_DECLINED');
  });

test('nod inbox lists and deletes secrets', async (t) => {
  const { first } = await open(t, houses[1]);
  const session = await clients['v1, 2025'](t, first);
  const call = session.text('use');
  const value = plant();
  await (await Visitor.of(first)).give(await sent(session), value);
  await call;
  const inbox = (...args) => runOnce('nod', ['inbox', new URL(first.url).origin, ...args], { NOD_TOKEN: token('ada') });
  const listed = await inbox('secrets');
  assert.match(listed.stdout, /^stripe +- +ada +use +[0-9a-f]{24}\.stripe\n$/);
  assert.equal(JSON.parse((await inbox('secrets', '--json')).stdout).name, 'stripe');
  assert.deepEqual([(await inbox('delete', 'stripe')).stdout, (await inbox('delete', 'stripe')).code, (await inbox('secrets')).stdout], ['Deleted.\n', 4, 'No secret is stored.\n']);
});

test('the example refund', async (t) => {
  const { first } = await openHouse(t, houses[1], { program: 'refund', env: SECRET });
  const session = await clients['v1, 2025'](t, first);
  const call = session.text('refund', { payment: 'p-1' });
  const link = await sent(session);
  assert.match(session.asked[0].message, /key of the payment service/);
  await (await Visitor.of(first)).give(link, 'sk_live_1');
  assert.equal(await call, 'Refunded p-1.');
  assert.equal(await session.text('refund', { payment: 'p-2' }), 'Refunded p-2.');
});

test('over TLS nothing of it is left in the server either', async (t) => {
  const { cert, key, ca } = certificate(scratchFolder(t), 'localhost');
  const server = await startHttp(t, 'secrets', { env: SECRET, args: ['--token-file', tokenFile(t), '--store', 'memory:', '--tls-cert', cert, '--tls-key', key] });
  const agent = new https.Agent({ ca, keepAlive: true });
  t.after(() => agent.destroy());
  const fetchIt = overTls(ca, agent);
  const own = { Authorization: `Bearer ${token('ada')}`, 'Content-Type': 'application/json', Accept: 'application/json, text/event-stream' };
  const origin = new URL(server.url).origin;
  const call = (retry = {}) => fetchIt(server.url, { method: 'POST', headers: { ...own, 'MCP-Protocol-Version': VERSION, 'Mcp-Method': 'tools/call', 'Mcp-Name': 'use' },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'use', arguments: {}, ...retry, _meta: metaOf(URL_MODE) } }) }).then((reply) => reply.json());
  const { result: asked } = await call();
  const [[name, { params }]] = Object.entries(asked.inputRequests);
  const value = plant();
  const reply = await fetchIt(origin + new URL(params.url).pathname, { method: 'POST', headers: own, body: JSON.stringify({ action: 'accept', content: { secret: value } }) });
  assert.equal(reply.status, 200, await reply.text());
  assert.deepEqual(whereIs(value, [{ name: 'core', bytes: await coreOf(t, server) }]), [], 'before anything else is read');
  const { result } = await call(retryOf(asked, { [name]: accepted() }));
  assert.equal(textOf(result), used(value));
  assert.deepEqual(whereIs(value, [{ name: 'core', bytes: await coreOf(t, server) }]), []);
});
