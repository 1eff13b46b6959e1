// One greedy client asks for what is large, by requests that are small, over many connections at once: whoever comes after all of them is not
// behind all of them. What counts is the order of replies, so it does not matter how busy the machine is.
import test from 'node:test';
import assert from 'node:assert/strict';
import net from 'node:net';
import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { within, PATIENCE_MS } from './harness.js';
import { Api, Watcher, houses, mute, openHouse, token } from './inbox.js';
import { Modern, VERSION, metaOf } from './modern.js';

const MANY = 32;
const TIMES = 12;
const BIG = 'x'.repeat(3e5);
const people = { ada: 'ask answer', bob: 'ask answer', ...Object.fromEntries(Array.from({ length: 5 }, (_, i) => [`user${i}`, 'ask answer'])) };
const [memory, sqlite, redis] = houses;

async function connections(t, server, count) {
  const { hostname, port } = new URL(server.url);
  const sockets = Array.from({ length: count }, () => net.connect(port, hostname));
  t.after(() => sockets.forEach((socket) => socket.destroy()));
  await Promise.all(sockets.map((socket) => once(socket, 'connect')));
  return sockets;
}

const request = (server, who, method, target, { body = '', headers = {} } = {}) => [`${method} ${target} HTTP/1.1`, `Host: ${new URL(server.url).host}`,
  `Authorization: Bearer ${token(who)}`, ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`),
  ...(body ? ['Content-Type: application/json', `Content-Length: ${body.length}`] : []), '', body].join('\r\n');

// Sends a request; resolves to its reply, or to what has come of a stream once `over` says that it is enough.
function send(socket, asked, over) {
  return within(PATIENCE_MS, asked.split('\r\n')[0], new Promise((resolve, reject) => {
    let text = '', size = 0, length; // of what is large only the beginning is kept: this process must not be what is waited for
    const closed = () => reject(new Error('closed'));
    const come = (bytes) => {
      size += bytes.length;
      if (text.length < 4096) text += bytes.toString('latin1', 0, 4096);
      const head = length === undefined ? text.indexOf('\r\n\r\n') : -1;
      if (head >= 0) length = head + 4 + Number(/content-length: (\d+)/i.exec(text)?.[1] ?? Infinity);
      if (!(over ? over(text) : size >= length)) return;
      socket.off('data', come).off('close', closed);
      resolve(text);
    };
    socket.on('data', come).on('close', closed);
    socket.write(asked);
  }));
}

// The honest one has a thread of its own: it does not wait for what the thread of the greedy one has still to read of replies that came before.
const honestThread = `
  const { parentPort, workerData: { hostname, port, asked, times, come } } = require('node:worker_threads');
  const socket = require('node:net').connect(port, hostname), places = [];
  let text = '', before;
  const next = () => {
    before = Atomics.load(come, 0);
    text = '';
    socket.write(asked);
  };
  socket.on('connect', next).on('data', (bytes) => {
    text += bytes.toString('latin1');
    const head = text.indexOf('\\r\\n\\r\\n');
    if (head < 0 || text.length < head + 4 + Number(/content-length: (\\d+)/i.exec(text)[1])) return;
    places.push(Atomics.load(come, 0) - before);
    if (places.length < times) return next();
    parentPort.postMessage({ places, text });
    socket.destroy();
  });`;

// How many replies the greedy one gets, over many connections and again and again, while the honest one waits for one.
async function behind(t, server, greedy, asked, many = MANY) {
  const sockets = await connections(t, server, many);
  const { hostname, port } = new URL(server.url);
  const come = new Int32Array(new SharedArrayBuffer(4));
  let over = false, warm;
  const warmed = new Promise((resolve) => (warm = resolve));
  const loops = sockets.map(async (socket, n) => {
    while (!over) {
      await greedy(socket, n);
      if (Atomics.add(come, 0, 1) + 1 >= MANY) warm();
    }
  });
  await within(PATIENCE_MS, 'each of them has had a reply', warmed);
  const honest = new Worker(honestThread, { eval: true, workerData: { hostname, port, asked, times: TIMES, come } });
  t.after(() => honest.terminate());
  const [{ places, text }] = await within(PATIENCE_MS, 'the honest one has had its replies', once(honest, 'message'));
  over = true;
  await Promise.all(loops);
  assert.match(text, /^HTTP\/1\.1 200 /);
  t.diagnostic(`behind ${places.sort((a, b) => a - b)} of ${many}`);
  return places[TIMES >> 2]; // this process may be held up itself
}
const fair = (each) => assert.ok(each <= MANY / 3, `it came behind ${each} of ${MANY}`);

for (const house of [memory, sqlite, redis])
  test(`${house.name}: a large question that is read by its id again and again`, async (t) => {
    const { first } = await openHouse(t, house, { people });
    const [ada, bob] = [await mute(t, first, 'ada'), await mute(t, first, 'bob')];
    ada.call('ask', { message: 'large', big: BIG }).catch(() => {});
    bob.call('ask', { message: 'small' }).catch(() => {});
    const [[large], [small]] = [await new Api(first, 'ada').pending(), await new Api(first, 'bob').pending()];
    fair(await behind(t, first, (socket) => send(socket, request(first, 'ada', 'GET', `/api/elicitation/${large.id}`)), request(first, 'bob', 'GET', `/api/elicitation/${small.id}`)));
  });

const capabilities = { elicitation: {}, extensions: { 'io.modelcontextprotocol/tasks': {} } };
const taskOf = async (server, who, args) => (await new Modern(server.url, { token: token(who), capabilities }).call('echo', args)).result.taskId;
const look = (server, who, taskId) => request(server, who, 'POST', new URL(server.url).pathname, {
  headers: { Accept: 'application/json, text/event-stream', 'MCP-Protocol-Version': VERSION, 'Mcp-Method': 'tasks/get', 'Mcp-Name': taskId },
  body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tasks/get', params: { taskId, _meta: metaOf(capabilities) } }),
});
const get = (...task) => (socket) => send(socket, look(...task)).then((text) => assert.match(text, /"status":"completed"/));

test('two nodes of redis: a large task that is looked at again and again', async (t) => {
  const { first, last } = await openHouse(t, redis, { program: 'turns-server', people });
  const [large, small] = [await taskOf(first, 'ada', { text: BIG }), await taskOf(first, 'bob', { text: 'small' })];
  fair(await behind(t, last, get(last, 'ada', large), look(last, 'bob', small)));
});

test('two nodes of redis: a large task that its own node has in memory, and that is looked at again and again', async (t) => {
  const { first, last } = await openHouse(t, redis, { program: 'turns-server', people });
  const [large, small] = [await taskOf(first, 'ada', { text: 'x'.repeat(1.5e6) }), await taskOf(last, 'bob', { text: 'small' })];
  const [looks] = await connections(t, first, 1);
  await within(PATIENCE_MS, 'it has ended', (async () => { while (!/"status":"completed"/.test(await send(looks, look(first, 'ada', large)))); })());
  for (const many of [1, MANY]) // connections
    fair(await behind(t, first, get(first, 'ada', large), look(first, 'bob', small), many)); // the small one is in the store
});

for (const house of [memory, sqlite])
  test(`${house.name}: streams of events that come back, and have missed much`, async (t) => {
    const { first } = await openHouse(t, house, { people });
    const [ada, bob] = [await mute(t, first, 'ada'), await mute(t, first, 'bob')];
    const [api, other] = [new Api(first, 'ada'), new Api(first, 'bob')];
    const watcher = await Watcher.open(t, api);
    await watcher.ready();
    const last = watcher.last;
    for (let i = 0; i < 4; i++) ada.call('ask', { message: `${i}`, big: BIG }).catch(() => {});
    await api.pending(4);
    await watcher.next('reset'); // they are larger than an event
    bob.call('ask', { message: 'small' }).catch(() => {});
    const [small] = await other.pending();
    const back = async () => {
      const [socket] = await connections(t, first, 1);
      await send(socket, request(first, 'ada', 'GET', '/api/events', { headers: { 'Last-Event-ID': last } }), (text) => /event: (reset|changes)/.test(text));
      socket.destroy();
    };
    fair(await behind(t, first, back, request(first, 'bob', 'GET', `/api/elicitation/${small.id}`)));
  });

test('nobody is refused because four others list by the hundred', async (t) => {
  const { first } = await openHouse(t, memory, { people });
  const greedy = [0, 1, 2, 3].map((i) => `user${i}`);
  for (const who of greedy) {
    const client = await mute(t, first, who);
    for (let i = 0; i < 10; i++) client.call('ask', { message: `${i}`, big: 'x'.repeat(1e5) }).catch(() => {});
    await new Api(first, who).pending(10);
  }
  const sockets = await connections(t, first, 4 * 80 + 1);
  let over = false;
  const loops = sockets.slice(1).map(async (socket, n) => {
    while (!over) assert.match(await send(socket, request(first, greedy[n % 4], 'GET', '/api/elicitation?limit=200')), /^HTTP\/1\.1 (200|429) /);
  });
  for (let i = 0; i < 20; i++) assert.match(await send(sockets[0], request(first, 'user4', 'GET', '/api/elicitation')), /^HTTP\/1\.1 200 /);
  over = true;
  await Promise.all(loops);
});
