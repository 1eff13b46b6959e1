// What a stranger reads who has mistyped something, or has given a file that is not there: what, where, and what to do.
import test from 'node:test';
import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { atAnyPace, freePort, runOnce } from './harness.js';
import { scratchFolder } from './modern.js';
import { certificate } from './tls.js';

const words = (run) => (run.stderr + run.stdout).replaceAll('\\"', '"');

async function says(name, args, code, ...patterns) {
  const run = await runOnce(name, args);
  assert.equal(run.code, code, `${name} ${args.join(' ')}: ${words(run)}`);
  for (const pattern of patterns) assert.match(words(run), pattern, `${name} ${args.join(' ')}`);
  return words(run);
}

test('a mistyped option: the one that was meant', async () => {
  for (const [given, meant] of [['--htp', '--http'], ['--hhtp=0', '--http'], ['-http', '--http'], ['--token-flie', '--token-file'], ['--sotre', '--store'],
    ['help', '--help'], ['--verison', '--version'], ['--pendng', '--pending']])
    await says('probe', [given], 2, new RegExp(`${given} is not an option; did you mean ${meant}\\?`), /Try --help/);
  for (const given of ['--zzz', '--x', '--port'])
    assert.doesNotMatch(await says('probe', [given], 2, new RegExp(`${given} is not an option`)), /did you mean/);
  await says('probe', ['serve'], 2, /serve is not an option, and a server takes nothing else/);
});

test('a value that does not fit: what it may be, and what it was', async () => {
  for (const [option, value, fits] of [
    ['--pending', '0', /a number of questions, from 1 to 1000000000/], ['--pending', '-5', /from 1 to/], ['--pending', '99999999999', /from 1 to/],
    ['--pending-per-principal', 'x', /from 1 to/], ['--tasks-per-principal', '0', /from 1 to/], ['--journal-entries', '0', /from 1 to 4096/],
    ['--journal-entries', '5000', /from 1 to 4096/], ['--journal-bytes', '1', /from 4096 to 4194304/], ['--journal-bytes', '99999999', /from 4096 to 4194304/],
    ['--keep', '0s', /a time such as 90s, 30m, 24h or 7d, from 1s to 3650d/], ['--keep', '99999d', /from 1s to 3650d/], ['--ask-ttl', '1y', /from 1s to 3650d/],
    ['--next-surface', '5', /from 1s to 3650d/], ['--soft-deadline', 'tool:=5s', /tool:NAME=10m/], ['--http', '99999', /0 to 65535/],
    ['--log', 'loud', /error, warn, info or debug/], ['--consent', 'me', /inbox or any/], ['--token-file', '', /the name of a file/],
    ['--store', 'foo', /sqlite:PATH/], ['--allow-field', 'x', /TOOL\.FIELD/],
    ['--remember', 'drop=sesion', /TOOL=WHAT or WHAT, where WHAT is none, or at least one of session/]])
    await says('probe', [option, value], 2, new RegExp(`${option} takes `), fits, new RegExp(`it was given "${value}"`));
  await says('probe', Array(17).fill('--http=0'), 2, /--http may be given at most 16 times/);
  await says('probe', Array(65).fill('--allow-host=x'), 2, /--allow-host may be given at most 64 times/);
});

test('a certificate or key that is not there, or is none', async (t) => {
  const folder = scratchFolder(t);
  const file = (name) => path.join(folder, name);
  mkdirSync(file('folder'));
  writeFileSync(file('text'), 'nothing of the kind\n');
  for (const [name, why] of [['missing', /missing: No such file or directory/], ['folder', /folder: it is a folder/], ['text', /text: it has nothing of the kind in PEM/]])
    assert.doesNotMatch(await says('probe', ['--http', '0', '--tls-cert', file(name)], 1, /the certificate cannot be used/, why), /system lib|start line/);
  const { cert } = certificate(folder, 'localhost');
  for (const key of [cert, file('text')])
    assert.doesNotMatch(await says('probe', ['--http', '0', '--tls-cert', cert, ...(key === cert ? [] : ['--tls-key', key])], 1,
      /the private key cannot be used: \S+: it has nothing of the kind in PEM/, /named_by=.*--tls-key/), /PEM lib/);
});

