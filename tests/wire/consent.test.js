// Whose yes counts: every way to answer, by every role, under every setting.
//
// The words of EXPECTED are written by hand. They say what becomes of a call whose own client says yes in that way:
//   counts      the yes is taken
//   inbox       somebody is asked in the inbox instead, and the yes changes nothing
//   refused     nobody is asked, because there is only the model
//   nobody      nobody is asked: nod_confirm says no, everything else fails, and says which role is missing
import test from 'node:test';
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { HttpPeer, oneOf, pause, runOnce, startHttp, within, PATIENCE_MS } from './harness.js';
import { Modern } from './modern.js';
import { Api, houses, openHouse, token, tokenFile } from './inbox.js';
import { FORMS, TASKS, YES, endOf, keyOf, startFor, unique, ways, yesTo } from './consents.js';

// Without tokens there is only the local user.
const tokenOf = (who) => (who === 'local' ? undefined : token(who));

// By what they may do. Each has a token of its own.
const people = {
  carl: 'ask', // an agent
  eve: 'ask approve', // approves the calls of others
  ada: 'ask answer',
  root: 'ask admin',
};

const CONSENT = ['confirm', 'approve', 'gated', 'danger'];
const AHEAD = ['ahead 2026', 'ahead 2026, declares nothing'];

// setting, way, who, tools, what becomes of it
const EXPECTED = [];
const expect = (settings, whichWays, who, tools, word) => {
  for (const setting of [settings].flat()) for (const way of [whichWays].flat()) for (const one of [who].flat()) for (const tool of [tools].flat()) EXPECTED.push({ setting, way, who: one, tool, word });
};
const OWN = ['form 2025', 'round 2026', 'view', 'task'];
const roled = ['ada', 'root'];
const roleless = ['carl', 'eve'];
// As it is without options: whoever has the role says yes in its client, and whoever has not is answered for in the inbox.
expect('', OWN, roled, ['data', ...CONSENT], 'counts');
expect('', OWN, roleless, 'data', 'counts');
expect('', OWN, roleless, CONSENT, 'inbox');
expect('', ['form 2025', 'round 2026'], roled, ['link', 'danger_link'], 'counts');
expect('', ['form 2025', 'round 2026'], roleless, 'link', 'counts');
expect('', ['form 2025', 'round 2026'], roleless, 'danger_link', 'inbox');
// Ahead of the question, only data counts, and only from a client that could be asked.
expect('', 'ahead 2026', [...roled, ...roleless], 'data', 'counts');
expect('', 'ahead 2026', roled, CONSENT, 'asked');
expect('', 'ahead 2026', roleless, CONSENT, 'inbox');
expect('', 'ahead 2026, declares nothing', [...roled, ...roleless], ['data', ...CONSENT], 'inbox');
// Nobody else is there.
expect('--no-inbox --no-model', OWN, roled, ['data', ...CONSENT], 'counts');
expect('--no-inbox --no-model', OWN, roleless, 'data', 'counts');
expect('--no-inbox --no-model', [...OWN, 'ahead 2026'], roleless, CONSENT, 'nobody');
expect('--no-inbox --no-model', 'ahead 2026, declares nothing', [...roled, ...roleless], 'danger', 'nobody');
// The client is asked for data alone.
expect('--consent inbox', OWN, [...roled, ...roleless], 'data', 'counts');
expect('--consent inbox', [...OWN, ...AHEAD], [...roled, ...roleless], CONSENT, 'inbox');
expect('--consent inbox', ['form 2025', 'round 2026'], roled, 'danger_link', 'inbox');
// Nobody is asked at the client.
expect('--surfaces inbox', ['form 2025', 'round 2026', ...AHEAD], [...roled, ...roleless], ['data', ...CONSENT], 'inbox');
// A model gives data; and a yes, if the operator says so, where its client could.
expect('--no-inbox', 'model', [...roled, ...roleless, 'local'], 'data', 'counts');
expect('--no-inbox', 'model', [...roled, ...roleless, 'local'], ['danger', 'gated'], 'refused');
expect('--no-inbox', 'model', [...roled, ...roleless, 'local'], 'confirm', 'nobody');
expect('--no-inbox --model-may-consent', 'model', [...roled, 'local'], ['data', ...CONSENT], 'counts');
expect('--no-inbox --model-may-consent', 'model', roleless, 'data', 'counts');
expect('--no-inbox --model-may-consent', 'model', roleless, CONSENT, 'nobody');
expect('--no-inbox --model-may-consent --consent any', 'model', roleless, CONSENT, 'counts');
// The local user has every role.
expect('', ['form 2025', 'round 2026', 'task'], 'local', ['data', ...CONSENT], 'counts');
expect('', 'ahead 2026', 'local', CONSENT, 'asked');
expect('', 'ahead 2026, declares nothing', 'local', ['data', ...CONSENT], 'inbox');
expect(['--consent inbox', '--surfaces inbox'], ['form 2025', 'round 2026', ...AHEAD], 'local', CONSENT, 'inbox');
// In views, without a token that says whose it is, a yes counts only if the operator says so.
expect('', 'view', 'local', 'data', 'counts');
expect('', 'view', 'local', CONSENT, 'inbox');
expect('--view-consent', 'view', 'local', ['data', ...CONSENT], 'counts');
expect('--no-view-consent ada', 'view', 'ada', 'data', 'counts');
expect('--no-view-consent ada', 'view', 'ada', CONSENT, 'inbox');
expect('--no-view-consent ada', 'view', 'root', CONSENT, 'counts');
expect('--no-view-consent ada', ['form 2025', 'round 2026'], 'ada', CONSENT, 'counts');
// What was before.
expect('--consent any', OWN, [...roled, ...roleless], ['data', ...CONSENT], 'counts');
// A tool may be stricter than the server, and not more lenient.
expect('', ['form 2025', 'round 2026'], 'carl', ['lax', 'strict', 'elsewhere'], 'inbox');
expect('', ['form 2025', 'round 2026'], 'ada', ['lax', 'strict'], 'counts');
expect('', ['form 2025', 'round 2026'], 'ada', 'elsewhere', 'inbox');
expect('--consent any', ['form 2025', 'round 2026'], 'carl', 'lax', 'counts');
expect('--consent any', ['form 2025', 'round 2026'], 'carl', ['strict', 'elsewhere'], 'inbox');
expect('--consent inbox', ['form 2025', 'round 2026'], 'ada', ['lax', 'strict'], 'inbox');

