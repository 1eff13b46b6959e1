// The pages of the documentation and their blocks. Everything that reads a block of a page reads it through here.
//
// A block is fenced with three backticks, its language, and words that only the tests read. CONTRIBUTING.md, "Documentation",
// has the convention; docs.test.js holds every page to it.
import assert from 'node:assert/strict';
import { readFileSync, readdirSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

export const root = path.join(path.dirname(fileURLToPath(import.meta.url)), '..', '..');

export const pages = ['README.md', 'CONTRIBUTING.md', 'SECURITY.md',
  ...readdirSync(path.join(root, 'docs'), { recursive: true }).filter((name) => name.endsWith('.md')).map((name) => `docs/${name}`).sort()];

export const textOfPage = (page) => readFileSync(path.join(root, page), 'utf8');

// `sh serves name="a b"` becomes { language: 'sh', words: { serves: '', name: 'a b' } }.
function readInfo(info) {
  const [language = '', ...words] = info.match(/[^\s="]+(?:="[^"]*"|=\S*)?/g) ?? [];
  return { language, words: Object.fromEntries(words.map((word) => {
    const [name, ...value] = word.split('=');
    return [name, value.join('=').replace(/^"|"$/g, '')];
  })) };
}

// The blocks of a page, from top to bottom: { page, line, language, words, body }. What stands in a list is indented, and its block
// is without that.
export function blocksOf(page, text = textOfPage(page)) {
  const blocks = [];
  let open = null;
  text.split('\n').forEach((line, i) => {
    const fence = /^(\s*)```(.*)$/.exec(line);
    if (!open && fence) {
      open = { page, line: i + 1, ...readInfo(fence[2]), indent: fence[1], body: '' };
    } else if (open && fence && fence[2] === '') {
      blocks.push(open);
      open = null;
    } else if (open) {
      open.body += `${line.startsWith(open.indent) ? line.slice(open.indent.length) : line}\n`;
    }
  });
  assert.equal(open, null, `${page}:${open?.line}: a block that does not end`);
  return blocks;
}

export const whereIs = ({ page, line }) => `${page}:${line}`;

// The block of that name; there is one.
export function blockNamed(page, name) {
  const found = blocksOf(page).filter((block) => block.words.name === name);
  assert.equal(found.length, 1, `${page} has one block named ${name}`);
  return found[0].body;
}

// A page without its blocks: what is prose.
export function proseOf(page) {
  let open = false;
  return textOfPage(page).split('\n').map((line) => {
    const fence = /^\s*```/.test(line);
    if (fence) open = !open;
    return fence || open ? '' : line;
  });
}

// As the usual renderers make them: lower case, spaces to hyphens, everything else but letters, digits, _ and - left out.
export const anchorsOf = (page) => proseOf(page).filter((line) => /^#+ /.test(line))
  .map((line) => line.replace(/^#+ /, '').toLowerCase().replace(/[^\p{L}\p{N}\s_-]/gu, '').trim().replace(/\s/g, '-'));
