// The inbox through its API: what waits is seen and answered there, by whoever may, on every store and every node.
import test from 'node:test';
import assert from 'node:assert/strict';
import { startHttp, connect, textOf } from './harness.js';
import { Api, houses, mute, openHouse, token } from './inbox.js';

for (const house of houses) {
  test(`${house.name}: a form is answered by the API for a client that cannot ask`, async (t) => {
    const { first, last } = await openHouse(t, house);
    const ada = new Api(last, 'ada');
    const client = await mute(t, first, 'ada');
    const call = client.call('ask', { message: 'Who are you?' });
    const [item] = await ada.pending();
    assert.deepEqual([item.kind, item.state, item.tool, item.title, item.message, item.principal, item.consent, item.attempt],
      ['form', 'pending', 'ask', 'ask', 'Who are you?', 'ada', false, 1]);
    assert.deepEqual(item.client, { name: 'wire-test', version: '1.0.0' });
    assert.deepEqual(item.arguments, { message: 'Who are you?' });
    assert.equal(item.schema.type, 'object');
    assert.deepEqual((await ada.one(item.id)).json, item);

    const wrong = await ada.resolve(item.id, { action: 'accept', content: { name: 7 } });
    assert.deepEqual([wrong.status, wrong.type], [422, 'application/problem+json']);
    assert.equal(wrong.json.errors[0].path, '/name');
    assert.equal((await ada.one(item.id)).json.state, 'pending');

    const taken = await ada.resolve(item.id, { executionId: item.executionId, approved: true, data: { name: 'Ada' } });
    assert.deepEqual([taken.status, taken.json], [200, { executionId: item.executionId, approved: true, data: { name: 'Ada' }, action: 'accept' }]);
    assert.equal(textOf(await call), 'accept {"name":"Ada"}');

    const late = await ada.resolve(item.id, { approved: false });
    assert.equal(late.status, 409);
    assert.deepEqual([late.json.state, late.json.answer.action, late.json.answer.by, late.json.answer.via], ['accepted', 'accept', 'ada', 'api']);
    assert.equal((await ada.resolve(item.id, { approved: true, data: { name: 'Ada' } })).status, 200, 'the same answer, sent twice');

    const { json } = await ada.list({ state: 'ended' });
    assert.deepEqual(json.items.map(({ id }) => id), [item.id]);
    const { answer, call: ended } = json.items[0];
    assert.deepEqual([answer.action, answer.by, answer.via, answer.content], ['accept', 'ada', 'api', { name: 'Ada' }]);
    assert.ok(answer.tookMs >= 0 && Date.parse(answer.at) > 0);
    assert.deepEqual(ended, { state: 'finished', result: 'accept {"name":"Ada"}' });
    assert.deepEqual((await ada.list()).json.items, []);
  });
}
