// The tour (examples/tour.c and tour.cpp): what its tools are called with, what the person and the model say, and what
// has to come of it. tour.test.js runs it in every setting; tests/chaos/tour.test.js kills it in the middle.
import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';

export const programs = ['tour', 'tour-cpp'];
export const clients = ['v1, 2025', 'v2, 2025', 'v2, 2026']; // the official ones, and the era they speak
export const capabilities = { elicitation: {}, sampling: {} };

const accept = (content = {}) => ({ action: 'accept', content });

// What the person says, by how the question begins.
const answers = [
  ['Who is travelling?', accept({ name: 'Ada', email: 'ada@example.org', people: 2 })],
  ['Where to, and when?', accept({ city: 'LIS', day: '2026-08-01', flexible: true })],
  ['How would you like to travel?', accept({ budget: 499.5, extras: ['meal', 'bike'] })],
  ['Index 3 shelves?', accept()],
  ['Pay this invoice?', accept({ account: 'savings', note: 'as agreed' })],
  ['Close ticket T-1?', accept()],
  ['Close ticket T-2?', { action: 'decline' }],
  ['Close ticket T-3?', accept()],
  ['Send this?\n\nYes, at nine.', accept()],
];

export function personSays({ message }) {
  const found = answers.find(([begin]) => message.startsWith(begin));
  assert.ok(found, `nobody was to be asked: ${message}`);
  return found[1];
}

export function modelSays({ messages }) {
  assert.equal(messages[0].content.text, 'Answer in one sentence: Are you open?');
  return { role: 'assistant', model: 'm', content: { type: 'text', text: 'Yes, at nine.' } };
}

const TRIP = 'LIS on 2026-08-01 or so for 2, Ada <ada@example.org>, up to 499.50, extras: meal and bike';

// `questions` counts those to a person and to the model; `deeds` is what the ledger has afterwards.
export const tools = {
  plan_trip: { args: {}, text: `Booked: ${TRIP}.`, questions: 3, deeds: [TRIP] },
  index_library: { args: { shelves: 3 }, text: 'Indexed 3 shelves.', questions: 1, deeds: ['shelf 1', 'shelf 2', 'shelf 3'] },
  pay_invoice: {
    args: { invoice: 'INV-7', amount: 120.5 },
    text: /^Paid 120\.50 for INV-7 from savings, approved by \S+\.$/,
    questions: 1,
    deeds: ['120.50 for INV-7 from savings'],
  },
  close_tickets: { args: {}, text: 'Closed: T-1 T-3.', questions: 3, deeds: ['T-1', 'T-3'] },
  draft_reply: { args: { question: 'Are you open?' }, text: 'Sent: Yes, at nine.', questions: 2, deeds: ['Yes, at nine.'] },
};

// Each line has the key of the step, and the deed.
export function deedsIn(ledger) {
  const lines = existsSync(ledger) ? readFileSync(ledger, 'utf8').split('\n').slice(0, -1) : [];
  return lines.map((line) => /^\S+:[^\t]+\t(.*)$/.exec(line)?.[1] ?? assert.fail(`no line of the ledger: ${line}`));
}

export function assertRight(tool, text, deeds, where) {
  if (tools[tool].text instanceof RegExp) assert.match(text, tools[tool].text, where);
  else assert.equal(text, tools[tool].text, where);
  assert.deepEqual(deeds, tools[tool].deeds, `${where}: every step done once, in order`);
}

// --- settings that cover every pair ---

// A few of all the combinations of `choices`, such that any two values of different columns are together in at least one.
export function everyPair(choices, random) {
  const names = Object.keys(choices);
  const all = names.reduce((rows, name) => rows.flatMap((row) => choices[name].map((value) => ({ ...row, [name]: value }))), [{}]);
  const pairsOf = (row) => names.flatMap((a, i) => names.slice(i + 1).map((b) => `${a}=${JSON.stringify(row[a])} ${b}=${JSON.stringify(row[b])}`));
  const open = new Set(all.flatMap(pairsOf));
  const chosen = [];
  while (open.size) {
    const covers = (row) => pairsOf(row).filter((pair) => open.has(pair)).length;
    const most = Math.max(...all.map(covers));
    const row = random.pick(all.filter((one) => covers(one) === most));
    pairsOf(row).forEach((pair) => open.delete(pair));
    chosen.push(row);
  }
  return { all, chosen };
}
