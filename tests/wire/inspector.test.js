// The MCP Inspector, in the version that scripts/inspector pins: the sessions of docs/clients.md, command by command.
import test from 'node:test';
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { blockNamed, root } from '../docs/pages.js';
import { startHttp, withoutInbox } from './harness.js';
import { scratchFolder } from './modern.js';

withoutInbox();

const INSTALL_MS = 240000; // the first time it is installed

// Runs lines of the page in a checkout, for the server at `url`: what it keeps is of this test alone. Resolves to { code, stdout, stderr }.
function shell(t, url, home = scratchFolder(t)) {
  return (command) => new Promise((resolve) => {
    execFile('sh', ['-c', command.replaceAll('http://127.0.0.1:8080/mcp', url)], { cwd: root, timeout: INSTALL_MS,
      env: { PATH: process.env.PATH, HOME: process.env.HOME, NOD_INSPECTOR_HOME: home } }, (error, stdout, stderr) =>
      resolve({ code: error ? error.code : 0, stdout, stderr }));
  });
}

const linesOf = (name) => blockNamed('docs/clients.md', name).trim().split('\n');

const textIn = (stdout) => JSON.parse(stdout).content.map(({ text }) => text).join('\n');

for (const era of ['legacy', 'modern'])
  test(`--cli, ${era}: lists and calls, and a tool that asks is told that nobody can be asked`, async (t) => {
    const { url } = await startHttp(t, 'delete-account');
    const run = shell(t, url);
    const [list, call, asks] = linesOf('inspector-cli').map((line) => () => run(`${line} --protocol-era ${era}`));
    const listed = await list();
    assert.equal(listed.code, 0, listed.stderr);
    assert.deepEqual(JSON.parse(listed.stdout).tools.map(({ name }) => name), ['list_accounts', 'delete_account']);
    assert.match(textIn((await call()).stdout), /ada: Ada Lovelace/);
    const refused = await asks();
    assert.notEqual(refused.code, 0);
    assert.match(refused.stdout + refused.stderr, /does not support elicitation in form mode/);
  });

for (const era of ['legacy', 'modern'])
  test(`mcpdo, ${era}: is asked, answers, and gets the result`, async (t) => {
    const { url } = await startHttp(t, 'delete-account');
    const home = mkdtempSync(path.join(tmpdir(), 'nod-wire-'));
    const run = shell(t, url, home);
    const [connect, call, respond, stop] = linesOf('inspector-mcpdo');
    t.after(async () => {
      assert.equal((await run(stop)).code, 0, 'its daemon is stopped'); // while its socket is there
      rmSync(home, { recursive: true, force: true });
    });
    const connected = await run(`${connect} --era ${era}`);
    assert.equal(connected.code, 0, connected.stdout + connected.stderr);
    const asked = await run(call);
    assert.equal(asked.code, 0, asked.stdout + asked.stderr);
    const { elicitationId, message, mode } = JSON.parse(asked.stdout).elicitationPending;
    assert.deepEqual([message, mode], ['Permanently delete account ada? This cannot be undone.', 'form']);
    const done = await run(`${respond.replace('ID', elicitationId)} --format json`);
    assert.equal(done.code, 0, done.stdout + done.stderr);
    assert.equal(textIn(done.stdout), 'Deleted ada. Reason: moved away');
  });
