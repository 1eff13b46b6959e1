// Values for reading: names and values as a person would write them, in the order and with the titles of their schema, and
// behind "As JSON" exactly as they came. Nested ones are lists that fold, lists of equal objects are tables. Only what is open
// is drawn, and long lists are drawn in steps, so that ten thousand members cost no more than forty.
//
// Holds always: what stands here is what was sent. Digits are set in groups by space alone, a time in the person's zone shows
// its own text with a press, and blanks at the ends of a text are marks.
import { words } from './words.js';
import { el, button, folded, said, more, count } from './dom.js';
import { Num, entries, isObject, parse, sourceOf } from './json.js';

const OPEN = 3; // levels that are open at first
const FIRST = 40; // members that are drawn at first
const STEP = 500; // and at every press after that
const COLUMNS = 8; // of a table; what has more is a list
const CELL_MOST = 200; // characters of a text in a table
const GROUPED_MOST = 40; // digits of a number that are set in groups
const PARSED_MOST = 200_000; // characters of a text that may be JSON

const word = (text) => el('span.v.word', text);
const textOf = (value) => (typeof value === 'string' ? value.trim() : '');

// --- what the schema says ---

const partOf = (schema, key) => (isObject(schema?.properties) && isObject(schema.properties[key]) ? schema.properties[key] : {});
const itemsOf = (schema) => (isObject(schema.items) ? schema.items : {});
const units = { percent: '%', bytes: 'bytes', milliseconds: 'ms', seconds: 's', minutes: 'min', hours: 'h', days: 'days' };
const unitOf = (schema) => textOf(schema['x-nod-unit']) || (Object.hasOwn(units, schema.format) && units[schema.format]);

// Members in the order of the schema, those that it does not have last: [key, value, schema, how it is called].
function arranged(object, schema) {
  const order = new Map(isObject(schema?.properties) ? entries(schema.properties).map(([key], i) => [key, i]) : []);
  const all = entries(object).map(([key, value]) => [key, value, partOf(schema, key), textOf(partOf(schema, key).title) || key]);
  return order.size ? all.sort(([a], [b]) => (order.get(a) ?? order.size) - (order.get(b) ?? order.size)) : all;
}

// A title that another member has, too, says nothing: then the name is beside it.
const called = (members, [key, , , title]) => el('span.k', { title: title !== key && key }, said(title), title !== key && members.some((other) => other[0] !== key && other[3] === title) && [' ', said(key, 'code')]);

// --- one value ---

// Thin gaps, and no sign: what is copied are the digits that came.
function number({ text }, unit) {
  const [, before, digits, after] = /^(-?)(\d+)(.*)$/.exec(text);
  const head = digits.length % 3 || 3;
  const parts = digits.length < 5 || digits.length > GROUPED_MOST || /e/i.test(after) ? [digits] : [digits.slice(0, head), ...digits.slice(head).match(/\d{3}/g)];
  return el('span.v.num', folded(before + parts[0]), parts.slice(1).map((part) => el('span.group', part)), after, unit && el('span.unit', ' ', said(unit)));
}

const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$/i;
function time(text) {
  const here = new Date(text).toLocaleString(undefined, { weekday: 'short', year: 'numeric', month: 'short', day: 'numeric', hour: '2-digit', minute: '2-digit', second: '2-digit', timeZoneName: 'short' });
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

// Text that has its own lines, whole, and to be copied as it is.
function box(text) {
  const copy = button(words.copy, async () => {
    const done = await navigator.clipboard.writeText(text).then(() => true, () => false);
    copy.textContent = done ? words.copied : words.notCopied;
  }, { class: 'more', hidden: !navigator.clipboard });
  return el('div.code', copy, folded(text, 'pre.v', { limit: 2000 }));
}

const IDENTIFIER = /^(?=\S*[^\p{L}\p{M}'’-])\S+$/u; // one word that is none: a path, a number, a code
const blanks = (run) => run && el('span.mark', { title: words.blanks }, run.replace(/( |\n)\1*/g, (same) => `${same[0] === ' ' ? '␣' : '↵'}${same.length > 1 ? `×${count(same.length)}` : ''}`));

function text(value, schema) {
  if (!value) return word(words.empty);
  if (TIME.test(value) && !isNaN(Date.parse(value))) return time(value);
  if (isCode(value, schema)) return box(value);
  const [before] = /^[ \n]*/.exec(value);
  let end = value.length;
  while (end > before.length && (value[end - 1] === ' ' || value[end - 1] === '\n')) end--;
  const unit = unitOf(schema);
  return el('span', blanks(before), folded(value.slice(before.length, end), IDENTIFIER.test(value) ? 'span.v' : 'span.v.prose'), blanks(value.slice(end)), unit && el('span.unit', ' ', said(unit)));
}

function scalar(value, schema) {
  if (typeof value === 'string') return text(value, schema);
  return value instanceof Num ? number(value, unitOf(schema)) : word(words.scalars[value]);
}

// --- many ---

// Draws members in steps: draw(from, to) -> nodes; the button for more comes behind them, in `wrap`.
function steps(length, list, draw, wrap = (node) => node) {
  const show = (from, to) => {
    const left = length - to;
    list.append(...draw(from, to));
    if (left <= 0) return;
    const last = wrap(more(left, STEP, '', () => (last.remove(), show(to, to + STEP))));
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
  return el('div.table', { tabindex: 0, role: 'region', 'aria-label': said(name).textContent },
    el('table', el('thead', el('tr', columns.map((column) => el('th', { scope: 'col' }, called(columns, column))))),
      steps(list.length, el('tbody'), rows, (node) => el('tr', el('td', { colspan: columns.length }, node)))));
}

function row(member, members, depth) {
  const [, value, schema, title] = member;
  const name = called(members, member), list = Array.isArray(value);
  const about = textOf(schema.description), help = about && folded(about, 'p.help', { limit: 300 });
  if (!list && !isObject(value)) return el('li.row', name, el('div', scalar(value, schema), help));
  const length = list ? value.length : entries(value).length;
  if (!length) return el('li.row', name, el('div', word(list ? words.emptyList : words.noMembers), help));
  const inner = () => (list && columnsOf(value) ? table(value, itemsOf(schema), title)
    : branch(list ? value.map((one, i) => [count(i + 1), one, itemsOf(schema), count(i + 1)]) : arranged(value, schema), depth + 1));
  const fill = () => details.children.length < 2 && details.append(...[help, inner()].filter(Boolean));
  const details = el('details', { ontoggle: fill, open: depth < OPEN }, el('summary', name, ' ', word(list ? words.listOf(count(length)) : words.members(length))));
  if (details.open) fill();
  return el('li', details);
}

const branch = (members, depth, what = 'ul') => steps(members.length, el(what), (from, to) => members.slice(from, to).map((member) => row(member, members, depth)), (node) => el('li', node));

// A section with a title: the values of an object, or exactly how they came. inOrder(schema): how they are read is known now.
export function values(title, object, schema) {
  let shown = branch(arranged(object, schema), 1, 'ul.tree');
  const draw = (node) => (shown.replaceWith(node), (shown = node));
  const readable = () => draw(branch(arranged(object, schema), 1, 'ul.tree'));
  const swap = button(words.asJson, () => {
    const json = swap.ariaPressed !== 'true';
    swap.ariaPressed = String(json);
    json ? draw(box(sourceOf(object))) : readable();
  }, { class: 'more', 'aria-pressed': 'false' });
  const node = el('section', el('div.head', el('h3', title), swap), shown);
  return { node, inOrder: (found) => isObject(found?.properties) && ((schema = found), swap.ariaPressed === 'true' || readable()) };
}