// There is no task of these, and no view of a link.
const cells = EXPECTED.filter(({ way, tool }) => way !== 'task' || ['data', 'danger', 'confirm'].includes(tool));
// In `make test` a third of them, on one store: whose.test.js walks what docs/security.md says of the most of them.
const sampled = process.env.NOD_SOAK ? houses : [oneOf(houses, 'store')];
const isDrawn = (cell) => process.env.NOD_SOAK || oneOf([true, false, false], cells.indexOf(cell));

for (const house of sampled)
  for (const setting of new Set(cells.map((cell) => cell.setting)))
    test(`whose yes counts, ${setting || 'as usual'}, ${house.name}`, { concurrency: true }, async (t) => {
      const here = cells.filter((cell) => cell.setting === setting && isDrawn(cell));
      const start = async (whom) => startFor(t, whom, {
        args: ['--soft-deadline', '1s', '--store', (await house.create(t))?.address ?? 'memory:', ...(setting ? setting.split(' ') : [])],
      });
      const open = here.some(({ who }) => who === 'local') ? await start(null) : null;
      const server = await start(people);
      await Promise.all(here.map(({ way, who, tool, word }) =>
        t.test(`${way}: ${who} (${people[who] ?? 'no tokens'}): ${tool}: ${word}`, async () => {
          assert.equal(await within(2 * PATIENCE_MS, 'the call', ways[way](who === 'local' ? open : server, tokenOf(who), tool)), word);
        })));
      await Promise.all([open, server].map((one) => one?.stop())); // before their store
    });

test('any is named in the log at every start; roles and inbox are not', async (t) => {
  for (const [consent, named] of [['any', true], ['roles', false], ['inbox', false]]) {
    const server = await startHttp(t, 'consent-server', { args: ['--token-file', tokenFile(t, people), '--consent', consent] });
    assert.equal(/--consent any/.test(server.stderr()), named, consent);
  }
});

