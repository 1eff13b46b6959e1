// Hosted pages: what the client is given, who may open it, what is submitted once, and what everybody else is told.
import test from 'node:test';
import assert from 'node:assert/strict';
import { connect, startHttp } from './harness.js';
import { connectModern } from './modern.js';
import { Browser } from './credentials.js';
import { Api, openHouse, token } from './inbox.js';

const SECRET = { MCP_ELICITATION_SECRET: 'a secret of the tests of pages, long enough' };
const URL_MODE = { elicitation: { url: {} } };

// What the script of a page is told.
const dataOf = (html) => JSON.parse(/<script[^>]*id="?data"?>(.*?)<\/script>/s.exec(html)[1]);

// A browser of somebody who has signed in, or has not.
class Visitor extends Browser {
  async page(link) {
    const reply = await this.fetch(link);
    const html = await reply.text();
    const data = /id="?data\b/.test(html) ? dataOf(html) : null;
    if (data?.csrf) this.csrf = data.csrf;
    return { status: reply.status, headers: reply.headers, html, data };
  }

  async submit(link, content, { action = 'accept', headers = {} } = {}) {
    const reply = await this.fetch(link, { method: 'POST', headers: { 'Content-Type': 'application/json', ...headers }, body: JSON.stringify({ action, content }) });
    const text = await reply.text();
    return { status: reply.status, body: text ? JSON.parse(text) : null };
  }
}
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
    assert.match((await ada.page(link)).html, /This is done\.[^]*You can close this page\./);
  });
