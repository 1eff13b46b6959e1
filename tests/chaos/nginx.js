// nginx in front of the nodes, with the very configuration that docs/deploy.md gives: only its addresses are exchanged, and
// TLS is left out (deploy-nginx has it).
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { blockOf, exchange } from '../deploy/page.js';
import { freePort, startProgram } from './house.js';

// Runs nginx with that site from a folder of its own until the test is over; `answers` says whether it is there.
export async function runNginx(t, site, answers) {
  const folder = mkdtempSync(path.join(tmpdir(), 'nod-nginx-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  mkdirSync(path.join(folder, 'temp'));
  // Around it: what lets nginx run from a folder, and a header by which the test sees who has answered.
  const temp = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map((name) => `${name}_temp_path ${folder}/temp/${name};`);
  writeFileSync(path.join(folder, 'nginx.conf'), `
    ${process.getuid() === 0 ? 'user root;' : ''} daemon off; master_process off; pid ${folder}/pid; error_log stderr warn;
    events { worker_connections 4096; }
    http { access_log off; ${temp.join(' ')} add_header X-Served-By $upstream_addr always;
    ${site} }`);
  return startProgram(t, 'nginx', ['-p', folder, '-c', path.join(folder, 'nginx.conf'), '-e', 'stderr'], answers);
}

export async function startNginx(t, addresses) {
  const listen = await freePort();
  const site = exchange(blockOf('Several nodes on Redis, behind nginx', 'nginx'), ['listen 443 ssl;', `listen 127.0.0.1:${listen};`],
    ['ssl_certificate     /etc/nod/tls.crt;', ''], ['ssl_certificate_key /etc/nod/tls.key;', ''],
    ...addresses.map((address, i) => [`127.0.0.1:${8081 + i}`, address]));
  const url = `http://127.0.0.1:${listen}/mcp`;
  const answers = async () => {
    try {
      return (await fetch(url, { method: 'OPTIONS' })).status > 0;
    } catch {
      return false;
    }
  };
  const { said } = await runNginx(t, site, answers);
  return { url, said };
}
