// A call that has ended never runs again, whoever brings its requestState, and a round is answered as a whole.
import test from 'node:test';
import assert from 'node:assert/strict';
import path from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { startHttp, textOf, PATIENCE_MS } from './harness.js';
import { Modern, assertRefused, assertSecond, deedsFile, retryOf, scratchFolder, word } from './modern.js';
import { stores } from './stores.js';

const SECRET = 'a secret that is surely long enough for this';
const HOUR_MS = 3600000;
const redis = stores.find(({ name }) => name === 'redis');

// A server on one of the stores; forget() is two hours, or, where time cannot be moved, somebody who takes the records away.
const homes = {
  memory: async (t, env) => {
    const server = await startHttp(t, 'probe', { env });
    const modern = new Modern(server.url);
    const forget = async () => {
      await modern.ended('advance', { ms: 2 * HOUR_MS });
      await modern.asked('two_rounds'); // something happens in the store
    };
    return { modern, forget };
  },
  sqlite: async (t, env) => {
    const file = path.join(scratchFolder(t), 'nod.db');
    const start = async () => startHttp(t, 'probe', { env, args: ['--store', `sqlite:${file}`] });
    const home = { server: await start() };
    home.modern = new Modern(home.server.url);
    home.forget = async () => {
      await home.server.stop();
      const db = new DatabaseSync(file, { timeout: PATIENCE_MS });
      db.exec('DELETE FROM asks; DELETE FROM calls');
      db.close();
      home.server = await start();
      home.modern.url = home.server.url;
    };
    return home;
  },
  redis: async (t, env) => {
    const store = await redis.create(t);
    const server = await startHttp(t, 'probe', { env, args: ['--store', store.address] });
    return {
      modern: new Modern(server.url),
      forget: async () => {
        const keys = await store.say('KEYS', '*}c:*');
        if (keys.length) await store.say('DEL', ...keys.map(String));
      },
    };
  },
};

for (const [name, home] of Object.entries(homes)) {
  const begin = async (t) => {
    const deeds = deedsFile(t);
    const secret = name === 'memory' ? {} : { MCP_ELICITATION_SECRET: SECRET };
    return { deeds, ...(await home(t, { PROBE_FILE: deeds.file, ...secret })) };
  };

  for (const atMostOnce of [false, true]) {
    const what = atMostOnce ? ', and neither does a step that is done at most once' : '';
    test(`11.1: ${name}: declined, forgotten, then accepted: nothing is done${what}`, async (t) => {
      const house = await begin(t);
      const asked = await house.modern.asked('deed_ask_deed', { atMostOnce });
      assert.equal(await house.modern.ended('deed_ask_deed', { atMostOnce }, retryOf(asked, { word: { action: 'decline' } })), 'nothing was done');
      await house.forget();
      const reply = await house.modern.call('deed_ask_deed', { atMostOnce }, retryOf(asked, { word: word('it') }));
      assert.deepEqual(house.deeds.lines(), ['begun'], reply.text);
      assert.equal(reply.status, 400, reply.text);
      if (name !== 'memory') assertRefused(reply, 'what is forgotten');
    });

    test(`11.1: ${name}: accepted, forgotten, then accepted again: it was done once${what}`, async (t) => {
      const house = await begin(t);
      const asked = await house.modern.asked('deed_ask_deed', { atMostOnce });
      const retry = retryOf(asked, { word: word('it') });
      assert.equal(await house.modern.ended('deed_ask_deed', { atMostOnce }, retry), 'did it');
      await house.forget();
      const reply = await house.modern.call('deed_ask_deed', { atMostOnce }, retry);
      assert.deepEqual(house.deeds.lines(), ['begun', 'it'], reply.text);
      if (name === 'memory') assert.equal(textOf(reply.result), 'did it', reply.text); // it remembers
      else assertRefused(reply, 'what is forgotten');
    });
  }
}

for (const name of ['memory', 'sqlite']) {
  test(`11.1: ${name}: an end is known for as long as a state lives that could bring it back`, async (t) => {
    const deeds = deedsFile(t);
    const { modern } = await homes[name](t, { PROBE_FILE: deeds.file });
    const done = await modern.asked('deed_ask_deed');
    const refused = await modern.asked('deed_ask_deed');
    const yes = { word: word('it') };
    assert.equal(await modern.ended('deed_ask_deed', {}, retryOf(done, yes)), 'did it');
    assert.equal(await modern.ended('deed_ask_deed', {}, retryOf(refused, { word: { action: 'decline' } })), 'nothing was done');
    for (let hours = 11; hours < 24; hours += 11) {
      await modern.ended('advance', { ms: 11 * HOUR_MS });
      await modern.asked('deed_ask_deed'); // something happens in the store
      assert.equal(await modern.ended('deed_ask_deed', {}, retryOf(done, yes)), 'did it', 'the stored result');
      const late = await modern.call('deed_ask_deed', {}, retryOf(refused, yes));
      assert.equal(late.status, 400, late.text);
    }
    assert.deepEqual(deeds.lines().filter((line) => line === 'it'), ['it']);
  });
}

test('11.1: a state of another store is refused, and told that it is of another server', async (t) => {
  const deeds = deedsFile(t);
  const env = { PROBE_FILE: deeds.file, MCP_ELICITATION_SECRET: SECRET };
  const houses = [await homes.memory(t, env), await homes.memory(t, env), await homes.sqlite(t, env), await homes.redis(t, env)];
  for (const from of houses) {
    const asked = await from.modern.asked('deed_ask_deed');
    for (const to of houses) {
      if (to === from) continue;
      const reply = await to.modern.call('deed_ask_deed', {}, retryOf(asked, { word: word('it') }));
      assert.equal(reply.status, 400, reply.text);
      assert.equal(reply.error.code, -32602);
      assert.match(reply.error.message, /another server/);
    }
  }
  assert.deepEqual(deeds.lines(), houses.map(() => 'begun'));
});

