// One ask: what it says, the form, the decision, and in the same place what became of it.
//
// Nothing is approved by accident: the buttons do nothing for half a second after the ask came into view or they have
// moved, no field submits on Enter, and what is destructive wants its box ticked or a second press.
import { el, button, said, folded, timeAgo, timeLeft, clock, exact, lasting, now } from './dom.js';
import { num, isObject, entries, parse, write } from './json.js';
import { tree } from './tree.js';
import { makeForm } from './form.js';

const INERT_MS = 500;
const ARMED_MS = 6000; // a first press waits that long for the second

const shapes = { accepted: '✓', declined: '✕', cancelled: '○', expired: '⧖', withdrawn: '↩' };
const ends = {
  expired: 'Expired: nobody answered in time. The agent was told.',
  withdrawn: 'Withdrawn: the call ended before anybody answered.',
  unsupported: 'Nobody could be asked, and the agent was told.',
  invalid: 'The answers did not fit what was asked, and the agent was told.',
};
const asksForData = (item) => item.kind === 'form' && !item.consent && !item.destructive;
const stateWord = (item) => ({ accepted: asksForData(item) ? 'answered' : 'approved', declined: 'declined', cancelled: 'dismissed' })[item.state] ?? item.state;
const has = (object) => isObject(object) && entries(object).length > 0;

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

export const badge = (item) => el('span', { class: `badge ${item.state}` }, `${shapes[item.state] ?? '•'} ${stateWord(item)}`);

function where(item, via) {
  if (via === 'page' || via === 'inbox') return '';
  return ` ${{ api: 'through the API', terminal: 'in a terminal' }[via] ?? `in ${item.client?.name || 'the client'}`}`;
}

// What became of an ask, as a sentence.
export function outcomeText(item, me) {
  const { by, via, at } = item.answer ?? {};
  if (ends[item.state]) return ends[item.state];
  const word = stateWord(item);
  if (by === me && via === 'page') return `${word[0].toUpperCase()}${word.slice(1)} by you${at ? `, ${clock(at)}` : ''}.`;
  return `${by === me ? 'You' : by || 'Somebody'} ${word} this${where(item, via)}`;
}

function head(item) {
  return el('header', {},
    el('div', { class: 'title' }, said(nameOf(item), 'h2', { tabindex: -1, dir: 'auto' }),
      item.destructive && el('span', { class: 'tag', title: 'The tool says that what it does may not be undone' }, '▲ Destructive')),
    el('p', { class: 'who' }, said(item.principal, 'b'), item.client && [' through ', said(item.client.name ?? 'a client')], ' · ', said(`${item.server ? `${item.server}.` : ''}${item.tool}`, 'code'),
      ' · ', timeAgo(item.askedAt), item.state === 'pending' && item.expiresAt && el('span', { class: 'until' }, ' · ', timeLeft(item.expiresAt))));
}

function address(item) {
  if (item.kind !== 'url' || !item.url) return null;
  const copy = button('Copy address', async () => {
    await navigator.clipboard?.writeText(item.url);
    copy.textContent = 'Copied';
  }, { class: 'quiet' });
  return el('section', {}, el('h3', {}, 'Address to open'), folded(item.url, { tag: 'p', class: 'v address' }),
    el('p', { class: 'help' }, 'It is no link here. See where it leads, copy it, and open it yourself. ', copy));
}

const message = (item) => folded(messageOf(item), { tag: 'p', class: 'message', limit: 1500, lines: 20 });
const given = (item) => el('section', {}, el('h3', {}, 'Arguments'), has(item.arguments) ? tree(item.arguments) : el('p', { class: 'help' }, 'The call has none.'));

function details(item) {
  const rows = { Ask: item.id, Call: item.executionId, Server: item.server, Tool: item.tool, Asked: exact(item.askedAt), Ends: item.expiresAt && exact(item.expiresAt),
    Client: item.client && `${item.client.name} ${item.client.version ?? ''}`, Attempt: num(item.attempt) > 1 && item.attempt.text };
  return el('details', { class: 'details' }, el('summary', {}, 'Details'),
    el('dl', {}, Object.entries(rows).map(([name, value]) => value && el('div', {}, el('dt', {}, name), said(value, 'dd')))));
}

