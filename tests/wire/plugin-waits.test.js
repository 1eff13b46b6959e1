// What waits while its plugin is replaced, by what the next one has changed, by how it is replaced. A reload does what a restart does:
// what waits goes on in the new code if input schema and version are the same, else it ends; where another node still has the old
// plugin, it goes on there. An answer that is taken is used; one that is not used is refused.
import { describe, it } from 'node:test';
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { callTool, everyEnd, nextAsk, oneOf, pause, rawPeer, textOf, PATIENCE_MS } from './harness.js';
import { Api, token } from './inbox.js';
import { Modern, accepted, retryOf } from './modern.js';
import { linesOf, serveHome } from './serving.js';
import { stores } from './stores.js';

const SECRET = 'a secret that is surely long enough for this';
const TASKS = { elicitation: {}, extensions: { 'io.modelcontextprotocol/tasks': {} } };
const ANSWER = accepted({ word: 'it' });
const GONE_MS = 60000; // for a node to count as gone, and for a call whose tool no node has to end

async function until(what, found, ms = PATIENCE_MS) {
  for (const end = Date.now() + ms; ;) {
    const value = await found();
    if (value) return value;
    assert.ok(Date.now() < end, `never: ${what}`);
    await pause(50);
  }
}

// --- what waits: begun at house.server; then answered, and looked at, wherever house.server is by then ---

// An end as a result, however the way has it.
const ofError = ({ message, data }) => ({ isError: true, _meta: data, content: [{ type: 'text', text: message }] });

const WAITS = {
  async held(t, house) {
    const peer = await rawPeer(t, 'http', 'nod', { server: house.server, token: token('ada') });
    const call = await callTool(peer, 'steady.ask', { what: 'held' });
    const ask = await nextAsk(peer);
    const ended = call.reply();
    let stream = call.handle;
    const back = async (url) => {
      peer.url = url;
      const last = peer.events.filter(({ id }) => id !== undefined).at(-1).id;
      stream = await peer.request('GET', { headers: { 'Last-Event-ID': last }, stream: 'back' });
      assert.equal(stream.status, 200);
    };
    return {
      moved: () => back(house.server.url),
      // 202 has also a response to a question that nobody asks any more: then the call has ended.
      answer: async () => {
        const { status } = await peer.send({ id: ask.id, result: ANSWER });
        assert.ok(status === 202 || status === 409, `${status}`);
        return status === 409 ? false : undefined;
      },
      // A node that has no such tool any more ends the stream, and the client comes to the other one.
      end: () => until('the held call ends', async () => {
        const reply = await Promise.race([ended, stream.finished.then(() => pause(100))]);
        if (!reply) await back(house.elsewhere(peer.url));
        return reply && (reply.result ?? ofError(reply.error));
      }, GONE_MS),
    };
  },

  async carried(t, house) {
    const modern = new Modern(house.server.url, { token: token('ada') });
    const asked = await modern.asked('steady.ask', { what: 'carried' });
    const retry = retryOf(asked, { [Object.keys(asked.inputRequests)[0]]: ANSWER });
    const again = () => until('the retry gets an end', async () => {
      const { status, result, error, text } = await modern.call('steady.ask', { what: 'carried' }, retry);
      assert.ok(status === 200 || status === 503 || error?.data?.code, text);
      modern.url = status === 503 ? house.elsewhere(modern.url) : modern.url; // as a balancer does
      return result ? result.resultType === 'complete' && result : status !== 503 && ofError(error);
    }, GONE_MS);
    return {
      moved: async () => (modern.url = house.server.url),
      answer: async () => {},
      end: again,
    };
  },

  async task(t, house) {
    const modern = new Modern(house.server.url, { token: token('ada'), capabilities: TASKS });
    const begun = await modern.call('steady.task', { what: 'task' });
    const { taskId } = begun.result;
    const task = (wanted) => until('the task goes on', async () => {
      const { result } = await modern.request('tasks/get', { taskId });
      return result && wanted(result) && result;
    }, GONE_MS);
    const { inputRequests } = await task(({ status }) => status === 'input_required');
    return {
      moved: async () => (modern.url = house.server.url),
      answer: async () => {
        const { result } = await modern.request('tasks/update', { taskId, inputResponses: { [Object.keys(inputRequests)[0]]: ANSWER } });
        return result ? undefined : false; // as the protocol has it, what comes too late is acknowledged, too
      },
      end: async () => {
        const { result, error } = await task(({ status }) => status !== 'working' && status !== 'input_required');
        return result ?? ofError(error);
      },
    };
  },

  async resting(t, house) {
    const peer = await rawPeer(t, 'http', 'nod', { server: house.server, token: token('ada'), capabilities: {} });
    const { callId } = (await (await callTool(peer, 'steady.ask', { what: 'resting' })).reply()).result.structuredContent;
    return {
      moved: async () => (peer.url = house.server.url),
      answer: async () => (await house.resolve('resting')).status === 200,
      end: () => until('the pending result has an end', async () => {
        const { result } = await (await callTool(peer, 'waitForPerson', { callId })).reply();
        return !result.structuredContent?.pending && result;
      }, GONE_MS),
    };
  },
};

// --- how ---

