// The durable stores, one row each, as the tests of encryption see them: where they are, what is on the disk, and how
// somebody who can write there would tamper with it.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { DatabaseSync } from 'node:sqlite';
import { readFileSync, readdirSync, statSync } from 'node:fs';
import net from 'node:net';
import path from 'node:path';
import { environment, everyEnd, freePort, pause, watchStderr, within, PATIENCE_MS } from './harness.js';
import { scratchFolder } from './modern.js';

const filesBelow = (folder) =>
  readdirSync(folder, { recursive: true }).map((name) => path.join(folder, name)).filter((file) => statSync(file).isFile());

// Everything that lies on the disk: for SQLite the file, its log and the index of that, the lock; for Redis its dump and
// its append-only files.
const bytesBelow = (folder) =>
  filesBelow(folder).map((file) => ({ name: path.relative(folder, file), bytes: readFileSync(file) }));

class SqliteFile {
  constructor(t) {
    this.folder = scratchFolder(t);
    this.file = path.join(this.folder, 'store.db');
    this.address = `sqlite:${this.file}`;
  }

  static create = async (t) => new SqliteFile(t);

  bytes() {
    return bytesBelow(this.folder);
  }

  async settle() {} // the log goes with the last connection

  #with(use) {
    const db = new DatabaseSync(this.file, { timeout: PATIENCE_MS });
    try {
      return use(db);
    } finally {
      db.close();
    }
  }

  // The records of the questions that wait.
  async questions() {
    return this.#with((db) => db.prepare('SELECT id, record FROM asks WHERE state = 0').all())
      .map(({ id, record }) => ({ id, record: Buffer.from(record) }));
  }

  // As a nod that knew no marks has left it.
  async unmark() {
    this.#with((db) => db.prepare("DELETE FROM about WHERE name = 'mark'").run());
  }

  async putQuestion({ id }, record) {
    this.#with((db) => db.prepare('UPDATE asks SET record = ? WHERE id = ?').run(record, id));
  }
}

// --- Redis ---

// Reads one reply at `at`: [value, where the next begins], or null if it is not all there.
function readReply(bytes, at) {
  const end = bytes.indexOf('\r\n', at);
  if (end < 0) return null;
  const line = bytes.toString('latin1', at + 1, end);
  switch (String.fromCharCode(bytes[at])) {
    case '$': {
      const length = Number(line);
      if (length < 0) return [null, end + 2];
      return bytes.length < end + length + 4 ? null : [bytes.subarray(end + 2, end + 2 + length), end + length + 4];
    }
    case '*': {
      const items = [];
      let next = end + 2;
      for (let i = 0; i < Number(line); i++) {
        const item = readReply(bytes, next);
        if (!item) return null;
        items.push(item[0]);
        next = item[1];
      }
      return [items, next];
    }
    case '-':
      throw new Error(line);
    default:
      return [line, end + 2];
  }
}

class RedisServer {
  static async create(t) {
    const made = new RedisServer();
    made.folder = scratchFolder(t);
    made.port = await freePort();
    made.address = `redis://127.0.0.1:${made.port}`;
    const child = spawn('redis-server', ['--bind', '127.0.0.1', '--port', `${made.port}`, '--dir', made.folder, '--appendonly', 'yes',
      '--appendfsync', 'always', '--save', '', '--daemonize', 'no'], { env: environment(), stdio: ['ignore', 'pipe', 'inherit'] });
    const ended = once(child, 'close');
    everyEnd(t).last(async () => {
      child.kill('SIGTERM');
      await within(PATIENCE_MS, 'redis-server ends', ended);
    });
    made.signal = (name) => child.kill(name); // SIGSTOP, SIGCONT
    await watchStderr('redis-server', child.stdout).lines.next((line) => /Ready to accept connections/.test(line), 'redis-server is up');
    return made;
  }

  // One command on a connection of its own; bulk replies are buffers.
  async say(...words) {
    const socket = net.connect(this.port, '127.0.0.1');
    try {
      socket.write(Buffer.concat([Buffer.from(`*${words.length}\r\n`), ...words.flatMap((word) =>
        [Buffer.from(`$${Buffer.byteLength(word)}\r\n`), Buffer.from(word), Buffer.from('\r\n')])]));
      let got = Buffer.alloc(0);
      for await (const bytes of socket) {
        got = Buffer.concat([got, bytes]);
        const reply = readReply(got, 0);
        if (reply) return reply[0];
      }
      throw new Error('redis-server hung up');
    } finally {
      socket.destroy();
    }
  }

  bytes() {
    return bytesBelow(this.folder);
  }

  // The append-only file has what was erased until it is written anew.
  async settle() {
    await this.say('BGREWRITEAOF');
    const info = async () => String(await this.say('INFO', 'persistence'));
    for (let said = await info(); !/aof_rewrite_in_progress:0/.test(said) || !/aof_rewrite_scheduled:0/.test(said); said = await info())
      await pause(10);
  }

  async questions() {
    const found = [];
    for (const key of await this.say('KEYS', '*}c:*')) {
      const fields = await this.say('HGETALL', key);
      for (let i = 0; i < fields.length; i += 2) {
        const name = String(fields[i]);
        if (/^q.{22}$/.test(name)) found.push({ id: name.slice(1), key, record: Buffer.from(fields[i + 1]) });
      }
    }
    return found;
  }

  async unmark() {
    await this.say('DEL', 'nod:{00}mark');
  }

  async putQuestion({ id, key }, record) {
    await this.say('HSET', key, `q${id}`, record);
  }
}

// One that is not shared has one server at a time, and is not re-sealed meanwhile.
export const stores = [
  { name: 'sqlite', create: SqliteFile.create, shared: false },
  { name: 'redis', create: RedisServer.create, shared: true },
];
