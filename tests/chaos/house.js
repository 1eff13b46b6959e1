// The setting of the chaos tests: servers that are killed and brought back, the Redis they share, and the folder in which
// their deeds can be counted.
//
//   const house = await openHouse(t, 'sqlite')     a folder with a store and a secret
//   const node = await house.node()                a server on it; it comes back on the same port; in a house that is opened with
//                                                  `plugin`, it is nod serve, and its tools are a plugin's
//   house.deeds('tag')                             how often the deed of that tag was done
//
// A server may die only by the SIGKILL it was given, or gives itself where a handler crashes (see tools.c), and end only when it is
// told to: a sanitizer's report, and every other way to end, fails the test.
import { spawn } from 'node:child_process';
import assert from 'node:assert/strict';
import { appendFileSync, chmodSync, copyFileSync, existsSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { PATIENCE_MS, environment, freePort, pause, watchStderr, within } from '../wire/harness.js';

export { freePort, pause };

export const SECRET = 'the-secret-that-outlives-every-process-0123456789';
const NODE_TTL_MS = '1500'; // so that nobody waits long for what a dead node has left
const CHAOS_SERVER = 'tests/chaos/chaos-server';
const CHAOS_PLUGIN = 'tests/chaos/chaos-plugin.so';

export const stores = ['sqlite', 'redis'];
export const eras = ['2025', '2026'];

// CHAOS_ONLY=2026,sqlite narrows a run down, for whoever looks for one fault.
const only = process.env.CHAOS_ONLY?.split(',') ?? [];
export const combinations = eras
  .flatMap((era) => stores.map((store) => ({ era, store })))
  .filter(({ era, store }) => only.every((word) => word === era || word === store));

// --- processes ---

// Runs a program in the foreground until the test is over; resolves when `ready` is true of what it says.
export async function startProgram(t, name, args, ready, options = {}) {
  const child = spawn(name, args, { stdio: ['ignore', 'pipe', 'pipe'], ...options });
  let said = '';
  const ended = new Promise((resolve) => child.once('close', (code, signal) => resolve({ code, signal })));
  const missing = new Promise((_, reject) => child.once('error', (error) => reject(new Error(`${name}: ${error.message}; scripts/setup installs it`))));
  child.stdout.on('data', (data) => (said += data));
  child.stderr.on('data', (data) => (said += data));
  const stop = async (signal = 'SIGTERM') => {
    child.kill(signal);
    return within(PATIENCE_MS, `${name} ends`, ended);
  };
  t.after(() => child.exitCode === null && child.signalCode === null && stop('SIGKILL'));
  const waits = (async () => {
    while (!(await ready(said))) {
      if (child.exitCode !== null) throw new Error(`${name} did not start:\n${said}`);
      await pause(20);
    }
  })();
  await within(PATIENCE_MS, `${name} is ready`, Promise.race([waits, missing]));
  return { child, stop, ended, said: () => said };
}

// --- a server ---

// An address of its own for each node. On 127.0.0.1 the port of a node that is away may be given to another server, and a client
// that comes back would find a stranger, who knows nothing of it.
const byte = (least, most) => least + Math.floor(Math.random() * (most - least + 1));
const loopback = () => `127.${byte(1, 254)}.${byte(0, 255)}.${byte(1, 254)}`;

class Node {
  #house;
  #options;

  constructor(house, options) {
    this.#house = house;
    this.#options = options;
    this.deaths = this.crashes = 0; // by others, and by a handler
    this.at = `${loopback()}:${options.port}`;
    this.log = '';
  }

  get url() {
    return `http://${this.at}/mcp`;
  }

  get pid() {
    return this.child.pid;
  }

  // `crash` names the point at which this life of the server is to end. While the server is away, another program of this
  // machine may have its port, for a connection of its own, or its Redis may be away: then it is tried again.
  async start(crash, tries = 20) {
    const { program = CHAOS_SERVER, command = [], args = [], env = {} } = this.#options;
    const child = spawn(path.join(process.env.NOD_BIN_DIR, program), [...command, '--http', this.at, '--store', this.#house.address, '--log', 'debug', ...args], {
      env: environment({ MCP_ELICITATION_SECRET: SECRET, CHAOS_DIR: this.#house.folder, CHAOS_NODE_TTL_MS: NODE_TTL_MS, ...env, ...(crash ? { NOD_CRASH_AT: crash } : {}) }),
      stdio: ['ignore', 'inherit', 'pipe'],
    });
    this.child = child;
    this.crash = crash;
    this.watched = watchStderr(program, child.stderr).follow(child);
    this.ended = this.watched.ended.then((end) => {
      this.log += `--- a life (${crash ?? 'no crash point'}) ended by ${JSON.stringify(end)}\n${this.watched.stderr}`;
      return end;
    });
    const early = this.ended.then((end) => {
      if (end.signal !== 'SIGKILL') throw new Error(`the server did not start:\n${this.log}`);
      return null; // its point was on the way
    });
    const listens = this.watched.lines.next((line) => /listening/.test(line), 'the server listens');
    listens.catch(() => {});
    try {
      await Promise.race([listens, early]);
    } catch (error) {
      if (tries === 0 || !/the address is taken|the store cannot be used" store=redis:/.test(this.watched.stderr)) throw error;
      await pause(250);
      return this.start(crash, tries - 1);
    }
    return this;
  }

  // Brings it back whenever it dies; `nextCrash` says where its next life ends. A life that a handler has ended is lived again.
  keep(nextCrash = () => undefined) {
    this.kept = (async () => {
      for (;;) {
        const end = await this.ended;
        if (this.stopping) return;
        const crashed = this.hasCrashed();
        if (crashed) this.crashes++;
        else if (!this.leaves) this.deaths++;
        if (crashed || !this.leaves) assert.deepEqual(end, { code: null, signal: 'SIGKILL' }, `the server ended by itself:\n${this.log}`);
        else assert.deepEqual(end, { code: 0, signal: null }, this.log);
        this.leaves = false;
        this.starting = (async () => {
          await this.resting;
          return this.start(crashed ? this.crash : nextCrash());
        })();
        await this.starting;
      }
    })();
    this.kept.catch((error) => (this.failure = error));
    return this;
  }

  // Whether a handler has ended this life, or that of this process.
  hasCrashed({ pid } = this.child) {
    return this.#house.crashed().includes(String(pid));
  }

  // Told to stop; resolves when it has ended, by itself and well, unless a handler crashes meanwhile.
  async leave() {
    await this.starting; // a process that is not up yet cannot be told
    const { child } = this; // there may be another when this one has ended: see keep
    this.leaves = true;
    child.kill('SIGTERM');
    const end = await within(PATIENCE_MS, 'the server ends', this.ended);
    assert.doesNotMatch(this.watched.stderr, /Sanitizer|runtime error:/);
    if (!this.hasCrashed(child)) assert.deepEqual(end, { code: 0, signal: null }, this.watched.stderr);
    return end;
  }

  // Dies, and is not brought back before `over`.
  rest(over) {
    this.resting = over;
    this.child.kill('SIGKILL');
  }

  async kill() {
    this.child.kill('SIGKILL');
    await this.ended;
  }

  // Dies, and is up again (see keep).
  async killAndReturn() {
    await this.kill();
    await this.starting;
  }

  // Its crash point may be on the way to its end.
  async diedOnTheWay(error) {
    const died = this.crash && this.child.signalCode === 'SIGKILL' && !/Sanitizer/.test(this.watched.stderr);
    if (!died) throw error;
  }

  async stop() {
    if (this.stopped) return this.stopped;
    this.stopping = true;
    return (this.stopped = (async () => {
      await this.starting?.catch(() => {}); // who is not up yet does not know SIGTERM; `kept` tells of a failure
      if (this.child.exitCode === null && this.child.signalCode === null) {
        this.child.kill('SIGCONT');
        await this.watched.stop().catch((error) => this.diedOnTheWay(error));
      }
      await this.kept;
      if (this.failure) throw this.failure;
    })());
  }
}

// --- Redis ---

// As the promise asks for it: nothing is acknowledged that is not on the disk.
export async function startRedis(t, { folder, port } = {}) {
  const dir = folder ?? mkdtempSync(path.join(tmpdir(), 'nod-redis-'));
  if (!folder) t.after(() => rmSync(dir, { recursive: true, force: true }));
  const at = port ?? (await freePort());
  const args = ['--bind', '127.0.0.1', '--port', String(at), '--dir', dir, '--appendonly', 'yes', '--appendfsync', 'always',
    '--save', '', '--maxmemory-policy', 'noeviction', '--daemonize', 'no'];
  const start = () => startProgram(t, 'redis-server', args, (said) => /Ready to accept connections/.test(said));
  const redis = { port: at, folder: dir, ...(await start()) };
  redis.again = async () => Object.assign(redis, await start());
  return redis;
}

let lastHouse = 0;

// --- the house ---

// A node as nod serve: on one machine each has a folder of its own for its socket.
function servePlugin(folder) {
  const [file, run] = [path.join(folder, 'chaos.so'), mkdtempSync(path.join(folder, 'run-'))];
  if (!existsSync(file)) copyFileSync(path.join(process.env.NOD_BIN_DIR, CHAOS_PLUGIN), file);
  chmodSync(file, 0o700);
  return { program: 'src/cli/nod', command: ['serve', '--plugin', file], env: { HOME: folder, XDG_RUNTIME_DIR: run } };
}

export async function openHouse(t, store, { redis, plugin = false } = {}) {
  const folder = mkdtempSync(path.join(tmpdir(), 'nod-chaos-'));
  t.after(() => {
    house.over = true; // whoever still calls its servers gives up
    rmSync(folder, { recursive: true, force: true });
  });
  mkdirSync(path.join(folder, 'deeds'));
  mkdirSync(path.join(folder, 'crashes'));
  const address = store === 'sqlite' ? `sqlite:${path.join(folder, 'store.db')}`
    : `redis://127.0.0.1:${redis.port}/0?prefix=h${++lastHouse}:`;
  const nodes = [];
  const linesOf = (name) => {
    const file = path.join(folder, name);
    return existsSync(file) ? readFileSync(file, 'utf8').split('\n').slice(0, -1) : [];
  };
  const house = {
    folder,
    store,
    plugin,
    address,
    nodes,
    async node(options = {}) {
      const node = new Node(house, { port: await freePort(), ...(plugin ? servePlugin(folder) : {}), ...options });
      nodes.push(node);
      t.after(() => node.stop());
      return node.start(options.crash);
    },
    deedsOf: (tag) => readdirSync(path.join(folder, 'deeds')).filter((name) => name.startsWith(`${tag}@`)).length,
    // How often a call has taken its server down.
    crashesOf: (tag) => {
      const file = path.join(folder, 'crashes', tag);
      return existsSync(file) ? statSync(file).size : 0;
    },
    again: () => linesOf('again'), // second attempts at a deed, by the names of the deeds
    crashed: () => linesOf('crashed'), // processes that a handler has ended
    deaths: () => nodes.reduce((sum, node) => sum + node.deaths, 0),
    async close() {
      await Promise.all(nodes.map((node) => node.stop()));
    },
  };
  return house;
}

// What the servers of a house said, for whoever looks into a failure; CHAOS_LOG names the file.
export function keepLog(house, what) {
  const text = house.nodes.map((node) => `${node.log}--- now\n${node.watched.stderr}`).join('\n');
  if (process.env.CHAOS_LOG) appendFileSync(process.env.CHAOS_LOG, `=== ${what}\n${text}\n`);
}

// --- what is random, and can be repeated ---

export function seeded(seed) {
  let state = seed >>> 0;
  const next = () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let x = Math.imul(state ^ (state >>> 15), state | 1);
    x = (x + Math.imul(x ^ (x >>> 7), x | 61)) ^ x;
    return ((x ^ (x >>> 14)) >>> 0) / 4294967296;
  };
  return { next, below: (n) => Math.floor(next() * n), pick: (items) => items[Math.floor(next() * items.length)] };
}

// Works through the items, so many side by side. When one has failed, no other is begun.
export async function sideBySide(most, items, work) {
  let next = 0;
  await Promise.all(Array.from({ length: most }, async () => {
    try {
      for (let i = next++; i < items.length; i = next++) await work(items[i], i);
    } catch (error) {
      next = items.length;
      throw error;
    }
  }));
}
