// A hook asks a person, and the server is killed: the client comes back and answers, and the call goes on where it waited.
import test from 'node:test';
import assert from 'node:assert/strict';
import path from 'node:path';
import { accept, callTool, nextAsk, rawPeer, startHttp, textOf, transports } from './harness.js';
import { Modern, accepted, retryOf, scratchFolder } from './modern.js';

const SECRET = 'a secret that is surely long enough for this';
const PAYMENT = { to: 'Bob', amount: 5000 };
const GATE = '[house rules] 5000.00 to Bob is a lot of money. Go on?';
const REASON = '[house rules] What is it for?';
const PAID = 'Paid 5000.00 to Bob with ************1111 for a boat.';

async function lasting(t) {
  const file = path.join(scratchFolder(t), 'nod.db');
  const start = () => startHttp(t, 'house-rules', { env: { MCP_ELICITATION_SECRET: SECRET }, args: ['--store', `sqlite:${file}`] });
  const house = { server: await start() };
  house.killed = async (client) => {
    await house.server.kill();
    house.server = await start();
    client.url = house.server.url;
  };
  return house;
}

test('2025: killed while the hook has asked, and again while the handler has', async (t) => {
  const house = await lasting(t);
  const peer = await rawPeer(t, 'http', 'house-rules', { server: house.server });
  const call = await callTool(peer, 'pay', PAYMENT);
  const gate = await nextAsk(peer);
  assert.equal(gate.params.message, GATE);
  let seen = call.handle.events.filter((event) => event.id !== undefined).at(-1).id;
  await house.killed(peer);

  const back = await peer.request('GET', { headers: { 'Last-Event-ID': seen }, stream: 'resumed' });
  await accept(peer, gate.id);
  const reason = await nextAsk(peer);
  assert.equal(reason.params.message, REASON, 'the hook is not asked twice, and the handler has begun');
  seen = back.events.filter((event) => event.id !== undefined).at(-1).id;
  await house.killed(peer);

  await peer.request('GET', { headers: { 'Last-Event-ID': seen }, stream: 'again' });
  await accept(peer, reason.id, { purpose: 'a boat' });
  assert.equal(textOf((await call.reply()).result), PAID);
});

test('2026: killed while the hook has asked, and again while the handler has', async (t) => {
  const house = await lasting(t);
  const modern = new Modern(house.server.url);
  const gate = await modern.asked('pay', PAYMENT);
  const [gateKey] = Object.keys(gate.inputRequests);
  assert.equal(gate.inputRequests[gateKey].params.message, GATE);
  await house.killed(modern);

  const reason = await modern.asked('pay', PAYMENT, retryOf(gate, { [gateKey]: accepted({}) }));
  const [reasonKey] = Object.keys(reason.inputRequests);
  assert.notEqual(reasonKey, gateKey);
  assert.equal(reason.inputRequests[reasonKey].params.message, REASON);
  await house.killed(modern);

  const paid = await modern.ended('pay', PAYMENT, retryOf(reason, { [reasonKey]: accepted({ purpose: 'a boat' }) }));
  assert.equal(paid, PAID);
});

test('a no to the hook counts after a restart as well, and nothing is paid', async (t) => {
  const house = await lasting(t);
  const modern = new Modern(house.server.url);
  const gate = await modern.asked('pay', PAYMENT);
  const [key] = Object.keys(gate.inputRequests);
  await house.killed(modern);
  const reply = await modern.call('pay', PAYMENT, retryOf(gate, { [key]: { action: 'decline' } }));
  assert.equal(reply.result?.isError, true, reply.text);
  assert.equal(reply.result._meta.code, 'TOO_MUCH');
  assert.equal(textOf(reply.result), 'Nobody agreed to pay 5000.00; nothing was paid.');
});

test('2026: who answers what a hook refuses is asked again, and told why', async (t) => {
  const house = await lasting(t);
  const modern = new Modern(house.server.url);
  const small = { to: 'Bob', amount: 5 };
  const first = await modern.asked('pay', small);
  const [key] = Object.keys(first.inputRequests);
  const again = await modern.asked('pay', small, retryOf(first, { [key]: accepted({ purpose: 'a bribe' }) }));
  const [same] = Object.keys(again.inputRequests);
  assert.match(again.inputRequests[same].params.message, /This house pays no bribes\./);
  const paid = await modern.ended('pay', small, retryOf(again, { [same]: accepted({ purpose: 'tea' }) }));
  assert.equal(paid, 'Paid 5.00 to Bob with ************1111 for tea.');
});

const BRIBES = 'Your last answer could not be used: This house pays no bribes.\n\n[house rules] What is it for?';

for (const transport of transports) {
  test(`2025, ${transport}: who answers what a hook refuses is asked again, and told why`, async (t) => {
    const peer = await rawPeer(t, transport, 'house-rules');
    const call = await callTool(peer, 'pay', { to: 'Bob', amount: 5 });
    const first = await nextAsk(peer);
    await accept(peer, first.id, { purpose: 'a bribe' });
    const again = await nextAsk(peer);
    assert.notEqual(again.id, first.id);
    assert.equal(again.params.message, BRIBES);
    await accept(peer, again.id, { purpose: 'tea' });
    assert.equal(textOf((await call.reply()).result), 'Paid 5.00 to Bob with ************1111 for tea.');
  });
}

test('2025: when a hook has refused often enough, the call ends and says why; so does the log', async (t) => {
  const server = await startHttp(t, 'house-rules', { args: ['--no-inbox'] });
  const peer = await rawPeer(t, 'http', 'house-rules', { server });
  const call = await callTool(peer, 'pay', { to: 'Bob', amount: 5 });
  for (let i = 0; i < 8; i++) await accept(peer, (await nextAsk(peer)).id, { purpose: 'a bribe' });
  const { result } = await call.reply();
  assert.equal(result.isError, true);
  assert.equal(result._meta.code, 'INVALID_INPUT');
  assert.match(textOf(result), /This house pays no bribes\./);
  await server.said(/level=info event="a hook refused an answer" .*why="This house pays no bribes\."/);
  assert.doesNotMatch(server.stderr(), /nobody could be asked/);
});
