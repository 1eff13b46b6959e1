// Every block of README and docs/ is run, or is marked as output. CONTRIBUTING.md, "Documentation", has the convention.
//
// A page is run from top to bottom in one checkout (checkout.js): what one block exports, writes or starts is there for the next. A
// block that cannot be run here has a name, and a line in ELSEWHERE that says who runs it. Nothing is skipped: a block that nobody runs,
// an unknown language and a name that nobody knows fail the test.
import test from 'node:test';
import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import path from 'node:path';
import { promisify } from 'node:util';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { startRedis } from '../chaos/house.js';
import { startHttp, within, PATIENCE_MS } from '../wire/harness.js';
import { Modern, accepted } from '../wire/modern.js';
import { openCheckout } from './checkout.js';
import { anchorsOf, blockNamed, blocksOf, pages, proseOf, root, whereIs } from './pages.js';

const run = promisify(execFile);
const TOKEN = 'the-token-0123456789abcdef';

// Who runs what is not run here, by page and name. The file has to read the block: by its name, or with the words behind the #.
const ELSEWHERE = {
  'CONTRIBUTING.md build-and-test': 'tests/docs/docs.test.js', // the targets themselves take hours: see below
  'README.md install': 'tests/docs/installed.js', // builds the release: scripts/test has one
  'README.md killed': 'scripts/picture', // whose picture is what the block prints
  'docs/clients.md inspector-cli': 'tests/wire/inspector.test.js', // installs it
  'docs/clients.md inspector-mcpdo': 'tests/wire/inspector.test.js',
  'docs/clients.md patience': 'tests/wire/clients.test.js', // JavaScript, of a client
  'docs/deploy.md backup': "tests/deploy/stores.test.js#blockOf('Backups', 'sh')",
  'docs/deploy.md behind-nginx': "tests/deploy/nginx.test.js#blockOf(HEADING, 'sh')",
  'docs/deploy.md container': "tests/deploy/container.test.js#blockOf('In a container', 'dockerfile')",
  'docs/deploy.md nginx-nodes': "tests/chaos/nginx.js#blockOf('Several nodes on Redis, behind nginx', 'nginx')",
  'docs/deploy.md nginx-sticky': 'tests/docs/docs.test.js',
  'docs/deploy.md nginx-tls': "tests/deploy/nginx.test.js#blockOf(HEADING, 'nginx')",
  'docs/deploy.md redis-settings': "tests/deploy/stores.test.js#blockOf('Redis', 'redis')",
  'docs/deploy.md redis-user': "tests/deploy/stores.test.js#blockOf('Redis', 'redis', 1)",
  'docs/deploy.md restore': "tests/deploy/stores.test.js#blockOf('Backups', 'sh', 1)",
  'docs/deploy.md two-nodes': 'tests/docs/docs.test.js',
  'docs/deploy.md unit': "tests/deploy/systemd.test.js#blockOf(UNIT, 'ini')",
  'docs/deploy.md unit-tls': "tests/deploy/systemd.test.js#blockOf(TLS, 'ini')",
  'docs/deploy.md user-and-secrets': "tests/deploy/systemd.test.js#blockOf(UNIT, 'sh')",
  'docs/operate.md reseal': 'tests/wire/sealed.test.js', // needs a store that two secrets have sealed
  'docs/production.md ten-commands': 'tests/deploy/production.test.js',
  'docs/security.md another-user': 'tests/deploy/users.test.js',
  'docs/serve.md unit-serve': 'tests/deploy/systemd.test.js',
  'docs/serve.md unit-user': 'tests/deploy/systemd.test.js',
  'docs/start.md install-for-start': 'tests/docs/installed.js',
};
const nameOf = (block) => `${block.page} ${block.words.name}`;
const isElsewhere = (block) => nameOf(block) in ELSEWHERE;

// --- what the blocks are ---

