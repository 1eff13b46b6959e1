// Every example, as its opening comment describes it, over both transports.
import test from 'node:test';
import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { connect, onBoth, withoutInbox } from './harness.js';
import { fillIn } from './visitor.js';

withoutInbox();

const accepting = (content) => ({ answer: () => ({ action: 'accept', ...(content ? { content } : {}) }) });

onBoth(test, 'delete-account deletes on accept with the box ticked, and keeps the reason', async (t, kind) => {
  const session = await connect(t, kind, 'delete-account', accepting({ confirmed: true, reason: 'asked for it' }));
  assert.equal(await session.text('delete_account', { userId: 'ada' }), 'Deleted ada. Reason: asked for it');
  assert.equal(session.asked[0].message, 'Permanently delete account ada? This cannot be undone.');
  assert.doesNotMatch(await session.text('list_accounts'), /Ada/);
  const again = await session.call('delete_account', { userId: 'ada' });
  assert.equal(again.isError, true);
});

onBoth(test, 'delete-account deletes nothing on anything else', async (t, kind) => {
  const answers = [{ action: 'accept', content: { confirmed: false } }, { action: 'decline' }, { action: 'cancel' }];
  const session = await connect(t, kind, 'delete-account', { answer: () => answers.shift() });
  for (let i = 0; i < 3; i++) assert.equal(await session.text('delete_account', { userId: 'ada' }), 'Nothing was deleted.');
  assert.match(await session.text('list_accounts'), /Ada/);
});

onBoth(test, 'clear-completed deletes what the person agreed to', async (t, kind) => {
  const session = await connect(t, kind, 'clear-completed');
  const call = session.text('clear_completed');
  const question = await session.question();
  assert.equal(question.params.message, 'Delete 2 completed items: buy milk, call Bob?');
  await session.text('add_todo', { text: 'completed while the person was thinking', done: true });
  question.accept({});
  assert.equal(await call, 'Deleted 2 items.');
  assert.equal(await session.text('list_todos'), '2. [ ] write the report\n4. [x] completed while the person was thinking');
});

onBoth(test, 'clear-completed keeps everything without a yes', async (t, kind) => {
  const session = await connect(t, kind, 'clear-completed', { answer: () => ({ action: 'decline' }) });
  assert.equal(await session.text('clear_completed'), 'Nothing was deleted.');
  const silent = await connect(t, kind, 'clear-completed', { capabilities: {} });
  assert.equal(await silent.text('clear_completed'), 'Nothing was deleted.');
});

onBoth(test, 'expense books up to the limit without a question, above it with an approval', async (t, kind) => {
  const session = await connect(t, kind, 'expense', accepting());
  assert.equal(await session.text('submit_expense', { amount: 100, purpose: 'lunch' }), 'Booked 100.00 for lunch; 100.00 in all.');
  assert.equal(session.asked.length, 0);
  assert.match(await session.text('submit_expense', { amount: 250, purpose: 'flight' }), /^Booked 250\.00 for flight; 350\.00 in all\. Approved by \S+/);
  assert.match(session.asked[0].message, /Approve an expense of 250\.00 for flight\?/);
});

onBoth(test, 'expense books nothing that is not approved', async (t, kind) => {
  const session = await connect(t, kind, 'expense', { answer: () => ({ action: 'decline' }), env: { EXPENSE_LIMIT: '10' } });
  assert.match(await session.text('submit_expense', { amount: 11, purpose: 'tea' }), /Nothing was booked/);
  assert.equal(await session.text('submit_expense', { amount: 1, purpose: 'tea' }), 'Booked 1.00 for tea; 1.00 in all.');
});

onBoth(test, 'renewals asks about each and renews what was accepted', async (t, kind) => {
  const session = await connect(t, kind, 'renewals', accepting());
  assert.equal(await session.text('renew_domains'),
    'example.org: renewed\nexample.net: renewed\nexample.edu: failed, the registry has locked it');
  const silent = await connect(t, kind, 'renewals', { capabilities: {} });
  assert.match(await silent.text('renew_domains'), /^example\.org: not renewed\nexample\.net: not renewed/);
});

onBoth(test, 'transfer asks twice and sends once', async (t, kind) => {
  const session = await connect(t, kind, 'transfer');
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
  assert.match(result.content[0].text, /not enough money/);
});

onBoth(test, 'transfer sends nothing when its second question runs out of time', async (t, kind) => {
  const session = await connect(t, kind, 'transfer', { env: { TRANSFER_CONFIRM_MS: '300' } });
  const call = session.text('transfer', { to: 'Bob', cents: 100 });
  (await session.question()).accept({ account: 'checking' });
  const confirm = await session.question();
  await confirm.withdrawn();
  assert.equal(await call, 'Nothing was sent.');
});

