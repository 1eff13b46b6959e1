// Who answered what, in the log: one line at info for each answer, by whichever way it came, at the node that it counted at.
// Nothing of the question and of the answer is in it. And a store that was away says when it is back.
import test from 'node:test';
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { PATIENCE_MS, connect, environment, pause, program, within } from './harness.js';
import { Modern, retryOf } from './modern.js';
import { Visitor } from './visitor.js';
import { Api, houses, mute, openHouse, token } from './inbox.js';

const SECRET = { MCP_ELICITATION_SECRET: 'a secret of the tests of the log, long enough' };
const memory = houses[0];
const WORD = 'a-word-that-nobody-else-should-read';
const QUESTION = 'What-is-asked-is-nobody-elses-business?';

const linesOf = (server) => server.stderr().split('\n').filter((line) => /event=answered /.test(line));
const fieldsOf = (line) => Object.fromEntries(['call', 'ask', 'tool', 'principal', 'by', 'via', 'action'].map((key) => [key, new RegExp(` ${key}=(\\S+)`).exec(line)?.[1]]));

// The one line of the one answer that was given, at one of these servers.
async function theLine(servers, wanted) {
  await within(PATIENCE_MS, 'a line of the answer', (async () => {
    while (!servers.some((server) => linesOf(server).length)) await pause(10);
  })());
  const lines = servers.flatMap(linesOf);
  assert.equal(lines.length, 1, lines.join('\n'));
  assert.match(lines[0], / level=info /);
  const fields = fieldsOf(lines[0]);
  assert.match(fields.call, /^[\w-]{22}$/);
  assert.match(fields.ask, /^[\w-]{22}$/);
  assert.deepEqual({ ...fields, call: undefined, ask: undefined }, { call: undefined, ask: undefined, principal: 'ada', by: 'ada', action: 'accept', ...wanted });
  for (const server of servers) {
    assert.ok(!server.stderr().includes(WORD), 'the answer is not in the log');
    assert.ok(!server.stderr().includes(QUESTION), 'the question is not in the log');
  }
}

