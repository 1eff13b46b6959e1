// Many short calls a second, from a thread of their own: each does a deed and asks nobody. Both eras take turns.
//
//   const load = beginLoad(t, { url, rate })     so many calls a second, or as many as the server bears
//   await load.mayCut(true)                   the server stops, and is away: a call may be cut off, and is not begun again
//   const { done, cut, wrong, perSecond } = await load.end()
//
// `done` and `cut` are tags: the deed of the first was done once, that of the second, whose connection was closed, at most once. `wrong`
// is what else was seen; it has to be empty.
import http from 'node:http';
import { Worker, isMainThread, parentPort, workerData } from 'node:worker_threads';

const SIDE_BY_SIDE = 200; // calls at a time
const TICK_MS = 5;
const AWAY_MS = 50; // before a server that is away is called again
const PREFIX = 'io.modelcontextprotocol/';

export function beginLoad(t, opts) {
  const worker = new Worker(new URL(import.meta.url), { workerData: opts });
  const ended = new Promise((resolve, reject) => {
    worker.on('message', ({ came }) => came && resolve(came));
    worker.once('error', reject);
  });
  ended.catch(() => {}); // who ends it hears of it
  t.after(() => worker.terminate());
  return {
    mayCut(may) {
      const taken = new Promise((resolve) => worker.on('message', (said) => 'may' in said && resolve()));
      worker.postMessage({ may });
      return Promise.race([taken, ended]);
    },
    end() {
      worker.postMessage({ end: true });
      return ended;
    },
  };
}

async function makeLoad({ url, rate }) {
  const agent = new http.Agent({ keepAlive: true, maxSockets: SIDE_BY_SIDE });
  const { hostname, port, pathname } = new URL(url);
  const came = { done: [], cut: [], wrong: [] };
  let [sent, inFlight, mayCut, stops, over, session, awayUntil] = [0, 0, false, 0, false, undefined, 0];
  const headers = { 'Content-Type': 'application/json', Accept: 'application/json, text/event-stream' };

  const post = (message, more) => new Promise((resolve, reject) => {
    const request = http.request({ agent, hostname, port, path: pathname, method: 'POST', headers: { ...headers, ...more } }, (response) => {
      let text = '';
      response.setEncoding('utf8');
      response.on('data', (data) => (text += data));
      response.on('end', () => (response.complete ? resolve({ status: response.statusCode, headers: response.headers, text }) : reject(new Error('cut off'))));
      response.on('error', reject);
    });
    request.on('error', reject);
    request.end(JSON.stringify({ jsonrpc: '2.0', ...message }));
  });

  const call = (tag, era) => {
    const params = { name: 'deed_alone', arguments: { tag } };
    if (era === '2025') return post({ id: tag, method: 'tools/call', params }, { 'MCP-Protocol-Version': '2025-11-25', 'Mcp-Session-Id': session });
    const _meta = { [`${PREFIX}protocolVersion`]: '2026-07-28', [`${PREFIX}clientInfo`]: { name: 'load', version: '1' }, [`${PREFIX}clientCapabilities`]: {} };
    return post({ id: tag, method: 'tools/call', params: { ...params, _meta } }, { 'MCP-Protocol-Version': '2026-07-28', 'Mcp-Method': 'tools/call', 'Mcp-Name': params.name });
  };

  const one = async () => {
    const tag = `load${sent}`;
    const era = sent++ % 2 ? '2025' : '2026';
    const [cutBefore, stopsBefore] = [mayCut, stops];
    const mayBeCut = () => cutBefore || mayCut || stops !== stopsBefore; // at any time of its life
    inFlight++;
    try {
      const { status, text } = await call(tag, era);
      if (status === 200 && text.includes(`"${tag}: done"`)) came.done.push(tag);
      else if (mayBeCut() && status === 503) came.cut.push(tag);
      else came.wrong.push(`${era} ${tag}: ${status} ${text}`);
    } catch (error) {
      if (!mayBeCut()) came.wrong.push(`${era} ${tag}: ${error.code ?? error.message}`);
      else if (error.code !== 'ECONNREFUSED') came.cut.push(tag);
      awayUntil = Date.now() + AWAY_MS;
    }
    inFlight--;
  };

  parentPort.on('message', ({ may, end }) => {
    if (end) over = true;
    if (may) stops++;
    if (!end) parentPort.postMessage({ may: (mayCut = may) });
  });
  const initialize = { id: 'begin', method: 'initialize', params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'load', version: '1' } } };
  session = (await post(initialize)).headers['mcp-session-id'];
  await post({ method: 'notifications/initialized' }, { 'MCP-Protocol-Version': '2025-11-25', 'Mcp-Session-Id': session });
  const began = performance.now();
  let owed = 0;
  let last = began;
  let awayMs = 0;
  while (!over || inFlight) {
    const now = performance.now();
    const isAway = Date.now() < awayUntil;
    owed = Math.min(owed + (rate * (now - last)) / 1000, SIDE_BY_SIDE); // what was not borne is not made up for
    awayMs += isAway ? now - last : 0;
    last = now;
    for (; owed >= 1 && inFlight < SIDE_BY_SIDE && !over && !isAway; owed--) one();
    await new Promise((resolve) => setTimeout(resolve, TICK_MS));
  }
  const seconds = (performance.now() - began - awayMs) / 1000;
  agent.destroy();
  parentPort.postMessage({ came: { ...came, perSecond: Math.round(came.done.length / seconds) } });
  parentPort.close();
}

if (!isMainThread && workerData?.url) await makeLoad(workerData);
