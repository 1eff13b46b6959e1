// The characters that are drawn as marks are the same in C (src/json/unseen.c) and on the page (web/dom.js), but for the end of a line, and in scripts/call; and so
// are their names, and the accents that pile up (src/json/piles.c).
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { unseen } from "../../web/dom.js";

const source = readFileSync(join(import.meta.dirname, "../../src/json/unseen.c"), "utf8");
const ranges = [...source.matchAll(/\{ (0x[0-9a-f]+), (0x[0-9a-f]+) \}/g)].map(([, from, to]) => [Number(from), Number(to)]);
const joins = [...source.matchAll(/code == (0x[0-9a-f]+)/g)].map(([, code]) => Number(code));
const wrong = [];
let marks = 0;

for (let code = 0; code <= 0x10ffff; code++) {
    const there = code === 0x3000 || ranges.some(([from, to]) => code >= from && code <= to); // a wide space: where it stands alone
    unseen.lastIndex = 0;
    const drawn = unseen.test(String.fromCodePoint(code));
    marks += drawn;
    if (drawn !== (there && code !== 10)) wrong.push(`U+${code.toString(16)}: ${there ? "unseen in C alone" : "unseen on the page alone"}`);
    unseen.lastIndex = 0;
    if (there && code !== 10 && unseen.test(`\u{1f468}${String.fromCodePoint(code)}`) === joins.includes(code)) wrong.push(`U+${code.toString(16)} behind a picture`);
}
const marked = (text) => ((unseen.lastIndex = 0), unseen.test(text));
for (const text of [...joins.map((code) => `\u{1f468}${String.fromCodePoint(code, code)}`), "\u{1f468}\ufe0f\ufe0e", "\u{1f468}\u200d\ufe0f", "\u3000", "a\u3000b", " \u3000", "\u4eac\u3000\u3000", "\u3164\u3000", "\uffa0\u3000"])
    if (!marked(text)) wrong.push(`${JSON.stringify(text)} without a mark`);
for (const text of ["\u{1f468}\ufe0f\u200d\u{1f680}", ...["\u3001", "\u3042", "\u30f3", "\u4eac", "\uc11c", "\uff21", "\u{20bb7}"].map((one) => `${one}\u3000b`)]) if (marked(text)) wrong.push(`${JSON.stringify(text)} with a mark`);
const piles = [...readFileSync(join(import.meta.dirname, "../../src/json/piles.c"), "utf8").matchAll(/\{ (0x[0-9a-f]+), (0x[0-9a-f]+) \}/g)].map(([, from, to]) => [Number(from), Number(to)]);
for (let code = 0, at = 0; code <= 0x10ffff; code++) {
    const accent = /[\p{Mn}\p{Me}]/u.test(String.fromCodePoint(code));
    if (piles[at] && code > piles[at][1]) at++;
    if (accent !== (code >= piles[at]?.[0])) wrong.push(`U+${code.toString(16)}: ${accent ? "an accent for the page alone" : "an accent in C alone"}`);
}
const script = readFileSync(join(import.meta.dirname, "../../scripts/call"), "utf8");
const drawn = [...script.slice(script.indexOf("UNSEEN = ("), script.indexOf("def is_unseen")).matchAll(/\((0x[0-9a-f]+), (0x[0-9a-f]+)\)/g)].map(([, from, to]) => [Number(from), Number(to)]);
if (JSON.stringify(drawn) !== JSON.stringify(ranges)) wrong.push("scripts/call has another table");
const page = readFileSync(join(import.meta.dirname, "../../web/dom.js"), "utf8");
const names = source.match(/"[A-Z0-9]+"/g).map((name) => name.slice(1, -1)).join(" ");
if (!page.includes(`'${names}'.split`)) wrong.push(`names of control characters: ${names}`);
for (const line of wrong.slice(0, 20)) console.error(line);
console.log(`${ranges.length} ranges, ${marks} characters, ${wrong.length} that differ`);
process.exit(wrong.length || ranges.length < 10 || joins.length !== 3 ? 1 : 0);
