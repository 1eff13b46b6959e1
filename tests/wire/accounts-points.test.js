// Killed at every point of a connected account's life, on SQLite and, where nodes share a store, through the other of two on
// Redis: the question still waits or is answered, the account is there or is not, nothing is lost and nothing happens twice.
import { suite, test } from 'node:test';
import assert from 'node:assert/strict';
import { freePort, pause, runOnce, startHttp, within, PATIENCE_MS } from './harness.js';
import { Api, token, tokenFile } from './inbox.js';
import { Modern, accepted, retryOf } from './modern.js';
import { stores } from './stores.js';
import { AuthorizationServer } from './authorization-server.js';
import { Person, SECRET, URL_MODE, numberOf, oauthFile } from './accounts.js';

const FULL = process.env.NOD_SOAK === '1';
const newest = (service) => numberOf([...service.accesses.keys()].at(-1));
const until = (what, is, ms = PATIENCE_MS) =>
  within(ms, what, (async () => {
    while (!(await is())) await pause(10);
  })());

// A server that dies at a point, and others after it, at the same address or at another one of the same store.
class House {
  static async open(t, { store = 'sqlite', settings = {}, args = [] } = {}) {
    const made = Object.assign(new House(), { args });
    made.t = t;
    made.service = await AuthorizationServer.start(t, settings);
    made.store = await stores.find(({ name }) => name === store).create(t);
    made.file = oauthFile(t, made.service.section());
    made.tokens = tokenFile(t);
    made.port = await freePort();
    return made;
  }

  async start(crash, port = this.port) {
    const env = { ...SECRET, ...this.service.env, ...(crash ? { NOD_CRASH_AT: crash } : {}) };
    const server = await startHttp(this.t, 'accounts', { port, env, args: ['--token-file', this.tokens, '--store', this.store.address, '--oauth', this.file, ...this.args] });
    this.server = server;
    return server;
  }

  // It has died of itself: the harness does not expect it to end well.
  async dead(server = this.server) {
    await until('the server dies', () => fetch(new URL('/healthz', server.url)).then(() => false, () => true));
    await server.kill();
  }

  client(server = this.server) {
    return new Modern(server.url, { token: token('ada'), capabilities: URL_MODE });
  }

  accounts() {
    return new Api(this.server, 'ada').get('/api/credentials').then(({ json }) => json.items);
  }
}

const linkOf = (asked) => Object.values(asked.inputRequests)[0].params.url;
const answered = (asked) => retryOf(asked, Object.fromEntries(Object.keys(asked.inputRequests).map((key) => [key, accepted()])));

// Opens the link of a question, and goes as far as there is to go.
async function goThrough(person, link) {
  const { go, said } = await person.page(link);
  if (!go) return assert.match(said, /The account is connected/);
  const end = await person.comeBack(await person.decide(go));
  assert.match(end.said, /The account is connected/);
}

// Connects an account with a server that lives. -> its person
async function connected(house) {
  const server = await house.start();
  const ada = await Person.at(server, 'ada');
  const asked = await house.client().asked('use');
  await ada.connect(linkOf(asked));
  assert.equal(await house.client().ended('use', {}, answered(asked)), newest(house.service));
  await server.stop();
  return ada;
}

