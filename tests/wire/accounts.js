// Connected accounts as tests use them: a server with a service, and a person whose browser goes through the flow.
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { connect } from './harness.js';
import { Api, openHouse, token } from './inbox.js';
import { connectModern, scratchFolder } from './modern.js';
import { Visitor } from './visitor.js';
import { AuthorizationServer } from './authorization-server.js';

export const SECRET = { MCP_ELICITATION_SECRET: 'a secret of the tests of accounts that is long enough' };
export const URL_MODE = { elicitation: { url: {} } };

// The number that the tools of tests/wire/accounts.c say of a token.
export function numberOf(text) {
  let n = 2166136261;
  for (const byte of Buffer.from(text)) n = Math.imul(n ^ byte, 16777619) >>> 0;
  return String(n);
}

export const oauthFile = (t, text) => {
  const file = path.join(scratchFolder(t), 'oauth.ini');
  writeFileSync(file, text);
  return file;
};

export const memory = { name: 'memory', nodes: 1, create: async () => null };

export async function openAccounts(t, { house = memory, settings = {}, section = {}, program = 'accounts', env = {}, args = [] } = {}) {
  const service = await AuthorizationServer.start(t, settings);
  const file = oauthFile(t, service.section('github', section));
  const opened = await openHouse(t, house, { program, env: { NOD_REPLAY_CHECK: '1', ...SECRET, ...service.env, ...(typeof env === 'function' ? env(service) : env) }, args: ['--oauth', file, ...args] });
  return { ...opened, server: opened.first, service, file };
}

// The two generations of the official client, each in its era.
export const clients = {
  'v1, 2025': (t, server, who) => connect(t, 'http', 'accounts', { server, token: token(who), capabilities: URL_MODE }),
  'v2, 2026': (t, server, who) => connectModern(t, 'http', 'accounts', { server, token: token(who), capabilities: URL_MODE }),
};

// A person, in front of a browser that is signed in.
export class Person extends Visitor {
  static async at(server, who) {
    return new Person(server.url).signIn(token(who));
  }

  // Opens the link of a question, and goes on to the service.
  async go(link) {
    const { status, go, said } = await this.page(link);
    assert.deepEqual([status, Boolean(go)], [200, true], said);
    return go;
  }

  // What the service sends the person back with.
  async decide(to) {
    const reply = await fetch(to, { redirect: 'manual' });
    assert.equal(reply.status, 302, await reply.text());
    return reply.headers.get('location');
  }

  // Comes back from the service's site, to a page that goes on from our own.
  async comeBack(back) {
    const first = await this.fetch(back, { headers: { 'Sec-Fetch-Site': 'cross-site', Cookie: undefined, 'X-Page-Key': undefined } });
    assert.equal(first.status, 200, await first.text());
    return this.page(back);
  }

  async connect(link) {
    const back = await this.decide(await this.go(link));
    const end = await this.comeBack(back);
    assert.match(end.said, /The account is connected/);
    return { back, ...end };
  }
}

// Calls a tool that asks for an account, and connects it. -> what the tool says
export async function callAndConnect(session, person, tool = 'use', args = {}) {
  const call = session.text(tool, args);
  const question = await session.question();
  question.accept?.();
  await person.connect(question.params.url);
  return call;
}

export const api = (server, who) => new Api(server, who);
