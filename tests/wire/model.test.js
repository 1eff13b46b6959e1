// The model as the last resort: a client without elicitation is told to ask its person, and sends the answer with the tool
// sendElicitationResult. With both official clients, over both transports.
import { describe, it } from 'node:test';
import assert from 'node:assert/strict';
import { connect, pause, rawPeer, startHttp, callTool, textOf, PATIENCE_MS } from './harness.js';
import { ADA, BOB, Modern, connectModern, deedsFile, tokenFile } from './modern.js';
import { stores } from './stores.js';

const tests = [];
const test = (name, fn) => tests.push([name, fn]);
const LANES = 4;
const SOAK = process.env.NOD_SOAK === '1';

const MUTE = { capabilities: {} }; // a client that cannot be asked
const TOOL = 'sendElicitationResult';
const SERVER = 'model-server';
const OFF = ['--no-inbox']; // on HTTP people would be asked in the inbox

// --- clients ---

const clients = {
  '2025, v1': (t, kind, options) => connect(t, kind, SERVER, { ...MUTE, ...options }),
  '2025, v2': (t, kind, options) => connectModern(t, kind, SERVER, { ...MUTE, legacy: true, ...options }),
  '2026, v2': (t, kind, options) => connectModern(t, kind, SERVER, { ...MUTE, ...options }),
};

// A test with each client on each transport; by default with each generation, each on one of them, in turn.
let turn = 0;
function onAll(name, body) {
  turn++;
  for (const [client, open] of Object.entries(clients))
    for (const kind of ['stdio', 'http']) {
      if (!SOAK && (client === '2025, v2' || (kind === 'http') !== (turn % 2 === (client === '2026, v2' ? 0 : 1)))) continue;
      test(`${client}, ${kind}: ${name}`, (t) => body(t, (options = {}) => open(t, kind, { ...options, args: [...(kind === 'http' ? OFF : []), ...(options.args ?? [])] })));
    }
}

// What a result asks the model for.
function questionOf(result) {
  assert.ok(!result.isError, textOf(result));
  assert.match(textOf(result), /^This tool requires user input/);
  const asked = result._meta?.elicitationPending;
  assert.deepEqual(Object.keys(asked).filter((key) => key !== 'more'), ['elicitId', 'message', 'schema', 'instructions']);
  assert.ok(textOf(result).includes(asked.elicitId) && textOf(result).includes(asked.message), textOf(result));
  assert.ok(textOf(result).includes(JSON.stringify(asked.schema)), textOf(result));
  assert.match(asked.elicitId, /^[\w-]{22}$/);
  return asked;
}

const accept = (elicitId, content) => ({ elicitId, action: 'accept', ...(content === undefined ? {} : { content }) });

function refusalOf(result, code) {
  assert.equal(result.isError, true, JSON.stringify(result));
  assert.equal(result._meta.code, code, textOf(result));
  return textOf(result);
}

const toolsOf = async (client) => (await client.listTools()).tools;
const namesOf = async (client) => (await toolsOf(client)).map(({ name }) => name);
// A tool that is not there is a JSON-RPC error.
const unknown = (promise) => assert.rejects(promise, /Unknown tool: sendElicitationResult/);

// --- questions in a row ---

onAll('three questions in one call, and its end', async (t, open) => {
  const deeds = deedsFile(t);
  const session = await open({ env: { PROBE_FILE: deeds.file } });
  const city = questionOf(await session.call('trip', { tag: 'a' }));
  assert.equal(city.message, 'Where to?');
  assert.deepEqual(city.schema.required, ['word']);
  const people = questionOf(await session.call(TOOL, accept(city.elicitId, { word: 'Oslo' })));
  assert.equal(people.message, 'How many to Oslo?');
  const day = questionOf(await session.call(TOOL, accept(people.elicitId, { people: 3 })));
  assert.deepEqual(deeds.lines(), ['a looked']);
  assert.equal(await session.text(TOOL, accept(day.elicitId, { word: 'Friday' })), 'Booked a: Oslo, 3, Friday.');
  assert.deepEqual(deeds.lines(), ['a looked', 'a: Oslo, 3, Friday']);
});

