// Only what the client has declared decides what it is asked.
import test from 'node:test';
import assert from 'node:assert/strict';
import { CreateMessageRequestSchema, ListRootsRequestSchema, UrlElicitationRequiredError } from '@modelcontextprotocol/sdk/types.js';
import { connect, onBoth, rawPeer, callTool, nextAsk, answer, accept, resultOf, textOf, within, PATIENCE_MS, withoutInbox } from './harness.js';
import { fillIn } from './visitor.js';

withoutInbox();

function assertNotSupported(result, mode) {
  assert.equal(result.isError, true);
  assert.equal(result._meta.code, 'ELICITATION_NOT_SUPPORTED');
  assert.match(JSON.stringify(result), new RegExp(mode));
}

onBoth(test, 'a client without elicitation is not asked: not supported, naming the mode', async (t, kind) => {
  const peer = await rawPeer(t, kind, 'probe', { capabilities: {} });
  const ask = await callTool(peer, 'ask');
  assertNotSupported((await ask.reply()).result, 'form');
  const url = await callTool(peer, 'url');
  assertNotSupported((await url.reply()).result, 'url');
  assert.deepEqual(peer.inbox.rest(), [], 'nothing else was sent');
});

onBoth(test, 'a confirm without anybody to ask is no, and nothing is sent', async (t, kind) => {
  const peer = await rawPeer(t, kind, 'probe', { capabilities: {} });
  assert.equal(await resultOf(peer, 'confirm'), 'no');
  assert.deepEqual(peer.inbox.rest(), []);
});

onBoth(test, 'a tool that requires confirmation does not start when nobody can be asked', async (t, kind) => {
  const peer = await rawPeer(t, kind, 'probe', { capabilities: {} });
  const call = await callTool(peer, 'gated');
  assert.equal((await call.reply()).result.isError, true);
});

const table = [
  ['an empty elicitation capability means form', { elicitation: {} }, { form: true, url: false }],
  ['form alone', { elicitation: { form: {} } }, { form: true, url: false }],
  ['url alone', { elicitation: { url: {} } }, { form: false, url: true }],
  ['form and url', { elicitation: { form: {}, url: {} } }, { form: true, url: true }],
  ['the experimental capability of older clients means form', { experimental: { elicitation: {} } }, { form: true, url: false }],
  ['nothing declared', {}, { form: false, url: false }],
  ['sampling and roots', { sampling: {}, roots: {} }, { form: false, url: false, sampling: true, roots: true }],
];
for (const [name, capabilities, can] of table)
  onBoth(test, `supports by mode: ${name}`, async (t, kind) => {
    const peer = await rawPeer(t, kind, 'probe', { capabilities });
    const expected = { form: false, url: false, sampling: false, roots: false, ...can };
    assert.deepEqual(JSON.parse(await resultOf(peer, 'supports')), expected);
  });

onBoth(test, 'a client with the experimental capability is asked, and answers', async (t, kind) => {
  const peer = await rawPeer(t, kind, 'probe', { capabilities: { experimental: { elicitation: {} } } });
  const call = await callTool(peer, 'ask');
  await accept(peer, (await nextAsk(peer)).id, { name: 'Ada' });
  assert.equal(textOf((await call.reply()).result), 'accept {"name":"Ada"}');
});

onBoth(test, 'a client of forms alone is never sent a URL', async (t, kind) => {
  const session = await connect(t, kind, 'probe', {
    capabilities: { elicitation: { form: {} } },
    answer: () => ({ action: 'accept', content: { name: 'Ada' } }),
  });
  assertNotSupported(await session.call('url'), 'url');
  assert.equal(await session.text('ask'), 'accept {"name":"Ada"}');
  assert.equal(session.asked.length, 1);
});

onBoth(test, 'a client of URLs alone is never sent a form', async (t, kind) => {
  const session = await connect(t, kind, 'probe', {
    capabilities: { elicitation: { url: {} } },
    answer: () => ({ action: 'accept' }),
  });
  assertNotSupported(await session.call('ask'), 'form');
  assert.equal(await session.text('confirm'), 'no');
  assert.equal(await session.text('url'), 'accept');
  assert.equal(session.asked.length, 1);
  assert.equal(session.asked[0].mode, 'url');
});

onBoth(test, 'a URL is sent with the id of its elicitation, in the request and in the address', async (t, kind) => {
  const session = await connect(t, kind, 'probe', {
    capabilities: { elicitation: { url: {} } },
    answer: () => ({ action: 'accept' }),
  });
  assert.equal(await session.text('url'), 'accept');
  const [{ mode, url, elicitationId, message, requestedSchema }] = session.asked;
  assert.equal(mode, 'url');
  assert.equal(message, 'Open this');
  assert.ok(elicitationId.length > 0);
  assert.equal(url, `https://example.org/do?id=${elicitationId}`);
  assert.equal(requestedSchema, undefined);
});

for (const action of ['decline', 'cancel'])
  onBoth(test, `a URL that the person does not open (${action})`, async (t, kind) => {
    const session = await connect(t, kind, 'probe', {
      capabilities: { elicitation: { url: {} } },
      answer: () => ({ action }),
    });
    assert.equal(await session.text('url', { wait: true }), action);
  });

onBoth(test, 'a call that waits for the page goes on when the page is done, and the client is told', async (t, kind) => {
  const peer = await rawPeer(t, kind, 'probe', { capabilities: { elicitation: { url: {} } } });
  const call = await callTool(peer, 'url', { wait: true });
  const ask = await nextAsk(peer);
  const { elicitationId } = ask.params;
  await answer(peer, ask.id, { action: 'accept' });
  await resultOf(peer, 'whoami');
  assert.equal(peer.inbox.rest((message) => message.id === call.id).length, 0, 'not before the page is done');
  await resultOf(peer, 'url_done', { id: elicitationId });
  const complete = await peer.next((m) => m.method === 'notifications/elicitation/complete', 'elicitation/complete');
  assert.equal(complete.params.elicitationId, elicitationId);
  assert.equal(textOf((await call.reply()).result), 'accept');
});

