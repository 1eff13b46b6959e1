// <nod/nod.hpp>, by a server in C++17 and the same in C++20: handlers that wait run their destructors, nothing that is
// thrown gets into C, and what was thrown is what the client reads.
import test from 'node:test';
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFileSync, readdirSync } from 'node:fs';
import { environment, program, startHttp } from './harness.js';
import { Modern, accepted, connectModern, retryOf } from './modern.js';

const programs = ['cpp-17', 'cpp-20'];
const eras = ['2026', '2025'];

// Each on one transport: what C++ adds knows nothing of transports.
function onEach(name, body) {
  for (const file of programs)
    for (const era of eras)
      test(`${file}, ${era}: ${name}`, (t) => body(t, (options = {}) =>
        connectModern(t, file === 'cpp-17' ? 'stdio' : 'http', file, { legacy: era === '2025', env: { NOD_REPLAY_CHECK: '1' }, ...options })));
}

onEach('whoever waits for a person holds nothing, and a step is done once', async (t, connect) => {
  const session = await connect({ env: {} });
  for (const tool of ['holds', 'holds_blocking']) {
    const effects = Number(/effects (\d+)/.exec(await session.text('counts'))[1]);
    const call = session.text(tool);
    const question = await session.question();
    const waiting = await session.text('counts');
    assert.match(waiting, /^alive 0, made [1-9]/, 'destroyed while the person thinks');
    question.accept({});
    assert.equal(await call, `alive 3, effects ${effects + 1}`);
    assert.match(await session.text('counts'), /^alive 0,/);
  }
});

onEach('a loop of the program\'s own drives it as well', async (t, connect) => {
  const session = await connect({ env: { OWN_LOOP: '1' } });
  const call = session.text('holds');
  (await session.question()).accept({});
  assert.match(await call, /^alive 3/);
});

onEach('what a handler throws is the failure that the client reads', async (t, connect) => {
  const session = await connect();
  const expected = {
    exception: ['The printer is on fire.'],
    number: ['The tool failed.'],
    nul: ['A text for nod has a NUL character in it'],
    huge: ['A number for nod is larger than an int64_t can be'],
    'on purpose': ['It said so: on purpose.'],
    status: ['The tool fails failed without saying why (refused). A handler says it with nod_reply_error', 'REFUSED'],
  };
  for (const [how, [text, code]] of Object.entries(expected)) {
    const result = await session.call('fails', { how });
    assert.equal(result.isError, true, how);
    assert.equal(result.content[0].text, text, how);
    if (code) assert.equal(result._meta.code, code);
  }
  const missing = await session.call('fails', { how: 'missing' });
  assert.equal(missing._meta.code, 'HANDLER_BUG');
  assert.match(missing.content[0].text, /nowhere/);
  assert.match(await session.text('counts'), /^alive 0,/);
});

onEach('a step that throws has failed on every run, and is not tried again', async (t, connect) => {
  const session = await connect({ answer: () => accepted({}) });
  assert.equal(await session.text('step_fails'), 'failed; invalid; failed; true');
  assert.match(await session.text('counts'), /effects 3$/);
  const result = await session.call('step_sentence');
  assert.equal(result.isError, true);
  assert.equal(result.content[0].text, 'The bank is closed.');
});

onEach('values go through a step and come back', async (t, connect) => {
  const session = await connect();
  assert.equal(await session.text('values'), '7 0.5 true wörd ab b 2 {"n":1,"list":[3,4],"inner":[false,"x"]} nothing');
  assert.equal(await session.text('by_status'), 'from C');
});

onEach('what a lambda has captured lives as long as the server, and a kept value longer than its run', async (t, connect) => {
  const session = await connect({ env: {} });
  assert.equal(await session.text('remembers', { word: 'first' }), 'kept nothing');
  assert.equal(await session.text('remembers', { word: 'second' }), 'kept first');
});

onEach('whoever swallows what unwinds a handler still waits, and does nothing meanwhile', async (t, connect) => {
  const session = await connect();
  const call = session.text('swallows');
  const question = await session.question();
  assert.match(await session.text('counts'), /effects 0$/);
  question.accept({});
  assert.equal(await call, 'yes');
  assert.match(await session.text('counts'), /effects 1$/);
});

onEach('every way to ask gives its answer', async (t, connect) => {
  const answers = {
    'One?': { word: 'left' }, 'Two?': { word: 'right' }, 'In your own words?': { response: 'well' }, 'Which?': { n: 7 },
    'Still the same?': {},
  };
  const session = await connect({
    answer: ({ message }) => (message.startsWith('Sell it?') ? accepted({ price: 12 }) : accepted(answers[message])),
  });
  assert.equal(await session.text('asks_many'), 'left+right');
  assert.match(await session.text('approves'), /^sold for 12 by \S+$/);
  assert.match(session.asked.find(({ message }) => message.startsWith('Sell it?')).message, /"what": "the house"/);
  assert.match(await session.text('elicits'), /^well 7 \S+$/);
  assert.equal(await session.text('steady'), 'the same');
});

