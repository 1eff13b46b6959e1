// Ended calls are kept as long as something could bring them back, and no longer.
import test from 'node:test';
import assert from 'node:assert/strict';
import { DatabaseSync } from 'node:sqlite';
import path from 'node:path';
import { pause, startHttp, PATIENCE_MS } from './harness.js';
import { Modern, retryOf, scratchFolder } from './modern.js';

const CALLS = 400; // of two steps and no question each: nothing can bring them back
const AT_ONCE = 20;
const LEFT = 8; // the last few may be younger than --keep when they are counted
const SWEPT_MS = PATIENCE_MS; // --keep, and several turns of the sweep, which comes every 5 s with the node's beat, take less

test('11.16: with a short --keep a database does not grow with the calls of 2026', async (t) => {
  const file = path.join(scratchFolder(t), 'nod.db');
  const server = await startHttp(t, 'probe', { args: ['--store', `sqlite:${file}`, '--keep', '1s'] });
  const client = new Modern(server.url);
  const db = new DatabaseSync(file, { readOnly: true, timeout: PATIENCE_MS });
  t.after(() => db.close());
  const counted = (where) => db.prepare(`SELECT count(*) AS kept FROM calls ${where}`).get().kept;

  // This one waits, so it stays, however often the others are swept.
  const waiting = await client.asked('steps');

  let most = 0;
  for (let i = 0; i < CALLS; i += AT_ONCE) {
    const texts = await Promise.all(Array.from({ length: AT_ONCE }, () => client.ended('steps_alone')));
    assert.deepEqual(new Set(texts), new Set(['done']));
    most = Math.max(most, counted(''));
  }
  assert.ok(most > LEFT, `only ${most} calls were ever kept: this test counts nothing`);

  let kept = counted('');
  for (const until = Date.now() + SWEPT_MS; kept > LEFT && Date.now() < until; kept = counted('')) await pause(200);
  t.diagnostic(`${CALLS} calls, at most ${most} kept at once, ${kept} in the end`);
  assert.ok(kept <= LEFT, `${kept} calls are kept`);

  const [key] = Object.keys(waiting.inputRequests);
  const text = await client.ended('steps', {}, retryOf(waiting, { [key]: { action: 'accept', content: { confirm: 'yes' } } }));
  assert.match(text, /^\S+ \S+$/);
});