onAll('invalid, then valid: the error has paths, and the question still waits', async (t, open) => {
  const session = await open();
  const { elicitId } = questionOf(await session.call('trip', { tag: 'a' }));
  const people = questionOf(await session.call(TOOL, accept(elicitId, { word: 'Oslo' })));
  const tooMany = await session.call(TOOL, accept(people.elicitId, { people: 10 }));
  assert.match(refusalOf(tooMany, 'INVALID_INPUT'), /People: .*same elicitId/);
  assert.deepEqual(tooMany._meta.details.map(({ path }) => path), ['/people']);
  assert.match(refusalOf(await session.call(TOOL, accept(people.elicitId, {})), 'INVALID_INPUT'), /People: is required/);
  refusalOf(await session.call(TOOL, accept(people.elicitId)), 'INVALID_INPUT');
  refusalOf(await session.call(TOOL, accept(people.elicitId, { people: 'x'.repeat(1 << 20) })), 'INVALID_INPUT');
  refusalOf(await session.call(TOOL, accept(people.elicitId, { people: 3, [`\0${'y'.repeat(1000)}`]: {} })), 'INVALID_INPUT');
  for (const [args, path] of [[{ elicitId: people.elicitId }, '/action'], [{ action: 'accept' }, '/elicitId'], [{ ...accept(people.elicitId), action: 'yes' }, '/action'], [{ ...accept(people.elicitId), content: 'x' }, '/content'], [{ elicitId: 7, action: 'accept' }, '/elicitId']]) {
    const result = await session.call(TOOL, args);
    refusalOf(result, 'INVALID_ARGUMENTS');
    assert.deepEqual(result._meta.details.map((detail) => detail.path), [path]);
  }
  questionOf(await session.call(TOOL, accept(people.elicitId, { people: 9 })));
});

onAll('decline and cancel are told apart, and are answers', async (t, open) => {
  const session = await open();
  const first = questionOf(await session.call('trip', { tag: 'a' }));
  assert.equal(await session.text(TOOL, { elicitId: first.elicitId, action: 'decline' }), 'No trip: (declined).');
  const second = questionOf(await session.call('trip', { tag: 'b' }));
  assert.equal(await session.text(TOOL, { elicitId: second.elicitId, action: 'cancel', content: { word: 'ignored' } }), 'No trip: (cancelled).');
});

onAll('two questions at the same time are both told, and answered in any order', async (t, open) => {
  const session = await open();
  const result = await session.call('pair');
  const { elicitId, message, more } = questionOf(result);
  assert.deepEqual([message, more.map((other) => other.message)], ['The first?', ['The second?']]);
  assert.deepEqual(result.structuredContent.questions.map((question) => question.elicitId), [elicitId, more[0].elicitId]);
  const left = questionOf(await session.call(TOOL, accept(more[0].elicitId, { word: 'two' })));
  assert.equal(left.elicitId, elicitId, 'the other one is still open');
  assert.equal(left.more, undefined);
  assert.equal(await session.text(TOOL, accept(elicitId, { word: 'one' })), 'one and two');
});

onAll('a blocking handler, and one whose result has a schema', async (t, open) => {
  const session = await open();
  const blocking = questionOf(await session.call('word_blocking'));
  assert.equal(await session.text(TOOL, accept(blocking.elicitId, { word: 'a' })), 'word: a');
  const { outputSchema } = (await toolsOf(session.client)).find(({ name }) => name === 'typed');
  assert.equal(outputSchema.anyOf.length, 2, 'a pending result fits, too');
  const typed = questionOf(await session.call('typed')); // the client checks it against the listed schema
  assert.deepEqual((await session.call(TOOL, accept(typed.elicitId, { word: 'b' }))).structuredContent, { word: 'b' });
});

