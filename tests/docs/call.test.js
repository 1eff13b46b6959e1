// scripts/call and scripts/run: what a person who tries things out is shown, what an empty line sends, and what is said if it cannot work.
import test from 'node:test';
import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { cpSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { environment, freePort, pause, program, startHttp, within, PATIENCE_MS } from '../wire/harness.js';
import { scratchFolder } from '../wire/modern.js';
import { certificate } from '../wire/tls.js';
import { root } from './pages.js';

const SCRIPT = path.join(root, 'scripts/call');

// Resolves to { code, said }: how it ended, and everything it printed. `typed` are the answers at its terminal.
function call(server, words, { typed, env = {} } = {}) {
  const [command, ...args] = typed ? ['python3', path.join(root, 'tests/docs/terminal.py'), typed.join(','), SCRIPT, ...words] : [SCRIPT, ...words];
  return new Promise((resolve) => execFile(command, args, { env: { ...process.env, NOD_URL: server.url, LC_ALL: 'C.UTF-8', ...env }, timeout: PATIENCE_MS },
    (error, stdout, stderr) => resolve({ code: error ? error.code : 0, said: stdout + stderr })));
}

test('a form starts with its presets, and an empty line sends them', async (t) => {
  const server = await startHttp(t, 'shipping');
  const typed = ['accept', 'Ada', 'ada@example.org', '12345', '', '', '', '', '', '', '-'];
  const { code, said } = await call(server, ['ship_order', 'order=17'], { typed });
  assert.equal(code, 0, said);
  assert.match(said, /email: E-mail \(an e-mail address\)\n +For the tracking number\n/, 'formats and descriptions are shown');
  assert.match(said, /speed: Speed\n +economy +Economy, 5 days\n +standard +Standard, 2 days\n/, 'and the titles of options');
  assert.match(said, / {2}parcels \[1\]: /, 'and what an empty line sends');
  assert.match(said, / {2}extras \[sign; - for nothing\]: -/);
  assert.match(said, /Order 17 goes to Ada \(12345\), standard; extras: none; insured: yes\./);
});

test('what --from does not name is sent as the form starts', async (t) => {
  const server = await startHttp(t, 'shipping');
  const file = path.join(scratchFolder(t), 'question.json');
  assert.equal((await call(server, ['--later', file, 'ship_order', 'order=17'])).code, 0);
  const { said } = await call(server, ['--from', file, 'name=Ada', 'email=ada@example.org', 'postcode=12345', 'speed=express']);
  assert.match(said, /Order 17 goes to Ada \(12345\), express; extras: sign; insured: yes\./);
});

test('of several questions each is shown before it is answered', async (t) => {
  const server = await startHttp(t, 'probe');
  const { said } = await call(server, ['pair'], { typed: ['accept', 'one', 'decline'] });
  const [first, second] = [...said.matchAll(/^\? .*$/gm)].map(({ index }) => index);
  const answers = [...said.matchAll(/accept, decline or cancel\?/g)].map(({ index }) => index);
  assert.ok(first < answers[0] && answers[0] < second && second < answers[1], said);
});

test('of a link it is said what accepting it means, and that the page is waited for', async (t) => {
  const server = await startHttp(t, 'probe');
  const { code, said } = await call(server, ['url'], { typed: ['accept'] });
  assert.equal(code, 0, said);
  assert.match(said, /^\? Open this\n {2}open https:\/\/example\.org\/do\?id=\S+\n\naccept \(you have opened it\), decline or cancel\? accept\n\(waiting for what happens there[^\n]*\)\naccept\n$/m);
});

test('what a server says drives no terminal: marks are drawn for what moves, turns or hides text', async (t) => {
  const server = await startHttp(t, 'probe');
  const { said } = await call(server, ['ask', 'message=Pay\x1b[2J\x07 100\u202e001'], { typed: ['decline'] });
  assert.match(said, /^\? Pay<U\+001B>\[2J<U\+0007> 100<U\+202E>001$/m);
  assert.doesNotMatch(said, /[\x07\x1b\u202e]/);
});

test('blanks and fillers are drawn as marks, too; a picture is left alone', async (t) => {
  const server = await startHttp(t, 'probe');
  const { said } = await call(server, ['ask', 'message=a\u115fb\u2800c\u3164d\u00a0e\u034ff \u2764\ufe0f'], { typed: ['decline'] });
  assert.match(said, /^\? a<U\+115F>b<U\+2800>c<U\+3164>d<U\+00A0>e<U\+034F>f \u2764\ufe0f$/m);
});

test('a choice is typed by its value or by its title', async (t) => {
  const server = await startHttp(t, 'shipping');
  const file = path.join(scratchFolder(t), 'question.json');
  const { said: shown } = await call(server, ['--later', file, 'ship_order', 'order=17']);
  const title = / +express +(.+)\n/.exec(shown)[1];
  const { said } = await call(server, ['--from', file, 'name=Ada', 'email=ada@example.org', 'postcode=12345', `speed=${title.toLowerCase()}`]);
  assert.match(said, /Order 17 goes to Ada \(12345\), express;/);
});

test('a call whose connection breaks before the reply is not made a second time', async (t) => {
  let calls = 0;
  const server = createServer(async (request, response) => {
    let text = '';
    for await (const some of request.setEncoding('utf8')) text += some;
    const { id, method } = JSON.parse(text);
    if (method === 'tools/list') {
      response.setHeader('Content-Type', 'application/json');
      return response.end(JSON.stringify({ jsonrpc: '2.0', id, result: { tools: [{ name: 'pay', inputSchema: { type: 'object' } }] } }));
    }
    calls++;
    request.socket.destroy();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => server.close());
  const { code, said } = await call({ url: `http://127.0.0.1:${server.address().port}/mcp` }, ['pay']);
  assert.equal(code, 1, said);
  assert.match(said, /broke before the reply came: the call may have been made/);
  assert.equal(calls, 1);
});

test('a certificate that is not trusted is said at once, with the remedy', async (t) => {
  const { cert, key } = certificate(scratchFolder(t), 'localhost');
  const server = await startHttp(t, 'delete-account', { args: ['--tls-cert', cert, '--tls-key', key] });
  const url = server.url.replace('http:', 'https:');
  const refused = await call(server, ['--url', url, 'list_accounts']);
  assert.equal(refused.code, 1);
  assert.match(refused.said, /its certificate is not trusted here \(.*\): set SSL_CERT_FILE=tls\.crt/);
  assert.doesNotMatch(refused.said, /trying for/);
  const trusted = await call(server, ['--url', url, 'list_accounts'], { env: { SSL_CERT_FILE: cert } });
  assert.match(trusted.said, /Ada Lovelace/);
});

test('https to a server without TLS is said at once', async (t) => {
  const server = await startHttp(t, 'delete-account');
  const { code, said } = await call(server, ['--url', server.url.replace('http:', 'https:'), 'list_accounts']);
  assert.equal(code, 1);
  assert.match(said, /it does not speak TLS: write http:\/\//);
  assert.doesNotMatch(said, /trying for/);
});

test('a server that wants a token: its option is named', async (t) => {
  const tokens = path.join(scratchFolder(t), 'tokens');
  writeFileSync(tokens, 'the-token-0123456789 ada\n', { mode: 0o600 });
  const server = await startHttp(t, 'delete-account', { args: ['--token-file', tokens] });
  assert.match((await call(server, ['list_accounts'])).said, /wants a token: give it with --token TOKEN, or in NOD_TOKEN/);
  assert.match((await call(server, ['--token', 'wrong', 'list_accounts'])).said, /does not take this token: see --token and NOD_TOKEN/);
  assert.match((await call(server, ['list_accounts'], { env: { NOD_TOKEN: 'the-token-0123456789' } })).said, /Ada Lovelace/);
});

test('a wrong word on its command line is named', async (t) => {
  const server = await startHttp(t, 'delete-account');
  for (const [words, why] of [
    [['--latr', 'x'], 'call: --latr is not an option; --help lists them\n'],
    [['--later'], 'call: --later needs a value; --help says more\n'],
    [['delete_account', '--later', 'q.json'], 'call: options go before the tool: scripts/call --later ... TOOL\n'],
    [['delete_account', 'ada'], "call: 'ada' is not NAME=VALUE\n"],
  ]) assert.deepEqual(await call(server, words), { code: 2, said: why });
});

test('an address that no server can have is said at once', async () => {
  for (const url of ['127.0.0.1:8080', 'localhost:8080/mcp', '/mcp', 'ftp://localhost/mcp', 'http://', 'http://localhost:99999/mcp'])
    assert.deepEqual(await call({ url }, []), { code: 2, said: `call: ${url} is not the address of a server: it has to be like http://127.0.0.1:8080/mcp\n` });
});

test('what answers and is not MCP is shown, and where MCP is', async (t) => {
  const server = await startHttp(t, 'delete-account');
  const inbox = await call(server, ['--url', new URL('/', server.url).href]);
  assert.equal(inbox.code, 1, inbox.said);
  assert.match(inbox.said, /^call: \S+ did not answer as MCP does \(a server of nod has it at \/mcp\)\. It said: \S/);
  assert.doesNotMatch(inbox.said, /Traceback/);
  const said = ['[]', '{}', '{"error":"no"}', '{"error":{}}', '{"result":7}', '<p>', ''];
  let at = 0;
  const other = createServer((request, response) => {
    request.resume().on('end', () => response.end(said[at]));
  });
  other.listen(0, '127.0.0.1');
  await once(other, 'listening');
  t.after(() => other.close());
  for (; at < said.length; at++) {
    const url = `http://127.0.0.1:${other.address().port}/`;
    assert.deepEqual(await call({ url }, []), { code: 1, said: `call: ${url} did not answer as MCP does (a server of nod has it at /mcp). It said: ${said[at]}\n` });
  }
});

test('--from FILE --later OTHER: what is asked next is kept in OTHER, and FILE stays as it is', async (t) => {
  const server = await startHttp(t, 'probe');
  const [first, second] = ['first', 'second'].map((name) => path.join(scratchFolder(t), name));
  assert.equal((await call(server, ['--later', first, 'three'])).code, 0);
  const before = readFileSync(first, 'utf8');
  const { code, said } = await call(server, ['--from', first, '--later', second]);
  assert.deepEqual([code, said.includes(`(the question is in ${second};`)], [0, true], said);
  assert.equal(readFileSync(first, 'utf8'), before);
  assert.notEqual(readFileSync(second, 'utf8'), before);
  assert.match((await call(server, ['--from', second])).said, new RegExp(`the question is in ${second};`), 'without --later it is kept where it was');
});

test('a field that the question does not have is named, and so are those that it has; a no has none', async (t) => {
  const server = await startHttp(t, 'probe');
  const file = path.join(scratchFolder(t), 'question');
  await call(server, ['--later', file, 'ask']);
  assert.deepEqual(await call(server, ['--from', file, 'name=Ada', 'nosuch=1']), { code: 2, said: "call: the question has no field 'nosuch'; its fields are: name, age, code\n" });
  assert.deepEqual(await call(server, ['--from', file, '--decline', 'name=Ada']), { code: 2, said: "call: 'name=Ada' is sent only with a yes, and not with --decline\n" });
  assert.match((await call(server, ['--from', file, 'name=Ada'])).said, /accept .*Ada/);
});

test('of several questions each is given its own fields', async (t) => {
  const server = await startHttp(t, 'probe');
  const file = path.join(scratchFolder(t), 'questions');
  await call(server, ['--later', file, 'two_at_once']);
  assert.match((await call(server, ['--from', file, 'word=both'])).said, /left both, right both/);
});

test('whoever has read enough closes the pipe, and nothing is said about it', async () => {
  const reader = `import os, subprocess, sys
out, into = os.pipe()
os.close(out)
sys.exit(subprocess.run(sys.argv[1:], stdout=into).returncode)`;
  const { code, said } = await new Promise((resolve) => execFile('python3', ['-c', reader, SCRIPT, '--help'], { timeout: PATIENCE_MS }, (error, stdout, stderr) => resolve({ code: error?.code, said: stderr })));
  assert.deepEqual({ code, said }, { code: 1, said: '' });
});

test('--no-forms: what is asked waits in the inbox, and the result comes when it is answered there, also past the soft deadline', async (t) => {
  const tokens = path.join(scratchFolder(t), 'tokens');
  const token = 'the-token-0123456789';
  writeFileSync(tokens, `${token} ada ask answer\n`, { mode: 0o600 });
  const server = await startHttp(t, 'delete-account', { args: ['--token-file', tokens, '--soft-deadline', '1s'] });
  const api = (where, body) => fetch(new URL(where, server.url), { method: body ? 'POST' : 'GET', body: body && JSON.stringify(body), headers: { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' } }).then((reply) => reply.json());
  const called = call(server, ['--no-forms', 'delete_account', 'userId=ada'], { env: { NOD_TOKEN: token } });
  const asked = await within(PATIENCE_MS, 'it asks in the inbox', (async () => {
    for (;;) {
      const [item] = (await api('/api/elicitation')).items;
      if (item) return item;
      await pause(20);
    }
  })());
  await pause(1500); // the call has returned its pending result by now, and is waited for
  await api(`/api/elicitation/${asked.id}/resolve`, { action: 'accept', content: { confirmed: true, reason: 'moved' } });
  const { code, said } = await called;
  assert.equal(code, 0, said);
  assert.match(said, /^\(no forms here: what the tool asks waits in the inbox\)\n[^]*Deleted ada\. Reason: moved\n$/);
});

// scripts/run, in a folder that has what `scripts/setup run` leaves there, and in this one.
for (const [where, offered] of [['after scripts/setup run, which brings no node', false], ['where node is installed', true]])
  test(`make run offers what works: ${where}, the Inspector is ${offered ? '' : 'not '}among it`, async (t) => {
    let folder = root;
    if (!offered) {
      folder = scratchFolder(t);
      cpSync(path.join(root, 'scripts'), path.join(folder, 'scripts'), { recursive: true });
    }
    const child = spawn(path.join(folder, 'scripts/run'), [program('delete-account'), `127.0.0.1:${await freePort()}`], { env: environment(), stdio: ['ignore', 'pipe', 'pipe'] });
    const ended = once(child, 'close');
    t.after(async () => {
      child.kill('SIGTERM');
      await within(PATIENCE_MS, 'it ends', ended);
    });
    const said = await within(PATIENCE_MS, 'what to do next', (async () => {
      let text = '';
      for await (const some of child.stdout.setEncoding('utf8')) if (/and read examples\/delete-account\.c/.test((text += some))) return text;
      return text;
    })());
    assert.match(said, /in a second terminal: scripts\/call/);
    assert.equal(/scripts\/inspector mcpdo connect/.test(said), offered, said);
  });
