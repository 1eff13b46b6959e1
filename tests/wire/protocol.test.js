// The protocol itself: versions, headers, errors, lists, subscriptions, completions, logging.
import test from 'node:test';
import assert from 'node:assert/strict';
import http from 'node:http';
import {
  LoggingMessageNotificationSchema,
  ResourceUpdatedNotificationSchema,
  ToolListChangedNotificationSchema,
} from '@modelcontextprotocol/sdk/types.js';
import { connect, onBoth, rawPeer, startHttp, runOnce, callTool, nextAsk, accept, resultOf, textOf, within, PATIENCE_MS, defaultHeaders, initializeMessage, withoutInbox } from './harness.js';

withoutInbox();

// --- versions ---

for (const version of ['2025-03-26', '2025-06-18', '2025-11-25'])
  onBoth(test, `revision ${version} is spoken when the client asks for it`, async (t, kind) => {
    const peer = await rawPeer(t, kind, 'probe', { version });
    const { result } = peer.initialized;
    assert.equal(result.protocolVersion, version);
    assert.equal(result.serverInfo.name, 'probe');
    assert.ok(result.capabilities.tools);
    assert.equal(result.instructions, 'For tests alone.');
  });

for (const version of ['1999-01-01', '2099-12-31', 'nonsense'])
  onBoth(test, `asked for ${version}, the server offers its newest of the era`, async (t, kind) => {
    const peer = await rawPeer(t, kind, 'probe', { version });
    assert.equal(peer.initialized.result.protocolVersion, '2025-11-25');
  });

onBoth(test, 'revision 2025-03-26 knows no elicitation: nobody is asked', async (t, kind) => {
  const peer = await rawPeer(t, kind, 'probe', { version: '2025-03-26' });
  assert.equal(await resultOf(peer, 'confirm'), 'no');
  const call = await callTool(peer, 'ask');
  assert.equal((await call.reply()).result._meta.code, 'ELICITATION_NOT_SUPPORTED');
});

onBoth(test, 'a form is taken down to what 2025-06-18 knows', async (t, kind) => {
  const peer = await rawPeer(t, kind, 'probe', { version: '2025-06-18', capabilities: { elicitation: { form: {}, url: {} } } });
  assert.equal(JSON.parse(await resultOf(peer, 'supports')).url, false, 'no URLs there');
  const call = await callTool(peer, 'ask_choice');
  const ask = await nextAsk(peer);
  assert.equal(ask.params.mode, undefined);
  const { properties } = ask.params.requestedSchema;
  assert.equal(properties.name.default, undefined);
  assert.equal(properties.age.default, undefined);
  assert.equal(properties.member.default, true, 'booleans had a default already');
  assert.deepEqual(properties.size.enum, ['s', 'l']);
  assert.deepEqual(properties.size.enumNames, ['Small', 'Large']);
  assert.equal(properties.size.oneOf, undefined);
  await accept(peer, ask.id, { size: 'l' });
  assert.match(textOf((await call.reply()).result), /^accept .*"size":"l"/);
});

onBoth(test, '2025-06-18 knows no multi-select: it is a text that names the choices, and the handler gets an array', async (t, kind) => {
  const peer = await rawPeer(t, kind, 'probe', { version: '2025-06-18' });
  const call = await callTool(peer, 'ask_lists');
  const ask = await nextAsk(peer);
  const { extras } = ask.params.requestedSchema.properties;
  assert.deepEqual(extras, { type: 'string', description: 'Separate your choices with commas; choose at most 2 of: a (Apple), b (Pear)' });
  await accept(peer, ask.id, { size: 's', extras: ' b, Apple ' });
  assert.match(textOf((await call.reply()).result), /"extras":\["b","a"\]/);
});

onBoth(test, '2025-06-18: the same in the form of an approval', async (t, kind) => {
  const peer = await rawPeer(t, kind, 'probe', { version: '2025-06-18' });
  const call = await callTool(peer, 'approve_extras');
  const ask = await nextAsk(peer);
  assert.equal(ask.params.requestedSchema.properties.extras.type, 'string');
  await accept(peer, ask.id, { extras: 'Boat, Anchor' });
  assert.equal(textOf((await call.reply()).result), '{"extras":["b","a"]}');
});

