// The configuration of `nod serve`: whatever is wrong with it is one line, with its place and what to do, and nothing is served. What is
// right is in force, and `nod check` says where it is from.
import test from 'node:test';
import assert from 'node:assert/strict';
import { chmodSync, mkdirSync, statSync, symlinkSync } from 'node:fs';
import { runOnce } from './harness.js';
import { serveHome } from './serving.js';

const MAIN = 'config/nod/nod.ini';
// What is wrong, the files by name, the line that is expected with AT for the folder of the files, and the file that it begins with.
const rows = [
  ['a key that is mistyped', '[server]\nask-tll = 1d\n', 'AT/nod.ini:2: ask-tll is not a key of [server] (did you mean ask-ttl?); the keys are the options of nod serve --help, without their dashes'],
  ['a key that nothing is like', '[server]\nwhatever = 1d\n', 'AT/nod.ini:2: whatever is not a key of [server]; the keys are the options of nod serve --help, without their dashes'],
  ['a section that is mistyped', '[servr]\nask-ttl = 1d\n', 'AT/nod.ini:1: [servr]: there is no such section (did you mean server?); there are [server], [oauth NAME] and [plugin NAME]'],
  ['a key twice', '[server]\nask-ttl = 1d\n# both\nask_ttl = 2d\n', 'AT/nod.ini:4: ask-ttl is there twice; the first is in line 2: take one of them out'],
  ['a key in two files', { 'nod.ini': '[server]\nask-ttl = 1d\ninclude = more.ini\n', 'more.ini': '[server]\n\nask-ttl = 2d\n' }, 'AT/more.ini:3: ask-ttl is set in AT/nod.ini:2 as well: take one of them out'],
  ['a key of a plugin twice', '[plugin steady]\nlimit = 1\nlimit = 2\n', 'AT/nod.ini:3: limit is there twice in [plugin steady]; the first is in line 2: take one of them out'],
  ['a section twice', '[server]\nask-ttl = 1d\n[server]\n', 'AT/nod.ini:3: [server] is there twice: put all of it into one'],
  ['a time that is none', '[server]\nask-ttl = often\n', 'AT/nod.ini:2: ask-ttl takes a time such as 90s, 30m, 24h or 7d, from 1s to 3650d; it was given "often"'],
  ['a number outside of its bounds', '[server]\nkept-mib = 0\n', 'AT/nod.ini:2: kept-mib takes a number of MiB, from 1 to 1000000000; it was given "0"'],
  ['a word that is none', '[server]\nlog = loud\n', 'AT/nod.ini:2: log takes error, warn, info or debug; it was given "loud"'],
  ['a flag that is neither', '[server]\nno-inbox = perhaps\n', 'AT/nod.ini:2: no-inbox takes yes or no; it was given "perhaps"'],
  ['an address that is none', '[server]\nhttp = 99999\n', 'AT/nod.ini:2: http takes HOST:PORT, a PORT alone (0 to 65535), or unix:PATH; it was given "99999"'],
  ['a name that is none', '[server]\nname = My server\n', 'AT/nod.ini:2: name takes a name of at most 32 of a-z, 0-9, - and _; it was given "My server"'],
  ['a key without a value', '[server]\nask-ttl =\n', 'AT/nod.ini:2: ask-ttl has no value'],
  ['a comment behind a value', '[server]\nask-ttl = 1d # a day\n', 'AT/nod.ini:2: a comment has a line of its own'],
  ['a key outside of a section', 'ask-ttl = 1d\n', 'AT/nod.ini:1: ask-ttl stands in no section: put it below the line with its [NAME]'],
  ['a line that is nothing', '[server]\nask-ttl 1d\n', 'AT/nod.ini:2: this is neither [NAME], nor key = value, nor a comment'],
  ['what another needs', '[server]\ntls-key = key.pem\n', 'AT/nod.ini:2: tls-key needs tls-cert'],
  ['what only the command line has', '[server]\nconfig = more.ini\n', 'AT/nod.ini:2: config is given on the command line; another file is read here with include = PATH'],

  ['an include that is not there', '[server]\ninclude = more.ini\n', 'AT/nod.ini:2: include: AT/more.ini: there is no such file; make it, or take this line out'],
  ['a folder that is not there', '[server]\ninclude = more/*.ini\n', 'AT/nod.ini:2: include: AT/more: there is no such folder; make it, or take this line out'],
  ['a folder instead of its files', '[server]\ninclude = .\n', 'AT/nod.ini:2: include: AT/.: this is a folder, whose files are DIR/*.ini'],
  ['another pattern', '[server]\ninclude = more/a*\n', 'AT/nod.ini:2: include takes the name of a file, or DIR/*.ini; it was given "more/a*"'],
  ['a file that includes itself', '[server]\ninclude = nod.ini\n', 'AT/nod.ini:2: include: AT/nod.ini: a file cannot include itself; take this line out'],
  ['files that include each other', { 'nod.ini': '[server]\ninclude = a.ini\n', 'a.ini': '[server]\ninclude = b.ini\n', 'b.ini': '[server]\n\n\ninclude = nod.ini\n' },
    'AT/b.ini:4: include: AT/nod.ini: this file is being read already, and includes this one: there would be no end of it; take this line out'],
  ['a file that is included twice', { 'nod.ini': '[server]\ninclude = a.ini\ninclude = a.ini\n', 'a.ini': '[server]\n' }, 'AT/nod.ini:3: include: AT/a.ini: it is included in AT/nod.ini:2 already'],

  ['a secret', '[server]\nMCP_ELICITATION_SECRET = 0123456789abcdef0123456789abcdef\n', 'AT/nod.ini:2: MCP_ELICITATION_SECRET: a secret does not stand in this file: set MCP_ELICITATION_SECRET in the environment'],
  ['a token', '[server]\ntoken = 0123456789abcdef\n', 'AT/nod.ini:2: token: a secret does not stand in this file: name a file that has the tokens: token-file = FILE'],
  ['a password of a store', '[server]\nstore = redis://nod:word@127.0.0.1:1\n', 'AT/nod.ini:2: store: a secret does not stand in this file: an address with a password is set as NOD_STORE in the environment'],
  ['a secret of webhooks', '[server]\nwebhook = https://a.example\nwebhook-secret = whsec_abcdef\n', 'AT/nod.ini:3: webhook-secret: a secret does not stand in this file: name a file that has it, or set NOD_WEBHOOK_SECRET in the environment'],
  ['a secret of a service', '[oauth a]\nissuer = https://a.example\nclient-id = x\nclient-secret = y\n', 'AT/nod.ini:4: [oauth a]: the secret itself is not in this file: client_secret_env is the variable that has it, or client_secret_file the file'],

  ['a service without a name', '[oauth]\nissuer = https://a.example\n', 'AT/nod.ini:1: [oauth]: it needs a name of a-z, 0-9, - and _: [oauth NAME]'],
  ['a key of a service that is mistyped', '[oauth a]\nisuer = https://a.example\n', /^AT\/nod\.ini:2: \[oauth a\]: isuer is not a key that is known here \(did you mean issuer\?\); those are title, issuer, .*revokes_all$/],
  ['a key of a service twice', '[oauth a]\nissuer = https://a.example\nclient_id = x\nclient-id = y\n', 'AT/nod.ini:4: client-id is there twice in [oauth a]; the first is in line 3: take one of them out'],
  ['a service whose secret is nowhere', '[oauth a]\nissuer = https://a.example\nclient_id = x\nclient_secret_file = none\n', 'AT/nod.ini:4: [oauth a]: the file client_secret_file cannot be read: AT/none: No such file or directory'],
  ['a service without what it needs', '[server]\n[oauth a]\nissuer = https://a.example\n', 'AT/nod.ini:2: [oauth a]: it needs a client_id, of at most 1024 characters of ASCII'],
];

