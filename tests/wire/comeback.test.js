// The tables of docs/inside/comeback.md, walked: every cell is a call that is brought to its state with real servers, and a client that comes
// back for it. What it sees must be what the cell says, word for word.
//
// By default a few cells, drawn anew each time; NOD_COMEBACK_SEED=n draws the same again, NOD_COMEBACK_CELL='event id' (any part of a
// cell's name) walks those alone, and NOD_SOAK=1 walks all.
import { describe, it } from 'node:test';
import assert from 'node:assert/strict';
import { createHash, randomInt } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { handles, legend, possible, states, walk } from './comeback.js';

const page = readFileSync(new URL('../../docs/inside/comeback.md', import.meta.url), 'utf8');
const STORES = ['memory', 'SQLite', 'Redis'];
const NEVER = '–'; // there is no such cell
const LANES = 4;
const DRAWN = 12;

// The rows of each table, under the title of its section.
function* rows() {
  let [title, heads] = ['', null];
  for (const line of page.split('\n')) {
    if (line.startsWith('## ')) title = line.slice(3);
    if (!line.startsWith('|')) heads = null;
    else {
      const row = line.slice(1, -1).split('|').map((cell) => cell.trim());
      if (!heads) heads = row;
      else if (!/^[- ]+$/.test(row[0])) yield { title, of: Object.fromEntries(heads.map((head, i) => [head, row[i]])) };
    }
  }
}

const plain = (text) => text.replaceAll('`', '');
const cells = [];
for (const { title, of } of rows()) {
  if (of.word) legend.push({ word: of.word, status: of.status, code: of.code, message: plain(of.message) });
  if (!of.memory) continue;
  const [handle, state] = [title.replace(/^By /, ''), of['the call']];
  assert.ok(handles[handle], `an unknown handle: ${handle}`);
  assert.ok(states[state], `an unknown state: ${state}`);
  for (const store of STORES) cells.push({ handle, state, store, words: of[store], foreign: of['somebody else'] });
}
for (const handle of Object.keys(handles))
  for (const state of Object.keys(states))
    assert.equal(cells.filter((cell) => cell.handle === handle && cell.state === state).length, STORES.length, `the page has ${handle}: ${state} once`);

for (const cell of cells) assert.equal(cell.words !== NEVER, possible(cell), `${cell.handle}: ${cell.state}: ${cell.store}`);

const nameOf = ({ handle, state, store }) => `${handle}: ${state}: ${store}`;
const seed = process.env.NOD_COMEBACK_SEED ?? randomInt(2 ** 31);
const rank = (cell) => createHash('sha256').update(`${seed} ${nameOf(cell)}`).digest('hex');
const SLOW = /^target gone$/; // on Redis such a call ends after half a minute

function drawn() {
  const there = cells.filter(({ words }) => words !== NEVER);
  if (process.env.NOD_COMEBACK_CELL) return there.filter((cell) => nameOf(cell).includes(process.env.NOD_COMEBACK_CELL));
  if (process.env.NOD_SOAK === '1') return there;
  console.log(`NOD_COMEBACK_SEED=${seed}`);
  return there.filter(({ state, store }) => store !== 'Redis' || !SLOW.test(state)).sort((a, b) => (rank(a) < rank(b) ? -1 : 1)).slice(0, DRAWN);
}

describe('whoever comes back', { concurrency: LANES }, () => {
  for (const cell of drawn())
    it(nameOf(cell), async (t) => {
      const expected = cell.words.split(', ');
      const { seen, foreign, deeds, due } = await walk(t, cell, expected);
      assert.deepEqual({ seen: seen.join(', '), foreign: foreign.join(', ') || NEVER, deeds }, { seen: cell.words, foreign: cell.foreign, deeds: due });
    });
});
