// The view in a chat (MCP Apps): what a tool asks, drawn as the inbox draws it, inside the host's frame.
//
// It speaks to its host by postMessage, and to the server by two tools that the host passes on: nodQuestions, which is
// held until there is something to show, and nodAnswer. It asks for questions as soon as the host knows it, because some
// hosts tell it nothing before the call has ended. What the host does tell narrows the list: the tool, its arguments, the
// id of the request. What is of another session's call, or of any call in 2026, is given for the handle of its pending
// result alone. One question is drawn alone, several as a list. It never guesses.
//
// A question that waits stays, unless it turns out to be of another call before anybody has touched it: what a person has
// begun to type is theirs.
//
// Nothing is shown for a call that asks nothing. Nothing is loaded from anywhere.
import { words } from './words.js';
import { el, button, said, setNow, tick } from './dom.js';
import { parse, write } from './json.js';
import { makeAsk, gistOf, labelOf, nameOf } from './ask.js';
import { onCalm } from './calm.js';

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
    facts.callId = pending ? callId ?? result._meta?.nod?.callId : undefined; // opens the question
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

let turn = 0, live = false, ended = false; // ended: the call has, as far as the host knows
const since = Date.now();

const KNOWN_MOST = 64;
const touched = (nonce) => asks.get(nonce).view.touched();
// A nonce begins with the id of its question, and ids of one round are in order.
const asked = (a, b) => Date.parse(a.askedAt) - Date.parse(b.askedAt) || (a.nonce < b.nonce ? -1 : 1);
// What is shown and waits, as it was asked: it may come in any order. What somebody is at is known first.
const unanswered = () => [...asks.values()].map(({ item }) => item).filter(({ nonce }) => pending(nonce)).sort(asked).map(({ nonce }) => nonce);
const known = () => unanswered().sort((a, b) => touched(b) - touched(a)).slice(0, KNOWN_MOST);
const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

// Asks what waits, again and again, until the call has ended. A newer round, which knows more, ends an older one. It looks
// at once: what is shown may be of other calls than its own. Of another call than the view's, until its question is over.
async function ask(given = facts) {
  const mine = ++turn;
  let pause = AGAIN_MS, at_once = unanswered().length > 0;
  while (mine === turn && !over && can.serverTools && Date.now() - since < LONGEST_MS && (given === facts || unanswered().length)) {
    try {
      const began = Date.now();
      const { content } = await serverTool('nodQuestions', { ...given, known: known(), ...(at_once ? { now: true } : {}) });
      if (mine !== turn) return;
      const { now: at, ...told } = parse(texts(content));
      setNow(at);
      live = true;
      pause = AGAIN_MS;
      const news = arrange(told);
      if (!news && !at_once && Date.now() - began < AGAIN_MS) await sleep(AGAIN_MS); // it should have been held
      at_once = false;
    } catch {
      live = false;
      await sleep(pause);
      pause = Math.min(2 * pause, AGAIN_MOST_MS);
    }
    current()?.view.refresh();
  }
}

// The call has ended, and so have its questions: one more look says how. What waits then belongs to other calls, and goes,
// unless somebody is answering it here.
async function rest() {
  const mine = ++turn;
  ended = true;
  try {
    if (unanswered().length && can.serverTools) {
      const told = parse(texts((await serverTool('nodQuestions', { known: known(), now: true })).content));
      if (mine === turn) arrange({ ...told, questions: [], waiting: [...told.questions, ...told.waiting].map(({ nonce }) => ({ nonce, mine: false })) });
    }
  } catch {
    // it is not known how they ended
    for (const nonce of unanswered()) if (mine === turn && !touched(nonce) && !asks.get(nonce).sending) asks.delete(nonce);
  }
  if (mine !== turn) return;
  for (const one of asks.values()) if (one.item.call?.state === 'running') close(one, { call: null });
  draw();
  const [left] = unanswered();
  if (left) ask({ callId: asks.get(left).item.executionId });
}

