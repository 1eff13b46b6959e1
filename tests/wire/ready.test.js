// /healthz and /readyz, for monitors and load balancers.
import test from 'node:test';
import assert from 'node:assert/strict';
import { closeSync, openSync, renameSync, statSync, truncateSync, unlinkSync, writeSync } from 'node:fs';
import http from 'node:http';
import path from 'node:path';
import { PATIENCE_MS, accept, callTool, nextAsk, pause, rawPeer, runOnce, startHttp, textOf, within } from './harness.js';
import { Modern, accepted, retryOf, scratchFolder, tokenFile } from './modern.js';
import { stores } from './stores.js';

const at = (server, where) => new URL(where, server.url);

async function look(server, where, options) {
  const response = await fetch(at(server, where), options);
  const text = await response.text();
  return { status: response.status, type: response.headers.get('content-type'), text, body: text ? JSON.parse(text) : null };
}

async function until(server, status) {
  for (const end = Date.now() + PATIENCE_MS; ;) {
    const ready = await look(server, '/readyz');
    if (ready.status === status) return ready;
    assert.ok(Date.now() < end, `still ${ready.status} ${ready.text}`);
    await pause(20);
  }
}

// With a Host of one's own, which fetch does not allow.
function statusFor(server, where, headers) {
  const { hostname, port } = new URL(server.url);
  return new Promise((resolve, reject) => {
    http.get({ hostname, port, path: where, headers }, (response) => resolve(response.resume().statusCode)).on('error', reject);
  });
}

test('a server that can do its work says so, and names its store', async (t) => {
  const file = path.join(scratchFolder(t), 'store.db');
  for (const [args, store] of [[[], 'memory'], [['--store', `sqlite:${file}`], 'sqlite']]) {
    const server = await startHttp(t, 'probe', { args });
    assert.deepEqual(await look(server, '/healthz'), { status: 200, type: 'application/json', text: '{"status":"ok"}', body: { status: 'ok' } });
    const ready = await look(server, '/readyz');
    assert.equal(ready.status, 200);
    assert.deepEqual(ready.body, { status: 'ready', store });
    assert.equal((await look(server, '/readyz', { method: 'HEAD' })).status, 200);
    assert.equal((await fetch(at(server, '/readyz'), { method: 'POST' })).status, 405);
  }
});

test('no token is needed to look, whatever the server is called, but a web page is refused', async (t) => {
  const server = await startHttp(t, 'probe', { args: ['--token-file', tokenFile(t)] });
  for (const where of ['/healthz', '/readyz']) {
    assert.equal(await statusFor(server, where, { Host: '10.1.2.3:8080' }), 200);
    assert.equal(await statusFor(server, where, { Host: 'localhost', Origin: 'http://evil.example' }), 403);
  }
  assert.equal(await statusFor(server, '/mcp', { Host: '10.1.2.3:8080' }), 403);
  const open = await startHttp(t, 'probe');
  assert.equal(await statusFor(open, '/readyz', { Host: 'evil.example' }), 403, 'without tokens it is for this machine alone');
});

test('a server whose file is gone is not ready, acknowledges nothing, and goes on when the file is back', async (t) => {
  const file = path.join(scratchFolder(t), 'store.db');
  const server = await startHttp(t, 'probe', {
    args: ['--store', `sqlite:${file}`], env: { MCP_ELICITATION_SECRET: 'a-secret-for-the-tests-of-readiness-0123' } });
  const client = new Modern(server.url);
  const before = await client.asked('plant', { mark: 'before' });
  renameSync(file, `${file}.away`);
  let told = false;
  const call = client.call('plant', { mark: 'meanwhile' }).finally(() => (told = true));
  const ready = await until(server, 503);
  assert.deepEqual(ready.body, { status: 'not ready', store: 'sqlite', why: 'its file was removed or replaced' });
  assert.ok(!ready.text.includes(file));
  assert.ok(!told, 'nobody is asked what is not stored');
  assert.equal((await look(server, '/healthz')).status, 200, 'the process is alive');
  await server.said(/level=error event="the store failed" store=sqlite/);

  renameSync(`${file}.away`, file);
  await until(server, 200); // by itself: nobody has to ask for anything
  await server.said(/the store works again/);
  const { result, error, text } = await call; // it was tried again, or given up: no question was lost
  assert.ok(result?.resultType === 'input_required' || result?.isError || error, text);
  await client.asked('plant', { mark: 'before' }, retryOf(before, { word: accepted({ word: 'x' }) }));
});

test('a server that was told to stop is not ready while it lets its calls end', async (t) => {
  const peer = await rawPeer(t, 'http', 'probe');
  const call = peer.send({ id: 1, method: 'tools/call', params: { name: 'sleeper', arguments: { ms: 900 } } });
  for (let working = 0; !working;) {
    await peer.send({ id: 2, method: 'tools/call', params: { name: 'counters' } });
    const { result } = await peer.next(({ id }) => id === 2);
    ({ working } = JSON.parse(textOf(result)));
  }
  const stopping = peer.server.stop();
  const ready = await until(peer.server, 503);
  assert.deepEqual(ready.body, { status: 'not ready', store: 'memory', why: 'the server is shutting down' });
  assert.equal((await call).status, 200, 'what ran has ended');
  await stopping;
});

