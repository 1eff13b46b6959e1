// The page: the list of what waits, the question in view, and what is around them.
//
// The server sends the same page to everybody; whoever is signed in is given the list by the API, and the stream of changes
// keeps it right. Questions are shown oldest first, new ones join at the end, and one that has ended
// stays in its place for a while: nothing moves under the pointer.
import { words } from './words.js';
import { $, el, said, inLine, timeAgo, timeLeft, tick, count, max, min } from './dom.js';
import { base, request, readAsk, answerAsk, askPath, whoAmI, hasKey, signInPath, signOut, toSignIn, watch } from './live.js';
import { makeAsk, badge, outcomeText, isPending, nameOf, gistOf, labelOf } from './ask.js';
import { sheets } from './pages.js';
import { onCalm } from './calm.js';

const LINGER_MS = 4000; // an ended question stays in the list that long
const ONWARD_MS = 2500; // after an answer of ours the next question comes
const PAGE = 200; // questions that are read at a time

let me = null;
let state = 'connecting'; // live, lost, out
const rows = new Map(); // id -> { item, link, node, gone }; in the order of the list
const views = new Map(); // id -> a question's view, with what was typed into it
const over = new Set(); // ids that have ended: a list that was read before does not bring them back
let next = null; // where the rest of the list begins
let current = null; // the view that is shown
let receipted = null; // what was decided before it, and stands above it as one line
let sheet = null; // or the page that is shown instead: history, grants, secrets, accounts

const list = $('list'), main = $('main');
const waiting = () => [...rows.values()].filter((row) => isPending(row.item));
const toggle = (node, name, value) => (value ? node.setAttribute(name, value) : node.removeAttribute(name));
const mayNotify = () => setting('notify') === 'on' && window.Notification?.permission === 'granted';
const byMe = ({ answer }) => answer?.by === me.principal && answer.via === 'page';

function setting(name, value) {
  if (value === undefined) return localStorage.getItem(`nod-${name}`);
  localStorage.setItem(`nod-${name}`, value);
}

// --- the list ---

function paintRow(row) {
  const { item, link } = row, waits = isPending(item);
  row.text = gistOf(item);
  link.replaceChildren(said(row.text, 'b.gist', { dir: 'auto' }), el('span.meta', waits && item.destructive && el('span.risk', words.destructive), labelOf(item),
    el('span.when', waits ? [timeAgo(item.askedAt), timeLeft(item)] : badge(item))));
  row.node.classList.toggle('over', !waits);
  fitSoon();
}

