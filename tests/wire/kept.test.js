// What is kept of calls that have ended: as long as something could bring them back, and no longer.
import test from 'node:test';
import assert from 'node:assert/strict';
import { DatabaseSync } from 'node:sqlite';
import path from 'node:path';
import { pause, startHttp } from './harness.js';
import { Modern, scratchFolder } from './modern.js';

const CALLS = 96; // of some sixty steps each, and no question: nothing can bring them back
const AT_ONCE = 8;
const AFTERWARDS = 12; // calls whose commits remove the others

test('11.16: with a short --keep a database does not grow with the calls of 2026', async (t) => {
  const file = path.join(scratchFolder(t), 'nod.db');
  const server = await startHttp(t, 'probe', { args: ['--store', `sqlite:${file}`, '--keep', '1s'] });
  const client = new Modern(server.url);
  const call = async () => assert.equal((await client.call('too_many_steps')).result.isError, true);

  for (let i = 0; i < CALLS; i += AT_ONCE) await Promise.all(Array.from({ length: AT_ONCE }, call));
  await pause(1500); // longer than ends are kept
  for (let i = 0; i < AFTERWARDS; i++) await call();
  await server.stop();
  const [{ kept }] = new DatabaseSync(file).prepare('SELECT count(*) AS kept FROM calls').all();
  t.diagnostic(`${CALLS + AFTERWARDS} calls, ${kept} kept`);
  assert.ok(kept <= CALLS / 2, `${kept} calls are kept`); // the rest goes with the next commits
});
