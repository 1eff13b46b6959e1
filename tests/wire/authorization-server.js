// A small authorization server with an API behind it, as the tests of connected accounts need one: the code flow with PKCE
// (S256), rotating refresh tokens of one use each, revocation (RFC 7009), its own description (RFC 8414) and the issuer in
// its answers (RFC 9207). It counts what it is asked, and can be told to be slow, to fail, to refuse.
import http from 'node:http';
import https from 'node:https';
import { readFileSync } from 'node:fs';
import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { pause } from './harness.js';

const fresh = (what) => `${what}-${randomBytes(18).toString('base64url')}`;

export class AuthorizationServer {
  client = { id: 'nod client', secret: 'sec:ret/+ of the client' };
  path = ''; // of the issuer
  lasts = 3600; // seconds of an access token
  grants = (wanted) => wanted; // the scopes that are granted of those that are wanted; null: not said
  decision = 'allow'; // of the person: or deny, or ask, with a link to press
  referers = []; // that came with authorization requests
  delay = 0; // ms before a token is given
  holds = null; // a promise: no token is given for a code before that
  heldMs = 0; // how long the longest of them was
  deaf = []; // what whoever revokes is told before it listens: 'hangs up', or a status
  thinks = 0; // ms before it describes itself
  failing = null; // the status with which the token endpoint answers, or 'hangs up'
  forgiving = false; // a refresh token may be used a second time
  namesIssuer = true;
  tls = null; // { cert, key }, files: it is at `secure` as well
  asked = { metadata: 0, authorize: 0, code: 0, refresh: 0, revoke: 0, refused: 0, user: 0 };
  requests = []; // authorization requests, as they came
  codes = new Map();
  refreshes = new Map(); // refresh token -> grant
  accesses = new Map(); // access token -> { grant, until }
  given = []; // every token and code that was given out, to be looked for where it must not be

  static async start(t, settings = {}) {
    const server = Object.assign(new AuthorizationServer(), settings);
    const serve = (request, response) => server.#serve(request, response).catch((error) => response.writeHead(500).end(String(error)));
    server.listeners = [http.createServer(serve)];
    if (server.tls) server.listeners.push(https.createServer({ cert: readFileSync(server.tls.cert), key: readFileSync(server.tls.key) }, serve));
    t.after(() => server.stop());
    for (const one of server.listeners) await once(one.listen(0, '127.0.0.1'), 'listening');
    [server.port, server.securePort] = server.listeners.map((one) => one.address().port);
    return server;
  }

  async stop() {
    for (const one of this.listeners.splice(0)) {
      const closed = once(one, 'close');
      one.close();
      one.closeAllConnections();
      await closed;
    }
  }

  get secure() {
    return `https://127.0.0.1:${this.securePort}${this.path}`;
  }

  get origin() {
    return `http://127.0.0.1:${this.port}`;
  }

  get issuer() {
    return this.origin + this.path;
  }

  get target() {
    return `127.0.0.1:${this.port}`;
  }

  // A section of --oauth FILE.
  section(name = 'github', more = {}) {
    const keys = { issuer: this.issuer, client_id: this.client.id, client_secret_env: 'TEST_CLIENT_SECRET', allow: this.target, ...more };
    return `[${name}]\n${Object.entries(keys).filter(([, value]) => value !== null).map(([key, value]) => `${key} = ${value}\n`).join('')}\n`;
  }

  get env() {
    return { TEST_CLIENT_SECRET: this.client.secret };
  }