// A node: nod serve with the plugin, in a home of its own.
async function nodeOf(t, store, deeds) {
  const home = serveHome(t);
  const node = { home };
  const configure = () => home.configure(`[server]
plugin = ${home.at('plugins/steady.so')}
token-file = ${home.file('tokens', `${token('ada')} ada ask answer\n`)}
store = ${store ?? `sqlite:${home.at('state/calls.db')}`}
surfaces = client,inbox
soft-deadline = 1s
[plugin steady]
deeds = ${deeds}
`);
  node.use = (object) => home.plugin(object, 'steady');
  node.start = async () => {
    configure();
    node.server = await home.start({ env: { MCP_ELICITATION_SECRET: SECRET } });
  };
  return node;
}

async function reload(node, object) {
  node.use(object);
  node.server.signal('SIGHUP');
  await node.server.said(/event="a plugin was replaced" plugin=steady/);
}
async function restart(node, object) {
  await node.server.stop();
  node.use(object);
  await node.start();
}

const HOWS = {
  'reload, memory': { store: 'memory:', change: reload },
  'reload, sqlite': { change: reload },
  'restart, sqlite': { change: restart, moves: true },
  'reload, redis, and the other node has the old plugin': { redis: true, change: reload },
  'restart, redis, and the other node has the old plugin': { redis: true, change: restart, moves: true },
};

// --- what the next one has changed, and how that ends ---

const CHANGES = {
  'nothing that counts': { object: 'steady-1-again' },
  'input schema': { object: 'steady-schema', code: 'TOOL_CHANGED', says: /has changed since this call/ },
  version: { object: 'steady-2', code: 'TOOL_CHANGED', says: /has changed since this call/ },
  'its tool is gone': { object: 'steady-gone', code: 'TOOL_GONE', says: /is no longer there/ },
};

async function housed(t, how) {
  const redis = how.redis ? await stores.find(({ name }) => name === 'redis').create(t) : null;
  const scratch = serveHome(t);
  const deeds = scratch.file('deeds', '');
  const store = redis?.address ?? how.store;
  const node = await nodeOf(t, store, deeds);
  const other = redis && (await nodeOf(t, store, deeds));
  const house = { node, other, deeds: () => readFileSync(deeds, 'utf8').split('\n').slice(0, -1).sort() };
  for (const each of [other, node].filter(Boolean)) {
    each.use('steady-1');
    await each.start();
  }
  Object.defineProperty(house, 'server', { get: () => node.server });
  house.elsewhere = (url) => [node, other].filter(Boolean).map(({ server }) => server.url).find((one) => one !== url) ?? url;
  house.resolve = (what) => new Api(node.server, 'ada').resolve(house.items.find(({ message }) => message.includes(what)).id, { approved: true, data: { word: 'it' } });
  return house;
}

async function row(t, change, how) {
  const house = await housed(t, how);
  const calls = Object.fromEntries(await Promise.all(Object.entries(WAITS).map(async ([what, begin]) => [what, await begin(t, house)])));
  house.items = await new Api(house.server, 'ada').pending(4);
  await how.change(house.node, change.object);
  if (how.moves) for (const call of Object.values(calls)) await call.moved();
  const goesOn = how.redis || !change.code;
  await Promise.all(Object.entries(calls).map(async ([what, call]) => {
    const taken = await call.answer();
    const result = await call.end();
    const shown = `${what}: ${JSON.stringify(result)}`;
    if (taken !== undefined) assert.equal(taken, goesOn, `${shown}: its answer was ${taken ? 'taken' : 'refused'}`);
    if (goesOn) {
      assert.match(textOf(result.result ?? result), how.redis ? /^(one|again): it$/ : /^again: it$/, shown);
      return;
    }
    const end = result.result ?? (result.error ? ofError(result.error) : result);
    assert.equal(end.isError, true, shown);
    assert.equal(end._meta?.code, change.code, shown);
    assert.match(textOf(end), change.says, shown);
  }));
  // Whoever comes later learns that it is over.
  for (const item of house.items) {
    const late = await new Api(house.server, 'ada').resolve(item.id, { approved: true, data: { word: 'other' } });
    assert.ok(late.status === 409 || late.status === 404 || late.status === 410, `${item.message}: ${late.status} ${late.text}`);
  }
  const by = new Set(house.deeds().map((line) => line.split(' ')[0]));
  assert.equal(house.deeds().length, goesOn ? 4 : 0, house.deeds().join());
  assert.equal(by.size, goesOn ? 4 : 0);
  for (const { server } of [house.node, house.other].filter(Boolean))
    assert.deepEqual(linesOf(server.stderr(), 'error'), []);
  if (house.node.server && !how.moves) {
    await house.node.server.said(/unloaded one/); // nothing has kept the old code
  }
  for (const { server } of [house.node, house.other].filter(Boolean)) await server.stop(); // before their store goes
}

describe('what waits', { concurrency: 2 }, () => {
  const names = Object.keys(HOWS);
  for (const [what, change] of Object.entries(CHANGES)) {
    const sample = [oneOf(names.slice(0, 3), `${what} alone`), oneOf(names.slice(3), `${what} beside another`)];
    for (const name of process.env.NOD_SOAK === '1' ? names : sample)
      it(`${what}: ${name}`, async (t) => {
        everyEnd(t);
        await row(t, change, HOWS[name]);
      });
  }
});
