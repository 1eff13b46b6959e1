// Making nodes. Everything that is shown goes through here as text: there is no markup from a string on this page.

export function el(tag, attributes, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith('on')) node.addEventListener(name.slice(2), value);
    else node.setAttribute(name, value === true ? '' : value);
  }
  node.append(...children.flat(Infinity).filter((child) => child !== undefined && child !== null && child !== false));
  return node;
}

export const button = (text, onclick, attributes) => el('button', { type: 'button', onclick, ...attributes }, text);
export const $ = (id) => document.getElementById(id);
export const count = (n) => n.toLocaleString('en');
export const plural = (n, word) => `${count(n)} ${word}${n === 1 ? '' : 's'}`;

// --- text from outside: what cannot be seen, or moves what can, is drawn as a mark ---

const controls =
  'NUL SOH STX ETX EOT ENQ ACK BEL BS TAB LF VT FF CR SO SI DLE DC1 DC2 DC3 DC4 NAK SYN ETB CAN EM SUB ESC FS GS RS US'.split(' ');
const turns = /[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/;
// A zero width joiner between two pictures makes one picture of them, and is left alone.
const unseen =
  /((?<!\p{Extended_Pictographic}\ufe0f?)\u200d|[\0-\x09\x0b-\x1f\x7f-\xa0\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b\u200c\u200e\u200f\u2028-\u202f\u205f-\u206f\u3164\ufeff\uffa0\ufff0-\ufffb\u{e0000}-\u{e0fff}]|\p{Cs})\1*/gu;

function mark(run) {
  const code = run.codePointAt(0);
  const hex = `U+${code.toString(16).toUpperCase().padStart(4, '0')}`;
  const times = [...run].length;
  const label = controls[code] ?? hex;
  return el('span', { class: 'mark', title: `${turns.test(run) ? 'changes the direction of text' : 'cannot be seen'}, ${hex}` }, times > 1 ? `${label}×${count(times)}` : label);
}

export function visible(text) {
  const nodes = [];
  let from = 0;
  for (const found of text.matchAll(unseen)) {
    nodes.push(text.slice(from, found.index), mark(found[0]));
    from = found.index + found[0].length;
  }
  nodes.push(text.slice(from));
  return nodes;
}

// Short text from outside, in one line and in its own direction.
export const said = (text, tag = 'bdi', attributes) => el(tag, attributes, visible(text.replace(/\r?\n/g, ' ↵ ')));

const STEP = 20000; // characters that one press shows

// Long text: its beginning, and a button for more. Nothing is cut without saying so.
export function folded(text, { limit = 600, lines = 10, tag = 'span', quote = '', ...attributes } = {}) {
  let end = text.length > limit * 1.3 ? limit : text.length;
  for (let line = 0, at = -1; line < lines; line++) {
    at = text.indexOf('\n', at + 1);
    if (at < 0) break;
    if (line === lines - 1 && text.length - at > 80) end = Math.min(end, at);
  }
  const node = el(tag, { dir: 'auto', ...attributes }, quote);
  const show = (from, to) => {
    if (text.codePointAt(to - 1) > 0xffff) to--; // not between the two halves of a character
    node.append(...visible(quote ? text.slice(from, to).replace(/\n/g, '↵\n') : text.slice(from, to)));
    const left = text.length - to;
    if (!left) return node.append(quote);
    const more = button(left > STEP ? `show ${count(STEP)} of ${count(left)} more characters` : `show ${plural(left, 'more character')}`, () => {
      more.remove();
      show(to, Math.min(text.length, to + STEP));
    }, { class: 'more' });
    node.append(more);
  };
  show(0, end);
  return node;
}

// --- time ---

let ahead = 0; // what the server's clock is ahead of this one, in ms
export const setNow = (text) => text && (ahead = Date.parse(text) - Date.now());
export const now = () => Date.now() + ahead;
export const clock = (at) => new Date(at).toLocaleTimeString(undefined, { hour: '2-digit', minute: '2-digit' });
export const exact = (text) => new Date(text).toLocaleString(undefined, { dateStyle: 'medium', timeStyle: 'medium' });

function ago(at) {
  const s = Math.max(0, Math.round((now() - at) / 1000));
  if (s < 5) return 'just now';
  if (s < 60) return `${s} s ago`;
  if (s < 3600) return `${Math.floor(s / 60)} min ago`;
  if (s < 86400) return `${Math.floor(s / 3600)} h ago`;
  return new Date(at).toLocaleDateString(undefined, { dateStyle: 'medium' });
}

export function lasting(ms) {
  const s = Math.round(ms / 1000);
  if (ms < 950) return `${Math.round(ms)} ms`;
  if (s < 60) return `${s} s`;
  if (s < 3600) return `${Math.floor(s / 60)} min ${s % 60} s`;
  return s < 172800 ? `${Math.floor(s / 3600)} h ${Math.floor((s % 3600) / 60)} min` : `${Math.floor(s / 86400)} days`;
}

function left(until) {
  const s = Math.max(0, Math.ceil((until - now()) / 1000));
  const two = (n) => String(n).padStart(2, '0');
  if (s >= 172800) return `${Math.floor(s / 86400)} days left`;
  const minutes = Math.floor(s / 60) % 60;
  return s >= 3600 ? `${Math.floor(s / 3600)}:${two(minutes)}:${two(s % 60)} left` : `${minutes}:${two(s % 60)} left`;
}

function tickOne(node) {
  const at = Date.parse(node.dateTime);
  const text = node.className ? left(at) : ago(at);
  if (node.textContent !== text) node.textContent = text;
  if (node.className) node.classList.toggle('soon', at - now() < 30000);
  return node;
}

export const timeAgo = (text) => tickOne(el('time', { datetime: text, title: exact(text), 'data-tick': '' }));
export const timeLeft = (text) => tickOne(el('time', { class: 'left', datetime: text, title: `until ${exact(text)}`, 'data-tick': '' }));
// Once a second: everything on the page that says how long.
export const tick = () => document.querySelectorAll('[data-tick]').forEach(tickOne);
