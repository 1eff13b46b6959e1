// The states of a live call: compares the table in docs/inside/core.md with the code. What comes next is the table in src/core/call_state.c, and
// "set by" the functions that call call_enter; what is in brackets there is for readers. Fails, too, when a state is set in any other way.
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
const setters = new Map([["NEW", ["call_create"]]]); // a call is made so
for (const file of readdirSync(join(root, "src/core")).filter((name) => name.endsWith(".c"))) {
    let inside;
    for (const line of textOf(`src/core/${file}`).split("\n")) {
        inside = line.match(/^[a-z][^;]*?\b(\w+)\([^;]*$/)?.[1] ?? inside;
        const state = line.match(/\bcall_enter\(\w+, LIVE_(\w+)\)/)?.[1];
        if (state) setters.set(state, [...(setters.get(state) ?? []), inside]);
    }
}
const docs = new Map(
    [...textOf("docs/inside/core.md").matchAll(/^\| `LIVE_(\w+)` \|[^|]*\|([^|]*)\|([^|]*)\|$/gm)].map(([, name, by, row]) => [
        name,
        {
            by: sorted([...by.replace(/\([^)]*\)/g, "").matchAll(/`(\w+)`/g)].map(([, setter]) => setter)),
            next: sorted([...row.matchAll(/`LIVE_(\w+)`/g)].map(([, next]) => next)),
        },
    ]),
);
const wrong = [];
if (code.size < 2) wrong.push("src/core/call_state.c: no table was found");
for (const name of new Set([...code.keys(), ...setters.keys(), ...docs.keys()])) {
    const [next, by, doc] = [code.get(name), sorted(setters.get(name) ?? []), docs.get(name)];
    if (next !== doc?.next) wrong.push(`LIVE_${name} is followed by\n    ${next} in src/core/call_state.c\n    ${doc?.next} in docs/inside/core.md`);
    if (by !== doc?.by) wrong.push(`LIVE_${name} is set by\n    ${by} in src/core\n    ${doc?.by} in docs/inside/core.md`);
}
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
