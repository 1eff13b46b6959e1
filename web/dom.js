// Making nodes. Everything that is shown goes through here as text: there is no markup from a string on this page.

import { words } from './words.js';

// el('p.help', { title: '…' }, child, …): the attributes may be left out. What is false, null or undefined is neither set nor shown.
export function el(what, ...children) {
  const [tag, ...classes] = what.split('.');
  const node = document.createElement(tag);
  const attributes = children[0]?.constructor === Object ? children.shift() : {};
  if (classes.length) node.className = classes.join(' ');
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith('on')) node.addEventListener(name.slice(2), value);
    else if ((value ?? false) !== false) node.setAttribute(name, value === true ? '' : value);
  }
  node.append(...children.flat(Infinity).filter(Boolean));
  return node;
}

export const button = (text, onclick, attributes) => el('button', { type: 'button', onclick, ...attributes }, text);
// A message that comes and goes.
export const tell = (node, text) => ((node.hidden = !text), (node.textContent = text));
export const { max, min } = Math;
// The beginning of a text that is said where there is no room for a button.
export const begin = (text, most) => (text.length > most ? `${text.slice(0, most).replace(/[\ud800-\udbff]$/, '')}…` : text);
export const $ = (id) => document.getElementById(id);
export const count = (n) => n.toLocaleString('en');
export const plural = (n, word) => `${count(n)} ${word}${n === 1 ? '' : 's'}`;

// --- text from outside: what cannot be seen, or moves what can, is drawn as a mark ---

const controls =
  'NUL SOH STX ETX EOT ENQ ACK BEL BS TAB LF VT FF CR SO SI DLE DC1 DC2 DC3 DC4 NAK SYN ETB CAN EM SUB ESC FS GS RS US'.split(' ');
