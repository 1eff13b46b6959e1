// `nod inbox`: what waits is listed, shown and answered from a terminal and from scripts, over HTTP and the Unix socket.
import test from 'node:test';
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { environment, freePort, Inbox, program, startHttp, textOf, within, PATIENCE_MS } from './harness.js';
import { Api, mute, openHouse, token, tokenFile } from './inbox.js';
import { scratchFolder } from './modern.js';
import { Screen as OfCommand, UTF8 } from './screen.js';

const memory = { nodes: 1, create: async () => null };
const origin = (server) => new URL(server.url).origin;

// In a pipe. `typed` goes to its standard input.
async function inbox(server, who, args, { typed = '', env = UTF8 } = {}) {
  const child = spawn(program('nod'), ['inbox', ...args], {
    env: environment({ NOD_SERVER: server.url ? origin(server) : server, ...(who ? { NOD_TOKEN: token(who) } : {}), ...env }),
    stdio: 'pipe',
  });
  const seen = { stdout: '', stderr: '' };
  for (const name of ['stdout', 'stderr']) child[name].setEncoding('utf8').on('data', (data) => (seen[name] += data));
  child.stdin.on('error', () => {}); // it need not read all of it
  child.stdin.end(typed);
  const [code] = await within(PATIENCE_MS, 'nod inbox ends', once(child, 'close'));
  assert.doesNotMatch(seen.stderr, /Sanitizer|runtime error/);
  return { code, ...seen, lines: seen.stdout.split('\n').slice(0, -1) };
}

class Screen extends OfCommand {
  constructor(t, server, who, args, { env = {}, ...size } = {}) {
    super(t, ['inbox', ...args], { env: { NOD_SERVER: origin(server), NOD_TOKEN: token(who), ...env }, ...size });
  }
}

// Nothing that moves a cursor, changes a colour or turns a direction.
const plain = (text) => assert.doesNotMatch(text, /[\0-\x09\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2066-\u2069]/u);

test('in a pipe: list, show and answer, with --json and without', async (t) => {
  const { first } = await openHouse(t, memory);
  const ada = new Api(first, 'ada');
  const client = await mute(t, first, 'ada');
  assert.deepEqual(await inbox(first, 'ada', []), { code: 0, stdout: 'Nothing waits for you.\n', stderr: '', lines: ['Nothing waits for you.'] });
  assert.equal((await inbox(first, 'ada', ['list', '--json'])).stdout, '');

  const call = client.call('ask', { message: 'Who are you?\nReally.', ttl: 100000 });
  const [item] = await ada.pending();
  const row = await inbox(first, 'ada', ['list']);
  assert.match(row.stdout, new RegExp(`^${item.id} +1m \\d\\ds +ask +ada +Who are you\\? \\.\\.\\.\n$`));
  const listed = await inbox(first, 'ada', ['--json']);
  assert.deepEqual(listed.lines.map(JSON.parse), [item]);
  const { inputSchema, ...shown } = JSON.parse((await inbox(first, 'ada', ['show', item.id, '--json'])).stdout);
  assert.deepEqual(shown, item);
  assert.ok(inputSchema.properties.message, 'one question has the schema of its tool as well');
  const { stdout } = await inbox(first, 'ada', ['show', item.id]);
  assert.match(stdout, /^ask\nfrom ada through wire-test 1\.0\.0, server probe\nid \S+, asked at \S+, time left .*\n {2}\| Who are you\?\n {2}\| Really\.\narguments\n/);
  assert.match(stdout, /\n {2}ttl: 100000\nform\n {2}name: a text, at least 2 characters, required\n {2}age: a whole number, 0 to 150, optional\n/);

  // Checked here by the form, and by the server.
  for (const [args, code, why] of [
    [['--accept', 'name=A'], 5, /^nod inbox: name: /],
    [['--accept', 'age=old', 'name=Ada'], 5, /^nod inbox: age: write a whole number, such as 42\n$/],
    [['--accept', 'age=1.5', 'name=A'], 5, /^nod inbox: age: write a whole number, such as 42\nnod inbox: name: .*\n$/],
    [['--accept'], 5, /says 422: .*\n {2}\/name: /],
    [['--accept', 'nme=Ada'], 2, /nme is no field of this form, which has name, /],
    [['--accept', 'name'], 2, /write NAME=VALUE/],
    [['--accept', 'name=Ada', '--remember', '1'], 2, /--remember 1: this question has 0 ways/],
  ]) {
    const seen = await inbox(first, 'ada', ['answer', item.id, ...args]);
    assert.equal(seen.code, code, seen.stderr);
    assert.match(seen.stderr, why);
  }
  const wrong = await inbox(first, 'ada', ['answer', item.id, '--accept', '--json']);
  assert.deepEqual([wrong.code, JSON.parse(wrong.stdout).errors[0].path], [5, '/name']);
  // What does not even fit here is told as the server tells it.
  const { errors: theirs, ...problem } = JSON.parse(wrong.stdout);
  const unfit = await inbox(first, 'ada', ['answer', item.id, '--accept', 'name=A', 'age=old', '--json']);
  const { errors, ...same } = JSON.parse(unfit.stdout);
  assert.deepEqual([unfit.code, same], [5, problem]);
  assert.deepEqual(errors.map((one) => one.path), ['/name', '/age']);
  assert.deepEqual({ ...errors[0], message: '' }, { ...theirs[0], message: '' });
  assert.equal(unfit.stderr, errors.map(({ path: at, message }) => `nod inbox: ${at.slice(1)}: ${message}\n`).join(''));

  const taken = await inbox(first, 'ada', ['answer', item.id, '--accept', 'name=Ada', 'age=36', '--reason', 'as agreed', '--json']);
  assert.deepEqual([taken.code, JSON.parse(taken.stdout)], [0, { executionId: item.executionId, approved: true, data: { name: 'Ada', age: 36 }, action: 'accept' }]);
  assert.equal(textOf(await call), 'accept {"name":"Ada","age":36}');
  const { answer } = (await ada.one(item.id)).json;
  assert.deepEqual([answer.via, answer.reason], ['terminal', 'as agreed']);

  const late = await inbox(first, 'ada', ['answer', item.id, '--decline']);
  assert.equal(late.code, 4);
  assert.match(late.stderr, /^nod inbox: the server says 409: Somebody has answered this before\.\n {2}answered by ada \(terminal\) at \S+\n$/);
  assert.match((await inbox(first, 'ada', ['list', '--state', 'ended', '--tool', 'ask'])).stdout, new RegExp(`^${item.id} answered +ask `));
  assert.match((await inbox(first, 'ada', ['list', '--state', 'answered'])).stdout, new RegExp(`^${item.id} answered`));
  assert.match((await inbox(first, 'ada', ['show', item.id])).stdout, /\nanswered by ada \(terminal\) at .*\nreason\n {2}\| as agreed\nanswer\n {2}name: "Ada"\n {2}age: 36\nresult\n {2}\| accept /);
});

