// Every symptom of docs/troubleshooting.md, reproduced: what the server says has to stand on the page, word for word, under
// the heading of the test. If you change such a message, change the page with it.
import test from 'node:test';
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { once } from 'node:events';
import http from 'node:http';
import path from 'node:path';
import { PATIENCE_MS, accept, callTool, defaultHeaders, freePort, initializeMessage, nextAsk, pause, rawPeer, runOnce, startHttp, textOf, within, withoutInbox } from './harness.js';
import { ADA, BOB, Modern, deedsFile, retryOf, scratchFolder, tokenFile, word } from './modern.js';
import { LARGE, onSmallDisk } from './small-disk.js';
import { stores } from './stores.js';

withoutInbox();

const SECRET = { MCP_ELICITATION_SECRET: 'a-secret-for-the-tests-of-trouble-0123456789' };

// --- the page ---

const smooth = (text) => text.replaceAll(/\s+/g, ' ');
const page = readFileSync(new URL('../../docs/troubleshooting.md', import.meta.url), 'utf8');
const sections = new Map(page.split(/^## /m).slice(1).map((part) => [part.slice(0, part.indexOf('\n')), smooth(part)]));
const reproduced = new Set();

// `says(text, [from, to]...)`: the section has this; what differs each time is exchanged for what the page has in its place.
function symptom(heading, body) {
  reproduced.add(heading);
  test(heading, async (t) => {
    assert.ok(sections.has(heading), `docs/troubleshooting.md has a section "${heading}"`);
    await body(t, (text, ...pairs) => {
      const said = smooth(pairs.reduce((all, [from, to]) => all.replaceAll(from, to), text));
      assert.ok(sections.get(heading).includes(said), `docs/troubleshooting.md, "${heading}", lacks what the server says: ${said}`);
    });
  });
}

// Reproduced by another file of tests, which the section names.
function symptomIn(heading, file) {
  reproduced.add(heading);
  test(heading, () => assert.match(sections.get(heading) ?? '', new RegExp(`\`${file}\``)));
}

test('the page has no symptom that is not reproduced', () => assert.deepEqual([...sections.keys()].sort(), [...reproduced].sort()));

// --- requests ---

// With headers of one's own, Host among them, which fetch does not allow. Resolves to { status, headers, text, said }.
function ask(url, { method = 'POST', headers = {}, body = '' } = {}) {
  return new Promise((resolve, reject) => {
    const request = http.request(url, { method, headers }, async (response) => {
      let text = '';
      for await (const part of response) text += part;
      let said;
      try {
        const json = JSON.parse(text);
        said = json.error?.message ?? json.error;
      } catch {
        said = text;
      }
      resolve({ status: response.statusCode, headers: response.headers, text, said });
    });
    request.on('error', reject).end(body);
  });
}

const at = (server, where) => new URL(where, server.url);
const post = (server, headers = {}) => ask(server.url, { headers: { ...defaultHeaders, ...headers }, body: JSON.stringify(initializeMessage({})) });

async function untilReady(server, status) {
  for (const end = Date.now() + PATIENCE_MS; ;) {
    const ready = await ask(at(server, '/readyz'), { method: 'GET' });
    if (ready.status === status) return JSON.parse(ready.text);
    assert.ok(Date.now() < end, `still ${ready.status} ${ready.text}`);
    await pause(20);
  }
}

// --- asking ---

symptom('Nobody could be asked', async (t, says) => {
  const server = await startHttp(t, 'probe');
  const peer = await rawPeer(t, 'http', 'probe', { server, capabilities: {} });
  const { result } = await (await callTool(peer, 'ask')).reply();
  assert.equal(result._meta.code, 'ELICITATION_NOT_SUPPORTED');
  says('ELICITATION_NOT_SUPPORTED');
  says(textOf(result));
  assert.equal(textOf((await (await callTool(peer, 'confirm')).reply()).result), 'no', 'nod_confirm is a plain no');
  const modern = await new Modern(server.url, { capabilities: {} }).call('ask');
  assert.equal(modern.status, 400);
  assert.equal(modern.error.code, -32021);
  says('-32021');
  says(modern.error.message);
  says(JSON.stringify(modern.error.data.requiredCapabilities));
});

symptom('The call seems to hang', async (t, says) => {
  const peer = await rawPeer(t, 'http', 'probe', { env: { PROBE_TTL_MS: '300' } });
  const { result } = await (await callTool(peer, 'ask')).reply(); // nobody answers
  assert.equal(result._meta.code, 'ELICITATION_TIMEOUT');
  says('ELICITATION_TIMEOUT');
  says(textOf(result));
});

symptomIn('The client gives up after 60 seconds', 'tests/wire/clients.test.js');

// --- HTTP ---

symptom('401', async (t, says) => {
  const server = await startHttp(t, 'probe', { args: ['--token-file', tokenFile(t)] });
  const without = await post(server);
  const wrong = await post(server, { Authorization: 'Bearer not-a-token-of-anybody' });
  assert.deepEqual([without.status, wrong.status], [401, 401]);
  says(`WWW-Authenticate: ${without.headers['www-authenticate']}`);
  says(`WWW-Authenticate: ${wrong.headers['www-authenticate']}`);
  for (const { said } of [without, wrong]) says(said);
});

symptom('403', async (t, says) => {
  const server = await startHttp(t, 'probe');
  const host = await post(server, { Host: 'mcp.example.org' });
  const origin = await post(server, { Origin: 'https://app.example.com' });
  assert.deepEqual([host.status, origin.status], [403, 403]);
  says(host.said);
  says(origin.said);
  const allowed = await startHttp(t, 'probe', { args: ['--public-url', 'https://mcp.example.org', '--allow-origin', 'https://app.example.com'] });
  assert.equal((await post(allowed, { Host: 'mcp.example.org' })).status, 200);
  assert.equal((await post(allowed, { Origin: 'https://app.example.com' })).status, 200);
  const file = path.join(scratchFolder(t), 'tokens');
  writeFileSync(file, `${ADA} ada answer\n`, { mode: 0o600 });
  const role = await post(await startHttp(t, 'probe', { args: ['--token-file', file] }), { Authorization: `Bearer ${ADA}` });
  assert.equal(role.status, 403);
  says(role.said);
});

symptom('404', async (t, says) => {
  const server = await startHttp(t, 'probe', { args: ['--token-file', tokenFile(t)] });
  const path_ = await ask(at(server, '/sse'), { method: 'GET', headers: { Authorization: `Bearer ${ADA}` } });
  assert.equal(path_.status, 404);
  says(path_.said);
  const peer = await rawPeer(t, 'http', 'probe', { server, token: ADA });
  const session = { 'Mcp-Session-Id': peer.session, 'MCP-Protocol-Version': '2025-11-25' };
  const ping = { body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'ping' }) };
  assert.equal((await ask(server.url, { ...ping, headers: { ...defaultHeaders, ...session, Authorization: `Bearer ${ADA}` } })).status, 200);
  const others = await ask(server.url, { ...ping, headers: { ...defaultHeaders, ...session, Authorization: `Bearer ${BOB}` } });
  assert.equal(others.status, 404);
  says(others.said);
});

