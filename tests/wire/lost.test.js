// A client of the 2025 era whose connection is lost after its request was read and before the first event: it has no event id to come
// back with, and sends the same request again. Whoever comes back and can be asked is asked, at the same node and at another.
import { describe, it } from 'node:test';
import assert from 'node:assert/strict';
import net from 'node:net';
import { once } from 'node:events';
import { HttpPeer, isAsk, pause, rawPeer, startHttp, textOf, accept, within, PATIENCE_MS } from './harness.js';
import { deedsFile } from './modern.js';
import { stores } from './stores.js';

const ROUNDS = Number(process.env.ROUNDS ?? (process.env.NOD_SOAK === '1' ? 64 : 12));
const LANES = 4;
const SECRET = { MCP_ELICITATION_SECRET: 'a secret that is surely long enough for this' };

// Sends a request, and hangs up `after` ms later, before it has read anything.
async function sendAndHangUp(peer, message, after) {
  const { hostname, port, pathname } = new URL(peer.url);
  const body = JSON.stringify({ jsonrpc: '2.0', ...message });
  const headers = Object.entries({ ...peer.headers(), Host: `${hostname}:${port}`, 'Content-Length': Buffer.byteLength(body) });
  const socket = net.connect(Number(port), hostname);
  await once(socket, 'connect');
  socket.on('error', () => {});
  await new Promise((written) => socket.write(`POST ${pathname} HTTP/1.1\r\n${headers.map(([name, value]) => `${name}: ${value}\r\n`).join('')}\r\n${body}`, written));
  await pause(after);
  socket.destroy();
}

// Sends it until a response has come: the request that was hung up on may be read after the next one, and takes the stream over.
async function comesBack(peer, message) {
  for (let n = 0; n < 10; n++) {
    const handle = await peer.send(message);
    await handle.finished;
    if (handle.json || handle.events.some(({ data }) => data?.includes(`"id":"${message.id}"`))) return;
  }
}

// What is called, and how its question is answered: at once; after some work, in a thread; after a deed.
const tools = [['ask', { name: 'Ada' }], ['naps_and_asks', { name: 'Ada' }], ['write_then_ask', { word: 'Ada' }]];
const versions = ['2025-11-25', '2025-06-18']; // the older one knows no event without data

const houses = [
  { name: 'memory', nodes: 1 },
  { name: 'sqlite', nodes: 1 },
  { name: 'redis, the same node', nodes: 1, store: 'redis' },
  { name: 'redis, another node', nodes: 2, store: 'redis' },
];

describe('lost', { concurrency: LANES }, () => {
  for (const { name, nodes, store = name } of houses)
    for (const version of versions)
      it(`${name}, ${version}: a client with forms that sends its request again is asked, also where there is an inbox`, async (t) => {
        const address = (await stores.find((one) => one.name === store)?.create(t))?.address ?? 'memory:';
        const deeds = deedsFile(t);
        const env = { ...SECRET, PROBE_FILE: deeds.file };
        const servers = [];
        for (let i = 0; i < nodes; i++) servers.push(await startHttp(t, 'probe', { env, args: ['--soft-deadline', '1s', '--store', address], inbox: true }));
        const peer = await rawPeer(t, 'http', 'probe', { server: servers[0], version });
        const failed = [];
        for (let round = 0; round < ROUNDS; round++) {
          const [tool, content] = tools[round % tools.length];
          const message = { id: `r${round}`, method: 'tools/call', params: { name: tool, arguments: {} } };
          for (let times = round % 4 === 3 ? 2 : 1; times; times--) { // some are lost twice
            peer.url = servers[times === 2 ? nodes - 1 : 0].url;
            await sendAndHangUp(peer, message, Math.floor(round / 3) % 4 * 2);
            await pause([0, 3, 10, 30, 60][round % 5]);
          }
          peer.url = servers.at(-1).url;
          const began = Date.now();
          const ended = comesBack(peer, message);
          const isEnd = (one) => one.id === message.id && !one.method;
          const came = await within(PATIENCE_MS, 'a word', peer.next((one) => isAsk(one) || isEnd(one), `round ${round}`)).catch(() => null);
          if (!came || !isAsk(came)) {
            failed.push(`${round}, ${tool}: ${came ? JSON.stringify(came) : 'silence'} after ${Date.now() - began} ms`);
            continue;
          }
          while ((await accept(peer, came.id, content)).status === 503); // a disk that hangs for seconds
          assert.match(textOf((await peer.next(isEnd, 'the result')).result), /Ada/);
          await ended;
        }
        assert.equal(failed.length, 0, `${failed.length} of ${ROUNDS} were not asked:\n${failed.join('\n')}`);
        assert.equal(deeds.lines().length, Math.floor((ROUNDS + tools.length - 3) / tools.length), 'each deed once');
      });

  for (const { name, nodes, store = name } of houses)
    it(`${name}: a client that cannot be asked, and sends its request again, is told at its soft deadline that a person was`, async (t) => {
      const address = (await stores.find((one) => one.name === store)?.create(t))?.address ?? 'memory:';
      const servers = [];
      for (let i = 0; i < nodes; i++) servers.push(await startHttp(t, 'probe', { env: SECRET, args: ['--soft-deadline', '1s', '--store', address], inbox: true }));
      const peer = await rawPeer(t, 'http', 'probe', { server: servers[0], capabilities: {} });
      const there = Object.assign(new HttpPeer(servers.at(-1).url), { session: peer.session });
      t.after(() => there.close());
      const told = await Promise.all(Array.from({ length: ROUNDS }, async (_, round) => {
        const message = { id: `r${round}`, method: 'tools/call', params: { name: tools[round % 2][0], arguments: { message: `Round ${round}?` } } };
        await sendAndHangUp({ url: servers[0].url, headers: () => peer.headers() }, message, round % 4 * 2);
        await pause([0, 3, 10, 30, 60, 1200][round % 6]);
        const began = Date.now();
        await within(PATIENCE_MS, 'a response', comesBack(there, message)).catch(() => {});
        const [end] = there.inbox.rest((one) => one.id === message.id);
        return end?.result?.structuredContent?.pending ? null : `${round}: ${JSON.stringify(end) ?? 'silence'} after ${Date.now() - began} ms`;
      }));
      const failed = told.filter((one) => one);
      assert.equal(failed.length, 0, `${failed.length} of ${ROUNDS} were not told:\n${failed.join('\n')}`);
    });
});
