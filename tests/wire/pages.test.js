// Hosted pages: what the client is given, who may open it, what is submitted once, and what everybody else is told.
import test from 'node:test';
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { appendFileSync } from 'node:fs';
import path from 'node:path';
import { HttpPeer, PATIENCE_MS, connect, environment, nextAsk, pause, program, startHttp, textOf, within } from './harness.js';
import { Modern, connectModern, retryOf, scratchFolder } from './modern.js';
import { as, openCopy, possible } from './somebody.js';
import { Visitor } from './visitor.js';
import { Api, houses, openHouse, token, tokenFile } from './inbox.js';

const SECRET = { MCP_ELICITATION_SECRET: 'a secret of the tests of pages, long enough' };
const URL_MODE = { elicitation: { url: {} } };

const signedIn = (server, who) => new Visitor(server.url).signIn(token(who));

// The two generations of the official client, each in its era: the question that it is asked is a link.
const clients = {
  'v1, 2025': (t, server, who) => connect(t, 'http', 'pages', { server, token: token(who), capabilities: URL_MODE }),
  'v2, 2026': (t, server, who) => connectModern(t, 'http', 'pages', { server, token: token(who), capabilities: URL_MODE }),
};

for (const [name, open] of Object.entries(clients))
  test(`${name}: the client is given a link, the person fills the form in there, and nothing of it passes through the client`, async (t) => {
    const { first: server } = await openHouse(t, { nodes: 1, create: async () => null }, { program: 'pages', env: SECRET });
    const session = await open(t, server, 'ada');
    const call = session.text('form');
    const question = await session.question();
    assert.equal(question.params.mode, 'url');
    assert.equal(question.params.message, 'Where does it go?');
    const link = question.params.url;
    assert.match(link, new RegExp(`^${new URL(server.url).origin}/a/[\\w-]{100,200}$`));
    question.accept(); // it will be opened
    const ada = await signedIn(server, 'ada');
    const page = await ada.page(link);
    assert.equal(page.status, 200);
    assert.equal(page.data.state, 'pending');
    assert.deepEqual(page.data.schema.required, ['city']);
    const unfit = await ada.submit(link, { floor: 3 });
    assert.deepEqual([unfit.status, unfit.body.errors[0].path], [422, '/city']);
    assert.equal((await ada.submit(link, { city: 'Lisboa', floor: 3 })).status, 200);
    assert.equal(await call, 'accept by ada: {"city":"Lisboa","floor":3}');
    assert.equal((await ada.page(link)).said, 'This was answered, and the tool goes on.');
  });

// --- who may, and what nobody may ---

async function asked(t, tool = 'form', args = {}, { who = 'ada', house = { nodes: 1, create: async () => null } } = {}) {
  const made = await openHouse(t, house, { program: 'pages', env: SECRET });
  const session = await clients['v1, 2025'](t, made.first, who);
  const call = session.text(tool, args);
  call.catch(() => {});
  const question = await session.question();
  return { ...made, server: made.first, session, call, question, link: question.params.url };
}

test('who has no token with the role answer is not asked on a page, and reads why; any token of theirs is enough', async (t) => {
  const { first: server, tokens } = await openHouse(t, { nodes: 1, create: async () => null }, { program: 'pages', env: SECRET, args: ['--surfaces', 'client,inbox'] });
  const session = await clients['v1, 2025'](t, server, 'carl');
  for (const [tool, args] of [['form', {}], ['foreign', { url: 'https://pay.example/' }]]) {
    const result = await session.call(tool, args);
    assert.deepEqual([result.isError, result._meta.code], [true, 'ELICITATION_NOT_SUPPORTED']);
    assert.match(textOf(result), /on a page of this server, which 'carl' cannot open: no token of that name has the role answer/);
    await server.said(new RegExp(`page that its person cannot open, and is not asked.*principal=carl target=${tool}`));
  }
  assert.deepEqual([session.asked.length, (await new Api(server, 'root').list()).json.items], [0, []]);
  appendFileSync(tokens, 'a-second-token-of-carl-0123 carl answer\n');
  server.signal('SIGHUP');
  await server.said(/token file was read again/);
  const call = session.text('form');
  const link = (await session.question()).params.url;
  const carl = await new Visitor(server.url).signIn('a-second-token-of-carl-0123');
  await carl.page(link);
  assert.equal((await carl.submit(link, { city: 'Lisboa' })).status, 200);
  assert.equal(await call, 'accept by carl: {"city":"Lisboa"}');
});

