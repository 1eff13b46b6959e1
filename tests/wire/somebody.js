// What tests run as root or as somebody else, and where they may not.
//
//   as('65534', 'cat', file)          the command line that runs it as that user; asRoot(['mount', ...]) as root. Users are numbers: none is made
//   openFolder(t), openCopy(t, file)  a folder that everyone can enter, and a copy there. The checkout may lie in a home that is closed to others
//   possible(t, what, command)        whether this machine lets us; if not, the test says so and is skipped. In CI (CI is set) it fails instead
import { spawnSync } from 'node:child_process';
import { chmodSync, copyFileSync, mkdtempSync, rmSync } from 'node:fs';
import path from 'node:path';

process.umask(0o022); // what is made for others can be read by them, whoever runs the tests

export const asRoot = (command) => (process.getuid() === 0 ? command : ['sudo', '-n', '--preserve-env', ...command]);
export const as = (user, ...command) => asRoot(['setpriv', '--reuid', user, '--regid', user, '--clear-groups', ...command]);

// In /tmp itself: TMPDIR may be a folder of one's own.
export function openFolder(t) {
  const folder = mkdtempSync('/tmp/nod-open-');
  chmodSync(folder, 0o755);
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

export function openCopy(t, file, folder = openFolder(t), name = path.basename(file)) {
  const copy = path.join(folder, name);
  copyFileSync(file, copy);
  chmodSync(copy, 0o755);
  return copy;
}

export function possible(t, what, [program, ...args] = asRoot(['setpriv', '--reuid', '65534', '--clear-groups', 'true'])) {
  const { status, stderr, error } = spawnSync(program, args, { encoding: 'utf8', stdio: ['ignore', 'ignore', 'pipe'] });
  if (status === 0) return true;
  const why = `${what} is not possible here: ${[program, ...args].join(' ')}: ${(error?.message ?? stderr).trim()}`;
  if (process.env.CI) throw new Error(`${why}\nWhere CI is set nothing is skipped: the continuous integration has to run where this is possible.`);
  t.skip(why);
  console.log(`skipped: ${why}`);
  return false;
}
