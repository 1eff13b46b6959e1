// One question: what it says, the form, the decision, and in the same place what became of it.
//
// Nothing is approved by accident: the buttons do nothing before a moment of calm (calm.js), nor to a pointer under which they
// have moved, and say so; Enter in a line sends data and never gives consent; what is destructive wants its box ticked or a
// second press (form.js).
import { el, button, select, said, folded, tell, timeAgo, timeLeft, clock, exact, lasting, max, now, unseen } from './dom.js';
import { num, isObject, entries, parse, write } from './json.js';
import { values } from './tree.js';
import { makeForm, makeSure } from './form.js';
import { hasty, isCalm, stir } from './calm.js';

const MOVED_MS = 500;

const shapes = { accepted: '✓', declined: '✕', cancelled: '○', expired: '–', withdrawn: '↩' };
const ends = {
  expired: 'Expired: nobody answered in time. The agent was told.',
  withdrawn: 'Withdrawn: the call ended before anybody answered.',
  unsupported: 'Nobody could be asked, and the agent was told.',
  invalid: 'The answers did not fit what was asked, and the agent was told.',
};
const places = { page: '', inbox: '', api: ' through the API', terminal: ' in a terminal' };
const isConsent = (item) => item.consent || item.kind === 'approval';
const isApproval = (item) => isConsent(item) || (!item.page && (item.destructive || item.kind === 'url'));
// A required box was left at no. If the answer is not shown to this reader, that may be so, unless it is consent.
function saysNo(item) {
  const { required = [], properties } = item.schema ?? {};
  const content = item.sent ?? item.answer?.content;
  return required.some((name) => properties?.[name]?.type === 'boolean' && (content ? content[name] !== true : !isConsent(item)));
}
const stateWord = (item) => ({ accepted: isApproval(item) && !saysNo(item) ? 'approved' : 'answered', cancelled: 'dismissed' })[item.state] ?? item.state;
const shape = (item) => shapes[item.state] ?? '•';
const has = (object) => isObject(object) && entries(object).length > 0;

export const wasAnswered = (item) => item.answer?.by && !ends[item.state];
export const isPending = (item) => item.state === 'pending';
export const nameOf = (item) => item.title || item.tool;