// One bit of what was sealed, wherever it is.
function bitFlipped(link, bit) {
  const [, before, token] = /^(.*\/a\/)([\w-]+)$/.exec(link);
  const bytes = Buffer.from(token, 'base64url');
  bytes[bit >> 3] ^= 1 << (bit & 7);
  return before + bytes.toString('base64url');
}

const rows = {
  'another person opens it': async ({ link, server }) => [404, (await (await signedIn(server, 'bob')).page(link)).status],
  'another person submits it': async ({ link, server }) => {
    const bob = await signedIn(server, 'bob');
    return [404, (await bob.submit(link, { city: 'Rome' })).status];
  },
  'another person reads as whom they are signed in': async ({ link, server }) => {
    const { said } = await (await signedIn(server, 'bob')).page(link);
    return ['There is no such page for you. You are signed in as bob: the link may be for somebody else, or incomplete.', said];
  },
  'somebody without the role opens it, or comes back from elsewhere': async ({ link, server }) => {
    const carl = await signedIn(server, 'carl');
    const [opened, returned] = [await carl.page(link), await carl.page('/a/return?state=x&code=a%26b')];
    return [[403, true, 403], [opened.status, /it needs the role answer or admin/.test(opened.said), returned.status]];
  },
  'a sign-in has the roles of the token that made its link, also if another token of that name has more': async ({ link, server, tokens }) => {
    appendFileSync(tokens, 'a-token-of-ada-that-only-asks ada ask\n');
    server.signal('SIGHUP');
    await server.said(/token file was read again/);
    const { url } = await (await fetch(new URL('/api/login-link', server.url), { method: 'POST', headers: { Authorization: 'Bearer a-token-of-ada-that-only-asks' } })).json();
    const asking = await new Visitor(server.url).open(url);
    return [[200, 403, 403], [(await asking.fetch('/api/me')).status, (await asking.page(link)).status, (await asking.submit(link, { city: 'Rome' })).status]];
  },
  'the page itself is the same for everybody, and says nothing of anybody': async ({ link, server }) => {
    const ada = await signedIn(server, 'ada');
    const pages = await Promise.all([ada.shell(link), new Visitor(server.url).shell(link), ada.shell(`${link}A`), ada.shell('/a/return?state=x')]);
    return [[1, 200, false, 'no-referrer'], [new Set(pages.map(({ html }) => html)).size, pages[0].status, /ada|Where does it go/.test(pages[0].html), pages[0].headers.get('referrer-policy')]];
  },
  'with the cookie alone': async ({ link, server }) => {
    const ada = Object.assign(await signedIn(server, 'ada'), { key: undefined });
    const [opened, sent, returned] = [await ada.page(link), await ada.submit(link, { city: 'Rome' }), await ada.page('/a/return?state=x&code=y')];
    return [[403, 403, 403, true], [opened.status, sent.status, returned.status, /^Half of the sign-in is missing/.test(opened.said)]];
  },
  'an administrator opens it': async ({ link, server }) => [404, (await (await signedIn(server, 'root')).page(link)).status],
  'nobody has signed in': async ({ link, server }) => {
    const page = await new Visitor(server.url).page(link);
    return [[401, undefined], [page.status, page.data.message]];
  },
  'nobody has signed in, and submits it': async ({ link, server }) => [401, (await new Visitor(server.url).submit(link, { city: 'Rome' })).status],
  'from a frame of another origin': async ({ link, server }) => {
    const { headers } = await (await signedIn(server, 'ada')).shell(link);
    return [true, /frame-ancestors 'none'/.test(headers.get('content-security-policy'))];
  },
  'submitted by a page of another origin': async ({ link, server }) => {
    const ada = await signedIn(server, 'ada');
    const all = [{ Origin: 'https://evil.example' }, { Origin: 'http://localhost:1' }, { Origin: undefined }, { 'Sec-Fetch-Site': 'cross-site' }, { 'X-Page-Key': undefined }];
    return [Array(5).fill(403), await Promise.all(all.map(async (headers) => (await ada.submit(link, { city: 'Rome' }, { headers })).status))];
  },
  'sent as something that a page of another origin could send': async ({ link, server }) => {
    const ada = await signedIn(server, 'ada');
    return [415, (await ada.submit(link, { city: 'Rome' }, { headers: { 'Content-Type': 'text/plain' } })).status];
  },
  'one bit of it is changed': async ({ link, server }) => {
    const ada = await signedIn(server, 'ada');
    const bits = 8 * Buffer.from(link.split('/a/')[1], 'base64url').length;
    const some = process.env.NOD_SOAK === '1' ? Array.from({ length: bits }, (_, i) => i) : [0, 9, 45, 150, 300, 500, 700, bits - 1];
    for (const bit of some) assert.equal((await ada.page(bitFlipped(link, bit))).status, 404, `bit ${bit}`);
    return [some.length, new Set(some).size];
  },
  'it is cut, or longer': async ({ link, server }) => {
    const ada = await signedIn(server, 'ada');
    return [[404, 404, 404, 404], await Promise.all([link.slice(0, -1), `${link}A`, `${link}AAAA`, link.slice(0, -40)].map(async (other) => (await ada.page(other)).status))];
  },
  'what opens a page is no state, and the other way round': async ({ link, server }) => {
    const ada = await signedIn(server, 'ada');
    return [404, (await ada.page(`/a/return?state=${link.split('/a/')[1]}&city=Rome`)).status];
  },
};

