// Arguments read like data: titled, in order, without quotes, with units, in the person's own time; and exactly as they came
// behind one press.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { stage, person, ask, asks, button, fetched, ready, rows, shot } from './browser.js';
import { look } from './look.js';

const tree = (page) => ask(page).locator('.tree');
// The value beside a name, and what is seen of it.
const value = (page, name) => tree(page).locator('.row', { has: page.locator('.k').getByText(name, { exact: true }) }).locator('> div');
const described = (page) => tree(page).getByText('Pay to').waitFor();

const ORDER = '{"extra": "not described", "items":[{"name":"Pen","count":3,"price":1.50},{"price":12000,"count":12,"name":"Ink \\u0026 paper"}], "amount":1234567.80,"share":12.5,"due":"2026-12-24T18:30:00Z","to":"Grace Hopper","last":"Hopper","first":"Grace"}';

// What is copied: the clipboard itself belongs to every page of the browser.
const copies = (page) => page.evaluate(() => (navigator.clipboard.writeText = async (text) => (window.copied = text)));
const copied = (page) => page.evaluate(() => window.copied);

// Draws arguments as the page does, and reads what is there.
async function drawn(page, args, properties, read) {
  await page.evaluate(async ([args, properties]) => {
    const { values } = await import('/assets/any/tree.js'), { parse } = await import('/assets/any/json.js');
    const { node } = values('Drawn', parse(args), properties && parse(JSON.stringify({ properties })));
    node.classList.add('drawn');
    document.querySelectorAll('.drawn').forEach((one) => one.remove());
    document.querySelector('.ask .body').append(node);
  }, [args, properties]);
  return page.locator('.drawn').evaluate(read);
}