// Of a question that is too long for its two lines, what is the same in the row above or below gives way before what differs.
// That is a word with all of its signs, and the words before it: a "not" may be one of them, and digits the beginning of its number.
const HEAD = 18, SHARED = 28; // characters of the beginning that stay; fewer that are shared stay all
const KEPT = [24, 10], KEPT_WORDS = 3, KEPT_DIGITS = 60; // characters before what differs, also where lines are short; words; digits
const LONG_WORD = 40; // characters of a word that stay before its difference: a longer one is cut, but not in a number
const begins = (text, at) => text.slice(0, at).trimEnd().search(/\S*$/); // the word before
// From where what differs is shown, and where it ends.
function differs(a, b = '', kept) {
  let at = 0;
  while (at < a.length && a[at] === b[at]) at++;
  const to = at + /^\S{0,20}/.exec(a.slice(at, at + 20))[0].length;
  let from = at - /\S*$/.exec(a.slice(0, at))[0].length;
  if (at - from > LONG_WORD) {
    for (from = at - LONG_WORD; from && /[\p{N}\p{M}\p{P}\p{S}\p{Cs}]/u.test(a[from - 1]); ) from--;
    return { from, to };
  }
  for (let words = 0; from > 0; ) {
    const before = begins(a, from), digits = /\d\s+$/.test(a.slice(before, from)) && /\d/.test(a[from] ?? '');
    if (digits ? at - before > KEPT_DIGITS : words++ >= KEPT_WORDS || at - before > kept) break;
    from = before;
  }
  return { from, to };
}
const inView = new Set(); // nodes of rows; what nobody sees is not laid out
const seen = new IntersectionObserver((changes) => {
  for (const { target, isIntersecting } of changes) inView[isIntersecting ? 'add' : 'delete'](target);
  fitSoon();
});
function fit() {
  const place = ({ previousSibling, nextSibling, row }, kept) => [previousSibling, nextSibling].map((other) => differs(row.text, other?.row?.text, kept)).reduce((a, b) => (b.from > a.from ? b : a));
  const gist = ({ row }) => row.link.firstChild, bottom = (node) => node.getBoundingClientRect().bottom;
  const paint = (node, ...parts) => gist(node).replaceWith(el('b.gist', { dir: 'auto' }, parts));
  const short = (node, { from, to }) => {
    const { text } = node.row, end = el('span');
    paint(node, inLine(`${text.slice(0, text.lastIndexOf(' ', HEAD) + 1)}…${/\s/.test(text[from - 1]) ? ' ' : ''}${text.slice(from, to)}`), end, inLine(text.slice(to)));
    node.row.short = true;
    return [node, end];
  };
  const long = [...inView].filter((node) => node.isConnected && place(node, KEPT[0]).from > SHARED);
  for (const node of long) if (node.row.short) paint(node, inLine(node.row.text)), (node.row.short = false);
  const cut = long.filter((node) => gist(node).scrollHeight > gist(node).clientHeight + 2).map((node) => short(node, place(node, KEPT[0])));
  const below = cut.filter(([node, end]) => bottom(end) > bottom(gist(node)) + 2);
  for (const [node] of below) short(node, place(node, KEPT[1]));
}
let fitting;
function fitSoon() {
  fitting ??= requestAnimationFrame(() => ((fitting = null), fit()));
}
new ResizeObserver(fitSoon).observe(list);

function addRow(item, fresh) {
  const link = el('a', { href: base + askPath(item.id) });
  const row = { item, link, node: el('li', { class: fresh && 'fresh' }, link) };
  row.node.row = row;
  rows.set(item.id, row);
  paintRow(row);
  list.append(row.node);
  seen.observe(row.node);
}

function paintCount() {
  const n = waiting().length;
  const shown = `${count(n)}${next ? '+' : ''}`;
  const out = state === 'out' || state === 'refused';
  $('count').textContent = out ? '' : n ? words.waiting(shown) : words.nothingWaiting;
  document.title = `${n && !out ? `(${shown}) ` : ''}${me.server.title || me.server.name}`;
  $('more').hidden = !next;
  main.classList.toggle('empty', !rows.size);
}

// Takes a state of the list: what is pending in it is shown, what it says has ended is marked.
function apply({ pending = [], ended = [] }, fresh) {
  ended.forEach(end);
  const news = pending.filter(({ id }) => !over.has(id) && !rows.has(id));
  if (!(fresh && next)) news.forEach((item) => addRow(item, fresh)); // else they come behind the end of what was read
  if (fresh && news.length) arrived(news);
  paintCount();
  open();
}

// The question of the same call that waits, if it has one.
const asksOn = (item) => waiting().find((row) => row.item.executionId === item?.executionId && row.item.id !== item.id)?.item;

// What was decided, and has a next question by now, leads there.
function paintOnward() {
  if (current && !isPending(current.item)) current.onward(asksOn(current.item));
  const next = asksOn(receipted);
  if (next && next.id !== current?.item.id) $('ask').querySelector('.receipt:not(:has(a))')?.prepend(el('a', { href: base + askPath(next.id) }, words.anotherQuestion), ' ');
}

