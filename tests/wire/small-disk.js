// A server whose file lies on a disk of one megabyte that only it can see; `fill` leaves no room on it. Nothing where that
// cannot be had. `before`: what a shell does first; "$0" is the disk, and "$@" runs the server.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { environment, program, watchStderr } from './harness.js';
import { scratchFolder } from './modern.js';
import { possible } from './somebody.js';

// What a call is made with that such a disk has no room for, even when the store's log is emptied.
export const LARGE = { padding: 'x'.repeat(600_000) };

export async function onSmallDisk(t, env, before = '') {
  const disk = path.join(scratchFolder(t), 'disk');
  mkdirSync(disk);
  const mounted = ['--user', '--map-root-user', '--mount', 'sh', '-c', `mount -t tmpfs -o size=1m none "$0" && { ${before} exec "$@"; }`, disk];
  if (!possible(t, 'a disk of its own', ['unshare', '--user', '--map-root-user', '--mount', 'sh', '-c', 'mount -t tmpfs -o size=1m none "$0"', disk])) return null;
  const child = spawn('unshare', [...mounted, program('probe'), '--http', '127.0.0.1:0', '--store', `sqlite:${disk}/nod.db`],
  { env: environment(env), stdio: ['ignore', 'inherit', 'pipe'] });
  const server = watchStderr('probe', child.stderr).follow(child);
  t.after(() => server.stop());
  const line = await server.lines.next((text) => /listening/.test(text), 'it listens');
  const filler = `/proc/${child.pid}/root${disk}/filler`;
  return {
    url: /url="?(http[^\s"]+)/.exec(line)[1],
    fill() {
      assert.throws(() => writeFileSync(filler, Buffer.alloc(2 << 20)), /ENOSPC/);
    },
    free: () => writeFileSync(filler, ''),
  };
}