test('past its bound a principal is told so, also after a restart, and an answer makes room', async (t) => {
  const file = path.join(scratchFolder(t), 'store.db');
  const start = () => startHttp(t, 'probe', {
    args: ['--store', `sqlite:${file}`, '--pending-per-principal', '2'],
    env: { MCP_ELICITATION_SECRET: 'a-secret-for-the-tests-of-the-bounds-0123' } });
  let server = await start();
  let client = new Modern(server.url);
  const first = await client.asked('two_rounds');
  await client.asked('two_rounds');
  for (let round = 0; round < 2; round++) {
    const refused = await client.call('two_rounds');
    assert.match(refused.text, /As many questions as one principal may have/);
    await server.stop();
    server = await start();
    client = new Modern(server.url);
  }
  const second = await client.asked('two_rounds', {}, retryOf(first, { first: accepted({ word: 'a' }) }));
  assert.match((await client.call('two_rounds')).text, /As many questions as one principal may have/);
  assert.equal(await client.ended('two_rounds', {}, retryOf(second, { second: accepted({ word: 'b' }) })), 'a b');
  await client.asked('two_rounds');
});

// --- what a store cannot keep is acknowledged to nobody ---

const SECRET = { MCP_ELICITATION_SECRET: 'a-secret-for-the-tests-of-readiness-0123' };

// A question of each era that waits, and what becomes of their answers: the HTTP status of each.
async function questionsOf(t, server) {
  const peer = await rawPeer(t, 'http', 'probe', { server });
  const call = await callTool(peer, 'ask');
  const ask = await nextAsk(peer);
  const modern = new Modern(server.url);
  const asked = await modern.asked('plant', { mark: 'a' });
  return {
    async answers() {
      const [old, young] = await within(PATIENCE_MS, 'both answers are replied to', Promise.all([
        accept(peer, ask.id, { word: 'yes' }),
        modern.call('plant', { mark: 'a' }, retryOf(asked, { word: accepted({ word: 'x' }) })),
      ]));
      return { statuses: [old.status, young.status], young };
    },
    async taken() {
      const { statuses, young } = await this.answers();
      assert.deepEqual(statuses, [202, 200], young.text);
      assert.ok(young.result, young.text);
      assert.ok((await call.reply()).result);
    },
  };
}

for (const [tail, why] of [['-wal', /log \(-wal\)/], ['-shm', /index of its log \(-shm\)/], ['.lock', /lock \(\.lock\)/]])
  test(`11.15: a server whose ${tail} file was removed is not ready, answers get 503, and no second server gets its file`, async (t) => {
    const file = path.join(scratchFolder(t), 'store.db');
    const args = ['--store', `sqlite:${file}`];
    const server = await startHttp(t, 'probe', { args, env: SECRET });
    const questions = await questionsOf(t, server);
    unlinkSync(file + tail);
    const ready = await until(server, 503);
    assert.match(ready.body.why, why);
    assert.ok(!ready.text.includes(file));
    const { statuses } = await questions.answers();
    assert.deepEqual(statuses, [503, 503]);
    const second = await runOnce('probe', ['--http', '127.0.0.1:0', ...args], SECRET);
    assert.notEqual(second.code, 0);
    assert.match(second.stderr, /is in use/);
    assert.equal((await look(server, '/readyz')).status, 503, 'nobody has mended it');

    await server.stop();
    const again = await startHttp(t, 'probe', { args, env: SECRET });
    assert.equal((await look(again, '/readyz')).status, 200);
    await new Modern(again.url).asked('plant', { mark: 'b' });
  });

test('11.15: the answer that meets the failure first is told 503 too, in seconds', async (t) => {
  const file = path.join(scratchFolder(t), 'store.db');
  const args = ['--store', `sqlite:${file}`];
  const server = await startHttp(t, 'probe', { args, env: SECRET });
  const questions = await questionsOf(t, server);
  renameSync(file, `${file}.away`);
  const { statuses, young } = await questions.answers();
  assert.equal(statuses[0], 503);
  assert.ok(statuses[1] === 503 || young.result.resultType === 'input_required', young.text);
  renameSync(`${file}.away`, file);
  await until(server, 200);
  await questions.taken();
});

test('11.15: a damaged file is not ready, and answers get 503', async (t) => {
  const file = path.join(scratchFolder(t), 'store.db');
  const args = ['--store', `sqlite:${file}`];
  const server = await startHttp(t, 'probe', { args, env: SECRET });
  const questions = await questionsOf(t, server);
  const { size } = statSync(file);
  const fd = openSync(file, 'r+');
  for (let at = 4096; at < size; at += 4096) writeSync(fd, Buffer.alloc(4096, 0xa5), 0, 4096, at);
  closeSync(fd);
  truncateSync(`${file}-wal`, 0); // what is in the log would still be read from there
  await new Modern(server.url).call('plant', { mark: 'c' }); // whatever is tried next meets it
  assert.match((await until(server, 503)).body.why, /damaged/);
  const { statuses } = await questions.answers();
  assert.deepEqual(statuses, [503, 503]);
});

test('11.15: a Redis at its maxmemory is not ready, answers get 503, and it goes on when there is room', async (t) => {
  const redis = await stores.find(({ name }) => name === 'redis').create(t);
  const server = await startHttp(t, 'probe', { args: ['--store', redis.address], env: SECRET });
  const questions = await questionsOf(t, server);
  await redis.say('CONFIG', 'SET', 'maxmemory', '1');
  const ready = await until(server, 503);
  assert.equal(ready.body.store, 'redis');
  assert.match(ready.body.why, /maxmemory/);
  const { statuses } = await questions.answers();
  assert.deepEqual(statuses, [503, 503]);
  assert.equal((await look(server, '/readyz')).status, 503);
  await redis.say('CONFIG', 'SET', 'maxmemory', '0');
  await until(server, 200);
  await questions.taken();
});

test('a server of tests that is not listed is named, and waited for by nobody', async (t) => {
  await assert.rejects(startHttp(t, 'no-such-server'), /there is no program no-such-server/);
});