function end(item) {
  const row = rows.get(item.id), view = views.get(item.id);
  const first = !over.has(item.id);
  over.add(item.id);
  if (over.size > 5000) over.delete(over.values().next().value);
  if (row) {
    row.item = item;
    row.gone ??= Date.now() + LINGER_MS;
    paintRow(row);
  }
  if (view && (isPending(view.item) || view.item.call?.state !== item.call?.state || !view.item.call?.result)) {
    const was = view.item;
    view.ended(item, me.principal);
    if (view === current && isPending(was)) {
      $('outcomes').textContent = `${nameOf(item)}: ${outcomeText(item, me.principal)}`;
      follow(item.id, 0);
      if (byMe(item)) view.onwardAt = Date.now() + ONWARD_MS;
    }
  }
  if (first) sheet?.changed();
  paintOnward();
}

// What the tool made of the answer comes a moment later. It is looked up a few times, and no longer.
function follow(id, tries) {
  setTimeout(async () => {
    const reply = await readAsk(id);
    if (reply.ok && !isPending(reply.body)) end(reply.body);
    if (tries < 5 && !['finished', 'failed', 'cancelled'].includes(reply.body?.call?.state)) follow(id, tries + 1);
  }, 200 * 2 ** tries);
}

function arrived(items) {
  const what = items.length === 1 ? nameOf(items[0]) : words.newQuestions(items.length);
  $('arrivals').textContent = words.fresh(what);
  if (mayNotify() && document.hidden) new Notification(what, { tag: 'nod' }).onclick = () => window.focus();
}

// Ended asks leave when nobody looks at them and the pointer is elsewhere.
function prune() {
  if (list.matches(':hover')) return;
  for (const [id, row] of rows) {
    if (isPending(row.item) || row.gone > Date.now() || current?.item.id === id || row.node.contains(document.activeElement)) continue;
    forget(id);
    paintCount();
  }
}

function forget(id) {
  const node = rows.get(id)?.node;
  node?.remove();
  inView.delete(node);
  rows.delete(id);
  views.delete(id);
}

// --- which ask, which page ---

function route() {
  const [, page, id] = location.pathname.slice(base.length).split('/');
  return { page: page || 'inbox', id: id && decodeURIComponent(id) };
}

function go(path, replace) {
  if (base + path !== location.pathname) window.history[replace ? 'replaceState' : 'pushState'](null, '', base + path);
  open(true);
}

const focusOn = (view) => view?.node.querySelector('h2').focus({ preventScroll: true });

function show(view, focus, receipt) {
  if (current !== view || !view.node.isConnected) {
    current?.hidden();
    current = view;
    $('ask').replaceChildren(receipt ?? '', view.node);
    if (!receipt) receipted = null;
    view.shown();
    $('pane').scrollTo(0, 0);
    scrollTo(0, 0);
    if (focus) focusOn(view);
  }
  for (const row of rows.values()) toggle(row.link, 'aria-current', row.item.id === view.item.id && 'true');
  paintOnward();
}

function hide(...nodes) {
  current?.hidden();
  current = null;
  $('ask').replaceChildren(...nodes);
}

function viewOf(item) {
  if (!views.has(item.id)) views.set(item.id, makeAsk(item, { live: () => state === 'live', me: me.principal, next: onward, resolve, lookUp: () => readAsk(item.id) }));
  return views.get(item.id);
}

// An ask that is not in the list: it has ended, or the list is long.
async function fromElsewhere(id) {
  const reply = await readAsk(id);
  if (route().id !== id || rows.has(id)) return;
  if (reply.ok) return show(viewOf(reply.body), true);
  hide(el('div.none', el('h2', words.notFound),
    el('p', reply.status === 404 ? words.notFoundWhy : reply.body?.detail, ' ', el('a', { href: `${base}/` }, words.toInbox))));
}

