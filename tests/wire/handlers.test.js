// What handlers do, right and wrong: steps, replays, mistakes, structured replies, hooks.
import test from 'node:test';
import assert from 'node:assert/strict';
import { connect, onBoth, rawPeer, callTool, nextAsk, accept, resultOf, textOf, withoutInbox } from './harness.js';

withoutInbox();

const accepting = { answer: () => ({ action: 'accept', content: {} }) };

function assertBug(result, tool) {
  assert.equal(result.isError, true, JSON.stringify(result));
  assert.match(textOf(result), new RegExp(tool), 'the tool is named');
}

for (const tool of ['steps', 'steps_blocking'])
  onBoth(test, `a step is done once however often the handler runs: ${tool}`, async (t, kind) => {
    const session = await connect(t, kind, 'probe', accepting);
    const [before, after] = (await session.text(tool)).split(' ');
    assert.ok(before.endsWith('before') && after.endsWith('after'), `${before} ${after}`);
    assert.equal(before.slice(0, -'before'.length), after.slice(0, -'after'.length), 'the keys begin with the call');
    const counters = JSON.parse(await session.text('counters'));
    assert.equal(counters.steps, 2);
    assert.ok(counters.runs > 2);
  });

onBoth(test, 'the keys of steps differ from call to call', async (t, kind) => {
  const session = await connect(t, kind, 'probe', accepting);
  assert.notEqual(await session.text('steps'), await session.text('steps'));
});

onBoth(test, 'a step that failed has failed on every run', async (t, kind) => {
  const session = await connect(t, kind, 'probe', accepting);
  assert.equal(await session.text('failing_step'), 'i/o error');
  assert.equal(JSON.parse(await session.text('counters')).steps, 1);
});

onBoth(test, 'the journal has an end: past it an error that says so', async (t, kind) => {
  const session = await connect(t, kind, 'probe');
  const result = await session.call('too_many_steps');
  assert.equal(result.isError, true);
  assert.match(JSON.stringify(result), /limit|64/i);
  assert.ok(JSON.parse(await session.text('counters')).steps <= 64);
});

onBoth(test, 'time, chance and the call id are the same on every run', async (t, kind) => {
  const session = await connect(t, kind, 'probe', accepting);
  assert.equal(await session.text('stable'), 'the same on every run');
});

onBoth(test, 'progress, log messages and notifications are not repeated by a replay', async (t, kind) => {
  const peer = await rawPeer(t, kind, 'probe');
  await peer.send({ id: 'level', method: 'logging/setLevel', params: { level: 'debug' } });
  await peer.next((message) => message.id === 'level');
  const call = await callTool(peer, 'telling', {}, { progressToken: 'p' });
  await accept(peer, (await nextAsk(peer)).id, {});
  await accept(peer, (await nextAsk(peer)).id, {});
  assert.equal(textOf((await call.reply()).result), 'told');
  const told = peer.inbox.rest();
  const progress = told.filter((message) => message.method === 'notifications/progress');
  assert.deepEqual(progress.map(({ params }) => [params.progressToken, params.progress, params.total, params.message]), [
    ['p', 1, 3, 'one'],
    ['p', 2, 3, 'two'],
    ['p', 3, 3, 'three'],
  ]);
  const logged = told.filter((message) => message.method === 'notifications/message');
  assert.deepEqual(logged.map(({ params }) => [params.level, params.logger, params.data]), [
    ['info', 'probe', 'one'],
    ['warning', 'probe', 'two'],
  ]);
  assert.deepEqual(told.filter((message) => message.method === 'notifications/probe').map((m) => m.params), [{ n: 1 }]);
});

onBoth(test, 'a handler that asks something else on a replay is told on', async (t, kind) => {
  const session = await connect(t, kind, 'probe', { answer: () => ({ action: 'accept', content: { word: 'x' } }) });
  const result = await session.call('changes_its_mind');
  assertBug(result, 'changes_its_mind');
  assert.match(JSON.stringify(result), /mind/, 'the key is named');
});

onBoth(test, 'a handler that reads an argument that is not there gets an error naming both', async (t, kind) => {
  const session = await connect(t, kind, 'probe');
  const result = await session.call('reads_what_is_not_there');
  assertBug(result, 'reads_what_is_not_there');
  assert.match(textOf(result), /nothing/);
});

onBoth(test, 'a handler that does not reply is an error, not silence', async (t, kind) => {
  const session = await connect(t, kind, 'probe');
  assertBug(await session.call('says_nothing'), 'says_nothing');
});

onBoth(test, 'a handler that fails without a word is an error naming the tool', async (t, kind) => {
  const session = await connect(t, kind, 'probe');
  assertBug(await session.call('fails'), 'fails');
});

onBoth(test, 'a handler that waits for nothing is an error, not a call that hangs', async (t, kind) => {
  const session = await connect(t, kind, 'probe');
  assertBug(await session.call('pends_for_nothing'), 'pends_for_nothing');
});

onBoth(test, 'a schema that is no form is refused where it is asked, and nothing is sent', async (t, kind) => {
  const session = await connect(t, kind, 'probe', accepting);
  const refused = await session.call('bad_schema').catch((error) => error);
  if (refused instanceof Error) assert.equal(refused.code, -32602);
  else assert.equal(refused.isError, true);
  assert.match(JSON.stringify(refused) + refused.message, /deep/, 'the offending field is named');
  assert.equal(session.asked.length, 0);
});