test('in a pipe: the prompts read lines, with a mistake in them; decline and dismiss have their code', async (t) => {
  const { first } = await openHouse(t, memory);
  const ada = new Api(first, 'ada');
  const client = await mute(t, first, 'ada');
  const ask = async (tool, args) => {
    const call = client.call(tool, args);
    return [call, (await ada.pending())[0].id];
  };
  let [call, id] = await ask('ask', {});
  let seen = await inbox(first, 'ada', ['answer', id, '--json'], { typed: 'a\nAda\n200\n36\n\n' });
  assert.equal(seen.code, 0, seen.stderr);
  assert.deepEqual(JSON.parse(seen.stdout).data, { name: 'Ada', age: 36 });
  await call;

  [call, id] = await ask('ask', {});
  seen = await inbox(first, 'ada', ['answer', id], { typed: 'a\nAda\n' });
  assert.deepEqual([seen.code, /Nothing was sent; the question still waits\.\n$/.test(seen.stdout)], [1, true]);
  seen = await inbox(first, 'ada', ['answer', id], { typed: 'd\nnot now\n' });
  assert.deepEqual([seen.code, /Declined\.\n$/.test(seen.stdout)], [3, true]);
  assert.equal((await ada.one(id)).json.answer.reason, 'not now');
  await call;

  [call, id] = await ask('ask_lists', {});
  seen = await inbox(first, 'ada', ['answer', id, '--dismiss']);
  assert.deepEqual([seen.code, seen.stdout], [3, 'Dismissed.\n']);
  await call;
  for (const state of ['ended', 'dismissed']) assert.match((await inbox(first, 'ada', ['list', '--state', state])).stdout, new RegExp(`^${id} dismissed +ask_lists `, 'm'));
});

test('every kind of field of a form, as words and by prompts', async (t) => {
  const { first } = await openHouse(t, memory, { program: 'shipping' });
  const ada = new Api(first, 'ada');
  const client = await mute(t, first, 'ada');
  const words = ['name=Ada', 'email=ada@example.org', 'postcode=12345', 'delivery=2026-12-01', 'parcels=3', 'weight=0.10', 'insured=no', 'speed=Standard, 2 days', 'extras=gift,2'];
  let call = client.call('ship_order', { order: 7 });
  let [{ id }] = await ada.pending();
  let seen = await inbox(first, 'ada', ['answer', id, '--json', '--accept', ...words]);
  assert.equal(seen.code, 0, seen.stderr);
  const data = { name: 'Ada', email: 'ada@example.org', postcode: '12345', delivery: '2026-12-01', parcels: 3, weight: 0.1, insured: false, speed: 'standard', extras: ['gift', 'sign'] };
  assert.deepEqual(JSON.parse(seen.stdout).data, data);
  assert.match(seen.stdout, /"weight":0\.10,/);
  await call;

  call = client.call('ship_order', { order: 8 });
  [{ id }] = await ada.pending();
  seen = await inbox(first, 'ada', ['answer', id, '--json'],
    { typed: ['a', 'Ada', 'ada(at)example', 'ada@example.org', '12345', '', '', '21', '3', '', 'perhaps', 'y', '2', '-'].join('\n') + '\n' });
  assert.equal(seen.code, 0, seen.stderr);
  const { weight, ...rest } = JSON.parse(seen.stdout).data;
  assert.deepEqual(rest, { name: 'Ada', email: 'ada@example.org', postcode: '12345', parcels: 3, insured: true, speed: 'standard' });
  await call;
});

