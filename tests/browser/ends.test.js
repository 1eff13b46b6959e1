// What is begun for a test, and how it ends: a test that fails does so at once, with its own message.
import test from 'node:test';
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { everyEnd, within, PATIENCE_MS } from '../wire/harness.js';

test('whatever was begun is ended, and the first thing that was wrong is told', async () => {
  const ended = [], hooks = [];
  const t = { after: (hook) => hooks.push(hook) };
  everyEnd(t);
  everyEnd(t);
  t.after(() => ended.push('first'));
  t.after(() => {
    throw new Error('what the second saw');
  });
  t.after(async () => {
    throw new Error('what the third saw');
  });
  t.after(async () => ended.push('fourth'));
  assert.equal(hooks.length, 1);
  await assert.rejects(hooks[0](), /what the second saw/);
  assert.deepEqual(ended, ['first', 'fourth']);
});

test('a test whose page has logged an error ends without its servers', async () => {
  const browser = new URL('./browser.js', import.meta.url).href;
  const program = `
    import test from 'node:test';
    import { pagesOf, startServer } from '${browser}';
    test('fails', async (t) => {
      await startServer(t);
      pagesOf(t).problems.push('what the page has logged');
    });`;
  const child = spawn(process.execPath, ['--input-type=module', '-e', program], { cwd: process.env.NOD_SOURCE_DIR, stdio: ['ignore', 'pipe', 'inherit'] });
  let said = '';
  child.stdout.on('data', (data) => (said += data));
  try {
    const [code] = await within(PATIENCE_MS, 'it ends', once(child, 'close'));
    assert.equal(code, 1, said);
    assert.match(said, /what the page has logged/);
  } finally {
    child.kill('SIGKILL');
  }
});
