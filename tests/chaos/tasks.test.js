// Tasks on several nodes: every node tells how a task stands, whichever node works on it; an answer that was acknowledged
// counts; nothing is done for a task whose client does not know its id; a node with a wrong clock makes no task fail. What holds on two
// nodes holds beside handlers that crash.
import test from 'node:test';
import assert from 'node:assert/strict';
import { openHouse, pause, startRedis, stores } from './house.js';
import { Patient, wordsOf } from './clients.js';
import { crashersBeside, worlds } from './crashers.js';
import { PATIENCE_MS, textOf } from '../wire/harness.js';
import { Modern, word } from '../wire/modern.js';

const CAPABILITIES = { elicitation: {}, extensions: { 'io.modelcontextprotocol/tasks': {} } };
const HOUR_MS = 3600000;
const RECOVERED_MS = 4500; // in which a call that may be recovered is: a node's time and two looks

// One node as a client of tasks sees it.
class Desk {
  constructor(node, Requests = Modern) {
    this.modern = new Requests(node.url, { capabilities: CAPABILITIES });
  }

  async begin(tool, tag) {
    const { result, text } = await this.modern.call(tool, { tag });
    assert.ok(result?.taskId, text);
    return result.taskId;
  }

  async get(taskId) {
    const { result, text } = await this.modern.request('tasks/get', { taskId });
    assert.equal(result?.taskId, taskId, text);
    return result;
  }

  update(taskId, inputResponses) {
    return this.modern.request('tasks/update', { taskId, inputResponses });
  }

  async answer(taskId, key, text) {
    const reply = await this.update(taskId, { [key]: word(text) });
    assert.equal(reply.result?.resultType, 'complete', reply.text);
  }

  async until(taskId, wanted) {
    const end = Date.now() + PATIENCE_MS;
    for (;;) {
      const task = await this.get(taskId);
      if (wanted(task)) return task;
      assert.ok(Date.now() < end, `still ${JSON.stringify(task)}`);
      await pause(20);
    }
  }

  asks(taskId, key) {
    return this.until(taskId, ({ inputRequests }) => inputRequests && key in inputRequests);
  }

  async ends(taskId) {
    return this.until(taskId, ({ status }) => status !== 'working' && status !== 'input_required');
  }
}

async function twoNodes(t, crash, env) {
  const house = await openHouse(t, 'redis', { redis: await startRedis(t) });
  const nodes = [(await house.node()).keep(), (await house.node({ env })).keep()];
  const [a, b] = nodes.map((node) => new Desk(node, crash ? Patient : Modern));
  const crashers = await crashersBeside(crash, house, '2026', nodes.map(({ url }) => url));
  const close = async () => {
    await crashers.check(t);
    assert.equal(house.deaths(), 0);
    await house.close();
  };
  return { house, a, b, close };
}

worlds('11.2: a node that was asked for a task is told of what happens on the other', async (t, crash) => {
  const { house, a, b, close } = await twoNodes(t, crash);
  const words = wordsOf('t');
  const id = await a.begin('deed_task', 't');
  await a.asks(id, 'first');
  assert.deepEqual(Object.keys((await b.get(id)).inputRequests), ['first']);
  await a.answer(id, 'first', words.first);
  await a.asks(id, 'second');
  assert.deepEqual(Object.keys((await b.get(id)).inputRequests), ['second'], 'at once, and not when it looks next');
  await b.answer(id, 'second', words.second);
  const end = await a.ends(id);
  assert.equal(textOf(end.result), 't: t-a t-b');
  const there = await b.get(id);
  assert.deepEqual([there.status, there.result], ['completed', end.result]);
  assert.equal(house.deedsOf('t'), 1);
  await close();
});

worlds('11.2: an answer to a question that this node has not heard of is looked up before it is acknowledged', async (t, crash) => {
  const { a, b, close } = await twoNodes(t, crash);
  const words = wordsOf('t');
  const id = await a.begin('deed_task', 't');
  await a.asks(id, 'first');
  await b.get(id); // it knows of the first question now
  await a.answer(id, 'first', words.first);
  await a.asks(id, 'second');
  await b.answer(id, 'second', words.second); // and of this one it has never heard
  assert.equal(textOf((await b.ends(id)).result), 't: t-a t-b');
  await close();
});