test('an approval is remembered, listed and revoked', async (t) => {
  const { first } = await openHouse(t, memory, { program: 'purge-cache' });
  const root = new Api(first, 'root');
  const client = await mute(t, first, 'root');
  const call = client.call('purge_zone', { zone: 'eu' });
  const [item] = await root.pending();
  assert.match((await inbox(first, 'root', ['show', item.id])).stdout, /^Purge a zone \(purge_zone\) destructive\n[^]*\nan approval can be remembered\n {2}1 {2}/);
  const seen = await inbox(first, 'root', ['answer', item.id, '--accept', '--remember', '1']);
  assert.deepEqual([seen.code, seen.stdout], [0, 'Approved.\n']);
  await call;
  const [grant] = (await inbox(first, 'root', ['grants', '--json'])).lines.map(JSON.parse);
  assert.deepEqual([grant.tool, grant.label], ['purge_zone', item.remember[0].label]);
  assert.match((await inbox(first, 'root', ['grants'])).stdout, new RegExp(`^${grant.id} .* purge_zone +root +used 0 `));
  assert.deepEqual([(await inbox(first, 'root', ['revoke', grant.id])).stdout, (await inbox(first, 'root', ['grants'])).stdout], ['Revoked.\n', 'No approval is remembered.\n']);
  assert.equal((await inbox(first, 'root', ['revoke', grant.id])).code, 4);
});

test('hostile text moves nothing: it is drawn with marks, and JSON says the same', async (t) => {
  const { first } = await openHouse(t, memory);
  const client = await mute(t, first, 'ada');
  const hostile = 'a\x1b[2J\x1b]0;x\x07\r\u009b31m\u202egnp\u2066\u200b\x08b\nAccepted.';
  const call = client.call('ask', { message: hostile });
  const [item] = await new Api(first, 'ada').pending();
  const drawn = 'a<U+001B>[2J<U+001B>]0;x<U+0007><U+000D><U+009B>31m<U+202E>gnp<U+2066><U+200B><U+0008>b';
  for (const args of [['list'], ['show', item.id], ['--json'], ['show', item.id, '--json'], ['no-command', 'no-command'], ['show', hostile], [hostile, 'list'], ['list', '--search', hostile]]) {
    const { stdout, stderr } = await inbox(first, 'ada', args);
    plain(stdout);
    plain(stderr);
  }
  assert.ok((await inbox(first, 'ada', ['list'])).stdout.endsWith(` ${drawn} ...\n`));
  assert.ok((await inbox(first, 'ada', ['show', item.id])).stdout.includes(`\n  | ${drawn}\n  | Accepted.\n`));
  assert.equal(JSON.parse((await inbox(first, 'ada', ['--json'])).stdout).message, hostile);
  // Without UTF-8 a byte of a letter could be a control character: everything but ASCII is a mark.
  const { stdout } = await inbox(first, 'ada', ['list', '--search', 'Accepted'], { env: { LC_ALL: 'C' } });
  assert.match(stdout, /^[\n -~]+$/);
  await inbox(first, 'ada', ['answer', item.id, '--decline']);
  await call;
});

test('a wide space is drawn by number, but for one behind Chinese, Japanese or Korean writing', async (t) => {
  const { first } = await openHouse(t, memory);
  const client = await mute(t, first, 'ada');
  const call = client.call('ask', { message: 'rm\u3000-r \u4eac\u3000\u90fd\u3000\u3000 \u2800\u3164\u00a0.' });
  const [item] = await new Api(first, 'ada').pending();
  for (const args of [['list'], ['show', item.id]])
    assert.ok((await inbox(first, 'ada', args)).stdout.includes('rm<U+3000>-r \u4eac\u3000\u90fd\u3000<U+3000> <U+2800><U+3164><U+00A0>.'));
  await inbox(first, 'ada', ['answer', item.id, '--decline']);
  await call;
});

test('accents that pile up on one character are drawn by number past the fourth', async (t) => {
  const { first } = await openHouse(t, memory);
  const client = await mute(t, first, 'ada');
  const call = client.call('ask', { message: `e${'\u0301'.repeat(500)} and e\u0323\u0302t\u00e9` });
  const [item] = await new Api(first, 'ada').pending();
  for (const args of [['list'], ['show', item.id]]) {
    const { stdout } = await inbox(first, 'ada', args);
    assert.equal(/\p{M}{5}/u.test(stdout), false);
    assert.ok(stdout.includes(`e${'\u0301'.repeat(4)}<U+0301>`), 'what is there is still said');
    assert.ok(stdout.includes(' and e\u0323\u0302t\u00e9'), 'accents of a language are');
  }
  await inbox(first, 'ada', ['answer', item.id, '--decline']);
  await call;
});

test('before an answer, large arguments are folded; s shows all of them', async (t) => {
  const { first } = await openHouse(t, memory);
  const client = await mute(t, first, 'ada');
  const list = Array.from({ length: 10000 }, (_, i) => `${i}`);
  const call = client.call('ask_plain', { exact: 9007199254740991, long: 'x\x1b'.repeat(500000), list });
  const [{ id }] = await new Api(first, 'ada').pending();
  const folded = await inbox(first, 'ada', ['answer', id], { typed: 'q\n' });
  assert.equal(folded.code, 1);
  assert.match(folded.stdout, /\n {2}exact: 9007199254740991\n {2}long: "(x<U\+001B>)+x?\.\.\." \(1000000 bytes in all\)\n {2}list:\n {4}- "0"\n/);
  assert.match(folded.stdout, /\n {2}\.\.\. there is more of it: s shows it\n/);
  assert.ok(folded.stdout.length < 4000, `${folded.stdout.length}`);
  const whole = await inbox(first, 'ada', ['answer', id], { typed: 's\nd\n\n' });
  assert.equal(whole.code, 3);
  assert.ok(whole.stdout.includes(`"${'x<U+001B>'.repeat(500000)}"`) && whole.stdout.includes('\n    - "9999"\n'));
  await call;
});

