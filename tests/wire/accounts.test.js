// Connected accounts: a whole code flow with PKCE against an authorization server that runs here: connect, use, refresh once on
// whatever node, refuse, revoke; and what must not lead anywhere: another state, a code again, another issuer, another person.
import test from 'node:test';
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import net from 'node:net';
import path from 'node:path';
import tls from 'node:tls';
import { PATIENCE_MS, connect, freePort, pause, runOnce, startHttp, within } from './harness.js';
import { Api, houses, mute, token } from './inbox.js';
import { scratchFolder } from './modern.js';
import { AuthorizationServer } from './authorization-server.js';
import { coreOf } from './secrets.js';
import { certificate } from './tls.js';
import { Person, SECRET, URL_MODE, callAndConnect, clients, memory, numberOf, oauthFile, openAccounts } from './accounts.js';

const FULL = process.env.NOD_SOAK === '1';
const CALLS = 50;
const redis = houses.find(({ nodes }) => nodes === 2);
const sqlite = houses.find(({ name }) => name === 'sqlite');

const until = (what, is) =>
  within(PATIENCE_MS, what, (async () => {
    while (!(await is())) await pause(10);
  })());
// A service has 8 s to answer, and a question may have a few seconds: a try in which a slow machine took longer proves nothing, and is begun again.
const ANSWER_MS = 8000;
async function inTime(t, attempt) {
  for (let left = 5; ; left--) {
    const seen = { late: () => false };
    try {
      return await attempt(seen);
    } catch (error) {
      if (left === 1 || !seen.late()) throw error;
      t.diagnostic(`too slow: ${error.message.split('\n')[0]}`);
    }
  }
}
// The same address on another node.
const onNode = (server, link) => Object.assign(new URL(link), { host: new URL(server.url).host }).href;
const newest = (service) => numberOf([...service.accesses.keys()].at(-1));
const accountsOf = async (server, who) => (await new Api(server, who).get('/api/credentials')).json.items;

// Nothing of what the service has given out is in any of these texts.
function assertNowhere(service, texts) {
  assert.ok(service.given.length > 0);
  for (const [where, text] of Object.entries(texts))
    for (const one of service.given) assert.ok(!text.includes(one), `${one} is in ${where}`);
}

for (const [name, open] of Object.entries(clients))
  test(`${name}: a person connects an account, and the tool is given its token from then on`, async (t) => {
    const { server, service } = await openAccounts(t, { settings: { deaf: [429] }, section: { title: 'GitHub', scopes: 'read:user', resource: 'https://api.example/a', parameters: 'prompt=consent' } });
    const ada = await Person.at(server, 'ada');
    const session = await open(t, server, 'ada');
    const call = session.text('use', { scopes: 'repo' });
    const question = await session.question();
    assert.deepEqual([question.params.mode, question.params.message], ['url', 'This tool needs your account.']);
    const link = question.params.url;
    assert.equal(new URL(link).origin, new URL(server.url).origin, 'the client is given our own page, never the service');
    question.accept();
    const to = new URL(await ada.go(link));
    const asked = to.searchParams;
    assert.equal(`${to.origin}${to.pathname}`, `${service.issuer}/authorize`);
    assert.deepEqual(
      ['response_type', 'client_id', 'redirect_uri', 'code_challenge_method', 'scope', 'resource', 'prompt'].map((key) => asked.get(key)),
      ['code', service.client.id, new URL('/a/return', server.url).href, 'S256', 'read:user repo', 'https://api.example/a', 'consent']);
    assert.match(asked.get('code_challenge'), /^[\w-]{43}$/);
    assert.doesNotMatch(Buffer.from(asked.get('state'), 'base64url').toString('latin1'), /ada|github/);
    assert.equal((await ada.go(link)).split('code_challenge=')[1].slice(0, 43), asked.get('code_challenge'), 'the page is opened twice, and it is one flow');
    assert.equal(service.asked.code, 0);
    const end = await ada.comeBack(await ada.decide(to));
    assert.match(end.said, /The account is connected/);
    assert.equal(await call, newest(service));
    assert.equal(await session.text('use', { scopes: 'repo' }), newest(service), 'nobody is asked again');
    assert.equal(await session.text('use_blocking'), newest(service));
    assert.deepEqual([service.asked.code, service.asked.refresh, service.asked.authorize], [1, 0, 1]);

    const ours = await new Api(server, 'ada').describe();
    const list = await ours.get('/api/credentials');
    const [account] = list.json.items;
    assert.deepEqual([account.name, account.title, account.principal, account.scopes, account.state], ['github', 'GitHub', 'ada', 'read:user repo', 'connected']);
    assert.deepEqual((await ours.as('bob').get('/api/credentials')).json.items, [], 'an account is its principal\'s');
    assert.equal((await ours.as('root').get('/api/credentials')).json.items.length, 1);
    assertNowhere(service, { log: server.stderr(), list: list.text, history: (await ours.list({ state: 'ended' })).text, page: JSON.stringify(end.data) });
    assert.equal((await ours.as('bob').request('DELETE', `/api/credentials/${account.id}`)).status, 404);
    assert.equal((await ours.request('DELETE', `/api/credentials/${account.id}`)).status, 204);
    await until('the service is told, also if it is away at first', () => service.asked.revoke >= 1);
    assert.equal(service.accesses.size, 0);
    assert.deepEqual((await ours.get('/api/credentials')).json.items, []);
    assert.equal((await ours.request('DELETE', `/api/credentials/${account.id}`)).status, 404);
    assert.equal(await callAndConnect(session, ada), newest(service), 'the next call asks again');
  });