worlds('11.2: answers and looks at either node in turn', async (t, crash) => {
  const { house, a, b, close } = await twoNodes(t, crash);
  await Promise.all(Array.from({ length: 8 }, async (_, i) => {
    const tag = `m${i}`;
    const desks = i % 2 ? [a, b] : [b, a];
    const id = await desks[0].begin('deed_task', tag);
    await desks[1].asks(id, 'first');
    await desks[1].answer(id, 'first', wordsOf(tag).first);
    await desks[0].asks(id, 'second');
    await desks[1].answer(id, 'second', wordsOf(tag).second);
    assert.equal(textOf((await desks[0].ends(id)).result), `${tag}: ${tag}-a ${tag}-b`);
    assert.equal((await desks[1].get(id)).status, 'completed');
    assert.equal(house.deedsOf(tag), 1);
  }));
  await close();
});

worlds('11.2, 11.12: an answer that comes too late is ignored, at whichever node', async (t, crash) => {
  const { a, b, close } = await twoNodes(t, crash);
  const id = await a.begin('deed_task', 't');
  await b.asks(id, 'first');
  await a.answer(id, 'first', 'one');
  await b.answer(id, 'first', 'one'); // the same, sent again
  const late = await b.update(id, { first: word('two') });
  assert.equal(late.result?.resultType, 'complete', late.text);
  await b.asks(id, 'second');
  await b.answer(id, 'second', 'three');
  assert.equal(textOf((await a.ends(id)).result), 't: one three');
  const over = await b.update(id, { second: word('four') });
  assert.equal(over.result?.resultType, 'complete', over.text);
  assert.equal(textOf((await a.ends(id)).result), 't: one three');
  await close();
});

worlds('11.2: what is cancelled at one node is cancelled at the other', async (t, crash) => {
  const { a, b, close } = await twoNodes(t, crash);
  const id = await a.begin('deed_task', 't');
  await b.asks(id, 'first');
  const { result } = await b.modern.request('tasks/cancel', { taskId: id });
  assert.equal(result.resultType, 'complete');
  for (const desk of [b, a]) assert.equal((await desk.ends(id)).status, 'cancelled');
  await close();
});

worlds('11.8: a node that is an hour ahead does not fail the tasks of another', async (t, crash) => {
  const { a, b, close } = await twoNodes(t, crash, { NOD_CLOCK_AHEAD_MS: String(HOUR_MS + 60000) });
  const words = wordsOf('t');
  const id = await a.begin('deed_task', 't');
  await a.asks(id, 'first');
  assert.equal((await b.get(id)).status, 'input_required');
  await pause(2500); // it sweeps what it has every second
  for (const desk of [b, a]) assert.equal((await desk.get(id)).status, 'input_required');
  await b.answer(id, 'first', words.first);
  await b.asks(id, 'second');
  await a.answer(id, 'second', words.second);
  assert.equal(textOf((await b.ends(id)).result), 't: t-a t-b');

  // And its own are no older for the others.
  const own = await b.begin('deed_task', 'u');
  const [here, there] = [await b.get(own), await a.get(own)];
  assert.ok(Math.abs(Date.parse(there.createdAt) - Date.now()) < 60000, there.createdAt);
  assert.equal(here.createdAt, there.createdAt);
  await close();
});

// A call that asks before it becomes a task: its first word is given in a round, and with the deed that follows its
// client gets a task id.
async function beginBetween(desk, tag) {
  const asked = await desk.modern.call('deed_between_task', { tag });
  assert.ok(asked.result?.inputRequests?.first, asked.text);
  const retry = { requestState: asked.result.requestState, inputResponses: { first: word(`${tag}-a`) } };
  const { result, text } = await desk.modern.call('deed_between_task', { tag }, retry);
  assert.ok(result?.taskId, text);
  return result.taskId;
}

async function untilDone(house, tag) {
  const end = Date.now() + PATIENCE_MS;
  while (!house.deedsOf(tag)) {
    assert.ok(Date.now() < end, `the deed of ${tag} is not done`);
    await pause(20);
  }
}

