// Every example, driven by the second generation of the official client: in the 2026 era and in its legacy mode, over stdio
// and HTTP. Handlers and outcomes are the same; examples.test.js uses the first generation.
import test from 'node:test';
import assert from 'node:assert/strict';
import { existsSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { connect, startHttp, textOf, withoutInbox } from './harness.js';
import { accepted, connectModern, onBothAndBothEras, scratchFolder } from './modern.js';
import { fillIn } from './visitor.js';

withoutInbox();

const accepting = (content) => ({ answer: () => accepted(content) });

onBothAndBothEras(test, 'delete-account deletes on accept with the box ticked, and on nothing else', async (t, kind, how) => {
  const answers = [accepted({ confirmed: false }), { action: 'decline' }, { action: 'cancel' }, accepted({ confirmed: true, reason: 'asked for it' })];
  const session = await connectModern(t, kind, 'delete-account', { ...how, answer: () => answers.shift() });
  for (let i = 0; i < 3; i++) assert.equal(await session.text('delete_account', { userId: 'ada' }), 'Nothing was deleted.');
  assert.match(await session.text('list_accounts'), /Ada/);
  assert.equal(await session.text('delete_account', { userId: 'ada' }), 'Deleted ada. Reason: asked for it');
  assert.equal(session.asked[0].message, 'Permanently delete account ada? This cannot be undone.');
  assert.doesNotMatch(await session.text('list_accounts'), /Ada/);
  assert.equal(session.asked.length, 4);
});

onBothAndBothEras(test, 'clear-completed deletes what the person agreed to, whatever came meanwhile', async (t, kind, how) => {
  const session = await connectModern(t, kind, 'clear-completed', how);
  const call = session.text('clear_completed');
  const question = await session.question();
  assert.equal(question.params.message, 'Delete 2 completed items: buy milk, call Bob?');
  await session.text('add_todo', { text: 'completed while the person was thinking', done: true });
  question.accept({});
  assert.equal(await call, 'Deleted 2 items.');
  assert.equal(await session.text('list_todos'), '2. [ ] write the report\n4. [x] completed while the person was thinking');
});

onBothAndBothEras(test, 'clear-completed keeps everything without a yes, and without a way to ask', async (t, kind, how) => {
  const answers = [{ action: 'decline' }, { action: 'cancel' }];
  const session = await connectModern(t, kind, 'clear-completed', { ...how, answer: () => answers.shift() });
  for (let i = 0; i < 2; i++) assert.equal(await session.text('clear_completed'), 'Nothing was deleted.');
  const silent = await connectModern(t, kind, 'clear-completed', { ...how, capabilities: {} });
  assert.equal(await silent.text('clear_completed'), 'Nothing was deleted.');
});

onBothAndBothEras(test, 'expense books above the limit with an approval, and nothing without', async (t, kind, how) => {
  const answers = [accepted(), { action: 'decline' }, { action: 'cancel' }];
  const session = await connectModern(t, kind, 'expense', { ...how, answer: () => answers.shift() });
  assert.equal(await session.text('submit_expense', { amount: 100, purpose: 'lunch' }), 'Booked 100.00 for lunch; 100.00 in all.');
  assert.equal(session.asked.length, 0);
  assert.match(await session.text('submit_expense', { amount: 250, purpose: 'flight' }), /^Booked 250\.00 for flight; 350\.00 in all\. Approved by \S+/);
  for (let i = 0; i < 2; i++) assert.match(await session.text('submit_expense', { amount: 250, purpose: 'flight' }), /Nothing was booked/);
  assert.equal(session.asked.length, 3);
  const silent = await connectModern(t, kind, 'expense', { ...how, capabilities: {} });
  assert.match(await silent.text('submit_expense', { amount: 250, purpose: 'flight' }), /Nothing was booked/);
});

onBothAndBothEras(test, 'renewals asks about each and renews what was accepted, and a failure of one stops no other', async (t, kind, how) => {
  const answer = (params) => (/\.net/.test(params.message) ? { action: 'decline' } : accepted({}));
  const session = await connectModern(t, kind, 'renewals', { ...how, answer });
  assert.equal(await session.text('renew_domains'),
    'example.org: renewed\nexample.net: not renewed\nexample.edu: failed, the registry has locked it');
  assert.deepEqual(session.asked.map(({ message }) => message).sort(),
    ['Renew example.edu for 99.00?', 'Renew example.net for 14.50?', 'Renew example.org for 12.00?']);
  assert.match(await session.text('list_domains'), /example\.org: 377 days\nexample\.net: 3 days/);
  assert.match(await session.text('renew_domains'), /^example\.net: not renewed\nexample\.edu: failed/);
});

onBothAndBothEras(test, 'transfer asks twice and sends once', async (t, kind, how) => {
  const session = await connectModern(t, kind, 'transfer', how);
  const call = session.text('transfer', { to: 'Bob', cents: 25000 });
  (await session.question()).accept({ account: 'savings', reference: 'rent' });
  const confirm = await session.question();
  assert.equal(confirm.params.message, 'Send 250.00 from savings (1000.00) to Bob?');
  confirm.accept({});
  assert.equal(await call, 'Sent 250.00 from savings to Bob, reference rent.');
  const poor = session.call('transfer', { to: 'Bob', cents: 90000 });
  (await session.question()).accept({ account: 'savings' });
  (await session.question()).accept({});
  const result = await poor;
  assert.equal(result.isError, true);
  assert.match(textOf(result), /not enough money/);
  const refused = session.text('transfer', { to: 'Bob', cents: 1 });
  (await session.question()).accept({ account: 'savings' });
  (await session.question()).decline();
  assert.equal(await refused, 'Nothing was sent.');
});

onBothAndBothEras(test, 'transfer sends nothing when the answer to its second question comes too late', async (t, kind, how) => {
  const session = await connectModern(t, kind, 'transfer', { ...how, env: { TRANSFER_CONFIRM_MS: '200' } });
  const call = session.text('transfer', { to: 'Bob', cents: 100 });
  (await session.question()).accept({ account: 'checking' });
  const confirm = await session.question();
  setTimeout(() => confirm.accept({}), 400);
  assert.equal(await call, 'Nothing was sent.');
});

const address = {
  name: 'Ada Lovelace', email: 'ada@example.org', postcode: '12345', delivery: '2026-01-31', website: 'https://example.org',
  parcels: 2, weight: 3.5, insured: true, speed: 'express', extras: ['gift', 'sign'],
};

onBothAndBothEras(test, 'shipping lets a mistake be corrected, and tells a decline from a cancel', async (t, kind, how) => {
  const answers = [accepted({ ...address, email: 'no address' }), accepted(address), { action: 'decline' }, { action: 'cancel' }];
  const session = await connectModern(t, kind, 'shipping', { ...how, answer: () => answers.shift() });
  assert.equal(await session.text('ship_order', { order: 17 }), 'Order 17 goes to Ada Lovelace (12345), express; extras: gift, sign; insured: yes.');
  assert.equal(session.asked.length, 2);
  assert.match(session.asked[1].message, /email/);
  assert.deepEqual(Object.keys(session.asked[0].requestedSchema.properties), Object.keys(address));
  assert.match(await session.text('ship_order', { order: 1 }), /does not want/);
  assert.match(await session.text('ship_order', { order: 1 }), /not decided/);
});

onBothAndBothEras(test, 'warehouse asks which one when several match, and only then', async (t, kind, how) => {
  const session = await connectModern(t, kind, 'warehouse', { ...how, ...accepting({ sku: 'LMP-2' }) });
  assert.equal(await session.text('reserve_item', { item: 'stool', quantity: 2 }), 'Reserved 2 of stool (STL-1).');
  assert.equal(session.asked.length, 0);
  assert.equal(await session.text('reserve_item', { item: 'lamp', quantity: 2 }), 'Reserved 2 of desk lamp, white (LMP-2).');
  assert.deepEqual(session.asked[0].requestedSchema.properties.sku.oneOf.map((option) => option.const), ['LMP-1', 'LMP-2', 'LMP-3']);
});

onBothAndBothEras(test, 'delete-file deletes after a yes, keeps after a no, and moves aside when nobody can be asked', async (t, kind, how) => {
  const folder = scratchFolder(t);
  for (const name of ['a.txt', 'b.txt', 'c.txt']) writeFileSync(path.join(folder, name), name);
  const answers = [accepted(), { action: 'decline' }];
  const session = await connectModern(t, kind, 'delete-file', { ...how, env: { DELETE_FILE_ROOT: folder }, answer: () => answers.shift() });
  assert.equal(await session.text('delete_file', { name: 'a.txt' }), 'Deleted a.txt.');
  assert.equal(await session.text('delete_file', { name: 'b.txt' }), 'b.txt was kept.');
  assert.ok(!existsSync(path.join(folder, 'a.txt')));
  assert.ok(existsSync(path.join(folder, 'b.txt')));
  const silent = await connectModern(t, kind, 'delete-file', { ...how, env: { DELETE_FILE_ROOT: folder }, capabilities: {} });
  assert.match(await silent.text('delete_file', { name: 'c.txt' }), /moved to \.wastebasket/);
});

onBothAndBothEras(test, 'blocking checks the rest after a yes, with progress', async (t, kind, how) => {
  const answers = [accepted(), { action: 'decline' }];
  const session = await connectModern(t, kind, 'blocking', { ...how, answer: () => answers.shift() });
  const progress = [];
  const all = await session.text('check_disks', {}, { onprogress: (told) => progress.push(told.progress) });
  assert.equal(all, 'Checked all 8 disks; disk 4 looks bad.');
  assert.ok(progress.at(-1) > 4, `${progress}`); // past the yes; the client drops what it reads together with the result
  assert.equal(await session.text('check_disks'), 'Checked 4 of 8 disks; disk 4 looks bad.');
});

onBothAndBothEras(test, 'house-rules asks at the gate, keeps the card to itself, and has everything on its record', async (t, kind, how) => {
  const answers = [accepted({ purpose: 'lunch' }), { action: 'decline' }, accepted(), accepted({ purpose: 'rent' })];
  const session = await connectModern(t, kind, 'house-rules', { ...how, answer: () => answers.shift() });
  assert.equal(await session.text('pay', { to: 'Bob', amount: 12 }), 'Paid 12.00 to Bob with ************1111 for lunch.');
  const no = await session.call('pay', { to: 'Bob', amount: 1500 });
  assert.equal(no._meta.code, 'TOO_MUCH');
  assert.equal(await session.text('pay', { to: 'Bob', amount: 1500 }), 'Paid 1500.00 to Bob with ************1111 for rent.');
  assert.equal(await session.text('show_record'), 'pay: ok\npay: refused\npay: ok');
});

onBothAndBothEras(test, 'sign-in goes through a page', async (t, kind, how) => {
  const pages = { elicitation: { url: {} } };
  const session = await connectModern(t, kind, 'sign-in', { ...how, capabilities: pages, inbox: true, args: kind === 'stdio' ? ['--inbox', '127.0.0.1:0'] : [] });
  const call = session.text('sign_in');
  const question = await session.question();
  assert.equal(question.params.mode, 'url');
  if (!how.legacy) assert.equal('elicitationId' in question.params, false);
  question.accept();
  assert.equal((await fillIn(question.params.url, { name: 'Grace', number: 'R-1906' })).status, 200);
  assert.equal(await call, 'You are signed in.');
  assert.equal(await session.text('read_archive'), 'The archive says: everything is fine.');
});

onBothAndBothEras(test, 'everything asks for forms, the model and roots', async (t, kind, how) => {
  const session = await connectModern(t, kind, 'everything', {
    ...how,
    capabilities: { elicitation: {}, sampling: {}, roots: {} },
    answer: () => accepted({ username: 'ada', email: 'ada@example.org' }),
    sample: (params) => ({ role: 'assistant', model: 'm', content: { type: 'text', text: `heard ${params.messages[0].content.text}` } }),
    roots: [{ uri: 'file:///home', name: 'home' }],
  });
  assert.match(await session.text('test_elicitation', { message: 'Who?' }), /action=accept, content=\{"username":"ada"/);
  assert.equal(await session.text('test_sampling', { prompt: 'hello' }), 'LLM response: heard hello');
  assert.match(await session.text('test_roots'), /Root: file:\/\/\/home/);
  assert.equal(await session.text('test_simple_text'), 'This is a simple text response for testing.');
  const { resources } = await session.client.listResources();
  assert.ok(resources.length > 0);
  assert.ok((await session.client.readResource({ uri: resources[0].uri })).contents.length > 0);
  const { prompts } = await session.client.listPrompts();
  assert.ok(prompts.length > 0);
});

// --- where the eras must differ ---

test('a capability that is missing: an error by code in 2026, a failed call in 2025', async (t) => {
  for (const kind of ['stdio', 'http']) {
    const modern = await connectModern(t, kind, 'delete-account', { capabilities: {} });
    await assert.rejects(modern.call('delete_account', { userId: 'ada' }), (error) => {
      assert.equal(error.code, -32021, error.message);
      assert.deepEqual(error.data.requiredCapabilities, { elicitation: { form: {} } });
      return true;
    });
    const legacy = await connectModern(t, kind, 'delete-account', { capabilities: {}, legacy: true });
    const result = await legacy.call('delete_account', { userId: 'ada' });
    assert.equal(result.isError, true);
    assert.equal(result._meta.code, 'ELICITATION_NOT_SUPPORTED');
  }
});

test('what needs a page first is a round in 2026 and an error by code in 2025', async (t) => {
  const capabilities = { elicitation: { url: {} } };
  const modern = await connectModern(t, 'http', 'probe', { capabilities, answer: () => ({ action: 'decline' }) });
  const refused = await modern.call('require_url');
  assert.equal(refused.isError, true);
  assert.equal(modern.asked[0].mode, 'url');
  const legacy = await connectModern(t, 'http', 'probe', { capabilities, legacy: true });
  await assert.rejects(legacy.call('require_url'), (error) => error.code === -32042);
});

test('a client that negotiates by itself finds the 2026 era', async (t) => {
  const { Client, StreamableHTTPClientTransport } = await import('@modelcontextprotocol/client');
  const server = await startHttp(t, 'delete-account');
  const client = new Client({ name: 'auto', version: '1' }, { versionNegotiation: { mode: 'auto' } });
  await client.connect(new StreamableHTTPClientTransport(new URL(server.url)));
  t.after(() => client.close());
  assert.equal(client.getProtocolEra(), 'modern');
  assert.equal(client.getServerVersion().name, 'delete-account');
});

test('both clients and both eras at once against one process, each with its own answers', async (t) => {
  const server = await startHttp(t, 'transfer', { env: {} });
  const answer = (account) => (params) => accepted(params.requestedSchema.properties.account ? { account } : {});
  const sessions = [];
  for (let i = 0; i < 4; i++) {
    sessions.push(await connect(t, 'http', 'transfer', { server, answer: answer('savings') }));
    sessions.push(await connectModern(t, 'http', 'transfer', { server, answer: answer('savings') }));
    sessions.push(await connectModern(t, 'http', 'transfer', { server, answer: answer('savings'), legacy: true }));
  }
  const results = await Promise.all(sessions.flatMap((session, n) =>
    Array.from({ length: 5 }, (_, i) => session.text('transfer', { to: `person ${n}-${i}`, cents: 100 }))));
  results.forEach((text, at) => assert.equal(text, `Sent 1.00 from savings to person ${Math.floor(at / 5)}-${at % 5}.`));
  const last = sessions[0].call('transfer', { to: 'Bob', cents: 94001 });
  const result = await last;
  assert.equal(result.isError, true, 'sixty transfers were made, not one more or less');
  assert.match(await sessions[1].text('transfer', { to: 'Bob', cents: 94000 }), /^Sent 940\.00/);
});

test('one pipe, both eras: the same process serves whoever opens it', async (t) => {
  const modern = await connectModern(t, 'stdio', 'delete-account', accepting({ confirmed: true }));
  assert.equal(await modern.text('delete_account', { userId: 'ada' }), 'Deleted ada.');
  assert.equal(modern.client.getProtocolEra(), 'modern');
  const legacy = await connectModern(t, 'stdio', 'delete-account', { ...accepting({ confirmed: true }), legacy: true });
  assert.equal(legacy.client.getProtocolEra(), 'legacy');
  assert.equal(await legacy.text('delete_account', { userId: 'ada' }), 'Deleted ada.');
});