describe('data', { concurrency: 2 }, () => {
  test('arguments have the titles and the order of the schema, descriptions, units, and grouped digits that are copied as they came', async (t) => {
    const { peer, page } = await stage(t);
    await peer.call('refund', ORDER);
    await described(page);
    assert.deepEqual(await tree(page).locator('> li > .k, > li > details > summary > .k').allTextContents(), ['Pay to', 'Amount', 'Share', 'Due', 'Name first', 'Name last', 'Articles', 'extra'], 'a title that two have is told apart');
    assert.equal(await value(page, 'Pay to').textContent(), 'Grace Hopper');
    assert.equal(await value(page, 'Amount').locator('.num').textContent(), '1234567.80 EUR');
    assert.deepEqual(await value(page, 'Amount').locator('.group').allTextContents(), ['234', '567']);
    await value(page, 'Amount').getByText('What is paid back, without fees.').waitFor();
    assert.equal(await value(page, 'Share').textContent(), '12.5 %');
    assert.equal(await tree(page).locator('.k', { hasText: 'Pay to' }).getAttribute('title'), 'to');
    assert.equal((await tree(page).textContent()).includes('"'), false);
    await rows(page).first().click(); // on a phone the question is one page, the list another
    await ready(page);
    await look(page, 'data', true);
  });

  test('a list of equal objects is a table, with the titles of its schema; one that is not alike stays a list', async (t) => {
    const { peer, page } = await stage(t);
    await peer.call('refund', ORDER);
    await described(page);
    const table = tree(page).getByRole('region', { name: 'Articles' });
    assert.deepEqual(await table.locator('th').allTextContents(), ['Article', 'Pieces', 'Price']);
    assert.deepEqual(await table.locator('tbody tr').allInnerTexts(), ['Pen\t3\t1.50 EUR', 'Ink & paper\t12\t12000 EUR']);
    await peer.call('say', { text: 'Not alike.', rows: [{ a: 1, b: 2 }, { a: 1 }], many: Array.from({ length: 300 }, (_, i) => ({ n: i })), twice: [{ a: { b: 1 } }, { a: { b: 1 } }] });
    await rows(page).nth(1).click();
    await asks(page, 'Not alike.');
    assert.equal(await tree(page).locator('table').count(), 1);
    assert.equal(await tree(page).locator('tbody tr').count(), 41, 'drawn in steps');
    await button(page, 'show 260 more').click();
    assert.equal(await tree(page).locator('tbody tr').count(), 300);
  });

  test('a time is in the zone of the person, and with a press as it was written', async (t) => {
    const { server, name, peer } = await stage(t);
    const page = await person(t, server, name, { timezoneId: 'Asia/Tokyo' });
    await peer.call('refund', ORDER);
    await described(page);
    assert.match(await value(page, 'Due').locator('time').textContent(), /^Fri, 25 Dec 2026, 03:30:00 (GMT\+9|JST)$/);
    await value(page, 'Due').getByRole('button', { name: 'As written' }).click();
    assert.equal(await value(page, 'Due').locator('time').textContent(), '2026-12-24T18:30:00Z');
    await value(page, 'Due').getByRole('button', { name: 'In my time zone' }).click();
    assert.match(await value(page, 'Due').locator('time').textContent(), /25 Dec/);
  });

  test('"As JSON" is the very text that the server has, and so is what is copied', async (t) => {
    const { peer, page } = await stage(t);
    await copies(page);
    await peer.call('refund', ORDER);
    await described(page);
    await button(page, 'As JSON').click();
    const { items: [{ id }] } = await fetched(page, '/api/elicitation?state=pending');
    const text = await page.evaluate(async (id) => (await fetch(`/api/elicitation/${id}`, { headers: { 'X-Page-Key': localStorage.getItem('nod-key') } })).text(), id);
    const shown = await ask(page).locator('.code pre').textContent();
    assert.ok(text.includes(`"arguments":${shown}`), shown);
    assert.ok(shown.includes('1234567.80') && shown.startsWith('{"extra"'), shown);
    await button(page, 'Copy').click();
    await button(page, 'Copied').waitFor();
    assert.equal(await copied(page), shown);
    await shot(page, 'as-json');
    await button(page, 'As JSON').click();
    assert.equal(await value(page, 'Pay to').textContent(), 'Grace Hopper');
  });

  test('code and JSON are in a box that can be copied, long text folds after ten lines, and blanks at the ends are seen', async (t) => {
    const { peer, page } = await stage(t);
    await copies(page);
    const query = 'SELECT *\nFROM orders\u202E', letter = Array.from({ length: 30 }, (_, i) => `Line ${i} of a letter.`).join('\n');
    await peer.call('refund', { query, note: letter, nested: '{"a": [1, 2]}', script: 'if x:\n    y()', blank: ' a  b \n', none: '', yes: true, no: false, null: null, odd: '{not json' });
    await tree(page).locator('.code').nth(2).waitFor(); // the schema may come behind the arguments
    assert.equal(await tree(page).locator('.code').count(), 3);
    assert.deepEqual(await value(page, 'Query').locator('.mark').allTextContents(), ['U+202E']);
    await value(page, 'Query').getByRole('button', { name: 'Copy' }).click();
    await button(page, 'Copied').waitFor();
    assert.equal(await copied(page), query);
    const note = await value(page, 'Note').innerText();
    assert.ok(note.includes('Line 9 of') && !note.includes('Line 10 of') && /show \d+ more characters/.test(note), note);
    assert.equal(await value(page, 'blank').textContent(), '␣a  b␣↵');
    assert.deepEqual(await Promise.all(['none', 'yes', 'no', 'null', 'odd'].map((name) => value(page, name).textContent())), ['empty', 'yes', 'no', 'none', '{not json']);
    await rows(page).first().click();
    await ready(page);
    await look(page, 'data-worst', true);
  });

  test('names that look alike are told apart: blanks are marks, no name has a sign, and a title that could be another name has its own beside it', async (t) => {
    const { peer, page } = await stage(t);
    await peer.call('say', { text: 'Alike?' });
    await asks(page, 'Alike?');
    const names = (args, properties) => drawn(page, args, properties, (node) => [...node.querySelectorAll('.tree > li > .k')].map((one) => one.textContent));
    assert.deepEqual(await names('{"to":1,"to ":2," to":3,"x y":4,"x  y":5,"":6,"x\\ny":7,"x ↵ y":8}'), ['to', 'to␣', '␣to', 'x y', 'x␣×2y', 'no name', 'x↵y', 'x ↵ y']);
    assert.deepEqual(await names('{"a":1,"to":2,"Amount ":3,"amt":4,"b":5}', { a: { title: 'To' }, amt: { title: 'amount' }, b: { title: 'who' }, who: { type: 'string' } }), ['To a', 'amount amt', 'who b', 'to', 'Amount␣']);
    assert.deepEqual(await names('{"a":1,"b":2,"c":3}', { a: { title: `${'t'.repeat(300)}1` }, b: { title: `${'t'.repeat(300)}2` }, c: { title: 'See' } }),
      ['a', 'b'].map((key) => `${'t'.repeat(100)}show 201 more characters ${key}`).concat('See'));
  });

  test('a time is drawn as one only if it comes back as it was written, with its fractions', async (t) => {
    const { peer, page } = await stage(t);
    await peer.call('say', { text: 'When?' });
    await asks(page, 'When?');
    const times = ['2026-02-30T10:00:00Z', '0000-06-01T00:00:00Z', '0001-06-01T00:00:00Z', '2026-01-01T24:00:00Z', '2026-11-18T10:00:00.999Z', '2026-11-18t10:00:00.5+01:30', '2026-11-18T10:00:00.000Z', '2026-11-18T10:00:00.1234567891Z'];
    const read = await drawn(page, JSON.stringify(Object.fromEntries(times.map((time, i) => [`t${i}`, time]))), {}, (node) => [...node.querySelectorAll('.row > div')].map((one) => (one.querySelector('time') ?? one).textContent));
    assert.deepEqual(read.slice(0, 4), times.slice(0, 4));
    assert.deepEqual(read.slice(4, 7).map((text) => /\d\d:\d\d:\d\d\S*/.exec(text)[0]), ['10:00:00.999', '08:30:00.5', '10:00:00.000']);
    assert.equal(read[7], times[7]);
  });

  test('in a box of code, too, blanks at its end and empty lines are marks', async (t) => {
    const { peer, page } = await stage(t);
    await peer.call('say', { text: 'Run?' });
    await asks(page, 'Run?');
    const boxes = await drawn(page, JSON.stringify({ a: '[1]', b: '[1]   \n\n', c: '\n\n\n  rm -rf /', d: 'if x:\n  a\n\n\n\n\n\nb', e: ' [\n'.repeat(3) }), { c: { contentMediaType: 'text/x' }, e: { contentMediaType: 'text/x' } },
      (node) => Object.fromEntries([...node.querySelectorAll('.code')].map((one) => [one.closest('.row').firstChild.textContent, [...one.querySelectorAll('.mark')].map((mark) => mark.textContent)])));
    assert.deepEqual(boxes, { a: [], b: ['␣×3↵×2'], c: ['↵×3'], d: ['↵×5'], e: ['↵'] });
  });

  test('a unit that could be more of its number is quoted', async (t) => {
    const { peer, page } = await stage(t);
    await peer.call('say', { text: 'How much?' });
    await asks(page, 'How much?');
    const units = ['000 EUR', '.5', '-', 'e6', ',00', '%', 'EUR', '€', '°C', 'u'.repeat(300)];
    const read = await drawn(page, JSON.stringify(Object.fromEntries(units.map((_, i) => [`u${i}`, 5]))), Object.fromEntries(units.map((unit, i) => [`u${i}`, { 'x-nod-unit': unit }])), (node) => [...node.querySelectorAll('.num')].map((one) => one.textContent));
    assert.deepEqual(read, ['5 (unit “000 EUR”)', '5 (unit “.5”)', '5 (unit “-”)', '5 (unit “e6”)', '5 (unit “,00”)', '5 %', '5 EUR', '5 €', '5 °C', `5 ${'u'.repeat(40)}show 260 more characters`]);
  });

  test('a name, a title and a choice of thirty thousand letters fold, and cost no time; nor does all of a long word', async (t) => {
    const { peer, page } = await stage(t);
    const long = 'AV'.repeat(15_000);
    await peer.call('say', { text: 'Long names?', [long]: { [long]: 1, list: [{ [long]: 1 }, { [long]: 2 }] }, value: long });
    await asks(page, 'Long names?');
    assert.equal(await tree(page).locator('.k').evaluateAll((names) => names.every((name) => name.textContent.length < 200)), true);
    await drawn(page, '{"a":1,"b":{"c":1}}', { a: { title: long }, b: { title: long } }, () => 0);
    assert.equal(await page.locator('.drawn .k').evaluateAll((names) => names.every((name) => name.textContent.length < 200)), true);
    const form = await page.evaluate(async (long) => {
      const { makeForm } = await import('/assets/any/form.js');
      const { node } = makeForm({ properties: { a: { type: 'string', title: long }, b: { type: 'string', oneOf: [{ const: 'x', title: long }, { const: 'y', title: 'Y' }] } } }, () => {});
      document.querySelector('.ask .body').append(node);
      return [...node.querySelectorAll('label')].map((one) => one.textContent.length);
    }, long);
    assert.ok(form.every((length) => length < 400), String(form));
    // Three presses lay out what is left of all of them.
    const took = await page.evaluate(() => new Promise((done) => {
      const begun = performance.now(), row = [...document.querySelectorAll('.tree .row')].find((one) => one.firstChild.textContent === 'value');
      for (let button; (button = row.querySelector('.more')); ) button.click();
      row.getBoundingClientRect();
      requestAnimationFrame(() => setTimeout(() => done(performance.now() - begun)));
    }));
    assert.equal(await value(page, 'value').textContent(), long);
    assert.ok(took < 5000, `${took} ms`);
  });

  test('of a tree so much is drawn at once, however it is nested; a number of a million digits folds; what is large is drawn once', async (t) => {
    const { peer, page } = await stage(t);
    const time = '2026-01-01T00:00:00Z', record = Object.fromEntries([...'abcdefgh'].map((key) => [key, time]));
    const many = Object.fromEntries(Array.from({ length: 40 }, (_, i) => [`k${i}`, Array.from({ length: 40 }, () => record)]));
    await peer.call('say', `{"text":"Much?","number":0.${'1'.repeat(1_000_000)},"lists":${JSON.stringify(many)}}`);
    await asks(page, 'Much?');
    await tree(page).getByText('lists').waitFor();
    assert.ok((await page.locator('.tree td').count()) < 1000);
    assert.ok((await value(page, 'number').textContent()).length < 1000);
    // What is closed is opened with a press.
    const last = tree(page).locator('details', { has: page.locator('.k', { hasText: /^k39$/ }) }).last();
    assert.equal(await last.locator('td').count(), 0);
    await last.locator('summary').click();
    await last.locator('td').first().waitFor();
    const drawings = await page.evaluate(async (json) => {
      const { values } = await import('/assets/any/tree.js'), { parse } = await import('/assets/any/json.js');
      const one = values('Large', parse(json), undefined, true), late = values('Late', parse(json), undefined, true), small = values('Small', parse('{"a":1}'), undefined, true);
      document.querySelector('.ask .body').append(one.node, late.node, small.node);
      const count = ({ node }) => node.querySelectorAll('.tree > li').length, before = [one, late, small].map(count);
      one.inOrder(parse('{"properties":{"k1":{}}}'));
      return [...before, count(one)];
    }, JSON.stringify(many));
    assert.deepEqual(drawings, [0, 0, 1, 40]);
    await page.waitForFunction(() => [...document.querySelectorAll('section')].find((one) => one.querySelector('h3')?.textContent === 'Late').querySelectorAll('.tree > li').length === 40);
  });

  test('titles, descriptions and units that a tool made hostile are text, and cover nothing', async (t) => {
    const { peer, page } = await stage(t);
    await peer.call('say', { text: 'Hostile?' });
    await asks(page, 'Hostile?');
    const drawn = await page.evaluate(async () => {
      const { values } = await import('/assets/any/tree.js'), { parse } = await import('/assets/any/json.js');
      const evil = '<img src=x onerror="window.hit=1">\u202E\u0007';
      const schema = parse(JSON.stringify({ properties: { a: { title: evil, description: evil, 'x-nod-unit': evil }, b: { title: 7, description: [], 'x-nod-unit': {}, format: 'constructor', items: 1 }, c: true, d: { title: '   ' } } }));
      const { node } = values('Arguments', parse('{"a":5,"b":[{"x":1},{"x":2}],"c":6,"d":7,"__proto__":8,"constructor":9}'), schema);
      document.querySelector('.ask .body').append(node);
      return { images: node.querySelectorAll('img').length, marks: node.querySelectorAll('.mark').length, names: [...node.querySelectorAll('.tree > li > .k, .tree > li summary > .k')].map((one) => one.title || one.textContent) };
    });
    assert.deepEqual(drawn, { images: 0, marks: 6, names: ['a', 'b', 'c', 'd', '__proto__', 'constructor'] });
    assert.equal(await page.evaluate(() => window.hit), undefined);
  });
});