const RUN = { sh: runShell, c: compile, cpp: compile, json: readJson, output: null };
const WORDS = { sh: ['name', 'serves', 'answers', 'alone'], c: ['body', 'inside', 'file'], cpp: ['body', 'file', 'standard'], json: [], output: [], text: [] };

test('every block says what it is, and is run by somebody', () => {
  const wrong = [];
  const named = new Set();
  for (const block of pages.flatMap((page) => blocksOf(page))) {
    const { language, words } = block;
    if (words.name !== undefined) named.add(nameOf(block));
    if (language === 'text') continue;
    if (words.name !== undefined && !isElsewhere(block)) wrong.push(`${whereIs(block)}: nobody runs what is named ${words.name}: see ELSEWHERE in tests/docs/docs.test.js`);
    else if (isElsewhere(block)) continue;
    else if (!(language in RUN)) wrong.push(`${whereIs(block)}: a block of ${language || 'no language'}: run it (sh, c, cpp, json), or mark it as output (output, text)`);
    else for (const word of Object.keys(words)) if (!WORDS[language].includes(word)) wrong.push(`${whereIs(block)}: "${word}" means nothing on a block of ${language}`);
  }
  for (const [what, by] of Object.entries(ELSEWHERE)) {
    const [page, name] = what.split(' ');
    if (!named.has(what)) wrong.push(`ELSEWHERE: ${page} has no block named ${name}`);
    const [file, words = name] = by.split('#');
    const reader = path.join(root, file);
    if (!existsSync(reader) || !readFileSync(reader, 'utf8').includes(words)) wrong.push(`ELSEWHERE: ${file} does not read ${what}`);
  }
  assert.deepEqual(wrong, []);
});

test('no block is hidden in an indent', () => {
  const wrong = [];
  for (const page of pages)
    proseOf(page).forEach((line, i, all) => {
      const before = all.slice(0, i).findLast((other) => other.trim() !== '') ?? '';
      if (/^ {4,}\S/.test(line) && all[i - 1]?.trim() === '' && !/^(\s|[-*] |\d+\. )/.test(before)) wrong.push(`${page}:${i + 1}: ${line}`);
    });
  assert.deepEqual(wrong, [], 'fence these blocks and say what they are');
});

