// How often nodes go to Redis for one answer that is given in the inbox of another node than the one that asked, counted by what
// Redis was sent (MONITOR) that names the call or the question: the node with the inbox reads the question and claims it; the
// other takes the call, stores its step, and its end. A node also looks now and then at calls that wait with it, so the middle
// of several counts is taken.
import test from 'node:test';
import assert from 'node:assert/strict';
import net from 'node:net';
import { once } from 'node:events';
import { rawPeer, callTool, pause, textOf, within, PATIENCE_MS } from './harness.js';
import { Api, houses, openHouse, token } from './inbox.js';

const ANSWERS = 8;
const TRIPS = ['HMGET', 'EVALSHA', 'EVALSHA', 'EVALSHA', 'EVALSHA']; // the third of these scripts is for the tool's one step

// Lines of MONITOR: what was sent, and over which connection.
async function monitor(t, address) {
  const { port, hostname } = new URL(address);
  const socket = net.connect(Number(port), hostname);
  t.after(() => socket.destroy());
  await once(socket, 'connect');
  const lines = [];
  let rest = '';
  socket.setEncoding('latin1').on('data', (text) => {
    const whole = (rest + text).split('\r\n');
    rest = whole.pop();
    lines.push(...whole);
  });
  socket.write('MONITOR\r\n');
  await within(PATIENCE_MS, 'MONITOR is taken', (async () => {
    while (!lines.includes('+OK')) await pause(5);
  })());
  return lines;
}

test('redis: an answer in the inbox of another node costs four ways to the store, and one for the step of the tool', async (t) => {
  const house = houses.find(({ nodes }) => nodes > 1);
  const env = { MCP_ELICITATION_SECRET: 'a secret that is surely long enough for this' };
  const { servers, first, store } = await openHouse(t, house, { program: 'toy-surface', args: ['--surfaces', 'inbox'], env });
  const peer = await rawPeer(t, 'http', 'toy-surface', { server: first, token: token('ada'), capabilities: {} });
  const there = new Api(servers[1], 'ada');
  const lines = await monitor(t, store.address);
  const counted = [];
  for (let i = 0; i < ANSWERS; i++) {
    const call = await callTool(peer, 'word', { tag: `t${i}` });
    const item = await within(PATIENCE_MS, 'the question is listed', (async () => {
      for (;; await pause(10)) {
        const found = (await there.list({ limit: 200 })).json.items.find(({ message }) => message.startsWith(`t${i},`));
        if (found) return found;
      }
    })());
    await pause(100); // until its node has stored that it waits
    const from = lines.length;
    const reply = await there.resolve(item.id, { approved: true, data: { word: 'inbox' } });
    assert.equal(reply.status, 200, reply.text);
    assert.equal(textOf((await peer.next(({ id, method }) => id === call.id && !method, 'the result')).result), `t${i}: inbox`);
    const about = () => lines.slice(from).filter((line) => (line.includes(item.id) || line.includes(item.executionId)) && !line.includes(' lua]'));
    await within(PATIENCE_MS, 'MONITOR has shown all of it', (async () => {
      while (about().length < TRIPS.length) await pause(10);
    })());
    counted.push(about().map((line) => /"(\w+)"/.exec(line)[1]));
  }
  counted.sort((one, other) => one.length - other.length);
  assert.deepEqual(counted[ANSWERS / 2], TRIPS, JSON.stringify(counted));
});
