// Arguments for reading: a list of names and values, nested ones as lists that fold. Only what is open is drawn, and
// long lists are drawn in steps, so that ten thousand members cost no more than forty.
import { el, folded, said, more, count, plural } from './dom.js';
import { Num, entries, isObject } from './json.js';

const OPEN = 3; // levels that are open at first
const FIRST = 40; // members that are drawn at first
const STEP = 500; // and at every press after that

const word = (text) => el('span.v.word', text);

function scalar(value) {
  if (typeof value === 'string') return folded(value, 'span.v', { quote: '"' });
  return value instanceof Num ? el('span.v.num', value.text) : word(String(value));
}

function row([key, value], depth) {
  const name = said(key, 'bdi.k');
  const list = Array.isArray(value);
  if (!list && !isObject(value)) return el('li.row', name, scalar(value));
  const pairs = list ? value.map((member, i) => [count(i), member]) : entries(value);
  if (!pairs.length) return el('li.row', name, word(list ? 'empty list' : 'no members'));
  const fill = () => details.children.length < 2 && details.append(branch(pairs, depth + 1));
  const details = el('details', { ontoggle: fill, open: depth < OPEN }, el('summary', name, ' ', word(list ? `list of ${count(pairs.length)}` : plural(pairs.length, 'member'))));
  if (details.open) fill();
  return el('li', details);
}

function branch(pairs, depth) {
  const list = el('ul');
  const show = (from, to) => {
    const left = pairs.length - to;
    list.append(...pairs.slice(from, to).map((pair) => row(pair, depth)));
    if (left <= 0) return;
    const item = el('li', more(left, STEP, '', () => (item.remove(), show(to, to + STEP))));
    list.append(item);
  };
  show(0, pairs.length > FIRST * 1.5 ? FIRST : pairs.length);
  return list;
}

export function tree(object) {
  const list = branch(entries(object), 1);
  list.className = 'tree';
  return list;
}
