// One question: what it says, the form, the decision, and in the same place what became of it.
//
// Nothing is approved by accident: the buttons do nothing for half a second after the question came into view or they have
// moved, no field submits on Enter, and what is destructive wants its box ticked or a second press (form.js).
import { el, button, select, said, folded, tell, timeAgo, timeLeft, clock, exact, lasting, now } from './dom.js';
import { num, isObject, entries, parse, write } from './json.js';
import { tree } from './tree.js';
import { makeForm, makeSure } from './form.js';

const INERT_MS = 500;

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

// The message of an approval ends with the arguments, for clients that show nothing else. Here they have their own place.
export function messageOf({ message = '', arguments: given }) {
  const [tail, json] = /\n\n(?:Arguments: )?(\{[^]*\})$/.exec(message) ?? [];
  try {
    return json && write(parse(json)) === write(given) ? message.slice(0, -tail.length) : message;
  } catch {
    return message;
  }
}

// In one line: the message, and the arguments if it ended with them, because it may say nothing else of what it is about.
export function gistOf(item, most) {
  const text = messageOf(item);
  const given = text.length < item.message?.length ? entries(item.arguments).map(([name, value]) => `${name}: ${write(value)}`).join(', ') : '';
  return `${text} ${given}`.trim().slice(0, most);
}

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
    el('p.who', said(item.principal, 'b'), item.client && [' through ', said(item.client.name ?? 'a client')], ' · ', said(`${item.server ? `${item.server}.` : ''}${item.tool}`, 'code'),
      ' · ', timeAgo(item.askedAt), isPending(item) && item.expiresAt && el('span.until', ' · ', timeLeft(item.expiresAt))));
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
const given = (item) => section('Arguments', has(item.arguments) ? tree(item.arguments) : el('p.help', 'The call has none.'));

function details(item) {
  const rows = { Question: item.id, Call: item.executionId, Server: item.server, Tool: item.tool, Asked: exact(item.askedAt), Ends: item.expiresAt && exact(item.expiresAt),
    Client: item.client && `${item.client.name} ${item.client.version ?? ''}`, Attempt: num(item.attempt) > 1 && item.attempt.text };
  return el('details.details', el('summary', 'Details'),
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
    has(content) && section('What was answered', tree(content)),
    result && el('p.result', 'Result: ', folded(result)),
    state === 'running' && el('p.help', 'The tool is at work.'));
}

// Read-only, for the history.
export const pastView = (item, me) => el('div.past', message(item), given(item), outcome(item, me), details(item));

// on: live() -> may something be sent?; me; next(): the next question; resolve(id, body) -> a reply.
export function makeAsk(item, on) {
  const view = { item };
  const form = makeForm(item.schema, () => ((touched = true), sure.disarm()));
  const offers = item.remember ?? [];
  const approval = isApproval(item), { destructive } = item;
  let inertUntil = 0, top = null, busy = false, touched = false;

  const yes = button(item.page ? 'Open the page' : approval ? 'Approve' : 'Submit', approve, { class: `primary${destructive ? ' danger' : ''}` });
  const sure = makeSure(yes, form, { approval, destructive });
  const no = button('Decline', () => send('decline'));
  const off = button('Dismiss', () => send('cancel'), { class: 'quiet', title: 'Close it with neither yes nor no' });
  const more = button('Add reason', () => (showReason(), reason.focus()), { class: 'quiet' });
  const note = el('p.note', { role: 'alert', hidden: true });
  const reason = el('textarea', { id: `reason-${item.id}`, rows: 1, maxlength: 600 });
  const why = el('div.field', { hidden: true }, el('label', { for: reason.id }, 'Reason for your decision', el('span.opt', ' optional')), reason);
  const remember = offers.length > 0 && select('Remember this approval', [['', 'Only this time'], ...offers.map((offer, i) => [i, offer.label])]);
  const bar = el('footer.bar', why, note, el('div.buttons', no, more, off, el('span.yes', remember, yes)),
    el('p.meaning', 'If you decline, the agent is told so, and goes on without your yes.'));
  const body = el('div.body', message(item), item.page ? el('p.help', item.secret && ['The secret ', said(item.secret, 'code'), ' is asked for. '], 'This is answered on a page of its own.') : item.url && address(item), given(item), form.fields.length > 0 && section('Your answer', form.node), details(item));
  view.node = el('article.ask', { 'aria-label': said(nameOf(item)).textContent }, head(item), body, bar);

  function showReason() {
    why.hidden = false;
    more.hidden = true;
  }
  const blocked = () => busy || !isPending(view.item) || !on.live() || performance.now() < inertUntil || Date.parse(item.expiresAt) <= now();

  // Buttons that do nothing say so, and keep the focus that they have.
  view.refresh = () => {
    for (const one of [yes, no, off]) one.setAttribute('aria-disabled', String(blocked()));
  };
  function inert() {
    inertUntil = performance.now() + INERT_MS;
    view.refresh();
    setTimeout(view.refresh, INERT_MS + 10);
  }
  const moved = new ResizeObserver(() => {
    const y = Math.round(bar.getBoundingClientRect().bottom);
    if (top !== null && Math.abs(y - top) > 4) inert();
    top = y;
  });
  view.shown = () => {
    top = null;
    moved.observe(view.node);
    inert();
  };
  view.hidden = () => moved.disconnect();

  async function send(action) {
    if (blocked()) return;
    busy = true;
    view.refresh();
    tell(note, '');
    const accepted = action === 'accept';
    const { scope, match, for: time } = (accepted && offers[remember.value]) || {};
    const { status, body: problem } = await on.resolve(item.id, { action, content: accepted && item.kind !== 'url' ? form.content() : undefined, reason: reason.value.trim() || undefined,
      remember: scope && { scope, match, for: time } });
    busy = false;
    sure.disarm();
    if (status === 422) tell(note, form.refused(problem.errors ?? []) || problem.detail);
    else if (status === 0) tell(note, 'The server cannot be reached. What you wrote is still here.');
    else if (status !== 200 && isPending(view.item)) tell(note, problem?.detail ?? 'That did not work. Please try again.');
    view.refresh();
  }
  function approve() {
    if (blocked() || !form.check()) return;
    if (item.page) return openPage(item);
    if (sure.isSure()) send('accept');
  }
  view.approve = approve;
  view.touched = () => touched || reason.value !== ''; // somebody has begun to answer
  view.decline = () => {
    if (blocked()) return;
    showReason();
    no.focus();
  };

  // It has ended, whoever ended it: the same place says how.
  view.ended = (next, me) => {
    const held = bar.contains(document.activeElement) || form.node.contains(document.activeElement);
    view.item = next;
    view.hidden();
    view.node.classList.add('over');
    const card = outcome(next, me);
    if (!bar.parentNode) return view.node.querySelector('.outcome').replaceWith(card);
    const onward = button('Next', on.next);
    card.classList.add('fresh');
    bar.replaceWith(card, el('p.onward', onward));
    form.node.parentNode?.remove();
    view.node.querySelector('.until')?.remove();
    if (held) onward.focus({ preventScroll: true });
  };
  if (!isPending(item)) view.ended(item, on.me);
  return view;
}