symptom('404 after a restart', async (t, says) => {
  const file = path.join(scratchFolder(t), 'nod.db');
  for (const [args, status] of [[[], 404], [['--store', `sqlite:${file}`], 200]]) {
    const first = await startHttp(t, 'probe', { args });
    const peer = await rawPeer(t, 'http', 'probe', { server: first });
    await first.stop();
    const second = await startHttp(t, 'probe', { args });
    const reply = await ask(second.url, { headers: { ...defaultHeaders, 'Mcp-Session-Id': peer.session }, body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'ping' }) });
    assert.equal(reply.status, status);
    if (status === 404) says(reply.said);
  }
});

symptom('405', async (t, says) => {
  const server = await startHttp(t, 'probe');
  const put = await ask(server.url, { method: 'PUT' });
  const modern = await ask(server.url, { method: 'GET', headers: { ...defaultHeaders, 'MCP-Protocol-Version': '2026-07-28' } });
  assert.deepEqual([put.status, modern.status], [405, 405]);
  says(`Allow: ${put.headers.allow}`);
  says(`Allow: ${modern.headers.allow}`);
  for (const { said } of [put, modern]) says(said);
});

symptom('406 or 415', async (t, says) => {
  const server = await startHttp(t, 'probe');
  const accepts = await ask(server.url, { headers: { ...defaultHeaders, Accept: 'application/json' }, body: '{}' });
  const type = await ask(server.url, { headers: { ...defaultHeaders, 'Content-Type': 'text/plain' }, body: '{}' });
  assert.deepEqual([accepts.status, type.status], [406, 415]);
  says(accepts.said);
  says(type.said);
});

symptom('409: the answer came too late', async (t, says) => {
  const file = path.join(scratchFolder(t), 'nod.db');
  const peer = await rawPeer(t, 'http', 'probe', { args: ['--store', `sqlite:${file}`], env: SECRET });
  const call = await callTool(peer, 'ask', { ttl: 300 });
  const { id } = await nextAsk(peer);
  assert.equal((await call.reply()).result._meta.code, 'ELICITATION_TIMEOUT');
  const late = await accept(peer, id, { name: 'Ada' });
  assert.equal(late.status, 409);
  says(late.json.error.message);
});