function write(home, files) {
  for (const [name, text] of Object.entries(typeof files === 'string' ? { 'nod.ini': files } : files)) home.file(`config/nod/${name}`, text);
  return home.at(MAIN);
}

function assertLine(home, said, expected) {
  const at = said.replaceAll(home.at('config/nod'), 'AT');
  if (expected instanceof RegExp) assert.match(at, expected);
  else assert.equal(at, expected);
}

for (const [i, [what, files, expected]] of rows.entries())
  test(`${what}: one line, and no server`, async (t) => {
    const home = serveHome(t);
    write(home, files);
    const checked = await runOnce('nod', ['check'], home.env);
    assert.equal(checked.code, 1, checked.stderr);
    assert.equal(checked.stderr.split('\n').length, 2, checked.stderr);
    assertLine(home, checked.stderr.trimEnd(), expected);
    if (i % 4) return; // the same code reads it for both: some rows of each kind will do
    const served = await home.refused();
    if (served.stderr.startsWith('nod serve: ')) { // before there is a log
      assert.equal(served.code, 2);
      assert.equal(served.stderr, `nod serve: ${checked.stderr}`);
    } else {
      assert.equal(served.code, 1, served.stderr);
      const why = /event="the services cannot be used" why="(.*)"$/m.exec(served.stderr)?.[1];
      assert.equal(why, checked.stderr.trimEnd());
    }
  });

