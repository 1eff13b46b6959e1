// Webhooks: a real receiver learns of every ask that comes up and ends, at least once, whatever dies meanwhile; it can tell them
// from forged and replayed ones; and they go nowhere but to where the operator has said.
import test from 'node:test';
import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { once } from 'node:events';
import { spawn } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { connect, environment, freePort, runOnce, startHttp, pause, textOf, watchStderr, within, PATIENCE_MS } from './harness.js';
import { Api, houses, mute, openHouse, token, tokenFile } from './inbox.js';
import { Modern, scratchFolder } from './modern.js';
import { Receiver, newSecret, verify } from './receiver.js';
import { stores } from './stores.js';
import { certificate } from './tls.js';

const FULL = process.env.NOD_SOAK === '1';
const DOWN_MS = FULL ? 30000 : 2500;
const ASKS = FULL ? 160 : 12; // a page of the API has room for 200

const hookArgs = (receiver, ...more) => ['--webhook', receiver.url, '--webhook-allow', receiver.target, ...more];
const hookEnv = (receiver) => ({ NOD_WEBHOOK_SECRET: receiver.secret });

function endOf(t) {
  const end = new AbortController();
  t.after(() => end.abort());
  return end;
}

// So many calls that wait in the inbox. Whatever becomes of them, nobody looks at it.
async function ask(t, server, count) {
  const client = await mute(t, server, 'ada');
  const { signal } = endOf(t);
  for (let i = 0; i < count; i++) client.call('ask', { message: `a private thing ${i}` }, { timeout: 600000, signal }).catch(() => {});
}

const names = (events) => events.map(({ data }) => data.id).sort();

