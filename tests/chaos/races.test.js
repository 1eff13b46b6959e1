// Races through two nodes of one Redis: a question that is answered twice at the same instant, and one that is answered
// and cancelled. Each time one wins, and the other is told so; in a soak also beside handlers that crash, where whoever gets no reply asks again.
import test from 'node:test';
import assert from 'node:assert/strict';
import { combinations, openHouse, pause, sideBySide, startRedis } from './house.js';
import { CALL_MS, Client2025, Patient, patiently } from './clients.js';
import { SOAK, crashersBeside, worlds } from './crashers.js';
import { textOf } from '../wire/harness.js';
import { Modern, retryOf, word } from '../wire/modern.js';

const ASKS = Number(process.env.ASKS ?? (SOAK ? 1000 : 150));
const SIDE_BY_SIDE = 16;
const TASKS = { elicitation: {}, extensions: { 'io.modelcontextprotocol/tasks': {} } };
const has = (era) => combinations.some((one) => one.era === era && one.store === 'redis');
const numbers = Array.from({ length: ASKS }, (_, i) => i);

async function twoNodes(t, era, crash) {
  const redis = await startRedis(t);
  const house = await openHouse(t, 'redis', { redis });
  const urls = [(await house.node()).keep().url, (await house.node()).keep().url];
  const crashers = await crashersBeside(crash, house, era, urls);
  const close = async () => {
    await crashers.check(t);
    assert.equal(house.deaths(), 0);
    await house.close();
  };
  return { urls, modern: crash ? new Patient() : new Modern(), close };
}

if (has('2026')) {
  worlds(`2026: ${ASKS} asks, each answered through two nodes at once: one wins, the other is refused`, async (t, crash) => {
    const { urls, modern, close } = await twoNodes(t, '2026', crash);
    const wins = { left: 0, right: 0 };
    await sideBySide(SIDE_BY_SIDE, numbers, async (i) => {
      const args = { tag: `r${i}` };
      const asked = await modern.asked('word', args, undefined, { url: urls[i % 2] });
      const replies = await Promise.all(['left', 'right'].map((side, n) =>
        modern.call('word', args, retryOf(asked, { first: word(side) }), { url: urls[n] })));
      const winners = ['left', 'right'].filter((_, n) => replies[n].result);
      assert.equal(winners.length, 1, replies.map(({ text }) => text).join('\n'));
      const loser = replies.find(({ result }) => !result);
      assert.match(loser.error.message, /answered before, with other answers/);
      const winner = replies.find(({ result }) => result);
      assert.equal(textOf(winner.result), `r${i}: ${winners[0]}`);
      wins[winners[0]]++;
    });
    t.diagnostic(`won by one node ${wins.left}, by the other ${wins.right}`);
    assert.equal(wins.left + wins.right, ASKS);
    await close();
  });

  worlds(`2026: ${ASKS} tasks, each answered and cancelled through two nodes at once: one end, the same for both`, async (t, crash) => {
    const { urls, modern, close } = await twoNodes(t, '2026', crash);
    const ends = { completed: 0, cancelled: 0 };
    const request = (url, method, params) => modern.request(method, params, { url, capabilities: TASKS });
    await sideBySide(SIDE_BY_SIDE, numbers, async (i) => {
      const begun = await request(urls[i % 2], 'tools/call', { name: 'word_task', arguments: { tag: `r${i}` } });
      const { taskId } = begun.result;
      const until = Date.now() + CALL_MS;
      const look = async (url, wanted) => {
        for (;;) {
          const { result, text } = await request(url, 'tasks/get', { taskId });
          assert.ok(result, text);
          if (wanted.includes(result.status)) return result;
          assert.ok(Date.now() < until, text);
          await pause(10);
        }
      };
      const { inputRequests } = await look(urls[i % 2], ['input_required']);
      const inputResponses = Object.fromEntries(Object.keys(inputRequests).map((key) => [key, word('yes')]));
      const [updated, cancelled] = await Promise.all([
        request(urls[0], 'tasks/update', { taskId, inputResponses }),
        request(urls[1], 'tasks/cancel', { taskId }),
      ]);
      assert.ok(updated.result || updated.error, updated.text);
      assert.ok(cancelled.result || cancelled.error, cancelled.text);
      const [one, other] = await Promise.all(urls.map((url) => look(url, ['completed', 'cancelled', 'failed'])));
      assert.equal(one.status, other.status, 'both nodes say the same');
      if (one.status === 'completed') assert.equal(textOf(one.result), `r${i}: yes`);
      ends[one.status]++;
    });
    t.diagnostic(`completed ${ends.completed}, cancelled ${ends.cancelled}`);
    assert.equal(ends.completed + ends.cancelled, ASKS);
    await close();
  });
}

