// Values for reading: names and values as a person would write them, in the order and with the titles of their schema, and
// behind "As JSON" exactly as they came. Nested ones are lists that fold, lists of equal objects are tables. Only what is open
// is drawn, and long lists are drawn in steps, so that ten thousand members cost no more than forty.
//
// Holds always: what stands here is what was sent. Digits are set in groups by space alone, a time in the person's zone shows
// its own text with a press, and blanks at the ends of a text or in a name are marks. Two names that look alike are told apart.
import { words } from './words.js';
import { el, button, folded, called, said, begin, visible, more, count, min } from './dom.js';
import { Num, entries, isObject, parse, sourceOf } from './json.js';

const OPEN = 3; // levels that are open at first
const FIRST = 40; // members that are drawn at first
const STEP = 500; // and at every press after that
const COLUMNS = 8; // of a table; what has more is a list
const CELL_MOST = 200; // characters of a text in a table
const GROUPED_MOST = 40; // digits of a number that are set in groups
const PARSED_MOST = 200_000; // characters of a text that may be JSON
const NAME_MOST = 100; // characters of a name that are seen at first; names that begin with the same are told apart
const LARGE = 20_000, LATE_MS = 400; // characters of arguments that are drawn when their schema is there, or it takes so long
const BLANKS_MOST = 40; // signs for blanks in one mark
const ROOM = 600; // lines or cells, more or less, that are drawn at once in all of a tree: what comes behind them is closed

let room = 0; // what is left of it
const word = (text) => el('span.v.word', text);
const textOf = (value) => (typeof value === 'string' ? value.trim() : '');

// --- what the schema says ---

const partOf = (schema, key) => (isObject(schema?.properties) && isObject(schema.properties[key]) ? schema.properties[key] : {});
const itemsOf = (schema) => (isObject(schema.items) ? schema.items : {});
const units = { percent: '%', bytes: 'bytes', milliseconds: 'ms', seconds: 's', minutes: 'min', hours: 'h', days: 'days' };
const unitOf = (schema) => textOf(schema['x-nod-unit']) || (Object.hasOwn(units, schema.format) && units[schema.format]);

// Members in the order of the schema, those that it does not have last: [key, value, schema, how it is called, is its name beside
// that]. It is if the title could be taken for the name or the title of another, which may not even have been sent.
function arranged(object, schema) {
  const order = new Map(isObject(schema?.properties) ? entries(schema.properties).map(([key], i) => [key, i]) : []);
  const all = entries(object).map(([key, value]) => [key, value, partOf(schema, key), textOf(partOf(schema, key).title) || key]);
  if (!order.size) return all;
  const like = (name) => name.slice(0, NAME_MOST).normalize('NFKC').replace(/[\s_-]/g, '').toLowerCase();
  const uses = new Map(), keys = new Set([...order.keys(), ...all.map(([key]) => key)]);
  for (const key of keys) for (const name of new Set([key, textOf(partOf(schema, key).title) || key].map(like))) uses.set(name, (uses.get(name) ?? 0) + 1);
  for (const member of all) member[4] = member[3] !== member[0] && uses.get(like(member[3])) > 1;
  return all.sort(([a], [b]) => (order.get(a) ?? order.size) - (order.get(b) ?? order.size));
}

const blanks = (run) => run && el('span.mark', { title: words.blanks }, begin(run.replace(/( |\n)\1*/g, (same, sign) => `${sign === ' ' ? '␣' : '↵'}${same.length > 1 ? `×${count(same.length)}` : ''}`), BLANKS_MOST));
// A name: of its blanks one alone between words is none to be marked.
const named = (name, what) => (name ? folded(name, what, { limit: NAME_MOST, draw: (text) => text.split(/(^[ \n]+|[ \n]+$|[ \n]{2,}|\n)/).flatMap((part, i) => (i % 2 ? blanks(part) : visible(part))) }) : word(words.noName));
const nameOf = ([key, , , title, doubtful]) => el('span.k', { title: title !== key && begin(key, 1000) }, named(title, 'bdi'), doubtful && [' ', named(key, 'code')]);

// --- one value ---

