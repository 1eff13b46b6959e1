// The blocks of docs/deploy.md, as the tests of this folder run them: found by the heading they stand under and by their
// language. What a test exchanges in a block (paths, ports, names) it exchanges with `exchange`, which fails if the page
// no longer has it: so the page and the test cannot drift apart.
import assert from 'node:assert/strict';
import { blocksOf, textOfPage } from '../docs/pages.js';

const page = textOfPage('docs/deploy.md');

function sectionOf(heading) {
  const parts = page.split(/^## /m);
  const section = parts.find((part) => part.startsWith(`${heading}\n`));
  assert.ok(section, `docs/deploy.md has a section "${heading}"`);
  return section;
}

// The nth block of that language (0 is the first) below the heading.
export function blockOf(heading, language, nth = 0) {
  const block = blocksOf('docs/deploy.md', sectionOf(heading)).filter((one) => one.language === language)[nth];
  assert.ok(block, `"${heading}" has a block of ${language || 'plain text'}`);
  return block.body;
}

// Every one of [from, to] has to be in the text.
export function exchange(text, ...pairs) {
  return pairs.reduce((all, [from, to]) => {
    assert.ok(all.includes(from), `docs/deploy.md has ${from}`);
    return all.replaceAll(from, to);
  }, text);
}
