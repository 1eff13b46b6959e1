// One question: what it says, the form, the decision, and in the same place what became of it.
//
// Nothing is approved by accident: the buttons do nothing before a moment of calm (calm.js), nor to a pointer under which they
// have moved, and say so; Enter in a line sends data and never gives consent; what is destructive wants its box ticked or a
// second press (form.js).
import { words } from './words.js';
import { el, button, select, said, folded, tell, timeAgo, timeLeft, clock, exact, lasting, max, now, unseen } from './dom.js';
import { num, isObject, entries, parse, write } from './json.js';
import { values } from './tree.js';
import { makeForm, makeSure } from './form.js';
import { hasty, isCalm, stir } from './calm.js';

const MOVED_MS = 500;

const shapes = { accepted: '✓', declined: '✕', cancelled: '○', expired: '–', withdrawn: '↩' };
const { ends } = words;
const isConsent = (item) => item.consent || item.kind === 'approval';
const isApproval = (item) => isConsent(item) || (!item.page && (item.destructive || item.kind === 'url'));
// A required box was left at no. If the answer is not shown to this reader, that may be so, unless it is consent.
function saysNo(item) {
  const { required = [], properties } = item.schema ?? {};
  const content = item.sent ?? item.answer?.content;
  return required.some((name) => properties?.[name]?.type === 'boolean' && (content ? content[name] !== true : !isConsent(item)));
}
const stateWord = ({ state, ...item }) => words.outcomes[state === 'accepted' ? (isApproval(item) && !saysNo(item) ? 'approved' : 'answered') : state] ?? state;
const shape = (item) => shapes[item.state] ?? '•';
const has = (object) => isObject(object) && entries(object).length > 0;

export const wasAnswered = (item) => item.answer?.by && !ends[item.state];
export const isPending = (item) => item.state === 'pending';
export const nameOf = (item) => item.title || item.tool;

// The message of an approval ends with the arguments, for clients that show nothing else. Here they have their own place: all of
// them, if they were cut there; and what cannot be seen is a mark in both. An agent may have written it: each step is linear, and
// what the server has added begins where it last could, because there are no empty lines in that. Other questions have no such end.
const CUT = '\n\nNot shown: ';
const CUT_END = /^[\d,]{1,20} bytes? of the arguments\. Whoever made the call has all of them, and so has the inbox if this question is there\.$/;
const unmarked = (value) => write(value).replace(/<[\w+×,]+>|\\u[\da-f]{4}|\\[bfrt]/g, '').replace(unseen, '');
function addedAt(message) {
  const at = max(...['\n\n{', '\n\nArguments: {'].map((begin) => message.lastIndexOf(begin)));
  return at < 0 ? undefined : at;
}
function cutMessage(message) {
  const at = message.lastIndexOf(CUT);
  if (at < 0 || !CUT_END.test(message.slice(at + CUT.length))) return message;
  return message.slice(0, addedAt(message.slice(0, at)));
}
export function messageOf({ kind, message = '', arguments: given }) {
  if (kind !== 'approval' || !has(given)) return message;
  const from = message.endsWith('}') ? addedAt(message) : undefined;
  try {
    return from >= 0 && unmarked(parse(message.slice(message.indexOf('{', from)))) === unmarked(given) ? message.slice(0, from) : cutMessage(message);
  } catch {
    return message;
  }
}

// A question in one line: the message, and the arguments if it ended with them, because it may say nothing else of what it is about.
const GIST_MOST = 1000;
export function gistOf(item) {
  const text = messageOf(item);
  const given = text.length < item.message?.length ? entries(item.arguments).map(([name, value]) => `${name}: ${typeof value === 'string' ? value : write(value)}`).join(', ') : '';
  return `${text} ${given}`.trim().slice(0, GIST_MOST).replace(/[\ud800-\udbff]$/, '') || nameOf(item);
}
// Whose tool asks, for whom, and through what.
export const labelOf = (item) => el('span.label', said(nameOf(item)), ' · ', said(item.principal), item.client && [' · ', said(item.client.name ?? words.aClient)]);

export const badge = (item) => el(`span.badge.${item.state}`, `${shape(item)} ${stateWord(item)}`);

