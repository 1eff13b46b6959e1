// Two nodes on one Redis: a client subscribes at one, listens at the other, and the resource changes at either.
import test from 'node:test';
import assert from 'node:assert/strict';
import { HttpPeer, Inbox, defaultHeaders, pause, rawPeer, sseEvents, startHttp, within, PATIENCE_MS } from './harness.js';
import { Modern, VERSION, metaOf } from './modern.js';
import { stores } from './stores.js';

const WATCHED = 'test://watched-resource';
const redis = stores.find(({ name }) => name === 'redis');

async function twoNodes(t) {
  const store = await redis.create(t);
  const args = ['--store', store.address];
  return Promise.all([startHttp(t, 'everything', { args }), startHttp(t, 'everything', { args })]);
}

// The same session, at another node.
function elsewhere(t, peer, node) {
  const other = new HttpPeer(node.url);
  other.session = peer.session;
  t.after(() => other.close());
  return other;
}

async function standing(peer) {
  const stream = await peer.request('GET');
  assert.equal(stream.status, 200);
  return stream;
}

async function says(peer, method, params) {
  const handle = await peer.send({ id: method, method, params });
  if (handle.streamed) await handle.finished;
  const reply = await peer.next((message) => message.id === method, `the reply to ${method}`);
  assert.ok(reply.result, JSON.stringify(reply));
}

const touch = (node) => new Modern(node.url).ended('touch_watched_resource');
const isUpdate = (message) => message.method === 'notifications/resources/updated' && message.params.uri === WATCHED;

// The resource is touched until somebody has heard of it: a hint may come before the node that is to hear it knows who listens.
async function heardOf(inbox, node) {
  let heard = false;
  const update = inbox.next(isUpdate, 'resources/updated').finally(() => (heard = true));
  while (!heard) {
    await touch(node);
    await Promise.race([update, pause(250)]);
  }
  return update;
}

for (const [where, at] of [['where it was subscribed to', 0], ['where the client listens', 1]])
  test(`2025: a subscriber listens at another node, and the resource changes ${where}`, async (t) => {
    const nodes = await twoNodes(t);
    const peer = await rawPeer(t, 'http', 'everything', { server: nodes[0], capabilities: {} });
    const other = elsewhere(t, peer, nodes[1]);
    await standing(other);
    await says(peer, 'resources/subscribe', { uri: WATCHED });
    await heardOf(other.inbox, nodes[at]);
  });

test('2025: subscriptions come along when a session moves to another node, and so does their end', async (t) => {
  const nodes = await twoNodes(t);
  const peer = await rawPeer(t, 'http', 'everything', { server: nodes[0], capabilities: {} });
  await says(peer, 'resources/subscribe', { uri: WATCHED });
  peer.close();
  await nodes[0].stop();
  const other = elsewhere(t, peer, nodes[1]);
  await standing(other);
  await touch(nodes[1]);
  await other.next(isUpdate, 'resources/updated');
  await says(other, 'resources/unsubscribe', { uri: WATCHED });
  const before = other.events.length;
  await touch(nodes[1]);
  await says(other, 'ping', {});
  assert.equal(other.events.slice(before).filter(({ data }) => data && isUpdate(JSON.parse(data))).length, 0);
});

test('2026: who listens at one node hears of a change at the other', async (t) => {
  const nodes = await twoNodes(t);
  const abort = new AbortController();
  t.after(() => abort.abort());
  const heard = new Inbox();
  const response = await fetch(nodes[1].url, {
    method: 'POST',
    headers: { ...defaultHeaders, 'MCP-Protocol-Version': VERSION, 'Mcp-Method': 'subscriptions/listen' },
    body: JSON.stringify({ jsonrpc: '2.0', id: 'ears', method: 'subscriptions/listen',
      params: { notifications: { resourceSubscriptions: [WATCHED] }, _meta: metaOf({}) } }),
    signal: abort.signal,
  });
  assert.equal(response.status, 200);
  (async () => {
    for await (const event of sseEvents(response.body)) if (event.data) heard.push(JSON.parse(event.data));
  })().catch(() => {});
  await heard.next((message) => /acknowledged/.test(message.method), 'the acknowledgement');
  await within(PATIENCE_MS, 'it is heard', heardOf(heard, nodes[0]));
});