test('a link that is not for you, changed, framed or sent from elsewhere', async (t) => {
  const made = await asked(t);
  for (const [name, row] of Object.entries(rows))
    await t.test(name, async () => {
      const [expected, seen] = await row(made);
      assert.deepEqual(seen, expected);
    });
  const ada = await signedIn(made.server, 'ada');
  assert.equal((await ada.page(made.link)).data.state, 'pending', 'it still waits after all that');
  assert.equal((await ada.submit(made.link, { city: 'Lisboa' })).status, 200);
  assert.equal(await made.call, 'accept by ada: {"city":"Lisboa"}');
});

test('opening uses nothing up; submitted twice, also at the same instant, it counts once', async (t) => {
  const { link, server, call, question } = await asked(t);
  question.accept();
  const ada = await signedIn(server, 'ada');
  for (let i = 0; i < 3; i++) assert.equal((await ada.page(link)).data.state, 'pending');
  assert.equal((await ada.fetch(link, { method: 'HEAD' })).status, 200);
  const cities = ['Lisboa', 'Rome', 'Oslo', 'Lima'];
  const all = await Promise.all(cities.map((city) => ada.submit(link, { city })));
  const won = all.findIndex(({ status }) => status === 200);
  assert.deepEqual(all.map(({ status }) => status).sort(), [200, 409, 409, 409]);
  assert.equal(await call, `accept by ada: {"city":"${cities[won]}"}`);
  const again = await ada.submit(link, { city: cities[won] });
  assert.deepEqual([again.status, again.body.state, again.body.outcome], [409, 'accepted', 'This was answered, and the tool goes on.']);
  const page = await ada.page(link);
  assert.deepEqual([page.status, page.data.state], [200, 'accepted']);
  assert.doesNotMatch(JSON.stringify(page.data), new RegExp(cities[won]), 'what was entered is not shown again');
});

test('too late it is refused, and the page says so', async (t) => {
  const { link, server, call } = await asked(t, 'form', { ttl: 400 });
  const ada = await signedIn(server, 'ada');
  await ada.page(link);
  await call; // it ends when its time is over
  const late = await ada.submit(link, { city: 'Rome' });
  assert.deepEqual([late.status, late.body.state], [409, 'expired']);
  assert.match((await ada.page(link)).said, /The time for this is over/);
});

test('declined on the page; declined by the client, the page says so', async (t) => {
  const { link, server, call, session } = await asked(t);
  const ada = await signedIn(server, 'ada');
  await ada.page(link);
  assert.equal((await ada.submit(link, undefined, { action: 'decline' })).status, 200);
  assert.equal(await call, 'decline by ada: nothing');
  const other = session.text('form');
  const question = await session.question();
  question.decline();
  assert.match(await other, /^decline/);
  assert.match((await ada.page(question.params.url)).said, /This was declined/);
});

// --- the local user ---

const linkOf = async (server) => /event=inbox url="?(http[^\s"]+)/.exec(await server.said(/event=inbox /))[1];

