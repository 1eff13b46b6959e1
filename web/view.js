// The view in a chat (MCP Apps): what a tool asks, drawn as the inbox draws it, inside the host's frame.
//
// It speaks to its host by postMessage, and to the server by two tools that the host passes on: nodQuestions, which is
// held until there is something to show, and nodAnswer. It asks for questions as soon as the host knows it, because some
// hosts tell it nothing before the call has ended. What the host does tell narrows the list: the tool, its arguments, the
// id of the request, the handle of a pending result. One question is drawn alone, several as a list. It never guesses.
//
// Nothing is shown for a call that asks nothing. Nothing is loaded from anywhere.
import { el, button, said, setNow, tick } from './dom.js';
import { parse, write } from './json.js';
import { makeAsk, gistOf, nameOf } from './ask.js';

const VERSION = '2026-01-26'; // of MCP Apps
const AGAIN_MS = 1000, AGAIN_MOST_MS = 15000; // after a request that failed
const LONGEST_MS = 3600000; // a view that nobody closes stops asking then

const root = document.getElementById('view');
const page = document.documentElement;

// --- the host ---

let serial = 0;
const waiting = new Map();
const post = (message) => window.parent.postMessage({ jsonrpc: '2.0', ...message }, '*');
const notify = (method, params = {}) => post({ method, params });

function request(method, params) {
  const id = ++serial;
  return new Promise((resolve, reject) => {
    waiting.set(id, { resolve, reject });
    post({ id, method, params });
  });
}

let can = {}, over = false;
const facts = {}; // what the host has told of the call: see nodQuestions
const answers = { ping: () => ({}), 'ui/resource-teardown': () => ((over = true), {}) };

function heard({ source, data }) {
  if (source !== window.parent || data?.jsonrpc !== '2.0') return;
  if (data.method && data.id !== undefined) {
    const answer = answers[data.method];
    return post(answer ? { id: data.id, result: answer() } : { id: data.id, error: { code: -32601, message: 'Method not found' } });
  }
  if (data.method) return notices[data.method]?.(data.params ?? {});
  const { resolve, reject } = waiting.get(data.id) ?? {};
  waiting.delete(data.id);
  if (data.error) reject?.(new Error(data.error.message));
  else resolve?.(data.result);
}