// --- settings decide when the answer comes ---

// A 2025 client with a question up, and what it hears when it says yes.
async function asked2025(t, server, who, tool) {
  const peer = new HttpPeer(server.url, { token: tokenOf(who) });
  t.after(() => peer.close());
  await peer.initialize(FORMS);
  await peer.send({ id: 'call', method: 'tools/call', params: { name: tool, arguments: unique() } });
  const question = await peer.next((one) => one.method === 'elicitation/create', 'a question');
  return { peer, question };
}

const kept = houses.filter(({ name }) => name !== 'memory');
const stricter = { 'nobody is asked at the client': ['--surfaces', 'inbox'], 'consent is given in the inbox': ['--consent', 'inbox'] };

for (const house of kept)
  for (const [what, args] of Object.entries(stricter)) {
    test(`after a restart a late yes of a 2025 client does not count: ${what}, ${house.name}`, async (t) => {
      const { first: server, start } = await openHouse(t, { ...house, nodes: 1 }, { program: 'consent-server', people });
      const { peer, question } = await asked2025(t, server, 'ada', 'danger');
      await server.kill();
      const next = await start(args);
      const back = Object.assign(new HttpPeer(next.url, { token: token('ada') }), { session: peer.session, version: peer.version });
      const reply = await back.send({ id: question.id, result: YES });
      assert.equal(reply.status, 403, JSON.stringify(reply.json));
      assert.match(reply.json.error.message, /does not count/);
      const root = new Api(next, 'root');
      const [item] = await root.pending(1, { tool: 'danger' });
      assert.equal(item.state, 'pending');
      assert.equal((await root.resolve(item.id, { action: 'accept', content: { confirmed: true } })).status, 200);
    });

    test(`after a restart a late yes of a 2026 client does not count: ${what}, ${house.name}`, async (t) => {
      const { first: server, start } = await openHouse(t, { ...house, nodes: 1 }, { program: 'consent-server', people, args: ['--soft-deadline', '1s'], env: { MCP_ELICITATION_SECRET: 'a secret for the tests, and long enough' } });
      const client = new Modern(server.url, { token: token('ada'), capabilities: FORMS });
      const args2 = unique();
      const asked = await client.asked('danger', args2);
      await server.kill();
      const next = await start(args);
      const reply = await client.call('danger', args2, { requestState: asked.requestState, inputResponses: { form: YES } }, { url: next.url });
      assert.equal(endOf(reply.result, reply.error), 'inbox');
      const root = new Api(next, 'root');
      const [item] = await root.pending(1, { tool: 'danger' });
      assert.equal((await root.resolve(item.id, { action: 'decline' })).status, 200);
    });
  }

// The operator takes the role away while the question is up.
async function roleTaken(server, tokens) {
  writeFileSync(tokens, Object.entries({ ...people, ada: 'ask' }).map(([name, words]) => `${token(name)} ${name} ${words}\n`).join(''));
  const read = server.said(/the token file was read again/);
  server.signal('SIGHUP');
  await read;
}