onBoth(test, '2025-06-18: a text that names no choice is invalid, and asked again where there are attempts', async (t, kind) => {
  const peer = await rawPeer(t, kind, 'probe', { version: '2025-06-18' });
  const once = await callTool(peer, 'ask_lists');
  await accept(peer, (await nextAsk(peer)).id, { size: 's', extras: 'a, plum' });
  const { result } = await once.reply();
  assert.equal(result._meta.code, 'INVALID_INPUT');
  assert.match(JSON.stringify(result._meta.details), /\/extras\/1/);

  const call = await callTool(peer, 'ask_lists', { attempts: 3 });
  const first = await nextAsk(peer);
  await accept(peer, first.id, { size: 's', extras: 'plum' });
  const second = await nextAsk(peer);
  assert.equal(second.id, `${first.id}.2`);
  assert.match(second.params.message, /could not be used: extras: /);
  await accept(peer, second.id, { size: 's', extras: 'a, b, a' }); // more than there may be
  const third = await nextAsk(peer);
  assert.equal(third.id, `${first.id}.3`);
  await accept(peer, third.id, { size: 's', extras: 'b' });
  assert.match(textOf((await call.reply()).result), /"extras":\["b"\]/);
});

onBoth(test, 'the same form in 2025-11-25 has defaults, titles and several choices', async (t, kind) => {
  const peer = await rawPeer(t, kind, 'probe');
  const call = await callTool(peer, 'ask_lists');
  const ask = await nextAsk(peer);
  const { properties } = ask.params.requestedSchema;
  assert.equal(properties.name.default, 'Ada');
  assert.equal(properties.age.default, 36);
  assert.deepEqual(properties.size.oneOf, [{ const: 's', title: 'Small' }, { const: 'l', title: 'Large' }]);
  assert.equal(properties.extras.type, 'array');
  assert.deepEqual(properties.extras.default, ['a']);
  await accept(peer, ask.id, { size: 's', extras: ['b'] });
  assert.match(textOf((await call.reply()).result), /"extras":\["b"\]/);
});

const ping = (id) => ({ jsonrpc: '2.0', id, method: 'ping' });

test('http: batches are answered in 2025-03-26, and refused in later revisions', async (t) => {
  const server = await startHttp(t, 'probe');
  const old = await rawPeer(t, 'http', 'probe', { server, version: '2025-03-26' });
  const handle = await old.post([ping(1), ping('two'), { jsonrpc: '2.0', method: 'notifications/initialized' }]);
  assert.equal(handle.status, 200);
  await old.next((message) => message.id === 1);
  await old.next((message) => message.id === 'two');
  assert.equal((await old.post([{ jsonrpc: '2.0', method: 'notifications/initialized' }])).status, 202);
  for (const version of ['2025-06-18', '2025-11-25']) {
    const peer = await rawPeer(t, 'http', 'probe', { server, version });
    const refused = await peer.post([ping(1), ping(2)]);
    assert.equal(refused.status, 400);
    assert.equal(refused.json.error.code, -32600);
  }
});

test('stdio: batches are answered in 2025-03-26, and refused in later revisions', async (t) => {
  const old = await rawPeer(t, 'stdio', 'probe', { version: '2025-03-26' });
  const ids = (message) => [message].flat().map(({ id }) => id);
  old.writeLine(JSON.stringify([ping(1), ping('two')]));
  const seen = [];
  while (seen.length < 2) seen.push(...ids(await old.next()));
  assert.deepEqual(new Set(seen), new Set([1, 'two']));
  const peer = await rawPeer(t, 'stdio', 'probe');
  peer.writeLine(JSON.stringify([ping(1)]));
  assert.equal((await peer.next((message) => message.error)).error.code, -32600);
});