onBoth(test, 'a form that asks for a secret is refused and nothing is sent', async (t, kind) => {
  const session = await connect(t, kind, 'probe', accepting);
  const refused = await session.call('secret_field').catch((error) => error);
  assert.ok(refused instanceof Error || refused.isError);
  assert.match(JSON.stringify(refused) + refused.message, /password/);
  assert.equal(session.asked.length, 0);
});

onBoth(test, 'a structured reply is checked against its schema', async (t, kind) => {
  const session = await connect(t, kind, 'probe');
  const good = await session.call('structured', { good: true });
  assert.deepEqual(good.structuredContent, { n: 1 });
  assert.deepEqual(JSON.parse(textOf(good)), { n: 1 });
  assertBug(await session.call('structured', { good: false }), 'structured');
});

const CALL = ['accept', 'authorise', 'gate', 'start'].map((stage) => `call.${stage}`);
const ASK = ['parseInput', 'validateRequest', 'generateElicitId', 'storePendingRecord', 'buildRequestParams', 'finalize'].map((stage) => `ask.${stage}`);
const ANSWER = ['parseInput', 'lookupPending', 'validateContent', 'buildResult', 'publishResult', 'finalize'].map((stage) => `answer.${stage}`);

onBoth(test, 'hooks are called at each stage, in order', async (t, kind) => {
  const session = await connect(t, kind, 'probe', { ...accepting, env: { PROBE_HOOKS: '1' } });
  await session.text('hooks');
  await session.text('confirm');
  const stages = (await session.text('hooks')).trim().split(/\s+/);
  const firstAsk = stages.indexOf('ask.parseInput');
  const trace = stages.slice(stages.lastIndexOf('call.accept', firstAsk), stages.lastIndexOf('call.accept'));
  assert.deepEqual(trace, [...CALL, ...ASK, ...ANSWER, 'call.finish']);
});

onBoth(test, 'a hook that refuses a call ends it there', async (t, kind) => {
  const session = await connect(t, kind, 'probe', { ...accepting, env: { PROBE_HOOKS: '1' } });
  await session.text('hooks', { refuse: 'call.start' });
  const refused = await session.call('confirm').catch((error) => error);
  assert.ok(refused instanceof Error || refused.isError);
  assert.equal(session.asked.length, 0);
});

onBoth(test, 'a hook that refuses a question ends it there, and nothing is sent', async (t, kind) => {
  const session = await connect(t, kind, 'probe', { ...accepting, env: { PROBE_HOOKS: '1' } });
  await session.text('hooks', { refuse: 'ask.validateRequest' });
  const refused = await session.call('ask').catch((error) => error);
  assert.ok(refused instanceof Error || refused.isError, JSON.stringify(refused));
  assert.equal(session.asked.length, 0);
});

onBoth(test, 'with the replay check on, honest handlers pass and dishonest ones are found at once', async (t, kind) => {
  const session = await connect(t, kind, 'probe', {
    env: { NOD_REPLAY_CHECK: '1' },
    answer: () => ({ action: 'accept', content: { word: 'x' } }),
  });
  assert.equal(await session.text('three'), 'x x x');
  assertBug(await session.call('changes_its_mind'), 'changes_its_mind');
});

onBoth(test, 'a resource and a prompt may ask as well', async (t, kind) => {
  const session = await connect(t, kind, 'probe', { answer: () => ({ action: 'accept', content: { word: 'x' } }) });
  const { contents } = await session.client.readResource({ uri: 'probe://asking' });
  assert.equal(contents[0].text, 'accept {"word":"x"}');
  const { messages } = await session.client.getPrompt({ name: 'asking' });
  assert.equal(messages[0].content.text, 'accept {"word":"x"}');
  assert.equal(session.asked.length, 2);
});

onBoth(test, 'a resource and a prompt that cannot ask are errors that say so', async (t, kind) => {
  const session = await connect(t, kind, 'probe', { capabilities: {} });
  for (const attempt of [session.client.readResource({ uri: 'probe://asking' }), session.client.getPrompt({ name: 'asking' })]) {
    const error = await attempt.catch((caught) => caught);
    assert.ok(error instanceof Error);
    assert.match(`${error.message} ${JSON.stringify(error.data)}`, /form|ELICITATION_NOT_SUPPORTED/);
  }
});

onBoth(test, 'a strict tool refuses an argument that its form does not have, and says which there are; others ignore it', async (t, kind) => {
  const session = await connect(t, kind, 'probe');
  const { tools } = await session.client.listTools();
  assert.equal(tools.find(({ name }) => name === 'strict').inputSchema.additionalProperties, false);
  const { isError, content, _meta } = await session.call('strict', { name: 'Ada', nmae: 'Bob' });
  assert.deepEqual([isError, _meta.code], [true, 'INVALID_ARGUMENTS']);
  assert.equal(content[0].text, 'Invalid arguments for strict: nmae: is not one of the known properties, which are age, name');
  assert.ok(!(await session.call('strict', { name: 'Ada' })).isError);
  assert.ok(!(await session.call('whoami', { unheard: 1 })).isError);
});
