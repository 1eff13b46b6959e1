// No function that nobody calls: reads the headers of src/ and fails on one that nothing in src/ calls, unless the table says who does.
// The toys (tests/wire/toy_*, tests/toys) count as callers: they stand for the surfaces, routes and providers that are to come.
import { readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const NOT_IN_SRC = {
    // For what tests set up, and what they look at.
    buf_drop: "what a stream or a client of the tests has read",
    http_find_named: "the fuzzer compares it with the slow way",
    tokens_parse: "a token file without a file",
    pipe_queued: "how much is unsent",
    local_workers: "what the pool of workers does",
    redis_store_sweep: "a whole sweep at once",
    engine_hooks: "hooks without a host",
    meta_can: "capabilities without a whole _meta",
    hkdf_sha256: "is compared with the published keys; sealing has it inside",
};

const root = join(dirname(fileURLToPath(import.meta.url)), "..", "..");
const list = (folder, wanted) =>
    readdirSync(join(root, folder), { recursive: true })
        .filter((name) => wanted.test(name))
        .map((name) => join(folder, name));
const codeOf = (name) => readFileSync(join(root, name), "utf8").replace(/\/\*[\s\S]*?\*\/|\/\/[^\n]*|^\s*#\s*define.*?(\\\n.*?)*$/gm, " ");

const headers = list("src", /\.h$/);
const used = new Map(); // word -> how often
const texts = [...list("src", /\.[ch]$/), ...list("tests/wire", /^toy_.*\.[ch]$/), ...list("tests/toys", /\.[ch]$/)];
for (const name of texts)
    for (const [word] of readFileSync(join(root, name), "utf8").replace(/\/\*[\s\S]*?\*\/|\/\/[^\n]*/g, " ").matchAll(/\b[a-z]\w*\b/g))
        used.set(word, (used.get(word) ?? 0) + 1);

const wrong = [];
const declared = new Set();
for (const name of headers) {
    // A declaration begins a line with its type, and ends with ';'. (What is `static inline` says itself if nobody calls it: see below.)
    for (const [, inline, word] of codeOf(name).matchAll(/^(static inline )?(?:const |struct |enum |unsigned )*\w+ \**(\w+)\([^;{}]*\)[^;{}()]*(?:\([^;{}]*\))*[^;{}]*[;{]/gm)) {
        declared.add(word);
        const nobody = used.get(word) <= (inline ? 1 : 2); // its declaration, and its definition
        if (nobody && !NOT_IN_SRC[word]) wrong.push(`${name}: nothing calls ${word}: take it out, or say in tests/house/unused.mjs who needs it`);
        if (!nobody && NOT_IN_SRC[word]) wrong.push(`${name}: ${word} is called in src/ now: take it out of the table in tests/house/unused.mjs`);
    }
}
for (const word of Object.keys(NOT_IN_SRC)) if (!declared.has(word)) wrong.push(`${word} is in the table in tests/house/unused.mjs, and in no header`);
if (declared.size < 500) wrong.push(`only ${declared.size} declarations were found below src/: the test does not see them`);
for (const line of wrong) console.error(line);
console.log(`${declared.size} functions in headers, ${wrong.length} that are wrong`);
process.exit(wrong.length ? 1 : 0);
