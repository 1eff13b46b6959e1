// A plugin that takes the process down in a handler, a step or a hook is named by the last line of the log, with its tool and the call.
// The next start goes on.
import { describe, test } from 'node:test';
import assert from 'node:assert/strict';
import { PATIENCE_MS, textOf, within } from './harness.js';
import { Modern, retryOf, word } from './modern.js';
import { linesOf, serveHome } from './serving.js';

// A sanitizer would take the signal of a fault for itself.
const env = { ASAN_OPTIONS: `${process.env.ASAN_OPTIONS ?? ''}:handle_segv=0:handle_sigbus=0:detect_leaks=0` };
const EVENT = 'the process dies in code that is not nod\'s';

// A call of this tool takes the server down; an answer, if it asks.
async function crashBy(server, tool, args) {
  const modern = new Modern(server.url);
  const begun = modern.call(tool, args);
  if (tool !== 'crashes.answer') return begun.catch(() => {});
  const { result } = await begun;
  return modern.call(tool, args, retryOf(result, { [Object.keys(result.inputRequests)[0]]: word('boat') })).catch(() => {});
}

function lastOf(server) {
  const lines = server.stderr().trimEnd().split('\n');
  assert.match(lines.at(-1), /^time=/, `the last line of the log is nod's:\n${lines.slice(-5).join('\n')}`);
  return linesOf(lines.at(-1))[0];
}

const ROWS = [
  ['crashes.now', 'abort', { signal: 'SIGABRT' }],
  ['crashes.now', 'fault', { signal: 'SIGSEGV' }],
  ['crashes.now', 'stack', { signal: 'SIGSEGV' }],
  ['crashes.worker', 'abort', { signal: 'SIGABRT' }],
  ['crashes.worker', 'fault', { signal: 'SIGSEGV' }],
  ['crashes.worker', 'stack', { signal: 'SIGSEGV' }],
  ['crashes.step', 'fault', { signal: 'SIGSEGV' }],
  ['crashes.gate', undefined, { signal: 'SIGABRT', hook: 'careless', stage: 'gate' }],
  ['crashes.around', undefined, { signal: 'SIGABRT', hook: 'round-about', stage: 'start' }],
  ['crashes.nameless', undefined, { signal: 'SIGABRT', hook: undefined, stage: 'start' }],
  ['crashes.answer', undefined, { signal: 'SIGABRT', hook: 'reads-along', stage: 'buildResult' }],
];

describe('a plugin that crashes', { concurrency: 4 }, () => {
  for (const [tool, how, expected] of ROWS)
    test(`${tool}${how ? `, ${how}` : ''}: the last line of the log names it, and the next start goes on`, async (t) => {
      const home = serveHome(t);
      const args = ['--plugin', home.plugin('crashes')];
      const first = await home.start({ args, env });
      const crashing = crashBy(first, tool, how ? { how } : {});
      await first.killed();
      await crashing;
      const last = lastOf(first);
      const { event, signal, hook, stage, target, plugin, call, registered } = last;
      assert.deepEqual({ event, target, plugin, signal, hook, stage }, { event: EVENT, target: tool, plugin: 'crashes', hook: undefined, stage: undefined, ...expected });
      assert.match(call ?? '', /^[\w-]{22}$/, 'the call');
      if (!stage) assert.match(registered, /crashes\.c:\d+$/);
      const next = await home.start({ args, env });
      assert.equal(textOf((await new Modern(next.url).call('crashes.plain')).result), 'plain');
    });

  test('while it is opened, before it has a name: its file is named, and it is left out at the next start', async (t) => {
    const home = serveHome(t);
    const file = home.plugin('crashes');
    const args = ['--plugin', file];
    const { code, stderr } = await home.refused({ args, env: { ...env, CRASHES_AT: 'constructor' } });
    assert.equal(code, null, 'it died');
    const [{ event, signal, file: named }] = linesOf(stderr.trimEnd().split('\n').at(-1));
    assert.deepEqual({ event, signal, file: named }, { event: EVENT, signal: 'SIGABRT', file });
    const next = await home.start({ args, env });
    assert.match(linesOf(next.stderr(), 'error')[0].why, /the process died the last time it loaded this file/);
  });

  test('in .unload, when the server is told to stop', async (t) => {
    const home = serveHome(t);
    const file = home.plugin('crashes');
    const server = await home.start({ args: ['--plugin', file], env: { ...env, CRASHES_AT: 'unload' } });
    server.signal('SIGTERM');
    await server.killed();
    const { event, plugin, file: named } = lastOf(server);
    assert.deepEqual({ event, plugin, file: named }, { event: EVENT, plugin: 'crashes', file });
  });
});

// As a watchdog does it. No code of a plugin runs, so nobody is named; and the signal is not lost.
test('a server that another program aborts is gone, and blames nobody', async (t) => {
  const home = serveHome(t);
  const server = await home.start({ args: ['--plugin', home.plugin('crashes')], env });
  server.signal('SIGABRT');
  await within(PATIENCE_MS, 'it ends', server.killed());
  assert.doesNotMatch(server.stderr(), /the process dies/);
});