test('exit codes, and what is said', async (t) => {
  const folder = scratchFolder(t);
  const socket = path.join(folder, 'nod.sock');
  const server = await startHttp(t, 'probe', { args: ['--http', `unix:${socket}`, '--token-file', tokenFile(t)] });
  const own = path.join(folder, 'own');
  writeFileSync(own, token('ada'));
  for (const [who, args, code, why] of [
    ['ada', ['show'], 2, /show needs an ID/],
    ['ada', ['list', 'more'], 2, /more is one word too many/],
    ['ada', ['--loud'], 2, /--loud is not an option/],
    ['ada', ['list', '--limit'], 2, /needs a value/],
    ['ada', ['list', '--limit', 'x'], 2, /no number/],
    ['ada', ['list', '--decline'], 2, /belong to answer/],
    ['ada', ['answer', 'x', 'a=b'], 2, /needs --accept/],
    ['ada', ['list', '--state', 'lost'], 2, /says 400/],
    ['ada', ['show', 'AAAAAAAAAAAAAAAAAAAAAA'], 4, /says 404/],
    ['ada', ['answer', '../me', '--decline'], 4, /says 404/],
    ['ada', ['revoke', 'AAAAAAAAAAAAAAAAAAAAAA'], 4, /says 404/],
    ['ada', ['delete', 'nothing'], 4, /says 404/],
    ['carl', ['list'], 5, /says 403/],
    [null, ['list'], 5, /says 401: This needs a token .*\n.*NOD_TOKEN/],
    [null, ['list', '--token-file', path.join(folder, 'none')], 1, /cannot be read/],
    [null, [`127.0.0.1:${await freePort()}`], 1, /cannot be reached/],
    [null, ['list', '--token-file', own], 0, /^$/],
    [null, [`unix:${socket}`, 'list'], 0, /^$/],
    [null, [`unix:${socket}`, 'grants'], 0, /^$/],
    [null, [`unix:${socket}`, 'secrets'], 0, /^$/],
    [null, [`unix:${socket}`, 'accounts'], 0, /^$/],
  ]) {
    const seen = await inbox(server, who, args);
    assert.equal(seen.code, code, `${args}: ${seen.stderr}`);
    assert.match(seen.stderr, why);
  }
  assert.match((await inbox(server, 'ada', ['list', '--name', 'nod', `unix:${socket}`])).stderr, /unix:\S+ comes before the command/);
  assert.match((await inbox(server, 'ada', [`unix:${socket}`, '--name', 'nod'])).stderr, /--name and an address are two servers/);
  assert.match((await inbox(server, 'ada', ['--help'])).stdout, /^usage: nod inbox \[ADDRESS\]/);
});