onEach('a question about each of several things, and a step for each yes', async (t, connect) => {
  const session = await connect({ answer: ({ message }) => (message === 'Take 2?' ? { action: 'decline' } : accepted({ whom: 'Bob' })) });
  assert.equal(await session.text('each_of'), '1 for Bob; no; three is not to be had; 4 for Bob; no question');
  assert.equal(session.asked.length, 4);
});

onEach('hooks refuse, ask and throw', async (t, connect) => {
  const answers = [{ action: 'decline' }, accepted({})];
  const session = await connect({ answer: () => answers.shift() });
  const closed = await session.call('forbidden');
  assert.equal(closed._meta.code, 'CLOSED');
  assert.equal(closed.content[0].text, 'forbidden is closed.');
  const stormy = await session.call('stormy');
  assert.equal(stormy.isError, true);
  assert.equal(stormy.content[0].text, 'Nobody goes out in this weather.');
  assert.equal(await session.text('stormy'), 'done');
  assert.match(await session.text('counts'), /^alive 0,/);
});

onEach('a fallback is kept until the run returns', async (t, connect) => {
  const session = await connect();
  assert.equal(await session.text('fallback'), `${'q'.repeat(60)}tail abc`);
});

onEach('resources, prompts and completions', async (t, connect) => {
  const { client } = await connect();
  assert.equal((await client.readResource({ uri: 'note://7' })).contents[0].text, 'note 7');
  const { messages } = await client.getPrompt({ name: 'greet', arguments: { who: 'Ada' } });
  assert.deepEqual(messages, [{ role: 'assistant', content: { type: 'text', text: 'Hello Ada, plainly' } }]);
  const suggested = async (ref, name) => (await client.complete({ ref, argument: { name, value: 'x' } })).completion.values;
  assert.deepEqual(await suggested({ type: 'ref/prompt', name: 'greet' }, 'who'), ['Ada']);
  assert.deepEqual(await suggested({ type: 'ref/prompt', name: 'greet' }, 'tone'), ['warm']);
  assert.deepEqual(await suggested({ type: 'ref/resource', uri: 'note://{id}' }, 'id'), ['x-1']);
});

// --- the header itself ---

const root = new URL('../../', import.meta.url).pathname;

// Compiles a source with g++ alone; resolves to what it says.
function compile(source, standard = '17') {
  const flags = [`-std=c++${standard}`, '-Wall', '-Wextra', '-Wpedantic', '-Werror', '-fsyntax-only', `-I${root}include`, '-x', 'c++', '-'];
  return spawnSync('g++', flags, { input: source, encoding: 'utf8' });
}