const SAMPLING = { capabilities: { sampling: {} } };
const DRAFT = { role: 'assistant', model: 'm', content: { type: 'text', text: 'a draft' } };

test('2025: a question to the model of the client is answered first, and the one to its person comes with the result', async (t) => {
  const peer = await rawPeer(t, 'http', SERVER, { ...SAMPLING, args: OFF });
  const call = await callTool(peer, 'drafted');
  const sample = await peer.next(({ method }) => method === 'sampling/createMessage', 'the sample');
  await peer.send({ id: sample.id, result: DRAFT });
  const { elicitId } = questionOf((await call.reply()).result);
  assert.equal(textOf((await (await callTool(peer, TOOL, accept(elicitId, { word: 'a' }))).reply()).result), 'a, drafted');
});

test('2026: a question to the model of the client is answered first, and the one to its person comes with the result', async (t) => {
  const session = await connectModern(t, 'http', SERVER, { ...SAMPLING, args: OFF, sample: () => DRAFT });
  const { elicitId } = questionOf(await session.call('drafted'));
  assert.equal(await session.text(TOOL, accept(elicitId, { word: 'a' })), 'a, drafted');
});

onAll('a question expires, and its id with it', async (t, open) => {
  const session = await open();
  let asked;
  for (let left = 20; left-- && (!asked || textOf(asked) === 'too late');) asked = await session.call('brief'); // a machine that is slow
  const { elicitId } = questionOf(asked);
  await pause(1000);
  assert.match(refusalOf(await session.call(TOOL, accept(elicitId, { word: 'late' })), 'ASK_ENDED'), /time to answer this question is over/);
});

onAll('what is asked while nobody waits for the call is told whoever comes for it', async (t, open) => {
  const session = await open();
  const { callId } = (await session.call('twice')).structuredContent;
  await pause(1000); // the first question expires meanwhile
  const { elicitId, message } = questionOf(await session.call('waitForPerson', { callId }));
  assert.equal(message, 'Slower?');
  assert.equal(await session.text(TOOL, accept(elicitId, { word: 'b' })), 'word: b');
});

// --- ids ---

onAll('forged and replayed ids are refused; the same answer again gets the same result', async (t, open) => {
  const deeds = deedsFile(t);
  const session = await open({ env: { PROBE_FILE: deeds.file } });
  const { elicitId } = questionOf(await session.call('word'));
  const forged = [elicitId.replace(/.$/, (last) => (last === 'A' ? 'B' : 'A')), 'A'.repeat(22), '', '../../etc', elicitId + 'A', 'x'.repeat(10000)];
  for (const id of forged) refusalOf(await session.call(TOOL, accept(id, { word: 'forged' })), id === '' ? 'INVALID_ARGUMENTS' : 'ASK_UNKNOWN');
  assert.equal(await session.text(TOOL, accept(elicitId, { word: 'a' })), 'word: a');
  for (const again of [accept(elicitId, { word: 'b' }), { elicitId, action: 'decline' }, { elicitId, action: 'cancel' }])
    assert.match(refusalOf(await session.call(TOOL, again), 'ASK_ENDED'), /answered before/);
  assert.equal(await session.text(TOOL, accept(elicitId, { word: 'a' })), 'word: a', 'a reply that was lost is given again');
  assert.deepEqual(deeds.lines(), ['a']);
});

