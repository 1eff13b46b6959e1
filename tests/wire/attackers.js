// The attackers of attack.test.js, in a process of their own: node attackers.js URL KIND COUNT
//
// Opens COUNT connections of a kind, prints `ready` when each has done its worst once, and goes on (a byte now and then, a
// new connection for each that was closed). It ends with its input, or after two minutes.
import net from 'node:net';
import { BOB, metaOf, VERSION } from './modern.js';

const [, , address, kind, count] = process.argv;
const { hostname, port, host } = new URL(address);
const LIFE_MS = 120000;
const DRIP_MS = 2000; // between two bytes of one connection
const AGAIN_PER_TICK = 5; // connections that are opened anew, in each tenth of a second
const SESSIONS = 10; // that one connection begins
const AT_ONCE = 200; // connections that are being opened

const post = (headers, body, length = body.length) =>
  `POST /mcp HTTP/1.1\r\nHost: ${host}\r\nContent-Type: application/json\r\nAccept: application/json, text/event-stream\r\n` +
  `${headers}Content-Length: ${length}\r\n\r\n${body}`;
const token = `Authorization: Bearer ${BOB}\r\n`;

let lastId = 0;
function modern(method, params) {
  const body = JSON.stringify({ jsonrpc: '2.0', id: ++lastId, method, params: { ...params, _meta: metaOf() } });
  const name = params.name ? `Mcp-Name: ${params.name}\r\n` : '';
  return post(`${token}MCP-Protocol-Version: ${VERSION}\r\nMcp-Method: ${method}\r\n${name}`, body);
}
const initialize = () => post(token, JSON.stringify({
  jsonrpc: '2.0', id: 1, method: 'initialize',
  params: { protocolVersion: '2025-11-25', capabilities: { elicitation: {} }, clientInfo: { name: 'bob', version: '1' } },
}));

// What each kind says first, what it drips, and whether it is done with an answer.
const kinds = {
  // Without a token: bodies that are promised and drip, and a few heads that never end, or never begin.
  strangers: (i) => {
    if (i % 16 === 0) return { first: 'POST /mcp HTTP/1.1\r\nHost: localhost\r\nX: ', drip: 'x' };
    if (i % 16 === 1) return { first: '', drip: '' };
    const length = i < 0.96 * Number(count) ? 65536 : 64 << i % 6; // large ones, then what fits into the gaps they leave
    return { first: post(i % 2 ? '' : 'Authorization: Bearer wrong-token-0123456789\r\n', 'x', length), drip: 'x' };
  },
  // With one: as much of everything as there is.
  principal: (i) => [
    { first: post(token, 'x', 65536), drip: 'x' },
    { first: modern('subscriptions/listen', { notifications: { toolsListChanged: true, resourceSubscriptions: [] } }), drip: '' },
    { first: initialize().repeat(SESSIONS), drip: '', session: 'POST' },
    { first: initialize().repeat(SESSIONS), drip: '', session: 'GET' },
  ][i % 4],
};

const held = new Set();
let pending = 0;
let started = 0;

// In a session of its own: a call that waits for a person, or a stream that listens.
function goOn(socket, method, text) {
  const session = /mcp-session-id: (\S+)/i.exec(text)?.[1];
  if (!session || socket.gone) return;
  socket.gone = true;
  const headers = `${token}Mcp-Session-Id: ${session}\r\n`;
  if (method === 'GET') socket.write(`GET /mcp HTTP/1.1\r\nHost: ${host}\r\nAccept: text/event-stream\r\n${headers}\r\n`);
  else socket.write(post(headers, JSON.stringify({ jsonrpc: '2.0', id: 2, method: 'tools/call', params: { name: 'ask', arguments: {} } })));
}

function open(i) {
  const plan = kinds[kind](i);
  pending++;
  let opening = true;
  const opened = () => {
    if (opening) pending--;
    opening = false;
  };
  const socket = net.connect({ host: hostname, port: Number(port), noDelay: true }, () => {
    opened();
    held.add(socket);
    if (plan.first) socket.write(plan.first, 'latin1');
  });
  socket.drip = plan.drip;
  socket.on('data', (data) => {
    if (plan.session) goOn(socket, plan.session, data.toString('latin1'));
  });
  socket.on('error', () => {});
  socket.on('close', () => {
    opened();
    held.delete(socket);
  });
}

const tick = setInterval(() => {
  while (started < Number(count) && pending < AT_ONCE) open(started++);
  if (started < Number(count)) return;
  if (!tick.told && pending === 0) {
    tick.told = true;
    process.stdout.write('ready\n');
  }
  for (let i = 0; i < AGAIN_PER_TICK && held.size + pending < Number(count); i++) open(started++);
}, 100);

let turn = 0;
const slices = DRIP_MS / 100;
const drip = setInterval(() => {
  let i = 0;
  turn = (turn + 1) % slices;
  for (const socket of held) if (i++ % slices === turn && socket.drip && socket.writable) socket.write(socket.drip);
}, 100);

const end = () => process.exit(0);
process.stdin.on('data', () => {}).on('end', end);
setTimeout(end, LIFE_MS);
void drip;
