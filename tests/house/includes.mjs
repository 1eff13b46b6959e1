// Who may include whom: reads the #include lines of src/ and fails on an arrow that is not in the table.
//
//     cli · kit ─▶ host ─▶ mcp · surface · provider ─▶ front ─▶ core ─▶ json · crypto ─▶ base
//                               └──────────┴───────────┴─▶ net · rpc ─▶ base
//     surface ─▶ accounts ─▶ oauth ─▶ net
//                    └─▶ core
//     store ─▶ core's store.h and record.h, net, json, crypto, base
//
// Arrows point down only. A folder may include itself and what its row names; a row names folders, or single headers.
// A new folder needs a row.
import { readdirSync, readFileSync, existsSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";

const below = ["json", "crypto", "base"];
const MAY_INCLUDE = {
    base: [],
    words: [], // lists of words, as data
    json: ["words", "base"],
    crypto: ["base"],
    net: ["base"],
    rpc: ["json", "base"], // its messages are JSON
    core: below, // no socket, no HTTP, no protocol
    store: ["core/store.h", "core/record.h", "net", ...below],
    oauth: ["net", ...below], // the protocol: no store, no question
    accounts: ["oauth", "core", "net", ...below],
    front: ["core", "net", "rpc", ...below],
    mcp: ["front", "core", "net", "rpc", ...below],
    "mcp/wire": ["core", "net", "rpc", ...below], // no server: a client speaks these words too
    "mcp/shared": ["mcp/wire", "mcp/server.h", "front", "core", "net", "rpc", ...below],
    "mcp/later": ["mcp/shared", "mcp/wire", "mcp/server.h", "front", "core", "net", "rpc", ...below],
    "mcp/offered": ["mcp/later", "mcp/shared", "mcp/wire", "mcp/server.h", "front", "core", "net", "rpc", ...below],
    "mcp/era2025": ["mcp/offered", "mcp/later", "mcp/shared", "mcp/wire", "mcp/server.h", "front", "core", "net", "rpc", ...below],
    "mcp/era2026": ["mcp/tasks", "mcp/offered", "mcp/later", "mcp/shared", "mcp/wire", "mcp/server.h", "front", "core", "net", "rpc", ...below],
    "mcp/tasks": ["mcp/era2026", "mcp/later", "mcp/shared", "mcp/wire", "mcp/server.h", "front", "core", "net", "rpc", ...below], // an extension of that era
    surface: ["accounts", "front", "core", "net", "rpc", ...below],
    provider: ["front", "core", "net", "rpc", ...below],
    kit: ["host", "mcp", "provider", "store", "core", "net", ...below], // <nod/test.h>: a server, and both ends of it
    host: ["mcp", "surface", "provider", "accounts", "front", "store", "core", "net", "rpc", ...below], // a server put together: all of it
    cli: ["host", "store", "core", "net", "rpc", ...below], // the program nod
};

// What is not ours, and where it is used. Other headers in angle brackets are the C library's.
const LIBRARIES = {
    "uv.h": ["net", "store"],
    "openssl/": ["crypto", "net"],
    "pcre2.h": ["json"],
    "sqlite3.h": ["store"],
    "hiredis/": ["store"],
    "curl/": ["net"],
    "ini.h": ["host"],
};

const root = join(dirname(fileURLToPath(import.meta.url)), "..", "..");
const src = join(root, "src");
const wrong = [];
let seen = 0;

// The folder of a path below src/, as the table has it: "mcp/wire", or "core".
function folderOf(path) {
    const [folder, room] = path.split("/");
    return MAY_INCLUDE[`${folder}/${room}`] ? `${folder}/${room}` : folder;
}

// A row that names a folder names its rooms too, and a folder may include its rooms.
function allowed(from, header) {
    const to = folderOf(header);
    return to === from || to.startsWith(`${from}/`) || MAY_INCLUDE[from].some((row) => row === to || row === header || to.startsWith(`${row}/`));
}

// What differs between the pages of questions is said once, beside the list of them. Whoever asks for a page by its name
// elsewhere forgets the next one.
const rows = readFileSync(join(src, "core", "pages.h"), "utf8").matchAll(/^ {4}ROW\((PAGE_\w+),/gm);
const PAGES = new RegExp(`\\b(?:${[...rows].map(([, page]) => page).join("|")})\\b`);

function look(path, from, line, number) {
    const where = `${relative(root, path)}:${number}`;
    if (from === "core" && PAGES.test(line.replace(/\/\*.*|^\s*\*.*/, "")) && !/\/pages\.h$/.test(path))
        wrong.push(`${where}: a page by its name: ask ask_page_brings (core/pages.h)`);
    const ours = /^\s*#\s*include\s+"([^"]+)"/.exec(line);
    const theirs = /^\s*#\s*include\s+<([^>]+)>/.exec(line);
    if (ours) {
        seen++;
        const header = ours[1];
        if (!header.includes("/")) return; // beside it, or made by the build
        if (header.startsWith(".") || !MAY_INCLUDE[header.split("/")[0]])
            wrong.push(`${where}: "${header}": write it as "folder/file.h" below src/`);
        else if (!allowed(from, header))
            wrong.push(`${where}: ${from}/ may not include "${header}" (it may: ${MAY_INCLUDE[from].join(", ") || "nothing"})`);
    } else if (theirs) {
        seen++;
        const library = Object.keys(LIBRARIES).find((name) => theirs[1].startsWith(name));
        if (library && !LIBRARIES[library].includes(from))
            wrong.push(`${where}: <${theirs[1]}> is used in ${LIBRARIES[library].join(" and ")} only`);
    }
}

for (const from of readdirSync(src)) {
    if (!MAY_INCLUDE[from]) {
        wrong.push(`src/${from}: has no row in tests/house/includes.mjs: say there what it may include`);
        continue;
    }
    for (const name of readdirSync(join(src, from), { recursive: true })) {
        if (!/\.[ch]$/.test(name)) continue;
        const path = join(src, from, name);
        readFileSync(path, "utf8")
            .split("\n")
            .forEach((line, i) => look(path, folderOf(relative(src, path)), line, i + 1));
    }
}

// The public header stands alone.
const header = join(root, "include", "nod", "nod.h");
for (const [, name] of readFileSync(header, "utf8").matchAll(/^\s*#\s*include\s+["<]([^">]+)/gm))
    if (existsSync(join(src, name))) wrong.push(`include/nod/nod.h: includes "${name}" of src/`);

if (seen === 0) wrong.push("no #include line was found below src/: the test looks in the wrong place");
for (const line of wrong) console.error(line);
console.log(`${seen} includes, ${wrong.length} that may not be`);
process.exit(wrong.length ? 1 : 0);
