// Who may what at the routes of the inbox: a table for each, with every way in which a request can come.
import test from 'node:test';
import assert from 'node:assert/strict';
import { connect, startHttp } from './harness.js';
import { PEOPLE, statuses, tokenFile, ways } from './credentials.js';
import { Api } from './inbox.js';

// ada calls tools with another token of hers, which answers nothing.
const CALLS = { token: 'calls-token-0123456789abcdef', name: 'ada', roles: 'ask' };

const refused = { 'no credential': 401, 'no credential, our origin': 401, 'an unknown token': 401, 'an unknown cookie': 401, 'signed out': 401 };
const foreign = { 'cookie, foreign Origin': 403, 'cookie, from another site': 403, 'cookie, from another port': 403, 'bearer, from another site': 403 };
const roles = (ask, answer, approve, admin, other) =>
  Object.fromEntries(Object.entries({ ask, answer, approve, admin, other }).flatMap(([role, status]) => [[`bearer: ${role}`, status], [`cookie: ${role}`, status]]));
const halves = { 'cookie, no key': 403, 'cookie, wrong key': 401, 'cookie, key of another sign-in': 401, 'key, no cookie': 401 };
// A GET needs no Origin, and both halves of the sign-in all the same; another site may not send it.
const reads = (answer) => ({ ...refused, ...foreign, ...halves, 'cookie, wrong Origin': answer, 'cookie, no Origin': answer });
const changes = () => ({ ...refused, ...foreign, ...halves, 'cookie, wrong Origin': 403, 'cookie, no Origin': 403 });

test('who may what', async (t) => {
  const server = await startHttp(t, 'probe', { args: ['--token-file', tokenFile(t, [...Object.values(PEOPLE), CALLS])] });
  const client = await connect(t, 'http', 'probe', { server, token: CALLS.token, capabilities: {} });
  const calls = [client.call('ask', { message: 'a form' }), client.call('approve', {})];
  const all = await ways(server.url);
  const items = await Object.assign(new Api(server, 'ada'), { credential: () => ({ Authorization: `Bearer ${PEOPLE.answer.token}` }) }).pending(2);
  const form = items.find(({ kind }) => kind === 'form');
  const approval = items.find(({ kind }) => kind === 'approval');
  const table = async (method, path, wanted, body) => assert.deepEqual(await statuses(all, method, path, body), wanted, `${method} ${path}`);
  const origin = await statuses(all, 'GET', '/api/me');
  const wrong = { 'cookie, wrong Origin': origin['cookie, wrong Origin'], 'cookie, foreign Origin': origin['cookie, foreign Origin'] };
  assert.ok(Object.values(wrong).every((status) => [200, 403].includes(status)));
  const get = (own, ...five) => ({ ...reads(own), ...roles(...five), 'cookie, wrong Origin': wrong['cookie, wrong Origin'] === 200 ? own : 403 });

  await table('GET', '/api/me', get(200, 200, 200, 200, 200, 200));
  await table('GET', '/api/openapi.json', get(200, 200, 200, 200, 200, 200));
  await table('GET', '/api/elicitation', get(200, 403, 200, 200, 200, 200));
  await table('GET', '/api/elicitation?state=ended', get(200, 403, 200, 200, 200, 200));
  await table('GET', `/api/elicitation/${form.id}`, get(200, 403, 200, 404, 200, 404));
  await table('GET', `/api/elicitation/${approval.id}`, get(200, 403, 200, 200, 200, 404));
  await table('GET', '/api/events', get(200, 403, 200, 200, 200, 200));

  // What does not fit leaves the ask pending: 422 is for those who may.
  const unfit = JSON.stringify({ action: 'accept', content: { name: 7 } });
  assert.deepEqual(await statuses(all, 'POST', `/api/elicitation/${form.id}/resolve`, new Blob([unfit], { type: 'application/json' })),
    { ...changes(), ...roles(403, 422, 404, 422, 404) });
  const remember = JSON.stringify({ approved: true, remember: { scope: 'nothing', match: 'nothing' } });
  assert.deepEqual(await statuses(all, 'POST', `/api/elicitation/${approval.id}/resolve`, new Blob([remember], { type: 'application/json' })),
    { ...changes(), ...roles(403, 422, 422, 422, 404) });

  // What each sees of them, and of what came of them.
  const seen = async (role, query) => {
    const reply = await all[`bearer: ${role}`]('GET', `/api/elicitation?${query}`);
    return (await reply.json()).items;
  };
  assert.deepEqual((await seen('answer', '')).length, 2);
  assert.deepEqual((await seen('approve', '')).map(({ kind }) => kind), ['approval']);
  assert.deepEqual((await seen('admin', '')).length, 2);
  assert.deepEqual(await seen('other', ''), []);
  const say = (role, id, body) => all[`cookie: ${role}`]('POST', `/api/elicitation/${id}/resolve`, new Blob([JSON.stringify(body)], { type: 'application/json' }));
  assert.equal((await say('answer', form.id, { action: 'accept', content: { name: 'Ada' } })).status, 200);
  assert.equal((await say('approve', approval.id, { approved: false, reason: 'no' })).status, 200);
  await Promise.all(calls);
  const [byAbe] = await seen('approve', 'state=ended');
  assert.deepEqual([byAbe.answer.by, byAbe.answer.via, byAbe.answer.reason, byAbe.call.result], ['abe', 'page', 'no', null], 'an approver is not shown the result');
  const own = (await seen('answer', 'state=ended')).find(({ kind }) => kind === 'form');
  assert.deepEqual([own.answer.content, own.call.result], [{ name: 'Ada' }, 'accept {"name":"Ada"}']);
  assert.equal((await seen('admin', 'state=ended')).find(({ kind }) => kind === 'form').call.result, 'accept {"name":"Ada"}');
  assert.deepEqual(await seen('other', 'state=ended'), []);
});

test('by `approve` nobody sees or approves a call of their own', async (t) => {
  const both = { token: 'both-token-0123456789abcdef', name: 'cleo', roles: 'ask approve' };
  const server = await startHttp(t, 'probe', { args: ['--token-file', tokenFile(t, [both, PEOPLE.approve])] });
  const client = await connect(t, 'http', 'probe', { server, token: both.token, capabilities: {} });
  const call = client.call('approve', {});
  const [own, other] = [both, PEOPLE.approve].map(({ token, name }) => Object.assign(new Api(server, name), { credential: () => ({ Authorization: `Bearer ${token}` }) }));
  const [{ id, principal }] = await other.pending(1);
  assert.equal(principal, both.name);
  const yes = { approved: true, data: { reason: 'fine' } };
  assert.deepEqual([(await own.list()).json.items, (await own.resolve(id, yes)).status], [[], 404]);
  assert.equal((await other.resolve(id, yes)).status, 200);
  await call;
});

test('loopback is not consent: without tokens nobody is let in without the link or the socket', async (t) => {
  const server = await startHttp(t, 'probe');
  const client = await connect(t, 'http', 'probe', { server, capabilities: {} });
  const nobody = new Api(server, null);
  const call = assert.rejects(client.call('ask', { message: 'open to all?' }, { timeout: 1500 }), /timed out/);
  for (const path of ['/api/me', '/api/elicitation', '/api/events', '/api/openapi.json', '/api/grants']) assert.equal((await nobody.get(path)).status, 401, path);
  assert.equal((await nobody.resolve('A'.repeat(22), { approved: true })).status, 401);
  await call;
});