onBoth(test, 'a page that is done before the client has answered counts as well', async (t, kind) => {
  const peer = await rawPeer(t, kind, 'probe', { capabilities: { elicitation: { url: {} } } });
  const call = await callTool(peer, 'url', { wait: true });
  const ask = await nextAsk(peer);
  await resultOf(peer, 'url_done', { id: ask.params.elicitationId });
  await answer(peer, ask.id, { action: 'accept' });
  assert.equal(textOf((await call.reply()).result), 'accept');
});

onBoth(test, 'a page that is never done ends in a timeout', async (t, kind) => {
  const session = await connect(t, kind, 'probe', {
    capabilities: { elicitation: { url: {} } },
    answer: () => ({ action: 'accept' }),
  });
  const result = await session.call('url', { wait: true, ttl: 300 });
  assert.equal(result.isError, true);
  assert.equal(result._meta.code, 'ELICITATION_TIMEOUT');
});

onBoth(test, 'pages that nobody waits for may be done without harm', async (t, kind) => {
  const peer = await rawPeer(t, kind, 'probe', { capabilities: { elicitation: { url: {} } } });
  for (const id of ['', 'nothing', 'x'.repeat(1000)]) assert.equal(await resultOf(peer, 'url_done', { id }), 'done');
});

onBoth(test, 'a tool that needs a page first ends with -32042 and the pages to open', async (t, kind) => {
  const session = await connect(t, kind, 'probe', {
    capabilities: { elicitation: { url: {} } },
    answer: () => ({ action: 'accept' }),
  });
  const error = await session.call('require_url').catch((caught) => caught);
  assert.ok(error instanceof UrlElicitationRequiredError, String(error));
  assert.equal(error.code, -32042);
  const [page] = error.elicitations;
  assert.equal(page.mode, 'url');
  assert.equal(page.message, 'Open this first');
  assert.equal(page.url, `https://example.org/first?id=${page.elicitationId}`);
});

onBoth(test, 'a tool that needs a page first is not supported where pages cannot be opened', async (t, kind) => {
  const session = await connect(t, kind, 'probe', { capabilities: { elicitation: {} }, answer: () => ({ action: 'accept' }) });
  assertNotSupported(await session.call('require_url'), 'url');
});

onBoth(test, "sampling asks the client's model", async (t, kind) => {
  const session = await connect(t, kind, 'everything', {
    capabilities: { sampling: {} },
    before: ({ client }) =>
      client.setRequestHandler(CreateMessageRequestSchema, ({ params }) => {
        assert.equal(params.maxTokens, 100);
        return { role: 'assistant', model: 'm', content: { type: 'text', text: `echo: ${params.messages[0].content.text}` } };
      }),
  });
  assert.equal(await session.text('test_sampling', { prompt: 'hi' }), 'LLM response: echo: hi');
});

onBoth(test, "a person's no to sampling is a decline, and any other error is nobody asked", async (t, kind) => {
  const peer = await rawPeer(t, kind, 'probe', { capabilities: { sampling: {} } });
  const isSample = (message) => message.method === 'sampling/createMessage';
  const refused = await callTool(peer, 'sample');
  const { id, params } = await peer.next(isSample, 'sampling/createMessage');
  assert.equal(params.systemPrompt, 'Be brief');
  assert.equal(params.temperature, 0.5);
  assert.deepEqual(params.messages, [{ role: 'user', content: { type: 'text', text: 'Hello' } }]);
  await peer.send({ id, error: { code: -1, message: 'User rejected sampling request' } });
  assert.equal(textOf((await refused.reply()).result), 'decline');
  const broken = await callTool(peer, 'sample');
  await peer.send({ id: (await peer.next(isSample)).id, error: { code: -32603, message: 'broken' } });
  assert.equal((await broken.reply()).result.isError, true);
});

onBoth(test, 'sampling with a client that has no model is an error that says so', async (t, kind) => {
  const session = await connect(t, kind, 'everything', { capabilities: {} });
  const result = await session.call('test_sampling', { prompt: 'hi' });
  assert.equal(result.isError, true);
  assert.match(JSON.stringify(result), /sampling/);
});

onBoth(test, 'roots are asked of the client', async (t, kind) => {
  const session = await connect(t, kind, 'everything', {
    capabilities: { roots: {} },
    before: ({ client }) =>
      client.setRequestHandler(ListRootsRequestSchema, () => ({ roots: [{ uri: 'file:///home/ada', name: 'home' }] })),
  });
  assert.equal(await session.text('test_roots'), 'Root: file:///home/ada\n1 in all');
});

test('http: notifications/elicitation/complete reaches the official client', async (t) => {
  const session = await connect(t, 'http', 'sign-in', { capabilities: { elicitation: { url: {} } }, inbox: true });
  let told;
  const complete = new Promise((resolve) => (told = resolve));
  session.client.fallbackNotificationHandler = async (notification) => {
    if (notification.method === 'notifications/elicitation/complete') told(notification.params.elicitationId);
  };
  const call = session.text('sign_in');
  const question = await session.question();
  question.accept();
  const { elicitationId, url } = question.params;
  await fillIn(url, { name: 'Ada', number: 'R-1815' });
  assert.equal(await call, 'You are signed in.');
  assert.equal(await within(PATIENCE_MS, 'complete', complete), elicitationId);
});
