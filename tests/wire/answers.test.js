// What each kind of answer leads to: accept, decline, cancel, content that does not fit, an error.
import test from 'node:test';
import assert from 'node:assert/strict';
import { McpError } from '@modelcontextprotocol/sdk/types.js';
import { connect, onBoth, rawPeer, callTool, nextAsk, answer, accept, textOf, withoutInbox } from './harness.js';
import { accepted, connectModern, onBothAndBothEras } from './modern.js';

withoutInbox();

function assertInvalid(result, path) {
  assert.equal(result.isError, true);
  assert.match(result.content[0].text, /^Invalid elicitation result content: \w/, 'the text says what was wrong, not only _meta');
  assert.doesNotMatch(result.content[0].text, /: \//, 'no pointers');
  assert.equal(result._meta.code, 'INVALID_INPUT');
  assert.ok(result._meta.errorId, 'an errorId, to find it in the log');
  assert.ok(Array.isArray(result._meta.details) && result._meta.details.length > 0);
  for (const detail of result._meta.details) {
    assert.equal(typeof detail.path, 'string');
    assert.ok(detail.message.length > 0);
  }
  assert.ok(
    result._meta.details.some((detail) => detail.path.includes(path) || detail.message.includes(path)),
    `${JSON.stringify(result._meta.details)} names ${path}`,
  );
}

onBoth(test, 'an accepted answer reaches the handler with its content', async (t, kind) => {
  const session = await connect(t, kind, 'probe', {
    answer: () => ({ action: 'accept', content: { name: 'Ada', age: 36 } }),
  });
  assert.equal(await session.text('ask'), 'accept {"name":"Ada","age":36}');
  assert.equal(session.asked.length, 1);
  assert.equal(session.asked[0].message, 'Who are you?');
});

onBoth(test, 'a declined question is a decline, without content', async (t, kind) => {
  const session = await connect(t, kind, 'probe', { answer: () => ({ action: 'decline' }) });
  assert.equal(await session.text('ask'), 'decline');
});

onBoth(test, 'a dismissed question is a cancel, not a decline', async (t, kind) => {
  const session = await connect(t, kind, 'probe', { answer: () => ({ action: 'cancel' }) });
  assert.equal(await session.text('ask'), 'cancel');
});

onBoth(test, 'content that comes with a decline is not given to the handler', async (t, kind) => {
  const peer = await rawPeer(t, kind, 'probe');
  const call = await callTool(peer, 'ask');
  const ask = await nextAsk(peer);
  await answer(peer, ask.id, { action: 'decline', content: { name: 'Ada' } });
  assert.equal(textOf((await call.reply()).result), 'decline');
});

onBoth(test, 'invalid content ends the call and says what is wrong with it', async (t, kind) => {
  const session = await connect(t, kind, 'probe', {
    answer: () => ({ action: 'accept', content: { name: 'Ada', age: 'old' } }),
  });
  assertInvalid(await session.call('ask'), 'age');
  assert.equal(session.asked.length, 1);
});

onBoth(test, 'a required field that is missing is invalid content', async (t, kind) => {
  const session = await connect(t, kind, 'probe', { answer: () => ({ action: 'accept', content: { age: 3 } }) });
  assertInvalid(await session.call('ask'), 'name');
});

onBoth(test, 'an accept without any content is invalid where content is required', async (t, kind) => {
  const session = await connect(t, kind, 'probe', { answer: () => ({ action: 'accept' }) });
  assertInvalid(await session.call('ask'), 'name');
});

onBoth(test, 'a pattern is checked on the server and never sent', async (t, kind) => {
  const session = await connect(t, kind, 'probe', {
    answer: () => ({ action: 'accept', content: { name: 'Ada', code: 'abc' } }),
  });
  assertInvalid(await session.call('ask'), 'code');
  assert.equal(session.asked[0].requestedSchema.properties.code.pattern, undefined);
});

onBoth(test, 'with attempts, invalid content is asked for again and a valid one goes through', async (t, kind) => {
  const answers = [{ name: 'A' }, { name: 'Ada' }];
  const session = await connect(t, kind, 'probe', {
    answer: () => ({ action: 'accept', content: answers.shift() }),
  });
  assert.equal(await session.text('ask', { attempts: 3 }), 'accept {"name":"Ada"}');
  assert.equal(session.asked.length, 2);
});

onBoth(test, 'when the attempts are used up, invalid content ends the call', async (t, kind) => {
  const session = await connect(t, kind, 'probe', {
    answer: () => ({ action: 'accept', content: { name: 'A' } }),
  });
  assertInvalid(await session.call('ask', { attempts: 2 }), 'name');
  assert.equal(session.asked.length, 2);
});

onBoth(test, 'an error of the client is nobody asked: not supported, naming the mode', async (t, kind) => {
  const session = await connect(t, kind, 'probe', {
    answer: () => {
      throw new McpError(-32603, 'the form could not be drawn');
    },
  });
  const result = await session.call('ask');
  assert.equal(result.isError, true);
  assert.equal(result._meta.code, 'ELICITATION_NOT_SUPPORTED');
  assert.match(JSON.stringify(result), /form/);
});

onBoth(test, 'a confirm is yes on accept alone', async (t, kind) => {
  const replies = [
    [() => ({ action: 'accept', content: {} }), 'yes'],
    [() => ({ action: 'accept' }), 'yes'],
    [() => ({ action: 'decline' }), 'no'],
    [() => ({ action: 'cancel' }), 'no'],
    [
      () => {
        throw new McpError(-32603, 'broken');
      },
      'no',
    ],
  ];
  let turn = 0;
  const session = await connect(t, kind, 'probe', { answer: () => replies[turn][0]() });
  for (; turn < replies.length; turn++) assert.equal(await session.text('confirm'), replies[turn][1], `turn ${turn}`);
  assert.equal(session.asked.length, replies.length);
});

onBoth(test, 'a confirm sends the empty form', async (t, kind) => {
  const session = await connect(t, kind, 'probe', { answer: () => ({ action: 'accept' }) });
  await session.text('confirm');
  assert.deepEqual(session.asked[0].requestedSchema, { type: 'object', properties: {}, required: [] });
});

onBoth(test, 'a client on the list gets one required boolean, and its false is no', async (t, kind) => {
  const contents = [true, false];
  let field;
  const session = await connect(t, kind, 'probe', {
    env: { PROBE_BOOLEAN_CLIENT: 'wire-test' },
    answer: (params) => {
      const { properties, required } = params.requestedSchema;
      [field] = Object.keys(properties);
      assert.deepEqual(required, [field]);
      assert.equal(properties[field].type, 'boolean');
      return { action: 'accept', content: { [field]: contents.shift() } };
    },
  });
  assert.equal(await session.text('confirm'), 'yes');
  assert.equal(await session.text('confirm'), 'no');
});

onBoth(test, 'a question without a form asks for one text, called response', async (t, kind) => {
  const session = await connect(t, kind, 'probe', {
    answer: (params) => {
      assert.deepEqual(Object.keys(params.requestedSchema.properties), ['response']);
      assert.equal(params.requestedSchema.properties.response.type, 'string');
      return { action: 'accept', content: { response: 'hello' } };
    },
  });
  assert.equal(await session.text('ask_plain'), 'accept {"response":"hello"}');
});

onBoth(test, 'the top level of a form has type, properties and required, and nothing else', async (t, kind) => {
  const session = await connect(t, kind, 'probe', { answer: () => ({ action: 'decline' }) });
  await session.call('ask');
  assert.deepEqual(Object.keys(session.asked[0].requestedSchema).sort(), ['properties', 'required', 'type']);
});

onBoth(test, 'an approval gives the filled-in data, who gave it and the id it is recorded under', async (t, kind) => {
  const session = await connect(t, kind, 'probe', {
    answer: () => ({ action: 'accept', content: { reason: 'fine' } }),
  });
  const approval = JSON.parse(await session.text('approve', { what: 'a boat', amount: 12.5 }));
  assert.equal(approval.approved, true);
  assert.equal(approval.action, 'accept');
  assert.deepEqual(approval.data, { reason: 'fine' });
  assert.ok(approval.id.length > 0);
  assert.ok(approval.by.length > 0);
  assert.match(session.asked[0].message, /a boat/, 'the arguments are shown');
  assert.match(session.asked[0].message, /12\.5/);
});

onBoth(test, 'an approval that is declined is not approved', async (t, kind) => {
  const session = await connect(t, kind, 'probe', { answer: () => ({ action: 'decline' }) });
  const approval = JSON.parse(await session.text('approve', {}));
  assert.equal(approval.approved, false);
  assert.equal(approval.action, 'decline');
});

onBothAndBothEras(test, 'an approval whose form does not fit is asked again, and says what was wrong', async (t, kind, how) => {
  const answers = [accepted({}), accepted({ reason: 5 }), accepted({ reason: 'fine' })];
  const session = await connectModern(t, kind, 'probe', { ...how, answer: () => answers.shift() });
  const approval = JSON.parse(await session.text('approve', {}));
  assert.equal(approval.action, 'accept');
  assert.deepEqual(approval.data, { reason: 'fine' });
  assert.equal(session.asked.length, 3);
  assert.match(session.asked[1].message, /^Your last answer could not be used: reason: is required\.\n/);
  assert.match(session.asked[2].message, /^Your last answer could not be used: reason: expected a string/);
});

onBothAndBothEras(test, 'people read titles and hints, not pointers and patterns; the model reads the same in the text', async (t, kind, how) => {
  const answers = [accepted({ ticket: 'x', hours: -1 }), accepted({ ticket: 'T-5' }), accepted({ ticket: 'x' }), accepted({ hours: 1 })];
  const session = await connectModern(t, kind, 'probe', { ...how, answer: () => answers.shift() });
  assert.equal(await session.text('ticket'), 'accept {"ticket":"T-5"}');
  assert.match(session.asked[1].message, /^Your last answer could not be used: Ticket: must look like T-123; Hours spent: must be at least 0\.\n\nWhich one\?$/);
  assert.doesNotMatch(JSON.stringify(session.asked), /pattern/, 'neither the pattern nor its hint is sent as a keyword');

  const result = await session.call('ticket');
  assert.equal(result.content[0].text, 'Invalid elicitation result content: Ticket: is required');
  assert.equal(result._meta.details[0].title, 'Ticket');
});

onBoth(test, 'arguments that do not fit are told to the model by their names, all of them, in the text', async (t, kind) => {
  const session = await connect(t, kind, 'probe', { answer: () => accepted({ ticket: 'T-5' }) });
  const result = await session.call('ticket', { code: 'abc', n: 9 });
  assert.equal(result.content[0].text, 'Invalid arguments for ticket: code: must look like ABC; n: must be at most 5');
  const { tools } = await session.client.listTools();
  const { code } = tools.find(({ name }) => name === 'ticket').inputSchema.properties;
  assert.deepEqual(code, { type: 'string', pattern: '^[A-Z]{3}$' }, 'the hint is no keyword of JSON Schema');
});

onBothAndBothEras(test, 'what an approval came to is told as it was, and none of it is taken for another', async (t, kind, how) => {
  const answers = [{ action: 'decline' }, { action: 'cancel' }, accepted({}), accepted({})];
  const session = await connectModern(t, kind, 'probe', { ...how, answer: () => answers.shift() });
  const actions = [];
  for (const args of [{}, {}, { attempts: 2 }]) {
    const approval = JSON.parse(await session.text('approve', args));
    assert.equal(approval.approved, false);
    actions.push(approval.action);
  }
  assert.deepEqual(actions, ['decline', 'cancel', 'unfit']);
  assert.equal(session.asked.length, 4);
  const silent = await connectModern(t, kind, 'probe', { ...how, capabilities: {} });
  assert.equal(JSON.parse(await silent.text('approve', {})).action, 'unasked');
});

onBoth(test, 'an approval that nobody answers in time has expired', async (t, kind) => {
  const session = await connect(t, kind, 'probe', { answer: () => new Promise(() => {}) });
  assert.equal(JSON.parse(await session.text('approve', { ttl: 60 })).action, 'expired');
});

onBoth(test, 'a tool that requires confirmation starts on accept alone', async (t, kind) => {
  const actions = ['accept', 'decline', 'cancel'];
  const session = await connect(t, kind, 'probe', { answer: () => ({ action: actions.shift() }) });
  assert.ok(!(await session.call('gated', { what: 'x' })).isError);
  for (const refused of [await session.call('gated', { what: 'x' }), await session.call('gated', { what: 'x' })])
    assert.equal(refused.isError, true);
  assert.equal(session.asked.length, 3);
  assert.match(session.asked[0].message, /Gated tool|gated/);
});

onBoth(test, 'an answer that is no answer at all is refused, and no answer to the question', async (t, kind) => {
  for (const nonsense of [{ action: 'maybe' }, {}, { action: 7 }, { action: 'accept', content: [] }]) {
    const peer = await rawPeer(t, kind, 'probe');
    const call = await callTool(peer, 'confirm');
    const ask = await nextAsk(peer);
    await answer(peer, ask.id, nonsense);
    const reply = await call.reply();
    assert.equal(textOf(reply.result), 'no', JSON.stringify(nonsense));
  }
});

onBoth(test, 'text of every script arrives as it was written', async (t, kind) => {
  const peer = await rawPeer(t, kind, 'probe');
  const call = await callTool(peer, 'ask');
  const ask = await nextAsk(peer);
  const name = 'Zoë "Ω" \\ 日本 🙂\u2028\u0001';
  await accept(peer, ask.id, { name, age: 36 });
  const text = textOf((await call.reply()).result);
  assert.deepEqual(JSON.parse(text.slice('accept '.length)), { name, age: 36 });
});

onBoth(test, 'a text with a NUL in it is refused, and not cut off there', async (t, kind) => {
  const peer = await rawPeer(t, kind, 'probe');
  const call = await callTool(peer, 'ask');
  await accept(peer, (await nextAsk(peer)).id, { name: 'Ada\u0000; DROP', age: 36 });
  const { result } = await call.reply();
  assert.equal(result.isError, true);
  assert.match(textOf(result), /NUL/);
  const other = await callTool(peer, 'ask', { message: 'Delete a\u0000b?' });
  const reply = await other.reply();
  assert.ok(reply.error || reply.result.isError, JSON.stringify(reply));
});