test('what others may write is refused: a file, a folder, one above, and what a link leads to', async (t) => {
  const home = serveHome(t);
  write(home, { 'nod.ini': '[server]\ninclude = more/*.ini\n' });
  mkdirSync(home.at('config/nod/more'), { mode: 0o700 });
  home.file('config/nod/more/a.ini', '[server]\n');
  home.file('config/nod/real.ini', '[server]\n');
  symlinkSync(home.at('config/nod/real.ini'), home.at('config/nod/more/b.ini'));
  assert.equal((await runOnce('nod', ['check'], home.env)).code, 0);
  const by = `${home.at(MAIN)}:2: include: `;
  for (const [name, kind, before] of [[MAIN, 'file', ''], ['config/nod', 'folder', ''], ['config', 'folder', ''], ['config/nod/more', 'folder', by], ['config/nod/more/a.ini', 'file', by], ['config/nod/real.ini', 'file', by]]) {
    const path = home.at(name);
    const mode = statSync(path).mode & 0o777;
    const shown = name === 'config/nod/real.ini' ? home.at('config/nod/more/b.ini') : path;
    for (const wide of [mode | 0o020, mode | 0o002]) {
      chmodSync(path, wide);
      const { code, stderr } = await runOnce('nod', ['check'], home.env);
      assert.equal(code, 1, name);
      assert.equal(stderr, `${before}${shown}: others may write this ${kind} (mode ${wide.toString(8).padStart(4, '0')}), and so change what this server does: chmod go-w ${shown}\n`);
    }
    chmodSync(path, mode);
  }
  assert.equal((await runOnce('nod', ['check'], home.env)).code, 0);
});

// What nod check prints of these keys: [value, place] of each; several of a list.
async function checked(home, args = [], env = {}) {
  const { code, stdout, stderr } = await runOnce('nod', ['check', ...args], { ...home.env, ...env });
  assert.equal(code, 0, stderr);
  const found = {};
  let last;
  for (const line of stdout.split('\n')) {
    const [, key, value, place] = /^ {2}(\S*) +(\S.*?) {2,}(\S.*)$/.exec(line) ?? [];
    if (value === undefined) continue;
    last = key || last;
    (found[last] ??= []).push([value, place]);
  }
  return { ...found, configuration: /^configuration: (.*)$/m.exec(stdout)[1], includes: [...stdout.matchAll(/^ +includes: (.*)$/gm)].map(([, file]) => file), stdout };
}

test('includes: one file, and all of a folder in the order of their names; - and _ are the same; lists go on', async (t) => {
  const home = serveHome(t);
  mkdirSync(home.at('config/nod/conf.d'), { mode: 0o700 });
  const main = write(home, {
    'nod.ini': '; first\n[server]\nallow_host = one.example\ninclude = conf.d/*.ini\nallow-host = four.example\ninclude = last.ini\n',
    'conf.d/20-b.ini': '[server]\nallow-host = three.example\nask_ttl = 2d\n[plugin x]\na = 1\n',
    'conf.d/10-a.ini': '[server]\nallow_host = two.example\nwebhook = https://a.example\nwebhook_secret = secret\n',
    'conf.d/.hidden.ini': 'nonsense\n', 'conf.d/note.txt': 'nonsense\n', 'conf.d/secret': `whsec_${Buffer.alloc(32, 7).toString('base64')}\n`,
    'last.ini': '[plugin x]\nb = 2\n',
  });
  const conf = (name) => home.at('config/nod', name);
  const seen = await checked(home);
  assert.equal(seen.configuration, main);
  assert.deepEqual(seen.includes, ['conf.d/10-a.ini', 'conf.d/20-b.ini', 'last.ini'].map(conf));
  assert.deepEqual(seen['allow-host'], [['one.example', `${main}:3`], ['two.example', `${conf('conf.d/10-a.ini')}:2`], ['three.example', `${conf('conf.d/20-b.ini')}:2`], ['four.example', `${main}:5`]]);
  assert.deepEqual(seen['ask-ttl'], [['2d', `${conf('conf.d/20-b.ini')}:3`]]);
  assert.deepEqual(seen['webhook-secret'], [[conf('conf.d/secret'), `${conf('conf.d/10-a.ini')}:4`]], 'the name of a file is relative to the file that it stands in');
});