// What could be more of the number is quoted.
const unitNode = (unit) => unit && el('span.unit', ' ', (/^[^\p{L}\p{Sc}%‰°]|^e[-+]?\d/iu.test(unit) ? words.unit : (node) => node)(called(unit, 40)));
// Thin gaps, and no sign: what is copied are the digits that came.
function number({ text }, unit) {
  const [, before, digits, after] = /^(-?)(\d+)(.*)$/.exec(text);
  const head = digits.length % 3 || 3;
  if (text.length > 2 * GROUPED_MOST) return el('span.v.num', folded(text), unitNode(unit));
  const parts = digits.length < 5 || digits.length > GROUPED_MOST || /e/i.test(after) ? [digits] : [digits.slice(0, head), ...digits.slice(head).match(/\d{3}/g)];
  return el('span.v.num', folded(before + parts[0]), parts.slice(1).map((part) => el('span.group', part)), after, unitNode(unit));
}

const TIME = /^[1-9]\d{3}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,9})?(?:Z|([+-])(\d\d):(\d\d))$/i;
const format = new Intl.DateTimeFormat(undefined, { weekday: 'short', year: 'numeric', month: 'short', day: 'numeric', hour: '2-digit', minute: '2-digit', second: '2-digit', timeZoneName: 'short' });
// As this person has it, if it is a time at all: one that is not in the calendar would come back as another.
function timeHere(text) {
  const [, fraction = '', sign, hours = 0, minutes = 0] = TIME.exec(text) ?? [], at = Date.parse(text.toUpperCase());
  const back = new Date(at + (sign === '-' ? -60_000 : 60_000) * (hours * 60 + Number(minutes)));
  if (isNaN(back) || back.toISOString().slice(0, 19) !== text.slice(0, 19).toUpperCase()) return '';
  return format.formatToParts(at).map(({ type, value }) => (type === 'second' ? value + fraction : value)).join('');
}
function time(text, here) {
  const node = el('time.v.prose', { datetime: text }, here);
  const swap = button(words.asWritten, () => {
    const own = node.textContent === text;
    node.textContent = own ? here : text;
    swap.textContent = own ? words.asWritten : words.myZone;
  }, { class: 'more' });
  return el('span', node, ' ', swap);
}