for (const [name, open] of Object.entries(clients))
  test(`${name}: a handler may want the token more than once, with other scopes too, also in the call that connects the account`, async (t) => {
    const { server, service } = await openAccounts(t, { section: { scopes: 'read' } });
    const ada = await Person.at(server, 'ada');
    const session = await open(t, server, 'ada');
    assert.equal(await callAndConnect(session, ada, 'use_often'), `the same ${newest(service)}`);
    assert.equal(await session.text('use_often'), `the same ${newest(service)}`);
    assert.equal(await callAndConnect(session, ada, 'use_often', { scopes: 'write' }), `the same ${newest(service)}`, 'asked for what is missing alone');
    assert.equal(session.asked.length, 2);
    const [account] = await accountsOf(server, 'ada');
    const ours = await new Api(server, 'ada').describe();
    assert.equal((await ours.request('DELETE', `/api/credentials/${account.id}`)).status, 204);
    const call = session.text('use_often', { scopes: 'write' });
    for (let i = 0; i < 2; i++) {
      const question = await session.question();
      question.accept?.();
      await ada.connect(question.params.url);
    }
    assert.equal(await call, `the same ${newest(service)}`);
  });

for (const house of [houses[0], sqlite, redis])
  test(`${house.name}: ${CALLS} calls want a token at the same instant that has run out: it is refreshed once`, async (t) => {
    const { servers, service } = await openAccounts(t, { house, settings: { lasts: 1, delay: 100 } });
    const ada = await Person.at(servers[0], 'ada');
    const sessions = await Promise.all(servers.map((server) => clients['v1, 2025'](t, server, 'ada')));
    assert.equal(await callAndConnect(sessions[0], ada), newest(service));
    const before = service.asked.refresh; // on a slow machine it has run out already
    if (!FULL) service.lasts = 3600; // from the next one on: the last of the calls may come late
    for (let round = 1; round <= (FULL ? 5 : 1); round++) {
      await service.expired();
      const said = await Promise.all(Array.from({ length: CALLS }, (_, i) => sessions[i % sessions.length].text('use')));
      assert.equal(service.asked.refresh, before + round);
      assert.deepEqual([...new Set(said)], [newest(service)]);
    }
    assert.equal(service.asked.authorize, 1);
    const [account] = await accountsOf(servers.at(-1), 'ada');
    assert.ok(account.refreshedAt && account.expiresAt);
    if (house !== houses[0]) assertNowhere(service, Object.fromEntries(servers.map((server, i) => [`log ${i}`, server.stderr()])));
  });

test('a token is refreshed after a question, too: the run after it is given the new one', async (t) => {
  const { server, service } = await openAccounts(t, { settings: { lasts: 2 } });
  const ada = await Person.at(server, 'ada');
  const session = await mute(t, server, 'ada', { capabilities: { elicitation: { url: {}, form: {} } } });
  assert.equal(await callAndConnect(session, ada), newest(service));
  const call = session.text('use_twice');
  const question = await session.question();
  await service.expired();
  question.accept();
  assert.equal(await call, `yes ${newest(service)}`);
  assert.ok(service.asked.refresh >= 1);
});