// What became of a question, as a sentence.
export function outcomeText(item, me) {
  const { by, via, at } = item.answer ?? {};
  const word = stateWord(item);
  if (ends[item.state]) return ends[item.state];
  if (by === me && via === 'page') return words.byYou(word, clock(at));
  return words.bySomebody(by === me ? words.you : by || words.somebody, word, words.places[via] ?? words.inClient(item.client?.name));
}

function head(item) {
  return el('header',
    el('div.title', said(nameOf(item), 'h2', { tabindex: -1, dir: 'auto' }),
      item.destructive && el('span.tag', { title: words.destructiveWhat }, words.destructive)),
    el('p.who', said(item.principal, 'b'), item.client && [words.through, said(item.client.name ?? words.aClient)], ' · ', said(`${item.server ? `${item.server}.` : ''}${item.tool}`, 'code'), item.approves && [words.forTool, said(item.approves, 'code')],
      ' · ', timeAgo(item.askedAt), isPending(item) && timeLeft(item)));
}

const section = (title, ...nodes) => el('section', el('h3', title), nodes);

function address(item) {
  const copy = button(words.copyAddress, async () => {
    await navigator.clipboard?.writeText(item.url);
    copy.textContent = words.copied;
  });
  return section(words.address, folded(item.url, 'p.v.address'),
    el('p.help', words.addressHelp, copy));
}

// A page of this server's own, in a window of its own. Only its path counts: it is opened where the person has signed in.
const openPage = (item) => open(new URL(item.page).pathname, '_blank', 'noopener');

const message = (item) => folded(messageOf(item), 'p.message', { limit: 1500, lines: 20 });
// The arguments, with what their schema says once it is known. lookUp() -> the question, read alone.
function given(item, lookUp) {
  if (!has(item.arguments)) return section(words.arguments, el('p.help', words.noArguments));
  const { node, inOrder } = values(words.arguments, item.arguments, item.inputSchema, !item.inputSchema && lookUp);
  if (!item.inputSchema) lookUp?.().then(({ ok, body }) => inOrder(ok && body.inputSchema));
  return node;
}

function details(item) {
  const rows = { id: item.id, call: item.executionId, server: item.server, tool: item.tool, plugin: item.plugin, approves: item.approves, asked: exact(item.askedAt), ends: item.expiresAt && exact(item.expiresAt),
    client: item.client && `${item.client.name} ${item.client.version ?? ''}`, attempt: num(item.attempt) > 1 && item.attempt.text };
  return el('details.details', { ontoggle: ({ target }) => target.open && target.scrollIntoView({ block: 'nearest' }) }, el('summary', words.details),
    el('dl', Object.entries(rows).map(([name, value]) => value && el('div', el('dt', words.detail[name]), said(value, 'dd')))));
}

function outcome(item, me) {
  const { tookMs, reason, content, at } = item.answer ?? {};
  const { result, state } = item.call ?? {};
  const text = outcomeText(item, me);
  return el(`section.outcome.${item.state}`,
    el('p.verdict', el('span.shape', { 'aria-hidden': 'true' }, shape(item)), ' ', said(text, 'span'),
      !ends[item.state] && [at && !/by you/.test(text) && [', ', timeAgo(at)], tookMs ? el('span.took', words.took(lasting(num(tookMs)))) : '.']),
    reason && el('p', words.reasonGiven, folded(reason, 'q')),
    has(content) && values(words.wasAnswered, content, item.schema).node,
    result && el('p.result', words.result(), folded(result)),
    state === 'running' && el('p.help', words.working));
}

// Read-only, for the history.
export const pastView = (item, me, lookUp) => el('div.past', message(item), given(item, lookUp), outcome(item, me), details(item));

const pointer = { x: -1, y: -1 };
addEventListener('pointermove', ({ clientX, clientY }) => Object.assign(pointer, { x: clientX, y: clientY }), true);
const inside = ({ left, right, top, bottom }, { x, y }) => x >= left && x <= right && y >= top && y <= bottom;

