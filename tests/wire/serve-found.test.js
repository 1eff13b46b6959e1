// `nod inbox` and `nod login` without an address go to the nod serve that this user runs. If there are several, they are listed.
import test from 'node:test';
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { runOnce } from './harness.js';
import { Browser } from './credentials.js';
import { Modern } from './modern.js';
import { Screen } from './screen.js';
import { serveHome } from './serving.js';

const NONE = /^nod (inbox|login): no server of this user runs; nod serve starts one\. For another server give its address, .*http:\/\/HOST:PORT.*\n$/;

// Servers are looked for in /tmp as well, where those without a session are: one that runs there is not of this test.
async function openHome(t) {
  const home = serveHome(t);
  const { code, stderr } = await runOnce('nod', ['login'], home.env);
  assert.match(stderr, NONE, 'a nod serve of this user runs on this machine: end it first');
  assert.equal(code, 1);
  return home;
}

test('in a terminal, without an address: what the only server asks is answered', async (t) => {
  const home = await openHome(t);
  assert.match((await runOnce('nod', ['inbox'], home.env)).stderr, NONE);
  const server = await home.start({ args: ['--plugin', home.plugin('steady-1')] });
  const call = new Modern(server.url, { capabilities: {} }).ended('steady.ask', { what: 'tea' });
  call.catch(() => {}); // looked at below
  const screen = new Screen(t, ['inbox'], { env: home.env });
  await screen.until(/1 waiting {2}nod[^]*Which word for tea\?[^]*Enter answers/);
  screen.type('\r');
  await screen.until(/leave it \(q\)\? /);
  screen.type('a\n');
  await screen.until(/word\S*: /);
  screen.type('Darjeeling\n');
  await screen.until(/Answered\./);
  assert.equal(await call, 'one: Darjeeling');
  screen.type('\nq');
  assert.equal(await screen.end(), 0);

  const { code, stdout } = await runOnce('nod', ['login'], home.env);
  assert.equal(code, 0);
  const browser = await new Browser(stdout.trim()).open(stdout.trim());
  assert.equal((await (await browser.fetch('/api/me')).json()).principal, 'local');
});

test('several servers are listed by name, and --name says which; a name that none has, and one whose server was killed', async (t) => {
  const home = await openHome(t);
  const first = await home.start();
  const second = await home.start({ args: ['--name', 'second'] });
  const socket = (name) => `unix:${home.at('run/nod', `${name}.sock`)}`;
  const list = ['nod', 'second'].map((name) => `  ${name.padEnd(20)} ${socket(name)}\n`).join('');
  for (const command of ['inbox', 'login']) {
    const rows = [
      [[], {}, `nod ${command}: several servers of this user run; say which with --name NAME:\n${list}`],
      [['--name', 'third'], {}, `nod ${command}: third: no server of this user that runs has this name; these run:\n${list}`],
      [['--name', 'second'], { NOD_SERVER: 'unix:/nowhere' }, ''], // what is on the command line counts
      [[socket('nod')], {}, ''],
      [[], { NOD_SERVER: socket('nod') }, ''],
    ];
    for (const [args, env, said] of rows) {
      const seen = await runOnce('nod', [command, ...args], { ...home.env, ...env });
      assert.equal(seen.stderr, said);
      assert.equal(seen.code, said ? 1 : 0);
    }
    assert.equal((await runOnce('nod', [command, '--name', 'nod', socket('nod')], home.env)).code, 2);
  }
  const link = (await runOnce('nod', ['login', '--name', 'second'], home.env)).stdout.trim();
  assert.equal(new URL(link).host, new URL(second.url).host);
  await first.kill();
  assert.equal((await runOnce('nod', ['inbox'], home.env)).stdout, 'Nothing waits for you.\n', 'only the second runs');
});

test('what is no socket is passed by, and a socket goes with its server', async (t) => {
  const home = await openHome(t);
  const server = await home.start();
  writeFileSync(home.at('run/nod/none.sock'), '');
  assert.equal((await runOnce('nod', ['inbox'], home.env)).code, 0);
  await server.stop();
  assert.match((await runOnce('nod', ['inbox'], home.env)).stderr, NONE);
});