for (const house of houses) {
  test(`${house.name}: a receiver is told of every ask that comes up and ends, once, by one of the nodes`, async (t) => {
    const receiver = await Receiver.start(t, newSecret());
    const { first, last } = await openHouse(t, house, { args: hookArgs(receiver), env: hookEnv(receiver) });
    const ada = new Api(last, 'ada');
    await ask(t, first, ASKS);
    const items = await ada.pending(ASKS, { limit: '200' });
    for (const [i, item] of items.entries())
      assert.equal((await ada.resolve(item.id, i % 2 ? { approved: false } : { approved: true, data: { name: 'Ada' } })).status, 200);
    await receiver.seen(ASKS, ASKS);
    assert.deepEqual(names(receiver.of('created')), items.map(({ id }) => id).sort());
    assert.deepEqual(names(receiver.of('ended')), items.map(({ id }) => id).sort());
    assert.deepEqual([receiver.refused, receiver.twice, receiver.deliveries.length], [0, 0, 2 * ASKS]);

    const { headers, body } = receiver.deliveries[0];
    const [item] = items.filter(({ id }) => id === JSON.parse(body).data.id);
    assert.match(headers['user-agent'], /^nod\//);
    assert.equal(headers['content-type'], 'application/json');
    const created = receiver.of('created').find(({ data }) => data.id === item.id);
    assert.deepEqual(created, {
      type: 'elicitation.created',
      timestamp: item.askedAt,
      data: {
        id: item.id, executionId: item.executionId, kind: 'form', state: 'pending', tool: 'ask', principal: 'ada',
        askedAt: item.askedAt, expiresAt: item.expiresAt, link: created.data.link,
      },
    });
    assert.ok([first, last].some(({ url }) => created.data.link === new URL(`/ask/${item.id}`, url).href), created.data.link);
    const ended = receiver.of('ended').find(({ data }) => data.id === items[1].id).data;
    assert.deepEqual([ended.state, ended.answer.action, ended.answer.by, ended.answer.via], ['declined', 'decline', 'ada', 'api']);
    assert.doesNotMatch(receiver.deliveries.map((delivery) => delivery.body).join(), /a private thing|Ada"/, 'no message, no argument, no answer');
  });
}

test('with --webhook-content the question is in it, unless it is too long; several secrets sign', async (t) => {
  const secrets = [newSecret(), newSecret()];
  const receiver = await Receiver.start(t, secrets[1]);
  const file = path.join(scratchFolder(t), 'secrets');
  writeFileSync(file, `${secrets[0]}\n${secrets[1]}\n`, { mode: 0o600 });
  const { first } = await openHouse(t, houses[0], { args: hookArgs(receiver, '--webhook-content', '--webhook-secret', file) });
  const client = await mute(t, first, 'ada');
  const { signal } = endOf(t);
  for (const message of ['How are you?', 'x'.repeat(32760)]) client.call('ask', { message }, { signal }).catch(() => {});
  await receiver.seen(2, 0);
  const short = receiver.of('created').find(({ data }) => data.message);
  assert.deepEqual([short.data.message, short.data.arguments], ['How are you?', { message: 'How are you?' }]);
  const long = receiver.of('created').find(({ data }) => !data.message).data;
  assert.deepEqual([long.truncated, long.arguments], [true, undefined]);
  for (const { headers, body } of receiver.deliveries) for (const secret of secrets) verify(secret, headers, body);
});

// A killed node of Redis is replaced when its lease is over, which takes its time.
for (const { name, create } of FULL ? stores : stores.filter(({ shared }) => !shared)) {
  test(`${name}: nothing is lost while the receiver is down and the server is killed`, async (t) => {
    const store = await create(t);
    const receiver = await Receiver.start(t, newSecret());
    const file = tokenFile(t);
    const start = () =>
      startHttp(t, 'probe', { env: hookEnv(receiver), args: ['--token-file', file, '--store', store.address, '--ask-ttl', '1h', ...hookArgs(receiver)] });
    const first = await start();
    await ask(t, first, 2);
    await receiver.seen(2, 0);
    await receiver.down();
    const wentDown = Date.now();
    await ask(t, first, ASKS);
    const ada = new Api(first, 'ada');
    const items = await ada.pending(ASKS + 2, { limit: '200' });
    for (const { id } of items.slice(0, ASKS / 2)) assert.equal((await ada.resolve(id, { approved: false })).status, 200);
    await first.kill();

    const second = await start();
    const later = new Api(second, 'ada');
    await ask(t, second, 1);
    const all = await later.pending(ASKS / 2 + 3, { limit: '200' });
    for (const { id } of items.slice(ASKS / 2)) assert.equal((await later.resolve(id, { approved: false })).status, 200);
    await pause(Math.max(0, wentDown + DOWN_MS - Date.now()));
    await receiver.up();
    await receiver.seen(ASKS + 3, ASKS + 2, 60000);
    const known = [...new Set([...items, ...all].map(({ id }) => id))].sort();
    assert.deepEqual(names(receiver.of('created')), known);
    assert.deepEqual(names(receiver.of('ended')), items.map(({ id }) => id).sort());
    assert.equal(receiver.refused, 0);
    t.diagnostic(`${receiver.events.size} events, ${receiver.twice} of them twice, lost 0; the receiver was down for ${Date.now() - wentDown} ms`);
  });

  test(`${name}: killed as soon as an ask is there, its event comes after the restart`, async (t) => {
    const store = await create(t);
    const receiver = await Receiver.start(t, newSecret());
    const file = tokenFile(t);
    const args = ['--token-file', file, '--store', store.address, '--ask-ttl', '1h', ...hookArgs(receiver)];
    const rounds = FULL ? 50 : 3;
    receiver.answer = () => ({ status: 503 }); // nothing gets through before the kill
    for (let i = 1; i <= rounds; i++) {
      const server = await startHttp(t, 'probe', { env: hookEnv(receiver), args });
      await ask(t, server, 1);
      await new Api(server, 'ada').pending(i, { limit: '200' });
      await server.kill();
    }
    receiver.answer = () => ({ status: 200 });
    const last = await startHttp(t, 'probe', { env: hookEnv(receiver), args });
    const items = await new Api(last, 'ada').pending(rounds, { limit: '200' });
    await receiver.seen(rounds, 0, 60000);
    assert.deepEqual(names(receiver.of('created')), items.map(({ id }) => id).sort());
  });
}

test('users take turns: one event is not behind all of another user', async (t) => {
  const receiver = await Receiver.start(t, newSecret());
  let open;
  const opened = new Promise((resolve) => (open = resolve));
  receiver.answer = async () => {
    await opened;
    return { status: 204 };
  };
  const { first } = await openHouse(t, houses[0], { args: hookArgs(receiver), env: hookEnv(receiver) });
  await ask(t, first, 100);
  await new Api(first, 'ada').pending(100, { limit: '200' });
  const bob = await mute(t, first, 'bob');
  bob.call('ask', { message: 'the only one' }, { timeout: 600000, signal: endOf(t).signal }).catch(() => {});
  const [{ id }] = await new Api(first, 'bob').pending();
  open();
  await receiver.seen(101, 0);
  const place = receiver.of('created').findIndex(({ data }) => data.id === id);
  assert.ok(place <= 24, `it came as number ${place + 1}`); // behind the 8 that were on their way, and next to them
});

const isOf = (name) => ({ body }) => JSON.parse(body).data.principal === name;
const askOnce = async (t, server, who, message) => (await mute(t, server, who)).call('ask', { message }, { timeout: 600000, signal: endOf(t).signal }).catch(() => {});

for (const house of houses.slice(0, 2))
  test(`${house.name}: a receiver that refuses the events of one user is sent those of others, however many were refused`, async (t) => {
    const receiver = await Receiver.start(t, newSecret());
    receiver.answer = (_, body) => ({ status: isOf('ada')({ body }) ? 400 : 204 });
    const { first } = await openHouse(t, house, { args: hookArgs(receiver, '--pending-per-principal', '3000', '--calls-per-principal', '3000'), env: hookEnv(receiver) });
    for (let i = 0; i < 3; i++) await ask(t, first, 400); // a session has room for so many
    const refused = () => new Set(receiver.deliveries.filter(isOf('ada')).map(({ headers }) => headers['webhook-id'])).size;
    await within(PATIENCE_MS, 'as many are refused as there is room for', (async () => {
      while (refused() < 1024) await pause(20);
    })());
    askOnce(t, first, 'bob', 'the only one');
    await receiver.seen(1, 0);
  });

test('one event that is taken brings no storm of those that were refused for another user', async (t) => {
  const receiver = await Receiver.start(t, newSecret());
  receiver.answer = (_, body) => ({ status: isOf('ada')({ body }) ? 400 : 204 });
  const { first } = await openHouse(t, houses[0], { args: hookArgs(receiver), env: hookEnv(receiver) });
  await ask(t, first, 40);
  const tries = () => receiver.deliveries.filter(isOf('ada')).length;
  await within(PATIENCE_MS, 'each was tried four times', (async () => {
    while (tries() < 160) await pause(20);
  })());
  const before = tries(); // the next tries are seconds away
  for (let i = 1; i <= 3; i++) {
    askOnce(t, first, 'bob', `${i}`);
    await receiver.seen(i, 0);
  }
  assert.ok(tries() - before <= 20, `${tries() - before} tries`);
});

test('over https the certificate is checked', async (t) => {
  const folder = scratchFolder(t);
  const tls = certificate(folder, 'receiver');
  const receiver = await Receiver.start(t, newSecret(), tls);
  const start = (env) => openHouse(t, houses[0], { args: hookArgs(receiver), env: { ...hookEnv(receiver), ...env } });
  const { first } = await start({ SSL_CERT_FILE: tls.cert });
  await ask(t, first, 1);
  await receiver.seen(1, 0);
  for (const env of [{}, { SSL_CERT_FILE: certificate(folder, 'other').cert }]) {
    const { first: wary } = await start(env);
    await ask(t, wary, 1);
    await wary.said(/webhook cannot be delivered.*status=0 why=.*certificate/);
  }
  assert.equal(receiver.deliveries.length, 1);
});

if (FULL) {
  test('more events than a queue holds wait in the store, and come when the receiver does', async (t) => {
    const many = 1500;
    const receiver = await Receiver.start(t, newSecret());
    const { first } = await openHouse(t, houses[1], { args: hookArgs(receiver, '--ask-ttl', '1h'), env: hookEnv(receiver) });
    await receiver.down();
    const modern = new Modern(first.url, { token: token('ada') });
    for (let i = 0; i < many; i += 50) {
      const asked = await Promise.all(Array.from({ length: 50 }, () => modern.call('ask', { message: 'Who?' })));
      for (const { result, text } of asked) assert.equal(result?.resultType, 'input_required', text);
    }
    await receiver.up();
    await receiver.seen(many, 0, 120000);
    t.diagnostic(`${receiver.events.size} events, ${receiver.twice} of them twice, lost 0`);
  });

  test('redis: lost hints lose no event', async (t) => {
    const store = await stores[1].create(t);
    const receiver = await Receiver.start(t, newSecret());
    const { first } = await openHouse(t, { nodes: 1, create: () => store }, { args: hookArgs(receiver), env: hookEnv(receiver) });
    for (let i = 0; i < 10; i++) {
      await Promise.all([ask(t, first, 10), store.say('CLIENT', 'KILL', 'TYPE', 'pubsub')]);
    }
    await receiver.seen(100, 0, 60000);
  });

  test('two nodes of redis: when the one that sends is killed, the other goes on', async (t) => {
    const receiver = await Receiver.start(t, newSecret());
    const { servers } = await openHouse(t, houses[2], { args: hookArgs(receiver), env: hookEnv(receiver) });
    await ask(t, servers[1], 3);
    await receiver.seen(3, 0);
    await servers[0].kill(); // it came first, so it leads
    await ask(t, servers[1], 3);
    await receiver.seen(6, 0, 30000);
    assert.deepEqual([receiver.refused, receiver.twice], [0, 0]);
  });
}

test('forged and replayed deliveries are told from real ones', async (t) => {
  const receiver = await Receiver.start(t, newSecret());
  const { first } = await openHouse(t, houses[0], { args: hookArgs(receiver), env: hookEnv(receiver) });
  await ask(t, first, 1);
  await receiver.seen(1, 0);
  const { headers, body } = receiver.deliveries[0];
  const post = (changed, text = body) =>
    fetch(receiver.url, { method: 'POST', headers: { ...Object.fromEntries(Object.entries(headers).filter(([name]) => name.startsWith('webhook-'))), ...changed }, body: text });
  const late = String(Number(headers['webhook-timestamp']) + 1);
  await post({ 'webhook-id': 'another-created' });
  await post({ 'webhook-timestamp': late });
  await post({}, body.replace('pending', 'accepted'));
  await post({ 'webhook-signature': headers['webhook-signature'].replace(/^v1,./, (text) => `v1,${text[3] === 'A' ? 'B' : 'A'}`) });
  await post({ 'webhook-signature': 'v1,' });
  assert.equal(receiver.refused, 5, 'forged');
  await post({});
  assert.deepEqual([receiver.twice, receiver.events.size], [1, 1], 'replayed at once: its id is known');
  assert.throws(() => verify(receiver.secret, headers, body, Date.now() / 1000 + 3600), /too old/);
  assert.throws(() => verify(newSecret(), headers, body), /not signed/);
});

test('a redirect is not followed, and a name that leads inside is not connected to', async (t) => {
  const inside = createServer((request, response) => {
    inside.reached = true;
    response.writeHead(200).end();
  });
  inside.listen(0, '127.0.0.1');
  await once(inside, 'listening');
  t.after(() => inside.close());
  const { port } = inside.address();
  const receiver = await Receiver.start(t, newSecret());
  receiver.answer = () => ({ status: 307, headers: { Location: `http://127.0.0.1:${port}/secret` } });
  const urls = [`http://localhost:${port}/a`, `http://localhost:${port}/b`]; // what is no name is refused at start: below
  const { first } = await openHouse(t, houses[0], { args: [...hookArgs(receiver), ...urls.flatMap((url) => ['--webhook', url])], env: hookEnv(receiver) });
  await ask(t, first, 1);
  for (const url of urls) await first.said(new RegExp(`webhook cannot be delivered.*to="?${new URL(url).protocol}//${url.split('/')[2].replace(/[[\].:]/g, '\\$&')}.*not a public address`));
  await first.said(/webhook cannot be delivered.*status=307/);
  assert.equal(inside.reached, undefined);
  assert.ok(receiver.deliveries.every(({ path: where }) => where === '/hook'));
});

test('a receiver that hangs or fails holds up no ask, and no other receiver', async (t) => {
  const secret = newSecret();
  const fine = await Receiver.start(t, secret);
  const hangs = createServer(() => {}).listen(0, '127.0.0.1');
  await once(hangs, 'listening');
  t.after(() => {
    hangs.close();
    hangs.closeAllConnections();
  });
  const target = `127.0.0.1:${hangs.address().port}`;
  const { first } = await openHouse(t, houses[0], { args: [...hookArgs(fine), '--webhook', `http://${target}/`, '--webhook-allow', target], env: hookEnv(fine) });
  const ada = new Api(first, 'ada');
  await ask(t, first, 20);
  for (const { id } of await ada.pending(20, { limit: '200' })) assert.equal((await ada.resolve(id, { approved: false })).status, 200);
  await fine.seen(20, 20);
});

test('examples/webhook-receiver.mjs approves small expenses through the API, and leaves large ones to people', async (t) => {
  const secret = newSecret();
  const roles = { ada: 'ask', machine: 'approve', dora: 'approve' };
  const file = tokenFile(t, roles);
  const port = await freePort();
  const server = await startHttp(t, 'expense', { env: { NOD_WEBHOOK_SECRET: secret },
    args: ['--token-file', file, '--webhook', `http://127.0.0.1:${port}/`, '--webhook-allow', `127.0.0.1:${port}`] });
  const child = spawn(process.execPath, [fileURLToPath(new URL('../../examples/webhook-receiver.mjs', import.meta.url)), `${port}`], {
    env: environment({ NOD_WEBHOOK_SECRET: secret, NOD_URL: new URL('/', server.url).href.slice(0, -1), NOD_TOKEN: token('machine') }),
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const ended = once(child, 'close');
  t.after(async () => {
    child.kill();
    await within(PATIENCE_MS, 'the receiver ends', ended);
  });
  const { lines } = watchStderr('webhook-receiver', child.stdout);
  await lines.next((line) => line.startsWith('listening'), 'the receiver listens');
  const client = await connect(t, 'http', 'expense', { server, token: token('ada'), capabilities: {} });
  assert.match(textOf(await client.call('submit_expense', { amount: 250, purpose: 'flight' })), /^Booked 250.00 for flight; .* Approved by machine/);
  const large = client.call('submit_expense', { amount: 501, purpose: 'boat' });
  await lines.next((line) => line === 'boat: 501 is for people to decide', 'the large one is left to people');
  const [item] = await new Api(server, 'dora').pending();
  assert.equal((await new Api(server, 'dora').resolve(item.id, { approved: false })).status, 200);
  assert.match(textOf(await large), /was not approved/);
  const forged = await fetch(`http://127.0.0.1:${port}/`, { method: 'POST', body: '{}', headers: { 'webhook-id': 'x', 'webhook-timestamp': '1', 'webhook-signature': 'v1,x' } });
  assert.equal(forged.status, 401);
});

test('a server on stdio has webhooks too', async (t) => {
  const receiver = await Receiver.start(t, newSecret());
  const client = await connect(t, 'stdio', 'probe', { args: hookArgs(receiver), env: hookEnv(receiver), answer: () => ({ action: 'decline' }) });
  await client.call('ask', { message: 'Who?' });
  await receiver.seen(1, 1);
  const [{ data }] = receiver.of('ended');
  assert.deepEqual([data.state, data.answer.via, data.link], ['declined', 'client', undefined], 'without an inbox there is no page to link');
});

test('what cannot be used is said at start', async (t) => {
  const url = 'https://example.org/hook';
  const secret = newSecret();
  const bad = async (args, env, code, words) => {
    const end = await runOnce('probe', ['--http', '127.0.0.1:0', ...args], env);
    assert.equal(end.code, code, end.stderr);
    assert.match(end.stderr, words);
    assert.ok(!end.stderr.includes(secret.slice(6)));
    assert.doesNotMatch(end.stderr, /swordfish|hidden/, 'what is secret in a URL is not logged');
  };
  await bad(['--webhook', url], {}, 1, /there is no secret.*openssl rand/);
  await bad(['--webhook', url], { NOD_WEBHOOK_SECRET: 'whsec_c2hvcnQ=' }, 1, /24 to 64 bytes/);
  await bad(['--webhook', url, '--webhook-secret', '/nonexistent'], {}, 1, /the file cannot be read/);
  await bad(['--webhook', 'ftp://example.org/'], { NOD_WEBHOOK_SECRET: secret }, 2, /--webhook takes a URL that begins with http/);
  await bad(['--webhook', 'http://user:swordfish@example.org/hidden'], { NOD_WEBHOOK_SECRET: secret }, 1, /number=1 .*must not hold a name or a password/);
  await bad(['--webhook', url, '--webhook', 'http://user:swordfish@exa mple.org/hidden'], { NOD_WEBHOOK_SECRET: secret }, 1, /number=2 .*it is not a URL/);
  await bad(['--webhook', 'http:///127.0.0.1:9/hidden'], { NOD_WEBHOOK_SECRET: secret }, 1, /two slashes/);
  await bad(['--webhook', url, '--webhook-allow', 'example.org:80'], { NOD_WEBHOOK_SECRET: secret }, 1, /an address and a port/);
  for (const [inside, allow] of [['127.0.0.1:9', '127.0.0.1:9'], ['0.0.0.0:80', '0.0.0.0'], ['[::ffff:127.0.0.1]:9', '127.0.0.1:9'], ['2130706433:9', '127.0.0.1:9'], ['[fd00::7]:8443', '[fd00::7]:8443'], ['169.254.169.254', '169.254.169.254:80']])
    await bad(['--webhook', url, '--webhook', `http://${inside}/hidden`, '--webhook-allow', '127.0.0.1:8'], { NOD_WEBHOOK_SECRET: secret }, 1,
      new RegExp(`number=2 .*not a public address.*--webhook-allow ${allow.replace(/[[\].]/g, '\\$&')}`));
  await bad(['--webhook', url, '--webhook', url], { NOD_WEBHOOK_SECRET: secret }, 1, /given twice/);
  await bad(['--webhook-content'], {}, 2, /--webhook-content needs --webhook/);
});
