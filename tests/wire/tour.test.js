// The tour in every setting: in C and in C++, by the official clients, in both eras, over both transports, with a secret
// and without, on all stores. Every pair of these is tried, and the whole of it with NOD_SOAK=1.
//
//   SEED=n      chooses the same settings again
import test from 'node:test';
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { CreateMessageRequestSchema } from '@modelcontextprotocol/sdk/types.js';
import { connect } from './harness.js';
import { connectModern, scratchFolder } from './modern.js';
import { stores } from './stores.js';
import { seeded } from '../chaos/house.js';
import { assertRight, capabilities, clients, deedsIn, everyPair, modelSays, personSays, programs, tools } from './tour.js';

const SEED = Number(process.env.SEED ?? Math.floor(Math.random() * 2 ** 31));
const SECRET = 'a secret that is surely long enough for this';
const LINES = { 'tour.c': 160, 'tour.cpp': 130 }; // of code, at most

const { all, chosen } = everyPair({
  program: programs,
  client: clients,
  transport: ['stdio', 'http'],
  secret: ['secret', 'no secret'],
  store: ['memory', ...stores.map(({ name }) => name)],
}, seeded(SEED));

async function openSession(t, { program, client, transport, secret, store }, ledger) {
  const kept = await stores.find(({ name }) => name === store)?.create(t);
  const options = {
    capabilities,
    answer: personSays,
    args: kept ? ['--store', kept.address] : [],
    env: { TOUR_LEDGER: ledger, NOD_REPLAY_CHECK: '1', ...(secret === 'secret' ? { MCP_ELICITATION_SECRET: SECRET } : {}) },
  };
  if (client !== 'v1, 2025')
    return connectModern(t, transport, program, { ...options, sample: modelSays, legacy: client === 'v2, 2025' });
  const before = (session) => session.client.setRequestHandler(CreateMessageRequestSchema, ({ params }) => modelSays(params));
  return connect(t, transport, program, { ...options, before });
}

for (const setting of process.env.NOD_SOAK === '1' ? all : chosen)
  test(`SEED=${SEED}: ${Object.values(setting).join(', ')}`, async (t) => {
    const ledger = path.join(scratchFolder(t), 'ledger');
    const session = await openSession(t, setting, ledger);
    for (const [tool, { args }] of Object.entries(tools)) {
      const before = deedsIn(ledger).length;
      const progress = [];
      const text = await session.text(tool, args, { onprogress: (told) => progress.push(told.progress) });
      assertRight(tool, text, deedsIn(ledger).slice(before), tool);
      // The last one comes with the result, and heartbeats say the last one again.
      if (tool === 'index_library') assert.deepEqual([...new Set(progress)].slice(0, 2), [1, 2]);
    }
  });

test('the tour is short: lines without comments and without blank ones', (t) => {
  for (const [file, most] of Object.entries(LINES)) {
    const source = readFileSync(new URL(`../../examples/${file}`, import.meta.url), 'utf8');
    const code = source.replace(/\/\*[^]*?\*\//g, '').split('\n').filter((line) => line.trim());
    t.diagnostic(`${file}: ${code.length} lines`);
    assert.ok(code.length <= most, `${file} has ${code.length} lines, and ${most} are enough`);
  }
});

// What the person says otherwise.
for (const program of programs)
  test(`${program}: a mistake can be corrected, and a no does nothing`, async (t) => {
    const ledger = path.join(scratchFolder(t), 'ledger');
    const mail = ['nobody', 'ada@example.org'];
    const session = await connectModern(t, 'stdio', program, {
      capabilities,
      env: { TOUR_LEDGER: ledger },
      sample: modelSays,
      answer: ({ message }) => (message.includes('Who is travelling?')
        ? { action: 'accept', content: { name: 'Ada', email: mail.shift(), people: 1 } } : { action: 'decline' }),
    });
    assert.equal(await session.text('plan_trip'), 'Nothing was booked.');
    assert.equal(mail.length, 0, 'asked again');
    assert.equal(await session.text('index_library', { shelves: 2 }), 'Indexed 0 shelves.');
    assert.equal(await session.text('pay_invoice', { invoice: 'INV-7', amount: 1 }), 'Nothing was paid.');
    assert.equal(await session.text('close_tickets'), 'Closed: none.');
    assert.equal(await session.text('draft_reply', { question: 'Are you open?' }), 'Nothing was sent.');
    assert.deepEqual(deedsIn(ledger), []);
  });
