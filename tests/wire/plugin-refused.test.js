// A plugin that cannot be loaded says why in one line, with what to do, and the others go on. What cannot be required is refused.
import test from 'node:test';
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, existsSync, readdirSync, rmSync, statSync, symlinkSync, truncateSync, utimesSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { PATIENCE_MS, complaints, environment, pause, program, within } from './harness.js';
import { Modern } from './modern.js';
import { STEADY, linesOf, serveHome, toolsOf } from './serving.js';

const REFUSED = {
  'no plugin': ['no-plugin', /it is no plugin: it exports no nod_this_plugin, which NOD_PLUGIN makes/],
  'a function that nod does not have': ['lacks', /undefined symbol: nod_of_tomorrow/],
  'a newer nod': ['newer', /it was built with a newer nod \(99\.2\.3\) than this one \(0\.1\.0\): install that nod, or build the plugin with this one's headers/],
  'a nod of its own inside': ['inside', /it has a nod of its own inside \(libnod\.a\): .*link it with -lnod, or without it/],
  'a load that fails': ['fails', /its \.load has failed \(i\/o error\)/],
  'a tool that is taken': ['taken', /steady\.plain.*steady/],
  'a setting that it does not have': ['wrong-setting', /its \.load reads "lmit" with nod_setting_int, and \.settings has no such setting/],
  'a preset that is no value of its setting': ['wrong-preset', /^its \.settings are no form: the preset of "most" does not fit the field: it must be at most 50$/],
};

for (const [what, [object, why]] of Object.entries(REFUSED))
  test(`${what}: it is refused in one line, nothing of it is there, and the others are`, async (t) => {
    const home = serveHome(t);
    const bad = home.plugin(object);
    const server = await home.start({ args: ['--plugin', home.plugin('steady-1'), '--plugin', bad] });
    const said = linesOf(server.stderr(), 'error').filter(({ event }) => event === 'a plugin cannot be loaded');
    assert.equal(said.length, 1, server.stderr());
    assert.equal(said[0].file, bad);
    assert.match(said[0].why, why);
    assert.deepEqual(await toolsOf(server), STEADY);
  });

test('files: what is no shared object, what is not there, and what others may write', async (t) => {
  const home = serveHome(t);
  const text = path.join(home.folder, 'plugins', 'text.so');
  writeFileSync(text, 'x'.repeat(1000), { mode: 0o600 });
  const half = home.plugin('steady-1', 'half');
  truncateSync(half, statSync(half).size / 2);
  const open = home.plugin('steady-1', 'open');
  chmodSync(open, 0o775);
  const rows = [
    [text, /it is no shared object/],
    [path.join(home.folder, 'plugins', 'missing.so'), /cannot be opened: No such file or directory/],
    [path.join(home.folder, 'plugins'), /it is no file/],
    [half, /it is cut off: there is more in it than its \d+ bytes; try again when the file has been copied whole/],
    [open, /open\.so: others may write this file \(mode 0775\), .*: chmod go-w .*open\.so/],
  ];
  const server = await home.start({ args: rows.flatMap(([file]) => ['--plugin', file]) });
  const said = linesOf(server.stderr(), 'error').filter(({ event }) => event === 'a plugin cannot be loaded');
  for (const [file, why] of rows) assert.match(said.find((line) => line.file === file)?.why ?? '', why, file);
  assert.deepEqual(await toolsOf(server), []);
});

test('a folder of plugins: in the order of their names, and none of them if others may write there', async (t) => {
  const home = serveHome(t);
  const folder = path.join(home.folder, 'plugins');
  home.plugin('taken', 'a'); // it comes first, so steady is refused
  home.plugin('steady-1', 'b');
  const server = await home.start({ args: ['--plugins', folder] });
  assert.deepEqual(await toolsOf(server), ['steady.plain', 'taken.own']);
  assert.match(linesOf(server.stderr(), 'error')[0].why, /steady\.plain.*taken/);
  await server.stop();
  for (const mode of [0o777, 0o1777]) { // sticky: others may still add a file
    chmodSync(folder, mode);
    const open = await home.start({ args: ['--plugins', folder] });
    assert.deepEqual(await toolsOf(open), []);
    assert.match(open.stderr(), new RegExp(`a folder of plugins cannot be used.*others may write this folder \\(mode ${mode.toString(8).padStart(4, '0')}\\).*: chmod go-w`));
    await open.stop();
  }
});

test('a folder above, or one that a link leads to, which others may write, is no place for plugins', async (t) => {
  const home = serveHome(t);
  const object = home.plugin('steady-1');
  const link = path.join(home.folder, 'run', 'link.so');
  symlinkSync(object, link);
  chmodSync(home.folder, 0o777);
  const server = await home.start({ args: ['--plugin', link] });
  assert.match(linesOf(server.stderr(), 'error').map(({ why }) => why).join('\n'), /others may write this folder \(mode 0777\)/);
  chmodSync(home.folder, 0o700);
});

test('two of one name: the second is refused, and says which has it', async (t) => {
  const home = serveHome(t);
  const [one, two] = [home.plugin('steady-1', 'one'), home.plugin('steady-2', 'two')];
  const server = await home.start({ args: ['--plugin', one, '--plugin', two, '--plugin', one] });
  const [said, ...more] = linesOf(server.stderr(), 'error');
  assert.deepEqual(more, []);
  assert.equal(said.file, two);
  assert.match(said.why, new RegExp(`its name, steady, is that of another plugin: ${one}`));
});

const URL_MODE = { capabilities: { elicitation: { url: {} } } };

test('a load that fails: its service is not there either, and another plugin may have one of that name', async (t) => {
  const home = serveHome(t);
  const [fails, two] = [home.plugin('service-fails'), home.plugin('service-two')];
  const server = await home.start({ args: ['--plugin', fails, '--plugin', two] });
  const [{ why }] = linesOf(server.stderr(), 'error').filter(({ file }) => file === fails);
  assert.match(why, /its \.load has failed \(i\/o error\)/);
  const { text } = await new Modern(server.url, URL_MODE).call('two.want');
  assert.match(text, /Service two/);
  assert.doesNotMatch(text, /Service that fails/);
});

test('two plugins with one service: the second is refused, and says who has it; the other is served', async (t) => {
  const home = serveHome(t);
  const [one, two] = [home.plugin('service-one'), home.plugin('service-two')];
  const server = await home.start({ args: ['--plugin', one, '--plugin', two] });
  const said = linesOf(server.stderr(), 'error');
  assert.deepEqual(said.map(({ file, why }) => [file, why]), [[two, 'the name of its service svc is taken, by the plugin one']]);
  assert.deepEqual(await toolsOf(server), ['one.want']);
  assert.match((await new Modern(server.url, URL_MODE).call('one.want')).text, /Service one/);
});

const SETTINGS = [
  ['limit = many', /limit: it takes a whole number/],
  ['limit = 11', /limit: .*10/],
  ['limit = 1.5', /limit: /],
  ['mood = fair', /mood: .*good/],
  ['loud = perhaps', /loud: it takes yes or no/],
  ['limt = 2', /limt: the plugin has no such setting; did you mean limit\?/],
  ['whatever = 2', /whatever: the plugin has no such setting; it has deeds, limit, mood, loud/],
];
for (const [line, why] of SETTINGS)
  test(`[plugin steady] ${line}: is refused with its place`, async (t) => {
    const home = serveHome(t);
    const config = home.configure(`[server]\nplugin = ${home.plugin('steady-1')}\n\n[plugin steady]\n${line}\n`);
    const server = await home.start();
    const said = linesOf(server.stderr(), 'error').find(({ event }) => event === 'a plugin cannot be loaded');
    assert.match(said.why, why);
    assert.ok(said.why.startsWith(`${config}:5: `), said.why);
  });

test('a preset that is no value of its setting: is the mistake of the plugin, whatever its section says', async (t) => {
  const home = serveHome(t);
  for (const line of ['most = 5', 'most = 51', 'mots = 5']) {
    home.configure(`[server]\nplugin = ${home.plugin('wrong-preset')}\n\n[plugin preset]\n${line}\n`);
    const server = await home.start();
    const said = linesOf(server.stderr(), 'error').find(({ event }) => event === 'a plugin cannot be loaded');
    assert.match(said.why, /^its \.settings are no form: the preset of "most" /, line);
    await server.stop();
  }
});

test('a plugin that is required and not there: the server does not start; one that is not required is a warning', async (t) => {
  const home = serveHome(t);
  const config = home.configure(`[server]\nplugin = ${home.plugin('fails')}\n\n[plugin fails]\nrequired = yes\n`);
  const { code, stderr } = await home.refused();
  assert.equal(code, 1, stderr);
  const last = linesOf(stderr, 'error').at(-1);
  assert.deepEqual([last.event, last.plugin, last.file, last.line], ['a plugin is required, and is not loaded', 'fails', config, '4']);
  home.configure('[server]\n\n[plugin nobody]\nlimit = 3\n');
  const server = await home.start();
  assert.equal(linesOf(server.stderr(), 'warn').find(({ plugin }) => plugin === 'nobody')?.event, 'a section names a plugin that is not loaded');
});

test('a plugin that is not there yet: one line, also where it has a section', async (t) => {
  const home = serveHome(t);
  const config = home.configure(`[server]\nplugin = ${home.at('plugins/steady.so')}\n\n[plugin steady]\nlimit = 3\n`);
  const complaintsOf = (server) => linesOf(server.stderr()).filter(({ event }) => /plugin|tools yet/.test(event)).map(({ event, why, plugin, meant }) => [event, why ?? plugin, meant]);
  const server = await home.start();
  assert.deepEqual(complaintsOf(server), [['a plugin cannot be loaded', 'the file cannot be opened: No such file or directory', undefined]]);
  await server.stop();
  home.plugin('steady-1', 'steady');
  home.file(path.relative(home.folder, config), `[server]\nplugin = ${home.at('plugins/steady.so')}\n\n[plugin staedy]\nlimit = 3\n`);
  assert.deepEqual(complaintsOf(await home.start()), [['a section names a plugin that is not loaded', 'staedy', 'steady']]);
});

test('one that kills the process while it is loaded is left out at the next start, until its file changes or somebody says so', async (t) => {
  const home = serveHome(t);
  const dies = home.plugin('dies');
  const args = ['--plugin', home.plugin('steady-1'), '--plugin', dies];
  const first = await home.refused({ args });
  assert.equal(first.code, null, 'it died');
  const last = linesOf(first.stderr, 'error').at(-1);
  assert.deepEqual([last.event, last.signal, last.plugin, last.file], ['the process dies in code that is not nod\'s', 'SIGABRT', 'dies', dies]);
  const second = await home.start({ args });
  const { why } = linesOf(second.stderr(), 'error').find(({ file }) => file === dies);
  const mark = /the process died the last time it loaded this file; it is tried again when the file has changed, or after: rm (\S+)/.exec(why)?.[1];
  assert.ok(existsSync(mark), why);
  assert.deepEqual(await toolsOf(second), STEADY);
  await second.stop();
  // The same bytes with another date are the same file.
  utimesSync(dies, new Date(), new Date());
  await (await home.start({ args })).stop();
  home.configure('[plugin dies]\nrequired = yes\n');
  assert.equal((await home.refused({ args })).code, 1);
  home.configure('[server]\n');
  home.plugin('fails', 'dies'); // the file has changed
  const third = await home.start({ args });
  assert.match(linesOf(third.stderr(), 'error').find(({ file }) => file === dies).why, /its \.load has failed/);
  assert.ok(!existsSync(mark), 'it has not died');
});

test('one that another server of this user is loading just now is not taken for one that has killed it', async (t) => {
  const home = serveHome(t);
  const args = ['--plugin', home.plugin('waits')];
  const go = home.at('go');
  const slow = home.start({ args, env: { WAITS_FOR: go } });
  const marks = () => existsSync(home.at('state/nod/plugins')) && readdirSync(home.at('state/nod/plugins')).filter((name) => name.startsWith('loading-'));
  await within(PATIENCE_MS, 'it is being loaded', (async () => {
    while (!marks().length) await pause(10);
  })());
  const other = await home.start({ args: [...args, '--name', 'other'] });
  assert.deepEqual(await toolsOf(other), ['waits.plain']);
  writeFileSync(go, '');
  assert.deepEqual(await toolsOf(await slow), ['waits.plain']);
  assert.deepEqual(marks(), []);
});

test('a process that is stopped or killed while it loads a plugin proves nothing against it; three do, one after the other', async (t) => {
  const home = serveHome(t);
  const args = ['--plugin', home.plugin('waits')];
  const go = home.at('go');
  const room = home.at('state/nod/plugins');
  const tried = () => {
    const mark = existsSync(room) && readdirSync(room).find((name) => name.startsWith('loading-'));
    return mark ? Math.max(0, statSync(path.join(room, mark)).size - 64) : 0; // behind the digest
  };
  const endedWhileItLoads = async (signal) => {
    const child = spawn(program('nod'), ['serve', '--http', '127.0.0.1:0', ...args], { env: environment({ ...home.env, WAITS_FOR: go }), stdio: ['ignore', 'ignore', 'pipe'] });
    t.after(() => child.kill('SIGKILL'));
    const ended = once(child, 'close');
    let stderr = '';
    await within(PATIENCE_MS, 'it is being loaded', new Promise((resolve) => child.stderr.on('data', (data) => /it waits/.test((stderr += data)) && resolve())));
    child.kill(signal);
    await ended;
  };
  await endedWhileItLoads('SIGTERM');
  await endedWhileItLoads('SIGKILL');
  assert.equal(tried(), 2);
  writeFileSync(go, '');
  const server = await home.start({ args });
  assert.deepEqual(await toolsOf(server), ['waits.plain']);
  await server.stop();
  rmSync(go);
  for (let deaths = 0; deaths < 3; deaths++) await endedWhileItLoads('SIGKILL');
  writeFileSync(go, '');
  const { why } = linesOf((await home.start({ args })).stderr(), 'error').find(({ event }) => event === 'a plugin cannot be loaded');
  assert.match(why, /the process died the last time it loaded this file/);
});

test('copies that a process which was killed has left behind are removed by the next one, and a private one is only its own', async (t) => {
  const home = serveHome(t);
  const args = ['--plugin', home.plugin('steady-1')];
  const killed = await home.start({ args });
  const room = home.at('state/nod/plugins');
  const copies = () => readdirSync(room).filter((name) => name.startsWith('copies-'));
  assert.equal(statSync(room).mode & 0o777, 0o700);
  const [left] = copies();
  await killed.kill();
  assert.deepEqual(copies(), [left]);
  const server = await home.start({ args });
  assert.equal(copies().length, 1);
  assert.notEqual(copies()[0], left);
  assert.deepEqual(complaints(server.stderr()), []);
  await server.stop();
  assert.deepEqual(copies(), []);
});
