// The inbox through its API: what waits is seen and answered there, by whoever may, on every store and every node.
import test from 'node:test';
import assert from 'node:assert/strict';
import { startHttp, connect, textOf } from './harness.js';
import { Api, Watcher, houses, mute, openHouse, token, tokenFile } from './inbox.js';

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

test('the example: book-room asks in the inbox for a client without forms, and hears why not', async (t) => {
  const server = await startHttp(t, 'book-room', { args: ['--token-file', tokenFile(t)] });
  const client = await connect(t, 'http', 'book-room', { server, token: token('ada'), capabilities: {} });
  const ada = new Api(server, 'ada');
  const booked = client.text('book_room', { room: 'Lovelace' });
  const [first] = await ada.pending();
  assert.deepEqual([first.title, first.message], ['Book a room', 'When shall Lovelace be booked, and for how many?']);
  assert.equal((await ada.resolve(first.id, { approved: true, data: { date: 'tomorrow', people: 6, projector: true } })).status, 422);
  assert.equal((await ada.resolve(first.id, { approved: true, data: { date: '2026-08-03', people: 6, projector: true } })).status, 200);
  assert.equal(await booked, 'Lovelace is booked on 2026-08-03 for 6, with a projector.');
  const refused = client.text('book_room', { room: 'Hopper' });
  const [second] = await ada.pending();
  await ada.resolve(second.id, { approved: false, reason: 'It is being painted.' });
  assert.equal(await refused, 'Hopper was not booked. It is being painted.');
});

test('what a client asks itself is not in the inbox, until it refuses', async (t) => {
  const { first } = await openHouse(t, houses[0]);
  const ada = new Api(first, 'ada');
  const watcher = await Watcher.open(t, ada);
  await watcher.ready();
  const client = await connect(t, 'http', 'probe', { server: first, token: token('ada') });
  const own = client.text('ask', { message: 'by its own form' });
  const question = await client.question();
  const refusing = client.text('ask', { message: 'refused' });
  (await client.question((one) => one.params.message === 'refused')).fail(new Error('no form today'));
  const { id } = await watcher.item('pending', 'refused');
  assert.deepEqual((await ada.list()).json.items.map(({ message }) => message), ['refused']);
  assert.ok(watcher.events.every(({ data }) => !(data.pending ?? []).some(({ message }) => message === 'by its own form')));
  await ada.resolve(id, { approved: true, data: { name: 'Inbox' } });
  assert.equal(await refusing, 'accept {"name":"Inbox"}');
  question.accept({ name: 'Client' });
  assert.equal(await own, 'accept {"name":"Client"}');
});
