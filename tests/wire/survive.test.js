// A client of the 2025 era comes back after its server was killed: the session, the questions and the results
// are there, and nothing comes twice.
import test from 'node:test';
import assert from 'node:assert/strict';
import path from 'node:path';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { DatabaseSync } from 'node:sqlite';
import { spawn } from 'node:child_process';
import {
  startHttp, rawPeer, callTool, nextAsk, accept, resultOf, textOf, pause, within, program, environment, PATIENCE_MS,
} from './harness.js';

const SECRET = 'a secret that is surely long enough for this';

function folder(t) {
  const made = mkdtempSync(path.join(tmpdir(), 'nod-survive-'));
  t.after(() => rmSync(made, { recursive: true, force: true }));
  return made;
}

// A server whose calls are in a file, and that can be killed and started again.
async function lasting(t, extra = []) {
  const home = folder(t);
  const args = ['--store', `sqlite:${path.join(home, 'nod.db')}`, ...extra];
  const start = () => startHttp(t, 'probe', { env: { MCP_ELICITATION_SECRET: SECRET }, args });
  const house = { home, file: path.join(home, 'nod.db'), server: await start() };
  house.peer = async (options) => rawPeer(t, 'http', 'probe', { server: house.server, ...options });
  house.again = async (peer, how = 'kill') => {
    await house.server[how]();
    house.server = await start();
    if (peer) peer.url = house.server.url;
  };
  return house;
}

const idsOf = (handle) => handle.events.filter((event) => event.id !== undefined).map((event) => event.id);
const messagesOf = (handle) => handle.events.filter((event) => event.data).map((event) => JSON.parse(event.data));
const resume = (peer, event) => peer.request('GET', { headers: { 'Last-Event-ID': event }, stream: 'resumed' });
const ended = (handle) => within(PATIENCE_MS, 'the stream ends', handle.finished);

for (const how of ['kill', 'stop']) {
  test(`${how}: who has seen the question answers it afterwards, and is not asked again`, async (t) => {
    const house = await lasting(t);
    const peer = await house.peer();
    const call = await callTool(peer, 'ask');
    const ask = await nextAsk(peer);
    await house.again(peer, how);

    const back = await resume(peer, idsOf(call.handle).at(-1));
    assert.equal(back.status, 200);
    await accept(peer, ask.id, { name: 'Ada' });
    assert.equal(textOf((await call.reply()).result), 'accept {"name":"Ada"}');
    assert.equal(await ended(back), 'ended');
    assert.deepEqual(messagesOf(back).map((message) => message.id), [call.id]);
  });
}

test('who has only the first event is sent the question again, under the same id', async (t) => {
  const house = await lasting(t);
  const peer = await house.peer();
  const call = await callTool(peer, 'ask');
  const ask = await nextAsk(peer);
  await house.again(peer);

  const back = await resume(peer, idsOf(call.handle)[0]);
  const same = await nextAsk(peer);
  assert.equal(same.id, ask.id);
  assert.deepEqual(idsOf(back), idsOf(call.handle), 'its own id first, and then under the same event id');
  await accept(peer, same.id, { name: 'Ada' });
  assert.equal(textOf((await call.reply()).result), 'accept {"name":"Ada"}');
});

test('an answer is taken before anybody has come back for the call, and the result waits', async (t) => {
  const house = await lasting(t);
  const peer = await house.peer();
  const call = await callTool(peer, 'ask');
  const ask = await nextAsk(peer);
  await house.again(peer);

  const posted = await accept(peer, ask.id, { name: 'Ada' });
  assert.equal(posted?.status ?? 202, 202);
  for (let i = 0; i < 200; i++) {
    if (JSON.parse(await resultOf(peer, 'counters')).runs) break;
    await pause(20);
  }
  await house.again(peer); // once more, with the result in the store
  const back = await resume(peer, idsOf(call.handle).at(-1));
  assert.equal(textOf((await call.reply()).result), 'accept {"name":"Ada"}');
  assert.equal(await ended(back), 'ended');
  assert.equal(JSON.parse(await resultOf(peer, 'counters')).runs, 0, 'it was not run again');
});

