// Pages, while servers die: each call is asked for its first word on a page of ours and for its second on a foreign one, and
// then does a deed. The person opens the link again whenever nobody was there. Handlers crash beside them, in a soak everywhere.
import test from 'node:test';
import assert from 'node:assert/strict';
import { openHouse, pause, sideBySide, startRedis } from './house.js';
import { CALL_MS, Client2025, Client2026, Count, wordsOf } from './clients.js';
import { CRASHING, SOAK, drawn, letCrash } from './crashers.js';

const URL_MODE = { capabilities: { elicitation: { url: {} } } };
const AGAIN_MS = 30;

// The person: a process of the server's own user, for whom the link is enough.
class Person {
  constructor(urls) {
    this.urls = urls; // of the nodes, in the order in which they are tried
    this.turn = 0;
    this.visits = this.again = 0;
  }

  get base() {
    return new URL(this.urls[this.turn++ % this.urls.length]).origin;
  }

  // Until somebody has answered; a connection that fails is tried again.
  async until(what, once) {
    for (const end = Date.now() + CALL_MS; Date.now() < end; await pause(AGAIN_MS)) {
      this.visits++;
      try {
        const done = await once(this.base);
        if (done) return done;
      } catch (error) {
        if (!error.cause) throw error;
      }
      this.again++;
    }
    throw new Error(`not in time: ${what}`);
  }

  async fillIn(link, word) {
    const { pathname } = new URL(link);
    await this.until('the form', async (base) => {
      const reply = await fetch(base + pathname, { method: 'POST', headers: { Origin: base, 'Content-Type': 'application/json' }, body: JSON.stringify({ action: 'accept', content: { word } }) });
      const told = await reply.json();
      return reply.status === 200 || (reply.status === 409 && told.state === 'accepted');
    });
  }

  async goAndReturn(link, word) {
    const { pathname } = new URL(link);
    const state = await this.until('the foreign page', async (base) => {
      const { outcome, go } = await (await fetch(`${base}${pathname}/data`)).json();
      if (/This is done/.test(outcome)) return 'done';
      return go && new URL(go).searchParams.get('state');
    });
    if (state === 'done') return;
    await this.until('the way back', async (base) => /This is done/.test(await (await fetch(`${base}/a/return?${new URLSearchParams({ state, word })}`, { method: 'POST', headers: { Origin: base } })).text()));
  }

  answer(tag, { message, url }) {
    return /first/.test(message) ? this.fillIn(url, wordsOf(tag).first) : this.goAndReturn(url, wordsOf(tag).second);
  }
}

async function callOf(era, clientUrls, person, tag) {
  if (era === '2025') {
    const client = await new Client2025(clientUrls, URL_MODE).connect();
    return client.call('deed_page', tag, { onAsk: (ask) => person.answer(tag, ask.params) });
  }
  const asked = ({ inputRequests }) => Promise.all(Object.values(inputRequests ?? {}).map(({ params }) => person.answer(tag, params)));
  return new Client2026(clientUrls, URL_MODE).call('deed_page', tag, { meanwhile: asked });
}

const points = ['page_before', 'page_after', 'return_before', 'ask_after', 'answer_before', 'answer_after', 'rerun_before', 'result_after'];
const ways = (point) => (SOAK ? [[point], [`${point}:2`], [point, point]] : [[point], ...(point.startsWith('page') ? [[`${point}:2`]] : [])]);

for (const era of ['2025', '2026']) {
  test(`${era}, sqlite: killed at the points of pages, nothing is lost and nothing done twice`, async (t) => {
    const total = new Count();
    const reached = new Set();
    let deaths = 0;
    let crashes = 0;
    const crashing = (CRASHING ? drawn(points) : []).map((point) => ({ point, lives: [point], crash: true })); // first: they take long
    await sideBySide(4, [...crashing, ...points.flatMap((point) => ways(point).map((lives) => ({ point, lives })))], async ({ point, lives, crash }) => {
      const house = await openHouse(t, 'sqlite');
      const [first, ...rest] = lives;
      const node = (await house.node({ crash: first })).keep(() => rest.shift());
      const count = new Count();
      const crashers = crash && (await letCrash(house, era, node.url));
      await count.of(house, 'deed_page', 'page-1', callOf(era, [node.url], new Person([node.url]), 'page-1'));
      if (crashers) count.join(await crashers.end(), `beside ${crashers.tool}`);
      total.join(count, `killed at ${lives}`);
      if (!crash && node.deaths === lives.length) reached.add(point);
      deaths += node.deaths;
      crashes += node.crashes;
      await house.close();
    });
    t.diagnostic(`${era}, sqlite: killed ${deaths} times, crashed ${crashes} times`);
    total.check(t, null, `${era}, sqlite`);
    assert.deepEqual(points.filter((point) => !reached.has(point)), [], 'every point was reached');
  });

  test(`${era}, two nodes of redis: asked through one, answered through the other; one of them dies meanwhile`, async (t) => {
    const redis = await startRedis(t);
    const house = await openHouse(t, 'redis', { redis });
    const [a, b] = [(await house.node()).keep(), (await house.node({ crash: 'page_after' })).keep()];
    const count = new Count();
    const crashers = CRASHING && (await letCrash(house, era, [a.url, b.url]));
    await sideBySide(4, Array.from({ length: SOAK ? 100 : 8 }, (_, i) => `two-${i}`), (tag) => count.of(house, 'deed_page', tag, callOf(era, [a.url], new Person([b.url]), tag)));
    if (crashers) count.join(await crashers.end(), `beside ${crashers.tool}`);
    count.check(t, house, `${era}, redis, two nodes`);
    assert.deepEqual([a.deaths, b.deaths], [0, 1]);
  });
}
