// What was answered: by whom, where and how long it took, with search; what waits and what has ended by page; numbers as
// they came; and what is sensitive is shown to nobody.
import test from 'node:test';
import assert from 'node:assert/strict';
import path from 'node:path';
import { spawnSync } from 'node:child_process';
import { environment, pause, program, rawPeer, startHttp, textOf, within, PATIENCE_MS } from './harness.js';
import { Api, houses, mute, openHouse, token, tokenFile } from './inbox.js';
import { scratchFolder } from './modern.js';

const messages = (reply) => reply.json.items.map(({ message }) => message);

for (const house of houses)
  test(`${house.name}: the history is searched by tool, principal, state, time and text, by page`, async (t) => {
    const { first, last } = await openHouse(t, house);
    const root = new Api(last, 'root');
    const ada = new Api(first, 'ada');
    const clients = { ada: await mute(t, first, 'ada'), bob: await mute(t, last, 'bob') };
    const calls = [];
    const ask = async (who, tool, args, body) => {
      const before = (await root.list({ limit: 200 })).json.items.length;
      calls.push(clients[who].call(tool, args).catch(() => {}));
      const item = (await root.pending(before + 1, { limit: 200 })).at(-1);
      if (body) assert.equal((await root.resolve(item.id, body)).status, 200);
      return item;
    };
    await ask('ada', 'ask', { message: 'Where is the Zebra?' }, { action: 'accept', content: { name: 'here' } });
    await ask('bob', 'ask', { message: 'second' }, { action: 'decline', reason: 'Not on a Friday' });
    await ask('ada', 'confirm', {}, { action: 'cancel' });
    await ask('bob', 'ask', { message: 'fourth' }, { action: 'accept', content: { name: 'there' } });
    const waiting = [];
    for (let i = 0; i < 5; i++) waiting.push(await ask('ada', 'ask', { message: `waits ${i}` }));

    const all = (await root.list({ state: 'ended' })).json.items;
    assert.deepEqual(all.map(({ state }) => state), ['accepted', 'cancelled', 'declined', 'accepted'], 'the latest end first');
    for (const { answer, askedAt } of all) assert.equal(Date.parse(answer.at) - Date.parse(askedAt), answer.tookMs);
    const search = async (query) => (await root.list({ state: 'ended', ...query })).json.items.map(({ message }) => message);
    assert.deepEqual(await search({ tool: 'confirm' }), [all[1].message]);
    assert.deepEqual(await search({ principal: 'bob' }), ['fourth', 'second']);
    assert.deepEqual(await search({ state: 'declined' }), ['second']);
    assert.deepEqual(await search({ state: 'expired' }), []);
    assert.deepEqual(await search({ since: all[1].answer.at }), [all[0].message, all[1].message]);
    assert.deepEqual(await search({ until: all[2].answer.at }), [all[2].message, all[3].message]);
    assert.deepEqual(await search({ q: 'zebra' }), ['Where is the Zebra?']);
    assert.deepEqual(await search({ q: 'friday' }), ['second'], 'a reason is text too');
    assert.deepEqual(await search({ q: 'nowhere to be found' }), []);
    assert.deepEqual(messages(await ada.list({ state: 'ended', principal: 'bob' })), [], "not another's");

    // By page, oldest first; each shown once.
    const seen = [];
    for (let cursor; cursor !== null;) {
      const { json } = await ada.list({ limit: 2, ...(cursor ? { cursor } : {}) });
      assert.ok(json.items.length <= 2);
      seen.push(...json.items.map(({ message }) => message));
      cursor = json.next;
    }
    assert.deepEqual(seen, waiting.map(({ message }) => message));
    assert.deepEqual(messages(await ada.list({ q: 'WAITS 3' })), ['waits 3']);
    for (const { id } of waiting) await ada.resolve(id, { approved: false });
    await Promise.all(calls);
  });

test('a search takes time in proportion to what is searched, whatever is looked for', async (t) => {
  const { first } = await openHouse(t, houses[0]);
  const ada = new Api(first, 'ada');
  const client = await mute(t, first, 'ada');
  const calls = [client.call('ask_plain', { big: 'A'.repeat(1 << 20) }), client.call('ask', { message: 'Ababaabababb' })];
  await ada.pending(2);
  for (const [q, count] of [['aBABABB', 1], ['abababab', 0], ['babaa', 1], ['abababb', 1], ['ababaabababb', 1], ['ababaabababba', 0], ['A'.repeat(200), 1]])
    assert.equal((await ada.list({ q })).json.items.length, count, q);
  // The shortest of several: others share this machine.
  const fastest = async (q) => {
    const took = [];
    for (let i = 0; i < 3; i++) {
      const start = performance.now();
      assert.deepEqual(messages(await ada.list({ q })), []);
      took.push(performance.now() - start);
    }
    return Math.min(...took);
  };
  const [short, long] = [await fastest('A!'), await fastest(`${'A'.repeat(199)}!`)]; // in no id, either
  assert.ok(long < 10 * short, `${long} ms against ${short} ms`);
  const refused = await ada.list({ q: 'A'.repeat(201) });
  assert.deepEqual([refused.status, refused.json.detail], [400, 'The parameter q is a text of at most 200 bytes.']);
  // With more than is searched in one turn, everything is still found.
  for (let i = 0; i < 20; i++) calls.push(client.call('ask', { message: i % 7 ? 'straw' : `needle ${i}` }));
  await ada.pending(22);
  assert.deepEqual(messages(await ada.list({ q: 'needle' })).sort(), ['needle 0', 'needle 14', 'needle 7']);
  for (const { id } of (await ada.list()).json.items) await ada.resolve(id, { approved: false });
  await Promise.all(calls);
});