test('a refresh that is refused asks the person again; a service that fails, or is away, does not', async (t) => {
  const { server, service } = await openAccounts(t, { settings: { lasts: 1 } });
  const ada = await Person.at(server, 'ada');
  const session = await clients['v1, 2025'](t, server, 'ada');
  await callAndConnect(session, ada);
  await service.expired();

  service.failing = 503;
  const failed = await session.call('use');
  assert.equal(failed.isError, true);
  assert.match(failed.content[0].text, /github does not renew its access token: it answers with the status 503/);
  service.failing = 400; // "server_error": nothing about this grant
  assert.match((await session.call('use')).content[0].text, /it says server_error/);
  assert.equal((await accountsOf(server, 'ada'))[0].state, 'connected');
  service.failing = 'hangs up';
  assert.match((await session.call('use')).content[0].text, /^github does not renew its access token: it cannot be reached at the moment\.$/, 'how exactly is for the log');
  await server.said(/cannot be refreshed, which is tried again.*why="(it hung up|the connection was lost)/);
  service.failing = null;
  assert.equal(await session.text('use'), newest(service), 'the account was kept, and nobody was asked');
  assert.equal(service.asked.authorize, 1);

  await service.expired();
  service.end([...service.refreshes.values()][0]);
  const call = session.text('use');
  const question = await session.question();
  assert.equal((await accountsOf(server, 'ada'))[0].state, 'refused');
  question.accept();
  await ada.connect(question.params.url);
  assert.equal(await call, newest(service));
  assert.deepEqual([service.asked.refused, service.asked.authorize], [1, 2]);
});

test('more scopes than were granted: the person is asked again, for all of them; a service that grants fewer is not asked for ever', async (t) => {
  const { server, service } = await openAccounts(t);
  const ada = await Person.at(server, 'ada');
  const session = await clients['v1, 2025'](t, server, 'ada');
  await callAndConnect(session, ada, 'use', { scopes: 'repo' });
  assert.equal(await callAndConnect(session, ada, 'use', { scopes: 'gist' }), newest(service));
  assert.deepEqual(service.requests.map(({ scope }) => scope), ['repo', 'gist repo']);
  assert.equal(await session.text('use', { scopes: 'repo gist' }), newest(service));
  service.grants = (wanted) => wanted.replace(/ ?admin/, '');
  const call = session.call('use', { scopes: 'admin' });
  const question = await session.question();
  question.accept();
  await ada.connect(question.params.url);
  const result = await call;
  assert.equal(result.isError, true);
  assert.match(result.content[0].text, /connected with fewer permissions than are needed/);
  assert.equal(await session.text('use', { scopes: 'repo' }), newest(service));
  service.grants = () => null; // it does not say, so it is what was asked for
  assert.equal(await callAndConnect(session, ada, 'use', { scopes: 'admin' }), newest(service));
});

test('who does not agree is not asked again, and the tool is told', async (t) => {
  const { server, service } = await openAccounts(t, { settings: { decision: 'deny' } });
  const ada = await Person.at(server, 'ada');
  const session = await clients['v1, 2025'](t, server, 'ada');
  const call = session.call('use');
  const question = await session.question();
  question.accept();
  const end = await ada.comeBack(await ada.decide(await ada.go(question.params.url)));
  assert.match(end.said, /declined/);
  assert.match((await call).content[0].text, /No account at github was connected/);
  assert.deepEqual([service.asked.code, await accountsOf(server, 'ada')], [0, []]);
});

// The ways in which a question can end while its person is at the service, and what their page says then.
const ends = {
  declined: { says: /This was declined/, end: (api, session, id) => api.resolve(id, { action: 'decline' }) },
  cancelled: { says: /no longer asked: the call has ended/, end: (api, session, id, stop) => stop.abort() },
  expired: { says: /The time for this is over/, args: ['--ask-ttl', '6s'], end: () => {} },
};
for (const house of [memory, sqlite, redis])
  for (const [how, { says, args = [], end }] of Object.entries(ends).filter(([name]) => FULL || name !== 'expired' || house === sqlite))
    test(`${house.name}: a question that is ${how} while its code is exchanged connects nothing, and the service is told`, (t) => inTime(t, async (seen) => {
      const { first, last, service } = await openAccounts(t, { house, settings: { deaf: ['hangs up', 408, 425] }, args: ['--surfaces', 'client,inbox', ...args] });
      seen.late = () => service.heldMs > ANSWER_MS || (how === 'expired' && service.asked.code === 0);
      const ada = await Person.at(last, 'ada');
      const api = new Api(first, 'ada');
      const session = await clients['v1, 2025'](t, first, 'ada');
      const stop = new AbortController();
      const call = session.call('use', {}, { signal: stop.signal }).catch((error) => error);
      const question = await session.question();
      const id = question.params.elicitationId;
      const back = await ada.decide(await ada.go(onNode(last, question.params.url)));
      let answer, shown = false;
      service.holds = new Promise((resolve) => (answer = resolve));
      const page = ada.page(onNode(last, back)).finally(() => (shown = true));
      await until('the code is there', () => service.asked.code === 1 || shown);
      await end(api, session, id, stop);
      await until('it has ended', async () => (await api.one(id)).json.state !== 'pending');
      answer();
      const { said } = await page;
      assert.match(said, says);
      assert.match(said, /Nothing was connected by it/);
      await call;
      await until('the service is told, also if it is away at first', () => service.asked.revoke >= 1);
      assert.deepEqual([service.accesses.size, await accountsOf(first, 'ada')], [0, []]);
      const again = session.text('use');
      assert.equal((await session.question()).params.mode, 'url', 'the next call asks');
      await session.stop();
      await again.catch(() => {});
    }));

test('redis: what another question connects meanwhile stays, and so does what was connected before', (t) => inTime(t, async (seen) => {
  const { first, last, service } = await openAccounts(t, { house: redis, args: ['--surfaces', 'client,inbox'] });
  seen.late = () => service.heldMs > ANSWER_MS;
  const [ada, away] = [await Person.at(first, 'ada'), await Person.at(last, 'ada')];
  const api = new Api(first, 'ada');
  const session = await clients['v1, 2025'](t, first, 'ada');
  assert.equal(await callAndConnect(session, ada), newest(service));
  const begin = async (scopes, who, node) => {
    const call = session.call('use', { scopes });
    const { params } = await session.question();
    return { call, id: params.elicitationId, back: await who.decide(await who.go(onNode(node, params.url))) };
  };
  const slow = await begin('gist', away, last);
  const other = await begin('repo', ada, first);
  let answer;
  service.holds = new Promise((resolve) => (answer = resolve));
  const page = away.page(onNode(last, slow.back));
  await until('the code is there', () => service.asked.code === 2);
  service.holds = null;
  assert.match((await ada.page(other.back)).said, /The account is connected/);
  const token = newest(service);
  assert.equal((await api.resolve(slow.id, { action: 'decline' })).status, 200);
  answer();
  assert.match((await page).said, /declined, and the agent was told\. Nothing was connected by it/);
  assert.equal((await other.call).content[0].text, token);
  assert.equal((await slow.call).isError, true);
  await until('the service is told', () => service.asked.revoke >= 1);
  assert.deepEqual((await accountsOf(last, 'ada')).map(({ scopes, state }) => [scopes, state]), [['repo', 'connected']]);
  assert.deepEqual([await session.text('use', { scopes: 'repo' }), service.accesses.size], [token, 2], 'the one of before, and the one of meanwhile');
}));

test('two scopes of one service, both pages open before one comes back: one account can do both, and neither call loses what it was granted', async (t) => {
  const { server, service } = await openAccounts(t);
  const ada = await Person.at(server, 'ada');
  const session = await clients['v1, 2025'](t, server, 'ada');
  const begin = async (scopes) => {
    const call = session.text('use', { scopes });
    const question = await session.question();
    question.accept();
    return { call, back: await ada.decide(await ada.go(question.params.url)) };
  };
  const gist = await begin('gist');
  const repo = await begin('repo');
  assert.match((await ada.page(gist.back)).said, /The account is connected/);
  const first = newest(service);
  assert.equal(await gist.call, first);
  const { go: again } = await ada.page(repo.back);
  assert.ok(again, 'once more to the service, for both');
  assert.deepEqual(new URL(again).searchParams.get('scope').split(' ').sort(), ['gist', 'repo']);
  assert.match((await ada.page(await ada.decide(again))).said, /The account is connected/);
  const both = newest(service);
  assert.equal(await repo.call, both);
  assert.deepEqual((await accountsOf(server, 'ada')).map(({ scopes }) => scopes.split(' ').sort()), [['gist', 'repo']]);
  for (const scopes of ['gist', 'repo', 'gist repo']) assert.equal(await session.text('use', { scopes }), both);
});

// Connects an account whose access token lasts so long, and then for more scopes. -> the first token, as the service knows it
async function connectTwice(server, service, session, person, lasts) {
  service.lasts = lasts;
  await callAndConnect(session, person, 'use', { scopes: 'gist' });
  const [[first, { until: lasted }]] = service.accesses;
  service.lasts = 3600;
  await callAndConnect(session, person, 'use', { scopes: 'repo' });
  return { first, lasted };
}
const SHORT_S = 6; // long enough to connect again before it is over

test('a token that was replaced is given back to the service, once no call can still use it', async (t) => {
  const { server, service } = await openAccounts(t);
  const ada = await Person.at(server, 'ada');
  const session = await clients['v1, 2025'](t, server, 'ada');
  const { first, lasted } = await connectTwice(server, service, session, ada, SHORT_S);
  await until('the service is told', () => service.asked.revoke >= 1);
  assert.ok(Date.now() >= lasted, 'before that, a call may be in the middle of using it');
  assert.equal(service.accesses.has(first), false);
  assert.deepEqual([service.accesses.size, service.refreshes.size], [1, 1], 'the new one stays');
  assert.equal(await session.text('use', { scopes: 'gist repo' }), newest(service));
  await server.said(/a token that was replaced was given back to its service/);
});

test('a token that was replaced is given back also if the server was killed meanwhile', async (t) => {
  const { first: server, service, start } = await openAccounts(t, { house: sqlite });
  const ada = await Person.at(server, 'ada');
  const session = await clients['v1, 2025'](t, server, 'ada');
  const { first } = await connectTwice(server, service, session, ada, SHORT_S);
  await server.kill();
  const again = await start();
  await until('the service is told', () => service.asked.revoke >= 1);
  assert.deepEqual([service.accesses.has(first), service.accesses.size], [false, 1]);
  assert.equal((await accountsOf(again, 'ada')).length, 1);
});

for (const [all, told] of [[null, 2], ['yes', 1]])
  test(`an account that is disconnected takes the token along that it has replaced${all ? ', unless its service ends all with one' : ''}`, async (t) => {
    const { server, service } = await openAccounts(t, { section: { revokes_all: all } });
    const ada = await Person.at(server, 'ada');
    const session = await clients['v1, 2025'](t, server, 'ada');
    await connectTwice(server, service, session, ada, 3600);
    const [{ id }] = await accountsOf(server, 'ada');
    assert.equal((await new Api(server, 'ada').request('DELETE', `/api/credentials/${id}`)).status, 204);
    await until('the service is told', () => service.asked.revoke === told);
    assert.equal(service.accesses.size, 2 - told);
  });

// Each changes what comes back, or who comes back with it.
const wrongReturns = {
  'another state': { status: 404, change: (back) => back.searchParams.set('state', flip(back.searchParams.get('state'))) },
  'no state': { status: 404, change: (back) => back.searchParams.delete('state') },
  'the state of the page itself': { status: 404, change: (back, { link }) => back.searchParams.set('state', link.split('/').at(-1)) },
  'another issuer': { status: 403, change: (back) => back.searchParams.set('iss', 'https://evil.example') },
  'no issuer, although the service says it names itself': { status: 403, change: (back) => back.searchParams.delete('iss') },
  'no code': { status: 403, change: (back) => back.searchParams.delete('code') },
  'a code of nobody': { status: 502, change: (back) => back.searchParams.set('code', 'made-up') },
  'two codes': { status: [400, 404], change: (back) => back.searchParams.append('code', 'second') },
  'another person': { status: 404, who: 'bob', change: () => {} },
  'an administrator': { status: 404, who: 'root', change: () => {} },
};
const flip = (text) => text.slice(0, 40) + (text[40] === 'A' ? 'B' : 'A') + text.slice(41);

test('what comes back and is not what was begun is refused, and the question still waits', async (t) => {
  const { server, service } = await openAccounts(t);
  const people = Object.fromEntries(await Promise.all(['ada', 'bob', 'root'].map(async (who) => [who, await Person.at(server, who)])));
  const session = await clients['v1, 2025'](t, server, 'ada');
  const call = session.text('use');
  const question = await session.question();
  question.accept();
  const link = question.params.url;
  for (const who of ['bob', 'root']) assert.equal((await people[who].page(link)).status, 404, `${who} opens the page of ada`);
  for (const [name, { status, change, who = 'ada' }] of Object.entries(wrongReturns)) {
    const back = new URL(await people.ada.decide(await people.ada.go(link)));
    change(back, { link });
    const end = await people[who].page(back.href);
    assert.ok([status].flat().includes(end.status), `${name}: ${end.status} ${end.said}`);
    assert.deepEqual(await accountsOf(server, 'root'), [], name);
  }
  assert.equal(service.accesses.size, 0);
  const { back } = await people.ada.connect(link);
  assert.equal(await call, newest(service));
  const codes = service.asked.code;

  const again = await people.ada.page(back);
  assert.match(again.said, /The account is connected/, 'the same return again shows how it ended');
  const second = session.text('use', { scopes: 'more' });
  const other = await session.question();
  other.accept();
  const mixed = new URL(await people.ada.decide(await people.ada.go(other.params.url)));
  mixed.searchParams.set('code', new URL(back).searchParams.get('code'));
  const replayed = await people.ada.page(mixed.href);
  assert.equal(replayed.status, 502, 'a code that was used: the service refuses it');
  assert.equal((await people.ada.page(mixed.href)).status, 403, 'and the flow is used up: it is not even asked');
  assert.equal(service.asked.code, codes + 1);
  await people.ada.connect(other.params.url);
  assert.equal(await second, newest(service));
});

test('many calls ask for the same account: it is connected once, and all of them go on', async (t) => {
  const { server, service } = await openAccounts(t);
  const ada = await Person.at(server, 'ada');
  const session = await clients['v1, 2025'](t, server, 'ada');
  const calls = Array.from({ length: 10 }, () => session.text('use', { scopes: 'repo' }));
  const questions = [];
  while (questions.length < 10) questions.push(await session.question());
  const other = session.text('use', { scopes: 'gist' });
  questions.push(await session.question());
  for (const question of questions) question.accept();
  await ada.connect(questions[3].params.url);
  assert.deepEqual([...new Set(await Promise.all(calls))], [newest(service)]);
  await ada.connect(questions[10].params.url); // what wants more still asks
  assert.equal(await other, newest(service));
  assert.deepEqual(service.requests.map(({ scope }) => scope), ['repo', 'gist repo']);
});

test('whoever opens a page many times, and goes away, keeps nobody else from theirs', async (t) => {
  const { server, service } = await openAccounts(t, { settings: { thinks: 3000 } });
  const [ada, bob] = await Promise.all(['ada', 'bob'].map((who) => Person.at(server, who)));
  const sessions = await Promise.all(['ada', 'bob'].map((who) => clients['v1, 2025'](t, server, who)));
  const calls = sessions.map((session) => session.text('use'));
  const [hers, his] = await Promise.all(sessions.map(async (session) => {
    const question = await session.question();
    question.accept();
    return question.params.url;
  }));
  const away = new AbortController();
  const refused = [];
  const open = () => ada.fetch(`${hers}/data`, { signal: away.signal }).then((reply) => (reply.status === 503 && refused.push(reply), reply.status), () => 0);
  const opened = Array.from({ length: 260 }, open);
  assert.equal(await Promise.any(opened.map((one) => one.then((status) => (status === 503 ? 503 : Promise.reject(status))))), 503, 'there is a bound');
  assert.deepEqual([refused[0].headers.get('content-type'), refused[0].headers.get('retry-after')], ['application/problem+json', '5']);
  assert.match((await refused[0].json()).detail, /^Too many pages are being opened at the moment/);
  away.abort();
  service.thinks = 0;
  assert.ok((await bob.page(his)).go);
  await Promise.all(opened);
  await until('her visits have ended', async () => (await ada.page(hers)).go);
  for (const [person, link] of [[ada, hers], [bob, his]]) await person.comeBack(await person.decide(await person.go(link)));
  await Promise.all(calls);
});

test('two returns at the same instant: one code is exchanged, once', async (t) => {
  const { server, service } = await openAccounts(t, { settings: { delay: 200 } });
  const ada = await Person.at(server, 'ada');
  const session = await clients['v1, 2025'](t, server, 'ada');
  const call = session.text('use');
  const question = await session.question();
  question.accept();
  const back = await ada.decide(await ada.go(question.params.url));
  const ends = await Promise.all([ada.page(back), ada.page(back), ada.page(back)]);
  assert.deepEqual(ends.map(({ status }) => status).sort(), [200, 403, 403]);
  assert.equal(service.asked.code, 1);
  assert.equal(await call, newest(service));
});

test('a description of another issuer is not used, and neither is one without PKCE; with endpoints none is read', async (t) => {
  for (const [change, why] of [
    [(made) => ({ ...made, issuer: 'https://evil.example' }), /names another issuer/],
    [(made) => ({ ...made, code_challenge_methods_supported: ['plain'] }), /does not know PKCE with S256/],
    [(made) => ({ ...made, token_endpoint: 'http://evil.example/token' }), /has an address that cannot be used/],
  ]) {
    const { server, service } = await openAccounts(t);
    const made = service.metadata();
    service.metadata = () => change(made);
    const ada = await Person.at(server, 'ada');
    const session = await clients['v1, 2025'](t, server, 'ada');
    const call = session.text('use');
    const question = await session.question();
    question.accept();
    const end = await ada.page(question.params.url);
    assert.equal(end.status, 502);
    assert.match(end.said, why);
    service.metadata = () => made;
    await ada.connect(question.params.url);
    assert.equal(await call, newest(service));
  }
  const service = await AuthorizationServer.start(t, { path: '/tenant/7', namesIssuer: false });
  const { server } = await openAccounts(t, {
    section: { issuer: null, authorization_endpoint: `${service.issuer}/authorize`, token_endpoint: `${service.issuer}/token`, allow: service.target, client_auth: 'post' },
  });
  const ada = await Person.at(server, 'ada');
  const session = await clients['v1, 2025'](t, server, 'ada');
  assert.equal(await callAndConnect(session, ada), newest(service));
  assert.equal(service.asked.metadata, 0);
});

test('a service whose name leads to no public address that is named is not reached, and the operator learns which to name', async (t) => {
  const service = await AuthorizationServer.start(t, { namesIssuer: false });
  const { port } = new URL(service.origin);
  const at = `http://localhost:${port}`; // a name: it is looked up when it is used
  const told = new RegExp(`is not a public address.*The operator of this server has to name it .*allow = (127\\.0\\.0\\.1|\\[::1\\]):${port}\\.`);
  for (const section of [{ issuer: at }, { issuer: null, authorization_endpoint: `${service.issuer}/authorize`, token_endpoint: `${at}/token` }]) {
    const { server } = await openAccounts(t, { section: { ...section, allow: null, title: 'The Hub' } });
    const ada = await Person.at(server, 'ada');
    const session = await clients['v1, 2025'](t, server, 'ada');
    session.text('use').catch(() => {});
    const question = await session.question();
    let end = await ada.page(question.params.url);
    if (!section.issuer) end = await ada.page(await ada.decide(end.go));
    assert.equal(end.status, 502);
    assert.match(end.said, /The Hub cannot be reached/);
    assert.match(end.said, told);
    assert.doesNotMatch(end.said, /Try again/, 'that does not help');
    await server.said(told);
  }
});

// A service that is not there, in the ways in which one can be not there, and what its person reads.
const absent = {
  'nothing listens': [async () => ({ at: `http://127.0.0.1:${await freePort()}` }), /nothing listens there \(connection refused\)/],
  'it hangs up': [async (t) => listening(t, (socket) => socket.end()), /it hung up without an answer|the connection was lost/],
  'it is no HTTP': [async (t) => listening(t, (socket) => socket.end('220 mail.example ESMTP\r\n')), /what it answers is not HTTP/],
  'it speaks no TLS': [async (t) => listening(t, (socket) => socket.end('HTTP/1.1 400 no\r\n\r\n'), 'https'), /no secure connection could be agreed on \(TLS\)/],
  'its certificate is nobody\'s': [async (t) => {
    const { cert, key } = certificate(scratchFolder(t), 'hub');
    return listening(t, (socket) => socket.end(), 'https', tls.createServer({ cert: readFileSync(cert), key: readFileSync(key) }));
  }, /its certificate is not trusted: (it has signed itself|no known authority has signed it)/],
};
async function listening(t, serve, scheme = 'http', server = net.createServer()) {
  server.on(server instanceof tls.Server ? 'secureConnection' : 'connection', (socket) => {
    socket.on('error', () => {});
    socket.once('data', () => serve(socket));
  });
  server.on('tlsClientError', () => {});
  await once(server.listen(0, '127.0.0.1'), 'listening');
  t.after(() => server.close());
  return { at: `${scheme}://127.0.0.1:${server.address().port}` };
}

for (const [what, [make, why]] of Object.entries(absent))
  test(`a service that cannot be reached (${what}): the page says why in words for people`, async (t) => {
    const { at } = await make(t);
    const { server } = await openAccounts(t, { section: { issuer: at, allow: new URL(at).host, title: 'The Hub' } });
    const ada = await Person.at(server, 'ada');
    const session = await clients['v1, 2025'](t, server, 'ada');
    session.text('use').catch(() => {});
    const end = await ada.page((await session.question()).params.url);
    assert.equal(end.status, 502);
    const verdict = end.said;
    assert.match(verdict, new RegExp(`^The Hub cannot be reached: (${why.source})\\. Try again\\.$`));
    assert.doesNotMatch(verdict, /SSL|curl|errno|port \d|after \d+ ms|OpenSSL|error:/);
  });

test('the question has the titles of the service and of the tool', async (t) => {
  const { server, service } = await openAccounts(t, { section: { title: 'The Hub' } });
  const ada = await Person.at(server, 'ada');
  const session = await clients['v1, 2025'](t, server, 'ada');
  const call = session.text('use_named', { name: 'github' });
  const question = await session.question();
  assert.equal(question.params.message, 'Connect your account at The Hub, which the tool Any service uses.');
  question.accept();
  await ada.connect(question.params.url);
  assert.equal(await call, newest(service));
});

test('on loopback, for a process of the server\'s own user, the link is not enough to connect an account', async (t) => {
  const service = await AuthorizationServer.start(t);
  const server = await startHttp(t, 'accounts', { env: { ...SECRET, ...service.env }, args: ['--oauth', oauthFile(t, service.section())] });
  const session = await connect(t, 'http', 'accounts', { server, capabilities: URL_MODE });
  const call = session.text('use');
  const question = await session.question();
  question.accept();
  const link = question.params.url;
  const guest = new Person(server.url); // has not signed in
  const led = await guest.page(link);
  assert.deepEqual([led.status, led.go], [401, undefined]);
  const owner = await new Person(server.url).open(/event=inbox url="?(http[^\s"]+)/.exec(await server.said(/event=inbox /))[1]);
  const back = await owner.decide(await owner.go(link));
  assert.deepEqual([(await guest.page(back)).status, service.asked.code], [401, 0], 'nor to come back with it');
  await owner.comeBack(back);
  assert.equal(await call, newest(service));
});

