// The inbox through its API: what waits is seen and answered there, by whoever may, on every store and every node.
import test from 'node:test';
import assert from 'node:assert/strict';
import http from 'node:http';
import net from 'node:net';
import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { startHttp, connect, environment, pause, program, textOf, within, PATIENCE_MS } from './harness.js';
import { chats } from '../view/clients.js';
import { Api, Watcher, houses, mute, openHouse, token, tokenFile } from './inbox.js';

test('what the API does not have is a problem, as every other error is', async (t) => {
  const server = await startHttp(t, 'probe');
  for (const accept of ['*/*', 'application/json']) {
    const reply = await fetch(new URL('/api/nope', server.url), { headers: { Accept: accept } });
    assert.deepEqual([reply.status, reply.headers.get('content-type')], [404, 'application/problem+json']);
    assert.equal(typeof (await reply.json()).detail, 'string');
  }
});

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
    const { inputSchema, ...alone } = (await ada.one(item.id)).json;
    assert.deepEqual(alone, item);
    assert.equal(inputSchema.type, 'object', 'how its arguments are read');

    const wrong = await ada.resolve(item.id, { action: 'accept', content: { name: 7 } });
    assert.deepEqual([wrong.status, wrong.type], [422, 'application/problem+json']);
    assert.equal(wrong.json.errors[0].path, '/name');
    assert.equal((await ada.one(item.id)).json.state, 'pending');

    const padded = (count) => ({ name: 'Ada', ...Object.fromEntries(Array.from({ length: count }, (_, i) => [`x${i}`, i])) });
    for (const count of [17, 10_000]) {
      const much = await ada.resolve(item.id, { action: 'accept', content: padded(count) });
      assert.deepEqual([much.status, much.json.errors], [422, [{ path: '', message: 'has more than 16 members that were not asked for' }]]);
    }

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

