// What a client's form shows of the arguments that a person is asked to allow: the table of docs/asking.md, with real clients of both
// eras, for the confirmation of a tool and for nod_approve. What is missing is always counted and named.
import test from 'node:test';
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { connect, startHttp, textOf } from './harness.js';
import { connectModern } from './modern.js';
import { Api } from './inbox.js';

const clients = { 'v1, 2025': connect, 'v2, 2026': connectModern };
const FILE = '/etc/hosts';
const x = (times, text = 'x') => text.repeat(times);
const nest = (depth, inside) => (depth ? { in: nest(depth - 1, inside) } : inside);
const many = (count) => Object.fromEntries(Array.from({ length: count }, (_, i) => [`n${i}`, i]));

// What the client sends, by the first column of the table: a value, or its text where a client would write it in another way.
const cases = {
  'short and plain': { file: FILE, force: true },
  'blanks between the parts': `{ "file"${x(3000, ' ')}: "${FILE}" ,${x(3000, ' ')} "force": true }`,
  'letters as escapes': '{"\\u0066ile":"\\u002fetc\\/hosts"}',
  'a long value first': { text: x(100_000), file: FILE },
  'a long value last': { file: FILE, text: x(100_000) },
  'two long values': { text: x(100_000), file: FILE, more: x(200_000, 'y') },
  'a long name': { [x(10_000, 'n')]: 1, file: FILE },
  'a long number': `{"n":1${x(20_000, '0')},"file":"${FILE}"}`,
  'inside each other': { a: { text: x(100_000), deep: { file: FILE } }, last: [1, x(50_000)] },
  'very deep inside each other': { a: nest(40, { text: x(100_000) }), file: FILE },
  '1,000 members': many(1000),
  '1,000 items': { file: FILE, list: Array.from({ length: 1000 }, (_, i) => `item ${i}`) },
  'what turns the direction': { file: 'a\u202excod.exe\u202c', '\u2067b': 1 },
  'what cannot be seen': { file: `a${x(600, '\u200b')}b\u{e0041}\u{e0042}\u2028\u00a0`, '\u00adc': 1 },
  'what moves a terminal': { file: '\u001b[2J\u0007\b', lines: 'one\ntwo\r\tthree' },
  'accents on one letter': { file: `e${x(1000, '\u0301')}x`, n: 'e\u0301' },
  'pictures, and other scripts': { a: '👩‍🚀 ❤️', b: 'שלום, Ελλάδα, 日本語, สวัสดี' },
  '2 MB in one value': { text: x(2_000_000), file: FILE },
  '2 MB in 19,000 values': { file: FILE, ...Object.fromEntries(Array.from({ length: 19_000 }, (_, i) => [`n${i}`, x(95)])) },
};

const PAGE = readFileSync(path.join(import.meta.dirname, '../../docs/asking.md'), 'utf8');
const rows = [...PAGE.matchAll(/^\| ([^|`]+) \| `` (.+) `` \|$/gm)].map(([, what, shown]) => [what, shown]);
const escaped = (text) => text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
const like = (shown) => new RegExp(`^${shown.split('...').map(escaped).join('.*')}$`, 'u');

// The arguments are on as many lines as they have members, or on one; they are the same.
const joined = (drawn) => drawn.replace(/\n */g, '').replaceAll('": ', '":').replaceAll('bytes): ', 'bytes):');
const ELSEWHERE = 'Whoever made the call has all of them, and so has the inbox if this question is there.';

function parts(message) {
  const [, drawn, count, where] = /^[^\n]+\n\n(?:Arguments: )?([^]*?)(?:\n\nNot shown: ([\d,]+) bytes? of the arguments\. ([^]*))?$/.exec(message);
  return { drawn: joined(drawn), count: Number((count ?? '0').replaceAll(',', '')), where };
}
const counted = (drawn) => [...drawn.replace(/"(?:[^"\\]|\\.)*"/g, '""').matchAll(/([\d,]+)(?: more)? bytes?\)/g)].reduce((sum, [, n]) => sum + Number(n.replaceAll(',', '')), 0);

// Sends the arguments as they stand in the table, whatever the client would make of them.
const RAW = { raw: '@@' };
function sending(t) {
  const plain = globalThis.fetch;
  t.after(() => (globalThis.fetch = plain));
  const next = {};
  globalThis.fetch = (url, options = {}) => plain(url, typeof options.body === 'string' && next.text ? { ...options, body: options.body.replace(JSON.stringify(RAW), () => next.text) } : options);
  return next;
}

test('the table has every case, and there is no case beside it', () => {
  assert.deepEqual(rows.map(([what]) => what), Object.keys(cases));
});

for (const [name, open] of Object.entries(clients))
  for (const tool of ['gated', 'confirmed', 'approve'])
    test(`${name}, ${tool}: each value is cut, what is missing is counted, and nothing hides`, async (t) => {
      const next = sending(t);
      const session = await open(t, 'http', 'consent-server', {});
      for (const [what, shown] of rows) {
        next.text = typeof cases[what] === 'string' ? cases[what] : JSON.stringify(cases[what]);
        const call = session.text(tool, RAW);
        const question = await session.question();
        question.decline();
        await call;
        const { message } = question.params;
        const { drawn, count, where } = parts(message);
        assert.match(drawn, like(shown), what);
        assert.ok(message.length < 16_500, what);
        assert.equal(count, counted(drawn), `${what}: the sum of what is missing`);
        assert.equal(where, count ? ELSEWHERE : undefined, what);
        assert.doesNotMatch(message, /[\0-\x09\x0b-\x1f\x7f-\xa0\u061c\u200b\u200e\u200f\u2028-\u202e\u2066-\u2069]|\p{M}{5}/u, what);
      }
    });

for (const [name, open] of Object.entries(clients))
  test(`${name}: where the question is in the inbox, too, the message says where`, async (t) => {
    const server = await startHttp(t, 'consent-server', { args: ['--surfaces', 'client,inbox'] });
    const session = await open(t, 'http', 'consent-server', { server });
    for (const tool of ['gated', 'approve']) {
      const call = session.text(tool, cases['a long value first']);
      const question = await session.question();
      const [, link] = /^Whoever[^]* It is, at (http:\S+\/ask\/[\w-]+) \.$/.exec(parts(question.params.message).where);
      assert.ok(link.startsWith(new URL(server.url).origin));
      question.decline();
      await call;
    }
  });

test('a pending result has as much of the question as fits, and counts the rest', async (t) => {
  const session = await connect(t, 'http', 'consent-server', { capabilities: {}, args: ['--soft-deadline', '1s'] });
  const result = await session.call('gated', cases['1,000 items']);
  assert.ok(result.structuredContent.pending);
  assert.match(textOf(result), /"file":"\/etc\/hosts"/);
  assert.match(result.structuredContent.waitingFor[0], /^Allow gated\?\n\nArguments: \{"file":"\/etc\/hosts",[^]*(more bytes\)|if this question is there\.)$/);
});
