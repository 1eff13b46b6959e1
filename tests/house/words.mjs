// Every word that the page and the pages say to a person is in web/words.js, and every word of that file is said somewhere.
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';

const web = new URL('../../web/', import.meta.url);
const files = readdirSync(web).map((name) => [name, readFileSync(new URL(name, web), 'utf8')]);
const { words } = await import(new URL('words.js', web));
const used = new Set();

// What may be a sentence, or a part of one: it begins with a capital and a small letter, or has two words without a sign between.
const speaks = (text) => /^[ ,.;]*[A-Z][a-z]+([ .,:…]|$)/.test(text) || /(^|[^\w.#\-[:])[a-z]{2,} [a-z]{2,}(?![\w-]*[.#[(:>])/.test(text);
const KEPT = new Set(['Enter', 'Escape', 'Content-Type', 'Decline', 'SyntaxError', 'Arguments']);
// Names of keys and headers, selectors, what another file writes into a message, and what a program reads.
const known = (text) => KEPT.has(text) || /^(not JSON at|Method not found|Bearer |U\+|NUL SOH|\\n\\n)/.test(text) || /^[a-z -]*(button|label|summary|input|a|h\d)\b.*$/.test(text) && /[.#[:>,]/.test(text) || /^--|^nod-/.test(text);

for (const [name, source] of files.filter(([name]) => name !== 'words.js')) {
  for (const [, word] of source.matchAll(/(?<![\/.])\bwords\.(\w+)/g)) {
    if (word === 'js') continue; // the file's own name
    assert.ok(word in words, `${name}: there is no words.${word}`);
    used.add(word);
  }
  for (const [, list] of source.matchAll(/const \{ ([\w, ]+) \} = words;/g)) list.split(', ').forEach((word) => used.add(word));
  if (name.endsWith('.js')) {
    const code = source.replace(/^\s*\/\/.*$|\s\/\/ .*$/gm, '');
    for (const [, text] of code.matchAll(/'((?:[^'\\\n]|\\.)*)'/g)) assert.ok(!speaks(text) || known(text), `${name} says '${text}': that belongs in words.js`);
    for (const [, text] of code.matchAll(/`((?:[^`\\]|\\.)*)`/g)) for (const part of text.split(/\$\{[^}]*\}?/)) assert.ok(!speaks(part) || known(part) || /[=(?;]/.test(part), `${name} says \`${part}\`: that belongs in words.js`);
  }
  if (name.endsWith('.html')) {
    const seen = source.replace(/<style>[^]*?<\/style>|<script[^]*?<\/script>/g, '').replace(/\{[\w.]+\}/g, '').replace(/<kbd>[^<]*<\/kbd>/g, '').replace(/<[^>]*>/g, ' ');
    assert.doesNotMatch(seen, /[A-Za-z]{2}/, `${name} says: ${seen.match(/[A-Za-z]{2}[^\n]*/)}`);
  }
}
const idle = Object.keys(words).filter((word) => !used.has(word));
assert.deepEqual(idle, [], 'said nowhere');