// What a call has led to is the model's to read. The host gives it what it takes.
async function handOn(result, item) {
  const { updateModelContext: context, message } = can;
  const text = texts(result.content);
  const takes = { text: 'text', image: 'image', audio: 'audio', resource: 'resource', resource_link: 'resourceLink' };
  const done = words.toModel(nameOf(item));
  try {
    if (context) {
      const content = (result.content ?? []).filter(({ type }) => context[takes[type]] || (type === 'text' && !Object.keys(context).length));
      await request('ui/update-model-context', { content: [{ type: 'text', text: done }, ...content], ...(context.structuredContent && result.structuredContent ? { structuredContent: result.structuredContent } : {}) });
    }
    if (message) await request('ui/message', { role: 'user', content: [{ type: 'text', text: context ? `${done} ${words.inContext}` : `${done} ${words.itsResult} ${text}` }] });
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
    const { taken, ended: end } = result._meta?.nod ?? {};
    if (taken) {
      close(one, { state: states[action], answer: { by: one.item.principal, via: 'page', at: new Date().toISOString() }, sent: content, call: end ? { state: 'finished', result: texts(result.content) } : ended ? null : { state: 'running' } });
      if (end) handOn(result, one.item);
      else if (!ended) ask();
      return { status: 200 };
    }
    const told = parse(texts(result.content));
    if (told.state) return close(one, { state: told.state, answer: { by: told.by, via: told.via } }), { status: 409 };
    return told.errors ? { status: 422, body: told } : { status: 403, body: told };
  } catch ({ message, told }) {
    if (told && !ended) ask();
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

// What the server has told: true if there was something new in it. A question that waits and was not given again stays; if
// it is of another call, only if somebody has touched it.
function arrange({ questions, ended: over, waiting }) {
  const before = [...asks.keys()].join();
  const closed = over.filter(({ nonce }) => pending(nonce) && !asks.get(nonce).sending);
  for (const { nonce, state, by, via, at } of closed) close(asks.get(nonce), { state, answer: { by, via, at } });
  const stay = new Set([...questions, ...waiting.filter(({ nonce, mine }) => mine || (asks.has(nonce) && touched(nonce)))].map(({ nonce }) => nonce));
  for (const [nonce, { sending }] of [...asks]) if (pending(nonce) && !stay.has(nonce) && !sending) asks.delete(nonce);
  for (const item of questions.sort(asked))
    if (!asks.has(item.nonce)) asks.set(item.nonce, { item, view: makeAsk(item, { live: () => live, me: item.principal, next: () => {}, resolve }) });
  draw();
  return closed.length > 0 || before !== [...asks.keys()].join();
}

// A question that waits comes before one that is over.
function draw() {
  const waits = unanswered();
  const before = current();
  if (!asks.has(chosen) || (!pending(chosen) && waits.length)) chosen = waits[0] ?? [...asks.keys()].pop() ?? null;
  const now = current();
  if (before && before !== now) before.view.hidden();
  const list = waits.length > 1 && el('nav', { class: 'asks', 'aria-label': words.waitingList }, waits.map((nonce) => {
    const { item } = asks.get(nonce);
    return button([said(gistOf(item), 'b.gist'), labelOf(item)], () => ((chosen = nonce), draw()), { 'aria-current': String(nonce === chosen) });
  }));
  if (now?.view.node.parentNode === root) { // it stays where it is, with the focus that is in it
    root.querySelector('.asks')?.remove();
    if (list) root.prepend(list);
  } else {
    root.replaceChildren(...[list, now?.view.node].filter(Boolean));
  }
  if (now && now !== before && now.item.state === 'pending') now.view.shown();
}

// This host passes nothing on to the server, so it cannot be answered here.
function elsewhere(address) {
  const [pass, at, inbox, stop] = words.elsewhere;
  const there = address && can.openLinks && button(words.openThere, () => request('ui/open-link', { url: address }), { class: 'primary' });
  root.replaceChildren(el('p', { class: 'said' }, pass,
    address ? [at, said(address, 'code')] : inbox, stop, there));
}

// --- its life ---

let size = '';
function measure() {
  const width = Math.ceil(page.getBoundingClientRect().width), height = Math.max(1, Math.ceil(document.body.getBoundingClientRect().height));
  if (size === (size = `${width} ${height}`)) return;
  notify('ui/notifications/size-changed', { width, height });
}

addEventListener('message', heard);
addEventListener('keydown', (event) => event.key === 'Enter' && (event.ctrlKey || event.metaKey) && !event.repeat && current()?.view.commit());
onCalm(() => current()?.view.refresh());
setInterval(() => (tick(), current()?.view.refresh()), 1000);

const { hostCapabilities, hostContext } = await request('ui/initialize', { appInfo: { name: 'nod', version: '1.0.0' }, appCapabilities: { availableDisplayModes: ['inline'] }, protocolVersion: VERSION });
can = hostCapabilities ?? {};
context(hostContext ?? {});
notify('ui/notifications/initialized');
ask();
measure();
new ResizeObserver(measure).observe(document.body);
