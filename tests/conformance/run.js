// Runs the official conformance suite against examples/everything, and counts its results.
//
// Both requirement sets run against the same process, one after the other: what the first leaves behind must not
// disturb the second.
//
// The suite itself decides its exit code by the scored scenarios. We are stricter: every server scenario of a
// requirement set, scored or not, must have at least one success, and no failure or warning.
import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, readdirSync, rmSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import path from 'node:path';
import yaml from 'yaml';
import { environment } from '../wire/harness.js';

const SETS = [
  { revision: '2026-07-28', scored: 37 },
  { revision: '2025-11-25', scored: 30 },
];

// Scenarios that the suite always skips; each has a test of our own instead.
const SKIPPED = {
  'tasks-status-notifications': 'tests/wire/era2026-tasks.test.js',
};

// Checks that the suite gets wrong: "scenario/check" to the line of the specification that says so.
const SUITE_IS_WRONG = {};

// Checks that give the server half a second, and take silence for a failure. A busy machine is slower than that now and
// then: if nothing else was wrong with it, the scenario is run again, at most twice.
const IN_A_HURRY = {
  'sep-2575-server-no-log-without-loglevel': /failed to yield frame/,
  'sep-2575-http-server-no-independent-requests-on-stream': /^Failed to receive/,
};
const AGAIN_MAX = 2;

const suite = path.dirname(createRequire(import.meta.url).resolve('@modelcontextprotocol/conformance/package.json'));

async function startServer() {
  const child = spawn(path.join(process.env.NOD_BIN_DIR, 'examples/everything'), ['--http', '127.0.0.1:0'], {
    env: environment(),
    stdio: ['ignore', 'inherit', 'pipe'],
  });
  let stderr = '';
  const ended = new Promise((resolve) => child.once('close', resolve));
  const url = await new Promise((resolve, reject) => {
    createInterface({ input: child.stderr }).on('line', (line) => {
      stderr += `${line}\n`;
      const found = /url="?(http[^\s"]+)/.exec(line);
      if (found) resolve(found[1]);
    });
    ended.then(() => reject(new Error(`the server did not start:\n${stderr}`)));
  });
  const stop = async () => {
    child.kill('SIGTERM');
    const code = await ended;
    if (code !== 0 || /Sanitizer|runtime error:/.test(stderr)) throw new Error(`the server ended with ${code}:\n${stderr}`);
  };
  return { url, stop };
}

function runSuite(url, folder, which) {
  const arguments_ = [path.join(suite, 'dist/index.js'), 'server', '--url', url, '-o', folder, ...which];
  const child = spawn(process.execPath, arguments_, { stdio: ['ignore', 'pipe', 'pipe'] });
  let output = '';
  child.stdout.on('data', (data) => (output += data));
  child.stderr.on('data', (data) => (output += data));
  return new Promise((resolve) => child.once('close', (code) => resolve({ code, output })));
}

// The checks of a scenario, as the suite has written them down.
function folderOf(folder, scenario) {
  return readdirSync(folder).find((name) => name.replace(/-\d{4}-\d\d-\d\dT.*$/, '') === `server-${scenario}`);
}

function checksOf(folder, scenario) {
  const found = folderOf(folder, scenario);
  return found ? JSON.parse(readFileSync(path.join(folder, found, 'checks.json'), 'utf8')) : [];
}

function badOf(scenario, checks) {
  return checks.filter(({ id, status }) => (status === 'FAILURE' || status === 'WARNING') && !SUITE_IS_WRONG[`${scenario}/${id}`]);
}

// Runs again what only was too slow for the suite: true if anything was.
async function hurriedAgain(url, revision, folder, scenarios) {
  const slow = scenarios.filter((scenario) => {
    const bad = badOf(scenario, checksOf(folder, scenario));
    return bad.length > 0 && bad.every(({ id, errorMessage }) => IN_A_HURRY[id]?.test(errorMessage));
  });
  for (const scenario of slow) {
    console.log(`again   ${scenario}: the suite waited half a second, in vain`);
    rmSync(path.join(folder, folderOf(folder, scenario)), { recursive: true });
    await runSuite(url, folder, ['--scenario', scenario, '--spec-version', revision]);
  }
  return slow.length > 0;
}

function judge(folder, scenario) {
  const checks = checksOf(folder, scenario);
  const bad = badOf(scenario, checks);
  const passed = bad.length === 0 && checks.some(({ status }) => status === 'SUCCESS');
  console.log(`${passed ? 'ok     ' : 'NOT OK '} ${scenario}`);
  if (checks.length === 0) console.log('         it was not run');
  for (const check of bad) console.log(`         ${check.status} ${check.id}: ${check.errorMessage ?? check.description}`);
  return passed;
}

async function runSet(url, { revision, scored: expected }) {
  const folder = mkdtempSync(path.join(tmpdir(), 'nod-conformance-'));
  try {
    const requirements = yaml.parse(readFileSync(path.join(suite, 'requirements', `${revision}.yaml`), 'utf8'));
    const scored = requirements.server;
    const notScored = requirements.not_scored.filter(({ leg }) => leg === 'server').map(({ scenario }) => scenario);
    const others = notScored.filter((scenario) => !SKIPPED[scenario]);
    const { code, output } = await runSuite(url, folder, ['--requirements', revision]);
    let again = 0;
    while (again < AGAIN_MAX && (await hurriedAgain(url, revision, folder, [...scored, ...others]))) again++;
    const passedScored = scored.filter((scenario) => judge(folder, scenario)).length;
    const passedOthers = others.filter((scenario) => judge(folder, scenario)).length;
    for (const scenario of notScored.filter((name) => SKIPPED[name])) console.log(`skipped ${scenario}: the suite never runs it; see ${SKIPPED[scenario]}`);
    console.log(`conformance ${revision}: ${passedScored} of ${scored.length} scored, ${passedOthers} of ${others.length} not scored\n`);
    if ((code === 0 || again > 0) && scored.length === expected && passedScored === scored.length && passedOthers === others.length) return;
    console.log(output);
    process.exitCode = 1;
  } finally {
    rmSync(folder, { recursive: true });
  }
}

const server = await startServer();
for (const set of SETS) await runSet(server.url, set);
await server.stop();
