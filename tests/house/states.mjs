// The states of a live call: compares the table in src/core/call_state.c with the one in docs/inside/core.md, and fails when a state is set
// anywhere but there.
import { readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const root = join(dirname(fileURLToPath(import.meta.url)), "..", "..");
const textOf = (path) => readFileSync(join(root, path), "utf8");
const sorted = (names) => [...new Set(names)].sort().join(" ");

const code = new Map(
    [...textOf("src/core/call_state.c").matchAll(/\[LIVE_(\w+)\] = \{([^}]*)\}/g)].map(([, name, row]) => [
        name,
        sorted([...row.matchAll(/\bTO\((\w+)\)/g)].map(([, next]) => next)),
    ]),
);
const docs = new Map(
    [...textOf("docs/inside/core.md").matchAll(/^\| `LIVE_(\w+)` \|[^|]*\|[^|]*\|([^|]*)\|$/gm)].map(([, name, row]) => [
        name,
        sorted([...row.matchAll(/`LIVE_(\w+)`/g)].map(([, next]) => next)),
    ]),
);
const wrong = [];
if (code.size < 2) wrong.push("src/core/call_state.c: no table was found");
for (const name of new Set([...code.keys(), ...docs.keys()]))
    if (code.get(name) !== docs.get(name))
        wrong.push(`LIVE_${name} is followed by\n    ${code.get(name)} in src/core/call_state.c\n    ${docs.get(name)} in docs/inside/core.md`);
for (const file of readdirSync(join(root, "src/core")))
    if (/\.[ch]$/.test(file) && file !== "call_state.c")
        textOf(`src/core/${file}`)
            .split("\n")
            .forEach((line, i) => {
                if (/\bstate = LIVE_/.test(line)) wrong.push(`src/core/${file}:${i + 1}: sets a state; call_enter does that`);
            });
if (wrong.length) {
    console.error(wrong.join("\n"));
    process.exit(1);
}
console.log(`${code.size} states, as docs/inside/core.md has them`);