test('on loopback, for a process of the server\'s own user, the link is enough for data, and never for consent', async (t) => {
  const server = await startHttp(t, 'pages', { env: SECRET });
  const session = await connect(t, 'http', 'pages', { server, capabilities: URL_MODE });
  const guest = new Visitor(server.url); // has not signed in
  const ask = async (tool, args) => {
    const call = session.text(tool, args);
    const question = await session.question();
    question.accept();
    return { call, link: question.params.url };
  };
  const data = await ask('form');
  assert.equal((await guest.page(data.link)).data.state, 'pending');
  assert.deepEqual([(await guest.page(data.link)).data.principal, (await guest.page(data.link)).data.me], ['local', null]);
  assert.equal((await guest.page(data.link, { 'Sec-Fetch-Site': 'cross-site' })).status, 403, 'another site is told nothing');
  assert.equal((await guest.submit(data.link, { city: 'Rome' }, { headers: { Origin: 'https://evil.example' } })).status, 403);
  const nowhere = await guest.submit(data.link, { city: 'Rome' }, { headers: { Origin: undefined } });
  assert.deepEqual([nowhere.status, /^The header Origin is missing: /.test(nowhere.body.detail)], [401, true], nowhere.body.detail);
  assert.equal((await guest.submit(data.link, { city: 'Rome' }, { headers: { 'X-Forwarded-For': '203.0.113.7' } })).status, 401, 'behind a proxy it is anybody');
  assert.equal((await guest.submit(data.link, { city: 'Lisboa' })).status, 200);
  assert.equal(await data.call, 'accept by local: {"city":"Lisboa"}');
  assert.equal((await guest.fetch('/api/me')).status, 401, 'the link opens nothing else');

  const owner = await new Visitor(server.url).open(await linkOf(server));
  for (const [tool, args, end] of [['form', { consent: true }], ['wipe', {}], ['gated', {}, 'open']]) {
    const consent = await ask(tool, args);
    assert.equal((await guest.page(consent.link)).status, 401, tool);
    assert.equal((await guest.submit(consent.link, { city: 'Rome' })).status, 401, tool);
    await owner.page(consent.link);
    assert.equal((await owner.submit(consent.link, { city: 'Oslo' })).status, 200, tool);
    assert.equal(await consent.call, end ?? 'accept by local: {"city":"Oslo"}', tool);
  }
});

test('a process of another user needs a sign-in', async (t) => {
  if (!possible(t, 'to be another user')) return;
  const server = await startHttp(t, 'pages', { env: SECRET });
  const session = await connect(t, 'http', 'pages', { server, capabilities: URL_MODE });
  const call = session.text('form');
  const question = await session.question();
  const node = openCopy(t, process.execPath);
  const visit = [node, '-e', `require('node:http').get(${JSON.stringify(`${question.params.url}/data`)}, (reply) => (console.log(reply.statusCode), reply.resume()))`];
  const status = ([program, ...args]) => Number(execFileSync(program, args, { encoding: 'utf8', cwd: '/' }));
  assert.deepEqual([status(visit), status(as('65534', ...visit))], [200, 401]);
  question.decline();
  await call;
});

// --- pages of somebody else ---

