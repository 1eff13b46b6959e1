// A retry of the 2026 era that declares less than it was asked with: what this client was asked, as its requestState says, it may
// answer, whatever the retry declares. What it was given a page for is not answered by opening the page.
import { describe, it } from 'node:test';
import assert from 'node:assert/strict';
import { rawPeer, startHttp, textOf } from './harness.js';
import { Modern, accepted, metaOf, retryOf } from './modern.js';
import { stores } from './stores.js';

const LANES = 4;
const SECRET = { MCP_ELICITATION_SECRET: 'a secret that is surely long enough for this' };
const FULL = { elicitation: { form: {}, url: {} }, sampling: {}, roots: {} };
const declared = { 'url alone': { elicitation: { url: {} } }, 'forms alone': { elicitation: { form: {} } }, 'sampling alone': { sampling: {} }, nothing: {} };

const sampled = { role: 'assistant', content: { type: 'text', text: 'a thought' }, model: 'm' };
// Tool, arguments, key of its question, the answer, and what it says then.
const questions = [
  ['ask', {}, '#1', accepted({ name: 'Ada' }), /^accept \{"name":"Ada"\}/],
  ['ask', {}, '#1', { action: 'decline' }, /^decline/],
  ['confirm', {}, '#1', accepted({}), /^yes/],
  ['confirm', {}, '#1', { action: 'decline' }, /^no/],
  ['sample', {}, '#1', sampled, /a thought/],
];

const houses = [
  { name: 'memory', nodes: 1 },
  { name: 'two nodes of redis', nodes: 2, store: 'redis' },
];

describe('a retry that declares less', { concurrency: LANES }, () => {
  for (const { name, nodes, store } of houses)
    for (const inbox of [true, false]) {
      const open = async (t) => {
        const address = store ? (await stores.find((one) => one.name === store).create(t)).address : 'memory:';
        const servers = [];
        for (let i = 0; i < nodes; i++)
          servers.push(await startHttp(t, 'probe', { env: SECRET, args: ['--store', address, '--soft-deadline', '1s', ...(inbox ? [] : ['--no-inbox', '--no-model'])], inbox: true }));
        return { modern: new Modern(servers[0].url, { capabilities: FULL }), there: servers.at(-1).url };
      };
      const where = `${name}, ${inbox ? 'with' : 'without'} an inbox`;

      it(`${where}: an answer to what it was asked counts`, async (t) => {
        const { modern, there } = await open(t);
        for (const [tool, args, key, answer, end] of questions)
          for (const [less, capabilities] of Object.entries(declared)) {
            const asked = await modern.asked(tool, args);
            const reply = await modern.call(tool, args, retryOf(asked, { [key]: answer }), { capabilities, url: there });
            assert.equal(reply.result?.resultType, 'complete', `${tool}, ${less}: ${reply.text}`);
            assert.match(textOf(reply.result), end, `${tool}, ${less}`);
          }
      });

      it(`${where}: after an answer that does not fit, a good one counts`, async (t) => {
        const { modern, there } = await open(t);
        await Promise.all(Object.entries(declared).map(async ([less, capabilities]) => {
          for (const [then, last] of [['the same', capabilities], ['everything again', FULL]]) {
            const asked = await modern.asked('ask');
            const unfit = await modern.call('ask', {}, retryOf(asked, { '#1': accepted({ name: 7 }) }), { capabilities, url: there });
            // Where it cannot be asked again it is told so, or has to wait for somebody else; it still has the state that it had.
            const state = unfit.result?.requestState ? unfit.result : asked;
            if (less === 'url alone' && inbox) assert.equal(unfit.result.inputRequests['#1'].params.mode, 'url', unfit.text);
            const reply = await modern.call('ask', {}, retryOf(state, { '#1': accepted({ name: 'Ada' }) }), { capabilities: last });
            assert.equal(reply.result?.resultType, 'complete', `${less}, then ${then}: ${reply.text}`);
            assert.match(textOf(reply.result), /^accept \{"name":"Ada"\}/);
          }
        }));
      });
    }

  it('stdio: an answer to what it was asked counts, also after one that does not fit', async (t) => {
    const peer = await rawPeer(t, 'stdio', 'probe', { args: ['--no-model'] });
    let id = 0;
    const call = async (name, capabilities, retry = {}) => {
      const own = `m${++id}`;
      await peer.send({ id: own, method: 'tools/call', params: { name, arguments: {}, ...retry, _meta: metaOf(capabilities) } });
      return peer.next((message) => message.id === own && !message.method, name);
    };
    for (const [tool, , key, answer, end] of questions)
      for (const [less, capabilities] of Object.entries(declared)) {
        const { result: asked } = await call(tool, FULL);
        if (tool === 'ask') await call(tool, capabilities, retryOf(asked, { [key]: accepted({ name: 7 }) }));
        const reply = await call(tool, capabilities, retryOf(asked, { [key]: answer }));
        assert.match(textOf(reply.result), end, `${tool}, ${less}: ${JSON.stringify(reply)}`);
      }
  });

  it('opening a page, or not, is no answer to what was asked before it', async (t) => {
    const server = await startHttp(t, 'probe', { env: SECRET, args: ['--soft-deadline', '1s'], inbox: true });
    const modern = new Modern(server.url, { capabilities: FULL });
    const capabilities = declared['url alone'];
    const rows = ['ask', 'confirm', 'approve'].flatMap((tool) => ['accept', 'decline', 'cancel'].map((action) => [tool, action]));
    await Promise.all(rows.map(async ([tool, action]) => { // each of them waits for the soft deadline
      const asked = await modern.asked(tool);
      const paged = await modern.asked(tool, {}, { requestState: asked.requestState }, { capabilities });
      assert.equal(paged.inputRequests['#1'].params.mode, 'url');
      const again = await modern.asked(tool, {}, retryOf(paged, { '#1': { action } }), { capabilities });
      assert.equal(again.inputRequests['#1'].params.mode, 'url', `${tool}, ${action}: it still waits`);
      const drawn = await modern.asked(tool, {}, { requestState: again.requestState });
      assert.equal(drawn.inputRequests['#1'].params.mode, 'form', 'and is asked again where it can be');
    }));
    // A page takes no consent from the client, whatever it brings.
    const asked = await modern.asked('confirm');
    const paged = await modern.asked('confirm', {}, { requestState: asked.requestState }, { capabilities });
    await modern.asked('confirm', {}, retryOf(paged, { '#1': accepted({}) }), { capabilities });
  });

  it('consent that counts in the inbox only is not taken from a client that was asked before that was said', async (t) => {
    const store = await stores.find((one) => one.name === 'sqlite').create(t);
    const start = (args) => startHttp(t, 'probe', { env: SECRET, args: ['--store', store.address, '--soft-deadline', '1s', ...args], inbox: true });
    const before = await start([]);
    const modern = new Modern(before.url, { capabilities: FULL });
    const asked = await modern.asked('confirm');
    await before.stop();
    const after = await start(['--consent', 'inbox']);
    const reply = await modern.call('confirm', {}, retryOf(asked, { '#1': accepted({}) }), { url: after.url });
    assert.doesNotMatch(reply.text, /"yes"/);
  });
});