test('every page begins with a heading and says what it is for', () => {
  for (const page of pages.filter((one) => one.startsWith('docs/'))) {
    const [heading, blank, purpose] = proseOf(page);
    assert.match(heading, /^# \S/, page);
    assert.equal(blank, '', page);
    assert.match(purpose, /^[A-Z`[][^|]{20,}/, `${page}: the first line below the heading says what the page is for`);
  }
});

test('every link leads somewhere, and every page is linked from the index', () => {
  const wrong = [];
  const linked = new Set(['docs/README.md']);
  for (const page of pages)
    proseOf(page).forEach((line, i) => {
      for (const [, target] of line.matchAll(/\]\(([^)\s]+)\)/g)) {
        if (/^[a-z]+:/.test(target)) continue;
        const [file, anchor] = target.split('#');
        const to = file ? path.normalize(path.join(path.dirname(page), file)) : page;
        if (page === 'docs/README.md') linked.add(to);
        if (!existsSync(path.join(root, to))) wrong.push(`${page}:${i + 1}: there is no ${to}`);
        else if (anchor && !(to.endsWith('.md') && anchorsOf(to).includes(anchor))) wrong.push(`${page}:${i + 1}: ${to} has no heading #${anchor}`);
      }
      for (const [, file] of line.matchAll(/(?:^|[\s(`"])((?:docs|src|tests|scripts|examples|include|bench)\/[\w./-]*\w)(?![\w*])/g))
        if (!existsSync(path.join(root, file))) wrong.push(`${page}:${i + 1}: names ${file}, which is not there`);
    });
  for (const page of pages) if (page.startsWith('docs/') && !linked.has(page)) wrong.push(`docs/README.md does not link ${page}`);
  assert.deepEqual(wrong, []);
});

// --- running them ---

// What a command prints, against the block below it: a line `...` stands for any lines, and `...` in a line for any text.
function assertPrints(block, said) {
  const escaped = block.body.trim().split('\n').map((line) => line.trim() === '...' ? '[^]*' : line.trimEnd().split('...').map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')).join('.*'));
  assert.match(said.trim().split('\n').map((line) => line.trimEnd()).join('\n'), new RegExp(`^${escaped.join('\n')}$`), `${whereIs(block)} is what it prints`);
}

async function runShell(checkout, block, next) {
  if ('serves' in block.words) return void (checkout.served = await checkout.serve(block.body));
  if ('alone' in block.words) await checkout.stop(); // the page says so
  const said = await checkout.run(block.body, block.words.answers);
  if (next?.language === 'output') assertPrints(next, said);
}

// How a block of each language is compiled, and what stands above and around it.
const WARNINGS = ['-Wall', '-Wextra', '-Werror', '-Wno-unused-function', '-Wno-unused-parameter', '-Wno-unused-variable', '-Wno-unused-const-variable'];
const LANGUAGES = {
  c: {
    compiler: 'gcc', wrapper: 'cc', standard: 'gnu11', above: `#include "${root}/tests/docs/context.h"\n`,
    around: ['static nod_status block(nod_call *call, nod_server *server)\n{\n    (void)call;\n    (void)server;\n', '    return NOD_OK;\n}\n'],
  },
  cpp: {
    compiler: 'g++', wrapper: 'c++', standard: 'c++20', above: '#include <nod/nod.hpp>\n\n#include <filesystem>\n#include <string>\n#include <vector>\n',
    around: ['static void block(nod::call &call)\n{\n', '}\n'],
  },
};

async function compile(checkout, block) {
  const { words, body, language } = block;
  if ('file' in words) return writeFileSync(path.join(checkout.folder, words.file), body); // a later block compiles it
  if (language === 'cpp' && !/\bint main\(/.test(body)) return void (checkout.together ??= []).push(block); // see compileTogether
  const { compiler, wrapper, standard, above, around } = LANGUAGES[language];
  const inBody = 'body' in words;
  const whole = /\bint main\(/.test(body);
  const file = path.join(checkout.folder, `block.${language}`);
  const defined = checkout.defined?.[language] ?? ''; // what blocks above on the page define; bodies may use it
  const text = `#line ${block.line + 1} "${block.page}"\n${body}`;
  writeFileSync(file, whole ? text : `${above}${inBody ? `${defined}${around[0]}${text}${around[1]}` : text}`);
  const inside = 'inside' in words ? [`-I${root}/src`, '-D_GNU_SOURCE'] : [];
  await run(compiler, [`-std=${words.standard ? `c++${words.standard}` : standard}`, ...WARNINGS, `-I${root}/include`, ...inside, '-fsyntax-only', file]);
  if (!whole && !inBody) checkout.defined = { ...checkout.defined, [language]: `${defined}${body}` };
  if (!whole) return;
  await checkout.run(`PKG_CONFIG_PATH=home/.local/lib/pkgconfig; export PKG_CONFIG_PATH; ${wrapper} -std=${standard} ${path.basename(file)} -o block $(pkg-config --cflags --libs nod)`);
  await listTools(new StdioClientTransport({ command: path.join(checkout.folder, 'block'), env: { ...checkout.env, LD_LIBRARY_PATH: path.join(checkout.env.HOME, '.local/lib') } }));
}

// The pieces of C++ of a page are compiled in one go for each standard: the headers take most of the time.
async function compileTogether(checkout) {
  const { compiler, standard, above, around } = LANGUAGES.cpp;
  const blocks = checkout.together ?? [];
  for (const chosen of new Set(blocks.map(({ words }) => words.standard ?? standard.slice('c++'.length)))) {
    const file = path.join(checkout.folder, `together-${chosen}.cpp`);
    const pieces = blocks.filter(({ words }) => (words.standard ?? standard.slice('c++'.length)) === chosen).map((block, i) => {
      const text = `#line ${block.line + 1} "${block.page}"\n${block.body}`;
      return 'body' in block.words ? `${around[0].replace('block(', `block_${i}(`)}${text}${around[1]}` : text;
    });
    writeFileSync(file, `${above}${pieces.join('')}`);
    await run(compiler, [`-std=c++${chosen}`, ...WARNINGS, `-I${root}/include`, '-fsyntax-only', file]);
  }
}

async function listTools(transport) {
  const client = new Client({ name: 'docs', version: '1' }, { capabilities: { elicitation: {} } });
  await client.connect(transport);
  const { tools } = await client.listTools();
  assert.ok(tools.length > 0, 'the server has tools');
  await client.close();
}

// A configuration of a client is used as a client would.
async function readJson(checkout, block, next, t) {
  for (const one of Object.values(JSON.parse(block.body).mcpServers ?? {})) {
    if (one.command) {
      const own = path.join(checkout.folder, path.basename(one.command)); // of the page, or an example
      const program = existsSync(own) ? own : path.join(checkout.folder, 'build/release/examples', path.basename(one.command));
      await listTools(new StdioClientTransport({ command: program, args: one.args, env: { ...checkout.env, LD_LIBRARY_PATH: path.join(checkout.env.HOME, '.local/lib') } }));
    } else {
      const tokens = path.join(checkout.folder, 'tokens-of-the-block');
      writeFileSync(tokens, `${TOKEN} somebody ask answer\n`, { mode: 0o600 });
      const server = await startHttp(t, 'delete-account', { args: one.headers ? ['--token-file', tokens] : [] });
      const url = new URL(one.url);
      assert.equal(url.pathname, '/mcp', whereIs(block));
      const headers = Object.fromEntries(Object.entries(one.headers ?? {}).map(([name, value]) => [name, value.replace('the-token', TOKEN)]));
      await listTools(new StreamableHTTPClientTransport(new URL(server.url), { requestInit: { headers } }));
    }
  }
}

for (const page of pages) {
  const blocks = blocksOf(page).filter((block) => block.language !== 'text');
  if (blocks.some((block) => !isElsewhere(block)))
    test(`${page}: its blocks run, from top to bottom`, async (t) => {
      const checkout = await openCheckout(t);
      for (const [i, block] of blocks.entries()) {
        if (isElsewhere(block)) continue;
        if (block.language === 'output') {
          const above = blocks[i - 1];
          assert.ok(above?.language === 'sh' && !('serves' in above.words) && !isElsewhere(above), `${whereIs(block)}: an output of nothing`);
          continue;
        }
        try {
          await RUN[block.language](checkout, block, blocks[i + 1], t);
        } catch (error) {
          error.message = `${whereIs(block)}: ${error.message}${error.stderr ?? ''}`;
          throw error;
        }
      }
      await compileTogether(checkout);
    });
}

// --- blocks that need more than a folder ---

test('docs/deploy.md: two nodes on one Redis, and either goes on', async (t) => {
  const redis = await startRedis(t);
  const [secret, same, ...commands] = blockNamed('docs/deploy.md', 'two-nodes').trim().split('\n');
  assert.match(secret, /^export MCP_ELICITATION_SECRET=\.\.\./);
  const tokens = path.join((await openCheckout(t)).folder, 'tokens-of-the-nodes');
  writeFileSync(tokens, `${TOKEN} somebody ask answer\n`, { mode: 0o600 });
  const [, given] = /^same="(.*)"$/.exec(same);
  const args = given.replace('127.0.0.1:6379', `127.0.0.1:${redis.port}`).replace('/etc/nod/tokens', tokens);
  assert.ok(args.includes(tokens) && args.includes(`:${redis.port}/`), 'the store and the tokens of the block are those of this test');
  const nodes = [];
  for (const command of commands) {
    assert.match(command, /^my-server --http 127\.0\.0\.1:808\d \$same( &)?$/);
    const { url } = await startHttp(t, 'delete-account', { args: args.split(' '), env: { MCP_ELICITATION_SECRET: TOKEN + TOKEN } });
    nodes.push(new Modern(url, { token: TOKEN }));
  }
  const [first, second] = nodes;
  const { requestState } = await first.asked('delete_account', { userId: 'ada' });
  const answered = { requestState, inputResponses: { '#1': accepted({ confirmed: true }) } };
  assert.equal(await second.ended('delete_account', { userId: 'ada' }, answered), 'Deleted ada.');
});

test('docs/deploy.md: the configuration of sticky sessions is one that nginx takes', async (t) => {
  const checkout = await openCheckout(t);
  const sticky = blockNamed('docs/deploy.md', 'nginx-sticky');
  writeFileSync(path.join(checkout.folder, 'nginx.conf'), `pid ${checkout.folder}/pid; error_log stderr; events {}
    http { access_log off; ${sticky} server { listen 127.0.0.1:${checkout.port}; location / { proxy_pass http://nod; } } }`);
  await run('nginx', ['-t', '-p', checkout.folder, '-c', path.join(checkout.folder, 'nginx.conf'), '-e', 'stderr'], { env: { PATH: `${process.env.PATH}:/usr/sbin` } });
});

// --- beside the blocks ---

test('make run says that it listens when it does, and what to do next', async (t) => {
  const checkout = await openCheckout(t);
  const served = await checkout.serve('make run');
  await within(PATIENCE_MS, 'it says what to do next', (async () => {
    while (!/listens on/.test(served.said())) await new Promise((resolve) => setImmediate(resolve));
  })());
  assert.match(served.said(), new RegExp(`delete-account listens on http://127\\.0\\.0\\.1:${checkout.port}/mcp`));
  assert.match(served.said(), /scripts\/call/);
});

test('make run does not say that it listens where somebody else does', async (t) => {
  const taken = createServer();
  await new Promise((resolve) => taken.listen(0, '127.0.0.1', resolve));
  t.after(() => taken.close());
  const checkout = await openCheckout(t);
  const child = spawn('make', ['run', `ADDRESS=127.0.0.1:${taken.address().port}`], { cwd: checkout.folder, env: checkout.env, stdio: ['ignore', 'pipe', 'pipe'] });
  let said = '';
  child.stdout.on('data', (data) => (said += data));
  child.stderr.on('data', (data) => (said += data));
  const code = await within(PATIENCE_MS, 'make run ends', new Promise((resolve) => child.once('close', resolve)));
  assert.notEqual(code, 0);
  assert.match(said, /cannot listen/);
  assert.doesNotMatch(said, /listens on/);
});

test('scripts/setup --list says in words what is needed, and installs nothing', async () => {
  const { stdout } = await run(path.join(root, 'scripts/setup'), ['--list'], { env: { PATH: '/usr/bin:/bin' } });
  for (const word of ['C compiler', 'meson 1.0', 'libuv 1.44', 'OpenSSL 3', 'SQLite 3.37', 'libcurl 7.88', 'Debian: libhiredis-dev']) assert.ok(stdout.includes(word), word);
});

test('CONTRIBUTING.md names targets that make knows', async () => {
  const block = blocksOf('CONTRIBUTING.md').find(({ words }) => words.name === 'build-and-test');
  const lines = block.body.trim().split('\n').map((line) => line.replace(/\s+#.*/, ''));
  for (const line of lines.filter((one) => one.startsWith('make')))
    await run('make', ['-n', ...line.split(' ').slice(1)], { cwd: root });
  for (const line of lines.filter((one) => !one.startsWith('make'))) assert.ok(existsSync(path.join(root, line.split(' ')[0])), line);
});
