// A view asks, and the server dies: at each point of its own, between any two requests, and through the other of two nodes.
// Every call gets the right result, and its deed was done once.
import test from 'node:test';
import assert from 'node:assert/strict';
import { defaultHeaders, initializeMessage, sseEvents, textOf } from '../wire/harness.js';
import { metaOf, VERSION } from '../wire/modern.js';
import { combinations, keepLog, openHouse, sideBySide, startRedis } from './house.js';
import { Count, Story, away, connectionFailed, patience, wordsOf } from './clients.js';

const SOAK = process.env.NOD_SOAK === '1';
const PATIENCE_MS = 10000;
const ARGS = ['--no-inbox', '--no-model', '--soft-deadline', '1s'];
const UI = { extensions: { 'io.modelcontextprotocol/ui': { mimeTypes: ['text/html;profile=mcp-app'] } } };
const TOOLS = ['deed', 'deed_blocking', 'deed_once', 'deed_pair', 'deed_early'];
// The points of its own; with NOD_SOAK=1 also others that it comes by, on every store in every era.
const points = ['view_before', 'view_after', 'attach_after', 'collect_before', 'collect_after',
  ...(SOAK ? ['answer_before', 'answer_after', 'take_before', 'rerun_before', 'effect_after', 'result_before', 'result_after'] : [])];
const sampled = ({ era, store }) => SOAK || (era === '2025') === (store === 'sqlite');
// It has the call when the answer comes, and takes none.
const unreached = new Set(['take_before']);

// --- the client ---

let lastId = 0;