for (const [era, open] of [['2025', 'session'], ['2026', 'principal']])
  test(`${era}: an id is of use to nobody but the ${open} that was asked`, async (t) => {
    const server = await startHttp(t, SERVER, { args: [...OFF, '--token-file', tokenFile(t)] });
    const client = (token) => (era === '2025' ? connect(t, 'http', SERVER, { ...MUTE, server, token }) : connectModern(t, 'http', SERVER, { ...MUTE, server, token }));
    const [ada, again, bob] = await Promise.all([client(ADA), client(ADA), client(BOB)]);
    const { elicitId } = questionOf(await ada.call('word'));
    refusalOf(await bob.call(TOOL, accept(elicitId, { word: 'bob' })), 'ASK_UNKNOWN');
    const other = await again.call(TOOL, accept(elicitId, { word: 'other' }));
    if (era === '2026') {
      assert.equal(textOf(other), 'word: other', 'it has no sessions');
      return;
    }
    refusalOf(other, 'ASK_UNKNOWN');
    assert.equal(await ada.text(TOOL, accept(elicitId, { word: 'ada' })), 'word: ada');
  });

onAll('two answers at the same instant: one counts, and it is done once', async (t, open) => {
  const deeds = deedsFile(t);
  const session = await open({ env: { PROBE_FILE: deeds.file } });
  for (let round = 0; round < (SOAK ? 50 : 4); round++) {
    const { elicitId } = questionOf(await session.call('word', { tag: `r${round}` }));
    const ends = await Promise.all(['a', 'b'].map((word) => session.call(TOOL, accept(elicitId, { word: `${word}${round}` }))));
    const won = ends.filter((end) => !end.isError);
    assert.equal(won.length, 1, JSON.stringify(ends));
    refusalOf(ends.find((end) => end.isError), 'ASK_ENDED');
    assert.equal(deeds.lines().length, round + 1);
    assert.equal(textOf(won[0]), `word: ${deeds.lines().at(-1)}`);
  }
});

onAll('the same answer at the same instant: all have the same result, and it is done once', async (t, open) => {
  const deeds = deedsFile(t);
  const session = await open({ env: { PROBE_FILE: deeds.file } });
  for (let round = 0; round < (SOAK ? 50 : 4); round++) {
    const { elicitId } = questionOf(await session.call('word', { tag: `r${round}` }));
    const ends = await Promise.all([1, 2, 3].map(() => session.text(TOOL, accept(elicitId, { word: `w${round}` }))));
    assert.deepEqual(ends, Array(3).fill(`word: w${round}`));
    assert.equal(deeds.lines().length, round + 1);
  }
});

test('2025: the same call again gets the same question, and not a second one', async (t) => {
  const session = await connect(t, 'http', SERVER, { ...MUTE, args: OFF });
  const first = questionOf(await session.call('word', { tag: 'a' }));
  assert.equal(questionOf(await session.call('word', { tag: 'a' })).elicitId, first.elicitId);
  assert.notEqual(questionOf(await session.call('word', { tag: 'b' })).elicitId, first.elicitId);
  assert.equal(await session.text(TOOL, accept(first.elicitId, { word: 'x' })), 'word: x');
});

test('2025: the same call in another session is asked a question of its own, which its own model can answer', async (t) => {
  const deeds = deedsFile(t);
  const { address } = await stores.find(({ name }) => name === 'sqlite').create(t);
  const env = { PROBE_FILE: deeds.file, MCP_ELICITATION_SECRET: 'a secret that is surely long enough for this' };
  const start = () => startHttp(t, SERVER, { args: [...OFF, '--store', address], env });
  const server = await start();
  const [one, two] = await Promise.all([1, 2].map(() => connect(t, 'http', SERVER, { ...MUTE, server })));
  const first = questionOf(await one.call('word', { tag: 'a' }));
  const second = questionOf(await two.call('word', { tag: 'a' }));
  assert.notEqual(second.elicitId, first.elicitId);
  assert.equal(questionOf(await two.call('word', { tag: 'a' })).elicitId, second.elicitId);
  assert.equal(await two.text(TOOL, accept(second.elicitId, { word: 'two' })), 'word: two');
  assert.equal(await one.text(TOOL, accept(first.elicitId, { word: 'one' })), 'word: one');
  assert.deepEqual(deeds.lines(), ['two', 'one']);
  const left = questionOf(await one.call('word', { tag: 'b' }));
  await server.stop();
  const three = await connect(t, 'http', SERVER, { ...MUTE, server: await start() }); // the call is not loaded
  const own = questionOf(await three.call('word', { tag: 'b' }));
  assert.notEqual(own.elicitId, left.elicitId);
  assert.equal(await three.text(TOOL, accept(own.elicitId, { word: 'three' })), 'word: three');
});