test('asked again for more scopes, the person reads why', async (t) => {
  const { server } = await openAccounts(t);
  const ada = await Person.at(server, 'ada');
  const session = await clients['v1, 2025'](t, server, 'ada');
  for (const scopes of ['repo', 'gist']) await callAndConnect(session, ada, 'use_named', { name: 'github', scopes });
  assert.deepEqual(session.asked.map(({ message }) => message), ['Connect your account at github, which the tool Any service uses.',
    'Connect your account at github again: the tool Any service needs more permissions than it was connected with.']);
});

test('a service that nobody has set up is an error that says so, and so is a person who cannot open the page', async (t) => {
  const { server } = await openAccounts(t);
  const carl = await clients['v1, 2025'](t, server, 'carl');
  assert.match((await carl.call('use')).content[0].text, /which 'carl' cannot open: no token of that name has the role answer/);
  const session = await clients['v1, 2025'](t, server, 'ada');
  const result = await session.call('use_named', { name: 'gitlab' });
  assert.equal(result.isError, true);
  assert.match(result.content[0].text, /knows no service named gitlab \(see --oauth and nod_oauth\); it has github\./);
  assert.equal(result._meta.code, 'SERVICE_UNKNOWN');
  await server.said(/level=warn .*a service that this server does not know.* service=gitlab/);
  assert.doesNotMatch(server.stderr(), /a mistake in the program/, 'the operator has to set it up');
});