test("one user's searches hold up nobody: they take turns with everything else, one at a time", async (t) => {
  const { first } = await openHouse(t, houses[0]);
  const [ada, bob] = [new Api(first, 'ada'), new Api(first, 'bob')];
  const client = await mute(t, first, 'ada');
  const calls = Array.from({ length: 2 }, () => client.call('ask_plain', { big: 'A'.repeat(3 << 20) }, { timeout: PATIENCE_MS }));
  await ada.pending(2);
  const q = `${'A'.repeat(199)}B`; // nearly everywhere
  for (let left = 10; left; left--) {
    const abort = new AbortController();
    const answered = [];
    const search = async () => {
      const { status } = await fetch(`${ada.base}/api/elicitation?q=${q}`, { headers: ada.credential(), signal: abort.signal });
      answered.push(status);
    };
    const searches = Array.from({ length: 80 }, () => search().catch(() => {}));
    let longest = 0;
    for (let i = 0; i < 8; i++) {
      const start = performance.now();
      assert.equal((await (i % 2 ? bob.list() : fetch(`${bob.base}/healthz`))).status, 200);
      longest = Math.max(longest, performance.now() - start);
    }
    const over = answered.filter((status) => status === 200).length;
    if (longest >= 1000 && left > 1) t.diagnostic(`${longest} ms: others share this machine, and it is measured again`);
    else assert.ok(longest < 1000, `${longest} ms`);
    if (longest < 1000) {
      assert.ok(over < 8, `${over} searches were over before others had their turn`);
      assert.ok(answered.includes(429), 'of one user, 64 wait at most');
      // Another user's search does not wait behind them.
      assert.deepEqual(messages(await bob.list({ q })), []);
      left = 1;
    }
    abort.abort();
    await Promise.all(searches);
  }
  assert.equal((await ada.list({ q: 'something' })).status, 200, 'who has hung up does not count any more');
  for (const { id } of (await ada.list()).json.items) await ada.resolve(id, { approved: false });
  await Promise.all(calls);
});

test('numbers are shown exactly as they came, and hostile text is only text', async (t) => {
  const { first } = await openHouse(t, houses[0]);
  const ada = new Api(first, 'ada');
  const peer = await rawPeer(t, 'http', 'probe', { server: first, token: token('ada'), capabilities: {} });
  const hostile = '<script>alert(1)</script> \u202Eevil\u202C \u001b[2J';
  const text = `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"ask","arguments":{"message":${JSON.stringify(hostile)},` +
    '"extra":[12345678901234567890.123456789,1e400,-0.0,1.10]}}}';
  peer.post(text).catch(() => {});
  const [item] = await ada.pending();
  assert.equal(item.message, hostile);
  const { text: raw } = await ada.one(item.id);
  assert.ok(raw.includes('[12345678901234567890.123456789,1e400,-0.0,1.10]'), raw);
  assert.ok((await ada.list()).text.includes('[12345678901234567890.123456789,1e400,-0.0,1.10]'));
  await ada.resolve(item.id, { approved: false });
});

test('what was answered to a sensitive ask is shown to nobody', async (t) => {
  const { first } = await openHouse(t, houses[0]);
  const ada = new Api(first, 'ada');
  const client = await mute(t, first, 'ada');
  const call = client.call('ask', { message: 'Only for you', sensitive: true });
  const [{ id }] = await ada.pending();
  assert.equal((await ada.resolve(id, { action: 'accept', content: { name: 'hush-hush' } })).status, 200);
  await call;
  for (const who of ['ada', 'root']) {
    const item = (await new Api(first, who).one(id)).json;
    assert.equal(item.state, 'accepted');
    assert.ok(!('content' in item.answer), JSON.stringify(item.answer));
  }
});

test('what was withdrawn says by whom and why, after an upgrade', async (t) => {
  const folder = scratchFolder(t), tokens = tokenFile(t);
  const start = (env) => startHttp(t, 'probe', { env, args: ['--soft-deadline', '1s', '--token-file', tokens, '--store', `sqlite:${path.join(folder, 'nod.db')}`] });
  const old = await start({ PROBE_VERSION: '1' });
  const client = await mute(t, old, 'ada');
  const { callId } = (await client.call('renewed', { for: 'me' })).structuredContent;
  const [item] = await new Api(old, 'ada').pending();
  await old.stop();
  const server = await start({ PROBE_VERSION: '2' });
  const ada = new Api(server, 'ada');
  const back = await mute(t, server, 'ada');
  assert.match(textOf(await back.call('waitForPerson', { callId })), /changed/);
  const withdrawn = await within(PATIENCE_MS, 'it is withdrawn', (async () => {
    for (;;) {
      const { json } = await ada.one(item.id);
      if (json.state !== 'pending') return json;
      await pause(20);
    }
  })());
  assert.deepEqual([withdrawn.state, withdrawn.answer.by, withdrawn.answer.via], ['withdrawn', 'nod', 'nod']);
  assert.match(withdrawn.answer.reason, /changed/);
  const shown = spawnSync(program('nod'), ['inbox', 'show', item.id], { env: environment({ NOD_SERVER: ada.base, NOD_TOKEN: token('ada') }), encoding: 'utf8' });
  assert.match(shown.stdout, /\nwithdrawn by nod at 20[^\n]*\nreason\n {2}\| .*changed/);
  const late = spawnSync(program('nod'), ['inbox', 'answer', item.id, '--decline'], { env: environment({ NOD_SERVER: ada.base, NOD_TOKEN: token('ada') }), encoding: 'utf8' });
  assert.match(late.stderr, /withdrawn by nod at 20/);
});