// --- HTTP ---

async function raw(server, { method = 'POST', headers = {}, body, path = '/mcp' }) {
  const { hostname, port } = new URL(server.url);
  return within(
    PATIENCE_MS,
    'a response',
    new Promise((resolve, reject) => {
      const request = http.request({ hostname, port, path, method, headers }, (response) => {
        let text = '';
        response.on('data', (data) => (text += data));
        response.on('end', () => resolve({ status: response.statusCode, headers: response.headers, text }));
      });
      request.on('error', reject);
      request.end(body);
    }),
  );
}

const initialize = JSON.stringify(initializeMessage({}));

test('http: foreign Hosts and Origins get 403, our own and loopback do not', async (t) => {
  const server = await startHttp(t, 'probe');
  const { host, port } = new URL(server.url);
  for (const headers of [
    { Host: 'evil.example.com' },
    { Host: `evil.example.com:${port}` },
    { Host: 'localhost.evil.example.com' },
    { Host: host, Origin: 'http://evil.example.com' },
    { Host: host, Origin: 'null' },
    { Host: host, Origin: `http://localhost.evil.example.com:${port}` },
  ])
    for (const method of ['POST', 'GET', 'DELETE']) {
      const response = await raw(server, { method, headers: { ...defaultHeaders, ...headers }, body: method === 'POST' ? initialize : undefined });
      assert.equal(response.status, 403, `${method} ${JSON.stringify(headers)}`);
    }
  for (const headers of [{ Host: host }, { Host: `localhost:${port}` }, { Host: host, Origin: `http://${host}` }, { Host: `localhost:${port}`, Origin: `http://localhost:${port}` }, { Host: `[::1]:${port}` }])
    assert.equal((await raw(server, { headers: { ...defaultHeaders, ...headers }, body: initialize })).status, 200, JSON.stringify(headers));
});

test('http: the protocol version header is checked', async (t) => {
  const peer = await rawPeer(t, 'http', 'probe');
  for (const version of ['1999-01-01', 'nonsense', '2025-11-25, 2025-06-18'])
    assert.equal((await peer.send({ id: 1, method: 'ping' }, { headers: { 'MCP-Protocol-Version': version } })).status, 400, version);
  const { 'MCP-Protocol-Version': dropped, ...headers } = peer.headers();
  const without = await fetch(peer.url, { method: 'POST', headers, body: JSON.stringify(ping(2)) });
  assert.equal(without.status, 200, 'a client that leaves it out is served');
  assert.deepEqual((await without.json()).result, {});
});

test('http: sessions: none is 400, an unknown one is 404, and their ids cannot be guessed', async (t) => {
  const server = await startHttp(t, 'probe');
  const one = await rawPeer(t, 'http', 'probe', { server });
  const two = await rawPeer(t, 'http', 'probe', { server });
  assert.ok(one.session.length >= 16);
  assert.notEqual(one.session, two.session);
  assert.match(one.session, /^[\x21-\x7e]+$/);
  const post = (headers) => fetch(server.url, { method: 'POST', headers: { ...defaultHeaders, ...headers }, body: JSON.stringify(ping(1)) });
  assert.equal((await post({})).status, 400);
  assert.equal((await post({ 'Mcp-Session-Id': 'nonsense' })).status, 404);
  for (const method of ['GET', 'DELETE']) {
    assert.equal((await fetch(server.url, { method, headers: { ...defaultHeaders, 'Mcp-Session-Id': 'nonsense' } })).status, 404);
    assert.equal((await fetch(server.url, { method, headers: defaultHeaders })).status, 400);
  }
});

test('http: what is not served is refused with the status that says why', async (t) => {
  const server = await startHttp(t, 'probe');
  const { host } = new URL(server.url);
  const headers = { ...defaultHeaders, Host: host };
  assert.equal((await raw(server, { path: '/nothing', headers, body: initialize })).status, 404);
  const put = await raw(server, { method: 'PUT', headers, body: initialize });
  assert.equal(put.status, 405);
  assert.match(put.headers.allow, /POST/);
  assert.equal((await raw(server, { headers: { ...headers, 'Content-Type': 'text/plain' }, body: initialize })).status, 415);
  assert.equal((await raw(server, { headers: { ...headers, Accept: 'text/html' }, body: initialize })).status, 406);
  assert.equal((await raw(server, { headers, body: '' })).status, 400);
});