// How many questions the store has, those that were answered too.
function stored(house) {
  const database = new DatabaseSync(house.file, { readOnly: true, timeout: PATIENCE_MS });
  const { count } = database.prepare('SELECT count(*) AS count FROM asks').get();
  database.close();
  return count;
}

// The client answers before it comes back for its stream, so the next question is stored while it is away.
async function answerAway(house, peer, ask, word) {
  const before = stored(house);
  await accept(peer, ask.id, { word });
  for (const end = Date.now() + PATIENCE_MS; stored(house) === before && Date.now() < end;) await pause(20);
  assert.equal(stored(house), before + 1);
}

for (const meta of [undefined, { progressToken: 'p' }]) {
  test(`a question that was stored while its client was away is asked once, however often the server dies${meta ? ' (with progress)' : ''}`, async (t) => {
    const house = await lasting(t);
    const peer = await house.peer();
    const call = await callTool(peer, 'two_rounds', {}, meta);
    const first = await nextAsk(peer);
    await house.again(peer);
    await answerAway(house, peer, first, 'one');

    const back = await resume(peer, idsOf(call.handle).at(-1));
    const second = await nextAsk(peer);
    for (let i = 0, last = back; i < 2; i++) {
      await house.again(peer);
      const seen = idsOf(last).at(-1);
      last = await resume(peer, seen);
      assert.equal((await peer.send({ id: `ping${i}`, method: 'ping' })).status, 200);
      await pause(200); // in which a question would have come again
      assert.deepEqual(messagesOf(last).filter((message) => message.id === second.id), [], 'it is not asked again');
    }
    await accept(peer, second.id, { word: 'two' });
    assert.equal(textOf((await call.reply()).result), 'one two');
  });
}

test('a question that was stored while its client was away comes to it whatever it has seen, also after several of them', async (t) => {
  const house = await lasting(t);
  const peer = await house.peer();
  const call = await callTool(peer, 'words', { count: 6 });
  let handle = call.handle;
  const places = [];
  for (let i = 0; i < 6; i++) {
    const ask = await nextAsk(peer);
    const { id } = handle.events.find((event) => event.data && JSON.parse(event.data).id === ask.id);
    places.push(Number(id.slice(id.lastIndexOf('_') + 1)));
    if (i % 3 === 2) { // now and then it was there all the time
      await accept(peer, ask.id, { word: `w${i}` });
      continue;
    }
    await house.again(peer);
    await (i < 5 ? answerAway(house, peer, ask, `w${i}`) : accept(peer, ask.id, { word: `w${i}` }));
    handle = await resume(peer, id);
  }
  assert.deepEqual(places, places.map((_, i) => (i + 1) * 65536), 'each question has a place of its own');
  assert.equal(textOf((await call.reply()).result), 'w0 w1 w2 w3 w4 w5');
});

test('an answer that was acknowledged is not lost, whenever the server dies', async (t) => {
  const house = await lasting(t);
  const peer = await house.peer();
  for (let i = 0; i < 5; i++) {
    const call = await callTool(peer, 'ask');
    const ask = await nextAsk(peer);
    await accept(peer, ask.id, { name: `n${i}` });
    await house.again(peer);
    const seen = idsOf(call.handle);
    if (messagesOf(call.handle).some((message) => message.id === call.id)) continue; // it was faster
    await resume(peer, seen.at(-1));
    assert.equal(textOf((await call.reply()).result), `accept {"name":"n${i}"}`);
  }
});

test('a result is there for whoever comes back, and nothing comes behind it', async (t) => {
  const house = await lasting(t);
  const peer = await house.peer();
  const call = await callTool(peer, 'ask');
  await accept(peer, (await nextAsk(peer)).id, { name: 'Ada' });
  const result = (await call.reply()).result;
  await ended(call.handle);
  await house.again(peer);

  const ids = idsOf(call.handle);
  const back = await resume(peer, ids.at(-2));
  await ended(back);
  assert.deepEqual(messagesOf(back), [{ jsonrpc: '2.0', id: call.id, result }]);
  assert.deepEqual(idsOf(back), ids.slice(-2), 'the id that was seen, and the event it was');
  const behind = await resume(peer, ids.at(-1));
  await ended(behind);
  assert.deepEqual(behind.events, []);
});