symptom('429', async (t, says) => {
  const server = await startHttp(t, 'probe', { args: ['--token-file', tokenFile(t), '--sessions-per-principal', '1'] });
  const token = { Authorization: `Bearer ${ADA}` };
  assert.equal((await post(server, token)).status, 200);
  const second = await post(server, token);
  assert.equal(second.status, 429);
  says(second.said);
  assert.ok(second.headers['retry-after']);
  assert.equal((await post(server, { Authorization: `Bearer ${BOB}` })).status, 200);
});

// --- requestState ---

symptom('Invalid or expired requestState', async (t, says) => {
  const file = path.join(scratchFolder(t), 'nod.db');
  const start = (env) => startHttp(t, 'probe', { args: ['--store', `sqlite:${file}`], env });
  const first = await start({});
  says('no secret is set');
  await first.said(/no secret is set/);
  const modern = new Modern(first.url);
  const asked = await modern.asked('two_rounds');
  const retry = retryOf(asked, { first: word('a') });
  const other = await modern.call('pair', {}, retry); // another tool
  assert.equal(other.status, 400);
  says(other.error.message);
  await first.stop();
  const second = await start({});
  modern.url = second.url;
  const restarted = await modern.call('two_rounds', {}, retry); // its key went with the first process
  assert.equal(restarted.error.message, other.error.message);

  const sealed = await startHttp(t, 'probe', { env: SECRET });
  modern.url = sealed.url;
  const stranger = await modern.asked('two_rounds');
  modern.url = (await startHttp(t, 'probe', { env: SECRET })).url; // the same secret, another store
  const elsewhere = await modern.call('two_rounds', {}, retryOf(stranger, { first: word('a') }));
  assert.equal(elsewhere.status, 400);
  says(elsewhere.error.message);
});

// --- handlers ---

symptom('HANDLER_BUG', async (t, says) => {
  const peer = await rawPeer(t, 'http', 'probe');
  for (const tool of ['says_nothing', 'reads_what_is_not_there', 'pends_for_nothing']) {
    const { result } = await (await callTool(peer, tool)).reply();
    assert.equal(result.isError, true);
    assert.equal(result._meta.code, 'HANDLER_BUG', textOf(result));
    says(textOf(result), [tool, 'my_tool']);
  }
});

symptomIn('HANDLER_CRASHED', 'tests/chaos/crashing.test.js');

symptom('NOT_DETERMINISTIC', async (t, says) => {
  const peer = await rawPeer(t, 'http', 'probe');
  const call = await callTool(peer, 'changes_its_mind');
  await accept(peer, (await nextAsk(peer)).id, { word: 'w' });
  const { result } = await call.reply();
  assert.equal(result._meta.code, 'NOT_DETERMINISTIC');
  says(textOf(result), ['changes_its_mind', 'my_tool'], ["'mind'", "'confirm'"]);
});

symptom('A call ends after an upgrade', async (t, says) => {
  const file = path.join(scratchFolder(t), 'nod.db');
  const deeds = deedsFile(t);
  const modern = new Modern('');
  const become = async (env) => {
    const server = await startHttp(t, 'probe', { args: ['--store', `sqlite:${file}`], env: { PROBE_FILE: deeds.file, ...SECRET, ...env } });
    modern.url = server.url;
    return server;
  };
  const old = await become({});
  const [changed, gone] = [await modern.asked('renewed', { for: 'a' }), await modern.asked('renewed', { for: 'b' })];
  await old.stop();
  const young = await become({ PROBE_VERSION: '2' });
  const { result } = await modern.call('renewed', { for: 'a' }, retryOf(changed, { word: word('w') }));
  assert.equal(result._meta.code, 'TOOL_CHANGED');
  assert.ok(result._meta.errorId, 'and the log has it, as every failed call');
  says('TOOL_CHANGED');
  says(textOf(result), ['renewed', 'my_tool']);
  await young.stop();
  await become({ PROBE_WITHOUT: '1' });
  const reply = await modern.call('renewed', { for: 'b' }, retryOf(gone, { word: word('w') }));
  says('TOOL_GONE');
  says(reply.error.message, ['renewed', 'my_tool']);
  assert.deepEqual(deeds.lines(), []);
});

// --- the store ---

