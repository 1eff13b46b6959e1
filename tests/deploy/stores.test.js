// What docs/deploy.md says of stores: a backup that is made while calls wait and restored, the settings of a Redis, and
// what becomes of waiting calls when the program is another one.
import test from 'node:test';
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { startProgram } from '../chaos/house.js';
import { accept, callTool, complaints, freePort, nextAsk, rawPeer, runOnce, startHttp, textOf } from '../wire/harness.js';
import { Modern, deedsFile, retryOf, scratchFolder, word } from '../wire/modern.js';
import { blockOf, exchange } from './page.js';

const SECRET = { MCP_ELICITATION_SECRET: 'a-secret-for-the-tests-of-deploying-0123456789' };

// --- backups ---

test('a copy that is made while the server runs brings back the calls that waited, in both eras', async (t) => {
  const folder = scratchFolder(t);
  const deeds = deedsFile(t);
  const [file, backup] = ['nod.db', 'backup.db'].map((name) => path.join(folder, name));
  const start = () => startHttp(t, 'probe', { args: ['--store', `sqlite:${file}`], env: { PROBE_FILE: deeds.file, ...SECRET } });
  const server = await start();
  const modern = new Modern(server.url);
  const asked = await modern.asked('write_slowly', { ms: 0 });
  const peer = await rawPeer(t, 'http', 'probe', { server });
  const call = await callTool(peer, 'renewed', { for: 'me' });
  const ask = await nextAsk(peer);

  execFileSync('sh', ['-e', '-c', exchange(blockOf('Backups', 'sh'), ['/var/lib/nod/nod.db', file], ['/var/backups/nod.db', backup])]);
  const later = await modern.asked('write_slowly', { ms: 0 }); // not in the copy
  await server.kill(); // the machine is gone, with all that came after the copy

  const restore = exchange(blockOf('Backups', 'sh', 1), ['systemctl stop nod\n', ''], ['systemctl start nod\n', ''], ['-o nod -g nod ', ''],
    ['/var/lib/nod/nod.db', file], ['/var/backups/nod.db', backup]);
  execFileSync('sh', ['-e', '-c', restore]);
  const again = await start();
  modern.url = peer.url = again.url;
  assert.equal(await modern.ended('write_slowly', { ms: 0 }, retryOf(asked, { word: word('restored') })), 'wrote restored');
  const lastId = call.handle.events.findLast(({ id }) => id !== undefined).id;
  assert.equal((await peer.request('GET', { headers: { 'Last-Event-ID': lastId }, stream: 'resumed' })).status, 200);
  await accept(peer, ask.id, { word: 'too' });
  assert.equal(textOf((await call.reply()).result), 'renewed too');
  assert.deepEqual(deeds.lines(), ['restored', 'too']);
  const lost = await modern.call('write_slowly', { ms: 0 }, retryOf(later, { word: word('lost') }));
  assert.equal(lost.status, 400, lost.text); // a call that the copy does not know never runs
});

// --- Redis ---

async function redisBy(t, text) {
  const folder = scratchFolder(t);
  const port = await freePort();
  const file = path.join(folder, 'redis.conf');
  writeFileSync(file, `${text}\nbind 127.0.0.1\nport ${port}\ndir ${folder}\nsave ""\n`);
  const redis = await startProgram(t, 'redis-server', [file], (said) => /Ready to accept connections/.test(said));
  return { ...redis, port, say: (...words) => execFileSync('redis-cli', ['-p', String(port), ...words], { encoding: 'utf8' }) };
}

test('a Redis with the settings of the page keeps the whole promise; its own defaults do not', async (t) => {
  const good = await redisBy(t, blockOf('Redis', 'redis'));
  const server = await startHttp(t, 'probe', { args: ['--store', `redis://127.0.0.1:${good.port}/0?strict=1`], env: SECRET });
  assert.deepEqual(complaints(server.stderr()), []);
  const plain = await redisBy(t, '');
  const address = `redis://127.0.0.1:${plain.port}/0`;
  const lax = await startHttp(t, 'probe', { args: ['--store', address], env: SECRET });
  await lax.said(/the store cannot keep the whole promise/);
  assert.equal((await runOnce('probe', ['--http', '127.0.0.1:0', '--store', `${address}?strict=1`], SECRET)).code, 1);
});

