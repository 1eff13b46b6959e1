// Every way in which a client can say yes to its own call, as an agent would, for tests of whose yes counts.
//
//   await ways['form 2025'](server, token, 'danger')     what became of the call:
//     counts      the yes is taken
//     inbox       somebody is asked in the inbox instead, and the yes changes nothing
//     asked       it was not taken, and the client is asked
//     refused     nobody is asked, because there is only the model
//     nobody      nobody is asked: nod_confirm says no, everything else fails, and says which role is missing
//
// `tool` is one of consent-server, which is started with startFor.
import assert from 'node:assert/strict';
import http from 'node:http';
import path from 'node:path';
import { HttpPeer, pause, startHttp, textOf, PATIENCE_MS } from './harness.js';
import { token, tokenFile } from './inbox.js';
import { Modern, scratchFolder } from './modern.js';
import { fetchOver } from './tls.js';

export const FORMS = { elicitation: { form: {} } };
export const LINKS = { elicitation: { form: {}, url: {} } };
export const VIEWS = { extensions: { 'io.modelcontextprotocol/ui': { mimeTypes: ['text/html;profile=mcp-app'] } } };
export const TASKS = { ...FORMS, extensions: { 'io.modelcontextprotocol/tasks': {} } };
export const YES = { action: 'accept', content: { confirmed: true } };

export const yesTo = (tool) => (/form|data|danger$/.test(tool) ? YES : { action: 'accept', content: {} });
const opens = (tool) => /link|page|secret|account/.test(tool);
export const keyOf = (tool) => (/danger|data/.test(tool) ? 'form' : /link/.test(tool) ? 'link' : ['gated', 'kept', 'confirmed'].includes(tool) ? 'nod.gate' : /confirm|lax|strict|elsewhere/.test(tool) ? 'confirm' : 'approve');

let calls = 0;
export const unique = () => ({ call: String(++calls) }); // the same call again would find the one that waits

