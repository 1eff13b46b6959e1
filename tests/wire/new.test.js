// `nod new NAME`: what it writes builds, passes its test, is served and called, by the lines that it prints; the same source is a server of
// its own. And what a newcomer is told at each wrong turn.
import test from 'node:test';
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { chmodSync, mkdirSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { openCheckout } from '../docs/checkout.js';
import { root } from '../docs/pages.js';
import { connect, program } from './harness.js';
import { connectModern, scratchFolder } from './modern.js';
import { linesOf, serveHome } from './serving.js';

const INSTALL_MS = 240000; // of the Inspector, the first time

// Runs a command somewhere; resolves to { code, stdout, stderr }.
const runIn = (cwd, file, args, env = {}) => new Promise((resolve) => {
  execFile(file, args, { cwd, timeout: INSTALL_MS, env: { PATH: process.env.PATH, HOME: process.env.HOME, ...env } }, (error, stdout, stderr) => resolve({ code: error ? error.code : 0, stdout, stderr }));
});

async function greeted(session, greeting = 'Hello') {
  const call = session.text('hello.greet', { name: 'Ada' });
  const question = await session.question();
  assert.match(question.params.message, /^Greet Ada\?/);
  question.accept({});
  assert.equal(await call, `${greeting}, Ada!`);
}

// The Inspector, with the commands of docs/clients.md for another tool.
async function greetedByInspector(t, url) {
  const home = scratchFolder(t);
  const run = (args) => runIn(root, 'sh', ['-c', `scripts/inspector mcpdo ${args}`], { NOD_INSPECTOR_HOME: home });
  const fine = async (args) => {
    const { code, stdout, stderr } = await run(args);
    assert.equal(code, 0, stdout + stderr);
    return stdout;
  };
  t.after(() => fine('daemon stop'));
  await fine(`connect @hello ${url}`);
  const { elicitationId, message } = JSON.parse(await fine('@hello tools/call hello.greet name:=Ada --format json')).elicitationPending;
  assert.match(message, /^Greet Ada\?/);
  const done = JSON.parse(await fine(`elicitation/respond ${elicitationId} '{}' --format json`));
  assert.equal(done.content[0].text, 'Hello, Ada!');
}

const FIND_NOD = 'export PKG_CONFIG_PATH="$HOME/.local/lib/pkgconfig"';
const maps = (server) => readFileSync(`/proc/${server.pid}/maps`, 'utf8');

test('nod new hello: the lines that it prints build, test and serve it, and the clients call it', async (t) => {
  const checkout = await openCheckout(t);
  const home = serveHome(t);
  const began = performance.now();
  const said = await checkout.run(`${FIND_NOD}\nnod new hello`);
  const lines = said.split('\n').filter((line) => line.startsWith('    ')).map((line) => line.trim());
  assert.deepEqual(lines, ['cd hello', 'meson setup build', 'meson compile -C build', 'meson test -C build', 'nod serve --config nod.ini']);
  await checkout.run(lines.slice(0, -1).join('\n'));
  const project = path.join(checkout.folder, 'hello');
  const server = await home.start({ args: ['--config', path.join(project, 'nod.ini')] });
  await greeted(await connect(t, 'http', 'nod', { server }));
  t.diagnostic(`from nod new to the first greeting: ${((performance.now() - began) / 1000).toFixed(1)} s`);
  await greeted(await connectModern(t, 'http', 'nod', { server }));
  await greetedByInspector(t, server.url);
  t.diagnostic(`and by all three clients: ${((performance.now() - began) / 1000).toFixed(1)} s`);
  assert.deepEqual(linesOf(server.stderr()).filter(({ event }) => !/secret|root/.test(event)), []);
  assert.match(maps(server), /hello\.so/);
  assert.doesNotMatch(maps(server), /libnod/, 'it was linked with -lnod, and no nod is there beside the program\'s');

  // The same, without -lnod, and with a setting.
  await checkout.run('cc -shared -fPIC hello/plugin.c -o hello/build/bare.so $(pkg-config --cflags nod)');
  const config = home.file('bare.ini', `[server]\nname = bare\nplugin = ${path.join(project, 'build/bare.so')}\n[plugin hello]\ngreeting = Moin\n[plugin helo]\ngreeting = Hi\n`);
  const bare = await home.start({ args: ['--config', config] });
  await greeted(await connectModern(t, 'http', 'nod', { server: bare }), 'Moin');
  const wrong = linesOf(bare.stderr(), 'warn').find(({ plugin }) => plugin === 'helo');
  assert.deepEqual([wrong.event, wrong.file, wrong.line, wrong.meant], ['a section names a plugin that is not loaded', config, '6', 'hello']);

  // The same source, as a server of its own.
  for (const kind of ['stdio', 'http']) await greeted(await connect(t, kind, path.join(project, 'build/hello-server')));

  // Where pkg-config does not find nod.
  const lost = await runIn(project, 'meson', ['setup', 'elsewhere'], { PKG_CONFIG_PATH: '' });
  assert.notEqual(lost.code, 0);
  assert.match(lost.stdout, /ERROR: .*pkg-config does not find nod\. .* meson setup build --pkg-config-path PREFIX\/lib\/pkgconfig/);
  await checkout.run('env -u PKG_CONFIG_PATH meson setup hello/elsewhere hello --pkg-config-path "$HOME/.local/lib/pkgconfig"');
});

const REFUSED = {
  Hello: /Hello is no name: it takes 1 to 40 characters out of a-z, 0-9, - and _, the first one a letter; such as hello\n/,
  'My own tool': /My own tool is no name: .*; such as my-own-tool\n/,
  'a/b': /a\/b is no name: .*; such as a-b\n/,
  '9': /9 is no name: .* the first one a letter\n/,
  '\u001b[2J': /<U\+001B>\[2J is no name: .*; such as j\n/,
  test: /test is a word of meson; take another name, such as my-test\n/,
  ['x'.repeat(41)]: /is no name: it takes 1 to 40 characters/,
  '--nmae': /--nmae is not an option\n/,
};

test('nod new: what is no name is refused, with one that is, and what is there is left as it is', async (t) => {
  const folder = scratchFolder(t);
  const make = (...args) => runIn(folder, program('nod'), ['new', ...args]);
  for (const [name, why] of Object.entries(REFUSED)) {
    const { code, stderr } = await make(name);
    assert.equal(code, 2, name);
    assert.match(stderr, why);
  }
  assert.match((await make('one', 'two')).stderr, /two is one name too many/);
  assert.match((await make()).stderr, /usage: nod new NAME/);
  assert.equal((await make('--help')).code, 0);
  assert.deepEqual(readdirSync(folder), []);

  mkdirSync(path.join(folder, 'mine'));
  writeFileSync(path.join(folder, 'file'), '');
  for (const name of ['mine', 'file']) {
    const { code, stderr } = await make(name);
    assert.deepEqual([code, stderr], [1, `nod new: ${name} is there already, and was left as it is: take another name, or go elsewhere\n`]);
  }
  assert.deepEqual(readdirSync(path.join(folder, 'mine')), []);
});

test('nod new: where others may write what is made, it says what to do first', async (t) => {
  const folder = scratchFolder(t);
  const { code, stdout } = await runIn(folder, 'sh', ['-c', `umask 002 && ${program('nod')} new mine`]);
  assert.equal(code, 0);
  assert.doesNotMatch(stdout, /Before nod serve/);
  chmodSync(folder, 0o775);
  const open = await runIn(folder, program('nod'), ['new', 'yours']);
  assert.ok(open.stdout.endsWith(`\nBefore nod serve loads anything from there: ${folder}: others may write this folder (mode 0775), and so change what this server does: chmod go-w ${folder}\n`), open.stdout);
  assert.match(stdout, /cd mine\n {4}umask 022 {5}# nod serve loads nothing that others may write\n {4}meson setup/);
});