const turns = /[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/;
// The table of src/json/unseen.c, without the end of a line. What joins pictures, or chooses how one is drawn, is left alone behind one, once. So is one wide space (U+3000) behind Chinese, Japanese or Korean writing, under a dotted line. Of accents
// and the like (src/json/piles.c) the first four on one character are left alone, too: more would cover the lines around it.
export const unseen =
  /((?<=[\p{Mn}\p{Me}]{4})[\p{Mn}\p{Me}]|(?<!\p{Extended_Pictographic})[\ufe0e\ufe0f]|(?<!\p{Extended_Pictographic}[\ufe0e\ufe0f]?)\u200d|(?<![\u3001-\u3163\u3165-\u9fff\uac00-\ud7a3\uf900-\ufaff\uff01-\uff9f\u{20000}-\u{3ffff}])\u3000|[\0-\x09\x0b-\x1f\x7f-\xa0\xad\u034f\u061c\u115f\u1160\u1680\u17b4\u17b5\u180b-\u180f\u2000-\u200c\u200e\u200f\u2028-\u202f\u205f-\u206f\u2800\u3164\ufe00-\ufe0d\ufeff\uffa0\ufff0-\ufffc\u{13430}-\u{1343f}\u{13441}\u{13442}\u{16fe4}\u{1bca0}-\u{1bca3}\u{1d159}\u{1d173}-\u{1d17a}\u{e0000}-\u{e0fff}]|\p{Cs})\1*/gu;

function mark(run) {
  const code = run.codePointAt(0), times = [...run].length;
  const hex = `U+${code.toString(16).toUpperCase().padStart(4, '0')}`;
  return el('span.mark', { title: `${words.marks[turns.test(run) ? 'turns' : /(?!\p{DI})[\p{Mn}\p{Me}]/u.test(run) ? 'piles' : 'unseen']}, ${hex}` }, controls[code] ?? hex, times > 1 && `×${count(times)}`);
}

// A long word without a blank may be broken every so often: to find out where, a browser measures all of it for each line.
const seen = (text) => text.split(/(\u3000|\S{1000}\p{M}*)/u).map((part, i) => (part === '\u3000' ? el('span.wide', { title: words.wideSpace }, part) : i % 2 ? [part, el('wbr')] : part)).flat();

export function visible(text) {
  const nodes = [];
  let from = 0;
  for (const { 0: run, index } of text.matchAll(unseen)) {
    nodes.push(...seen(text.slice(from, index)), mark(run));
    from = index + run.length;
  }
  return [...nodes, ...seen(text.slice(from))];
}

export const inLine = (text) => visible(text.replace(/\r?\n/g, ' ↵ '));
// Short text from outside, in one line and in its own direction.
export const said = (text, what = 'bdi', attributes = {}) => el(what, attributes, inLine(text));
// What something is called, which ought to be short.
export const called = (text, limit = 200) => folded(text, 'bdi', { limit, draw: inLine });

// options: [value, text] each
export const select = (name, options, attributes) =>
  el('select', { 'aria-label': name, ...attributes }, options.map(([value, text]) => el('option', { value }, said(text).textContent)));

const STEP = 20000; // characters that one press shows

// Long text: its beginning, and a button for more. Nothing is cut without saying so. draw(text) -> nodes
export function folded(text, what = 'span', { limit = 600, lines = 10, draw = visible } = {}) {
  let end = text.length > limit * 1.3 ? limit : text.length;
  let at = -1;
  while (lines-- && (at = text.indexOf('\n', at + 1)) >= 0) if (!lines && text.length - at > 80) end = min(end, at);
  const node = el(what, { dir: 'auto' });
  const show = (from, to) => {
    if (text.codePointAt(to - 1) > 0xffff) to--; // not between the two halves of a character
    const part = text.slice(from, to), left = text.length - to;
    node.append(...draw(part), ...(left ? [more(left, STEP, words.characters(left), () => show(to, min(text.length, to + STEP)))] : []));
  };
  show(0, end);
  return node;
}

// A button that goes when it is pressed: what it stands for comes in its place, or a step of it.
export function more(left, step, what, show) {
  const node = button(words.more(left > step && count(step), count(left), what), () => (node.remove(), show()), { class: 'more' });
  return node;
}

// --- time ---

let ahead = 0; // what the server's clock is ahead of this one, in ms
const MINUTE = 60, HOUR = 3600, DAY = 86400;
export const setNow = (text) => text && (ahead = Date.parse(text) - Date.now());
export const now = () => Date.now() + ahead;
export const clock = (at) => new Date(at).toLocaleTimeString(undefined, { timeStyle: 'short' });
export const exact = (text) => new Date(text).toLocaleString(undefined, { dateStyle: 'medium', timeStyle: 'medium' });
const whole = (s, unit) => Math.floor(s / unit);

function ago(at) {
  const s = max(0, whole(now() - at, 1000));
  if (s >= DAY) return new Date(at).toLocaleDateString(undefined, { dateStyle: 'medium' });
  return s < 5 ? words.justNow : words.ago(s < MINUTE ? `${s} s` : s < HOUR ? `${whole(s, MINUTE)} min` : `${whole(s, HOUR)} h`);
}

export function lasting(ms) {
  const s = whole(ms + 500, 1000);
  if (ms < 950) return `${whole(ms, 1)} ms`;
  if (s < MINUTE) return `${s} s`;
  if (s < HOUR) return `${whole(s, MINUTE)} min ${s % MINUTE} s`;
  return s < 2 * DAY ? `${whole(s, HOUR)} h ${whole(s % HOUR, MINUTE)} min` : words.days(whole(s, DAY));
}

// Time left is said only when it is less than an hour, and counted only in the last minute.
function left(until) {
  const s = max(0, whole(until - now() + 999, 1000));
  return s >= HOUR ? '' : words.left(s < MINUTE ? `${s} s` : `${whole(s, MINUTE)} min`);
}

// Nearly over: the last tenth of its time, at least a minute and at most five.
const isSoon = (until, from) => until - now() < min(300_000, max(60_000, (until - from) / 10));

function tickOne(node) {
  const at = Date.parse(node.dateTime), { from } = node.dataset;
  const text = from ? left(at) : ago(at);
  if (node.textContent !== text) node.textContent = text;
  if (from) node.classList.toggle('soon', isSoon(at, Date.parse(from)));
  return node;
}

export const timeAgo = (text) => tickOne(el('time', { datetime: text, title: exact(text), 'data-tick': '' }));
// Of what was asked then and ends then: with a dot before it, and not there while there is more than enough.
export const timeLeft = ({ expiresAt, askedAt = expiresAt }) => expiresAt && el('span.until', tickOne(el('time.left', { datetime: expiresAt, title: words.until(exact(expiresAt)), 'data-tick': '', 'data-from': askedAt })));
// Once a second: everything on the page that says how long.
export const tick = () => document.querySelectorAll('[data-tick]').forEach(tickOne);