for (const house of houses) {
  test(`a role that is taken away takes the yes with it: 2025, ${house.name}`, async (t) => {
    const { first: server, tokens } = await openHouse(t, { ...house, nodes: 1 }, { program: 'consent-server', people, args: ['--soft-deadline', '1s'] });
    const { peer, question } = await asked2025(t, server, 'ada', 'danger');
    await roleTaken(server, tokens);
    const reply = await peer.send({ id: question.id, result: YES });
    assert.equal(reply.status, 403);
    assert.match(reply.json.error.message, /the role answer/);
    const end = await peer.next((one) => one.id === 'call', 'the pending result');
    assert.equal(endOf(end.result), 'inbox');
    const root = new Api(server, 'root');
    const [item] = await root.pending(1, { tool: 'danger' });
    assert.equal((await root.resolve(item.id, { action: 'accept', content: { confirmed: true } })).status, 200);
  });

  test(`a role that is taken away takes the yes with it, and nobody is left: 2025, ${house.name}`, async (t) => {
    const { first: server, tokens } = await openHouse(t, { ...house, nodes: 1 }, { program: 'consent-server', people, args: ['--no-inbox', '--no-model'] });
    const up = {};
    for (const tool of ['danger', 'confirm']) up[tool] = await asked2025(t, server, 'ada', tool);
    await roleTaken(server, tokens);
    for (const [tool, { peer, question }] of Object.entries(up)) {
      assert.equal((await peer.send({ id: question.id, result: yesTo(tool) })).status, 403);
      const end = await peer.next((one) => one.id === 'call', 'the end');
      assert.equal(endOf(end.result, end.error), 'nobody');
    }
  });

  test(`a role that is taken away takes the yes with it: 2026, ${house.name}`, async (t) => {
    const { first: server, tokens } = await openHouse(t, { ...house, nodes: 1 }, { program: 'consent-server', people, args: ['--soft-deadline', '1s'] });
    const client = new Modern(server.url, { token: token('ada'), capabilities: FORMS });
    const args = unique();
    const asked = await client.asked('danger', args);
    await roleTaken(server, tokens);
    const reply = await client.call('danger', args, { requestState: asked.requestState, inputResponses: { form: YES } });
    assert.equal(endOf(reply.result, reply.error), 'inbox');
    assert.equal((await new Api(server, 'root').pending(1, { tool: 'danger' })).length, 1);
  });

  test(`a role that is taken away takes the yes with it, and nobody is left: 2026, ${house.name}`, async (t) => {
    const { first: server, tokens } = await openHouse(t, { ...house, nodes: 1 }, { program: 'consent-server', people, args: ['--no-inbox', '--no-model'] });
    const client = new Modern(server.url, { token: token('ada'), capabilities: FORMS });
    const asked = {};
    for (const tool of ['danger', 'confirm']) asked[tool] = await client.asked(tool, { tool });
    await roleTaken(server, tokens);
    for (const tool of ['danger', 'confirm']) {
      const reply = await client.call(tool, { tool }, { requestState: asked[tool].requestState, inputResponses: { [keyOf(tool)]: yesTo(tool) } });
      assert.equal(endOf(reply.result, reply.error), 'nobody', tool);
    }
  });

  test(`a role that is taken away takes the yes with it: a task, ${house.name}`, async (t) => {
    const { first: server, tokens } = await openHouse(t, { ...house, nodes: 1 }, { program: 'consent-server', people });
    const client = new Modern(server.url, { token: token('ada'), capabilities: TASKS });
    const { taskId } = (await client.call('task_danger', unique())).result;
    for (;;) {
      const { result } = await client.request('tasks/get', { taskId });
      if (result.status === 'input_required') break;
      await pause(10);
    }
    await roleTaken(server, tokens);
    const reply = await client.request('tasks/update', { taskId, inputResponses: { form: YES } });
    assert.ok(reply.error, reply.text);
    const root = new Api(server, 'root');
    const [item] = await root.pending(1, { tool: 'task_danger' });
    assert.equal((await root.resolve(item.id, { action: 'accept', content: { confirmed: true } })).status, 200);
    for (;;) {
      const { result } = await client.request('tasks/get', { taskId });
      if (result.status === 'completed') break;
      await pause(10);
    }
  });
}

// --- boxes ---

test('a required box that its author has ticked starts empty, if it is consent', async (t) => {
  const server = await startHttp(t, 'consent-server');
  const client = new Modern(server.url, { capabilities: FORMS });
  for (const [tool, preset] of [['preset', true], ['danger_preset', undefined]]) {
    const { properties } = (await client.asked(tool, {})).inputRequests.form.params.requestedSchema;
    assert.equal(properties.confirmed.default, preset, tool);
    assert.equal(properties.copy.default, true, `${tool}: a box that may be left out stays as it is`);
  }
});

// --- names ---

test('nobody is called as nod calls itself', async (t) => {
  for (const name of ['nod', 'client', 'clock', 'local']) {
    const { code, stderr } = await runOnce('consent-server', ['--http', '127.0.0.1:0', '--token-file', tokenFile(t, { ada: 'ask', [name]: 'ask answer' })]);
    assert.notEqual(code, 0, name);
    assert.match(stderr, new RegExp(`:2: .*${name}`), name);
  }
});