test('in a terminal: a form with a mistake in it, a race that is lost, NO_COLOR', async (t) => {
  const { first } = await openHouse(t, memory);
  const ada = new Api(first, 'ada');
  const client = await mute(t, first, 'ada');
  let call = client.call('ask', { message: 'Who?' });
  let [{ id }] = await ada.pending();
  let screen = new Screen(t, first, 'ada', ['answer', id]);
  await screen.until(/\| Who\?[^]*leave it \(q\)\? /);
  for (const [prompt, typed] of [[/$/, 'a'], [/name\S*: /, 'A'], [/at least 2[^]*name\S*: /, 'Ada'], [/age\S*: /, 'x'], [/age\S*: /, ''], [/code\S*: /, 'abc'], [/code\S*: /, 'ABC']]) {
    await screen.until(prompt);
    screen.type(`${typed}\n`);
  }
  await screen.until(/Answered\./);
  assert.equal(await screen.end(), 0);
  assert.match(screen.shown, /\x1b\[1mname\x1b\[0m: /);
  assert.equal(textOf(await call), 'accept {"name":"Ada","code":"ABC"}');

  call = client.call('ask', {});
  [{ id }] = await ada.pending();
  screen = new Screen(t, first, 'ada', ['answer', id], { env: { NO_COLOR: '1' } });
  await screen.until(/leave it \(q\)\? /);
  screen.type('d\n');
  await screen.until(/reason .*: /);
  await ada.resolve(id, { approved: true, data: { name: 'Bea' } });
  screen.type('too late\n');
  await screen.until(/says 409: Somebody has answered this before\.\r\n {2}answered by ada \(api\) at /);
  assert.equal(await screen.end(), 4);
  assert.doesNotMatch(screen.shown, /\x1b/);
  assert.equal(textOf(await call), 'accept {"name":"Bea"}');
});

test('watch: what comes and goes, as lines of JSON; a server that restarts is a pause', async (t) => {
  const port = await freePort();
  const file = tokenFile(t);
  const start = () => startHttp(t, 'probe', { port, args: ['--token-file', file] });
  const server = await start();
  const at = { url: server.url };
  const client = await mute(t, at, 'ada');
  const call = client.call('ask', { message: 'first \u202e' });
  const [item] = await new Api(at, 'ada').pending();
  const child = spawn(program('nod'), ['inbox', origin(at), 'watch', '--json'], { env: environment({ NOD_TOKEN: token('ada'), ...UTF8 }), stdio: ['ignore', 'pipe', 'pipe'] });
  const lines = new Inbox();
  let rest = '';
  child.stdout.setEncoding('utf8').on('data', (data) => {
    plain(data);
    const [last, ...whole] = (rest + data).split('\n').reverse();
    rest = last;
    whole.reverse().forEach((line) => lines.push(JSON.parse(line)));
  });
  t.after(() => child.kill());
  assert.deepEqual(await lines.next(() => true), { event: 'reset' });
  assert.deepEqual((await lines.next(() => true)).item, item);
  assert.equal((await inbox(at, 'ada', ['answer', item.id, '--decline'])).code, 3);
  const ended = await lines.next(({ event, item: of }) => event === 'ended' && of.id === item.id, 'its end');
  assert.deepEqual([ended.item.state, ended.item.answer.via], ['declined', 'terminal']);
  await call;
  await server.stop();
  const after = await start();
  assert.deepEqual(await lines.next(({ event }) => event === 'reset'), { event: 'reset' });
  writeFileSync(file, `${token('bob')} bob ask answer\n`, { mode: 0o600 });
  after.signal('SIGHUP'); // her token is gone: so is the stream
  const [code] = await within(PATIENCE_MS, 'the watch ends', once(child, 'close'));
  assert.equal(code, 5);
});

test('the live list: what comes is there, it is answered and declined, the window changes its size', async (t) => {
  const { first } = await openHouse(t, memory);
  const ada = new Api(first, 'ada');
  const client = await mute(t, first, 'ada');
  const screen = new Screen(t, first, 'ada', [], { columns: 100 });
  await screen.until(/0 waiting {2}probe[^]*as [^]*Nothing waits for you\.[^]*q leaves/);
  await screen.until(/Enter answers/);
  assert.doesNotMatch(screen.shown, /not connected/); // the first moment is no failure
  const calls = ['one \x1b[5;5Hhostile', 'two', 'three'].map((message) => client.call('ask', { message }));
  calls.forEach((call) => call.catch(() => {})); // looked at below
  const items = await ada.pending(3);
  await screen.until(/3 waiting[^]*> (\x1b\[1m)?4m \d\ds[^]*q leaves/);
  const shown = screen.shown.slice(screen.shown.lastIndexOf('3 waiting'));
  assert.ok(shown.includes('<U+001B>[5;5Hhostile') && !shown.includes('\x1b[5;5H'), shown);

  const at = (message) => items.findIndex((item) => item.message === message);
  const go = async (message) => { // the order is the server's
    for (let i = 0; i < 3; i++) screen.type('k');
    for (let i = 0; i < at(message); i++) screen.type(i % 2 ? 'j' : '\x1b[B');
    await screen.until(new RegExp(`> [^\\n]*${message}`));
    screen.type('\r');
    await screen.until(/leave it \(q\)\? /);
  };
  await go('three');
  screen.resize(24, 90); // at a prompt, it ends nothing
  screen.type('a\nAda\n\n\n');
  await screen.until(/Answered\.[^]*goes back to the list: /);
  screen.type('\n');
  await screen.until(/2 waiting[^]*q leaves/);
  await go('two');
  screen.type('\x03'); // Ctrl-C leaves the question, not the list
  await screen.until(/still waits\.[^]*2 waiting[^]*q leaves/);
  await ada.resolve(items[at('two')].id, { approved: false }); // by somebody else: it goes by itself
  await screen.until(/1 waiting[^]*q leaves/);

  screen.resize(10, 40);
  await screen.until(/> [^\n]* ask\x1b[^]*Enter answers, [^\n]*\.\.\./);
  screen.resize(10, 54); // what is asked counts more than who asks
  await screen.until(/ask +one <U\+001B>\[5;5\.\.\.[^]*q leaves/);
  for (const line of screen.shown.slice(screen.shown.lastIndexOf('1 waiting')).split('\r\n')) assert.ok(line.replace(/\x1b\[[\d;]*[A-Za-z]/g, '').length < 54, line);
  screen.type('\r');
  await screen.until(/leave it \(q\)\? /);
  screen.type('d\nno\n\n');
  await screen.until(/Declined\.[^]*0 waiting/);
  screen.type('q');
  assert.equal(await screen.end(), 0);
  assert.match(screen.shown, /\x1b\[\?25h\x1b\[\?1049l$/);
  assert.deepEqual((await Promise.all(calls)).map(textOf), ['decline', 'decline', 'accept {"name":"Ada"}']);
});

test('large questions of one caller fill pages, not the list: everybody else is still listed', async (t) => {
  const { first } = await openHouse(t, memory);
  const root = new Api(first, 'root');
  const hers = await mute(t, first, 'ada');
  const calls = Array.from({ length: 3 }, (_, i) => hers.call('ask', { message: `large ${i}`, more: 'A'.repeat(3900000) }, { timeout: PATIENCE_MS }));
  const pages = async () => { // of how many items
    const counts = [];
    for (let cursor; cursor !== null;) {
      const { json, text } = await root.list(cursor ? { cursor } : {});
      assert.ok(text.length < 9 << 20, `${text.length} bytes in one page`);
      counts.push(json.items.length);
      cursor = json.next;
    }
    return counts;
  };
  await within(PATIENCE_MS, 'three large ones', (async () => {
    while (`${await pages()}` !== '2,1');
  })());
  calls.push((await mute(t, first, 'bob')).call('ask', { message: 'of bob' }, { timeout: PATIENCE_MS }));
  await new Api(first, 'bob').pending();
  const wanted = ['large 0', 'large 1', 'large 2', 'of bob'];
  const rows = (await inbox(first, 'root', [])).lines.map((line) => line.replace(/.* (?=large|of bob)/, ''));
  assert.deepEqual(rows.sort(), wanted);
  const screen = new Screen(t, first, 'root', []);
  await screen.until(/4 waiting [^]*of bob/);
  screen.type('q');
  assert.equal(await screen.end(), 0);
  while ((await root.list()).json.items.length) for (const { id } of (await root.list()).json.items) await root.resolve(id, { approved: false });
  await Promise.all(calls);
});

test('what only the server can tell does not fit is asked for again, by its path', async (t) => {
  const { first } = await openHouse(t, memory);
  const client = await mute(t, first, 'ada');
  let call = client.call('ask', {});
  let [{ id }] = await new Api(first, 'ada').pending();
  const typed = 'a\nA\0da\n36\n\n';
  const seen = await inbox(first, 'ada', ['answer', id], { typed });
  assert.deepEqual([seen.code, /\n {2}\/name: [^]*still waits\.\n$/.test(seen.stdout)], [5, true], seen.stdout);
  const again = await inbox(first, 'ada', ['answer', id, '--json'], { typed: `${typed}Ada\n` });
  assert.equal(again.code, 0, again.stderr);
  assert.deepEqual(JSON.parse(again.stdout).data, { name: 'Ada', age: 36 });
  await call;
  call = client.call('ticket', {});
  [{ id }] = await new Api(first, 'ada').pending();
  assert.match((await inbox(first, 'ada', ['show', id])).stdout, /\n {2}ticket \(Ticket\): a text, like T-123, required\n/);
  assert.match((await inbox(first, 'ada', ['answer', id, '--accept', 'ticket=7'])).stderr, /ticket: .*T-123/);
  await inbox(first, 'ada', ['answer', id, '--dismiss']);
  await call;
});

test('an address that cannot be used, and a server that cannot be reached, are told apart', async (t) => {
  const server = await startHttp(t, 'probe', { args: ['--token-file', tokenFile(t)] });
  const at = new URL(server.url).host;
  for (const [args, code, why] of [
    [[server.url, 'list'], 2, /^nod inbox: http:\S+\/mcp is what MCP clients are given: leave \/mcp off/],
    [['lst'], 2, /^nod inbox: lst is neither a command nor an address/],
    [['foo://example'], 2, /foo:\/\/example is no address of a server: give http:\/\/HOST:PORT/],
    [['unix:/nope/nod.sock', 'list'], 1, /^nod inbox: the socket \/nope\/nod\.sock cannot be reached: there is no such socket\n$/],
    [[`127.0.0.1:${await freePort()}`, 'list'], 1, /^nod inbox: http:\/\/127\.0\.0\.1:\d+ cannot be reached: nothing listens there \(connection refused\)\n$/],
    [['http://no-such-host.invalid', 'list'], 1, /^nod inbox: http:\/\/no-such-host\.invalid cannot be reached: nobody knows this name\n$/],
    [[`https://${at}`, 'list'], 1, /^nod inbox: https:\/\/\S+ does not speak TLS: write http:\/\/ instead of https:\/\/\n$/],
  ]) {
    const seen = await inbox(server, 'ada', args);
    assert.match(seen.stderr, why);
    assert.equal(seen.code, code, `${args}`);
  }
});

test('a token that is missing, and one that is not known, are told apart, by where it came from', async (t) => {
  const server = await startHttp(t, 'probe', { args: ['--token-file', tokenFile(t)] });
  const file = path.join(scratchFolder(t), 'token');
  writeFileSync(file, 'wrong-token-0123456789');
  for (const [env, args, why] of [
    [{}, [], /\nnod \w+: no token was sent: if the server has tokens, set NOD_TOKEN or give --token-file FILE/],
    [{ NOD_TOKEN: 'wrong-token-0123456789' }, [], /it does not know the token of NOD_TOKEN/],
    [{}, ['--token-file', file], new RegExp(`it does not know the token of ${file}`)],
  ])
    for (const command of ['inbox', 'login']) {
      const child = spawn(program('nod'), [command, origin(server), ...args, ...(command === 'inbox' ? ['list'] : [])], { env: environment({ ...UTF8, ...env }), stdio: ['ignore', 'ignore', 'pipe'] });
      let said = '';
      child.stderr.setEncoding('utf8').on('data', (data) => (said += data));
      await within(PATIENCE_MS, 'it ends', once(child, 'close'));
      assert.match(said, why);
      assert.ok(said.startsWith(`nod ${command}: the server says 401: `), said);
    }
});

test('a row says that its message goes on, and arguments that a message repeats are shown once', async (t) => {
  const { first } = await openHouse(t, memory, { program: 'purge-cache' });
  const root = new Api(first, 'root');
  const client = await mute(t, first, 'root');
  const call = client.call('purge_zone', { zone: 'eu' });
  const [item] = await root.pending();
  assert.match(item.message, /^Allow Purge a zone\?\n\nArguments: \{"zone":"eu"\}$/);
  assert.match((await inbox(first, 'root', ['list'])).stdout, / ! purge_zone +root +Allow Purge a zone\? zone: "eu"\n$/);
  assert.match((await inbox(first, 'root', ['show', item.id])).stdout, /\n {2}\| Allow Purge a zone\?\narguments\n {2}zone: "eu"\n/);
  assert.equal((await inbox(first, 'root', ['answer', item.id, '--decline'])).code, 3);
  await call;
  const { first: probe } = await openHouse(t, memory);
  const other = (await mute(t, probe, 'ada')).call('ask', { message: 'Who are you?\nReally.' });
  const [{ id }] = await new Api(probe, 'ada').pending();
  assert.match((await inbox(probe, 'ada', ['list'])).stdout, / Who are you\? \.\.\.\n$/);
  await inbox(probe, 'ada', ['answer', id, '--decline']);
  await other;
});

test('presets: they are shown, an answer without the field has them, and - leaves an optional one out', async (t) => {
  const { first } = await openHouse(t, memory, { program: 'shipping' });
  const ada = new Api(first, 'ada');
  const client = await mute(t, first, 'ada');
  const needed = ['name=Ada', 'email=ada@example.org', 'postcode=12345'];
  for (const [more, extras] of [[[], true], [['extras=-'], false]]) {
    const call = client.call('ship_order', { order: 7 });
    const [item] = await ada.pending();
    const presets = Object.fromEntries(Object.entries(item.schema.properties).filter(([, field]) => 'default' in field).map(([name, field]) => [name, field.default]));
    assert.ok(presets.insured === true && presets.extras, JSON.stringify(presets));
    const { stdout } = await inbox(first, 'ada', ['show', item.id]);
    assert.match(stdout, /\n {2}insured \(Insured\): yes or no, required, preset yes\n/);
    const seen = await inbox(first, 'ada', ['answer', item.id, '--json', '--accept', ...needed, ...more]);
    assert.equal(seen.code, 0, seen.stderr);
    if (!extras) delete presets.extras;
    assert.deepEqual(JSON.parse(seen.stdout).data, { name: 'Ada', email: 'ada@example.org', postcode: '12345', ...presets });
    await call;
  }
});

test('what is destructive is not accepted by one key; an unknown word at a prompt is told so', async (t) => {
  const { first } = await openHouse(t, memory, { program: 'purge-cache' });
  const root = new Api(first, 'root');
  const client = await mute(t, first, 'root');
  const call = client.call('purge_zone', { zone: 'eu' });
  const [{ id }] = await root.pending();
  let seen = await inbox(first, 'root', ['answer', id], { typed: 'y\na\n7\n1\n\n' });
  assert.match(seen.stdout, /\(q\)\? \n {2}y is none of these\n/);
  assert.match(seen.stdout, /remember \[0\]: \n {2}7 is none of these\n/);
  assert.match(seen.stdout, /destructive: approve \(a\) again, or leave it \(q\)\? \nNothing was sent; the question still waits\.\n$/);
  assert.equal(seen.code, 1);
  assert.equal((await root.one(id)).json.state, 'pending');
  seen = await inbox(first, 'root', ['answer', id], { typed: 'a\n0\na\n' });
  assert.deepEqual([seen.code, /Approved\.\n$/.test(seen.stdout)], [0, true], seen.stdout);
  await call;
});

test('an approval with a box at no is not sent unnoticed, and is not called approved', async (t) => {
  const { first } = await openHouse(t, memory, { program: 'delete-account' });
  const ada = new Api(first, 'ada');
  const client = await mute(t, first, 'ada');
  const call = client.call('delete_account', { userId: 'ada' });
  const [{ id }] = await ada.pending();
  const asked = /Confirm deletion: no\. Send it so \(a\), or leave it \(q\)\? \n/;
  let seen = await inbox(first, 'ada', ['answer', id], { typed: 'a\nn\n\nq\n' });
  assert.match(seen.stdout, asked);
  assert.deepEqual([seen.code, (await ada.one(id)).json.state], [1, 'pending']);
  seen = await inbox(first, 'ada', ['answer', id], { typed: 'a\nn\n\na\n' });
  assert.match(seen.stdout, asked);
  assert.deepEqual([seen.code, /Answered\.\n$/.test(seen.stdout)], [0, true], seen.stdout);
  assert.equal(textOf(await call), 'Nothing was deleted.');
  assert.match((await inbox(first, 'ada', ['list', '--state', 'ended'])).stdout, new RegExp(`^${id} answered +! delete_account `));
  const second = client.call('delete_account', { userId: 'ada' });
  const [{ id: next }] = await ada.pending();
  seen = await inbox(first, 'ada', ['answer', next], { typed: 'a\ny\n\n' });
  assert.deepEqual([seen.code, /Approved\.\n$/.test(seen.stdout)], [0, true], seen.stdout);
  assert.equal(textOf(await second), 'Deleted ada.');
  assert.match((await inbox(first, 'ada', ['show', next])).stdout, /\napproved by ada \(terminal\) at /);
});

test('what is answered on its page says where, at the prompts and as words, and nothing is sent', async (t) => {
  const { first } = await openHouse(t, memory, { program: 'pages' });
  const ada = new Api(first, 'ada');
  const client = await mute(t, first, 'ada');
  const call = client.call('form', {});
  const [{ id, page }] = await ada.pending();
  const address = page.slice(0, page.lastIndexOf('/') + 1); // each time it is shown, it is another link to the same page
  const withoutToken = (text) => text.replaceAll(address, '').replace(/[\w-]{60,}/g, 'PAGE');
  let seen = await inbox(first, 'ada', ['answer', id], { typed: 'a\n' });
  assert.match(seen.stdout, /\ndecline \(d\), dismiss \(x\), show all of it \(s\) or leave it \(q\)\? \n/);
  assert.ok(withoutToken(seen.stdout).endsWith('It is answered on its page: PAGE\nNothing was sent; the question still waits.\n'), seen.stdout);
  assert.equal(seen.code, 1);
  seen = await inbox(first, 'ada', ['answer', id, '--accept']);
  assert.deepEqual([seen.code, withoutToken(seen.stderr)], [2, 'nod inbox: nothing was sent: it is answered on its page, PAGE\n']);
  assert.equal((await ada.one(id)).json.state, 'pending');
  assert.equal((await inbox(first, 'ada', ['answer', id, '--decline'])).code, 3);
  await call;
  seen = await inbox(first, 'ada', ['answer', id, '--accept']);
  assert.deepEqual([seen.code, /this has ended/.test(seen.stderr)], [4, true], 'the page has nothing to answer any more');
});

test('a choice is shown with its title, and what is none of them is told which there are', async (t) => {
  const { first } = await openHouse(t, memory, { program: 'shipping' });
  const client = await mute(t, first, 'ada');
  const call = client.call('ship_order', { order: 7 });
  const [{ id }] = await new Api(first, 'ada').pending();
  assert.match((await inbox(first, 'ada', ['show', id])).stdout, /\n {2}speed \([^)]*\): one of economy \(Economy, 5 days\), standard \(Standard, 2 days\), /);
  assert.match((await inbox(first, 'ada', ['show', id])).stdout, /\n {2}name \(Name\): a text, 2 to 80 characters, required\n {2}email \(E-mail\): an e-mail address, required /);
  assert.match((await inbox(first, 'ada', ['answer', id, '--accept', 'speed=slow'])).stderr, /^nod inbox: speed: choose from economy \(Economy, 5 days\), standard \(Standard, 2 days\), /);
  assert.match((await inbox(first, 'ada', ['answer', id, '--accept', 'insured=perhaps'])).stderr, /insured: write yes or no\n$/);
  await inbox(first, 'ada', ['answer', id, '--dismiss']);
  await call;
});

test('the same answer again is no failure, another one is too late', async (t) => {
  const { first } = await openHouse(t, memory);
  const ada = new Api(first, 'ada');
  const client = await mute(t, first, 'ada');
  for (const [words, code] of [[['--accept', 'name=Ada'], 0], [['--decline'], 3]]) {
    const call = client.call('ask', {});
    const [{ id }] = await ada.pending();
    assert.equal((await inbox(first, 'ada', ['answer', id, ...words])).code, code);
    await call;
    const again = await inbox(first, 'ada', ['answer', id, ...words]);
    assert.equal(again.code, code, again.stderr);
    const other = await inbox(first, 'ada', ['answer', id, '--dismiss']);
    assert.equal(other.code, 4);
    assert.match(other.stderr, /says 409: .*\n {2}\w+ by ada \(terminal\) at /);
    assert.equal((await inbox(first, 'ada', ['answer', id], { typed: 'a\n' })).code, 4);
  }
});

test('two approvals of one tool are told apart in the list of what is remembered', async (t) => {
  const { first } = await openHouse(t, memory, { program: 'purge-cache' });
  const root = new Api(first, 'root');
  const client = await mute(t, first, 'root');
  const asked = {};
  for (const zone of ['eu', 'us']) {
    const call = client.call('purge_zone', { zone });
    const [{ id, remember }] = await root.pending();
    asked[zone] = id;
    const { scope, match, for: time } = remember[0];
    assert.equal((await root.resolve(id, { approved: true, remember: { scope, match, for: time } })).status, 200);
    await call;
  }
  const { items } = (await root.get('/api/grants')).json;
  assert.deepEqual(items.map(({ message, questionId }) => [message, questionId]).sort(), ['eu', 'us'].map((zone) => [`Allow Purge a zone?\n\nArguments: {"zone":"${zone}"}`, asked[zone]]));
  const { stdout } = await inbox(first, 'root', ['grants']);
  for (const zone of ['eu', 'us']) assert.match(stdout, new RegExp(`used 0 {2}Allow for this session, with these arguments\\n {2}\\| Allow Purge a zone\\?\\n {2}\\| \\n {2}\\| Arguments: \\{"zone":"${zone}"\\}\\n`));
});

test('a time without a zone is one of the terminal\'s zone: it is sent with its offset; a time that is none is refused', async (t) => {
  const { first } = await openHouse(t, memory);
  const ada = new Api(first, 'ada');
  const client = await mute(t, first, 'ada');
  const env = { ...UTF8, TZ: 'Europe/Berlin' };
  for (const [words, sent] of [
    [['when=2026-07-01 09:30', 'until=2026-12-01T18:00:15', 'day=2026-12-24'], { when: '2026-07-01T09:30:00+02:00', until: '2026-12-01T18:00:15+01:00', day: '2026-12-24' }],
    [['when=2026-07-01T09:30:00Z', 'until=2026-07-01T09:30:00.5-03:00'], { when: '2026-07-01T09:30:00Z', until: '2026-07-01T09:30:00.5-03:00' }],
  ]) {
    const call = client.call('meet');
    const [item] = await ada.pending();
    for (const wrong of ['2026-03-29 02:30', '2026-02-30 10:00', '2026-07-01', 'tomorrow']) {
      const { code, stderr } = await inbox(first, 'ada', ['answer', item.id, '--accept', `when=${wrong}`], { env });
      assert.equal(code, 5, `${wrong}: ${stderr}`);
    }
    assert.match((await inbox(first, 'ada', ['show', item.id], { env })).stdout, /date and time, such as 2026-11-16 12:03 in your time zone/);
    assert.equal((await inbox(first, 'ada', ['answer', item.id, '--accept', ...words], { env })).code, 0);
    assert.deepEqual(JSON.parse(textOf(await call)), sent);
  }
});