for (const era of ['2025', '2026'])
  test(`2025: who waits for a call in another session is given no id that would not count there (${era})`, async (t) => {
    const server = await startHttp(t, SERVER, { args: [...OFF, '--soft-deadline', '1s'] });
    const one = await connect(t, 'http', SERVER, { ...MUTE, server });
    const other = era === '2025' ? await connect(t, 'http', SERVER, { ...MUTE, server }) : await connectModern(t, 'http', SERVER, { ...MUTE, server });
    const asked = await one.call('word');
    const { elicitId } = questionOf(asked);
    const { callId } = asked.structuredContent;
    const wait = () => other.call('waitForPerson', { callId });
    const pending = await wait();
    assert.deepEqual([pending.structuredContent.callId, pending.structuredContent.waitWith], [callId, 'waitForPerson']);
    assert.ok(!JSON.stringify(pending).includes(elicitId), textOf(pending));
    assert.match(textOf(pending), /It is answered in the session that made the call/);
    const held = wait();
    assert.equal(textOf(await one.call(TOOL, accept(elicitId, { word: 'a' }))), 'word: a');
    // If the answer came before it, it was told that another request waits, and comes again.
    const first = textOf(await held);
    assert.equal(/^Another request waits/.test(first) ? textOf(await wait()) : first, 'word: a');
  });

// Gives up on the first request while the handler works: { call, abandon }.
async function impatient(t, era, server) {
  if (era === '2026') {
    const modern = new Modern(server.url, MUTE);
    return {
      call: async (name, args) => (await modern.call(name, args)).result,
      abandon: (name, args) => assert.rejects(modern.call(name, args, {}, { signal: AbortSignal.timeout(300) })),
    };
  }
  const peer = await rawPeer(t, 'http', SERVER, { ...MUTE, server });
  return {
    call: async (name, args) => (await (await callTool(peer, name, args)).reply()).result,
    abandon: async (name, args) => {
      const { handle } = await callTool(peer, name, args);
      await pause(300);
      handle.drop();
    },
  };
}

for (const era of ['2025', '2026'])
  test(`${era}: who gives up while the call works, and sends the same answer again, gets its result; it is done once`, async (t) => {
    const deeds = deedsFile(t);
    const server = await startHttp(t, SERVER, { args: OFF, env: { PROBE_FILE: deeds.file } });
    const one = await impatient(t, era, server);
    const { elicitId } = questionOf(await one.call('word_blocking'));
    await one.abandon(TOOL, accept(elicitId, { word: 'slow' }));
    assert.equal(textOf(await one.call(TOOL, accept(elicitId, { word: 'slow' }))), 'word: slow');
    assert.deepEqual(deeds.lines(), ['slow']);
    refusalOf(await one.call(TOOL, accept(elicitId, { word: 'other' })), 'ASK_ENDED');
  });

// --- consent ---

onAll('confirmations, approvals, policies and what destructive tools ask are not the model\'s', async (t, open) => {
  const deeds = deedsFile(t);
  const session = await open({ env: { PROBE_FILE: deeds.file } });
  assert.equal(await session.text('confirm'), 'no');
  assert.equal(await session.text('approve'), 'not approved');
  assert.match(refusalOf(await session.call('gated'), 'CONFIRMATION_REQUIRED'), /not the model.*inbox/s);
  // Nobody can be asked: in the 2026 era that is an error that names the capability.
  const refused = async (tool) => session.call(tool).then((result) => refusalOf(result, 'ELICITATION_NOT_SUPPORTED'), (error) => error.message);
  assert.match(await refused('wipe'), /a model may not answer.*inbox/);
  assert.match(await refused('ruled'), /a model may not answer.*inbox/);
  assert.deepEqual(deeds.lines(), []);
});