// The message of an approval ends with the arguments, for clients that show nothing else. Here they have their own place: all of
// them, if they were cut there; and what cannot be seen is a mark in both. An agent may have written it: each step is linear.
const CUT = '\n\nNot shown: ';
const CUT_END = /^[\d,]{1,20} bytes? of the arguments\. Whoever made the call has all of them, and so has the inbox if this question is there\.$/;
const unmarked = (value) => write(value).replace(/<[\w+×,]+>|\\u[\da-f]{4}|\\[bfrt]/g, '').replace(unseen, '');
function cutMessage(message) {
  const at = message.lastIndexOf(CUT);
  if (at < 0 || !CUT_END.test(message.slice(at + CUT.length))) return message;
  const from = max(...['\n\n{', '\n\nArguments: {'].map((begin) => message.slice(0, at).lastIndexOf(begin)));
  return from < 0 ? message : message.slice(0, from);
}
export function messageOf({ message = '', arguments: given }) {
  const from = message.endsWith('}') ? message.search(/\n\n(?:Arguments: )?\{/) : -1;
  try {
    return from >= 0 && unmarked(parse(message.slice(message.indexOf('{', from)))) === unmarked(given) ? message.slice(0, from) : has(given) ? cutMessage(message) : message;
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
export const labelOf = (item) => el('span.label', said(nameOf(item)), ' · ', said(item.principal), item.client && [' · ', said(item.client.name ?? 'a client')]);

export const badge = (item) => el(`span.badge.${item.state}`, `${shape(item)} ${stateWord(item)}`);

// What became of a question, as a sentence.
export function outcomeText(item, me) {
  const { by, via, at } = item.answer ?? {};
  const word = stateWord(item);
  if (ends[item.state]) return ends[item.state];
  if (by === me && via === 'page') return `${word[0].toUpperCase()}${word.slice(1)} by you, ${clock(at)}`;
  return `${by === me ? 'You' : by || 'Somebody'} ${word} this${places[via] ?? ` in ${item.client?.name || 'the client'}`}`;
}

function head(item) {
  return el('header',
    el('div.title', said(nameOf(item), 'h2', { tabindex: -1, dir: 'auto' }),
      item.destructive && el('span.tag', { title: 'The tool says that what it does may not be undone' }, '▲ Destructive')),
    el('p.who', said(item.principal, 'b'), item.client && [' through ', said(item.client.name ?? 'a client')], ' · ', said(`${item.server ? `${item.server}.` : ''}${item.tool}`, 'code'), item.approves && [', for ', said(item.approves, 'code')],
      ' · ', timeAgo(item.askedAt), isPending(item) && timeLeft(item)));
}

const section = (title, ...nodes) => el('section', el('h3', title), nodes);

function address(item) {
  const copy = button('Copy address', async () => {
    await navigator.clipboard?.writeText(item.url);
    copy.textContent = 'Copied';
  });
  return section('Address to open', folded(item.url, 'p.v.address'),
    el('p.help', 'It is no link here. See where it leads, copy it, and open it yourself. ', copy));
}

// A page of this server's own, in a window of its own. Only its path counts: it is opened where the person has signed in.
const openPage = (item) => open(new URL(item.page).pathname, '_blank', 'noopener');

const message = (item) => folded(messageOf(item), 'p.message', { limit: 1500, lines: 20 });
// The arguments, with what their schema says once it is known. lookUp() -> the question, read alone.
function given(item, lookUp) {
  if (!has(item.arguments)) return section('Arguments', el('p.help', 'The call has none.'));
  const { node, inOrder } = values('Arguments', item.arguments, item.inputSchema);
  if (!item.inputSchema) lookUp?.().then(({ ok, body }) => ok && inOrder(body.inputSchema));
  return node;
}

function details(item) {
  const rows = { Question: item.id, Call: item.executionId, Server: item.server, Tool: item.tool, Approves: item.approves, Asked: exact(item.askedAt), Ends: item.expiresAt && exact(item.expiresAt),
    Client: item.client && `${item.client.name} ${item.client.version ?? ''}`, Attempt: num(item.attempt) > 1 && item.attempt.text };
  return el('details.details', { ontoggle: ({ target }) => target.open && target.scrollIntoView({ block: 'nearest' }) }, el('summary', 'Details'),
    el('dl', Object.entries(rows).map(([name, value]) => value && el('div', el('dt', name), said(value, 'dd')))));
}

function outcome(item, me) {
  const { tookMs, reason, content, at } = item.answer ?? {};
  const { result, state } = item.call ?? {};
  const text = outcomeText(item, me);
  return el(`section.outcome.${item.state}`,
    el('p.verdict', el('span.shape', { 'aria-hidden': 'true' }, shape(item)), ' ', said(text, 'span'),
      !ends[item.state] && [at && !/by you/.test(text) && [', ', timeAgo(at)], tookMs ? el('span.took', `, after ${lasting(num(tookMs))}.`) : '.']),
    reason && el('p', 'Reason: ', folded(reason, 'q')),
    has(content) && values('What was answered', content, item.schema).node,
    result && el('p.result', 'Result: ', folded(result)),
    state === 'running' && el('p.help', 'The tool is at work.'));
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
  const word = () => `${item.page ? 'Open the page' : approval ? 'Approve' : 'Submit'}${chosen() ? ' and remember' : ''}`;
  const remember = offers.length > 0 && select('Remember this approval', [['', 'Only this time'], ...offers.map((offer, i) => [i, offer.label])], { onchange: remembered });
  const kept = el('p.help.kept', { role: 'status' });
  const yes = button(word(), approve, { class: `primary${destructive ? ' danger' : ''}` });
  const sure = makeSure(yes, form, { approval, destructive, word });
  const no = button('Decline', (event) => send('decline', event));
  const off = button('Dismiss', (event) => send('cancel', event), { class: 'quiet', title: 'Close it with neither yes nor no' });
  const more = button('Add reason', () => (showReason(), reason.focus()), { class: 'quiet' });
  const note = el('p.note', { role: 'alert', hidden: true });
  const reason = el('input', { id: `reason-${item.id}`, type: 'text', maxlength: 600 });
  const how = el('span.opt', ' optional');
  const why = el('div.field', { hidden: true }, el('label', { for: reason.id }, 'Reason for your decision', how), reason);
  const bar = el('footer.bar', why, remember && el('div.remember', remember, kept), el('div.buttons', no, more, off, yes),
    el('div.under', el('p.meaning', approval ? 'If you decline, it is not allowed, and the agent is told so.' : 'If you decline, the agent is told so, and gets no answer.'), note));
  const body = el('div.body', message(item), item.page ? el('p.help', item.secret && ['The secret ', said(item.secret, 'code'), ' is asked for. '], 'This is answered on a page of its own.') : item.url && address(item), given(item, on.lookUp), form.fields.length > 0 && section('Your answer', form.node), details(item));
  view.node = el('article.ask', { 'aria-label': said(nameOf(item)).textContent }, head(item), body, bar);

  function showReason() {
    why.hidden = false;
    more.disabled = true;
  }
  // What is remembered is read in full before the yes: a closed list may be too narrow for it.
  function remembered() {
    kept.textContent = chosen() ? `Your yes will be remembered for the tool ${item.approves ?? item.tool}: ${chosen().label}. It can be revoked under Remembered.` : '';
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
    if (!on.live()) return 'The connection is lost: nothing was sent. What you wrote is still here.';
    if (Date.parse(item.expiresAt) <= now()) return 'The time for this is over: nothing was sent.';
    if (one && hasty()) return hasty();
    if (event?.detail && movedUnder(one, { x: event.clientX, y: event.clientY })) return 'The buttons have just moved. Please press again.';
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
    stir('This question has only just come into view.');
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
    else if (status === 0) tell(note, 'The server cannot be reached. What you wrote is still here.');
    else if (status !== 200 && isPending(view.item)) tell(note, problem?.detail ?? 'That did not work. Please try again.');
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
    how.textContent = ' optional. Enter declines, Esc goes back.';
    showReason();
    reason.focus();
  };
  function enter(field) {
    if (field === reason) return declining ? send('decline') : tell(note, 'Press the button that you mean.');
    if (approval) tell(note, `Enter alone approves nothing: press ${word()}, or Ctrl and Enter.`);
    else approve();
  }
  view.node.addEventListener('keydown', (event) => {
    const { key, target, repeat } = event;
    if (key === 'Enter' && repeat && bar.contains(target)) event.preventDefault(); // a key that is held is one press
    if (key === 'Escape' && target === reason && declining) {
      declining = false;
      how.textContent = ' optional';
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
  const onward = button('Next', on.next), asksOn = el('span', { role: 'status' });
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
    const text = again ? 'This call has another question.' : view.item.call?.state === 'waiting' ? 'This call waits for another answer.' : '';
    if (asksOn.textContent !== text) asksOn.textContent = text;
    onward.textContent = again ? 'Its next question' : 'Next';
    onward.classList.toggle('primary', Boolean(again));
  };
  if (!isPending(item)) view.ended(item, on.me);
  return view;
}