test('the user of the page may do all that nod does', async (t) => {
  const redis = await redisBy(t, blockOf('Redis', 'redis'));
  redis.say(...exchange(blockOf('Redis', 'redis', 1), ['>SECRET', '>a-password']).trim().split(' '));
  const address = exchange('redis://nod:SECRET@HOST:6379/0?strict=0', ['SECRET', 'a-password'], ['HOST:6379', `127.0.0.1:${redis.port}`]);
  const deeds = deedsFile(t);
  const server = await startHttp(t, 'probe', { args: ['--store', address], env: { PROBE_FILE: deeds.file, ...SECRET } });
  const modern = new Modern(server.url);
  const asked = await modern.asked('write_slowly', { ms: 0 });
  assert.equal(await modern.ended('write_slowly', { ms: 0 }, retryOf(asked, { word: word('once') })), 'wrote once');
  const peer = await rawPeer(t, 'http', 'probe', { server });
  const call = await callTool(peer, 'ask');
  await accept(peer, (await nextAsk(peer)).id, { name: 'Ada' });
  assert.equal(textOf((await call.reply()).result), 'accept {"name":"Ada"}');
  assert.doesNotMatch(server.stderr(), /level=error|NOPERM/);
});

// --- upgrades and rollbacks ---

async function versions(t) {
  const deeds = deedsFile(t);
  const file = path.join(scratchFolder(t), 'nod.db');
  const house = { deeds, modern: new Modern('') };
  house.become = async (env) => {
    await house.server?.stop();
    house.server = await startHttp(t, 'probe', { args: ['--store', `sqlite:${file}`], env: { PROBE_FILE: deeds.file, ...SECRET, ...env } });
    house.modern.url = house.server.url;
  };
  house.ask = () => house.modern.asked('renewed', { for: 'me' });
  house.answer = async (asked, text) => {
    const { result, error } = await house.modern.call('renewed', { for: 'me' }, retryOf(asked, { word: word(text) }));
    assert.ok(result, error?.message);
    return result.isError ? result._meta.code : textOf(result);
  };
  return house;
}

// (That other texts and annotations change nothing, and that a tool may go, is in tests/wire/era2026-upgrades.test.js.)
test('other questions under the same version cost the answer; under another version they do not', async (t) => {
  const house = await versions(t);
  await house.become({});
  const [first, second] = [await house.ask(), await house.ask()];
  await house.become({ PROBE_QUESTION: 'Which word do you mean?' });
  assert.equal(await house.answer(first, 'one'), 'NOT_DETERMINISTIC');
  await house.become({ PROBE_QUESTION: 'Which word do you mean?', PROBE_VERSION: '2' });
  assert.equal(await house.answer(second, 'two'), 'TOOL_CHANGED');
  assert.deepEqual(house.deeds.lines(), []);
});

test('rolled back: what was not touched goes on, what the new version began is told to call again', async (t) => {
  const house = await versions(t);
  await house.become({});
  const [untouched, met] = [await house.ask(), await house.ask()];
  await house.become({ PROBE_VERSION: '2' });
  const begun = await house.ask();
  assert.equal(await house.answer(met, 'met'), 'TOOL_CHANGED');
  await house.become({});
  assert.equal(await house.answer(untouched, 'untouched'), 'renewed untouched');
  assert.equal(await house.answer(begun, 'begun'), 'TOOL_CHANGED');
  assert.equal(await house.answer(met, 'met'), 'TOOL_CHANGED', 'what has ended stays ended');
  assert.deepEqual(house.deeds.lines(), ['untouched']);
});
