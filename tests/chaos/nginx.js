// nginx in front of the nodes, with the very configuration that docs/deploy.md gives: only its addresses are exchanged.
import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { freePort, startProgram } from './house.js';

const page = readFileSync(new URL('../../docs/deploy.md', import.meta.url), 'utf8');

// The first block of the page that is nginx's.
export function documented() {
  const block = /```nginx\n([^]*?)```/.exec(page)?.[1];
  assert.ok(block, 'docs/deploy.md has a configuration of nginx');
  return block;
}

function exchange(text, from, to) {
  assert.equal(text.split(from).length, 2, `docs/deploy.md names ${from} once`);
  return text.replace(from, to);
}

export async function startNginx(t, ports) {
  const folder = mkdtempSync(path.join(tmpdir(), 'nod-nginx-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  mkdirSync(path.join(folder, 'temp'));
  const listen = await freePort();
  let site = exchange(documented(), 'listen 8080;', `listen 127.0.0.1:${listen};`);
  ports.forEach((port, i) => (site = exchange(site, `127.0.0.1:${8081 + i}`, `127.0.0.1:${port}`)));
  // Around it: what lets nginx run from a folder, and a header by which the test sees who has answered.
  const temp = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map((name) => `${name}_temp_path ${folder}/temp/${name};`);
  writeFileSync(path.join(folder, 'nginx.conf'), `
    ${process.getuid() === 0 ? 'user root;' : ''} daemon off; master_process off; pid ${folder}/pid; error_log stderr warn;
    events { worker_connections 4096; }
    http { access_log off; ${temp.join(' ')} add_header X-Served-By $upstream_addr always;
    ${site} }`);
  const url = `http://127.0.0.1:${listen}/mcp`;
  const answers = async () => {
    try {
      return (await fetch(url, { method: 'OPTIONS' })).status > 0;
    } catch {
      return false;
    }
  };
  const { said } = await startProgram(t, 'nginx', ['-p', folder, '-c', path.join(folder, 'nginx.conf'), '-e', 'stderr'], answers);
  return { url, said };
}