const content = { name: WORD };
const args = { message: QUESTION };
const ways = {
  'a form of a client, 2025': {
    via: 'client',
    answer: async (t, { first }) => (await connect(t, 'http', 'probe', { server: first, token: token('ada'), answer: () => ({ action: 'accept', content }) })).call('ask', args),
  },
  'a round, 2026': {
    via: 'client',
    answer: async (t, { first, last }) => {
      const asked = await new Modern(first.url, { token: token('ada') }).asked('ask', args);
      const [key] = Object.keys(asked.inputRequests);
      await new Modern(last.url, { token: token('ada') }).ended('ask', args, retryOf(asked, { [key]: { action: 'accept', content } }));
    },
  },
  'a no': {
    via: 'client', action: 'decline',
    answer: async (t, { first }) => (await connect(t, 'http', 'probe', { server: first, token: token('ada'), answer: () => ({ action: 'decline' }) })).call('ask', args),
  },
  'the API, at another node and by somebody else': {
    via: 'api', by: 'root',
    answer: async (t, { first, last }) => {
      const call = (await mute(t, first, 'ada')).text('ask', args);
      const api = new Api(last, 'root');
      const [{ id }] = await api.pending();
      assert.equal((await api.resolve(id, { action: 'accept', content })).status, 200);
      assert.equal((await api.resolve(id, { action: 'accept', content })).status, 200, 'the same answer again is no second one');
      await call;
    },
  },
  'the page of the inbox': {
    via: 'page',
    answer: async (t, { first }) => {
      const call = (await mute(t, first, 'ada')).text('ask', args);
      const [{ id }] = await new Api(first, 'ada').pending();
      const ada = await new Visitor(first.url).signIn(token('ada'));
      const reply = await ada.fetch(`/api/elicitation/${id}/resolve`, { method: 'POST', headers: { 'Content-Type': 'application/json', Origin: new URL(first.url).origin }, body: JSON.stringify({ action: 'accept', content }) });
      assert.equal(reply.status, 200, await reply.text());
      await call;
    },
  },
  'the terminal': {
    via: 'terminal',
    answer: async (t, { first }) => {
      const call = (await mute(t, first, 'ada')).text('ask', args);
      const [{ id }] = await new Api(first, 'ada').pending();
      execFileSync(program('nod'), ['inbox', 'answer', id, '--accept', `name=${WORD}`], { env: environment({ NOD_SERVER: new URL(first.url).origin, NOD_TOKEN: token('ada'), LC_ALL: 'C.UTF-8' }) });
      await call;
    },
  },
  'a task': {
    via: 'client', tool: 'plant_task',
    answer: async (t, { first, last }) => {
      const client = new Modern(first.url, { token: token('ada'), capabilities: { elicitation: {}, extensions: { 'io.modelcontextprotocol/tasks': {} } } });
      const { taskId } = (await client.call('plant_task', { mark: QUESTION })).result;
      const asked = await within(PATIENCE_MS, 'the task asks', (async () => {
        for (;;) {
          const { result } = await client.request('tasks/get', { taskId });
          if (result.inputRequests) return result;
          await pause(10);
        }
      })());
      const [key] = Object.keys(asked.inputRequests);
      const reply = await client.request('tasks/update', { taskId, inputResponses: { [key]: { action: 'accept', content: { word: WORD } } } }, { url: last.url });
      assert.equal(reply.status, 200, reply.text);
    },
  },
  'a page of its own': {
    via: 'page', tool: 'form', program: 'pages',
    answer: async (t, { first, last }) => {
      const client = new Modern(first.url, { token: token('ada'), capabilities: { elicitation: { url: {} } } });
      const asked = await client.asked('form', args);
      const link = new URL(new URL(Object.values(asked.inputRequests)[0].params.url).pathname, last.url).href;
      const ada = await new Visitor(last.url).signIn(token('ada'));
      await ada.page(link);
      assert.equal((await ada.submit(link, { city: WORD })).status, 200);
    },
  },
  'the model': {
    via: 'model', args: ['--no-inbox'],
    answer: async (t, { first }) => {
      const session = await mute(t, first, 'ada');
      const { _meta } = await session.call('ask', args);
      await session.call('sendElicitationResult', { elicitId: _meta.elicitationPending.elicitId, action: 'accept', content });
    },
  },
};

const two = houses.find(({ nodes }) => nodes === 2);
for (const house of [memory, two])
  for (const [name, { answer, program: which = 'probe', args: more = [], ...wanted }] of Object.entries(ways).filter(([, way]) => house === memory || /last/.test(way.answer)))
    test(`${house.name}: ${name}: one line says who answered, by which way, and nothing of what`, async (t) => {
      const made = await openHouse(t, house, { program: which, env: SECRET, args: ['--log', 'info', ...more] });
      await answer(t, made);
      await theLine(made.servers, { tool: 'ask', ...wanted });
    });

test('a question that nobody has answered has no such line', async (t) => {
  const { first } = await openHouse(t, memory, { args: ['--log', 'info'] });
  const session = await connect(t, 'http', 'probe', { server: first, token: token('ada') });
  assert.equal((await session.call('hurry')).isError, true);
  assert.deepEqual(linesOf(first), []);
});

test('a Redis that was away is said to be back, once', async (t) => {
  const store = await two.create(t);
  const { first } = await openHouse(t, { nodes: 1, create: async () => store }, { args: ['--log', 'info'] });
  await store.say('CLIENT', 'KILL', 'SKIPME', 'yes', 'TYPE', 'normal');
  await first.said(/level=error event="the store is away/);
  await first.said(/level=info event="the store is back" store=redis/);
  await first.stop();
  for (const line of [/event="the store is away/g, /event="the store is back"/g]) assert.equal(first.stderr().match(line).length, 1);
});