test('http: what cannot be read is a parse error, and the session goes on', async (t) => {
  const peer = await rawPeer(t, 'http', 'probe');
  for (const [body, code] of [
    ['{', -32700],
    ['{"jsonrpc":"2.0","id":1,"method":"ping"} x', -32700],
    ['{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}', -32700],
    ['"text"', -32600],
    ['{"jsonrpc":"1.0","id":1,"method":"ping"}', -32600],
    ['{"jsonrpc":"2.0","id":1.5,"method":"ping"}', -32600],
    ['{"jsonrpc":"2.0","id":null,"method":"ping"}', -32600],
    ['{"jsonrpc":"2.0","id":1,"method":7}', -32600],
    ['[]', -32600],
  ]) {
    const handle = await peer.post(body);
    assert.equal(handle.status, 400, body);
    assert.ok([code, -32600, -32700].includes(handle.json.error.code), `${body}: ${handle.json.error.code}`);
  }
  assert.ok(await resultOf(peer, 'whoami'));
});

test('stdio: what cannot be read is a parse error, and the session goes on', async (t) => {
  const peer = await rawPeer(t, 'stdio', 'probe');
  for (const line of ['{', 'nonsense', '{"jsonrpc":"2.0","id":1,"method":"ping"} x', '\u0000', '{"a":'.repeat(500)]) {
    peer.writeLine(line);
    const { error } = await peer.next((message) => message.error, `an error for ${line.slice(0, 20)}`);
    assert.ok([-32700, -32600].includes(error.code));
  }
  peer.writeLine('');
  assert.ok(await resultOf(peer, 'whoami'));
});

onBoth(test, 'an id that is in use is refused, and the call that has it goes on', async (t, kind) => {
  const peer = await rawPeer(t, kind, 'probe');
  const call = await callTool(peer, 'confirm');
  const ask = await nextAsk(peer);
  await peer.send({ id: call.id, method: 'tools/call', params: { name: 'whoami' } });
  const refused = await peer.next((message) => message.id === call.id, 'the refusal');
  assert.equal(refused.error.code, -32600);
  await accept(peer, ask.id, {});
  assert.equal(textOf((await call.reply()).result), 'yes');
});

onBoth(test, 'ids come back as they went: strings, numbers, and large ones', async (t, kind) => {
  const peer = await rawPeer(t, kind, 'probe');
  for (const id of [0, -7, '0', '', 'ü\n"', 9007199254740991]) {
    await peer.send({ id, method: 'ping' });
    assert.deepEqual((await peer.next((message) => message.id === id, `the reply to ${id}`)).result, {});
  }
});

test('http: a body larger than a message may be is refused, and the server goes on', async (t) => {
  const peer = await rawPeer(t, 'http', 'probe');
  const huge = { jsonrpc: '2.0', id: 1, method: 'ping', params: { filler: 'x'.repeat(6 << 20) } };
  const refused = await peer.post(huge).catch((error) => error);
  if (!(refused instanceof Error)) assert.equal(refused.status, 413);
  assert.ok(await resultOf(peer, 'whoami'));
});

test('stdio: a line longer than a message may be is refused, and the server goes on', async (t) => {
  const peer = await rawPeer(t, 'stdio', 'probe');
  peer.writeLine(JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'ping', params: { filler: 'x'.repeat(6 << 20) } }));
  assert.ok((await peer.next((message) => message.error, 'an error')).error);
  assert.ok(await resultOf(peer, 'whoami'));
});

