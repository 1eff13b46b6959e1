// A folder that looks like a fresh checkout of this repository, for commands of the documentation: the same files, the
// programs of this build as build/release, a home of its own with the library installed, and ports that nobody else has.
//
//   const checkout = await openCheckout(t)
//   await checkout.run('scripts/setup run')          its output; what it exports is there in the next one
//   await checkout.serve('make run')                 runs until the next one, or until the test is over
import { execFileSync, spawn } from 'node:child_process';
import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { freePort } from '../chaos/house.js';
import { environment, watchStderr, within, PATIENCE_MS } from '../wire/harness.js';
import { root } from './pages.js';

const binaries = process.env.NOD_BIN_DIR;

const options = JSON.parse(readFileSync(path.join(binaries, 'meson-info/intro-buildoptions.json'), 'utf8'));
const sanitizers = options.find(({ name }) => name === 'b_sanitize').value;
const sanitized = sanitizers === 'none' ? '' : `-fsanitize=${sanitizers}`;

// The library as `make install PREFIX="$HOME/.local"` puts it there. (scripts/test installs the release for real.)
function installLibrary(prefix) {
  for (const folder of ['lib/pkgconfig', 'include', 'bin']) mkdirSync(path.join(prefix, folder), { recursive: true });
  for (const name of readdirSync(binaries).filter((file) => /^libnod\.(a|so[.\d]*)$/.test(file)))
    symlinkSync(path.join(binaries, name), path.join(prefix, 'lib', name));
  symlinkSync(path.join(root, 'include/nod'), path.join(prefix, 'include/nod'));
  const described = readFileSync(path.join(binaries, 'meson-private/nod.pc'), 'utf8');
  writeFileSync(path.join(prefix, 'lib/pkgconfig/nod.pc'),
    described.replace(/^prefix=.*/m, `prefix=${prefix}`).replace(/^libdir=.*/m, 'libdir=${prefix}/lib'));
}

// A compiler of the same kind as the library's, which takes no warning; and what is installed. Examples are not: a page says where they are.
function fillBin(bin) {
  mkdirSync(bin);
  for (const [name, compiler] of [['cc', 'gcc'], ['c++', 'g++']])
    writeFileSync(path.join(bin, name), `#!/bin/sh\nexec ${compiler} -Wall -Wextra -Werror ${sanitized} "$@"\n`, { mode: 0o755 });
  symlinkSync(path.join(binaries, 'src/cli/nod'), path.join(bin, 'nod'));
  // Some python3 is a script that looks into the home of whoever calls it: this is what it leads to.
  symlinkSync(execFileSync('python3', ['-c', 'import sys; print(sys.executable)'], { encoding: 'utf8' }).trim(), path.join(bin, 'python3'));
}

class Checkout {
  constructor(folder, port, second) {
    this.folder = folder;
    this.port = port;
    this.second = second;
    this.exported = '';
    this.env = environment({
      HOME: path.join(folder, 'home'), PATH: `${path.join(folder, 'bin')}:${process.env.PATH}`, TMPDIR: folder, LC_ALL: 'C.UTF-8', XDG_RUNTIME_DIR: path.join(folder, 'home/run'),
      NOD_URL: `http://127.0.0.1:${port}/mcp`, ADDRESS: `127.0.0.1:${port}`, NOD_DOCS_PORT: String(port),
    });
  }

  // Pages say 8080, and 7601 for a second server; several tests may run beside each other.
  exchange = (text) => text.replaceAll('127.0.0.1:8080', `127.0.0.1:${this.port}`).replaceAll('127.0.0.1:7601', `127.0.0.1:${this.second}`);
  exchangeBack = (text) => text.replaceAll(`127.0.0.1:${this.port}`, '127.0.0.1:8080').replaceAll(this.folder, '');

  // A group of its own, as in a terminal: it is ended as a whole.
  #bash(script) {
    return spawn('bash', ['-euo', 'pipefail', '-c', `${this.exported}\n${script}`],
      { cwd: this.folder, env: this.env, stdio: ['ignore', 'pipe', 'pipe'], detached: true });
  }

  // Runs a block to its end; resolves to what it prints. `answers` are typed, when asked, at a terminal.
  async run(body, answers) {
    const typed = answers === undefined ? '' : `python3 ${path.join(root, 'tests/docs/terminal.py')} '${answers}' `;
    const child = this.#bash(`${typed}${this.exchange(body)}\nexport -p > .exported`);
    let said = '';
    let wrong = '';
    child.stdout.on('data', (data) => (said += data));
    child.stderr.on('data', (data) => (wrong += data));
    const code = await within(PATIENCE_MS, 'the block ends', new Promise((resolve) => child.once('close', resolve))).catch((error) => {
      process.kill(-child.pid, 'SIGKILL');
      throw error;
    });
    assert.equal(code, 0, `it ended with ${code}:\n${said}${wrong}`);
    this.exported = readFileSync(path.join(this.folder, '.exported'), 'utf8');
    return this.exchangeBack(said);
  }

  // Starts a block whose last command is a server, and waits until it listens. Resolves to { said() }: what it prints.
  async serve(body) {
    await this.stop();
    const child = this.#bash(this.exchange(body));
    const watched = watchStderr('the server of the block', child.stderr).follow(child);
    let said = '';
    child.stdout.on('data', (data) => (said += data));
    this.serving = watched;
    const early = watched.ended.then(() => {
      throw new Error(`it did not start:\n${watched.stderr}`);
    });
    early.catch(() => {});
    await Promise.race([watched.lines.next((line) => /listening/.test(line), 'it listens'), early]);
    return { said: () => said, stderr: () => watched.stderr };
  }

  // As Ctrl-C in its terminal. The end of its output is the end of everything it has started.
  async stop() {
    const watched = this.serving;
    if (!watched) return;
    this.serving = undefined;
    process.kill(-watched.child.pid, 'SIGINT');
    await within(PATIENCE_MS, 'the server of the block ends', watched.ended).catch((error) => {
      process.kill(-watched.child.pid, 'SIGKILL');
      throw new Error(`${error.message}\n${watched.stderr}`);
    });
    assert.doesNotMatch(watched.stderr, /Sanitizer|runtime error:/);
    assert.match(watched.stderr, /event=stopping/, 'it stopped as it should');
  }
}

export async function openCheckout(t) {
  const folder = mkdtempSync(path.join(tmpdir(), 'nod-docs-'));
  for (const name of readdirSync(root).filter((file) => !['build', '.git'].includes(file)))
    symlinkSync(path.join(root, name), path.join(folder, name));
  mkdirSync(path.join(folder, 'build'));
  writeFileSync(path.join(folder, 'build/.setup-run'), '');
  symlinkSync(binaries, path.join(folder, 'build/release'));
  mkdirSync(path.join(folder, 'home'));
  fillBin(path.join(folder, 'bin'));
  installLibrary(path.join(folder, 'home/.local'));
  const checkout = new Checkout(folder, await freePort(), await freePort());
  t.after(async () => {
    await checkout.stop();
    rmSync(folder, { recursive: true, force: true });
  });
  return checkout;
}