test('a session that was ended is unknown afterwards; one that was not is as it was', async (t) => {
  const house = await lasting(t);
  const peer = await house.peer();
  const other = await house.peer();
  await other.send({ id: 'level', method: 'logging/setLevel', params: { level: 'error' } });
  await pause(50);
  assert.equal((await peer.request('DELETE')).status, 204);
  await house.again(peer);
  other.url = house.server.url;
  assert.equal((await peer.send({ id: 1, method: 'ping' })).status, 404);
  assert.equal((await other.send({ id: 2, method: 'ping' })).status, 200);
});

test('what belongs to somebody else is not to be had', async (t) => {
  const home = folder(t);
  const tokens = path.join(home, 'tokens');
  writeFileSync(tokens, 'token-of-ann-0123456789abcdef ann\ntoken-of-bob-0123456789abcdef bob\n', { mode: 0o600 });
  const house = await lasting(t, ['--token-file', tokens]);
  const ann = await house.peer({ token: 'token-of-ann-0123456789abcdef' });
  const bob = await house.peer({ token: 'token-of-bob-0123456789abcdef' });
  const call = await callTool(ann, 'ask');
  const ask = await nextAsk(ann);
  await house.again(ann);
  bob.url = house.server.url;

  assert.equal((await resume(bob, idsOf(call.handle)[0])).status, 400, 'the call of another session');
  await accept(bob, ask.id, { name: 'Eve' });
  const thief = { ...bob.headers(), 'Mcp-Session-Id': ann.session };
  assert.equal((await bob.request('GET', { headers: thief })).status, 404, 'the session of another principal');
  await resume(ann, idsOf(call.handle).at(-1));
  await accept(ann, ask.id, { name: 'Ada' });
  assert.equal(textOf((await call.reply()).result), 'accept {"name":"Ada"}');
});

test('an event id that was never given out is refused', async (t) => {
  const house = await lasting(t);
  const peer = await house.peer();
  for (const id of ['x', '_', '_1', 'AAAAAAAAAAAAAAAAAAAAAA_1', 'AAAAAAAAAAAAAAAAAAAAAA_99999999999', `${'A'.repeat(5000)}_1`])
    assert.equal((await resume(peer, id)).status, 400, id);
});

test('what was asked over a pipe is withdrawn at the next start: nobody can come back there', async (t) => {
  const file = path.join(folder(t), 'nod.db');
  const start = () => {
    const child = spawn(program('probe'), ['--store', `sqlite:${file}`], { env: environment({}), stdio: ['pipe', 'pipe', 'ignore'] });
    return { child, ended: new Promise((resolve) => child.once('close', (code) => resolve(code))) };
  };
  const talk = (child, ...messages) =>
    messages.forEach((message) => child.stdin.write(JSON.stringify({ jsonrpc: '2.0', ...message }) + '\n'));
  const hello = {
    id: 0, method: 'initialize',
    params: { protocolVersion: '2025-11-25', capabilities: { elicitation: {} }, clientInfo: { name: 'pipe', version: '1' } },
  };
  const first = start();
  let heard = '';
  const asked = new Promise((resolve) => first.child.stdout.on('data', (data) => {
    heard += data;
    if (heard.includes('elicitation/create')) resolve();
  }));
  talk(first.child, hello, { method: 'notifications/initialized' }, { id: 1, method: 'tools/call', params: { name: 'confirm', arguments: {} } });
  await within(PATIENCE_MS, 'it asks', asked);
  first.child.kill('SIGKILL');
  await first.ended;

  const states = () => {
    const database = new DatabaseSync(file, { readOnly: true, timeout: PATIENCE_MS }); // a start locks the file for a moment
    const rows = database.prepare('SELECT state FROM asks').all().map((row) => row.state);
    database.close();
    return rows;
  };
  assert.deepEqual(states(), [0], 'pending');
  const second = start();
  talk(second.child, hello);
  for (const end = Date.now() + PATIENCE_MS; states()[0] === 0 && Date.now() < end;) await pause(20);
  assert.deepEqual(states(), [5], 'withdrawn');
  second.child.stdin.end();
  assert.equal(await second.ended, 0);
});
