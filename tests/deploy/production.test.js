// docs/production.md: its ten commands, with other paths, another name and without the two that only root and systemd can do. What they
// leave behind is a unit that systemd takes, and whose command serves over TLS whom the page gave a token.
import test from 'node:test';
import assert from 'node:assert/strict';
import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { copyFileSync, mkdirSync, readFileSync, statSync } from 'node:fs';
import path from 'node:path';
import { complaints, environment, freePort, program, watchStderr } from '../wire/harness.js';
import { scratchFolder } from '../wire/modern.js';
import { certificate } from '../wire/tls.js';
import { blockNamed, root } from '../docs/pages.js';
import { exchange } from './page.js';

test('the ten commands lead to a server that serves, over TLS, under a unit that systemd takes', async (t) => {
  const folder = scratchFolder(t);
  const port = await freePort();
  const { cert, key } = certificate(folder, 'page', 'DNS:localhost');
  const live = path.join(folder, 'live/localhost');
  for (const name of ['live/localhost', 'bin']) mkdirSync(path.join(folder, name), { recursive: true });
  copyFileSync(cert, path.join(live, 'fullchain.pem'));
  copyFileSync(key, path.join(live, 'privkey.pem'));

  const block = blockNamed('docs/production.md', 'ten-commands');
  const commands = exchange(block, ['s/mcp\\.example\\.org/mcp.example.org/', `s/mcp\\.example\\.org/localhost:${port}/`], ['/etc/letsencrypt/live/mcp.example.org', live],
    ['make install && ldconfig && install -m 755 my-server', `install -m 755 ${program('delete-account')}`], ['/usr/local/bin', path.join(folder, 'bin')], ['/etc/nod', path.join(folder, 'etc')],
    ['/etc/systemd/system', path.join(folder, 'units')], ['; chown nod: ', '; ls '], ['install -o nod ', 'install '],
    ['https://mcp.example.org/', `--silent --cacert ${cert} https://localhost:${port}/`]).trimEnd().split('\n');
  assert.equal(commands.length, 10);
  const [adds, ...rest] = commands;
  assert.match(adds, /^useradd --system /); // for root alone: tests/deploy/container.test.js runs it in a clean Debian
  const [starts, looks] = rest.splice(-2);
  assert.equal(starts, 'systemctl enable --now nod');
  for (const command of rest) execFileSync('sh', ['-e', '-c', command], { cwd: root, stdio: ['ignore', 'ignore', 'inherit'] });
  for (const file of ['environment', 'tokens', 'tls.key']) assert.equal(statSync(path.join(folder, 'etc', file)).mode & 0o077, 0, `${file} is for nobody else`);

  const units = path.join(folder, 'units');
  const unit = readFileSync(path.join(units, 'nod.service'), 'utf8');
  const tls = readFileSync(path.join(units, 'nod.service.d/tls.conf'), 'utf8');
  assert.match(unit, /^\[Unit\]\n[^]*\nWantedBy=multi-user.target\n$/);
  execFileSync('sed', ['-i', `s|/usr/local/bin|${folder}/bin|`, path.join(units, 'nod.service'), path.join(units, 'nod.service.d/tls.conf')]);
  const verified = spawnSync('systemd-analyze', ['verify', 'nod.service'], { env: { ...process.env, SYSTEMD_UNIT_PATH: `${units}:` }, encoding: 'utf8' });
  assert.deepEqual([verified.status, verified.stdout + verified.stderr], [0, '']);

  // What systemd would start, with the paths of this test.
  const [command, ...args] = exchange(tls.match(/^ExecStart=.+$/gm).at(-1).slice('ExecStart='.length), ['/usr/local/bin', path.join(folder, 'bin')],
    ['/etc/nod', path.join(folder, 'etc')], ['/var/lib/nod', folder], ['0.0.0.0:443', `127.0.0.1:${port}`]).split(' ');
  const [, secret] = /^MCP_ELICITATION_SECRET=(\w{64})\n$/.exec(readFileSync(path.join(folder, 'etc/environment'), 'utf8'));
  const child = spawn(command, args, { env: environment({ MCP_ELICITATION_SECRET: secret }), stdio: ['ignore', 'inherit', 'pipe'] });
  const server = watchStderr('my-server', child.stderr).follow(child);
  t.after(() => server.stop());
  await server.lines.next((line) => /listening/.test(line), 'it listens');
  assert.deepEqual(complaints(server.stderr), []);
  assert.equal(execFileSync('sh', ['-e', '-c', looks], { encoding: 'utf8' }), '{"status":"ready","store":"sqlite"}');
  const [token] = readFileSync(path.join(folder, 'etc/tokens'), 'utf8').split(' ');
  const me = execFileSync('curl', ['--silent', '--fail', '--cacert', cert, '-H', `Authorization: Bearer ${token}`, `https://localhost:${port}/api/me`], { encoding: 'utf8' });
  assert.equal(JSON.parse(me).principal ?? JSON.parse(me).name, 'alice');
});