// A client that shows views, and one view: its calls are pending after a second, and the view answers. `twice`: every answer is
// sent twice at the same instant.
class ViewClient {
  constructor(urls, era, { twice = false } = {}) {
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
    const response = await fetch(url, { method: 'POST', headers: { ...defaultHeaders, ...modern }, body: JSON.stringify({ jsonrpc: '2.0', ...message }), signal: patience(story, PATIENCE_MS) });
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
        const { response } = await this.post(story, this.url, initializeMessage(UI));
        this.session = response.headers.get('mcp-session-id');
        await this.post(story, this.url, { method: 'notifications/initialized' });
        return this;
      } catch (error) {
        await story.again(connectionFailed(error));
      }
    }
  }

  async call1(story, name, args, url = this.url) {
    const params = { name, arguments: args, ...(this.era === '2026' ? { _meta: metaOf(UI) } : {}) };
    const { reply } = await this.post(story, url, { id: ++lastId, method: 'tools/call', params });
    if (reply.error) throw story.lost(JSON.stringify(reply.error));
    return reply.result;
  }

  // Sent until there is a reply: without a handle the call begins again, and an answer is sent again as it was.
  async request(story, name, args) {
    for (;;) {
      try {
        const copies = this.twice && name === 'nodAnswer' ? [0, 1] : [0];
        const replies = await Promise.allSettled(copies.map(() => this.call1(story, name, args)));
        const failed = replies.find(({ status }) => status === 'rejected');
        if (failed) throw failed.reason;
        const [result, twin] = replies.map(({ value }) => value);
        const ended = [result, twin].filter((one) => one?._meta?.nod?.ended).map(textOf);
        if (ended.length === 2 && ended[0] !== ended[1]) throw story.lost(`two ends: ${ended}`);
        if (ended.length && !result._meta.nod.ended) return twin;
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
    let result = await this.request(story, tool, { tag });
    const { callId } = result.structuredContent ?? {};
    while (callId && (result.structuredContent?.pending || result._meta?.nod?.ended === false)) {
      const { questions } = JSON.parse(textOf(await this.request(story, 'nodQuestions', { callId, now: true })));
      for (const { message, nonce } of questions) {
        const [, key] = /the (\w+) word/.exec(message);
        story.note(`asked for the ${key} word`);
        const answered = await this.request(story, 'nodAnswer', { nonce, action: 'accept', content: { word: wordsOf(tag)[key] } });
        if (answered.isError && !answered._meta?.nod) continue; // answered before, and over for a minute
        result = answered;
        if (result._meta.nod.ended) break;
      }
      if (!questions.length) result = await this.request(story, 'waitForPerson', { callId });
    }
    return { story, result, text: result.content[0].text }; // what the tool says
  }
}

const callsOf = (house, client, count, name) =>
  Promise.all(TOOLS.map((tool) => count.of(house, tool, `${tool}-${name}`, client.call(tool, `${tool}-${name}`))));

// --- the tests ---

for (const { era, store } of combinations.filter(sampled)) {
  test(`view, ${era}, ${store}: killed at each of its points, nothing is lost and nothing done twice`, async (t) => {
    const redis = store === 'redis' ? await startRedis(t) : undefined;
    const ways = (point) => (SOAK ? [[point], [`${point}:2`], [`${point}:5`], [point, `${point}:3`]] : [[`${point}:${1 + Math.floor(Math.random() * 5)}`]]);
    const cases = points.flatMap((point) => ways(point).map((lives) => ({ point, lives })));
    const total = new Count();
    const reached = new Set();
    let deaths = 0;
    await sideBySide(SOAK ? 6 : 4, cases, async ({ point, lives }) => {
      const house = await openHouse(t, store, { redis });
      const [first, ...rest] = lives;
      const node = (await house.node({ crash: first, args: ARGS })).keep(() => rest.shift());
      const count = new Count();
      const client = await new ViewClient(node.url, era).connect();
      await callsOf(house, client, count, '1');
      total.join(count, `killed at ${lives}`);
      if (node.deaths) reached.add(point);
      deaths += node.deaths;
      if (count.faults.length) keepLog(house, `view ${era} ${store} ${lives}`);
      await house.close();
    });
    t.diagnostic(`view, ${era}, ${store}: ${cases.length} cases, killed ${deaths} times`);
    total.check(t, null, `view, ${era}, ${store}`);
    assert.deepEqual(points.filter((point) => !reached.has(point) && !unreached.has(point)), []);
  });

  test(`view, ${era}, ${store}: every answer twice, at the same instant${store === 'redis' ? ', to two nodes' : ''}`, async (t) => {
    const redis = store === 'redis' ? await startRedis(t) : undefined;
    const house = await openHouse(t, store, { redis });
    const nodes = [await house.node({ args: ARGS }), ...(redis ? [await house.node({ args: ARGS })] : [])];
    const count = new Count();
    const client = await new ViewClient(nodes.map((node) => node.url), era, { twice: true }).connect();
    for (let round = 0; round < (SOAK ? 8 : 1); round++) await callsOf(house, client, count, `twice-${round}`);
    count.check(t, house, `view, ${era}, ${store}, twice`);
    await house.close();
  });
}

for (const { era } of combinations.filter(({ store }) => store === 'redis'))
  test(`view, ${era}: through the other of two nodes, which are killed in turn`, async (t) => {
    const redis = await startRedis(t);
    const house = await openHouse(t, 'redis', { redis });
    const nodes = [(await house.node({ args: ARGS })).keep(), (await house.node({ args: ARGS })).keep()];
    const count = new Count();
    let going = true;
    const killing = (async () => {
      for (let turn = 0; going; turn++) {
        await new Promise((resolve) => setTimeout(resolve, 2500));
        if (going) await nodes[turn % 2].killAndReturn();
      }
    })();
    const clients = await Promise.all(Array.from({ length: 4 }, () => new ViewClient(nodes.map((node) => node.url), era).connect()));
    for (let round = 0; round < (SOAK ? 8 : 1); round++)
      await Promise.all(clients.map((client, i) => callsOf(house, client, count, `${i}-${round}`)));
    going = false;
    await killing;
    t.diagnostic(`view, ${era}, redis: killed ${nodes[0].deaths + nodes[1].deaths} times`);
    count.check(t, house, `view, ${era}, two nodes`);
    if (count.faults.length) keepLog(house, `view nodes ${era}`);
    await house.close();
  });
