// The container recipe of docs/deploy.md, step by step, without a container engine: a stage is a folder, RUN is a shell
// in it, COPY copies, and in the end its ENTRYPOINT is process 1 of a namespace of its own, and a client is served.
//
// With NOD_SOAK=1 (`make soak`) every step is done in a clean Debian 12, made by debootstrap and kept in build/. That
// takes minutes and a network. Otherwise (`make test`) the second stage alone is done, against what this machine has:
// the root then holds the files of the packages that the recipe names, and what `meson install` puts into place. So a
// library that the recipe forgets is missing there, too. It takes root (or sudo), as scripts/setup does, and namespaces: where there are
// none (in a container, in a chroot) it says so and is skipped, but in CI.
import test from 'node:test';
import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { chmodSync, existsSync, lstatSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { environment, freePort, watchStderr, within, PATIENCE_MS } from '../wire/harness.js';
import { ADA, Modern, accepted, retryOf } from '../wire/modern.js';
import { asRoot as commandOfRoot, openFolder, possible } from '../wire/somebody.js';
import { blockOf, exchange } from './page.js';

const FULL = Boolean(process.env.NOD_SOAK);
const SOURCE = process.env.NOD_SOURCE_DIR;
const BUILD = process.env.NOD_BIN_DIR;
const LONG_MS = 30 * 60 * 1000; // bounds a step; the longest (building nod) takes minutes

// --- the recipe ---

function stagesOf(recipe) {
  const lines = recipe.replaceAll(/\\\n/g, '').split('\n').filter((line) => line.trim());
  const stages = [];
  for (const line of lines) {
    const [, word, rest] = /^([A-Z]+) (.+)$/.exec(line);
    if (word === 'FROM') stages.push({ image: rest.split(' ')[0], steps: [] });
    else stages.at(-1).steps.push({ word, rest });
  }
  return stages;
}

const [BUILDER, RUNTIME] = stagesOf(blockOf('In a container', 'dockerfile'));

// --- roots ---

function asRoot(command, args, options = {}) {
  const [name, ...rest] = commandOfRoot([command, ...args]);
  return execFileSync(name, rest, { stdio: ['ignore', 'pipe', 'pipe'], timeout: LONG_MS, maxBuffer: 1 << 28, ...options });
}

// In namespaces of its own, so that nothing is left mounted; what is run is the first process there.
const inside = (root, run) => ['unshare', '--mount', '--pid', '--fork', '--kill-child', 'sh', '-c',
  `mount -t proc proc ${root}/proc && ${run}`];

function inRoot(root, command) {
  const [program, ...args] = inside(root, `exec chroot ${root} sh -e -c "$0"`);
  try {
    asRoot(program, [...args, command], { env: { PATH: process.env.PATH, DEBIAN_FRONTEND: 'noninteractive', HOME: '/root' } });
  } catch (error) {
    throw new Error(`${command}\n${error.stdout}${error.stderr}`);
  }
}

function scratchRoot(t) {
  const folder = mkdtempSync(path.join(tmpdir(), 'nod-root-'));
  chmodSync(folder, 0o755); // it is / for whoever runs in it
  t.after(() => asRoot('rm', ['-rf', '--one-file-system', folder]));
  return folder;
}

// A clean Debian 12, made once.
function cleanDebian(root) {
  const kept = path.join(SOURCE, 'build', `debian-12-${process.arch}.tar`);
  if (!existsSync(kept)) {
    const made = mkdtempSync(path.join(tmpdir(), 'nod-debian-'));
    try {
      asRoot('debootstrap', ['--variant=minbase', 'bookworm', made]);
      asRoot('tar', ['-C', made, '-cf', `${kept}.part`, '.']);
      asRoot('mv', [`${kept}.part`, kept]);
    } finally {
      asRoot('rm', ['-rf', '--one-file-system', made]);
    }
  }
  asRoot('tar', ['-C', root, '-xf', kept]);
  asRoot('chmod', ['755', root]); // the archive has the mode of the folder in which it was made
  asRoot('cp', ['/etc/resolv.conf', path.join(root, 'etc/resolv.conf')]);
}

// COPY [--from=build] FROM TO: a folder's content goes into the folder TO, as container engines do it.
function copy(from, to) {
  asRoot('mkdir', ['-p', path.dirname(to)]);
  if (lstatSync(from).isDirectory()) {
    asRoot('mkdir', ['-p', to]);
    asRoot('cp', ['-a', `${from}/.`, to]);
  } else asRoot('cp', ['-a', from, to]);
}

// --- stages ---

// In the clean Debian: everything as it stands.
function build(t, context) {
  const root = scratchRoot(t);
  cleanDebian(root);
  for (const { word, rest } of BUILDER.steps) {
    if (word === 'RUN') inRoot(root, rest);
    else if (word === 'COPY') copy(path.join(context, rest.split(' ')[0]), path.join(root, rest.split(' ')[1]));
    else assert.fail(`${word} in the first stage`);
  }
  return root;
}

// The sources as a checkout has them, and an example in the place of the reader's own server.
function contextFolder(t) {
  const folder = mkdtempSync(path.join(tmpdir(), 'nod-context-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  mkdirSync(path.join(folder, 'nod'));
  execFileSync('sh', ['-e', '-c', 'git ls-files -z | tar --null -T - -cf - | tar -C "$0" -xf -', path.join(folder, 'nod')], { cwd: SOURCE });
  execFileSync('cp', [path.join(SOURCE, 'examples/delete-account.c'), path.join(folder, 'server.c')]);
  return folder;
}

// On this machine: what the first stage leaves in /usr/local, from the build that is tested.
function alreadyBuilt(t) {
  const root = scratchRoot(t);
  execFileSync('meson', ['install', '-C', BUILD, '--no-rebuild', '--quiet', '--destdir', root], { stdio: 'pipe' });
  execFileSync('install', ['-D', path.join(BUILD, 'examples/delete-account'), path.join(root, 'usr/local/bin/my-server')]);
  return root;
}

// A package and what it depends on, as apt would install it; of alternatives, what is installed here.
function withDependencies(packages) {
  const all = new Set();
  for (const waiting = [...packages]; waiting.length > 0; ) {
    const name = waiting.pop();
    if (all.has(name)) continue;
    let depends;
    try {
      depends = execFileSync('dpkg-query', ['-W', '-f', '${Pre-Depends},${Depends}', name], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] });
    } catch (error) {
      if (packages.includes(name)) throw error;
      continue; // an alternative that was not taken, or a virtual package
    }
    all.add(name);
    waiting.push(...depends.split(/[,|]/).map((text) => text.trim().split(/[ :]/)[0]).filter((text) => text.startsWith('lib') || text.startsWith('zlib')));
  }
  return [...all];
}

// The shared libraries of these packages and of what they depend on, as they are installed here.
function librariesOf(root, packages) {
  const files = withDependencies(packages).flatMap((name) => execFileSync('dpkg', ['-L', name], { encoding: 'utf8' }).split('\n'))
    .filter((file) => /\/lib[^/]*\/(?:[^/]+\/)?[^/]+\.so(\.\d+)*$/.test(file) && !/\/gconv\//.test(file) && existsSync(file));
  asRoot('sh', ['-c', 'tar -C / -cf - "$@" | tar -C "$0" -xf - --keep-directory-symlink', root, ...files.map((file) => file.slice(1))]);
}

// What every Debian has, and what this build needs for its sanitizers.
const ALWAYS = ['libc6', 'libgcc-s1', 'zlib1g', ...(/libasan/.test(execFileSync('ldd', [path.join(BUILD, 'examples/delete-account')], { encoding: 'utf8' }))
  ? ['libasan8', 'libubsan1', 'libstdc++6'] : [])];

// The steps of the second stage by the means of this machine.
function runHere(root, command) {
  const packages = /apt-get install -y --no-install-recommends ([^&]+)/.exec(command);
  if (packages) return librariesOf(root, [...ALWAYS, ...packages[1].trim().split(/ +/)]);
  const [ldconfig, useradd] = command.split(' && ');
  assert.equal(ldconfig, 'ldconfig');
  asRoot('ldconfig', ['-r', root]);
  const [name, ...args] = useradd.split(' ');
  assert.equal(name, 'useradd');
  asRoot('useradd', ['--prefix', root, ...args]);
}

// A root with nothing but the folders that an image has.
function bareRoot(root) {
  asRoot('mkdir', ['-p', ...['etc/ld.so.conf.d', 'proc', 'tmp', 'run', 'usr/lib', 'usr/bin', 'var/lib'].map((folder) => path.join(root, folder))]);
  for (const name of ['lib', ...(existsSync('/lib64') ? ['lib64'] : [])]) {
    asRoot('mkdir', ['-p', path.join(root, 'usr', name)]);
    asRoot('ln', ['-s', `usr/${name}`, path.join(root, name)]);
  }
  asRoot('touch', ['passwd', 'group', 'shadow', 'gshadow'].map((file) => path.join(root, 'etc', file)));
  asRoot('sh', ['-c', 'cp /etc/ld.so.conf "$0/etc/" && cp /etc/ld.so.conf.d/*.conf "$0/etc/ld.so.conf.d/"', root]);
}

// --- the image ---

function image(t) {
  const built = FULL ? build(t, contextFolder(t)) : alreadyBuilt(t);
  const root = scratchRoot(t);
  if (FULL) cleanDebian(root);
  else bareRoot(root);
  const made = { root, built };
  for (const { word, rest } of RUNTIME.steps) {
    const [from, source, to] = rest.split(' ');
    if (word === 'RUN') (FULL ? inRoot : runHere)(root, rest);
    else if (word === 'COPY') copy(path.join(built, source), path.join(root, to), assert.equal(from, '--from=build'));
    else made[word.toLowerCase()] = rest;
  }
  return made;
}

// Starts it as an engine would: the entry point as process 1, as its user.
async function start(t, { root, user, entrypoint, cmd }, port) {
  const command = [...JSON.parse(entrypoint), ...JSON.parse(cmd)].map((word) => word.replace('0.0.0.0:8080', `0.0.0.0:${port}`));
  assert.ok(command.includes(`0.0.0.0:${port}`));
  const args = inside(root, `exec chroot --userspec=${user} ${root} "$0" "$@"`);
  const env = environment({ PATH: '/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin', MCP_ELICITATION_SECRET: 'a-secret-for-the-test-of-the-container-0123' });
  const [program, ...rest] = commandOfRoot([...args, ...command]);
  const child = spawn(program, rest, { env, stdio: ['ignore', 'inherit', 'pipe'] });
  const server = watchStderr('my-server', child.stderr).follow(child);
  t.after(() => child.exitCode ?? child.kill('SIGKILL'));
  await within(PATIENCE_MS, 'it listens', Promise.race([server.lines.next((line) => /listening/.test(line), 'it listens'),
    server.ended.then((end) => assert.fail(`${JSON.stringify(end)}\n${server.stderr}`))]));
  // Process 1 of the namespace is the child of unshare; who sends it a signal from outside is the engine.
  server.end = async () => {
    const pid = readFileSync(`/proc/${child.pid}/task/${child.pid}/children`, 'utf8').trim();
    assert.match(pid, /^\d+$/);
    asRoot('kill', ['-TERM', pid]);
    return within(PATIENCE_MS, 'it ends after SIGTERM', server.ended);
  };
  return server;
}

test(`the recipe ${FULL ? 'in a clean Debian' : 'from its second stage'} makes a server that asks, is stopped as process 1, and goes on`, async (t) => {
  const folder = openFolder(t);
  mkdirSync(path.join(folder, 'proc'));
  if (!possible(t, 'a container', commandOfRoot(inside(folder, 'true')))) return;
  const made = image(t);
  assert.deepEqual([made.user, made.volume, made.expose], ['nod', '/var/lib/nod', '8080']);
  writeFileSync(path.join(tmpdir(), `nod-tokens-${process.pid}`), `${ADA} ada ask answer\n`);
  asRoot('mkdir', ['-p', path.join(made.root, 'run/secrets')]);
  asRoot('mv', [path.join(tmpdir(), `nod-tokens-${process.pid}`), path.join(made.root, 'run/secrets/tokens')]);

  const port = await freePort();
  let server = await start(t, made, port);
  const modern = new Modern(`http://127.0.0.1:${port}/mcp`, { token: ADA });
  assert.equal((await fetch(`http://127.0.0.1:${port}/readyz`)).status, 200);
  assert.equal((await fetch(`http://127.0.0.1:${port}/login`)).status, 200, 'it has its inbox, and so its pages');
  const asked = await modern.asked('delete_account', { userId: 'ada' });
  assert.deepEqual(await server.end(), { code: 0, signal: null }, server.stderr);
  server = await start(t, made, port);
  assert.equal(await modern.ended('delete_account', { userId: 'ada' }, retryOf(asked, { '#1': accepted({ confirmed: true }) })), 'Deleted ada.');
  assert.deepEqual(await server.end(), { code: 0, signal: null }, server.stderr);

  if (FULL) {
    // The commands for systemd, too, as root in a clean Debian.
    inRoot(made.built, 'apt-get install -y --no-install-recommends openssl');
    inRoot(made.built, exchange(blockOf('One server under systemd', 'sh'), ['$(openssl rand -hex 24)', ADA]));
    inRoot(made.built, `grep -q '^${ADA} alice admin$' /etc/nod/tokens; test "$(stat -c '%U %a' /etc/nod/tokens)" = 'nod 600'; test "$(stat -c '%U %a' /etc/nod/environment)" = 'root 600'`);
  }
});