test('http: only the newest revision has its streams primed', async (t) => {
  const server = await startHttp(t, 'probe');
  for (const [version, primed] of [['2025-06-18', false], ['2025-11-25', true]]) {
    const peer = await rawPeer(t, 'http', 'probe', { server, version });
    const call = await callTool(peer, 'confirm');
    const ask = await nextAsk(peer);
    assert.equal(call.handle.events[0].data === undefined || call.handle.events[0].data === '', primed, version);
    assert.ok(call.handle.events.every(({ id }) => id), 'each event can be come back to');
    await accept(peer, ask.id, {});
    await call.reply();
  }
});

onBoth(test, 'methods that are not there, and parameters that are not right', async (t, kind) => {
  const peer = await rawPeer(t, kind, 'probe');
  for (const [method, params, code] of [
    ['no/such/method', {}, -32601],
    ['tools/call', { name: 'no_such_tool' }, -32602],
    ['tools/call', {}, -32602],
    ['tools/call', { name: 7 }, -32602],
    ['tools/call', { name: 'whoami', arguments: [] }, -32602],
    ['tools/list', { cursor: 'nonsense' }, -32602],
    ['prompts/get', { name: 'no_such_prompt' }, null],
    ['completion/complete', { ref: { type: 'ref/prompt', name: 'none' }, argument: { name: 'a', value: '' } }, null],
  ]) {
    await peer.send({ id: 'x', method, params });
    const reply = await peer.next((message) => message.id === 'x', method);
    assert.ok(reply.error, `${method} ${JSON.stringify(params)}: ${JSON.stringify(reply)}`);
    if (code !== null) assert.equal(reply.error.code, code, `${method} ${JSON.stringify(params)}`);
    assert.ok(reply.error.message.length > 0);
  }
});

onBoth(test, 'a resource that is not there is an error that names it', async (t, kind) => {
  const session = await connect(t, kind, 'everything');
  const error = await session.client.readResource({ uri: 'test://nothing' }).catch((caught) => caught);
  assert.equal(error.code, -32002);
});

onBoth(test, 'input that does not fit its schema is an error result that says what is wrong', async (t, kind) => {
  const session = await connect(t, kind, 'probe');
  for (const [tool, args, path] of [
    ['sleeper', {}, 'ms'],
    ['sleeper', { ms: 'long' }, 'ms'],
    ['sleeper', { ms: -1 }, 'ms'],
    ['ask', { ttl: 1.5 }, 'ttl'],
  ]) {
    const result = await session.call(tool, args);
    assert.equal(result.isError, true, `${tool} ${JSON.stringify(args)}`);
    assert.match(JSON.stringify(result), new RegExp(path));
  }
});