// Colours, fonts and radii of the host. A value with an address in it would be a request to elsewhere.
function dress({ theme, styles, safeAreaInsets }) {
  if (theme) page.dataset.theme = theme;
  for (const [name, value] of Object.entries(styles?.variables ?? {}))
    if (/^--(color|font|border|shadow)-[a-z0-9-]+$/.test(name) && typeof value === 'string' && !/url\(/i.test(value)) page.style.setProperty(name, value);
  if (safeAreaInsets) document.body.style.padding = ['top', 'right', 'bottom', 'left'].map((side) => `${Number(safeAreaInsets[side]) || 0}px`).join(' ');
}

function context(told) {
  dress(told);
  if (!told.toolInfo?.tool) return;
  facts.tool = told.toolInfo.tool.name;
  facts.requestId = told.toolInfo.id;
}

const texts = (content) => (content ?? []).filter(({ type }) => type === 'text').map(({ text }) => text).join('\n');

const notices = {
  'ui/notifications/host-context-changed': (told) => {
    const { tool, requestId } = facts;
    context(told);
    if (facts.tool !== tool || facts.requestId !== requestId) ask();
  },
  'ui/notifications/tool-input': ({ arguments: given }) => {
    facts.arguments = given ?? {};
    ask();
  },
  'ui/notifications/tool-result': (result) => {
    const { pending, callId, answerAt } = result.structuredContent ?? {};
    facts.callId = pending ? callId : undefined;
    if (!pending) return rest();
    if (can.serverTools) ask();
    else elsewhere(answerAt);
  },
  'ui/notifications/tool-cancelled': () => rest(),
};

// --- the server ---

async function serverTool(name, given) {
  const result = await request('tools/call', { name, arguments: given });
  if (result.isError) throw Object.assign(new Error(texts(result.content)), { told: true });
  return result;
}

let turn = 0, live = false;
const since = Date.now();

// Asks what waits, again and again, until the call has ended. A newer round, which knows more, ends an older one.
async function ask() {
  const mine = ++turn;
  let pause = AGAIN_MS;
  while (mine === turn && !over && can.serverTools && Date.now() - since < LONGEST_MS) {
    try {
      const { content } = await serverTool('nodQuestions', { ...facts, known: [...asks.keys()].filter((nonce) => pending(nonce)).slice(0, 64) });
      if (mine !== turn) return;
      const { now: at, questions, ended } = parse(texts(content));
      setNow(at);
      live = true;
      pause = AGAIN_MS;
      arrange(questions, ended);
    } catch {
      live = false;
      await new Promise((resolve) => setTimeout(resolve, pause));
      pause = Math.min(2 * pause, AGAIN_MOST_MS);
    }
    current()?.view.refresh();
  }
}

// The call has ended, and so have its questions: one more look says how. What waits then belongs to other calls.
async function rest() {
  const mine = ++turn;
  const left = [...asks].filter(([nonce, { sending }]) => pending(nonce) && !sending).map(([nonce]) => nonce);
  try {
    if (left.length && can.serverTools) arrange([], parse(texts((await serverTool('nodQuestions', { known: left.slice(0, 64), now: true })).content)).ended);
  } catch {
    // it is not known how they ended
  }
  if (mine !== turn) return;
  for (const nonce of left) if (pending(nonce)) asks.delete(nonce);
  for (const one of asks.values()) if (one.item.call?.state === 'running') close(one, { call: null });
  draw();
}

// What a call has led to is the model's to read. The host gives it what it takes.
async function handOn(result, item) {
  const { updateModelContext: context, message } = can;
  const text = texts(result.content);
  const takes = { text: 'text', image: 'image', audio: 'audio', resource: 'resource', resource_link: 'resourceLink' };
  const done = `The question of the tool ${nameOf(item)} was answered, and its call has ended.`;
  try {
    if (context) {
      const content = (result.content ?? []).filter(({ type }) => context[takes[type]] || (type === 'text' && !Object.keys(context).length));
      await request('ui/update-model-context', { content: [{ type: 'text', text: done }, ...content], ...(context.structuredContent && result.structuredContent ? { structuredContent: result.structuredContent } : {}) });
    }
    if (message) await request('ui/message', { role: 'user', content: [{ type: 'text', text: context ? `${done} Its result is in your context. Please go on.` : `${done} Its result: ${text}` }] });
  } catch {
    // the host has refused it: the person still sees it here, and the handle finds it
  }
}

const states = { accept: 'accepted', decline: 'declined', cancel: 'cancelled' };

async function resolve(id, { action, content, reason }) {
  const one = [...asks.values()].find(({ item }) => item.id === id);
  one.sending = true;
  try {
    const result = await serverTool('nodAnswer', { nonce: one.item.nonce, action, content: content && write(content), reason });
    const { taken, ended } = result._meta?.nod ?? {};
    if (taken) {
      close(one, { state: states[action], answer: { by: one.item.principal, via: 'page', at: new Date().toISOString() }, sent: content, call: ended ? { state: 'finished', result: texts(result.content) } : { state: 'running' } });
      if (ended) handOn(result, one.item);
      else ask();
      return { status: 200 };
    }
    const told = parse(texts(result.content));
    if (told.state) return close(one, { state: told.state, answer: { by: told.by, via: told.via } }), { status: 409 };
    return told.errors ? { status: 422, body: told } : { status: 403, body: told };
  } catch ({ message, told }) {
    if (told) ask();
    return told ? { status: 410, body: { detail: message } } : { status: 0 };
  } finally {
    one.sending = false;
  }
}

// --- what is shown ---

const asks = new Map(); // by nonce: item, view
let chosen = null;
const pending = (nonce) => asks.get(nonce)?.item.state === 'pending';
const current = () => asks.get(chosen);

function close(one, end) {
  one.item = { ...one.item, ...end };
  one.view.ended(one.item, one.item.principal);
  draw();
}

function arrange(questions, ended) {
  for (const end of ended) if (pending(end.nonce) && !asks.get(end.nonce).sending) close(asks.get(end.nonce), { state: end.state, answer: { by: end.by, via: end.via, at: end.at } });
  const left = new Set(questions.map(({ nonce }) => nonce));
  for (const [nonce, { sending }] of [...asks]) if (pending(nonce) && !left.has(nonce) && !sending) asks.delete(nonce);
  for (const item of questions.sort((a, b) => Date.parse(a.askedAt) - Date.parse(b.askedAt)))
    if (!asks.has(item.nonce)) asks.set(item.nonce, { item, view: makeAsk(item, { live: () => live, me: item.principal, next: () => {}, resolve }) });
  draw();
}

// A question that waits comes before one that is over.
function draw() {
  const open = [...asks].filter(([nonce]) => pending(nonce)).map(([nonce]) => nonce);
  const before = current();
  if (!asks.has(chosen) || (!pending(chosen) && open.length)) chosen = open[0] ?? [...asks.keys()].pop() ?? null;
  const now = current();
  if (before && before !== now) before.view.hidden();
  const list = open.length > 1 && el('nav', { class: 'asks', 'aria-label': 'What is waiting' }, open.map((nonce) => {
    const { item } = asks.get(nonce);
    return button([said(nameOf(item), 'b'), said(gistOf(item, 80), 'span', { class: 'gist' })], () => ((chosen = nonce), draw()), { 'aria-current': String(nonce === chosen) });
  }));
  if (now?.view.node.parentNode === root && Boolean(list) === Boolean(root.querySelector('.asks')) && !list) return;
  root.replaceChildren(...[list, now?.view.node].filter(Boolean));
  if (now && now !== before && now.item.state === 'pending') now.view.shown();
}

// This host passes nothing on to the server, so it cannot be answered here.
function elsewhere(address) {
  const open = address && can.openLinks && button('Open that page', () => request('ui/open-link', { url: address }), { class: 'primary' });
  root.replaceChildren(el('p', { class: 'said' }, 'A tool waits for your answer. This chat cannot pass it on: please answer ',
    address ? ['at ', said(address, 'code')] : 'in the inbox of the server', '. ', open));
}

// --- its life ---

let size = '';
function measure() {
  const width = Math.ceil(page.getBoundingClientRect().width), height = Math.max(1, Math.ceil(document.body.getBoundingClientRect().height));
  if (size === (size = `${width} ${height}`)) return;
  notify('ui/notifications/size-changed', { width, height });
}

addEventListener('message', heard);
addEventListener('keydown', (event) => event.key === 'Enter' && (event.ctrlKey || event.metaKey) && current()?.view.approve());
setInterval(() => (tick(), current()?.view.refresh()), 1000);

const { hostCapabilities, hostContext } = await request('ui/initialize', { appInfo: { name: 'nod', version: '1.0.0' }, appCapabilities: { availableDisplayModes: ['inline'] }, protocolVersion: VERSION });
can = hostCapabilities ?? {};
context(hostContext ?? {});
notify('ui/notifications/initialized');
ask();
measure();
new ResizeObserver(measure).observe(document.body);