  async #serve(request, response) {
    const url = new URL(request.url, this.origin);
    let body = '';
    for await (const chunk of request.setEncoding('utf8')) body += chunk;
    const json = (status, value) => response.writeHead(status, { 'Content-Type': 'application/json', 'Cache-Control': 'no-store' }).end(JSON.stringify(value));
    const form = new URLSearchParams(body);
    if (url.pathname === `/.well-known/oauth-authorization-server${this.path}`) {
      this.asked.metadata++;
      await pause(this.thinks);
      return json(200, this.metadata());
    }
    if (url.pathname === `${this.path}/authorize`) return this.#authorize(url, request, response);
    if (url.pathname === `${this.path}/token`) return this.#token(request, form, json);
    if (url.pathname === `${this.path}/revoke`) return this.#revoke(request, form, json);
    if (url.pathname === '/user') return this.#user(request, json);
    if (url.pathname === '/favicon.ico') return response.writeHead(204).end();
    return json(404, { error: 'not_found' });
  }

  metadata() {
    return {
      issuer: this.issuer,
      authorization_endpoint: `${this.issuer}/authorize`,
      token_endpoint: `${this.issuer}/token`,
      revocation_endpoint: `${this.issuer}/revoke`,
      code_challenge_methods_supported: ['S256'],
      authorization_response_iss_parameter_supported: this.namesIssuer,
    };
  }

  // The person is signed in here.
  #authorize(url, request, response) {
    if (request.headers.referer) this.referers.push(request.headers.referer);
    const query = url.searchParams;
    this.asked.authorize++;
    this.requests.push(Object.fromEntries(query));
    if (query.get('client_id') !== this.client.id || query.get('code_challenge_method') !== 'S256' || query.get('response_type') !== 'code')
      return response.writeHead(400).end('no');
    const back = new URL(query.get('redirect_uri'));
    back.searchParams.set('state', query.get('state'));
    if (this.namesIssuer) back.searchParams.set('iss', this.issuer);
    if (this.decision === 'deny') {
      back.searchParams.set('error', 'access_denied');
    } else {
      const code = fresh('code');
      this.given.push(code);
      this.codes.set(code, { challenge: query.get('code_challenge'), redirect: query.get('redirect_uri'), scope: query.get('scope') ?? '', resource: query.getAll('resource') });
      back.searchParams.set('code', code);
    }
    if (this.decision === 'ask')
      return response.writeHead(200, { 'Content-Type': 'text/html' }).end(`<!doctype html><title>Service</title><a href="${back.href.replaceAll('&', '&amp;')}">Authorize</a>`);
    return response.writeHead(302, { Location: back.href }).end();
  }

  #isClient(request, form) {
    const basic = /^Basic (.*)$/.exec(request.headers.authorization ?? '');
    if (!basic) return form.get('client_id') === this.client.id && (form.get('client_secret') ?? '') === this.client.secret;
    const [id, secret] = Buffer.from(basic[1], 'base64').toString().split(':').map((part) => decodeURIComponent(part.replaceAll('+', ' ')));
    return id === this.client.id && secret === this.client.secret;
  }

  // Until the newest access token is worth nothing, also to whoever has it by now, and counts from when it came.
  async expired() {
    const { lasts } = [...this.accesses.values()].at(-1);
    const until = Date.now() + lasts * 1000;
    while (Date.now() <= until) await pause(until - Date.now() + 1);
  }

  #give(grant) {
    const access = fresh('access');
    const refresh = fresh('refresh');
    this.given.push(access, refresh);
    this.accesses.set(access, { grant, lasts: this.lasts, until: Date.now() + this.lasts * 1000 });
    this.refreshes.set(refresh, grant);
    return { access_token: access, token_type: 'Bearer', expires_in: this.lasts, refresh_token: refresh, ...(grant.scope === null ? {} : { scope: grant.scope }) };
  }

  // A grant ends with everything that came of it.
  end(grant) {
    grant.ended = true;
    for (const [refresh, of] of this.refreshes) if (of === grant) this.refreshes.delete(refresh);
    for (const [access, of] of this.accesses) if (of.grant === grant) this.accesses.delete(access);
  }

  async #token(request, form, json) {
    if (!this.#isClient(request, form)) return json(401, { error: 'invalid_client' });
    const refuse = () => {
      this.asked.refused++;
      return json(400, { error: 'invalid_grant' });
    };
    if (form.get('grant_type') === 'refresh_token') {
      this.asked.refresh++;
      await pause(this.delay);
      if (this.failing === 'hangs up') return request.socket.destroy();
      if (this.failing) return json(this.failing, { error: 'server_error' });
      const refresh = form.get('refresh_token');
      const grant = this.refreshes.get(refresh);
      if (!grant || (grant.used?.has(refresh) && !this.forgiving)) {
        if (grant) this.end(grant); // it was used before: somebody has stolen it
        return refuse();
      }
      (grant.used ??= new Set()).add(refresh);
      return json(200, this.#give(grant));
    }
    this.asked.code++;
    const { holds } = this; // as it is when the code comes
    const came = performance.now();
    await pause(this.delay);
    await holds;
    this.heldMs = Math.max(this.heldMs, performance.now() - came);
    if (this.failing) return json(this.failing, { error: 'server_error' });
    const code = this.codes.get(form.get('code'));
    if (!code || code.grant) {
      if (code) this.end(code.grant);
      return refuse();
    }
    const challenge = createHash('sha256').update(form.get('code_verifier') ?? '').digest('base64url');
    if (challenge !== code.challenge || form.get('redirect_uri') !== code.redirect) return refuse();
    code.grant = { scope: this.grants(code.scope), login: 'octocat' };
    return json(200, this.#give(code.grant));
  }

  #revoke(request, form, json) {
    if (!this.#isClient(request, form)) return json(401, { error: 'invalid_client' });
    const deaf = this.deaf.shift();
    if (deaf === 'hangs up') return request.socket.destroy();
    if (deaf) return json(deaf, { error: 'temporarily_unavailable' });
    this.asked.revoke++;
    const token = form.get('token');
    const grant = this.refreshes.get(token) ?? this.accesses.get(token)?.grant;
    if (grant) this.end(grant);
    return json(200, {});
  }

  #user(request, json) {
    this.asked.user++;
    const token = /^Bearer (.*)$/.exec(request.headers.authorization ?? '')?.[1];
    const access = this.accesses.get(token);
    if (!access || access.until < Date.now()) return json(401, { message: 'Bad credentials' });
    return json(200, { login: access.grant.login, name: 'The Octocat', public_repos: 8 });
  }
}
