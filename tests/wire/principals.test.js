// Who is who: bearer tokens, and what one principal may not do to another.
import test from 'node:test';
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { connect, rawPeer, startHttp, runOnce, HttpPeer, callTool, nextAsk, accept, resultOf, textOf, initializeMessage, defaultHeaders } from './harness.js';

const ADA = 'ada-token-0123456789abcdef';
const BOB = 'bob-token-0123456789abcdef';

function tokenFile(t, text = `# who may come in\n${ADA} ada admin\n\n${BOB} bob\n`) {
  const folder = mkdtempSync(path.join(tmpdir(), 'nod-tokens-'));
  t.after(() => rmSync(folder, { recursive: true }));
  const file = path.join(folder, 'tokens');
  writeFileSync(file, text, { mode: 0o600 });
  return file;
}

const withTokens = (t) => startHttp(t, 'probe', { args: ['--token-file', tokenFile(t)] });

test('without a token, or with a wrong one, there is 401 and how to authenticate', async (t) => {
  const server = await withTokens(t);
  const attempts = [undefined, 'Bearer wrong-token-0123456789', `Bearer ${ADA}x`, `Bearer ${ADA.slice(0, -1)}`, `Basic ${ADA}`, 'Bearer', `Bearer  `, ADA];
  for (const authorization of attempts)
    for (const method of ['POST', 'GET', 'DELETE']) {
      const response = await fetch(server.url, {
        method,
        headers: { ...defaultHeaders, ...(authorization ? { Authorization: authorization } : {}) },
        body: method === 'POST' ? JSON.stringify(initializeMessage({})) : undefined,
      });
      assert.equal(response.status, 401, `${method} ${authorization}`);
      assert.match(response.headers.get('www-authenticate'), /^Bearer/);
      await response.text();
    }
});

test('the principal is the owner of the token, never what the client says', async (t) => {
  const server = await withTokens(t);
  for (const [token, name] of [[ADA, 'ada'], [BOB, 'bob']]) {
    const session = await connect(t, 'http', 'probe', { server, token, clientInfo: { name: 'root', version: '1' } });
    assert.match(await session.text('whoami'), new RegExp(name));
  }
});

test('two principals are asked at the same time, each their own question', async (t) => {
  const server = await withTokens(t);
  const ada = await connect(t, 'http', 'probe', { server, token: ADA });
  const bob = await connect(t, 'http', 'probe', { server, token: BOB });
  const first = ada.text('ask', { message: 'for ada' });
  const second = bob.text('ask', { message: 'for bob' });
  (await bob.question()).accept({ name: 'Bob' });
  (await ada.question()).accept({ name: 'Ada' });
  assert.equal(await first, 'accept {"name":"Ada"}');
  assert.equal(await second, 'accept {"name":"Bob"}');
});

test("one principal cannot see, answer, take up or end another's session: it is not there", async (t) => {
  const server = await withTokens(t);
  const ada = await rawPeer(t, 'http', 'probe', { server, token: ADA });
  const call = await callTool(ada, 'ask');
  const ask = await nextAsk(ada);

  const bob = new HttpPeer(server.url, { token: BOB });
  t.after(() => bob.close());
  bob.session = ada.session;
  assert.equal((await accept(bob, ask.id, { name: 'Bob' })).status, 404);
  assert.equal((await bob.send({ id: 1, method: 'ping' })).status, 404);
  assert.equal((await bob.send({ method: 'notifications/cancelled', params: { requestId: call.id } })).status, 404);
  assert.equal((await bob.request('GET')).status, 404);
  assert.equal((await bob.request('GET', { headers: { 'Last-Event-ID': call.handle.events[0].id } })).status, 404);
  assert.equal((await bob.request('DELETE')).status, 404);

  await accept(ada, ask.id, { name: 'Ada' });
  assert.equal(textOf((await call.reply()).result), 'accept {"name":"Ada"}');
  assert.equal(JSON.parse(await resultOf(ada, 'counters')).runs, 2);
});

test("an answer from another principal's session is not taken", async (t) => {
  const server = await withTokens(t);
  const ada = await rawPeer(t, 'http', 'probe', { server, token: ADA });
  const bob = await rawPeer(t, 'http', 'probe', { server, token: BOB });
  const call = await callTool(ada, 'ask');
  const ask = await nextAsk(ada);
  await accept(bob, ask.id, { name: 'Bob' });
  assert.equal(JSON.parse(await resultOf(bob, 'counters')).runs, 1);
  await accept(ada, ask.id, { name: 'Ada' });
  assert.equal(textOf((await call.reply()).result), 'accept {"name":"Ada"}');
});

test('the answerer of an approval is the principal', async (t) => {
  const server = await withTokens(t);
  const ada = await connect(t, 'http', 'probe', {
    server,
    token: ADA,
    answer: () => ({ action: 'accept', content: { reason: 'fine' } }),
  });
  assert.match(JSON.parse(await ada.text('approve')).by, /ada/);
});

test('an address that is not loopback is refused without tokens', async () => {
  const refused = await runOnce('probe', ['--http', '0.0.0.0:0']);
  assert.notEqual(refused.code, 0);
  assert.match(refused.stderr, /token/i);
});

test('a token file that is not right is refused, naming the line', async (t) => {
  for (const [text, line] of [
    ['short ada\n', /1/],
    [`${ADA} ada\n${ADA} bob\n`, /2/],
    [`${ADA}\n`, /1/],
  ]) {
    const refused = await runOnce('probe', ['--http', '127.0.0.1:0', '--token-file', tokenFile(t, text)]);
    assert.notEqual(refused.code, 0);
    assert.match(refused.stderr, line);
    assert.ok(!refused.stderr.includes(ADA), 'no token in the log');
  }
  const missing = await runOnce('probe', ['--http', '127.0.0.1:0', '--token-file', '/nonexistent/tokens']);
  assert.notEqual(missing.code, 0);
});

test('tokens, answers and questions are not in the log', async (t) => {
  const server = await startHttp(t, 'probe', { args: ['--token-file', tokenFile(t), '--log', 'debug'] });
  const ada = await connect(t, 'http', 'probe', {
    server,
    token: ADA,
    answer: () => ({ action: 'accept', content: { name: 'Confidential Person' } }),
  });
  await ada.text('ask', { message: 'A private question' });
  await ada.stop();
  await server.stop();
  for (const secret of [ADA, 'Confidential Person', 'A private question'])
    assert.ok(!server.stderr().includes(secret), `${secret} is in the log`);
});