test('a client without URL mode: the inbox shows the question and links to its page', async (t) => {
  const { server, service } = await openAccounts(t);
  const ada = await Person.at(server, 'ada');
  const session = await mute(t, server, 'ada');
  const call = session.text('use');
  const [item] = await new Api(server, 'ada').pending(1);
  assert.equal(item.message, 'This tool needs your account.');
  await ada.connect(item.page);
  assert.equal(await call, newest(service));
});

test('connect-github says whose account it is, and reads it with the token', async (t) => {
  const { server, service } = await openAccounts(t, { program: 'connect-github', env: ({ origin }) => ({ GITHUB_API: origin, NOD_REPLAY_CHECK: '0' }) });
  const ada = await Person.at(server, 'ada');
  const session = await clients['v2, 2026'](t, server, 'ada');
  assert.equal(await callAndConnect(session, ada, 'who_am_i'), 'You are octocat, with 8 public repositories.');
  assert.equal(await session.text('who_am_i'), 'You are octocat, with 8 public repositories.');
  assert.deepEqual([service.asked.user, service.requests[0].scope], [2, 'read:user']);
});

test('the terminal lists accounts, and disconnects them', async (t) => {
  const { server, service } = await openAccounts(t, { section: { title: 'GitHub' } });
  const ada = await Person.at(server, 'ada');
  const session = await clients['v1, 2025'](t, server, 'ada');
  await callAndConnect(session, ada, 'use', { scopes: 'repo' });
  const nod = (...words) => runOnce('nod', ['inbox', new URL(server.url).origin, ...words], { NOD_TOKEN: token('ada') });
  const [account] = (await nod('accounts', '--json')).stdout.trim().split('\n').map(JSON.parse);
  assert.match((await nod('accounts')).stdout, new RegExp(`^${account.id} GitHub +ada +repo\n$`));
  assert.equal((await nod('disconnect', account.id)).stdout, 'Disconnected.\n');
  assert.equal((await nod('accounts')).stdout, 'No account is connected.\n');
  assert.equal((await nod('disconnect', account.id)).code, 4);
  await until('the service is told', () => service.asked.revoke >= 1);
  await callAndConnect(session, ada, 'use', { scopes: 'repo' });
  assert.deepEqual([(await nod('disconnect', 'gitlab')).code, (await nod('disconnect', 'github')).stdout], [4, 'Disconnected.\n'], 'by the name of the service');
  assert.equal((await nod('accounts')).stdout, 'No account is connected.\n');
});