// --- clocks ---

for (const [what, ahead] of [['ahead', HOUR_MS], ['behind', -HOUR_MS]]) {
  test(`11.8: a node that is an hour ${what} serves the states of others, and others serve its own`, async (t) => {
    const store = await redis.create(t);
    const deeds = deedsFile(t);
    const start = async (env) => new Modern((await startHttp(t, 'probe', {
      env: { PROBE_FILE: deeds.file, MCP_ELICITATION_SECRET: SECRET, ...env }, args: ['--store', store.address] })).url);
    const nodes = [await start({}), await start({ PROBE_CLOCK_AHEAD_MS: `${ahead}` })];
    for (const [one, two] of [[0, 1], [1, 0]]) {
      let asked = await nodes[one].asked('two_rounds');
      asked = await nodes[two].asked('two_rounds', {}, retryOf(asked, { first: word('a') }));
      asked = await nodes[one].asked('two_rounds', {}, retryOf(asked, {}));
      assert.equal(await nodes[two].ended('two_rounds', {}, retryOf(asked, { second: word('b') })), 'a b');
    }
  });
}

// --- a round is one thing ---

const ROUNDS = 60;

test('11.11: two different submissions of one round, through two nodes, never mix, and the second is told', async (t) => {
  const store = await redis.create(t);
  const deeds = deedsFile(t);
  const start = async () => new Modern((await startHttp(t, 'probe', {
    env: { PROBE_FILE: deeds.file, MCP_ELICITATION_SECRET: SECRET }, args: ['--store', store.address] })).url);
  const nodes = [await start(), await start()];
  const submission = (name) => ({ one: word(name), two: word(name) });
  const seen = { won: 0, told: 0 };
  for (let i = 0; i < ROUNDS; i++) {
    const asked = await nodes[i % 2].asked('pair');
    const replies = await Promise.all(nodes.map((node, n) => node.call('pair', {}, retryOf(asked, submission(`${n}`)))));
    const lines = deeds.lines();
    assert.equal(lines.length, i + 1, 'one deed');
    const winner = lines.at(-1);
    assert.match(winner, /^(0 0|1 1)$/, 'answers that were given together');
    for (const [n, reply] of replies.entries()) {
      if (winner === `${n} ${n}`) {
        assert.equal(textOf(reply.result), `did ${winner}`, reply.text);
        seen.won++;
      } else {
        assertSecond(reply, 'the other submission');
        seen.told++;
      }
    }
  }
  assert.deepEqual(seen, { won: ROUNDS, told: ROUNDS });
});

test('11.11: the same submission twice, through two nodes, is one', async (t) => {
  const store = await redis.create(t);
  const deeds = deedsFile(t);
  const start = async () => new Modern((await startHttp(t, 'probe', {
    env: { PROBE_FILE: deeds.file, MCP_ELICITATION_SECRET: SECRET }, args: ['--store', store.address] })).url);
  const nodes = [await start(), await start()];
  for (let i = 0; i < ROUNDS / 5; i++) {
    const asked = await nodes[i % 2].asked('pair');
    const retry = retryOf(asked, { one: word('a'), two: word('b') });
    const texts = await Promise.all(nodes.map((node) => node.ended('pair', {}, retry)));
    assert.deepEqual(texts, ['did a b', 'did a b']);
    assert.equal(deeds.lines().length, i + 1);
  }
});

// --- with a secret ---

for (const name of Object.keys(homes)) {
  test(`11.20: ${name}: with a secret, steps of every kind are done after the person has said yes`, async (t) => {
    const deeds = deedsFile(t);
    const { modern } = await homes[name](t, { PROBE_FILE: deeds.file, MCP_ELICITATION_SECRET: SECRET });
    for (const atMostOnce of [false, true]) {
      const asked = await modern.asked('deed_ask_deed', { atMostOnce });
      assert.equal(await modern.ended('deed_ask_deed', { atMostOnce }, retryOf(asked, { word: word('it') })), 'did it');
    }
    let asked = await modern.asked('write_line', { idempotent: false });
    asked = await modern.asked('write_line', { idempotent: false }, retryOf(asked, { first: word('a') }));
    assert.equal(await modern.ended('write_line', { idempotent: false }, retryOf(asked, { second: word('b') })), 'wrote a b');
    assert.deepEqual(deeds.lines(), ['begun', 'it', 'begun', 'it', 'a b']);
  });
}

test('11.20: sqlite: a state survives a restart, and its steps are done', async (t) => {
  const deeds = deedsFile(t);
  const file = path.join(scratchFolder(t), 'nod.db');
  const start = () => startHttp(t, 'probe', { env: { PROBE_FILE: deeds.file, MCP_ELICITATION_SECRET: SECRET }, args: ['--store', `sqlite:${file}`] });
  const before = await start();
  const asked = await new Modern(before.url).asked('deed_ask_deed');
  await before.stop();
  const after = await start();
  assert.equal(await new Modern(after.url).ended('deed_ask_deed', {}, retryOf(asked, { word: word('it') })), 'did it');
  assert.deepEqual(deeds.lines(), ['begun', 'it']);
});
