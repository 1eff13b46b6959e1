// A planted secret, end to end: typed into the page in a real browser, used by a handler, and then looked for in everything
// that the server has written, said and is. The search is first shown to find it where it is.
import test from 'node:test';
import assert from 'node:assert/strict';
import { existsSync, readFileSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { PEOPLE, pagesOf, person, asks, ask, button, ready, shot } from './browser.js';
import { look } from './look.js';
import { startHttp, textOf, within, PATIENCE_MS, pause } from '../wire/harness.js';
import { scratchFolder } from '../wire/modern.js';
import { tokenFile } from '../wire/credentials.js';
import { Api, Watcher } from '../wire/inbox.js';
import { Receiver, newSecret } from '../wire/receiver.js';
import { stores } from '../wire/stores.js';
import { SECRET, clients, coreOf, plant, recorded, used, whereIs } from '../wire/secrets.js';

const houses = [
  { store: 'sqlite', nodes: 1, client: 'v1, 2025' },
  { store: 'redis', nodes: 2, client: 'v2, 2026' },
];

async function openNodes(t, { store, nodes }) {
  pagesOf(t);
  const kept = await stores.find(({ name }) => name === store).create(t);
  const folder = scratchFolder(t);
  const secret = newSecret();
  const receiver = await Receiver.start(t, secret);
  writeFileSync(path.join(folder, 'hook'), `${secret}\n`, { mode: 0o600 });
  const args = ['--token-file', tokenFile(t, PEOPLE), '--store', kept.address, '--log', 'debug', '--webhook', receiver.url, '--webhook-allow', receiver.target,
    '--webhook-content', '--webhook-secret', path.join(folder, 'hook')];
  const servers = [];
  for (let i = 0; i < nodes; i++) {
    const server = await startHttp(t, 'secrets', { args, env: { ...SECRET, NOD_DEEDS: path.join(folder, 'deeds') } });
    server.origin = new URL(server.url).origin;
    servers.push(server);
  }
  return { servers, first: servers[0], last: servers.at(-1), kept, folder, receiver };
}

const filesBelow = (folder) => readdirSync(folder, { recursive: true }).map((name) => path.join(folder, name)).filter((file) => statSync(file).isFile());

for (const house of houses)
  test(`${house.store}, ${house.nodes} node(s), ${house.client}: found in the handler's hand, and nowhere else`, async (t) => {
    const { servers, first, last, kept, folder, receiver } = await openNodes(t, house);
    const wire = await recorded(t, first);
    const session = await clients[house.client](t, wire.server);
    const watchers = [];
    for (const who of ['ada', 'root']) watchers.push(await Watcher.open(t, new Api(last, who)));
    for (const watcher of watchers) await watcher.ready();
    const value = plant();
    const until = path.join(folder, 'go on');

    const call = session.call('hold', { until }, { timeout: 2 * PATIENCE_MS });
    const question = await session.question();
    question.accept();
    const page = await person(t, last, 'ada');
    const link = new URL(question.params.url);
    link.port = new URL(last.origin).port;
    await page.goto(link.href);
    await page.getByText('stored sealed').waitFor();
    assert.equal(await page.locator('#secret').getAttribute('type'), 'password');
    if (house === houses[0]) await look(page, 'secret');
    await page.locator('#secret').fill(value);
    await button(page, 'Submit').click();
    await page.getByText('You can close this page.').waitFor();
    assert.equal(await page.locator('#secret').inputValue(), '');

    // In the handler's hand: the search finds it there.
    await Promise.race(servers.map((server) => server.said(/^holding$/)));
    const holder = servers.find((server) => /^holding$/m.test(server.stderr()));
    assert.deepEqual(whereIs(value, [{ name: 'core', bytes: await coreOf(t, holder) }]), ['core'], 'the search finds it where it is');
    writeFileSync(until, '');
    assert.equal(textOf(await call), used(value));
    assert.equal(await session.text('use'), used(value)); // without a question
    assert.equal(session.asked.length, 1);

    // Everywhere else.
    const said = [];
    for (const who of ['ada', 'root'])
      for (const server of servers)
        for (const target of ['/api/me', '/api/elicitation', '/api/elicitation?state=ended', '/api/secrets', '/api/grants', '/', '/secrets', '/history'])
          said.push({ name: `${who} ${target}`, bytes: (await new Api(server, who).get(target)).text });
    await within(PATIENCE_MS, 'the webhook is told', (async () => {
      while (receiver.deliveries.length < 2) await pause(20);
    })());
    const cores = [];
    for (const [i, server] of servers.entries()) cores.push({ name: `core of node ${i}`, bytes: await coreOf(t, server) });
    const things = () => [
      ...cores,
      ...said,
      { name: 'the wire', bytes: wire.bytes() },
      ...servers.map((server, i) => ({ name: `log of node ${i}`, bytes: server.stderr() })),
      ...watchers.map(({ events }, i) => ({ name: `events ${i}`, bytes: JSON.stringify(events) })),
      ...receiver.deliveries.map(({ body, headers }, i) => ({ name: `webhook ${i}`, bytes: JSON.stringify(headers) + body })),
      ...kept.bytes(),
      ...[folder].flatMap(filesBelow).map((name) => ({ name, bytes: readFileSync(name) })),
    ];
    assert.ok(existsSync(path.join(folder, 'deeds')) && things().length > 20, 'there is something to look at');
    assert.deepEqual(whereIs(value, things()), []);
    assert.notDeepEqual(whereIs('The key of the payment service', [{ name: 'the wire', bytes: wire.bytes() }]), [], 'the message is where it should be');

    // The person sees its name, and deletes it.
    await page.goto(`${last.origin}/secrets`);
    await page.locator('.rows li', { hasText: 'given to hold' }).waitFor();
    if (house === houses[0]) await look(page, 'secrets');
    await button(page, 'Delete').click();
    await button(page, 'Press again to delete').click();
    await page.getByText('Deleted. Whoever needs it next asks for it.').waitFor();
    assert.deepEqual((await new Api(last, 'ada').get('/api/secrets')).json.items, []);

    await kept.settle();
    assert.deepEqual(whereIs(value, kept.bytes()), []);
    await session.stop();
    await page.close(); // before its server goes
    for (const server of servers) await server.stop();
    assert.deepEqual(whereIs(value, things()), []);
  });

test('a client that cannot open links: the inbox shows message and name, and leads to the page', async (t) => {
  const { first } = await openNodes(t, houses[0]);
  const session = await clients['v1, 2025'](t, first, 'ada', {});
  const page = await person(t, first, 'ada');
  const call = session.text('use');
  await asks(page, 'The key of the payment service, please.');
  await ask(page).locator('.help code', { hasText: 'stripe' }).waitFor();
  await ready(page);
  const [hosted] = await Promise.all([page.context().waitForEvent('page'), button(page, 'Open the page').click()]);
  await hosted.locator('#secret').fill('one line');
  await button(hosted, 'Enter several lines').click();
  assert.equal(await hosted.locator('textarea#secret').inputValue(), 'one line');
  await hosted.locator('#secret').fill('two\nlines');
  await shot(hosted, 'secret-page');
  await button(hosted, 'Submit').click();
  await hosted.getByText('You can close this page.').waitFor();
  assert.equal(await call, used('two\nlines'));
});
