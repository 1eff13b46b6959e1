// `nod serve` with nothing set: it starts, says what it lacks and what it has made, and keeps its calls across a restart.
import test from 'node:test';
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { chmodSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { runOnce } from './harness.js';
import { Modern, accepted, retryOf } from './modern.js';
import { linesOf, serveHome } from './serving.js';

const eventsOf = (server) => linesOf(server.stderr(), 'warn').map(({ event }) => event).filter((event) => !/runs as root/.test(event));
const NO_TOOLS = /^this server has no tools yet: name a plugin in its configuration \(plugin = PATH in \[server\]\), or on its command line \(--plugin PATH\)$/;
const MADE = /^no secret is set, so this server has made one of its own, .*keep this file with the store, and let nobody read it$/;

test('without a configuration it starts, and says that it has no tools and how it gets some', async (t) => {
  const home = serveHome(t);
  const server = await home.start();
  await server.said(/event="there is no configuration: everything is as the command line says, or as usual"/);
  const [secret, tools, ...more] = linesOf(server.stderr(), 'warn').filter(({ event }) => !/runs as root/.test(event)).sort((a, b) => (MADE.test(b.event) ? 1 : -1));
  assert.deepEqual(more, []);
  assert.match(tools.event, NO_TOOLS);
  assert.equal(tools.configuration, home.at('config/nod/nod.ini'), 'where it would be');
  assert.match(secret.event, MADE);
  assert.equal(secret.file, home.at('state/nod/nod.secret'));
  assert.deepEqual((await new Modern(server.url).request('tools/list')).result.tools.map(({ name }) => name).filter((name) => name !== 'sendElicitationResult'), []);
});

test('it makes a secret once, for nobody else to read; one that others may read is refused', async (t) => {
  const home = serveHome(t);
  const file = home.at('state/nod/nod.secret');
  const first = await home.start();
  assert.equal(statSync(file).mode & 0o777, 0o600);
  assert.equal(statSync(home.at('state/nod')).mode & 0o777, 0o700);
  const made = readFileSync(file, 'utf8');
  assert.match(made, /^[\w-]{64}\n$/);
  await first.stop();
  const second = await home.start();
  assert.ok(!eventsOf(second).some((event) => MADE.test(event)), second.stderr());
  assert.equal(readFileSync(file, 'utf8'), made);
  await second.stop();
  chmodSync(file, 0o640);
  const open = await home.refused();
  assert.equal(open.code, 1);
  assert.match(linesOf(open.stderr, 'error')[0].why, /others may read or write it: chmod 600, and make a new one if they have read it/);
  chmodSync(file, 0o600);
  writeFileSync(file, 'short\n');
  const short = await home.refused();
  assert.match(linesOf(short.stderr, 'error')[0].why, /less than 32 characters.*put the secret back, or remove the file together with the store/);
});

// With all defaults: SQLite and a secret, both in the state directory. `era` 2025 has its own tests (resume.test.js); the store is the same.
for (const [how, end] of [['is stopped', 'stop'], ['is killed', 'kill']])
  test(`a call of a 2026 client that waits goes on when the server ${how} and starts again, with all defaults`, async (t) => {
    const home = serveHome(t);
    home.configure(`[server]\nplugin = ${home.plugin('steady-1')}\n`);
    const before = await home.start();
    const round = await new Modern(before.url).asked('steady.ask', { what: 'tea' });
    await before[end]();
    const after = await home.start();
    const [key] = Object.keys(round.inputRequests);
    assert.equal(await new Modern(after.url).ended('steady.ask', { what: 'tea' }, retryOf(round, { [key]: accepted({ word: 'Assam' }) })), 'one: Assam');
  });

test('another secret than the one that has sealed the store is refused, and the own one still opens it', async (t) => {
  const home = serveHome(t);
  home.configure(`[server]\nplugin = ${home.plugin('steady-1')}\n`);
  const first = await home.start();
  const round = await new Modern(first.url).asked('steady.ask', { what: 'tea' });
  await first.stop();
  const second = await home.start({ env: { MCP_ELICITATION_SECRET: 'a secret that the operator has set, later' } });
  const [key] = Object.keys(round.inputRequests);
  assert.equal(await new Modern(second.url).ended('steady.ask', { what: 'tea' }, retryOf(round, { [key]: accepted({ word: 'Assam' }) })), 'one: Assam');
});

test('two servers of one name: the second says what to do; so it does if its address is taken', async (t) => {
  const home = serveHome(t);
  await home.start();
  const second = await home.refused();
  assert.equal(second.code, 1);
  assert.equal(second.stderr, `nod serve: a server named "nod" runs already, at unix:${home.at('run/nod/nod.sock')}: stop it first, or give this one a name and an address of its own: --name NAME --http PORT\n`);
  const taken = createServer().listen(0, '127.0.0.1');
  await once(taken, 'listening');
  t.after(() => taken.close());
  const address = `127.0.0.1:${taken.address().port}`;
  const third = await runOnce('nod', ['serve', '--name', 'third', '--http', address], home.env);
  assert.equal(third.code, 1);
  const said = linesOf(third.stderr, 'error').find(({ taken: by }) => by === address);
  assert.match(said.event, /^choose another address: --http 127\.0\.0\.1:PORT, or http in the configuration$/);
  assert.equal(said.running, 'nod');
});