for (const [name, open] of Object.entries(clients))
  test(`${name}: a foreign page is reached through ours, with a state; what it sends back is the answer`, async (t) => {
    const { first: server } = await openHouse(t, { nodes: 1, create: async () => null }, { program: 'pages', env: SECRET });
    const session = await open(t, server, 'ada');
    const call = session.text('foreign', { url: 'https://pay.example/begin?back={return}&item=7#top' });
    const question = await session.question();
    question.accept();
    const link = question.params.url;
    assert.match(link, /\/a\/[\w-]+$/, 'never the foreign page itself');
    const led = await new Visitor(server.url).page(link);
    assert.deepEqual([led.status, led.go], [401, undefined], 'the person is checked first');
    const ada = await signedIn(server, 'ada');
    const away = await ada.page(link);
    assert.deepEqual([away.status, away.data.principal, away.data.me], [200, 'ada', 'ada']);
    const there = new URL(away.go);
    const back = `${new URL(server.url).origin}/a/return`;
    assert.deepEqual([there.origin, there.pathname, there.hash, there.searchParams.get('back'), there.searchParams.get('item')], ['https://pay.example', '/begin', '#top', back, '7']);
    const state = there.searchParams.get('state');
    assert.ok(!away.go.includes(link.split('/a/')[1]), 'the token of the page is not told');
    assert.equal((await ada.page(`/a/${state}`)).status, 404, 'and what is told does not open it');

    const returned = (query) => `/a/return?${new URLSearchParams(query)}`;
    const landed = await ada.fetch(returned({ state, code: 'a,b' }), { headers: { 'Sec-Fetch-Site': 'cross-site', 'X-Page-Key': undefined } });
    assert.deepEqual([landed.status, (await ada.page(link)).data.state], [200, 'pending'], 'the page that they land on does nothing by itself');
    const refused = {
      'another person': [404, await (await signedIn(server, 'bob')).page(returned({ state, code: 'x' }))],
      'no state': [404, await ada.page(returned({ code: 'x' }))],
      'a changed state': [404, await ada.page(returned({ state: bitFlipped(`/a/${state}`, 400).slice(3), code: 'x' }))],
      'something twice': [400, await ada.page(`${returned({ state, code: 'x' })}&code=y`)],
      'not text': [400, await ada.page(`${returned({ state })}&code=%ff`)],
      'a NUL': [400, await ada.page(`${returned({ state })}&code=%00`)],
      'too much': [400, await ada.page(returned({ state, ...Object.fromEntries(Array.from({ length: 33 }, (_, i) => [`n${i}`, ''])) }))],
    };
    for (const [what, [status, reply]] of Object.entries(refused)) assert.equal(reply.status, status, what);
    const done = await ada.page(returned({ state, code: 'a b&c', paid: 'yes' }));
    assert.equal(done.status, 200);
    assert.equal(done.said, 'This is done, and the tool goes on.');
    assert.equal(await call, 'accept by ada: {"code":"a b&c","paid":"yes"}');
    assert.match((await ada.page(returned({ state, code: 'other' }))).said, /This is done/, 'once: later it shows the outcome');
    assert.match((await ada.page(link)).said, /This is done/);
  });