onBoth(test, 'house-rules lets a payment through, with its letterhead and without its card', async (t, kind) => {
  const session = await connect(t, kind, 'house-rules', accepting({ purpose: 'lunch' }));
  assert.equal(await session.text('pay', { to: 'Bob', amount: 12 }), 'Paid 12.00 to Bob with ************1111 for lunch.');
  assert.deepEqual(session.asked.map(({ message }) => message), ['[house rules] What is it for?']);
  assert.equal(await session.text('show_record'), 'pay: ok');
});

onBoth(test, 'house-rules asks a person at the gate, and pays nothing without a yes', async (t, kind) => {
  const answers = [{ action: 'decline' }, { action: 'accept' }, { action: 'accept', content: { purpose: 'rent' } }];
  const session = await connect(t, kind, 'house-rules', { answer: () => answers.shift() });
  const no = await session.call('pay', { to: 'Bob', amount: 1500 });
  assert.equal(no.isError, true);
  assert.equal(no._meta.code, 'TOO_MUCH');
  assert.equal(no.content[0].text, 'Nobody agreed to pay 1500.00; nothing was paid.');
  assert.equal(await session.text('pay', { to: 'Bob', amount: 1500 }), 'Paid 1500.00 to Bob with ************1111 for rent.');
  const gate = '[house rules] 1500.00 to Bob is a lot of money. Go on?';
  assert.deepEqual(session.asked.map(({ message }) => message), [gate, gate, '[house rules] What is it for?']);
  assert.equal(await session.text('show_record'), 'pay: refused\npay: ok');
});

for (const [variable, sentence] of [['HOUSE_CLOSED', 'pay is closed. Come back at 9.'], ['HOUSE_BLOCKED', 'Payments are blocked by the bank.']]) {
  onBoth(test, `house-rules refuses with a code and a sentence: ${variable}`, async (t, kind) => {
    const session = await connect(t, kind, 'house-rules', { ...accepting(), env: { [variable]: '1' } });
    const refused = await session.call('pay', { to: 'Bob', amount: 12 });
    assert.equal(refused.isError, true);
    assert.equal(refused._meta.code, variable);
    assert.equal(refused.content[0].text, sentence);
    assert.equal(session.asked.length, 0);
    assert.equal(await session.text('show_record'), 'pay: refused', 'what a rule has ended is on the record, too');
  });
}

const address = {
  name: 'Ada Lovelace', email: 'ada@example.org', postcode: '12345', delivery: '2026-01-31', website: 'https://example.org',
  parcels: 2, weight: 3.5, insured: true, speed: 'express', extras: ['gift', 'sign'],
};

onBoth(test, 'shipping shows every kind of field, and takes a form that fits', async (t, kind) => {
  const session = await connect(t, kind, 'shipping', accepting(address));
  assert.equal(await session.text('ship_order', { order: 17 }), 'Order 17 goes to Ada Lovelace (12345), express; extras: gift, sign; insured: yes.');
  const { properties, required } = session.asked[0].requestedSchema;
  assert.deepEqual(Object.keys(properties), Object.keys(address));
  assert.deepEqual(required, ['name', 'email', 'postcode', 'parcels', 'weight', 'insured', 'speed'], 'a preset is no default: what the handler counts on is required');
  assert.equal(properties.email.format, 'email');
  assert.equal(properties.weight.maximum, 31.5);
  assert.equal(properties.parcels.type, 'integer');
  assert.equal(properties.insured.default, true);
  assert.equal(properties.speed.default, 'standard');
  assert.equal(properties.extras.maxItems, 2);
});

onBoth(test, 'shipping lets a mistake be corrected', async (t, kind) => {
  const forms = [{ ...address, email: 'no address' }, { ...address, extras: ['gift', 'sign', 'neighbour'] }, address];
  const session = await connect(t, kind, 'shipping', { answer: () => ({ action: 'accept', content: forms.shift() }) });
  assert.match(await session.text('ship_order', { order: 1 }), /^Order 1 goes to/);
  assert.equal(session.asked.length, 3);
});

onBoth(test, 'shipping tells a decline from a cancel', async (t, kind) => {
  const actions = ['decline', 'cancel'];
  const session = await connect(t, kind, 'shipping', { answer: () => ({ action: actions.shift() }) });
  assert.match(await session.text('ship_order', { order: 1 }), /does not want/);
  assert.match(await session.text('ship_order', { order: 1 }), /not decided/);
});