for (const [kind, args, how] of [['stdio', [], '(--inbox)'], ['http', OFF, '(without --no-inbox)'], ['http', ['--surfaces', 'model'], '(--surfaces names it)']])
  test(`the refusal says how a person would be asked: ${kind} ${args.join(' ')}`, async (t) => {
    const session = await connect(t, kind, SERVER, { ...MUTE, args });
    for (const tool of ['gated', 'wipe'])
      assert.ok(textOf(await session.call(tool)).includes(`the operator can have a person asked in the inbox ${how}, or let the model decide (--model-may-consent)`), textOf(await session.call(tool)));
  });

onAll('with --model-may-consent they are', async (t, open) => {
  const deeds = deedsFile(t);
  const session = await open({ args: ['--model-may-consent'], env: { PROBE_FILE: deeds.file } });
  const answered = async (tool, content) => session.text(TOOL, accept(questionOf(await session.call(tool)).elicitId, content));
  assert.equal(await answered('confirm'), 'yes');
  assert.equal(await answered('approve'), 'approved');
  assert.equal(await answered('wipe', { confirmed: true }), 'wiped');
  assert.equal(await answered('gated'), 'done');
  assert.equal(await answered('ruled', { word: 'yes' }), 'done');
  const declined = questionOf(await session.call('gated'));
  refusalOf(await session.call(TOOL, { elicitId: declined.elicitId, action: 'decline' }), 'CONFIRMATION_DECLINED');
  assert.deepEqual(deeds.lines(), ['wiped', 'done', 'done']);
});

for (const era of ['2025', '2026'])
  test(`${era}: with an inbox beside it, consent is asked there, and the model is told where`, async (t) => {
    const args = ['--surfaces', 'inbox,model', '--soft-deadline', '1s'];
    const server = await startHttp(t, SERVER, { args });
    const session = era === '2025' ? await connect(t, 'http', SERVER, { ...MUTE, server }) : await connectModern(t, 'http', SERVER, { ...MUTE, server });
    for (const tool of ['gated', 'wipe', 'confirm']) {
      const pending = await session.call(tool);
      const { answerAt } = pending.structuredContent;
      assert.match(answerAt, /\/ask\/[\w-]{22}$/, textOf(pending));
      assert.equal(pending._meta?.elicitationPending, undefined);
      const elicitId = answerAt.split('/').at(-1);
      const refusal = refusalOf(await session.call(TOOL, accept(elicitId, tool === 'wipe' ? { confirmed: true } : {})), 'CONSENT_REQUIRED');
      assert.ok(refusal.includes(answerAt), refusal);
    }
    const { elicitId } = questionOf(await session.call('word'));
    assert.equal(await session.text(TOOL, accept(elicitId, { word: 'data' })), 'word: data');
  });

for (const era of ['2025', '2026'])
  test(`${era}: in turn, the model is asked when nobody has answered in the inbox`, async (t) => {
    const server = await startHttp(t, SERVER, { args: ['--surfaces', 'inbox>model', '--next-surface', '1s'] });
    const session = era === '2025' ? await connect(t, 'http', SERVER, { ...MUTE, server }) : await connectModern(t, 'http', SERVER, { ...MUTE, server });
    const began = Date.now();
    const { elicitId } = questionOf(await session.call('word'));
    assert.ok(Date.now() - began >= 900, 'the inbox came first');
    assert.equal(await session.text(TOOL, accept(elicitId, { word: 'a' })), 'word: a');
  });

// --- the example ---

const ADDRESS = { name: 'Ada Lovelace', email: 'ada@example.org', postcode: '12345', parcels: 2, weight: 1.5, insured: false, speed: 'express', extras: ['gift', 'sign'] };