const media = (schema) => textOf(schema.contentMediaType);
function isCode(text, schema) {
  if ((media(schema) && media(schema) !== 'text/plain') || schema.format === 'json' || schema.format === 'code' || /\n[ \t]+\S/.test(text)) return true;
  if (!/^\s*[[{]/.test(text) || text.length > PARSED_MOST) return false;
  try {
    return typeof parse(text) === 'object';
  } catch {
    return false;
  }
}

const emptyLines = (text) => text.split(/\n((?: *\n){2,})/).flatMap((part, i) => (i % 2 ? ['\n', blanks(part), '\n'] : visible(part)));
// Where a text ends but for blanks.
function endOf(text, from) {
  let end = text.length;
  while (end > from && (text[end - 1] === ' ' || text[end - 1] === '\n')) end--;
  return end;
}

// Text that has its own lines, whole, and to be copied as it is. Blank lines could push the rest out of sight, or be not seen at its end.
function box(text) {
  const [before] = /^(?: *\n)*/.exec(text), end = endOf(text, before.length);
  const copy = button(words.copy, async () => {
    const done = await navigator.clipboard.writeText(text).then(() => true, () => false);
    copy.textContent = done ? words.copied : words.notCopied;
  }, { class: 'more', hidden: !navigator.clipboard });
  return el('div.code', copy, blanks(before), folded(text.slice(before.length, end), 'pre.v', { limit: 2000, draw: emptyLines }), blanks(text.slice(end)));
}

const IDENTIFIER = /^(?=\S*[^\p{L}\p{M}'’-])\S+$/u; // one word that is none: a path, a number, a code
function text(value, schema) {
  if (!value) return word(words.empty);
  const here = TIME.test(value) && timeHere(value);
  if (here) return time(value, here);
  if (isCode(value, schema)) return box(value);
  const [before] = /^[ \n]*/.exec(value), end = endOf(value, before.length);
  return el('span', blanks(before), folded(value.slice(before.length, end), IDENTIFIER.test(value) ? 'span.v' : 'span.v.prose'), blanks(value.slice(end)), unitNode(unitOf(schema)));
}

function scalar(value, schema) {
  room -= 1 + (typeof value === 'string' ? min(value.length, 3000) / 200 : 0);
  if (typeof value === 'string') return text(value, schema);
  return value instanceof Num ? number(value, unitOf(schema)) : word(words.scalars[value]);
}

// --- many ---

// Draws members in steps: draw(from, to) -> nodes; the button for more comes behind them, in `wrap`. breadth: cells of a member.
function steps(length, list, draw, wrap, breadth = 1) {
  const step = Math.ceil(STEP / breadth);
  const show = (from, to) => {
    const left = length - to;
    list.append(...draw(from, to));
    if (left <= 0) return;
    const last = wrap(more(left, step, '', () => (last.remove(), (room = ROOM), show(to, to + step))));
    list.append(last);
  };
  show(0, length > FIRST * 1.5 ? FIRST : length);
  return list;
}

const isCell = (value) => (typeof value === 'string' ? value.length <= CELL_MOST && !value.includes('\n') : !Array.isArray(value) && !isObject(value));
function columnsOf(list) {
  if (list.length < 2 || !list.every(isObject)) return null;
  const keys = entries(list[0]).map(([key]) => key), set = new Set(keys);
  const alike = (one) => entries(one).length === set.size && entries(one).every(([key, value]) => set.has(key) && isCell(value)) && keys.every((key) => key in one);
  return keys.length && keys.length <= COLUMNS && set.size === keys.length && list.every(alike) ? keys : null;
}

function table(list, schema, name) {
  const columns = arranged(list[0], schema);
  const rows = (from, to) => list.slice(from, to).map((one) => el('tr', columns.map(([key, , part]) => el('td', scalar(one[key], part)))));
  return el('div.table', { tabindex: 0, role: 'region', 'aria-label': begin(said(begin(name, NAME_MOST)).textContent, NAME_MOST) },
    el('table', el('thead', el('tr', columns.map((column) => el('th', { scope: 'col' }, nameOf(column))))),
      steps(list.length, el('tbody'), rows, (node) => el('tr', el('td', { colspan: columns.length }, node)), columns.length)));
}

function row(member, depth) {
  const [, value, schema, title] = member;
  const name = nameOf(member), list = Array.isArray(value);
  room--;
  const about = textOf(schema.description), help = about && folded(about, 'p.help', { limit: 300 });
  if (!list && !isObject(value)) return el('li.row', name, el('div', scalar(value, schema), help));
  const length = list ? value.length : entries(value).length;
  if (!length) return el('li.row', name, el('div', word(list ? words.emptyList : words.noMembers), help));
  const inner = () => (list && columnsOf(value) ? table(value, itemsOf(schema), title)
    : branch(list ? value.map((one, i) => [count(i + 1), one, itemsOf(schema), count(i + 1)]) : arranged(value, schema), depth + 1));
  const fill = () => details.children.length < 2 && details.append(...[help, inner()].filter(Boolean));
  const details = el('details', { ontoggle: () => ((room = ROOM), fill()), open: depth < OPEN && room > 0 }, el('summary', name, ' ', word(list ? words.listOf(count(length)) : words.members(length))));
  if (details.open) fill();
  return el('li', details);
}

const branch = (members, depth, what = 'ul') => steps(members.length, el(what), (from, to) => members.slice(from, to).map((member) => row(member, depth)), (node) => el('li', node));

// A section with a title: the values of an object, or exactly how they came. inOrder(schema): how they are read is known now, or
// will not be. What is large is not drawn twice: it waits for that (`waits`), though not for long.
export function values(title, object, schema, waits) {
  let shown = el('ul.tree'), drawn = false;
  const draw = (node) => (shown.replaceWith(node), (shown = node), (drawn = true));
  const readable = () => ((room = ROOM), draw(branch(arranged(object, schema), 1, 'ul.tree')));
  const swap = button(words.asJson, () => {
    const json = swap.ariaPressed !== 'true';
    swap.ariaPressed = String(json);
    json ? draw(box(sourceOf(object))) : readable();
  }, { class: 'more', 'aria-pressed': 'false' });
  const node = el('section', el('div.head', el('h3', title), swap), shown);
  const late = () => drawn || readable();
  if (waits && sourceOf(object).length > LARGE) setTimeout(late, LATE_MS);
  else late();
  const inOrder = (found) => (isObject(found?.properties) ? ((schema = found), swap.ariaPressed === 'true' || readable()) : late());
  return { node, inOrder };
}