onBoth(test, 'warehouse asks which one when several match, and only then', async (t, kind) => {
  const session = await connect(t, kind, 'warehouse', accepting({ sku: 'LMP-2' }));
  assert.equal(await session.text('reserve_item', { item: 'stool', quantity: 2 }), 'Reserved 2 of stool (STL-1).');
  assert.equal(session.asked.length, 0);
  assert.equal(await session.text('reserve_item', { item: 'lamp', quantity: 2 }), 'Reserved 2 of desk lamp, white (LMP-2).');
  assert.deepEqual(session.asked[0].requestedSchema.properties.sku.oneOf.map((option) => option.const), ['LMP-1', 'LMP-2', 'LMP-3']);
  const none = await session.call('reserve_item', { item: 'lamp', quantity: 2 });
  assert.equal(none.isError, true, 'one is left');
  assert.equal((await session.call('reserve_item', { item: 'sofa' })).isError, true);
});

onBoth(test, 'warehouse takes only what was on the list', async (t, kind) => {
  const session = await connect(t, kind, 'warehouse', accepting({ sku: 'CHR-1' }));
  const result = await session.call('reserve_item', { item: 'lamp' });
  assert.equal(result._meta.code, 'INVALID_INPUT');
});

function folderWith(t, ...names) {
  const folder = mkdtempSync(path.join(tmpdir(), 'nod-delete-'));
  t.after(() => rmSync(folder, { recursive: true }));
  for (const name of names) writeFileSync(path.join(folder, name), name);
  return folder;
}

onBoth(test, 'delete-file deletes after a yes, and keeps after a no', async (t, kind) => {
  const folder = folderWith(t, 'a.txt', 'b.txt');
  const actions = ['accept', 'decline'];
  const session = await connect(t, kind, 'delete-file', { env: { DELETE_FILE_ROOT: folder }, answer: () => ({ action: actions.shift() }) });
  assert.equal(await session.text('delete_file', { name: 'a.txt' }), 'Deleted a.txt.');
  assert.equal(await session.text('delete_file', { name: 'b.txt' }), 'b.txt was kept.');
  assert.ok(!existsSync(path.join(folder, 'a.txt')));
  assert.ok(existsSync(path.join(folder, 'b.txt')));
});

onBoth(test, 'delete-file moves to the wastebasket when nobody can be asked', async (t, kind) => {
  const folder = folderWith(t, 'a.txt');
  const session = await connect(t, kind, 'delete-file', { env: { DELETE_FILE_ROOT: folder }, capabilities: {} });
  assert.match(await session.text('delete_file', { name: 'a.txt' }), /moved to \.wastebasket/);
  assert.ok(existsSync(path.join(folder, '.wastebasket', 'a.txt')));
  writeFileSync(path.join(folder, 'a.txt'), 'another');
  assert.match((await session.call('delete_file', { name: 'a.txt' })).content[0].text, /already/);
  assert.ok(existsSync(path.join(folder, 'a.txt')));
});

onBoth(test, 'delete-file touches nothing outside of its folder', async (t, kind) => {
  const outside = folderWith(t, 'precious.txt');
  const folder = folderWith(t);
  symlinkSync(path.join(outside, 'precious.txt'), path.join(folder, 'link.txt'));
  const session = await connect(t, kind, 'delete-file', { env: { DELETE_FILE_ROOT: folder }, ...accepting() });
  for (const name of [`../${path.basename(outside)}/precious.txt`, path.join(outside, 'precious.txt'), '..', '.', 'link.txt', '.wastebasket', 'missing.txt'])
    assert.equal((await session.call('delete_file', { name })).isError, true, name);
  assert.ok(existsSync(path.join(outside, 'precious.txt')));
  assert.equal(session.asked.length, 0);
  const nowhere = await connect(t, kind, 'delete-file', accepting());
  assert.equal((await nowhere.call('delete_file', { name: 'x' })).isError, true);
});

onBoth(test, 'sign-in goes through a page of the server, and only the tool sees what is entered there', async (t, kind) => {
  const session = await connect(t, kind, 'sign-in', { capabilities: { elicitation: { url: {} } }, inbox: true, args: kind === 'stdio' ? ['--inbox', '127.0.0.1:0'] : [] });
  assert.equal((await session.call('read_archive')).isError, true);
  const call = session.text('sign_in');
  const question = await session.question();
  assert.match(question.params.url, /^http:\/\/127\.0\.0\.1:\d+\/a\/[\w-]+$/);
  question.reply({ action: 'accept' });
  const unfit = await fillIn(question.params.url, { name: 'Ada', number: '1815' });
  assert.deepEqual([unfit.status, unfit.body.errors.map(({ path }) => path)], [422, ['/number']]);
  assert.equal((await fillIn(question.params.url, { name: 'Ada', number: 'R-1906' })).status, 200);
  const again = await session.question();
  assert.match(again.params.message, /^There is no such reader/);
  again.reply({ action: 'accept' });
  assert.equal((await fillIn(again.params.url, { name: 'Ada', number: 'R-1815' })).status, 200);
  assert.equal(await call, 'You are signed in.');
  assert.equal(await session.text('read_archive'), 'The archive says: everything is fine.');
  assert.doesNotMatch(JSON.stringify(session.asked), /R-1815/);
});
