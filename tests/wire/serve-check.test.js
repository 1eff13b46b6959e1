// `nod check`: every option can be set in the file and is printed with its place; plugins are loaded, and their settings and tools are
// printed; what nod serve would refuse is refused, with exit code 1.
import test from 'node:test';
import assert from 'node:assert/strict';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { runOnce } from './harness.js';
import { Modern } from './modern.js';
import { linesOf, serveHome } from './serving.js';
import { certificate } from './tls.js';

// The options as docs/cli.md has them, which another test compares with the table: { option, takes }.
const page = readFileSync(path.join(import.meta.dirname, '../../docs/cli.md'), 'utf8');
const options = [...page.split('<!-- options')[1].split('<!-- end of options')[0].matchAll(/^\| `--([\w-]+)(?: ([^`]+))?` \|/gm)]
  .map(([, option, takes]) => ({ option, takes: takes?.replaceAll('\\|', '|') }))
  .filter(({ option }) => option !== 'config'); // which the file may not name: serve-file.test.js

// What stands for a value, where not every text fits. A new option needs a line only if it takes something new.
const BY_KIND = { TIME: '2h', N: '4096', URL: 'https://nod.example', NET: '10.0.0.0/8', ORIGIN: 'https://app.example', 'WHOSE=TIME': 'tool:steady.ask=2h', NAME: 'walked',
  'TOOL.FIELD': 'steady.ask.word', 'ADDRESS:PORT': '10.0.0.7:8080', '[TOOL=]WHAT': 'steady.ask=session', undefined: 'yes' };
const BY_OPTION = { http: '127.0.0.1:7601', inbox: '127.0.0.1:7602', metrics: '127.0.0.1:7603', surfaces: 'client,inbox', store: 'memory:' };
// What does not go with the rest stands in files of its own, with what it needs.
const APART = [{ inbox: '127.0.0.1:7602' }, { 'portable-states': 'yes', store: 'memory:', surfaces: 'client', 'no-inbox': 'yes' }];
const isApart = ({ option }) => !['surfaces', 'store'].includes(option) && APART.some((other) => option in other);

function valueOf(home, { option, takes }) {
  const file = { 'token-file': 'tokens', 'tls-cert': 'cert.pem', 'tls-key': 'key.pem', 'webhook-secret': 'webhook', oauth: 'oauth', plugin: 'plugins/steady-1.so', plugins: 'more' }[option];
  const value = file ? home.at(file) : BY_OPTION[option] ?? (takes?.includes('|') ? takes.split('|')[1] : BY_KIND[takes]);
  assert.ok(value, `--${option} ${takes}: which value fits? See BY_KIND`);
  return value;
}

// The lines of nod check: { key, value, place }. A key stands on the first line of its list.
function printed(stdout) {
  let key;
  return stdout.split('\n').flatMap((line) => {
    const [, name, value, place] = /^ {2}(\S*) +(\S.*?)(?: {2,}(\S.*))?$/.exec(line) ?? [];
    if (value === undefined) return [];
    key = name || key;
    return [{ key, value, place }];
  });
}

test('every option can be set in the file, and is printed with its value and its place', async (t) => {
  const home = serveHome(t);
  const { cert, key } = certificate(home.folder, 'walked');
  home.plugin('steady-1');
  mkdirSync(home.at('more'), { mode: 0o700 });
  writeFileSync(home.at('cert.pem'), readFileSync(cert));
  home.file('key.pem', readFileSync(key));
  home.file('tokens', 'the-token-0123456789abcdef walked ask answer\n');
  home.file('webhook', `whsec_${Buffer.alloc(32, 7).toString('base64')}\n`);
  home.file('oauth', '[somewhere]\nissuer = https://idp.example\nclient_id = nod\n');
  const together = options.filter((row) => !isApart(row)).map((row) => [row.option, valueOf(home, row)]);
  const walked = new Set();
  for (const rows of [together, ...APART.map(Object.entries)]) {
    const config = home.configure(`[server]\n${rows.map(([option, value]) => `${option} = ${value}\n`).join('')}`);
    const { code, stdout, stderr } = await runOnce('nod', ['check'], { ...home.env, MCP_ELICITATION_SECRET: 'a secret of this test, and long enough' });
    assert.equal(code, 0, stderr);
    const lines = printed(stdout);
    for (const [i, [option, value]] of rows.entries()) {
      assert.ok(lines.some((line) => line.key === option && line.value === value && line.place === `${config}:${i + 2}`), `${option} = ${value}, line ${i + 2}:\n${stdout}`);
      walked.add(option);
    }
  }
  assert.deepEqual(options.filter(({ option }) => !walked.has(option)), []);
  assert.ok(walked.size > 45, `${walked.size} options were found in docs/cli.md`);
});

test('plugins are loaded, which it says, and each is printed with its settings, their places and its tools', async (t) => {
  const home = serveHome(t);
  const steady = home.plugin('steady-1');
  const config = home.configure(`[server]\nplugins = ${home.at('plugins')}\n\n[plugin steady]\nlimit = 4\nloud = yes\nrequired = yes\n`);
  const { code, stdout, stderr } = await runOnce('nod', ['check'], home.env);
  assert.equal(code, 0, stderr);
  const said = stdout.slice(stdout.indexOf('\nPlugins '));
  assert.match(said, /^\nPlugins are loaded now, because only they know what their sections may hold\.\n\nPlugin steady 1\n/);
  const lines = printed(said.slice(said.indexOf('Plugin steady')));
  assert.deepEqual(lines.filter(({ key }) => key !== 'tools'), [
    { key: 'file', value: steady, place: `${config}:2` },
    { key: 'required', value: 'yes', place: `${config}:7` },
    { key: 'limit', value: '4', place: `${config}:5` },
    { key: 'loud', value: 'yes', place: `${config}:6` },
  ]);
  const tools = lines.filter(({ key }) => key === 'tools').map(({ value }) => value);
  assert.ok(tools.includes('steady.ask') && tools.includes('steady.plain') && tools.every((name) => name.startsWith('steady.')), tools.join());
  home.configure(`[server]\nplugin = ${steady}\n`);
  assert.match((await runOnce('nod', ['check'], home.env)).stdout, /\n {2}limit +3 +default\n/, 'what is not set has its preset');
});

const REFUSED = [
  ['a plugin that cannot be loaded', 'plugin = PLUGINS/fails.so\n', /event="a plugin cannot be loaded" file=\S+fails\.so why="its \.load has failed.* named_by="\S+nod\.ini:2: plugin"/],
  ['a plugin that is not there, the second one', 'plugin = PLUGINS/steady-1.so\nplugin = PLUGINS/none.so\n', /event="a plugin cannot be loaded" file=\S+none\.so .*named_by="\S+nod\.ini:3: plugin"/],
  ['a folder of plugins that is not there', 'plugins = none\n', /event="a folder of plugins cannot be used" folder=\S+none .*named_by="\S+nod\.ini:2: plugins"/],
  ['a setting that a plugin does not have', 'plugin = PLUGINS/steady-1.so\n[plugin steady]\nlimt = 2\n', /why="\S+nod\.ini:4: limt: the plugin has no such setting; did you mean limit\?"/],
  ['a plugin that is required, and is named nowhere', '[plugin nobody]\nrequired = yes\n', /event="a plugin is required, and is not loaded" plugin=nobody file=\S+nod\.ini line=1/],
  ['a token file that is not there', 'token-file = none\n', /event="the token file cannot be used" file=\S+none .*named_by="\S+nod\.ini:2: token-file"/],
  ['an address beyond this machine, without tokens', 'http = 0.0.0.0:7604\n', /event="refused to listen beyond this machine without tokens; .*" host=0\.0\.0\.0/],
  ['portable states without a secret', 'portable-states = yes\nstore = memory:\n', /portable states need a secret that all servers have: set MCP_ELICITATION_SECRET/],
  ['a token file that is not there, of the inbox beside standard input and output', 'inbox = 127.0.0.1:7605\ntoken-file = none\n', /event="the token file cannot be used" file=\S+none/],
  ['a surface that is not there, on standard input and output', 'inbox = 127.0.0.1:7605\nsurfaces = inbx\n', /did you mean inbox\?" surface=inbx .*named_by="\S+nod\.ini:3: surfaces"/],
  ['a certificate that is not there', 'tls-cert = none\n', /event="the certificate or its key cannot be used"/],
  ['a surface that is not there', 'surfaces = inbx\n', /there is no such surface; did you mean inbox\?" surface=inbx .*named_by="\S+nod\.ini:2: surfaces"/],
  ['a kind of store that is not there', 'store = ftp://a\n', /--store must be memory:, sqlite:PATH/],
  ['a secret of webhooks that is not there', 'webhook = https://a.example\n', /make one with: echo whsec_/],
];
for (const [what, text, why] of REFUSED)
  test(`${what}: exit code 1, and why`, async (t) => {
    const home = serveHome(t);
    for (const object of ['fails', 'steady-1']) home.plugin(object);
    home.configure(`${text.startsWith('[') ? '' : '[server]\n'}${text.replaceAll('PLUGINS', home.at('plugins'))}`);
    const { code, stdout, stderr } = await runOnce('nod', ['check'], home.env);
    assert.equal(code, 1, stderr);
    assert.match(stderr, why);
    assert.match(stdout, /^configuration: /, 'what would be in force is printed all the same');
  });

test('log and inbox say which plugin a tool is from', async (t) => {
  const home = serveHome(t);
  const server = await home.start({ args: ['--plugin', home.plugin('steady-1')] });
  const [loaded] = linesOf(server.stderr(), 'info').filter(({ event }) => event === 'a plugin was loaded');
  assert.deepEqual([loaded.plugin, loaded.version], ['steady', '1']);
  const { tools } = (await new Modern(server.url).request('tools/list')).result;
  assert.equal(loaded.tools, tools.map(({ name }) => name).filter((name) => name.startsWith('steady.')).join(', '));
  const call = new Modern(server.url, { capabilities: {} }).ended('steady.ask', { what: 'tea' });
  call.catch(() => {}); // looked at below
  const socket = `unix:${home.at('run/nod/nod.sock')}`;
  let items = [];
  while (!items.length) items = (await runOnce('nod', ['inbox', socket, 'list', '--json'], home.env)).stdout.split('\n').filter(Boolean).map(JSON.parse);
  assert.deepEqual(items.map(({ tool, plugin }) => [tool, plugin]), [['steady.ask', 'steady']]);
  assert.match((await runOnce('nod', ['inbox', socket, 'show', items[0].id], home.env)).stdout, /^steady\.ask\nfrom local through raw 1, server nod, plugin steady\n/m);
  assert.equal((await runOnce('nod', ['inbox', socket, 'answer', items[0].id, '--accept', 'word=Assam'], home.env)).code, 0);
  assert.equal(await call, 'one: Assam');
  const [answered] = linesOf(server.stderr(), 'info').filter(({ event }) => event === 'answered');
  assert.deepEqual([answered.tool, answered.plugin, answered.via], ['steady.ask', 'steady', 'terminal']);
});