// Shows what the address says. On `/` that is the first that waits, or the empty page.
function open(focus) {
  const { page, id } = route();
  for (const link of document.querySelectorAll('nav a')) toggle(link, 'aria-current', link.pathname === `${base}/${page === 'ask' || page === 'inbox' ? '' : page}` && 'page');
  const other = sheets[page];
  main.hidden = Boolean(other);
  main.classList.toggle('chosen', page === 'ask');
  if (!other) {
    $('sheet').replaceChildren();
    sheet = null;
  } else if (sheet?.page !== page) {
    sheet = { ...other(me), page };
    $('sheet').replaceChildren(sheet.node);
    if (focus) sheet.node.querySelector('h1').focus();
  }
  if (page === 'ask') {
    if (rows.has(id)) show(viewOf(rows.get(id).item), focus);
    else if (current?.item.id !== id) fromElsewhere(id);
  } else if (!other) {
    const first = waiting()[0];
    if (current && (isPending(current.item) || rows.has(current.item.id))) show(current);
    else if (first) show(viewOf(first.item));
    else if (current) hide();
  }
  $('empty').hidden = Boolean(rows.size || current || page === 'ask');
}

// The next that waits comes up, of the same call if that has one; what was just decided stays above it as one line.
function onward() {
  const done = current?.item;
  const order = [...rows.values()];
  const at = order.findIndex((row) => row.item.id === done?.id);
  const after = rows.get(asksOn(done)?.id) ?? [...order.slice(at + 1), ...order].find((row) => isPending(row.item) && row.item.id !== done?.id);
  receipted = done;
  const receipt = done && el('p.receipt', badge(done), ' ', said(nameOf(done), 'b'), ' ', said(done.call?.result ? words.result(done.call.result.slice(0, 200)) : outcomeText(done, me.principal), 'span'));
  if (after) {
    if (route().page === 'ask') window.history.replaceState(null, '', base + askPath(after.item.id));
    return show(viewOf(after.item), [document.body, ...$('ask').querySelectorAll('*')].includes(document.activeElement), receipt);
  }
  hide();
  if (done) forget(done.id);
  go('/', true);
  $('ask').replaceChildren(receipt ?? '');
  paintCount();
}

// --- answering ---

async function resolve(id, body) {
  const reply = await answerAsk(id, body);
  const item = views.get(id).item;
  if (!isPending(item)) return reply; // the stream was faster than the reply
  if (reply.ok) {
    const word = { accept: 'accepted', decline: 'declined', cancel: 'cancelled' }[body.action];
    end({ ...item, state: word, answer: { by: me.principal, via: 'page', at: new Date().toISOString(), reason: body.reason }, sent: body.content, call: { state: 'running' } });
  } else if (reply.status === 409 || reply.status === 404) {
    const full = await readAsk(id);
    end(full.ok && !isPending(full.body) ? full.body : { ...item, state: reply.body?.state ?? 'withdrawn', answer: reply.body?.answer });
  }
  paintCount();
  return reply;
}

// --- the connection ---

const readList = (from) => request(`/api/elicitation?state=pending&limit=${PAGE}${from ? `&cursor=${encodeURIComponent(from)}` : ''}`);

async function fresh() {
  const reply = await readList();
  if (!reply.ok) return false;
  next = reply.body.next;
  const there = new Set(reply.body.items.map((item) => item.id));
  // What waited before and is not there any more has ended meanwhile: the server knows how.
  for (const { item } of next ? [] : waiting()) {
    if (there.has(item.id)) continue;
    const one = await readAsk(item.id);
    if (one.status === 404 || (one.ok && !isPending(one.body))) end(one.ok ? one.body : { ...item, state: 'withdrawn', answer: null });
  }
  apply({ pending: reply.body.items });
  return true;
}

function connection(now) {
  state = now;
  document.body.dataset.live = now;
  $('live').textContent = words.states[now] ?? now;
  const notice = $('notice');
  notice.hidden = now === 'live';
  if (now === 'lost') notice.replaceChildren(words.lost);
  if (now === 'out') notice.replaceChildren(words.out[0], el('a', { href: signInPath() }, words.out[1]), words.out[2]);
  if (me) paintCount();
  current?.refresh();
}

// --- keyboard ---

