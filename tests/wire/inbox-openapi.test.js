// Every operation of the API, and every refusal of it, is as /api/openapi.json describes it, on every store.
import test from 'node:test';
import assert from 'node:assert/strict';
import { textOf } from './harness.js';
import { Api, Watcher, houses, mute, openHouse, token } from './inbox.js';

const RESOLVE = '/api/elicitation/{id}/resolve';

async function refusals(ada, item) {
  const nobody = ada.as(null);
  const agent = ada.as('carl');
  const elsewhere = { headers: { 'Sec-Fetch-Site': 'cross-site' } };
  for (const path of ['/api/me', '/api/elicitation', `/api/elicitation/${item.id}`, '/api/events', '/api/grants', '/api/secrets', '/api/credentials', '/api/openapi.json']) {
    assert.equal((await nobody.get(path)).status, 401, path);
    assert.equal((await ada.get(path, elsewhere)).status, 403, path);
  }
  for (const path of ['/api/elicitation', `/api/elicitation/${item.id}`, '/api/events'])
    assert.equal((await agent.get(path)).status, 403, path);
  assert.equal((await nobody.resolve(item.id, { approved: true })).status, 401);
  assert.equal((await agent.resolve(item.id, { approved: true })).status, 403);

  for (const query of [{ state: 'odd' }, { since: 'yesterday' }, { until: '2026-13-01T00:00:00Z' }, { limit: 0 }, { limit: 201 }, { limit: 'x' },
    { cursor: 'none of yours' }, { q: ' ' }, { unknown: 1 }])
    assert.equal((await ada.list(query)).status, 400, JSON.stringify(query));
  assert.equal((await ada.get('/api/elicitation?state=pending&state=ended')).status, 400);
  assert.equal((await ada.get('/api/elicitation?tool=%zz')).status, 400);
  for (const [query, why] of [['stat=ended', 'The parameter stat is not known here.'], ['state=ended&state=ended', 'The parameter state occurs twice, or is badly encoded.'], ['%00%ff=1', 'The parameter %00%ff is not known here.'],
    [`${'x'.repeat(500)}=1`, `The parameter ${'x'.repeat(64)}... is not known here.`]])
    assert.equal((await ada.get(`/api/elicitation?${query}`)).json.detail, why);
  for (const path of ['/api/grants', '/api/secrets', '/api/credentials'])
    for (const query of ['limit=0', 'cursor=none%20of%20yours']) assert.equal((await ada.get(`${path}?${query}`)).status, 400, `${path} ${query}`);

  const others = ada.as('bob');
  for (const id of ['nonsense', 'A'.repeat(22)]) {
    assert.equal((await ada.one(id)).status, 404);
    assert.equal((await ada.resolve(id, { approved: false })).status, 404);
  }
  assert.equal((await others.one(item.id)).status, 404, 'as if it were not there');
  assert.equal((await others.resolve(item.id, { approved: false })).status, 404);
  assert.equal((await ada.as('dora').resolve(item.id, { approved: false })).status, 404, 'an approver does not answer forms of others');
  assert.equal((await ada.request('DELETE', `/api/grants/${'0'.repeat(64)}`)).status, 404);
  for (const id of ['none', `${'0'.repeat(24)}.none`, 'a%20b', 'x'.repeat(300)])
    for (const path of ['/api/secrets', '/api/credentials']) assert.equal((await ada.request('DELETE', `${path}/${id}`)).status, 404, id);
}

const bad = [
  'not json', '[]', '7', '{}', '{"approved":1}', '{"approved":true,"action":"accept"}', '{"action":"maybe"}', '{"action":"accept","data":{}}',
  '{"approved":true,"content":{}}', '{"approved":true,"approved":false}', '{"approved":true,"reason":7}', '{"approved":true,"executionId":7}',
  '{"approved":true,"remember":"yes"}', '{"approved":true,"more":1}', JSON.stringify({ approved: true, reason: 'x'.repeat(2001) }),
];