test('whatever takes options takes a lambda that sets them, in C++17', () => {
  const asks = ['confirm("?", K)', 'approve("?", K)', 'approve("?", {nod::text_field("a")}, K)', 'approve("?", form, K)', 'elicit("?", K)',
    'elicit("?", {nod::text_field("a")}, K)', 'elicit("?", form, K)', 'want("?", K)', 'want("?", {nod::text_field("a")}, K)', 'want("?", form, K)',
    'want_sample("?", K)', 'want_roots(K)', 'elicit_page("?", K)', 'elicit_page("?", {nod::text_field("a")}, K)', 'elicit_page("?", form, K)',
    'secret("a", "?", T)', 'credential("a", T)', 'elicit_url("?", "https://a.example", K)', 'sample("?", K)',
    'step("a", [] {}, [](auto &o) { o.idempotent = true; })', 'each("a", items, ask, [](int) {}, T)', 'require_url("?", "https://a.example", K)'];
  const { status, stderr } = compile(`#include <nod/nod.hpp>
    using namespace std::chrono_literals;
    void f(nod::call &call, const nod::form &form, const std::vector<int> &items) {
      const auto K = [](auto &o) { o.key = "k"; o.ttl = 60s; };
      const auto T = [](auto &o) { o.ttl = 60s; };
      const auto ask = [](int) { return "?"; };
      ${asks.map((one) => `call.${one};`).join('\n')}
    }
    void g(nod::server &server) {
      const auto run = [](nod::call &) {};
      server.tool("a", [](auto &o) { o.blocking = true; }, run);
      server.resource("a://b", "a", [](auto &o) { o.blocking = true; }, run);
      server.prompt("a", [](auto &o) { o.blocking = true; }, run);
      server.hook(NOD_FLOW_CALL, "gate", [](auto &o) { o.priority = 1; }, [](nod::hook &) {});
      server.oauth("a", [](auto &o) { o.issuer = "https://a.example"; });
    }`);
  assert.equal(status, 0, stderr);
  // A function that is new has to be here, too.
  const cpp = readdirSync(`${root}include/nod/cpp`).map((name) => readFileSync(`${root}include/nod/cpp/${name}`, 'utf8')).join('\n');
  const taking = [...cpp.matchAll(/(\w+)\([^;{}()]*const (?:\w+_options|nod::(?:tool|resource|prompt)) &o\b/g)].map(([, name]) => name);
  const taken = [...asks.map((one) => /^\w+/.exec(one)[0]), 'tool', 'resource', 'prompt', 'hook', 'oauth', 'elicit_form', 'approve_form', 'page_form', 'sample_by', 'page'];
  assert.ok(taking.length > 20);
  assert.deepEqual([...new Set(taking)].filter((name) => !taken.includes(name)), []);
});

for (const file of programs)
  test(`${file}: pages, secrets and tokens for pages`, async (t) => {
    const server = await startHttp(t, file);
    const modern = new Modern(server.url, { capabilities: { elicitation: { url: {} } } });
    let asked = await modern.asked('pages', {});
    for (const content of [{ city: 'Lisboa' }, { secret: 'sesame' }]) {
      const [[key, { params }]] = Object.entries(asked.inputRequests);
      const { origin } = new URL(params.url);
      const given = await fetch(params.url, { method: 'POST', headers: { 'Content-Type': 'application/json', Origin: origin }, body: JSON.stringify({ action: 'accept', content }) });
      assert.equal(given.status, 200, await given.text());
      const { result } = await modern.call('pages', {}, retryOf(asked, { [key]: { action: 'accept' } }));
      asked = result;
    }
    assert.equal(asked.content[0].text, 'Lisboa 6 a token');
  });

test('what cannot be right does not compile', () => {
  const wrong = {
    'call.confirm()': /no matching function for call to .nod::call::confirm\(\)/,
    'nod::call copy(call)': /use of deleted function .nod::call::call/,
    'call.step("x", [] { return std::vector<void *>(1); })': /a JSON value is made of texts/,
    'call.reply(call.args())': /nod::cat joins texts/,
  };
  const functions = Object.keys(wrong).map((statement, i) => `void f${i}(nod::call &call) { ${statement}; }\n`);
  const { status, stderr } = compile(`#include <nod/nod.hpp>\n${functions.join('')}`);
  assert.notEqual(status, 0);
  for (const [statement, says] of Object.entries(wrong)) assert.match(stderr, says, statement);
});

// What C++ does in another way, or leaves to C.
const LEFT_OUT = {
  nod_alloc: 'std::vector, std::string', nod_defer: 'destructors run', nod_data: 'lambdas capture', nod_fmt: 'nod::cat, nod::format',
  nod_form_keep: 'nod::form has its own texts', nod_key: 'nod::cat', nod_reply_textf: 'call.reply joins its parts', nod_server_of: 'lambdas capture', nod_get_str: 'value[key].as_str()',
  nod_get_int: 'value[key].as_int()', nod_get_double: 'value[key].as_double()', nod_get_bool: 'value[key].as_bool()',
  nod_get_number_text: 'value[key].as_number_text()', nod_set_str: 'object.set', nod_set_int: 'object.set', nod_set_bool: 'object.set',
  nod_version: 'as in C', nod_version_number: 'as in C', nod_log_to: 'as in C',
  nod_arg_str_or: 'call.arg_str_or', nod_arg_number_text_or: 'call.arg_number_text_or',
};
const NO_OPTION = new Set(['size', 'data', 'fn', 'field_size', 'type']); // a form says that it is one

test('nod.hpp has every function and every option of nod.h', () => {
  const header = readFileSync(`${root}include/nod/nod.h`, 'utf8').replace(/\/\*[^]*?\*\//g, '');
  const cpp = readdirSync(`${root}include/nod/cpp`).map((name) => readFileSync(`${root}include/nod/cpp/${name}`, 'utf8')).join('\n');
  const functions = [...header.matchAll(/^NOD_API [^;(]*?(nod_\w+)\(/gm)].map(([, name]) => name);
  assert.ok(functions.length > 100);
  assert.deepEqual(functions.filter((name) => !(name in LEFT_OUT) && !new RegExp(`\\b${name}\\b`).test(cpp)), []);
  assert.deepEqual(Object.keys(LEFT_OUT).filter((name) => !functions.includes(name)), [], 'no longer in nod.h');
  const options = [...header.matchAll(/(?:^struct nod_\w+_opts|^typedef struct nod_(?:tool|resource|prompt|prompt_arg|field)) \{([^]*?)^\}/gm)]
    .flatMap(([, body]) => [...body.matchAll(/[\w*]\s*[ *](\w+)(?:, (\w+))?;/g)].flatMap(([, ...names]) => names.filter(Boolean)));
  assert.ok(options.length > 60);
  const unset = options.filter((name) => !NO_OPTION.has(name) && !new RegExp(`\\.${name} =`).test(cpp));
  assert.deepEqual([...new Set(unset)], [], 'options that C++ cannot set');
});

test('a server with a tool that cannot be registered says why, and does not run', () => {
  const { status, stderr } = spawnSync(program('cpp-17'), [], { env: environment({ CPP_BROKEN: '1' }), encoding: 'utf8' });
  assert.equal(status, 1);
  assert.match(stderr, /registration refused.*no name for a tool/);
});