function step(by) {
  const links = [...list.querySelectorAll('a')];
  const on = document.activeElement;
  const at = links.indexOf(list.contains(on) ? on : list.querySelector('[aria-current]'));
  links[max(0, min(links.length - 1, at + by))]?.focus();
}

const keys = {
  j: () => step(1),
  k: () => step(-1),
  d: () => !main.hidden && current?.decline(),
  '/': () => (go('/history'), sheet.focus()),
  '?': () => $('help').showModal(),
};

addEventListener('keydown', (event) => {
  const { key, target } = event;
  const command = event.ctrlKey || event.metaKey;
  if (key === 'Enter' && command) {
    if (current && !main.hidden && !$('help').open) event.preventDefault(), event.repeat || current.commit();
    return;
  }
  const typing = target.closest?.('input:not([type=checkbox], [type=radio]), textarea, select, dialog');
  if (typing || command || event.altKey || setting('keys') === 'off' || !keys[key]) return;
  event.preventDefault();
  keys[key]();
});

// --- around it ---

document.addEventListener('click', (event) => {
  const link = event.target.closest?.('a');
  if (!$('menu').contains(event.target)) $('menu').open = false;
  if (!link || event.ctrlKey || event.metaKey || event.shiftKey || link.hash || link.pathname === `${base}/login`) return;
  event.preventDefault();
  go(link.pathname.slice(base.length));
  if (list.contains(link)) focusOn(current);
});
addEventListener('popstate', () => open(true));

function setUp() {
  const theme = $('theme'), single = $('keys'), notify = $('notify');
  const word = (box) => (box.checked ? 'on' : 'off');
  theme.value = setting('theme') ?? 'auto';
  theme.onchange = () => {
    setting('theme', theme.value);
    toggle(document.documentElement, 'data-theme', theme.value !== 'auto' && theme.value);
  };
  single.checked = setting('keys') !== 'off';
  single.onchange = () => setting('keys', word(single));
  notify.checked = mayNotify();
  notify.onchange = async () => {
    if (notify.checked && (await window.Notification?.requestPermission()) !== 'granted') notify.checked = false;
    setting('notify', word(notify));
  };
  $('shortcuts').onclick = keys['?'];
  $('out').onclick = async () => {
    await signOut();
    location.assign(`${base}/login`);
  };
  $('more').onclick = async () => {
    const reply = await readList(next);
    if (reply.ok) (next = reply.body.next), apply({ pending: reply.body.items });
  };
  $('try').onclick = async () => {
    const reply = await request('/api/try', 'POST', {});
    $('tried').textContent = reply.ok ? '' : reply.body.detail;
  };
}

// Why there is nothing to see here, for whoever is signed in, or was.
function refuse(title, why, way) {
  connection('refused');
  $('notice').hidden = true;
  for (const part of document.querySelectorAll('nav, .status')) part.hidden = true;
  $('menu').hidden = !me;
  hide(el('div.none', el('h2', title), el('p', why), el('p', el('a', { href: signInPath() }, way))));
}

async function start() {
  setUp();
  const { ok, status, body } = await whoAmI();
  if (status === 401) return toSignIn();
  if (!ok && !status) return setTimeout(() => location.reload(), 2000);
  if (!ok && !hasKey()) return refuse(words.signInAgain, words.lostHalf, words.signIn);
  if (!ok) return refuse(words.closed, body?.detail, words.signIn);
  me = body;
  $('who').textContent = me.principal;
  if (!me.roles.some((role) => role !== 'ask')) return refuse(words.closed, words.closedWhy(me.principal), words.signInOther);
  $('demo').hidden = !me.demo;
  onCalm(() => current?.refresh());
  watch({ state: connection, fresh, changes: (data) => apply(data, true) });
  setInterval(() => {
    tick();
    prune();
    current?.refresh();
    if (current?.onwardAt < Date.now() && waiting().length && !main.hidden) onward();
  }, 1000);
}

start();
