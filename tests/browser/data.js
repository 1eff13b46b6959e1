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
    await tree(page).getByText('Query').waitFor();
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