for (const house of houses)
  test(`${house.name}: every operation and every refusal is as it is described`, async (t) => {
    const { first, last } = await openHouse(t, house);
    const ada = await new Api(last, 'ada').describe();
    const { description } = ada;
    const client = await mute(t, first, 'ada');
    const form = client.call('ask', { message: 'a form' });
    const approval = client.call('approve', {});
    const items = await ada.pending(2);
    const item = items.find(({ kind }) => kind === 'form');
    const asked = items.find(({ kind }) => kind === 'approval');
    assert.equal((await ada.get('/api/grants')).status, 200);
    for (const path of ['/api/secrets', '/api/credentials']) assert.deepEqual((await ada.get(path)).json.items, []);
    assert.equal((await ada.get('/api/openapi.json')).json.openapi, '3.1.0');
    await refusals(ada, item);

    for (const body of bad) assert.equal((await ada.resolve(item.id, body)).status, 400, body);
    assert.equal((await ada.resolve(item.id, '{"approved":true}', { headers: { 'Content-Type': 'text/plain' } })).status, 415);
    const unfit = [{ approved: true, data: {} }, { action: 'accept', content: { name: 7 } }, { approved: true }, { action: 'accept' },
      { approved: true, data: { name: 'Ada' }, executionId: 'another' }, { approved: true, data: { name: 'Ada' }, remember: { scope: 'session', match: 'tool' } }];
    for (const body of unfit) {
      assert.ok(description.takes('POST', RESOLVE, body), JSON.stringify(body));
      assert.equal((await ada.resolve(item.id, body)).status, 422, JSON.stringify(body));
    }
    assert.equal((await ada.one(item.id)).json.state, 'pending');

    const said = { action: 'accept', content: { name: 'Ada' }, reason: 'because' };
    assert.ok(description.takes('POST', RESOLVE, said));
    assert.equal((await ada.resolve(item.id, said)).status, 200);
    assert.equal((await ada.resolve(item.id, { action: 'cancel' })).status, 409);
    assert.equal((await ada.resolve(asked.id, { approved: false, reason: 'too risky' }, { headers: { 'X-Nod-Via': 'terminal' } })).status, 200);
    assert.equal(textOf(await form), 'accept {"name":"Ada"}');
    await approval;
    const ended = (await ada.list({ state: 'ended' })).json.items;
    assert.deepEqual(ended.map(({ answer }) => [answer.action, answer.reason, answer.via]).sort(),
      [['accept', 'because', 'api'], ['decline', 'too risky', 'terminal']]);

    const watcher = await Watcher.open(t, ada);
    assert.equal(watcher.response.headers.get('content-type'), 'text/event-stream');
    await watcher.ready();
    const call = client.call('ask', { message: 'told' });
    const { id } = await watcher.item('pending', 'told');
    await ada.resolve(id, { action: 'cancel' });
    await watcher.item('ended', 'told');
    const changes = description.schema('Changes');
    for (const { event, data } of watcher.events) if (event === 'changes') assert.ok(changes(data), JSON.stringify(changes.errors));
    await call;

    description.seen.add('get /api/events 200');
    assert.equal((await ada.me()).status, 200);
    assert.equal((await ada.request('POST', '/api/login')).status, 200);
    assert.equal((await ada.request('POST', '/api/login-link')).status, 200);
    assert.equal((await ada.request('POST', '/api/logout')).status, 400);
    for (const path of ['/api/login', '/api/login-link', '/api/logout']) {
      assert.equal((await ada.as(null).request('POST', path)).status, 401);
      assert.equal((await ada.request('POST', path, { headers: { 'Sec-Fetch-Site': 'same-site' } })).status, 403);
    }
    for (const path of ['/api/grants/x', '/api/secrets/x', '/api/credentials/x']) {
      assert.equal((await ada.as(null).request('DELETE', path)).status, 401);
      assert.equal((await ada.request('DELETE', path, { headers: { 'Sec-Fetch-Site': 'cross-site' } })).status, 403);
    }
    const elsewhere = new Set(['delete /api/grants/{id} 204', 'delete /api/secrets/{id} 204', 'delete /api/credentials/{id} 204', 'post /api/logout 204', `post ${RESOLVE} 413`, 'post /api/login 400', 'post /api/login 429',
      'post /api/login-link 429', 'get /api/events 429', 'get /api/elicitation 429', 'get /api/elicitation/{id} 429']); // shown by the tests of grants, of secrets, of accounts, of signing in, of events, of the API, of shares of memory (unit http-share), and below
    const missing = description.operations().filter((one) => !/ 503$/.test(one) && !description.seen.has(one) && !elsewhere.has(one));
    assert.deepEqual(missing, [], 'what is described was seen');
  });

test('an answer that is larger than a request may be is refused, and the ask waits', async (t) => {
  const { first } = await openHouse(t, houses[0]);
  const ada = new Api(first, 'ada');
  const client = await mute(t, first, 'ada');
  const call = client.call('ask', { message: 'large' });
  const [{ id }] = await ada.pending();
  assert.equal((await ada.resolve(id, { approved: true, data: { name: 'x'.repeat(5 << 20) } }).catch(() => ({ status: 413 }))).status, 413);
  const large = await ada.resolve(id, { approved: true, data: { name: 'x'.repeat(300 << 10) } });
  assert.equal(large.status, 422);
  assert.equal((await ada.resolve(id, { approved: true, data: { name: 'small' } })).status, 200);
  assert.equal(textOf(await call), 'accept {"name":"small"}');
  assert.equal((await ada.request('POST', '/api/login', { headers: { Authorization: `Basic ${token('ada')}` } })).status, 401);
});