for (const over of FULL ? ['http', 'https'] : ['https'])
  test(`over ${over}: no token is left in the memory of the server, once it was connected, refreshed and given back`, async (t) => {
    const tls = over === 'https' ? certificate(scratchFolder(t), 'service') : null;
    const service = await AuthorizationServer.start(t, { tls, namesIssuer: false });
    const at = tls ? service.secure : service.issuer;
    const { server } = await openAccounts(t, {
      env: { ...service.env, ...(tls ? { SSL_CERT_FILE: tls.cert } : {}) },
      section: { issuer: null, authorization_endpoint: `${service.issuer}/authorize`, token_endpoint: `${at}/token`, revocation_endpoint: `${at}/revoke`, allow: new URL(at).host },
    });
    const ada = await Person.at(server, 'ada');
    const session = await clients['v1, 2025'](t, server, 'ada');
    service.lasts = 1;
    assert.equal(await callAndConnect(session, ada), newest(service));
    await service.expired();
    assert.equal(await session.text('use'), newest(service));
    assert.equal(service.asked.refresh, 1);
    const [{ id }] = await accountsOf(server, 'ada');
    assert.equal((await new Api(server, 'ada').request('DELETE', `/api/credentials/${id}`)).status, 204);
    await until('the service is told', () => service.asked.revoke >= 1);
    const core = await coreOf(t, server);
    assert.ok(core.includes(service.client.id), 'the search finds what is there');
    assert.equal(service.given.length, 5, 'a code, and twice two tokens');
    assert.deepEqual(service.given.filter((one) => !one.startsWith('code-') && core.includes(one)), []);
  });