if (has('2025')) {
  const answerBy = async (client, url, id, text) => {
    const response = await fetch(url, {
      method: 'POST', headers: client.headers(), body: JSON.stringify({ jsonrpc: '2.0', id, result: word(text) }) });
    return { status: response.status, text: await response.text() };
  };

  worlds(`2025: ${ASKS} asks, each answered through two nodes at once: one answer counts, and the other is refused`, async (t, crash) => {
    const { urls, close } = await twoNodes(t, '2025', crash);
    const clients = await Promise.all(Array.from({ length: SIDE_BY_SIDE }, () => new Client2025(urls).connect()));
    const wins = { left: 0, right: 0 };
    const statuses = {};
    await sideBySide(SIDE_BY_SIDE, numbers, async (i) => {
      const client = clients[i % SIDE_BY_SIDE];
      let told;
      const call = await client.call('word', `r${i}`, {
        onAsk: async (ask) => {
          const replies = await Promise.all(['left', 'right'].map((side, n) => {
            const answer = () => answerBy(client, urls[n], ask.id, side);
            return crash ? patiently('answer', answer) : answer();
          }));
          const key = replies.map(({ status }) => status).sort().join('+');
          statuses[key] = (statuses[key] ?? 0) + 1;
          told = replies;
        },
      });
      const side = /: (left|right)$/.exec(call.text)?.[1];
      assert.ok(side, call.text);
      wins[side]++;
      const [winner, loser] = side === 'left' ? told : [...told].reverse();
      assert.equal(winner.status, 202, winner.text);
      assert.equal(loser.status, 409, 'the loser is told');
      assert.match(loser.text, /ended already \(accepted\)/);
    });
    t.diagnostic(`won by one node ${wins.left}, by the other ${wins.right}; statuses ${JSON.stringify(statuses)}`);
    assert.equal(wins.left + wins.right, ASKS);
    await close();
  });

  // A cancelled request gets no response, and its stream ends, as it does when a node dies: there are no crashes beside it.
  test(`2025: ${ASKS} calls, each answered and cancelled through two nodes at once: its result, or the cancel`, async (t) => {
    const { urls, close } = await twoNodes(t, '2025');
    const clients = await Promise.all(Array.from({ length: SIDE_BY_SIDE }, () => new Client2025(urls).connect()));
    const ends = { completed: 0, cancelled: 0 };
    await sideBySide(SIDE_BY_SIDE, numbers, async (i) => {
      const client = clients[i % SIDE_BY_SIDE];
      const story = { note() {}, begun: 0, until: Date.now() + CALL_MS };
      const answers = [];
      const response = await client.begin(story, 'word', { tag: `r${i}` }, `race-${i}`);
      const message = await client.read(story, '', response, `race-${i}`, {}, answers, async (ask) => {
        const cancel = { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: `race-${i}` } };
        await Promise.all([answerBy(client, urls[i % 2], ask.id, 'yes'),
          fetch(urls[(i + 1) % 2], { method: 'POST', headers: client.headers(), body: JSON.stringify(cancel) }).then((taken) => taken.text())]);
      });
      await Promise.all(answers);
      if (message) assert.equal(textOf(message.result), `r${i}: yes`);
      ends[message ? 'completed' : 'cancelled']++;
    });
    t.diagnostic(`completed ${ends.completed}, cancelled ${ends.cancelled}`);
    assert.equal(ends.completed + ends.cancelled, ASKS);
    await close();
  });

  // By then both were taken, so the question is over, whatever the node has heard of it that holds the request.
  test(`2025: ${ASKS} calls, each answered and cancelled, and then sent again, through two nodes: nobody is asked again`, async (t) => {
    const { urls, close } = await twoNodes(t, '2025');
    const clients = await Promise.all(Array.from({ length: SIDE_BY_SIDE }, () => new Client2025(urls).connect()));
    const ends = { completed: 0, cancelled: 0, ended: 0 };
    await sideBySide(SIDE_BY_SIDE, numbers, async (i) => {
      const client = clients[i % SIDE_BY_SIDE];
      const send = async (url, body) => {
        const response = await fetch(url, { method: 'POST', headers: client.headers(), body: JSON.stringify(body) });
        return response.text();
      };
      const request = { jsonrpc: '2.0', id: `again-${i}`, method: 'tools/call', params: { name: 'word', arguments: { tag: `r${i}` } } };
      const [holder, other] = i % 4 < 2 ? urls : [...urls].reverse();
      const response = await fetch(holder, { method: 'POST', headers: client.headers(), body: JSON.stringify(request) });
      const answers = [];
      await client.read({ note() {} }, '', response, request.id, {}, answers, async (ask) => {
        const cancel = { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: request.id } };
        await Promise.all([answerBy(client, urls[i % 2], ask.id, 'yes'), send(urls[(i + 1) % 2], cancel)]);
        for (const url of [holder, other]) {
          const said = await send(url, request);
          assert.doesNotMatch(said, /elicitation\/create/);
          ends[/r\d+: yes/.test(said) ? 'completed' : /was cancelled/.test(said) ? 'cancelled' : 'ended']++;
        }
      });
      await Promise.all(answers);
      assert.equal(answers.length, 1);
    });
    t.diagnostic(`its result ${ends.completed}, the cancel ${ends.cancelled}, a stream that ended ${ends.ended}`);
    await close();
  });

  test('2025: a request that waits is cancelled by way of the other node, whenever that is told', async (t) => {
    const { urls, close } = await twoNodes(t, '2025');
    const client = await new Client2025([urls[0]]).connect();
    await Promise.all([0, 1500].map(async (after, i) => {
      const story = { note() {}, begun: 0, until: Date.now() + CALL_MS };
      const answers = [];
      const id = `wait-${i}`;
      const response = await client.begin(story, 'word', { tag: id }, id);
      const message = await client.read(story, '', response, id, {}, answers, async () => {
        await new Promise((resolve) => setTimeout(resolve, after));
        const cancel = { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: id } };
        const taken = await fetch(urls[1], { method: 'POST', headers: client.headers(), body: JSON.stringify(cancel) });
        assert.equal(taken.status, 202);
        await taken.text();
      });
      await Promise.all(answers);
      assert.equal(message, null, 'the stream ends without a response');
    }));
    await close();
  });
}
