// The attacks of hostile peers, and a client with a token that must not notice them.
//
// Two servers of the same program: one is attacked, the other is not. A client asks both in turns, each time on a
// new connection and on one that it keeps; the median times are compared. A sample of the connections
// by default; all of them with NOD_SOAK=1.
import test from 'node:test';
import assert from 'node:assert/strict';
import http from 'node:http';
import path from 'node:path';
import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { startHttp, within, defaultHeaders, rawPeer, callTool, nextAsk, accept, textOf, PATIENCE_MS } from './harness.js';
import { ADA, VERSION, metaOf, tokenFile } from './modern.js';

const FULL = process.env.NOD_SOAK === '1';
const CONNECTIONS = FULL ? 5000 : 600;
const REQUESTS = FULL ? 400 : 150; // of each server, and of each way
const TRIES = 5; // with other processes each: a busy machine wakes some of them late for as long as they live
const RATIO_MOST = 1.5;

function attack(t, server, kind) {
  const script = path.join(path.dirname(fileURLToPath(import.meta.url)), 'attackers.js');
  const child = spawn(process.execPath, [script, server.url, kind, String(CONNECTIONS)], { stdio: ['pipe', 'pipe', 'inherit'] });
  const ended = new Promise((resolve) => child.once('close', resolve));
  t.after(async () => {
    child.stdin.end();
    await ended;
  });
  return within(PATIENCE_MS, `${CONNECTIONS} attackers`, new Promise((resolve, reject) => {
    child.stdout.once('data', resolve);
    ended.then(() => reject(new Error('the attackers have ended')));
  }));
}

let lastId = 0;

// One request by a client with a token; resolves to the milliseconds it took.
function ask(server, agent) {
  const body = JSON.stringify({ jsonrpc: '2.0', id: ++lastId, method: 'tools/call', params: { name: 'counters', arguments: {}, _meta: metaOf() } });
  const begun = performance.now();
  return new Promise((resolve, reject) => {
    const request = http.request(server.url, {
      method: 'POST',
      agent,
      headers: { ...defaultHeaders, Authorization: `Bearer ${ADA}`, 'MCP-Protocol-Version': VERSION, 'Mcp-Method': 'tools/call',
        'Mcp-Name': 'counters', 'Content-Length': body.length },
    }, (response) => {
      let text = '';
      response.setEncoding('utf8').on('data', (data) => (text += data)).on('error', reject).on('end', () => {
        if (response.statusCode !== 200) reject(new Error(`${response.statusCode}: ${text}`));
        else resolve(performance.now() - begun);
      });
    });
    request.on('error', reject);
    request.end(body);
  });
}

const median = (list) => list.toSorted((a, b) => a - b)[list.length >> 1];

// In turns, so that whatever else the machine does befalls both: how many times as long the attacked one takes, for
// each pair of requests, and the median of that; the worse of the two ways.
async function compare(calm, attacked) {
  const ways = [() => false, (server) => (server.agent ??= new http.Agent({ keepAlive: true, maxSockets: 1 }))];
  let worst = 0;
  for (const way of ways) {
    const ratios = [];
    for (let i = 0; i < REQUESTS; i++) {
      const took = new Map();
      for (const server of i % 2 ? [calm, attacked] : [attacked, calm]) took.set(server, await ask(server, way(server)));
      ratios.push(took.get(attacked) / took.get(calm));
    }
    worst = Math.max(worst, median(ratios));
  }
  [calm, attacked].forEach((server) => server.agent.destroy());
  return worst;
}

for (const [line, kind, what] of [
  [18, 'strangers', 'without a token: dripping bodies, endless heads, silence'],
  [19, 'principal', 'one principal takes what there is: connections, sessions, calls, listeners'],
])
  test(`11.${line}: ${CONNECTIONS} connections ${what}: another client is served as fast as without them`, async (t) => {
    const args = ['--token-file', tokenFile(t)];
    let attacked;
    let ratio = Infinity;
    for (let i = 0; i < TRIES && ratio > RATIO_MOST; i++) {
      const calm = await startHttp(t, 'probe', { args });
      attacked = await startHttp(t, 'probe', { args });
      await attack(t, attacked, kind);
      ratio = await compare(calm, attacked);
      console.log(`attack ${kind}: ${CONNECTIONS} connections, ratio ${ratio.toFixed(2)} (at most ${RATIO_MOST})`);
    }
    assert.ok(ratio <= RATIO_MOST, `ratio ${ratio}`);

    // And not only for what is answered at once: a session, a question in it, its answer.
    const ada = await rawPeer(t, 'http', 'probe', { server: attacked, token: ADA });
    const call = await callTool(ada, 'ask');
    const question = await nextAsk(ada);
    assert.equal((await accept(ada, question.id, { name: 'Ada' })).status, 202);
    assert.equal(textOf((await call.reply()).result), 'accept {"name":"Ada"}');
  });