test('without a secret accounts are kept in memory, which the log says, and nothing of them is in the file', async (t) => {
  let store;
  const house = { ...sqlite, create: async (where) => (store = await sqlite.create(where)) };
  const { server, service } = await openAccounts(t, { house, env: { MCP_ELICITATION_SECRET: '' } });
  const ada = await Person.at(server, 'ada');
  const session = await clients['v1, 2025'](t, server, 'ada');
  assert.equal(await callAndConnect(session, ada), newest(service));
  assert.equal(await session.text('use'), newest(service));
  await server.said(/connected accounts of people are kept in the memory of this process/);
  assertNowhere(service, Object.fromEntries(store.bytes().map(({ name, bytes }) => [name, bytes.toString('latin1')])));
});

// What --oauth FILE refuses, and what it says then.
const wrongFiles = [
  ['[github]\nissuer = https://a.example\nclient_id = x\ncolour = red\n', /oauth\.ini:4: \[github\]: colour is not a key that is known here; those are title, issuer, authorization_endpoint, /],
  ['[github]\nissuer = https://a.example\nclient_id = x\nclient_secret = x\n', /oauth\.ini:4: \[github\]: the secret itself is not in this file: client_secret_env is the variable that has it, or client_secret_file the file/],
  ['[github]\nclient_id = x\n', /oauth\.ini:1: \[github\]: it needs an issuer, or an authorization_endpoint and a token_endpoint/],
  ['\n[github]\nissuer = https://a.example\n', /oauth\.ini:2: \[github\]: it needs a client_id/],
  ['[github]\nissuer = http://a.example\nclient_id = x\n', /oauth\.ini:2: \[github\]: an address begins with https:\/\/, or with http:\/\/ on this machine/],
  ['[GitHub]\nissuer = https://a.example\nclient_id = x\n', /\[GitHub\]: the name of a service has 1 to 32 characters of a-z/],
  ['[github]\nissuer = https://a.example\nclient_id = x\nclient_secret_env = NOT_SET_AT_ALL\n', /oauth\.ini:4: \[github\]: the variable NOT_SET_AT_ALL, which client_secret_env names, is not set/],
  ['[github]\nissuer = https://a.example\nclient_id = x\nclient_secret_file = \/nowhere\n', /oauth\.ini:4: \[github\]: the file client_secret_file cannot be read: \/nowhere: No such file or directory/],
  ['[github]\nissuer = https://a.example\nclient_id = x\nclient_auth = jwt\n', /oauth\.ini:4: \[github\]: client_auth is basic or post/],
  ['[github]\nissuer = https://a.example\nclient_id = x\nparameters = state=1\n', /oauth\.ini:4: \[github\]: a further parameter may not be one that the flow itself has/],
  ['[github]\nissuer = https://a.example\nclient_id = x\nallow = localhost:80\n', /oauth\.ini:4: \[github\]: allow is an address and a port/],
  ['[github]\nissuer = https://10.0.0.7\nclient_id = x\n', /oauth\.ini:2: \[github\]: 10\.0\.0\.7 is not a public address; if it is meant, say allow = 10\.0\.0\.7:443/],
  ['[github]\nauthorization_endpoint = https://10.0.0.7/a\ntoken_endpoint = http://[::1]:9/t\nclient_id = x\nallow = [::1]:8\n', /::1 is not a public address; if it is meant, say allow = \[::1\]:9/],
  ['[github]\nissuer = https://a.example\nrevocation_endpoint = https://169.254.169.254/r\nclient_id = x\n', /oauth\.ini:3: \[github\]: 169\.254\.169\.254 is not .*say allow = 169\.254\.169\.254:443/],
  ['[github]\nissuer = https://a.example\nclient_id = x # prod\n', /oauth\.ini:3: a comment has a line of its own/],
  ['[github]\nissuer = https://a.example\nclient_id = x\nresource = https://b.example notaurl\n', /oauth\.ini:4: \[github\]: a resource is an absolute URI without #, or several with spaces between them/],
  ['[github]\nissuer = https://a.example\nclient_id = x\nresource = https://b.example/#a\n', /a resource is an absolute URI without #/],
  ['[github]\nissuer = https://a.example\nclient_id = x\nscopes = say "it"\n', /oauth\.ini:4: \[github\]: scopes are words/],
  ['[github]\nissuer = https://a.example\nclient_id = x\nclient_auth = post\n', /oauth\.ini:4: \[github\]: client_auth says how the client's secret is sent, and there is none/],
  ['issuer = https://a.example\n', /oauth\.ini:1: issuer stands in no section: put it below the line with its \[NAME\]/],
];

test('the file of docs/credentials.md is read', async (t) => {
  const page = readFileSync(new URL('../../docs/credentials.md', import.meta.url), 'utf8');
  const [, text] = /```text\n(; services\.ini\n[^]*?)```/.exec(page);
  const secret = path.join(scratchFolder(t), 'calendar');
  writeFileSync(secret, 'a secret\n');
  const file = oauthFile(t, text.replace('/run/secrets/calendar', secret));
  const server = await startHttp(t, 'accounts', { env: { GITHUB_CLIENT_SECRET: 'x' }, args: ['--oauth', file] });
  assert.match(server.url, /^http/);
});

test('a file of services is read strictly: what is wrong is said with its line, and nothing is served', async (t) => {
  for (const [text, expected] of wrongFiles) {
    const { code, stderr } = await runOnce('accounts', ['--http', '0', '--oauth', oauthFile(t, text)]);
    assert.equal(code, 1, text);
    assert.match(stderr, expected);
  }
  const { code, stderr } = await runOnce('accounts', ['--http', '0', '--oauth', '/nowhere.ini']);
  assert.deepEqual([code, /\/nowhere\.ini: the file cannot be read: No such file or directory/.test(stderr)], [1, true], stderr);
});
