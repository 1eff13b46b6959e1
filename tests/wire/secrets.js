// What the tests of secrets share: a planted value, people who give it on the page, everything in which it is looked for, and
// a core dump of a server that runs.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { closeSync, openSync, readFileSync, readSync, rmSync } from 'node:fs';
import net from 'node:net';
import path from 'node:path';
import { promisify } from 'node:util';
import { connect, within, PATIENCE_MS } from './harness.js';
import { connectModern, scratchFolder } from './modern.js';
import { Visitor as Somebody } from './visitor.js';
import { token } from './inbox.js';

export const SECRET = { MCP_ELICITATION_SECRET: 'a-secret-of-the-tests-of-secrets-long-enough' };
export const URL_MODE = { elicitation: { url: {} } };

// Nothing else looks like it.
export const plant = () => `planted-${randomBytes(24).toString('hex')}`;

export function checksum(text) {
  let sum = 2166136261;
  for (const byte of Buffer.from(text)) sum = Math.imul(sum ^ byte, 16777619) >>> 0;
  return sum.toString(16).padStart(8, '0');
}
export const used = (value) => `${Buffer.byteLength(value)} bytes, ${checksum(value)}`;

// As it is, as base64 at each of the three places it may have in it, as hex, as UTF-16, and in a URL.
function disguises(value) {
  const bytes = Buffer.from(value);
  const base64 = [0, 1, 2].map((shift) => {
    const text = Buffer.concat([Buffer.alloc(shift), bytes]).toString('base64').replace(/=+$/, '');
    return text.slice(shift ? 4 : 0, -4); // only what its neighbours do not change
  });
  return [bytes, ...base64.flatMap((text) => [Buffer.from(text), Buffer.from(text.replace(/\+/g, '-').replace(/\//g, '_'))]),
    Buffer.from(bytes.toString('hex')), Buffer.from(value, 'utf16le')];
}

// In which of these things, [{ name, bytes }], is it found, in whatever form?
export function whereIs(value, things) {
  const forms = disguises(value);
  return things.filter(({ bytes }) => {
    const all = Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes);
    return forms.some((form) => all.includes(form));
  }).map(({ name }) => name);
}

// A core dump of the server as it is now, made by gdb. Under AddressSanitizer that would be terabytes of shadows: then it is
// every writable mapping that a core dump would have (those of hidden memory say dd), read from the process.
const CORE_MOST = 2 ** 32; // bytes of a mapping; only shadows are larger
const isSanitized = (server) => /asan|ubsan/i.test(readFileSync(`/proc/${server.pid}/maps`, 'latin1'));

function mappingsOf(server) {
  const found = [];
  for (const line of readFileSync(`/proc/${server.pid}/smaps`, 'latin1').split('\n')) {
    const [, from, to, flags] = /^([0-9a-f]+)-([0-9a-f]+) (\S+) /.exec(line) ?? [];
    if (from) found.push({ from: parseInt(from, 16), to: parseInt(to, 16), writable: flags.startsWith('rw'), name: line });
    else if (/^Rss: +[1-9]/.test(line)) found.at(-1).there = true;
    else if (/^VmFlags:.* dd\b/.test(line)) found.at(-1).excluded = true;
  }
  return found.filter(({ from, to, writable, there, excluded }) => writable && there && !excluded && to - from < CORE_MOST);
}

function memoryOf(server) {
  const memory = openSync(`/proc/${server.pid}/mem`, 'r');
  const pieces = [];
  for (const { from, to } of mappingsOf(server)) {
    const bytes = Buffer.alloc(to - from);
    pieces.push(bytes.subarray(0, readSync(memory, bytes, 0, bytes.length, from)));
  }
  closeSync(memory);
  return Buffer.concat(pieces);
}

export async function coreOf(t, server) {
  if (isSanitized(server)) return memoryOf(server);
  const file = path.join(scratchFolder(t), 'core');
  await within(PATIENCE_MS, 'a core dump', promisify(execFile)('gcore', ['-o', file, `${server.pid}`]));
  const bytes = readFileSync(`${file}.${server.pid}`);
  rmSync(`${file}.${server.pid}`);
  assert.ok(bytes.subarray(0, 4).equals(Buffer.from('\x7fELF', 'latin1')), 'it is a core dump');
  return bytes;
}

// Everything that goes over the wire between a client and the server, both ways: its answers, its event streams.
export async function recorded(t, server) {
  const pieces = [];
  const { port } = new URL(server.url);
  const proxy = net.createServer((near) => {
    const far = net.connect(port, '127.0.0.1');
    for (const [from, to] of [[near, far], [far, near]]) {
      from.on('data', (data) => pieces.push(data));
      from.on('error', () => to.destroy());
      from.on('close', () => to.destroy());
      from.pipe(to);
    }
  });
  await new Promise((resolve) => proxy.listen(0, '127.0.0.1', resolve));
  t.after(() => proxy.close());
  const url = new URL(server.url);
  url.port = proxy.address().port;
  return { server: { ...server, url: url.href }, bytes: () => Buffer.concat(pieces) };
}

// The two generations of the official client, each in its era, of somebody who can be sent to a page.
export const clients = {
  'v1, 2025': (t, server, who = 'ada', capabilities = URL_MODE) => connect(t, 'http', 'secrets', { server, token: token(who), capabilities }),
  'v2, 2026': (t, server, who = 'ada', capabilities = URL_MODE) => connectModern(t, 'http', 'secrets', { server, token: token(who), capabilities }),
};

// A browser of somebody who has signed in, without a screen.
export class Visitor extends Somebody {
  static async of(server, who = 'ada') {
    return new Visitor(server.url).signIn(token(who));
  }

  // At whichever node this browser is.
  page(link) {
    return super.page(new URL(link).pathname);
  }

  async give(link, secret, action = 'accept') {
    await this.page(link);
    return this.send(link, secret, action);
  }

  // The page is open.
  send(link, secret, action = 'accept') {
    return this.submit(new URL(link).pathname, { secret }, { action });
  }
}
