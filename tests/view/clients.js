// Clients that show views and have no forms, in either era, as the tests of the view use them.
//
//   const chat = await chats['2025'](t, server)      chat.call(tool, args) -> the result; chat.request(method, params)
import { HttpPeer, textOf } from '../wire/harness.js';
import { Modern } from '../wire/modern.js';

export const UI = { extensions: { 'io.modelcontextprotocol/ui': { mimeTypes: ['text/html;profile=mcp-app'] } } };

let last = 0;

// A call may be held for longer than the patience of one look.
async function late(peer, id, what, looks = 4) {
  return peer.inbox.next((one) => one.id === id, what).catch((error) => {
    if (looks === 1) throw error;
    return late(peer, id, what, looks - 1);
  });
}

async function chat2025(t, server, { token, capabilities = UI, version } = {}) {
  const peer = new HttpPeer(server.url, { token, version });
  t.after(() => peer.close());
  await peer.initialize(capabilities);
  const request = async (method, params = {}) => {
    const id = `r${++last}`;
    await peer.send({ id, method, params });
    const message = await late(peer, id, method);
    return { result: message.result, error: message.error };
  };
  return { peer, initialized: peer.initialized.result, request };
}

async function chat2026(t, server, { token, capabilities = UI } = {}) {
  const modern = new Modern(server.url, { token, capabilities });
  return { modern, request: (method, params) => modern.request(method, params) };
}

const whole = (make) => async (t, server, options) => {
  const chat = await make(t, server, options);
  chat.call = async (name, args = {}) => {
    const { result, error } = await chat.request('tools/call', { name, arguments: args });
    if (error) throw Object.assign(new Error(error.message), error);
    return result;
  };
  // What waits, as a view sees it.
  chat.questions = async (args) => JSON.parse(textOf(await chat.call('nodQuestions', args)));
  chat.question = async (args) => (await chat.questions(args)).questions[0];
  chat.answer = async (question, answer) => chat.call('nodAnswer', { nonce: question.nonce, action: 'accept', ...answer });
  chat.word = (question, word) => chat.answer(question, { content: { word } });
  return chat;
};

export const chats = { 2025: whole(chat2025), 2026: whole(chat2026) };
