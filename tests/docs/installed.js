// Installs a release as the pages say, in a home of its own, and builds programs against it: the blocks of README.md ("install") and
// docs/start.md ("install-for-start", and all that follow); and a plugin, as `nod new` says. scripts/test runs this at its end, when a release is built.
//
//   NOD_BIN_DIR=build/strict scripts/node --test tests/docs/installed.js
import test from 'node:test';
import assert from 'node:assert/strict';
import { existsSync, rmSync } from 'node:fs';
import path from 'node:path';
import { openCheckout } from './checkout.js';
import { blockNamed } from './pages.js';

test('README.md: what it installs can be built against', async (t) => {
  const checkout = await openCheckout(t);
  rmSync(path.join(checkout.folder, 'home/.local'), { recursive: true });
  assert.match(await checkout.run(blockNamed('README.md', 'install')), /--store ADDRESS/);
  for (const file of ['lib/libnod.so', 'lib/libnod.a', 'lib/pkgconfig/nod.pc', 'include/nod/nod.h', 'bin/nod'])
    assert.ok(existsSync(path.join(checkout.folder, 'home/.local', file)), file);
  assert.match(await checkout.run(blockNamed('docs/start.md', 'install-for-start')), /everything for 'run' is here/);
  // What it prints is where it was installed, and all that it takes.
  await checkout.run(`unset PKG_CONFIG_PATH LD_LIBRARY_PATH; home/.local/bin/nod new hello > said
    grep -- "--pkg-config-path $HOME/.local/lib/pkgconfig$" said
    (sed -n 's/^    //p' said | grep -v serve > next; . ./next)`);
  const served = await checkout.serve('home/.local/bin/nod serve --config hello/nod.ini --http 127.0.0.1:8080');
  assert.match(served.stderr(), /event="a plugin was loaded" plugin=hello/);
  assert.match(await checkout.run('scripts/call hello.greet name=Ada', 'accept'), /Hello, Ada!/);
});
