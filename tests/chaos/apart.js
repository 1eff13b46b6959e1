// Clients that are asked apart from their calls, with tools of nod's own: through their model, or in a view. Their calls return a
// pending result, and the answer is a request of its own. What the tests of both share is here: such a client, which comes back until
// it has a reply, and the server that dies at each point, between any two requests, and in turn with another node. Handlers crash
// beside them, in a soak everywhere.
//
//   class ModelClient extends ApartClient { answers(), joined(), rest() }
//   survives({ what: 'model', Client: ModelClient, args, points, ... })
import test from 'node:test';
import assert from 'node:assert/strict';
import { defaultHeaders, initializeMessage, pause, sseEvents, textOf } from '../wire/harness.js';
import { metaOf, VERSION } from '../wire/modern.js';
import { combinations, keepLog, openHouse, sideBySide, startRedis } from './house.js';
import { Count, Story, away, connectionFailed, patience } from './clients.js';
import { CRASHING, SOAK, drawn, letCrash, random } from './crashers.js';

const ANEW_MS = 10000; // then a request that got no answer is sent again
const TOOLS = ['deed', 'deed_blocking', 'deed_once', 'deed_pair', 'deed_early'];
// Points of others that they come by, on every store in every era, with NOD_SOAK=1.
const MORE = ['answer_before', 'answer_after', 'take_before', 'rerun_before', 'effect_after', 'result_before', 'result_after'];
const sampled = ({ era, store }) => SOAK || (era === '2025') === (store === 'sqlite');
// The node has the call when the answer comes, and takes none.
const unreached = new Set(['take_before']);

let lastId = 0;

// `twice`: every answer is sent twice at the same instant.
export class ApartClient {
  constructor(capabilities, urls, era, { twice = false } = {}) {
    this.capabilities = capabilities;
    this.urls = [urls].flat();
    this.era = era;
    this.twice = twice;
    this.turn = 0;
  }

  // The next request goes to the other node.
  get url() {
    return this.urls[this.turn++ % this.urls.length];
  }

  async post(story, url, message) {
    const modern = this.era === '2026' ? { 'MCP-Protocol-Version': VERSION, 'Mcp-Method': message.method, 'Mcp-Name': message.params.name }
      : { 'MCP-Protocol-Version': '2025-11-25', ...(this.session ? { 'Mcp-Session-Id': this.session } : {}) };
    const response = await fetch(url, { method: 'POST', headers: { ...defaultHeaders, ...modern }, body: JSON.stringify({ jsonrpc: '2.0', ...message }), signal: patience(story, ANEW_MS) });
    if (away(response.status)) throw new Error(`HTTP ${response.status}`);
    if (!(response.headers.get('content-type') ?? '').startsWith('text/event-stream')) {
      const text = await response.text();
      return { response, reply: text ? JSON.parse(text) : undefined };
    }
    for await (const event of sseEvents(response.body)) {
      const reply = event.data && JSON.parse(event.data);
      if (reply?.id === message.id) return { response, reply };
    }
    throw new Error('the stream ended without a reply');
  }

  async connect() {
    if (this.era === '2026') return this;
    const story = new Story('initialize', '');
    for (;;) {
      try {
        const { response } = await this.post(story, this.url, initializeMessage(this.capabilities));
        this.session = response.headers.get('mcp-session-id');
        await this.post(story, this.url, { method: 'notifications/initialized' });
        return this;
      } catch (error) {
        await story.again(connectionFailed(error));
      }
    }
  }

  async once(story, name, args) {
    const params = { name, arguments: args, ...(this.era === '2026' ? { _meta: metaOf(this.capabilities) } : {}) };
    const { reply } = await this.post(story, this.url, { id: ++lastId, method: 'tools/call', params });
    if (reply.error) throw story.lost(JSON.stringify(reply.error));
    return reply.result;
  }

  // Sent until there is a reply: without a handle the call begins again, and an answer is sent again as it was.
  async request(story, name, args) {
    for (;;) {
      try {
        const copies = this.twice && name === this.answerTool ? [0, 1] : [0];
        const replies = await Promise.allSettled(copies.map(() => this.once(story, name, args)));
        const failed = replies.find(({ status }) => status === 'rejected');
        if (failed) throw failed.reason;
        const [one, twin] = replies.map(({ value }) => value);
        const result = twin ? this.joined(story, one, twin) : one;
        if (result.isError && /STORE_AWAY|CALL_BUSY/.test(result._meta?.code)) throw new Error(textOf(result));
        return result;
      } catch (error) {
        if (name === story.tool) story.begun++;
        await story.again(`${name}: ${connectionFailed(error)}`);
      }
    }
  }