for (const [era, open] of [['2025', connect], ['2026', connectModern]])
  test(`${era}: shipping falls back to the model`, async (t) => {
    const session = await open(t, 'stdio', 'shipping', MUTE);
    const { elicitId, message, schema } = questionOf(await session.call('ship_order', { order: 17 }));
    assert.equal(message, 'Where shall we send order 17?');
    assert.equal(schema.properties.postcode.pattern, '^[0-9]{5}$');
    const wrong = await session.call(TOOL, accept(elicitId, { ...ADDRESS, postcode: '1234', parcels: 21 }));
    assert.match(refusalOf(wrong, 'INVALID_INPUT'), /Postcode: .*Parcels: /);
    assert.deepEqual(wrong._meta.details.map(({ path }) => path).sort(), ['/parcels', '/postcode']);
    assert.equal(await session.text(TOOL, accept(elicitId, ADDRESS)), 'Order 17 goes to Ada Lovelace (12345), express; extras: gift, sign; insured: no.');
    const again = questionOf(await session.call('ship_order', { order: 18 }));
    assert.equal(await session.text(TOOL, { elicitId: again.elicitId, action: 'decline' }), 'The person does not want it shipped.');
  });

// --- for whom ---

const FORM = { capabilities: { elicitation: {} } };
const URL_ONLY = { capabilities: { elicitation: { url: {} } } };

for (const [era, open] of [['2025', connect], ['2026', connectModern]]) {
  test(`${era}: the tool is listed to clients without elicitation, and there only where the model is asked`, async (t) => {
    const rows = [
      [MUTE, OFF, true],
      [MUTE, ['--surfaces', 'inbox,model'], true],
      [MUTE, ['--surfaces', 'inbox>model'], true],
      [MUTE, ['--surfaces', 'client,model'], true],
      [MUTE, [], false], // the inbox has them all
      [MUTE, [...OFF, '--no-model'], false],
      [MUTE, ['--surfaces', 'client,inbox'], false],
      [FORM, OFF, false],
      [FORM, ['--surfaces', 'inbox,model'], false],
      [URL_ONLY, OFF, false],
    ];
    for (const [capabilities, args, wanted] of rows) {
      const session = await open(t, 'http', SERVER, { ...capabilities, answer: () => ({ action: 'cancel' }), args });
      assert.equal((await namesOf(session.client)).includes(TOOL), wanted, JSON.stringify([capabilities, args]));
      if (wanted) refusalOf(await session.call(TOOL, accept('A'.repeat(22))), 'ASK_UNKNOWN');
      else await unknown(session.call(TOOL, accept('A'.repeat(22))));
      await session.stop();
      await session.server.stop();
    }
  });

  test(`${era}: an answer from a client that has elicitation is refused, whoever was asked`, async (t) => {
    const server = await startHttp(t, SERVER, { args: OFF });
    const [mute, form] = await Promise.all([open(t, 'http', SERVER, { ...MUTE, server }), open(t, 'http', SERVER, { ...FORM, server, answer: () => ({ action: 'cancel' }) })]);
    const { elicitId } = questionOf(await mute.call('word'));
    await unknown(form.call(TOOL, accept(elicitId, { word: 'x' })));
    assert.equal(await form.text('word'), 'word: (cancelled)', 'its person is asked as before');
  });
}

test('2025-03-26, which knows no elicitation and no structured content: the model is asked', async (t) => {
  const peer = await rawPeer(t, 'http', SERVER, { version: '2025-03-26', capabilities: { elicitation: {} }, args: OFF });
  const { result } = await (await callTool(peer, 'word')).reply();
  assert.equal(result.structuredContent, undefined);
  const { elicitId } = questionOf(result);
  const end = await (await callTool(peer, TOOL, accept(elicitId, { word: 'old' }))).reply();
  assert.equal(textOf(end.result), 'word: old');
});