test('the command line counts more than the environment, and that more than the file', async (t) => {
  const home = serveHome(t);
  const main = write(home, '[server]\nask-ttl = 1d\nstore = sqlite:here.db\nno-inbox = no\nhttp = 127.0.0.1:1\nallow-host = a.example\n');
  assert.deepEqual((await checked(home)).store, [[`sqlite:${home.at('config/nod/here.db')}`, `${main}:3`]]);
  const args = ['--ask-ttl', '2h', '--http', '127.0.0.1:2', '--allow-host', 'b.example'];
  const seen = await checked(home, args, { NOD_STORE: 'memory:' });
  assert.deepEqual(seen['ask-ttl'], [['2h', 'command line']]);
  assert.deepEqual(seen.store, [['memory:', 'environment']]);
  assert.deepEqual(seen['no-inbox'], [['no', `${main}:4`]]);
  assert.deepEqual(seen.http.slice(0, 1), [['127.0.0.1:2', 'command line']], 'instead of the file');
  assert.deepEqual(seen['allow-host'], [['a.example', `${main}:6`], ['b.example', 'command line']], 'beside the file');
  assert.deepEqual((await checked(home, [...args, '--store', 'sqlite:x.db'], { NOD_STORE: 'memory:' })).store, [['sqlite:x.db', 'command line']]);
});

test('where it looks: what the user has, then what systemd passes, then the machine; a file that is named counts alone', async (t) => {
  const home = serveHome(t);
  const [own, dot, passed, named] = ['config/nod/nod.ini', '.config/nod/nod.ini', 'passed/nod.ini', 'named.ini'].map((name) => {
    mkdirSync(home.at(name, '..'), { recursive: true, mode: 0o700 });
    return home.file(name, '[server]\n');
  });
  mkdirSync(home.at('lib'), { mode: 0o700 });
  const files = { CONFIGURATION_DIRECTORY: `${home.at('passed')}:/etc/other` };
  const no = { XDG_CONFIG_HOME: '' };
  const has = async (env, args) => (await checked(home, args, env)).configuration;
  assert.equal(await has({}), own);
  assert.equal(await has(files), own);
  assert.equal(await has(no), dot);
  assert.equal(await has({ XDG_CONFIG_HOME: 'config' }), dot, 'a path that is not absolute does not count');
  assert.equal(await has({ XDG_CONFIG_HOME: home.at('lib'), ...files }), passed);
  assert.equal(await has({}, [named]), named);
  assert.equal(await has({}, ['--config', named]), named);
  assert.match((await runOnce('nod', ['check', named, '--config', own], home.env)).stderr, /are two configurations/);
  const gone = await runOnce('nod', ['serve', '--config', home.at('none.ini')], home.env);
  assert.deepEqual([gone.code, gone.stderr], [2, `nod serve: ${home.at('none.ini')}: there is no such file\n`]);

  const places = async (env) => {
    const { store, http } = await checked(home, [], env);
    return [store[0][0], http[1][0]];
  };
  const state = { STATE_DIRECTORY: home.at('lib') };
  assert.deepEqual(await places({}), [`sqlite:${home.at('state/nod/nod.db')}`, `unix:${home.at('run/nod/nod.sock')}`]);
  assert.deepEqual(await places({ ...state, RUNTIME_DIRECTORY: home.at('run') }), [`sqlite:${home.at('lib/nod.db')}`, `unix:${home.at('run/nod.sock')}`]);
  assert.deepEqual((await places({ XDG_STATE_HOME: '' }))[0], `sqlite:${home.at('.local/state/nod/nod.db')}`);
  assert.match((await places({ XDG_RUNTIME_DIR: '' }))[1], /^unix:(\/run\/user|\/tmp\/nod-)/);
});