onBoth(test, 'requests before initialize are refused, ping aside', async (t, kind) => {
  if (kind === 'http') {
    const server = await startHttp(t, 'probe');
    const early = await fetch(server.url, { method: 'POST', headers: defaultHeaders, body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list' }) });
    assert.equal(early.status, 400);
    return;
  }
  const { stdout } = await runOnceWithInput('probe', [{ jsonrpc: '2.0', id: 1, method: 'ping' }, { jsonrpc: '2.0', id: 2, method: 'tools/list' }]);
  const replies = stdout.trim().split('\n').map((line) => JSON.parse(line));
  assert.deepEqual(replies.find(({ id }) => id === 1).result, {});
  assert.ok(replies.find(({ id }) => id === 2).error);
});

async function runOnceWithInput(name, messages) {
  const { spawn } = await import('node:child_process');
  const { environment, program } = await import('./harness.js');
  const child = spawn(program(name), [], { env: environment({}), stdio: ['pipe', 'pipe', 'inherit'] });
  let stdout = '';
  child.stdout.on('data', (data) => (stdout += data));
  const closed = new Promise((resolve) => child.once('close', resolve));
  child.stdin.end(messages.map((message) => JSON.stringify(message) + '\n').join(''));
  assert.equal(await within(PATIENCE_MS, 'the end', closed), 0);
  return { stdout };
}

// --- features, with the official client ---

onBoth(test, 'ping is answered', async (t, kind) => {
  const session = await connect(t, kind, 'probe');
  assert.deepEqual(await session.client.ping(), {});
});

onBoth(test, 'lists come in pages, and the pages make the whole', async (t, kind) => {
  const whole = await connect(t, kind, 'probe');
  const all = (await whole.client.listTools()).tools.map(({ name }) => name);
  const paged = await connect(t, kind, 'probe', { env: { PROBE_PAGE_SIZE: '7' } });
  const names = [];
  let cursor;
  do {
    const page = await paged.client.listTools({ cursor });
    assert.ok(page.tools.length <= 7);
    names.push(...page.tools.map(({ name }) => name));
    cursor = page.nextCursor;
  } while (cursor);
  assert.deepEqual(names, all);
  assert.ok(names.length > 30);
});

onBoth(test, 'the client is told when the list of tools has changed', async (t, kind) => {
  const session = await connect(t, kind, 'probe');
  assert.equal(session.client.getServerCapabilities().tools.listChanged, true);
  let told;
  session.client.setNotificationHandler(ToolListChangedNotificationSchema, () => told());
  for (const [tool, there] of [['add_tool', true], ['remove_tool', false]]) {
    const changed = new Promise((resolve) => (told = resolve));
    await session.text(tool);
    await within(PATIENCE_MS, 'tools/list_changed', changed);
    const { tools } = await session.client.listTools();
    assert.equal(tools.some(({ name }) => name === 'added'), there);
  }
});

onBoth(test, 'tools are listed with their annotations and schemas', async (t, kind) => {
  const session = await connect(t, kind, 'delete-account');
  const { tools } = await session.client.listTools();
  const tool = tools.find(({ name }) => name === 'delete_account');
  assert.equal(tool.title ?? tool.annotations.title, 'Delete an account');
  assert.equal(tool.annotations.destructiveHint, true);
  assert.equal(tool.annotations.openWorldHint, false);
  assert.deepEqual(tool.inputSchema.required, ['userId']);
  assert.equal(tool.inputSchema.properties.userId.maxLength, 64);
  assert.equal(tools.find(({ name }) => name === 'list_accounts').annotations.readOnlyHint, true);
});

onBoth(test, 'those who subscribed to a resource are told when it changes, and no longer when they leave', async (t, kind) => {
  const session = await connect(t, kind, 'everything');
  const uri = 'test://watched-resource';
  let updates = 0;
  let told = () => {};
  session.client.setNotificationHandler(ResourceUpdatedNotificationSchema, ({ params }) => {
    assert.equal(params.uri, uri);
    updates++;
    told();
  });
  await session.text('touch_watched_resource');
  await session.client.ping(); // by then everybody has been told who was to be told
  await session.client.subscribeResource({ uri });
  const updated = new Promise((resolve) => (told = resolve));
  await session.text('touch_watched_resource');
  await within(PATIENCE_MS, 'resources/updated', updated);
  const { contents } = await session.client.readResource({ uri });
  assert.equal(contents[0].text, 'Version 3');
  await session.client.unsubscribeResource({ uri });
  await session.text('touch_watched_resource');
  await session.client.ping();
  assert.equal(updates, 1);
});

onBoth(test, 'resources, binary ones and templates are listed and read', async (t, kind) => {
  const { client } = await connect(t, kind, 'everything');
  const { resources } = await client.listResources();
  assert.deepEqual(resources.map(({ uri }) => uri), ['test://static-text', 'test://static-binary', 'test://watched-resource']);
  const { resourceTemplates } = await client.listResourceTemplates();
  assert.deepEqual(resourceTemplates.map(({ uriTemplate }) => uriTemplate), ['test://template/{id}/data']);
  const binary = await client.readResource({ uri: 'test://static-binary' });
  assert.equal(Buffer.from(binary.contents[0].blob, 'base64').subarray(1, 4).toString(), 'PNG');
  const templated = await client.readResource({ uri: 'test://template/a%20b/data' });
  assert.equal(JSON.parse(templated.contents[0].text).id, 'a b');
});

onBoth(test, 'prompts are listed, filled in, and refused when an argument is missing', async (t, kind) => {
  const { client } = await connect(t, kind, 'everything');
  const { prompts } = await client.listPrompts();
  assert.equal(prompts.find(({ name }) => name === 'test_prompt_with_arguments').arguments.length, 2);
  const filled = await client.getPrompt({ name: 'test_prompt_with_arguments', arguments: { arg1: 'x', arg2: 'y' } });
  assert.equal(filled.messages[0].content.text, "Prompt with arguments: arg1='x', arg2='y'");
  const dialogue = await client.getPrompt({ name: 'test_prompt_dialogue' });
  assert.deepEqual(dialogue.messages.map(({ role }) => role), ['user', 'assistant']);
  await assert.rejects(client.getPrompt({ name: 'test_prompt_with_arguments', arguments: { arg1: 'x' } }), (error) => error.code === -32602 && /arg2/.test(error.message));
});

onBoth(test, 'completions suggest what begins with what was typed', async (t, kind) => {
  const { client } = await connect(t, kind, 'everything');
  const complete = async (ref, name, value) => (await client.complete({ ref, argument: { name, value } })).completion.values;
  const prompt = { type: 'ref/prompt', name: 'test_prompt_with_arguments' };
  assert.deepEqual(await complete(prompt, 'arg1', 'par'), ['paris', 'park', 'party']);
  assert.deepEqual(await complete(prompt, 'arg1', 'zzz'), []);
  assert.deepEqual(await complete(prompt, 'arg2', 'par'), []);
  assert.deepEqual(await complete({ type: 'ref/resource', uri: 'test://template/{id}/data' }, 'id', 'test'), ['test', 'testing']);
});

onBoth(test, 'log messages below the level that was set are not sent', async (t, kind) => {
  const session = await connect(t, kind, 'everything');
  const heard = [];
  session.client.setNotificationHandler(LoggingMessageNotificationSchema, ({ params }) => heard.push(params.data));
  await session.client.setLoggingLevel('warning');
  await session.text('test_tool_with_logging');
  assert.deepEqual(heard, []);
  await session.client.setLoggingLevel('info');
  await session.text('test_tool_with_logging');
  assert.deepEqual(heard, ['Tool execution started', 'Tool processing data', 'Tool execution completed']);
  await assert.rejects(session.client.request({ method: 'logging/setLevel', params: { level: 'loud' } }, (await import('@modelcontextprotocol/sdk/types.js')).EmptyResultSchema));
});

onBoth(test, 'replies of every kind arrive as they were sent', async (t, kind) => {
  const session = await connect(t, kind, 'everything');
  const image = await session.call('test_image_content');
  assert.equal(image.content[0].mimeType, 'image/png');
  const mixed = await session.call('test_multiple_content_types');
  assert.deepEqual(mixed.content.map(({ type }) => type), ['text', 'image', 'resource']);
  const link = await session.call('test_resource_link');
  assert.equal(link.content[0].type, 'resource_link');
  const structured = await session.call('test_structured_content', { city: 'Paris' });
  assert.deepEqual(structured.structuredContent, { city: 'Paris', celsius: 21.5 });
});

// --- the command line ---

test('every server has the same command line', async () => {
  const help = await runOnce('probe', ['--help']);
  assert.equal(help.code, 0);
  for (const option of ['--http', '--token-file', '--log', '--help', '--version']) assert.match(help.stdout + help.stderr, new RegExp(option));
  const version = await runOnce('probe', ['--version']);
  assert.equal(version.code, 0);
  assert.match(version.stdout, /probe.*\d+\.\d+\.\d+/);
  for (const args of [['--nonsense'], ['--http'], ['--http', 'nonsense'], ['--http', '127.0.0.1:99999'], ['--log', 'loud']]) {
    const refused = await runOnce('probe', args);
    assert.notEqual(refused.code, 0, args.join(' '));
    assert.ok(refused.stderr.length > 0);
  }
});