test('2026: a tool that may become a task asks first, through the model, and its work is a result', async (t) => {
  const deeds = deedsFile(t);
  const server = await startHttp(t, SERVER, { args: OFF, env: { PROBE_FILE: deeds.file } });
  const modern = new Modern(server.url, { capabilities: { extensions: { 'io.modelcontextprotocol/tasks': {} } } });
  const { resultType, taskId } = (await modern.call('trip_task', { tag: 'a' })).result;
  assert.equal(resultType, 'task', 'it works before it asks');
  let task;
  for (const end = Date.now() + PATIENCE_MS; (task = (await modern.request('tasks/get', { taskId })).result).status === 'working' && Date.now() < end;) await pause(20);
  assert.deepEqual([task.status, task.error.code, task.error.data.code], ['failed', -32021, 'ELICITATION_NOT_SUPPORTED'], 'there is no result to tell its model');
  const { elicitId } = questionOf((await modern.call('word_first')).result);
  const end = (await modern.call(TOOL, accept(elicitId, { word: 'a' }))).result;
  assert.deepEqual([end.resultType, textOf(end)], ['complete', 'word: a']);
});

// --- durability ---

for (const store of stores.filter(({ name }) => name !== 'memory'))
  for (const era of ['2025', '2026'])
    test(`${store.name}, ${era}: a question outlives kill -9, and its answer goes on at another server`, async (t) => {
      const deeds = deedsFile(t);
      const { address } = await store.create(t);
      const env = { PROBE_FILE: deeds.file, MCP_ELICITATION_SECRET: 'a secret that is surely long enough for this' };
      const args = [...OFF, '--store', address];
      const first = await startHttp(t, SERVER, { args, env });
      const one = await asker(t, era, first.url);
      const city = questionOf(await one.call('trip', { tag: 'a' }));
      await first.kill();
      const second = await startHttp(t, SERVER, { args, env });
      one.move(second.url);
      const people = questionOf(await one.call(TOOL, accept(city.elicitId, { word: 'Rome' })));
      await second.kill();
      const third = await startHttp(t, SERVER, { args, env });
      one.move(third.url);
      const day = questionOf(await one.call(TOOL, accept(people.elicitId, { people: 2 })));
      assert.equal(textOf(await one.call(TOOL, accept(day.elicitId, { word: 'Monday' }))), 'Booked a: Rome, 2, Monday.');
      assert.deepEqual(deeds.lines(), ['a looked', 'a: Rome, 2, Monday']);
    });

test('2025, stdio: a call that waits in the inbox outlives kill -9 of its server, and is found by its handle', async (t) => {
  const { address } = await stores.find(({ name }) => name === 'sqlite').create(t);
  const args = ['--inbox', '0', '--store', address, '--soft-deadline', '1s'];
  const env = { MCP_ELICITATION_SECRET: 'a secret that is surely long enough for this' };
  const first = await rawPeer(t, 'stdio', SERVER, { ...MUTE, args, env });
  const { result } = await (await callTool(first, 'word')).reply();
  const { callId } = result.structuredContent;
  assert.ok(callId, textOf(result));
  await first.kill();
  const second = await rawPeer(t, 'stdio', SERVER, { ...MUTE, args, env });
  const again = await (await callTool(second, 'waitForPerson', { callId })).reply();
  assert.equal(again.result.structuredContent?.callId, callId, textOf(again.result));
});

// One client whose server moves: { call, move }.
async function asker(t, era, url) {
  if (era === '2026') {
    const modern = new Modern(url, MUTE);
    return { call: async (name, args) => (await modern.call(name, args)).result, move: (to) => (modern.url = to) };
  }
  const peer = await rawPeer(t, 'http', SERVER, { ...MUTE, server: { url } });
  return { call: async (name, args) => (await (await callTool(peer, name, args)).reply()).result, move: (to) => (peer.url = to) };
}

describe('model', { concurrency: LANES }, () => {
  for (const [name, fn] of tests) it(name, fn);
});