for (const store of stores) {
  const redisFor = async (t) => (store === 'redis' ? startRedis(t) : undefined);

  test(`11.3: ${store}: nothing is done for a task whose client was not given its id`, async (t) => {
    const house = await openHouse(t, store, { redis: await redisFor(t) });
    const node = await house.node({ crash: 'open_after' });
    const desk = new Desk(node);
    await assert.rejects(desk.begin('deed_first_task', 't'), /fetch failed|terminated/);
    await node.ended;
    await node.start();
    await pause(RECOVERED_MS);
    assert.equal(house.deedsOf('t'), 0, 'it may not be recovered: its client calls again');
    const id = await desk.begin('deed_first_task', 't');
    await desk.asks(id, 'first');
    await desk.answer(id, 'first', 't-a');
    assert.equal(textOf((await desk.ends(id)).result), 't: t-a');
    assert.equal(house.deedsOf('t'), 1);
    await house.close();
  });

  test(`11.3: ${store}: who was given the id comes back for it, and the deed is done once`, async (t) => {
    const house = await openHouse(t, store, { redis: await redisFor(t) });
    const node = await house.node({ crash: 'task_told_after' });
    const desk = new Desk(node);
    const id = await desk.begin('deed_first_task', 't');
    await node.ended;
    await node.start();
    await desk.asks(id, 'first');
    await desk.answer(id, 'first', 't-a');
    assert.equal(textOf((await desk.ends(id)).result), 't: t-a');
    assert.equal(house.deedsOf('t'), 1);
    await house.close();
  });

  for (const gone of ['kill', 'stop'])
    test(`11.26: ${store}: a task that asked first goes on without its node (${gone}), and its answer counts`, async (t) => {
      const house = await openHouse(t, store, { redis: await redisFor(t) });
      const node = await house.node();
      const tags = ['seen', 'unseen'];
      const ids = {};
      for (const tag of tags) {
        ids[tag] = await beginBetween(new Desk(node), tag);
        await new Desk(node).asks(ids[tag], 'second');
      }
      await node[gone]();
      const desk = new Desk(await house.node());
      for (const tag of tags) {
        await desk.asks(ids[tag], 'second');
        await desk.answer(ids[tag], 'second', `${tag}-b`);
      }
      assert.equal(textOf((await desk.ends(ids.seen)).result), 'seen: seen-a seen-b');
      await untilDone(house, 'unseen'); // nobody looks at this one
      assert.equal(textOf((await desk.ends(ids.unseen)).result), 'unseen: unseen-a unseen-b');
      for (const tag of tags) assert.deepEqual([house.deedsOf(`${tag}.early`), house.deedsOf(tag)], [1, 1]);
      await house.close();
    });

  test(`11.26: ${store}: an answer that was stored is acted upon when all nodes have gone, and nobody looks`, async (t) => {
    const house = await openHouse(t, store, { redis: await redisFor(t) });
    const node = await house.node();
    const id = await beginBetween(new Desk(node), 't');
    await new Desk(node).asks(id, 'second');
    await node.kill();
    const second = await house.node({ crash: 'answer_after' });
    await assert.rejects(new Desk(second).answer(id, 'second', 't-b'), /fetch failed|terminated/);
    await second.ended;
    const third = await house.node();
    await untilDone(house, 't');
    assert.equal(textOf((await new Desk(third).ends(id)).result), 't: t-a t-b');
    assert.equal(house.deedsOf('t'), 1);
    await house.close();
  });
}

// SQLite, because the clock of that store is the node's own.
for (const hours of [3, 80])
  for (const tool of ['deed_task', 'deed_between_task'])
    test(`11.28: ${tool}: answered before everything was down for ${hours} hours: the deed is done, and its end can be read`, async (t) => {
      const house = await openHouse(t, 'sqlite');
      const node = await house.node();
      const desk = new Desk(node);
      const id = tool === 'deed_task' ? await desk.begin(tool, 't') : await beginBetween(desk, 't');
      if (tool === 'deed_task') {
        await desk.asks(id, 'first');
        await desk.answer(id, 'first', 't-a');
      }
      await desk.asks(id, 'second');
      await node.kill();
      const second = await house.node({ crash: 'answer_after' });
      await assert.rejects(new Desk(second).answer(id, 'second', 't-b'), /fetch failed|terminated/);
      await second.ended;
      const third = await house.node({ env: { NOD_CLOCK_AHEAD_MS: String(hours * HOUR_MS) } });
      await untilDone(house, 't');
      const late = new Desk(third);
      assert.equal(textOf((await late.ends(id)).result), 't: t-a t-b');
      assert.equal(textOf((await late.get(id)).result), 't: t-a t-b', 'and still');
      assert.equal(house.deedsOf('t'), 1);
      await house.close();
    });