symptom('503, or /readyz says "not ready"', async (t, says) => {
  const small = await onSmallDisk(t, SECRET);
  if (small) {
    const modern = new Modern(small.url);
    await modern.asked('two_rounds');
    small.fill();
    const begun = modern.call('two_rounds', LARGE).catch((error) => error); // the write that finds no room
    const full = await untilReady(small, 503);
    says(full.why);
    small.free();
    await untilReady(small, 200);
    await begun;
  }

  const redis = await stores.find(({ name }) => name === 'redis').create(t);
  const server = await startHttp(t, 'probe', { args: ['--store', redis.address], env: SECRET });
  const peer = await rawPeer(t, 'http', 'probe', { server });
  await callTool(peer, 'ask');
  const { id } = await nextAsk(peer);
  await redis.say('CONFIG', 'SET', 'maxmemory', '1');
  const refused = await untilReady(server, 503);
  says(refused.why);
  const answer = await accept(peer, id, { name: 'Ada' });
  assert.equal(answer.status, 503);
  says(answer.json.error.message);
  await redis.say('CONFIG', 'SET', 'maxmemory', '0');
  await untilReady(server, 200);
  assert.equal((await accept(peer, id, { name: 'Ada' })).status, 202, 'nothing was lost');
});

symptom('The server does not start', async (t, says) => {
  const file = path.join(scratchFolder(t), 'nod.db');
  const owner = await startHttp(t, 'probe', { args: ['--store', `sqlite:${file}`] });
  const { port } = new URL(owner.url);
  const spare = await freePort();
  const whyOf = async (args, env, pattern = / why="((?:[^"\\]|\\.)*)"/) => {
    const { code, stderr } = await runOnce('probe', args, env);
    assert.equal(code, 1, stderr);
    const line = stderr.split('\n').find((text) => /level=error/.test(text));
    assert.ok(line, stderr);
    return (pattern.exec(line)?.[1] ?? / event="([^"]+)"/.exec(line)[1]).replaceAll('\\"', '"');
  };
  says(await whyOf(['--http', '0', '--store', `sqlite:${file}`]), [file, '/var/lib/nod/nod.db'], [/process \d+/.exec(await whyOf(['--http', '0', '--store', `sqlite:${file}`]))[0], 'process 4711']);
  const event = / event="([^"]+)"/;
  says(await whyOf(['--http', `127.0.0.1:${port}`], undefined, event));
  says(await whyOf(['--http', `unix:${path.join(scratchFolder(t), 'missing', 'nod.sock')}`], undefined, event));
  says(await whyOf(['--http', '0.0.0.0:0']));
  says(await whyOf(['--http', '0'], { MCP_ELICITATION_SECRET: 'too short' }));
  const sealed = ['--store', `sqlite:${path.join(scratchFolder(t), 'sealed.db')}`];
  await (await startHttp(t, 'probe', { args: sealed, env: SECRET })).stop();
  const asOnPage = (text) => text.replace(/key id [0-9a-f]{8}/, 'key id 1f2e3d4c').replace(/are: [0-9a-f]{8}/, 'are: 99aabbcc');
  says(asOnPage(await whyOf(['--http', '0', ...sealed], { MCP_ELICITATION_SECRET: 'another-secret-for-the-tests-of-trouble-012345' })));
  says(asOnPage(await whyOf(['--http', '0', ...sealed])));
  says(await whyOf(['--http', '0', '--store', `redis://127.0.0.1:${spare}`]), [String(spare), '6379']);
});

symptom('A webhook does not arrive', async (t, says) => {
  const receiver = http.createServer((request, response) => response.writeHead(500).end()).listen(0, '127.0.0.1');
  await once(receiver, 'listening');
  t.after(() => {
    receiver.close();
    receiver.closeAllConnections();
  });
  const { port } = receiver.address();
  const target = `127.0.0.1:${port}`;
  for (const [host, ...args] of [[`localhost:${port}`], [target, '--webhook-allow', target]]) {
    const env = { NOD_WEBHOOK_SECRET: `whsec_${Buffer.alloc(32).toString('base64')}` };
    const server = await startHttp(t, 'probe', { args: ['--webhook', `http://${host}/`, ...args], env });
    await new Modern(server.url).call('ask', { message: 'Who?' });
    const line = await server.said(/webhook cannot be delivered/);
    says(/ event="([^"]+)"/.exec(line)[1]);
    says(/ why="([^"]+)"/.exec(line)[1].replace('::1', '127.0.0.1')); // localhost may be either
  }
});

symptom('The clock is wrong', async (t, says) => {
  const redis = await stores.find(({ name }) => name === 'redis').create(t);
  const server = await startHttp(t, 'probe', { args: ['--store', redis.address], env: { PROBE_CLOCK_AHEAD_MS: '3600000', ...SECRET } });
  const line = await within(PATIENCE_MS, 'it says so', server.said(/the clock of this node is not the store's/));
  says(/event="([^"]+)"/.exec(line)[1]);
  const modern = new Modern(server.url);
  const asked = await modern.asked('two_rounds');
  await modern.asked('two_rounds', {}, retryOf(asked, { first: word('a') })); // and it harms nobody
});