// What became of a call, in the words above.
export function endOf(result, error) {
  if (error) {
    assert.notEqual(error.code, -32021, 'the client has the capability');
    assert.match(error.message, /the role answer/);
    return 'nobody';
  }
  if (result.structuredContent?.pending) return 'inbox';
  const text = textOf(result);
  if (text === 'yes') return 'counts';
  if (text === 'no' || text === 'nobody') return 'nobody';
  if (/a model may not answer it|not the model's/.test(text)) return 'refused';
  assert.match(text, /the role answer/);
  assert.equal(result.isError, true);
  return 'nobody';
}

// A server for these people, by their tokens; or, without any, one with a socket on which its own user looks into its inbox.
export async function startFor(t, people, { args = [], ...options }) {
  const socket = people ? undefined : path.join(scratchFolder(t), 'nod.sock');
  const whose = people ? ['--token-file', tokenFile(t, people)] : ['--http', `unix:${socket}`];
  return Object.assign(await startHttp(t, 'consent-server', { args: [...whose, ...args], ...options }), { socket });
}

// What waits in the inbox, as somebody sees it who sees all. A test with people of its own has its own (server.items).
async function itemsOf(server, tool) {
  if (server.items) return server.items();
  const ask = server.socket ? fetchOver(http.request, { socketPath: server.socket }) : fetch;
  const reply = await ask(new URL(`/api/elicitation?tool=${tool}&limit=200`, server.url), { headers: server.socket ? {} : { Authorization: `Bearer ${token('root')}` } });
  if (reply.status === 404) return []; // there is no inbox
  if (reply.status === 429) return pause(50).then(() => itemsOf(server, tool)); // of one user only so many may wait for the store
  assert.equal(reply.status, 200);
  return (await reply.json()).items;
}

export const ways = {
  async 'form 2025'(server, token, tool) {
    const peer = await new HttpPeer(server.url, { token: token }).initialize(opens(tool) ? LINKS : FORMS);
    try {
      await peer.send({ id: 'call', method: 'tools/call', params: { name: tool, arguments: unique() } });
      for (;;) {
        const message = await peer.next((one) => one.method === 'elicitation/create' || one.id === 'call', 'a question or the end');
        if (!message.method) return endOf(message.result, message.error);
        assert.equal((await peer.send({ id: message.id, result: yesTo(tool) })).status, 202);
        if (!/page|secret|account/.test(tool)) continue;
        await peer.send({ id: 'ping', method: 'ping' }); // the page decides: that it is opened ends nothing
        await pause(300);
        const [end] = peer.inbox.rest((one) => one.id === 'call');
        return end ? endOf(end.result, end.error) : 'inbox';
      }
    } finally {
      peer.close();
    }
  },
  async 'round 2026'(server, token, tool) {
    const client = new Modern(server.url, { token: token, capabilities: opens(tool) ? LINKS : FORMS });
    const args = unique();
    let reply = await client.call(tool, args);
    while (reply.result?.resultType === 'input_required' && !Object.values(reply.result.inputRequests ?? {}).some((one) => one.params.url?.includes('/ask/'))) {
      const inputResponses = Object.fromEntries(Object.keys(reply.result.inputRequests).map((key) => [key, yesTo(tool)]));
      const retry = client.call(tool, args, { requestState: reply.result.requestState, inputResponses });
      // The page decides: that it is opened ends nothing, and the retry is held.
      reply = await (/page|secret|account/.test(tool) ? Promise.race([retry, pause(1500)]) : retry);
      if (!reply) return retry.catch(() => {}), 'inbox';
    }
    return reply.result?.resultType === 'input_required' ? 'inbox' : endOf(reply.result, reply.error);
  },
  async 'ahead 2026'(server, token, tool) {
    const client = new Modern(server.url, { token: token, capabilities: FORMS });
    const reply = await client.call(tool, unique(), { inputResponses: { [keyOf(tool)]: yesTo(tool) } });
    return reply.result?.resultType === 'input_required' ? 'asked' : endOf(reply.result, reply.error);
  },
  async 'ahead 2026, declares nothing'(server, token, tool) {
    const client = new Modern(server.url, { token: token, capabilities: {} });
    const reply = await client.call(tool, unique(), { inputResponses: { [keyOf(tool)]: yesTo(tool) } });
    if (reply.error?.code === -32021) return 'nobody';
    return endOf(reply.result, reply.error);
  },
  async task(server, token, tool) {
    const client = new Modern(server.url, { token: token, capabilities: TASKS });
    const args = unique();
    const began = await client.call(`task_${tool}`, args);
    assert.equal(began.result?.resultType, 'task', began.text);
    const { taskId } = began.result;
    for (const until = Date.now() + PATIENCE_MS; ;) {
      const { result } = await client.request('tasks/get', { taskId });
      if (result.status === 'completed') return endOf(result.result);
      if (result.status === 'failed') return endOf(null, result.error);
      if (result.status === 'input_required') {
        for (const key of Object.keys(result.inputRequests)) await client.request('tasks/update', { taskId, inputResponses: { [key]: yesTo(tool) } });
      } else if ((await itemsOf(server, `task_${tool}`)).some((item) => item.arguments.call === args.call)) {
        const tried = await client.request('tasks/update', { taskId, inputResponses: { [keyOf(tool)]: yesTo(tool) } });
        assert.ok(tried.error || tried.result, tried.text);
        return 'inbox';
      }
      assert.ok(Date.now() < until, 'the task never ends');
      await pause(25);
    }
  },
  async model(server, token, tool) {
    const peer = await new HttpPeer(server.url, { token: token }).initialize({});
    try {
      await peer.send({ id: 'call', method: 'tools/call', params: { name: tool, arguments: unique() } });
      const { result, error } = await peer.next((one) => one.id === 'call', 'the end');
      if (!result?._meta?.elicitationPending) return endOf(result, error);
      const { elicitId } = result._meta.elicitationPending;
      await peer.send({ id: 'answer', method: 'tools/call', params: { name: 'sendElicitationResult', arguments: { elicitId, ...yesTo(tool) } } });
      const end = await peer.next((one) => one.id === 'answer', 'the end');
      return endOf(end.result, end.error);
    } finally {
      peer.close();
    }
  },
  async view(server, token, tool) {
    const peer = await new HttpPeer(server.url, { token: token }).initialize(VIEWS);
    try {
      const args = unique();
      await peer.send({ id: 'call', method: 'tools/call', params: { name: tool, arguments: args } });
      peer.send({ id: 'questions', method: 'tools/call', params: { name: 'nodQuestions', arguments: { tool, arguments: args } } }).catch(() => {}); // it is held
      // A call whose view is slow returns a pending result that names the view, and is answered there all the same.
      const waits = (one) => one.id === 'call' && one.result?._meta?.ui;
      const message = await peer.next((one) => (one.id === 'call' && !waits(one)) || one.id === 'questions', 'a question or the end');
      if (message.id === 'call') return endOf(message.result, message.error);
      const [question] = JSON.parse(textOf(message.result)).questions;
      if (!question) return endOf((await peer.next((one) => one.id === 'call', 'the end')).result);
      await peer.send({ id: 'answer', method: 'tools/call', params: { name: 'nodAnswer', arguments: { nonce: question.nonce, ...yesTo(tool) } } });
      const end = await peer.next((one) => (one.id === 'call' && !waits(one)) || (one.id === 'answer' && one.result?._meta?.nod?.ended), 'the end');
      return endOf(end.result, end.error);
    } finally {
      peer.close();
    }
  },
  // A request of 2026 over HTTP has a question only with the handle of the pending result.
  async 'view 2026'(server, token, tool) {
    const client = new Modern(server.url, { token, capabilities: VIEWS });
    const { result, error } = await client.call(tool, unique());
    if (!result?._meta?.ui) return endOf(result, error);
    const { callId } = result.structuredContent;
    const [question] = JSON.parse(textOf((await client.call('nodQuestions', { callId, now: true })).result)).questions;
    if (!question) return endOf(result);
    const end = await client.call('nodAnswer', { nonce: question.nonce, ...yesTo(tool) });
    return end.result._meta?.nod?.ended ? endOf(end.result) : endOf(result);
  },
};
