// TLS by nginx, as docs/deploy.md has it: a real nginx in front of a real server, and clients that only know the public
// name. (Calls of nodes behind one nginx are in tests/chaos/nodes.test.js; here are their pages.)
import test from 'node:test';
import assert from 'node:assert/strict';
import https from 'node:https';
import path from 'node:path';
import { writeFileSync } from 'node:fs';
import { runNginx } from '../chaos/nginx.js';
import { connect, freePort, pause, startHttp } from '../wire/harness.js';
import { ADA, Modern, retryOf, scratchFolder } from '../wire/modern.js';
import { startRedis } from '../chaos/house.js';
import { certificate, fetchOver } from '../wire/tls.js';
import { blockOf, exchange } from './page.js';

const HEADING = 'TLS by nginx';
const NAME = 'mcp.example.org';

// The options of the page's command, with what this test has exchanged.
function optionsOf(...pairs) {
  const [, ...args] = exchange(blockOf(HEADING, 'sh'), ['\\\n', ''], ...pairs).trim().split(/ +/);
  return args;
}

test('a client that knows the public name is asked through nginx, waits past a heartbeat, and is logged by its address', async (t) => {
  const folder = scratchFolder(t);
  const { cert, key, ca } = certificate(folder, 'tls', `DNS:${NAME}`);
  const tokens = path.join(folder, 'tokens');
  writeFileSync(tokens, `${ADA} ada\n`, { mode: 0o600 });
  const [inner, outer] = [await freePort(), await freePort()];
  const server = await startHttp(t, 'probe', { env: { PROBE_HEARTBEAT_MS: '100' },
    args: [...optionsOf(['127.0.0.1:8080', `127.0.0.1:${inner}`], ['/etc/nod/tokens', tokens], ['/var/lib/nod', folder]), '--log', 'debug'] });

  const agent = new https.Agent({ ca, lookup: (_, options, done) => (options.all ? done(null, [{ address: '127.0.0.1', family: 4 }]) : done(null, '127.0.0.1', 4)) });
  t.after(() => agent.destroy());
  const toNginx = fetchOver(https.request, { agent });
  const url = `https://${NAME}:${outer}/mcp`;
  const site = exchange(blockOf(HEADING, 'nginx'), ['listen 443 ssl;', `listen 127.0.0.1:${outer} ssl;`], ['/etc/nod/tls.crt', cert], ['/etc/nod/tls.key', key],
    ['http://127.0.0.1:8080', `http://127.0.0.1:${inner}`]);
  await runNginx(t, site, () => toNginx(url).then(() => true, () => false));

  assert.equal((await toNginx(new URL('/readyz', url))).status, 200);
  // This machine is a trusted proxy here, so what it says itself is believed as well.
  const stranger = { Authorization: 'Bearer not-a-token-of-anybody', 'X-Forwarded-For': '203.0.113.9' };
  assert.equal((await toNginx(url, { method: 'POST', headers: stranger })).status, 401);
  await server.said(/event="token refused" address=203\.0\.113\.9/);
  assert.equal((await toNginx(url, { method: 'POST', headers: { Authorization: `Bearer ${ADA}`, Origin: 'https://evil.example' } })).status, 403);

  const session = await connect(t, 'http', 'probe', { server: { url, stderr: server.stderr }, token: ADA, fetch: toNginx });
  const beats = [];
  const call = session.text('ask', { message: 'Who?' }, { onprogress: ({ progress }) => beats.push(progress) });
  const question = await session.question(); // it came through at once: nothing is buffered on the way
  while (beats.length < 3) await pause(20);
  question.accept({ name: 'Ada' });
  assert.equal(await call, 'accept {"name":"Ada"}');
});

test('a page that one node asks for is opened and answered at the public name, whichever node has it', async (t) => {
  const NODES = 'Several nodes on Redis, behind nginx';
  const folder = scratchFolder(t);
  const { cert, key, ca } = certificate(folder, 'tls', `DNS:${NAME}`);
  const tokens = path.join(folder, 'tokens');
  writeFileSync(tokens, `${ADA} ada ask answer\n`, { mode: 0o600 });
  const redis = await startRedis(t);
  const [, same] = /^same="(.*)"$/m.exec(exchange(blockOf(NODES, 'sh'), ['/etc/nod/tokens', tokens], ['127.0.0.1:6379', `127.0.0.1:${redis.port}`]));
  const nodes = await Promise.all([0, 1].map(() => startHttp(t, 'sign-in', { args: same.split(' '), env: { MCP_ELICITATION_SECRET: ADA + ADA } })));
  const outer = await freePort();
  const agent = new https.Agent({ ca, lookup: (_, options, done) => (options.all ? done(null, [{ address: '127.0.0.1', family: 4 }]) : done(null, '127.0.0.1', 4)) });
  t.after(() => agent.destroy());
  const toNginx = fetchOver(https.request, { agent });
  const at = (where) => `https://${NAME}:${outer}${where}`;
  const site = exchange(blockOf(NODES, 'nginx'), ['listen 443 ssl;', `listen 127.0.0.1:${outer} ssl;`], ['/etc/nod/tls.crt', cert], ['/etc/nod/tls.key', key],
    ...nodes.map(({ url }, i) => [`127.0.0.1:${8081 + i}`, new URL(url).host]));
  await runNginx(t, site, () => toNginx(at('/readyz')).then(() => true, () => false));

  for (const where of ['/login', '/api/elicitation']) assert.equal((await toNginx(at(where), { headers: { Authorization: `Bearer ${ADA}` } })).status, 200, where);
  for (const node of nodes) {
    const modern = new Modern(node.url, { token: ADA, capabilities: { elicitation: { url: {} } } });
    const asked = await modern.asked('sign_in', {});
    const [[name, { params }]] = Object.entries(asked.inputRequests);
    assert.ok(params.url.startsWith(`https://${NAME}/a/`), params.url);
    const link = at(new URL(params.url).pathname);
    const headers = { Authorization: `Bearer ${ADA}`, 'Content-Type': 'application/json' };
    for (let i = 0; i < 2; i++) assert.equal((await toNginx(link, { headers })).status, 200); // at the one, and at the other
    const given = await toNginx(link, { method: 'POST', headers, body: JSON.stringify({ action: 'accept', content: { name: 'Ada', number: 'R-1815' } }) });
    assert.equal(given.status, 200, await given.text());
    assert.equal(await modern.ended('sign_in', {}, retryOf(asked, { [name]: { action: 'accept' } })), 'You are signed in.');
  }
});