suite('killed at every point', { concurrency: 3 }, () => {
  // What it takes to get there a second time: codes that are exchanged.
  for (const [point, codes] of Object.entries({ flow_before: 1, flow_after: 1, connect_before: 2, connect_held: 1, connect_after: 1, page_before: 1, page_after: 1 }))
    test(`sqlite: killed at ${point}, an account is connected all the same, and the call goes on once`, async (t) => {
      const house = await House.open(t);
      await house.start(point);
      const ada = await Person.at(house.server, 'ada');
      const asked = await house.client().asked('use');
      await assert.rejects(goThrough(ada, linkOf(asked)));
      await house.dead();
      await house.start();
      await goThrough(ada, linkOf(asked));
      assert.equal(await house.client().ended('use', {}, answered(asked)), newest(house.service));
      assert.equal(await house.client().ended('use'), newest(house.service));
      assert.deepEqual([house.service.asked.code, (await house.accounts()).length], [codes, 1]);
    });

  // The person agrees at the service; the node dies before the question is answered, and then they decline it after all.
  for (const store of ['sqlite', 'redis'])
    test(`${store}: killed at connect_held, and declined then: nothing is connected`, async (t) => {
      const house = await House.open(t, { store, args: ['--surfaces', 'client,inbox'] });
      const doomed = await house.start('connect_held');
      const ada = await Person.at(doomed, 'ada');
      const asked = await house.client().asked('use');
      await assert.rejects(goThrough(ada, linkOf(asked)));
      await house.dead();
      await house.start();
      const link = linkOf(asked);
      const api = new Api(house.server, 'ada');
      const [{ id }] = (await api.list()).json.items;
      assert.equal((await api.resolve(id, { action: 'decline' })).status, 200);
      await until('the service is told', () => house.service.asked.revoke === 1);
      assert.match((await ada.page(link)).said, /This was declined.* Nothing was connected by it/);
      const { result } = await house.client().call('use', {}, answered(asked));
      assert.deepEqual([result.isError, await house.accounts()], [true, []]);
      assert.equal((await house.client().asked('use')).resultType, 'input_required', 'the next call asks');
    });

  // It is accepted; the node dies before the account is connected. The other one goes on with the call, and connects it.
  for (const point of ['page_after', 'connect_after'])
    test(`two nodes of redis: killed at ${point}, the other one has the account`, async (t) => {
      const house = await House.open(t, { store: 'redis' });
      const other = await house.start(null, 0);
      const doomed = await house.start(point);
      const ada = await Person.at(doomed, 'ada');
      const asked = await house.client(doomed).asked('use');
      await assert.rejects(goThrough(ada, linkOf(asked)));
      await house.dead(doomed);
      house.server = other;
      assert.equal(await house.client(other).ended('use', {}, answered(asked)), newest(house.service));
      assert.equal(await house.client(other).ended('use'), newest(house.service));
      assert.deepEqual([house.service.asked.code, house.service.asked.revoke, (await house.accounts()).length], [1, 0, 1]);
    });

  // An account is connected for more scopes; the node dies when what it replaces is kept, and the account is still the old one.
  test('sqlite: killed at connect_replaces, the call goes on with more scopes, and the old token is given back when it is due', async (t) => {
    const house = await House.open(t);
    house.service.lasts = 20; // long enough to connect again before it is over
    const ada = await connected(house);
    house.service.lasts = 3600;
    await house.start('connect_replaces');
    const asked = await house.client().asked('use', { scopes: 'repo' });
    await assert.rejects(goThrough(ada, linkOf(asked)));
    await house.dead();
    await house.start();
    assert.equal(await house.client().ended('use', { scopes: 'repo' }, answered(asked)), newest(house.service));
    await until('the service is told', () => house.service.asked.revoke === 1);
    assert.deepEqual([house.service.accesses.size, (await house.accounts()).length], [1, 1]);
    assert.equal(await house.client().ended('use', { scopes: 'repo' }), newest(house.service));
  });

  // How often the service is asked, in all; and whether the person has to connect the account again.
  const refreshes = {
    lease_before: { refreshes: 1 },
    lease_after: { refreshes: 1 },
    'refresh_before, and the service takes the old token once more': { point: 'refresh_before', forgiving: true, refreshes: 2 },
    'refresh_before, and the service does not': { point: 'refresh_before', refreshes: 2, again: true },
    refresh_after: { refreshes: 1 },
  };
  for (const [name, { point = name, forgiving = false, again = false, refreshes: count }] of Object.entries(refreshes))
    test(`sqlite: killed at ${name}, a token is refreshed all the same`, async (t) => {
      const house = await House.open(t, { settings: { lasts: 1, forgiving } });
      const { service } = house;
      const ada = await connected(house);
      await service.expired();
      service.lasts = 3600;
      await house.start(point);
      await assert.rejects(house.client().ended('use'));
      await house.dead();
      await house.start();
      if (again) {
        const asked = await house.client().asked('use');
        await goThrough(ada, linkOf(asked));
        assert.equal(await house.client().ended('use', {}, answered(asked)), newest(service));
      } else {
        assert.equal(await house.client().ended('use'), newest(service));
      }
      assert.deepEqual([service.asked.refresh, service.asked.authorize], [count, again ? 2 : 1]);
      assert.equal((await house.accounts()).length, 1);
    });

  for (const [point, stays] of Object.entries({ revoke_before: true, revoke_marked: false, revoke_after: false }))
    test(`sqlite: killed at ${point}, an account is disconnected, and its service is told`, async (t) => {
      const house = await House.open(t);
      const { service } = house;
      await connected(house);
      await house.start(point);
      const [{ id }] = await house.accounts();
      const revoke = () => new Api(house.server, 'ada').request('DELETE', `/api/credentials/${id}`);
      await revoke().catch(() => {});
      await house.dead();
      await house.start();
      assert.equal((await house.accounts()).length, stays ? 1 : 0);
      if (stays) assert.equal((await revoke()).status, 204);
      await until('the service is told', () => service.asked.revoke > 0);
      assert.equal(service.asked.revoke, 1);
      assert.deepEqual([await house.accounts(), service.accesses.size], [[], 0]);
      assert.equal((await house.client().asked('use')).resultType, 'input_required', 'the next call asks again');
    });

  test('sqlite: accounts outlive a restart, and a new secret', async (t) => {
    const house = await House.open(t);
    await connected(house);
    const secrets = { MCP_ELICITATION_SECRET: 'another secret of the tests of accounts', MCP_PREVIOUS_SECRETS: SECRET.MCP_ELICITATION_SECRET };
    const run = await runOnce('nod', ['store', 'reseal', '--store', house.store.address], secrets);
    assert.equal(run.code, 0, run.stderr);
    const args = ['--token-file', house.tokens, '--store', house.store.address, '--oauth', house.file];
    const server = await startHttp(t, 'accounts', { env: { ...house.service.env, MCP_ELICITATION_SECRET: secrets.MCP_ELICITATION_SECRET }, args });
    assert.equal(await house.client(server).ended('use'), newest(house.service));
    assert.equal(house.service.asked.authorize, 1);
  });

  test('sqlite: a title that has changed while a question waits changes no question', async (t) => {
    const house = await House.open(t);
    const first = await house.start();
    const ada = await Person.at(first, 'ada');
    const asked = await house.client().asked('use_named', { name: 'github' });
    await first.stop();
    house.file = oauthFile(t, house.service.section('github', { title: 'The Hub' }));
    await house.start();
    await goThrough(ada, linkOf(asked));
    assert.equal(await house.client().ended('use_named', { name: 'github' }, answered(asked)), newest(house.service));
  });

  // The node that refreshes dies; another one of the same store waits until its word has run out.
  for (const point of FULL ? ['lease_after', 'refresh_after', 'refresh_before'] : ['refresh_after'])
    test(`two nodes of redis: killed at ${point}, the other one goes on`, async (t) => {
      const house = await House.open(t, { store: 'redis', settings: { lasts: 1, forgiving: true } });
      const { service } = house;
      await connected(house);
      const other = await house.start(null, 0);
      await service.expired();
      service.lasts = 3600;
      const first = await house.start(point);
      await assert.rejects(house.client(first).ended('use'));
      await house.dead(first);
      const said = await Promise.all(Array.from({ length: 10 }, () => house.client(other).ended('use')));
      assert.deepEqual([...new Set(said)], [newest(service)]);
      assert.deepEqual([service.asked.refresh, service.asked.authorize], [point === 'refresh_before' ? 2 : 1, 1]);
    });
});