// on: live() -> may something be sent?; me; next(): the next question; resolve(id, body) -> a reply; lookUp() -> a reply with the question.
export function makeAsk(item, on) {
  const view = { item };
  const form = makeForm(item.schema, () => ((touched = true), sure.disarm()));
  const offers = item.remember ?? [];
  const approval = isApproval(item), { destructive } = item;
  let busy = false, touched = false, declining = false;

  const chosen = () => offers[remember.value];
  const word = () => (chosen() ? words.andRemember : String)(item.page ? words.openPage : approval ? words.approve : words.submit);
  const remember = offers.length > 0 && select(words.remember, [['', words.onlyOnce], ...offers.map((offer, i) => [i, offer.label])], { onchange: remembered });
  const kept = el('p.help.kept', { role: 'status' });
  const yes = button(word(), approve, { class: `primary${destructive ? ' danger' : ''}` });
  const sure = makeSure(yes, form, { approval, destructive, word });
  const no = button(words.decline, (event) => send('decline', event));
  const off = button(words.dismiss, (event) => send('cancel', event), { class: 'quiet', title: words.dismissWhat });
  const more = button(words.addReason, () => (showReason(), reason.focus()), { class: 'quiet' });
  const note = el('p.note', { role: 'alert', hidden: true });
  const reason = el('input', { id: `reason-${item.id}`, type: 'text', maxlength: 600 });
  const how = el('span.opt', words.optional);
  const why = el('div.field', { hidden: true }, el('label', { for: reason.id }, words.reason, how), reason);
  const bar = el('footer.bar', why, remember && el('div.remember', remember, kept), el('div.buttons', no, more, off, yes),
    el('div.under', el('p.meaning', approval ? words.meaningApproval : words.meaningForm), note));
  const body = el('div.body', message(item), item.page ? el('p.help', item.secret && [words.asksSecret[0], said(item.secret, 'code'), words.asksSecret[1]], words.ownPage) : item.url && address(item), given(item, on.lookUp), form.fields.length > 0 && section(words.yourAnswer, form.node), details(item));
  view.node = el('article.ask', { 'aria-label': said(nameOf(item)).textContent }, head(item), body, bar);

  function showReason() {
    why.hidden = false;
    more.disabled = true;
  }
  // What is remembered is read in full before the yes: a closed list may be too narrow for it.
  function remembered() {
    kept.textContent = chosen() ? words.willRemember(item.approves ?? item.tool, chosen().label) : '';
    sure.disarm();
  }

  // --- may something be sent? ---

  const decisions = [yes, no, off];
  const where = () => decisions.map((one) => one.getBoundingClientRect());
  let places = null, moves = []; // where the buttons are; where they were in the last half second
  // The button was not there when the pointer set out for it.
  const movedUnder = (one, point) => moves.some(({ until, was }) => until > performance.now() && !inside(was[decisions.indexOf(one)], point));
  // Why not, in words; null: because it is being sent, or over, which is seen.
  function obstacle(one, event) {
    if (busy || !isPending(view.item)) return null;
    if (!on.live()) return words.nothingSent;
    if (Date.parse(item.expiresAt) <= now()) return words.timeUp;
    if (one && hasty()) return hasty();
    if (event?.detail && movedUnder(one, { x: event.clientX, y: event.clientY })) return words.moved;
    return '';
  }
  function free(one, event) {
    const text = obstacle(one, event);
    if (text !== null) tell(note, text);
    return text === '';
  }

  // Buttons that do nothing say so, and keep the focus that they have.
  view.refresh = () => {
    for (const one of decisions) one.setAttribute('aria-disabled', String(obstacle() !== '' || !isCalm() || (one.matches(':hover') && movedUnder(one, pointer))));
  };
  function refreshLater() {
    view.refresh();
    setTimeout(view.refresh, MOVED_MS + 10);
  }
  // Something has grown. Scrolling moves them too, but that is the person's own doing.
  function look(grown) {
    const was = places;
    places = where();
    document.documentElement.style.setProperty('--bar', `${bar.offsetHeight}px`);
    if (!grown || !was || !places.some(({ left, top }, i) => Math.abs(left - was[i].left) > 4 || Math.abs(top - was[i].top) > 4)) return;
    moves = [...moves.filter(({ until }) => until > performance.now()), { until: performance.now() + MOVED_MS, was }];
    refreshLater();
  }
  const scrolled = () => look();
  const resized = new ResizeObserver(() => look(true));
  bar.addEventListener('pointerover', view.refresh);
  view.shown = () => {
    places = null;
    for (const node of [view.node, bar, ...decisions]) resized.observe(node);
    addEventListener('scroll', scrolled, true);
    stir(words.cameIntoView);
  };
  view.hidden = () => {
    resized.disconnect();
    removeEventListener('scroll', scrolled, true);
  };

  async function send(action, event) {
    if (!free({ accept: yes, decline: no, cancel: off }[action], event)) return;
    busy = true;
    view.refresh();
    tell(note, '');
    const accepted = action === 'accept';
    const { scope, match, for: time } = (accepted && chosen()) || {};
    const { status, body: problem } = await on.resolve(item.id, { action, content: accepted && item.kind !== 'url' ? form.content() : undefined, reason: (!(accepted && declining) && reason.value.trim()) || undefined,
      remember: scope && { scope, match, for: time } });
    busy = false;
    sure.disarm();
    if (status === 422) tell(note, form.refused(problem.errors ?? []) || problem.detail);
    else if (status === 0) tell(note, words.unreachableKept);
    else if (status !== 200 && isPending(view.item)) tell(note, problem?.detail ?? words.failed);
    view.refresh();
  }
  function approve(event) {
    if (!free(yes, event) || !form.check()) return;
    if (item.page) return openPage(item);
    if (sure.isSure()) send('accept', event);
  }
  view.touched = () => touched || reason.value !== ''; // somebody has begun to answer

  // --- keys ---

  // Ctrl+Enter: what is in hand. On Decline, or in a reason for it, that is no yes.
  view.commit = () => {
    const on = document.activeElement;
    if (on === reason && declining) send('decline');
    else if (on === no || on === off) on.click();
    else approve();
  };
  // The no is sent with Enter, and not before: what is typed is its reason.
  view.decline = () => {
    if (!isPending(view.item)) return;
    declining = true;
    how.textContent = words.declining;
    showReason();
    reason.focus();
  };
  function enter(field) {
    if (field === reason) return declining ? send('decline') : tell(note, words.meanWhich);
    if (approval) tell(note, words.enterNoConsent(word()));
    else approve();
  }
  view.node.addEventListener('keydown', (event) => {
    const { key, target, repeat } = event;
    if (key === 'Enter' && repeat && bar.contains(target)) event.preventDefault(); // a key that is held is one press
    if (key === 'Escape' && target === reason && declining) {
      declining = false;
      how.textContent = words.optional;
      reason.value = ''; // it was for the no, and goes with nothing else
      why.hidden = true;
      more.disabled = false;
      view.node.querySelector('h2').focus({ preventScroll: true });
    }
    if (key !== 'Enter' || repeat || event.isComposing || event.ctrlKey || event.metaKey || !target.matches('input:not([type=checkbox], [type=radio])')) return;
    event.preventDefault();
    enter(target);
  });

  // It has ended, whoever ended it: the same place says how.
  const onward = button(words.next, on.next), asksOn = el('span', { role: 'status' });
  view.ended = (next, me) => {
    const held = bar.contains(document.activeElement) || form.node.contains(document.activeElement);
    view.item = next;
    view.hidden();
    view.node.classList.add('over');
    const card = outcome(next, me);
    if (!bar.parentNode) return view.node.querySelector('.outcome').replaceWith(card);
    card.classList.add('fresh');
    bar.replaceWith(card, el('p.onward', asksOn, onward));
    form.node.parentNode?.remove();
    view.node.querySelector('.until')?.remove();
    if (held) onward.focus({ preventScroll: true });
  };
  // Its call has asked again, and that is here: the next question is that one.
  view.onward = (again) => {
    const text = again ? words.asksOn : view.item.call?.state === 'waiting' ? words.waitsOn : '';
    if (asksOn.textContent !== text) asksOn.textContent = text;
    onward.textContent = again ? words.nextOfCall : words.next;
    onward.classList.toggle('primary', Boolean(again));
  };
  if (!isPending(item)) view.ended(item, on.me);
  return view;
}