// Six questions of one round are stored in the same millisecond.
for (const house of houses) {
  test(`${house.name}: the questions of a round are in the order in which they were asked, in every list`, async (t) => {
    const { first, last } = await openHouse(t, house, { args: ['--soft-deadline', '1s'] });
    const ada = new Api(last, 'ada');
    const inOrder = ['T-1', 'T-2', 'T-3', 'T-4', 'T-5', 'T-6'];
    const messages = (items) => items.map(({ message }) => message);
    const watcher = await Watcher.open(t, ada);
    await watcher.ready();
    const client = await mute(t, first, 'ada');
    const call = client.call('tickets');
    assert.deepEqual(messages(await ada.pending(6)), inOrder, 'the API');
    const paged = [];
    for (let next = ''; next !== null;) {
      const { json } = await ada.list({ limit: 1, ...(next ? { cursor: next } : {}) });
      paged.push(...messages(json.items));
      ({ next } = json);
    }
    assert.deepEqual(paged, inOrder, 'page by page');
    const { data } = await watcher.next('changes', ({ pending }) => pending.length);
    assert.deepEqual(messages(data.pending), inOrder, 'events');
    const behind = await Watcher.open(t, ada, { last: watcher.events[0].id });
    assert.deepEqual(messages((await behind.next('changes', ({ pending }) => pending.length)).data.pending), inOrder, 'events that were missed');
    const printed = spawnSync(program('nod'), ['inbox', 'list', '--json'], { env: environment({ NOD_SERVER: ada.base, NOD_TOKEN: token('ada') }), encoding: 'utf8' });
    assert.deepEqual(messages(printed.stdout.trim().split('\n').map((line) => JSON.parse(line))), inOrder, 'nod inbox');
    assert.deepEqual((await call).structuredContent.waitingFor, inOrder, 'a pending result');

    const chat = await chats[2025](t, first, { token: token('bob') });
    const seen = []; // each is stored by itself: the first look may find any of them
    await chat.peer.send({ id: 'tickets', method: 'tools/call', params: { name: 'tickets', arguments: {} } });
    for (let looks = 0; seen.length < 6 && looks < 6; looks++) seen.push(...(await chat.questions({ known: seen.map(({ nonce }) => nonce) })).questions);
    assert.deepEqual(messages(seen).sort(), inOrder, 'all of them reach a view');
    assert.deepEqual(messages((await chat.questions({})).questions), inOrder, 'a view');
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

// Asks for the list, and reads the status of the reply and no more.
async function halfRead(t, server, who) {
  const { hostname, port } = new URL(server.url);
  const socket = net.connect({ host: hostname, port: Number(port), readableHighWaterMark: 1024 });
  t.after(() => socket.destroy());
  socket.write(`GET /api/elicitation?limit=200 HTTP/1.1\r\nHost: ${hostname}:${port}\r\nAuthorization: Bearer ${token(who)}\r\n\r\n`);
  await once(socket, 'readable');
  return { socket, status: socket.read(12).toString().slice(9) };
}

test('who asks for long lists and does not read them is refused past a share, others are not, and nothing is lost', async (t) => {
  const { first } = await openHouse(t, houses[0]);
  const ada = new Api(first, 'ada');
  const client = await mute(t, first, 'ada');
  const calls = Array.from({ length: 12 }, (_, i) => client.call('ask', { message: `${i}`, big: 'A'.repeat(600_000) }));
  const root = new Api(first, 'root');
  await within(PATIENCE_MS, 'all wait', (async () => {
    while (!/^nod_asks_pending 12$/m.test((await root.get('/metrics')).text)) await pause(10);
  })());
  const slow = await Promise.all(Array.from({ length: 32 }, () => halfRead(t, first, 'ada')));
  const served = slow.filter(({ status }) => status === '200').length;
  assert.ok(served >= 2 && served < 28, `${served} were served`); // 64 MiB, and what the sockets take
  assert.ok(slow.every(({ status }) => status === '200' || status === '429'), slow.map(({ status }) => status).join());
  assert.equal((await new Api(first, 'bob').list()).status, 200);

  for (const { socket } of slow) socket.destroy();
  const items = await ada.pending(12); // once they are gone there is room again
  assert.equal(items.length, 12);
  for (const { id } of items) assert.equal((await ada.resolve(id, { approved: false })).status, 200);
  for (const call of calls) assert.equal(textOf(await call), 'decline');
});

test('an answer with very many values is refused before it is looked at, and the question waits', async (t) => {
  const { first } = await openHouse(t, houses[0]);
  const call = (await mute(t, first, 'ada')).call('ask', { message: 'one' });
  const ada = new Api(first, 'ada');
  const [{ id }] = await ada.pending();
  const reply = await ada.resolve(id, `{"approved":true,"data":{"name":"Ada","more":[${'1,'.repeat(250000)}1]}}`);
  assert.equal(reply.status, 400);
  assert.match(reply.json.detail, /more values than are allowed/);
  assert.equal((await ada.resolve(id, { approved: false })).status, 200);
  assert.equal(textOf(await call), 'decline');
});

// Sends one request over a connection that is open already. What has come once its head is there: the status, and the head.
function sent(socket, who, method, target, body = '') {
  const lines = [`${method} ${target} HTTP/1.1`, `Host: ${socket.remoteAddress}:${socket.remotePort}`, `Authorization: Bearer ${token(who)}`, ...(body ? ['Content-Type: application/json', `Content-Length: ${body.length}`] : [])];
  return new Promise((resolve, reject) => {
    let head = '';
    socket.on('data', (bytes) => {
      head += bytes.toString('latin1');
      if (head.includes('\r\n\r\n')) resolve({ status: head.slice(9, 12), head });
    });
    socket.on('close', () => reject(new Error('closed')));
    socket.write(`${lines.join('\r\n')}\r\n\r\n${body}`);
  });
}

for (const house of houses.slice(0, 2)) {
  test(`${house.name}: who asks for lists by the hundred is refused past a share, and others list and answer all the same`, async (t) => {
    const { first } = await openHouse(t, house);
    const { hostname, port } = new URL(first.url);
    const open = async (count) => {
      const sockets = Array.from({ length: count }, () => net.connect(port, hostname));
      t.after(() => sockets.forEach((socket) => socket.destroy()));
      await Promise.all(sockets.map((socket) => once(socket, 'connect')));
      return sockets;
    };
    const [greedy, honest] = [await mute(t, first, 'ada'), await mute(t, first, 'bob')];
    const [ada, bob] = [new Api(first, 'ada'), new Api(first, 'bob')];
    const long = Array.from({ length: 40 }, (_, i) => greedy.call('ask', { message: `${i}`, big: 'A'.repeat(2000) }));
    const mine = Array.from({ length: 10 }, (_, i) => honest.call('ask', { message: `${i}` }));
    const [items, own] = [await ada.pending(40), await bob.pending(10)];
    const [many, few, [last]] = [await open(300), await open(21), await open(1)];

    const lists = many.map((socket) => sent(socket, 'ada', 'GET', '/api/elicitation?limit=200'));
    const others = few.map((socket, i) => (i % 2 ? sent(socket, 'bob', 'POST', `/api/elicitation/${own[i >> 1].id}/resolve`, '{"approved":false}') : sent(socket, 'bob', 'GET', '/api/elicitation')));
    const answer = sent(last, 'ada', 'POST', `/api/elicitation/${items[0].id}/resolve`, '{"approved":false}');
    assert.deepEqual([...new Set((await Promise.all(others)).map(({ status }) => status))], ['200'], 'nobody else notices');
    assert.equal((await answer).status, '200', 'who lists can answer');
    const seen = await Promise.all(lists);
    assert.ok(seen.filter(({ status }) => status === '200').length >= 64);
    for (const { status, head } of seen) if (status !== '200') assert.match(head, /^HTTP\/1\.1 429 [^]*\r\nRetry-After: \d+\r\n/i);
    assert.equal((await ada.list()).status, 200, 'there is room again');
    for (const call of mine) assert.equal(textOf(await call), 'decline');
    for (const { id } of items.slice(1)) assert.equal((await ada.resolve(id, { approved: false })).status, 200);
    for (const call of long) assert.equal(textOf(await call), 'decline');
  });
}

// Of an answer at a node that stops, while its Redis says nothing: it is not known whether it was taken, and that is said.
test('redis: an answer that a node which stops cannot store is told 503', async (t) => {
  const { first, last, store } = await openHouse(t, houses.find(({ name }) => /redis/.test(name)));
  const client = await mute(t, first, 'ada');
  const call = client.call('ask', { message: 'Who are you?' });
  const ada = new Api(last, 'ada');
  const [item] = await ada.pending();
  const body = JSON.stringify({ approved: true, data: { name: 'Ada' } });
  store.signal('SIGSTOP');
  t.after(() => store.signal('SIGCONT'));
  const request = http.request(`${ada.base}/api/elicitation/${item.id}/resolve`, {
    method: 'POST',
    headers: { ...ada.credential(), 'Content-Type': 'application/json', 'Content-Length': body.length },
  }).end(body);
  const replied = once(request, 'response');
  replied.catch(() => {});
  await once(request, 'finish');
  await (await fetch(new URL('/healthz', last.url))).text(); // what came before it is there
  await last.stop();
  const [reply] = await replied;
  assert.deepEqual([reply.statusCode, reply.headers['content-type']], [503, 'application/problem+json']);
  assert.match(JSON.parse(Buffer.concat(await reply.toArray())).detail, /This server stops/);
  store.signal('SIGCONT');
  const again = await within(PATIENCE_MS, 'it is taken elsewhere', (async () => {
    for (;;) {
      const { status } = await new Api(first, 'ada').resolve(item.id, JSON.parse(body));
      if (status !== 503) return status;
    }
  })());
  assert.equal(again, 200);
  assert.equal(textOf(await call), 'accept {"name":"Ada"}');
});