test('an option whose value only the start can judge is named', async () => {
  await says('probe', ['--http', '0', '--surfaces', 'clinet'], 2, /there is no such surface; did you mean client\?/, /named_by=--surfaces/, /known=client/);
  await says('probe', ['--surfaces', 'client,inbox'], 2, /there is no such surface; on standard input and output the inbox needs --inbox"/, /named_by=--surfaces/);
  await says('probe', ['--http', '0', '--no-inbox', '--surfaces', 'inbox'], 2, /there is no such surface; the inbox is not served here"/);
  await says('probe', ['--store', 'mysql:x'], 2, /--store must be memory:, sqlite:PATH/);
  await says('probe', ['--http', '0', '--trusted-proxy', 'foo'], 2, /--trusted-proxy takes an address/, /it was given "foo"/);
});

test('a Redis whose socket is not there: it is the socket', async (t) => {
  const socket = path.join(scratchFolder(t), 'away.sock');
  await says('probe', ['--http', '0', '--store', `redis+unix://${socket}?timeout=200`], 1, /its Unix socket: no such file or directory/);
});

test('a role that does not exist is named, and a token is not', async (t) => {
  const file = path.join(scratchFolder(t), 'tokens');
  writeFileSync(file, 'token-0123456789abcdef ada answer aproove\n', { mode: 0o600 });
  await says('probe', ['--http', '0', '--token-file', file], 1, /tokens:1: "aproove" is no role; there are ask, answer, approve and admin/);
  writeFileSync(file, 'ada-of-the-long-name approve token-0123456789abcdef\n', { mode: 0o600 });
  assert.doesNotMatch(await says('probe', ['--http', '0', '--token-file', file], 1, /a word after the name is no role/), /token-0123/);
});

test('a Redis that is not there: it is said at once', (t) => atAnyPace(t, async (times) => {
  const port = await freePort();
  const run = await runOnce('probe', ['--http', '0', '--store', `redis://127.0.0.1:${port}?timeout=${3000 * times}`]);
  assert.equal(run.code, 1);
  const errors = [...run.stderr.matchAll(/time=(\S+) level=error event="([^"]*)"/g)].map(([, time, event]) => [Date.parse(time), event]);
  const [first, last] = [errors.find(([, event]) => /Redis cannot be reached/.test(event)), errors.at(-1)];
  assert.ok(first, run.stderr);
  assert.match(last[1], /the store cannot be used/);
  assert.ok(last[0] - first[0] > 1500 * times, `it was said early, and tried for the rest of the time: ${run.stderr}`);
  assert.match(run.stderr, new RegExp(`connection refused.*for_ms=${3000 * times}`));
}));

test('nod: what is there instead of what was typed', async () => {
  await says('nod', ['store'], 2, /nod: store needs one more word/, /nod store list/, /nod store end/, /nod store reseal/);
  assert.doesNotMatch(await says('nod', ['store'], 2), /nod inbox ADDRESS/);
  await says('nod', ['store', 'lst'], 2, /store lst is no command; did you mean nod store list\?/);
  await says('nod', ['store', '--help'], 0, /nod store reseal/);
  await says('nod', ['stroe'], 2, /stroe is no command; did you mean nod store\?/);
  await says('nod', ['ibnox'], 2, /did you mean nod inbox\?/);
  await says('nod', ['zzzz'], 2, /zzzz is no command\n/, /nod login \[ADDRESS\]/);
  await says('nod', [], 2, /usage: nod COMMAND/);
  for (const word of ['help', '-h', '--help']) await says('nod', [word], 0, /usage: nod COMMAND/);
  await says('nod', ['store', 'reseal', '--plian'], 2, /--plian is not an option; did you mean --plain\?/);
  await says('nod', ['login', '--token-fil', 'x'], 2, /did you mean --token-file\?/);
  await says('nod', ['inbox', 'http://127.0.0.1:1', '--jsn'], 2, /did you mean --json\?/);
  await says('nod', ['inbox', 'http://127.0.0.1:1', 'lsit'], 2, /lsit is no command; did you mean list\?/);
  await says('nod', ['inbox', 'http://127.0.0.1:1', 'forget', 'x'], 2, /forget is no command; did you mean delete\?/);
});