test('a foreign page: what only looks at the return does nothing; holes behind # are filled; an address that is too long is not asked', async (t) => {
  const { first: server } = await openHouse(t, { nodes: 1, create: async () => null }, { program: 'pages', env: SECRET });
  const session = await clients['v1, 2025'](t, server, 'ada');
  const call = session.text('foreign', { url: 'https://pay.example/#/pay?state={state}&back={return}&id={id}' });
  const question = await session.question();
  question.accept();
  const ada = await signedIn(server, 'ada');
  const to = (await ada.page(question.params.url)).go;
  assert.match(to, /^https:\/\/pay\.example\/#\/pay\?state=[\w-]{100,200}&back=http%3A%2F%2F[\w.%-]+return&id=[\w-]{22}$/);
  const state = /state=([\w-]+)/.exec(to)[1];
  const query = `state=${state}&code=a%2Fb+c&x=${encodeURIComponent('//evil.example#<')}`;
  assert.deepEqual([(await new Visitor(server.url).page(`/a/return?${query}`)).status, (await (await signedIn(server, 'bob')).page(`/a/return?${query}`)).status], [401, 404]);
  for (const method of ['HEAD', 'GET']) await ada.fetch(`/a/return?state=${state}&code=1`, { method });
  assert.ok((await ada.page(question.params.url)).go, 'it still waits');
  assert.equal((await ada.page(`/a/return?state=${state}&code=2`)).status, 200);
  assert.equal(await call, 'accept by ada: {"code":"2"}');
  for (const url of [`https://pay.example/${'p'.repeat(9000)}`, `https://pay.example/${'{return}'.repeat(40)}`]) {
    const refused = await session.call('foreign', { url });
    assert.equal(refused.isError, true);
    assert.match(textOf(refused), /nod_elicit_url with \.returns .* at most 4000 characters/);
  }
});

// --- the inbox, for a client that opens no pages ---

test('a client without URL mode: the inbox shows the message and links to the page, and takes no answer in its place', async (t) => {
  const { first: server } = await openHouse(t, { nodes: 1, create: async () => null }, { program: 'pages', env: SECRET });
  const session = await connect(t, 'http', 'pages', { server, token: token('ada'), capabilities: {} });
  const call = session.text('form');
  const api = await new Api(server, 'ada').describe();
  const [item] = await api.pending();
  assert.deepEqual([item.kind, item.schema, item.message, item.url], ['url', null, 'Where does it go?', item.page]);
  const said = await api.resolve(item.id, { action: 'accept', content: { city: 'Rome' } });
  assert.deepEqual([said.status, said.json.pending], [200, true], 'that it was opened is no answer');
  const ada = await signedIn(server, 'ada');
  await ada.page(item.page);
  assert.equal((await ada.submit(item.page, { city: 'Lisboa' })).status, 200);
  assert.equal(await call, 'accept by ada: {"city":"Lisboa"}');
  assert.deepEqual([(await api.one(item.id)).json.answer.via], ['page']);
});

test('a server without an inbox has no pages, and the tool is told so', async (t) => {
  const server = await startHttp(t, 'pages', { args: ['--no-inbox'] });
  const session = await connect(t, 'http', 'pages', { server, capabilities: URL_MODE });
  const result = await session.call('form');
  assert.equal(result.isError, true);
  assert.match(textOf(result), /This server has no pages of its own/);
  assert.deepEqual(session.asked, []);
});

// --- several nodes ---

const two = houses.find(({ nodes }) => nodes === 2);
const completed = (session) => new Promise((resolve) => {
  session.client.fallbackNotificationHandler = async ({ method, params }) => method === 'notifications/elicitation/complete' && resolve(params.elicitationId);
});

test('two nodes: opened and submitted through the other one; the client is told where its stream is', async (t) => {
  const { first, last } = await openHouse(t, two, { program: 'pages', env: SECRET });
  const session = await clients['v1, 2025'](t, first, 'ada');
  const told = completed(session);
  const call = session.text('form');
  const question = await session.question();
  question.accept();
  const there = new URL(new URL(question.params.url).pathname, last.url).href;
  const ada = await signedIn(last, 'ada');
  assert.equal((await ada.page(there)).data.state, 'pending');
  assert.equal((await ada.submit(there, { city: 'Lisboa' })).status, 200);
  assert.equal(await call, 'accept by ada: {"city":"Lisboa"}');
  assert.equal(await within(PATIENCE_MS, 'complete', told), question.params.elicitationId);
  assert.match((await (await signedIn(first, 'ada')).page(question.params.url)).said, /This was answered/);

  // In the 2026 era the client comes back to either node.
  const modern = await clients['v2, 2026'](t, first, 'ada');
  const second = modern.text('form');
  const next = await modern.question();
  next.accept();
  const other = new URL(new URL(next.params.url).pathname, last.url).href;
  await ada.page(other);
  assert.equal((await ada.submit(other, { city: 'Rome' })).status, 200);
  assert.equal(await second, 'accept by ada: {"city":"Rome"}');
});

test('two nodes: what had to be opened first (-32042) is done at the other one, and the client is told', async (t) => {
  const { first, last } = await openHouse(t, two, { program: 'pages', env: SECRET });
  const session = await clients['v1, 2025'](t, first, 'ada');
  const told = completed(session);
  const error = await session.call('require').then(() => null, (refusal) => refusal);
  assert.equal(error.code, -32042);
  const [{ elicitationId, url }] = error.data.elicitations;
  assert.equal(url, `https://example.org/first?id=${elicitationId}`);
  const page = await clients['v1, 2025'](t, last, 'bob');
  await page.text('done', { id: elicitationId });
  assert.equal(await within(PATIENCE_MS, 'complete', told), elicitationId);
});

for (const [what, capabilities, revision] of [
  ['forms alone', { elicitation: {} }, '2025-11-25'],
  ['nothing', {}, '2025-11-25'],
  ['forms, in a revision without URLs', { elicitation: {} }, '2025-06-18'],
])
  test(`a client with ${what}: what has to be opened first is in the inbox, and the call goes on when it is done`, async (t) => {
    const { first } = await openHouse(t, houses[0], { program: 'pages', env: SECRET });
    const peer = new HttpPeer(first.url, { token: token('ada') });
    t.after(() => peer.close());
    await peer.initialize(capabilities, revision);
    await peer.send({ id: 1, method: 'tools/call', params: { name: 'require', arguments: {} } });
    const api = new Api(first, 'ada');
    const [one] = await api.pending();
    assert.equal(one.url, `https://example.org/first?id=${one.id}`);
    assert.equal((await api.resolve(one.id, { action: 'accept' })).json.pending, true, 'that it was opened proves nothing');
    await peer.send({ id: 2, method: 'tools/call', params: { name: 'done', arguments: { id: one.id } } });
    const again = await within(PATIENCE_MS, 'the handler asks again', (async () => {
      for (;;) {
        const [next] = await api.pending();
        if (next.id !== one.id) return next;
        await pause(10);
      }
    })());
    assert.equal((await api.resolve(again.id, { action: 'decline' })).status, 200);
    const { result } = await peer.next(({ id }) => id === 1, 'the end');
    assert.equal(result._meta.code, 'URL_ELICITATION_DECLINED');
  });

test('two nodes: a client that calls at one and listens at the other is told there', async (t) => {
  const { first, last } = await openHouse(t, two, { program: 'pages', env: SECRET });
  const peer = new HttpPeer(first.url, { token: token('ada') });
  t.after(() => peer.close());
  await peer.initialize(URL_MODE);
  peer.url = last.url;
  const listening = await peer.request('GET', { headers: { Accept: 'text/event-stream' } });
  assert.equal(listening.status, 200);
  peer.url = first.url;
  await peer.send({ id: 1, method: 'tools/call', params: { name: 'require', arguments: {} } });
  const { error } = await peer.next(({ id }) => id === 1, 'the refusal');
  const [{ elicitationId }] = error.data.elicitations;
  await peer.send({ id: 2, method: 'tools/call', params: { name: 'done', arguments: { id: elicitationId } } });
  const { params } = await peer.next(({ method }) => method === 'notifications/elicitation/complete', 'elicitation/complete');
  assert.equal(params.elicitationId, elicitationId);
});

test('two nodes: a token for a page of the author\'s own is for one principal, until it expires by the clock of the store, and used once', async (t) => {
  const { first, last } = await openHouse(t, two, { program: 'pages', env: { ...SECRET, NOD_CLOCK_AHEAD_MS: '3600000' } });
  const ada = await clients['v1, 2025'](t, first, 'ada');
  const other = await clients['v1, 2025'](t, last, 'bob');
  const check = (session, own, who, use) => session.text('check', { url: own, message: who, consent: use });
  const own = await ada.text('own');
  assert.match(own, /^[\w-]{100,200}$/);
  assert.equal(Buffer.from(own, 'base64url').includes('order 7'), false, 'nothing of it can be read');
  assert.equal(await check(other, own, 'ada', false), 'ok: order 7');
  assert.equal(await check(ada, own, 'bob', true), 'refused: nothing');
  assert.equal(await check(ada, bitFlipped(`/a/${own}`, 333).slice(3), 'ada', true), 'refused: nothing');
  const uses = await Promise.all([ada, other, ada, other].map((session) => check(session, own, 'ada', true)));
  assert.deepEqual(uses.sort(), ['ok: order 7', ...Array(3).fill('stale: order 7')]);
  assert.equal(await check(other, own, 'ada', false), 'stale: order 7');
  const alike = 'n'.repeat(300);
  const [longOne, longOther] = (await ada.text('own', { message: `${alike}1`, id: `${alike}2` })).split(' ');
  assert.ok(longOne && longOther && longOne !== longOther, 'two long names are two tokens, however alike they begin');
  const short = await ada.text('own', { ttl: 1 });
  // A node knows the store's clock as it was told it last, which may be a little behind.
  for (const end = Date.now() + PATIENCE_MS; await check(other, short, 'ada', false) !== 'timeout: order 7' && Date.now() < end;);
  assert.equal(await check(other, short, 'ada', true), 'timeout: order 7');
  const page = await signedIn(first, 'ada');
  assert.equal((await page.page(`/a/${await ada.text('own', { message: 'x' })}`)).status, 404, 'it opens no page of ours');
});

// --- another address ---

// A server whose store outlives it: stopped, and started again somewhere else.
async function moving(t, env = SECRET) {
  const store = path.join(scratchFolder(t), 'store.db');
  const file = tokenFile(t);
  const at = (address, more = []) => startHttp(t, 'pages', { env, args: ['--token-file', file, '--store', `sqlite:${store}`, '--public-url', address, '--surfaces', 'client,inbox', ...more] });
  return { at };
}
const terminal = (server, ...args) => execFileSync(program('nod'), ['inbox', ...args], { encoding: 'utf8', env: environment({ NOD_SERVER: new URL(server.url).origin, NOD_TOKEN: token('ada'), LC_ALL: 'C.UTF-8' }) });
test('without a secret a page that waits in a file is answered after a restart, by its new link; the old one says why it ended', async (t) => {
  const { at } = await moving(t, {});
  const before = await at('https://old.example');
  const old = (await new Modern(before.url, { token: token('ada'), capabilities: URL_MODE }).asked('form')).inputRequests['#1']?.params.url;
  await before.stop();
  const after = await at('https://new.example');
  const local = (link) => new URL(new URL(link).pathname, after.url).href;
  const [item] = await new Api(after, 'ada').pending();
  const ada = await signedIn(after, 'ada');
  const stale = await ada.page(local(old));
  assert.equal(stale.status, 404);
  assert.match(stale.said, /This server has no secret of its operator's, so its links end when it is started again[^]*open it from the inbox/);
  assert.equal((await ada.page(local(item.page))).data.state, 'pending');
  assert.equal((await ada.submit(local(item.page), { city: 'Lisboa' }, { headers: { Origin: 'https://new.example' } })).status, 200);
  assert.match((await ada.page(local(item.page))).said, /This was answered/);
});

const TASKS = { ...URL_MODE, extensions: { 'io.modelcontextprotocol/tasks': {} } };

test('after a move every link that is shown leads to where the server is now: API, terminal, round, task, and a held request that is taken up', async (t) => {
  const { at } = await moving(t);
  const before = await at('https://old.example');
  const old = /^https:\/\/old\.example\/a\//;
  const asAda = (server, capabilities) => new Modern(server.url, { token: token('ada'), capabilities });
  const asks = ({ inputRequests }) => Object.entries(inputRequests)[0];
  const round = await asAda(before, URL_MODE).asked('form');
  const [key, question] = asks(round);
  assert.match(question.params.url, old);
  const { result: task } = await asAda(before, TASKS).call('long');
  const peer = new HttpPeer(before.url, { token: token('ada') });
  t.after(() => peer.close());
  await peer.initialize(URL_MODE);
  const held = await peer.post({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'form', arguments: { message: 'Held?' } } });
  assert.match((await nextAsk(peer)).params.url, old);
  const beginning = held.events[0].id; // the question is to come again
  await before.stop();

  const after = await at('https://new.example/nod');
  const there = /^https:\/\/new\.example\/nod\/a\/[\w-]{100,200}$/;
  peer.url = after.url;
  const back = await peer.request('GET', { headers: { 'Last-Event-ID': beginning }, stream: 'resumed' });
  assert.equal(back.status, 200);
  assert.match((await nextAsk(peer)).params.url, there);
  const client = asAda(after, URL_MODE);
  const again = await client.asked('form', {}, retryOf(round, {}));
  assert.match(asks(again)[1].params.url, there);
  const known = await within(PATIENCE_MS, 'the task asks', (async () => {
    for (;;) {
      const { result } = await asAda(after, TASKS).request('tasks/get', { taskId: task.taskId });
      if (result.inputRequests) return result;
      await pause(20);
    }
  })());
  assert.match(asks(known)[1].params.url, there);

  const api = new Api(after, 'ada');
  const items = await api.pending(3);
  for (const item of items) for (const shown of [item, (await api.one(item.id)).json]) {
    assert.match(shown.url, there);
    assert.match(shown.page, there);
  }
  assert.match(terminal(after, 'show', items[0].id), /https:\/\/new\.example\/nod\/a\//);
  assert.doesNotMatch(terminal(after, 'list', '--json'), /old\.example/);

  const ada = await signedIn(after, 'ada');
  const link = asks(again)[1].params.url.replace('https://new.example/nod', new URL(after.url).origin);
  assert.equal((await ada.page(link)).status, 200);
  assert.equal((await ada.submit(link, { city: 'Lisboa' }, { headers: { Origin: 'https://new.example' } })).status, 200);
  assert.equal(await client.ended('form', {}, retryOf(again, { [key]: { action: 'accept' } })), 'accept by ada: {"city":"Lisboa"}');
});