  async call(tool, tag) {
    const story = new Story(tool, tag);
    story.begun = 1;
    const result = await this.rest(story, tag, await this.request(story, tool, { tag }));
    return { story, result, text: result.content[0].text }; // what the tool says: nod's word may stand behind it
  }
}

const callsOf = (house, client, count, name) =>
  Promise.all(TOOLS.map((tool) => count.of(house, tool, `${tool}-${name}`, client.call(tool, `${tool}-${name}`))));

// `rounds`: in the soak, of the calls that nothing is killed at by name; `killMs`: between two deaths of the nodes in turn.
export function survives({ what, Client, args, points: own, rounds, killMs }) {
  const points = [...own, ...(SOAK ? MORE : [])];
  for (const { era, store } of combinations.filter(sampled)) {
    const name = `${what}, ${era}, ${store}`;
    test(`${name}: killed at each of its points, nothing is lost and nothing done twice`, async (t) => {
      const redis = store === 'redis' ? await startRedis(t) : undefined;
      const ways = (point) => (SOAK ? [[point], [`${point}:2`], [`${point}:5`], [point, `${point}:3`]] : [[`${point}:${1 + random.below(5)}`]]);
      const crashing = (CRASHING ? drawn(points) : []).map((point) => ({ point, lives: [point], crash: true })); // first: they take long
      const cases = [...crashing, ...points.flatMap((point) => ways(point).map((lives) => ({ point, lives })))];
      const total = new Count();
      const reached = new Set();
      let deaths = 0;
      let crashes = 0;
      await sideBySide(SOAK ? 6 : 4, cases, async ({ point, lives, crash }) => {
        const house = await openHouse(t, store, { redis });
        const [first, ...rest] = lives;
        const node = (await house.node({ crash: first, args })).keep(() => rest.shift());
        const count = new Count();
        const client = await new Client(node.url, era).connect();
        const crashers = crash && (await letCrash(house, era, node.url));
        await callsOf(house, client, count, '1');
        if (crashers) count.join(await crashers.end(), `beside ${crashers.tool}`);
        total.join(count, `killed at ${lives}`);
        if (!crash && node.deaths) reached.add(point);
        deaths += node.deaths;
        crashes += node.crashes;
        if (count.faults.length) keepLog(house, `${what} ${era} ${store} ${lives}`);
        await house.close();
      });
      t.diagnostic(`${name}: ${cases.length} cases, killed ${deaths} times, crashed ${crashes} times`);
      total.check(t, null, name);
      assert.deepEqual(points.filter((point) => !reached.has(point) && !unreached.has(point)), []);
    });

    test(`${name}: every answer twice, at the same instant${store === 'redis' ? ', to two nodes' : ''}`, async (t) => {
      const redis = store === 'redis' ? await startRedis(t) : undefined;
      const house = await openHouse(t, store, { redis });
      const nodes = [await house.node({ args }), ...(redis ? [await house.node({ args })] : [])];
      const count = new Count();
      const client = await new Client(nodes.map((node) => node.url), era, { twice: true }).connect();
      for (let round = 0; round < (SOAK ? rounds : 1); round++) await callsOf(house, client, count, `twice-${round}`);
      count.check(t, house, `${name}, twice`);
      await house.close();
    });
  }

  for (const { era } of combinations.filter(({ store }) => store === 'redis'))
    test(`${what}, ${era}: through the other of two nodes, which are killed in turn`, async (t) => {
      const redis = await startRedis(t);
      const house = await openHouse(t, 'redis', { redis });
      const nodes = [(await house.node({ args })).keep(), (await house.node({ args })).keep()];
      const count = new Count();
      let going = true;
      const killing = (async () => {
        for (let turn = 0; going; turn++) {
          await pause(killMs);
          if (going) await nodes[turn % 2].killAndReturn();
        }
      })();
      const urls = nodes.map((node) => node.url);
      const clients = await Promise.all(Array.from({ length: 4 }, () => new Client(urls, era).connect()));
      const crashers = CRASHING && (await letCrash(house, era, urls));
      for (let round = 0; round < (SOAK ? rounds : 1); round++)
        await Promise.all(clients.map((client, i) => callsOf(house, client, count, `${i}-${round}`)));
      going = false;
      await killing;
      if (crashers) count.join(await crashers.end(), `beside ${crashers.tool}`);
      t.diagnostic(`${what}, ${era}, redis: killed ${nodes[0].deaths + nodes[1].deaths} times`);
      count.check(t, house, `${what}, ${era}, two nodes`);
      if (count.faults.length) keepLog(house, `${what} nodes ${era}`);
      await house.close();
    });
}