function outcome(item, me) {
  const { tookMs, reason, content, at } = item.answer ?? {};
  return el('section', { class: `outcome ${item.state}` },
    el('p', { class: 'verdict' }, el('span', { class: 'shape', 'aria-hidden': 'true' }, shapes[item.state] ?? '•'), ' ', said(outcomeText(item, me), 'span'), at && !/\.$/.test(outcomeText(item, me)) && [', ', timeAgo(at)],
      tookMs && el('span', { class: 'took' }, ` after ${lasting(num(tookMs))}`)),
    reason && el('p', {}, 'Reason: ', folded(reason, { tag: 'q' })),
    has(content) && el('div', {}, el('h3', {}, 'What was answered'), tree(content)),
    item.call?.result && el('p', { class: 'result' }, 'Result: ', folded(item.call.result)),
    item.call?.state === 'running' && el('p', { class: 'help' }, 'The tool is at work.'));
}

// Read-only, for the history.
export const pastView = (item, me) => el('div', { class: 'past' }, message(item), given(item), outcome(item, me), details(item));

// on: live() -> may something be sent?; me; next(): the next ask; resolve(id, body) -> a reply.
export function makeAsk(item, on) {
  const view = { item };
  const form = makeForm(item.schema, disarm);
  const offers = item.remember ?? [];
  const yesWord = asksForData(item) ? 'Submit' : 'Approve';
  let inertUntil = 0, armed = 0, top = null, busy = false;

  const yes = button(yesWord, approve, { class: `primary${item.destructive ? ' danger' : ''}` });
  const no = button('Decline', () => send('decline'));
  const off = button('Dismiss', () => send('cancel'), { class: 'quiet', title: 'Close it with neither yes nor no' });
  const more = button('Add reason', () => (showReason(), reason.focus()), { class: 'quiet' });
  const note = el('p', { class: 'note', role: 'alert', hidden: true });
  const reason = el('textarea', { id: `reason-${item.id}`, rows: 1, maxlength: 600 });
  const why = el('div', { class: 'field', hidden: true }, el('label', { for: reason.id }, 'Reason for your decision', el('span', { class: 'opt' }, ' optional')), reason);
  const remember = offers.length > 0 && el('select', { class: 'remember', 'aria-label': 'Remember this approval' }, el('option', { value: '' }, 'Only this time'),
    offers.map((offer, i) => el('option', { value: String(i) }, said(offer.label).textContent)));
  const bar = el('footer', { class: 'bar' }, why, note, el('div', { class: 'buttons' }, no, more, off, el('span', { class: 'yes' }, remember, yes)),
    el('p', { class: 'meaning' }, 'If you decline, the agent is told so, and goes on without your yes.'));
  const body = el('div', { class: 'body' }, message(item), address(item), given(item), form.fields.length > 0 && el('section', { class: 'answer' }, el('h3', {}, 'Your answer'), form.node), details(item));
  view.node = el('article', { class: 'ask', 'aria-label': said(nameOf(item)).textContent }, head(item), body, bar);

  function say(text) {
    note.hidden = !text;
    note.textContent = text;
  }
  function showReason() {
    why.hidden = false;
    more.hidden = true;
  }
  function disarm() {
    armed = 0;
    yes.textContent = yesWord;
  }
  const blocked = () => busy || view.item.state !== 'pending' || !on.live() || performance.now() < inertUntil || Boolean(item.expiresAt && Date.parse(item.expiresAt) <= now());

  // Buttons that do nothing say so, and keep the focus that they have.
  view.refresh = () => {
    for (const one of [yes, no, off]) one.setAttribute('aria-disabled', String(blocked()));
    if (armed && performance.now() > armed) disarm();
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
    say('');
    const accepted = action === 'accept';
    const offer = accepted && remember && remember.value ? offers[remember.value] : null;
    const { status, body: problem } = await on.resolve(item.id, { action, content: accepted && item.kind !== 'url' ? form.content() : undefined, reason: reason.value.trim() || undefined,
      remember: offer ? { scope: offer.scope, match: offer.match, for: offer.for } : undefined });
    busy = false;
    disarm();
    if (status === 422) say(form.refused(problem.errors ?? []) || problem.detail);
    else if (status === 0) say('The server cannot be reached. What you wrote is still here.');
    else if (status !== 200 && view.item.state === 'pending') say(problem?.detail ?? 'That did not work. Please try again.');
    view.refresh();
  }
  function approve() {
    if (blocked() || !form.check()) return;
    if (!item.destructive || form.ticked() || armed) return send('accept');
    armed = performance.now() + ARMED_MS;
    yes.textContent = 'Press again to approve';
  }
  view.approve = approve;
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
    bar.replaceWith(card, el('p', { class: 'onward' }, onward));
    body.querySelector('.answer')?.remove();
    view.node.querySelector('.until')?.remove();
    if (held) onward.focus({ preventScroll: true });
  };
  if (item.state !== 'pending') view.ended(item, on.me);
  return view;
}
