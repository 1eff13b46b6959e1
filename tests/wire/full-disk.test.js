// What a caller reads when the disk of its server is full: it can tell whether its call was not begun, begun, or done and
// not stored. Both eras, with handlers that have steps and those that have none.
import test from 'node:test';
import assert from 'node:assert/strict';
import { PATIENCE_MS, callTool, pause, rawPeer, textOf, within } from './harness.js';
import { Modern, deedsFile } from './modern.js';
import { LARGE, onSmallDisk } from './small-disk.js';

const SECRET = 'a secret that is surely long enough for this';

async function fullDisk(t, body) {
  const deeds = deedsFile(t);
  const small = await onSmallDisk(t, { MCP_ELICITATION_SECRET: SECRET, PROBE_FILE: deeds.file });
  if (!small) return;
  const modern = new Modern(small.url);
  const peer = await rawPeer(t, 'http', 'probe', { server: small });
  const eras = {
    2026: async (tool) => (await within(PATIENCE_MS, 'a reply', modern.call(tool, LARGE))).result,
    2025: async (tool) => (await (await callTool(peer, tool, LARGE)).reply()).result,
  };
  small.fill();
  await body(eras, deeds);
  small.free();
}

const said = (result, code) => {
  assert.equal(result?.isError, true, JSON.stringify(result));
  assert.equal(result._meta.code, code);
  return textOf(result);
};

for (const era of ['2026', '2025']) {
  test(`${era}: a question that finds no room: nobody was asked, and no step was done`, (t) => fullDisk(t, async (eras) => {
    const text = said(await eras[era]('two_rounds'), 'STORE_UNAVAILABLE');
    assert.match(text, /did not take the question, so nobody was asked\. No step was done\. Try the call again later/);
  }));

  test(`${era}: a call that begins with a step, once the disk is known to be full: the step was not begun`, (t) => fullDisk(t, async (eras, deeds) => {
    await eras[era]('two_rounds'); // which finds out
    const text = said(await eras[era]('write_then_ask'), 'STORE_UNAVAILABLE');
    assert.match(text, /The step 'write' was not begun: what comes of it cannot be stored now \(database or disk is full\)/);
    assert.deepEqual(deeds.lines(), []);
  }));
}

test('2025: a call that begins with a step, on a disk that has just become full: it was not begun', (t) => fullDisk(t, async (eras, deeds) => {
  const text = said(await eras[2025]('write_then_ask'), 'STORE_UNAVAILABLE');
  assert.match(text, /did not take the call, so it was not begun\. No step was done\./);
  assert.deepEqual(deeds.lines(), []);
}));

test('2026: a step that was done on a disk that has just become full: told at once, with its name', (t) => fullDisk(t, async (eras, deeds) => {
  const text = said(await eras[2026]('write_then_ask'), 'OUTCOME_UNKNOWN');
  assert.match(text, /The step 'write' was done, but its result could not be stored \(sqlite store: store unavailable\)\. Look at what was done/);
  assert.deepEqual(deeds.lines(), ['begun']);
}));

// As after a death: what SQLite needs beside the file is still there, and the room it takes is its own.
test('after a clean stop, too, a server starts on a full disk, and goes on when there is room', async (t) => {
  const first = '"$@" 2>"$0.log" & until grep -q listening "$0.log"; do sleep 0.05; done; kill $!; wait $!; head -c 2M /dev/zero >"$0/filler" 2>/dev/null;';
  const small = await onSmallDisk(t, { MCP_ELICITATION_SECRET: SECRET }, first);
  if (!small) return;
  const ready = async () => (await fetch(new URL('/readyz', small.url))).status;
  assert.equal(await ready(), 503);
  small.free();
  await within(PATIENCE_MS, 'it is ready', (async () => {
    while ((await ready()) !== 200) await pause(50);
  })());
});
