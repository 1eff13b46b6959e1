// A plugin in C++ (tests/wire/plugins/plus.cpp): it reads its settings, its tool asks, and its object goes when it is not named any more.
import test from 'node:test';
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { Modern, accepted, retryOf } from './modern.js';
import { complaints } from './harness.js';
import { serveHome } from './serving.js';

test('a plugin in C++ reads its settings, asks, and leaves nothing behind', async (t) => {
  const home = serveHome(t);
  const plus = home.plugin('plus');
  home.configure(`[server]\nplugin = ${plus}\n\n[plugin plus]\ngreeting = Good morning\ntimes = 3\npace = 1.25\nloud = yes\n`);
  const server = await home.start({ env: { MCP_ELICITATION_SECRET: 'a secret of this test, and long enough' } });
  const client = new Modern(server.url);
  const round = await client.asked('plus.greet', {});
  const [key] = Object.keys(round.inputRequests);
  assert.equal(await client.ended('plus.greet', {}, retryOf(round, { [key]: accepted({}) })), 'Good morning yes 3 1.25 true');
  const isLoaded = () => /plus[^ ]*\.so/.test(readFileSync(`/proc/${server.pid}/maps`, 'latin1'));
  assert.ok(isLoaded());
  home.configure('[server]\n');
  server.signal('SIGHUP');
  await server.said(/the old code of a plugin was let go/);
  await client.request('tools/list'); // a turn of the loop later
  assert.ok(!isLoaded());
  assert.deepEqual(complaints(server.stderr()), []);
});
