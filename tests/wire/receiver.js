// A receiver of webhooks, as anybody would write one after docs/webhooks.md: it verifies, and it knows what it has seen.
import http from 'node:http';
import https from 'node:https';
import { readFileSync } from 'node:fs';
import { createHmac, timingSafeEqual, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { pause, within, PATIENCE_MS } from './harness.js';

export const newSecret = () => `whsec_${randomBytes(32).toString('base64')}`;

const TOLERANCE_S = 300;

// Throws if the delivery was not signed by whoever has the secret, or is old.
export function verify(secret, headers, body, now = Date.now() / 1000) {
  const id = headers['webhook-id'];
  const time = headers['webhook-timestamp'];
  if (!id || !/^\d+$/.test(time ?? '')) throw new Error('no id or time');
  if (Math.abs(now - Number(time)) > TOLERANCE_S) throw new Error('too old, or of the future');
  const wanted = createHmac('sha256', Buffer.from(secret.slice('whsec_'.length), 'base64')).update(`${id}.${time}.${body}`).digest();
  const fits = headers['webhook-signature'].split(' ').some((text) => {
    const [version, signature] = text.split(',');
    const given = Buffer.from(signature ?? '', 'base64');
    return version === 'v1' && given.length === wanted.length && timingSafeEqual(given, wanted);
  });
  if (!fits) throw new Error('not signed by us');
  return JSON.parse(body);
}

export class Receiver {
  deliveries = []; // each as it came: { headers, body }
  events = new Map(); // webhook-id -> event, those that verified
  refused = 0;
  twice = 0; // deliveries of what was known already
  answer = () => ({ status: 204 });

  // `tls`: the files of its certificate and key.
  static async start(t, secret, tls) {
    const receiver = new Receiver();
    receiver.secret = secret;
    receiver.tls = tls && { cert: readFileSync(tls.cert), key: readFileSync(tls.key) };
    await receiver.up(0);
    t.after(() => receiver.down());
    return receiver;
  }

  get url() {
    return `${this.tls ? 'https' : 'http'}://127.0.0.1:${this.port}/hook`;
  }

  get target() {
    return `127.0.0.1:${this.port}`;
  }

  async up(port = this.port) {
    const take = (request, response) => this.#take(request, response);
    this.server = this.tls ? https.createServer(this.tls, take) : http.createServer(take);
    this.server.listen(port, '127.0.0.1');
    await once(this.server, 'listening');
    this.port = this.server.address().port;
  }

  async down() {
    if (!this.server) return;
    const closed = once(this.server, 'close');
    this.server.close();
    this.server.closeAllConnections();
    this.server = null;
    await closed;
  }

  async #take(request, response) {
    let body = '';
    for await (const chunk of request.setEncoding('utf8')) body += chunk;
    const { status, headers = {} } = await this.answer(request, body);
    this.deliveries.push({ headers: request.headers, body, status, path: request.url });
    if (status < 300) this.accept(request.headers, body);
    response.writeHead(status, headers).end();
  }

  // What it does with a delivery, whoever sends it.
  accept(headers, body) {
    try {
      const event = verify(this.secret, headers, body);
      if (this.events.has(headers['webhook-id'])) this.twice++;
      else this.events.set(headers['webhook-id'], event);
    } catch {
      this.refused++;
    }
  }

  of(type) {
    return [...this.events.values()].filter((event) => event.type === `elicitation.${type}`);
  }

  seen(created, ended, ms = PATIENCE_MS) {
    return within(ms, `${created} created and ${ended} ended, of which came ${this.of('created').length} and ${this.of('ended').length}`, (async () => {
      while (this.of('created').length < created || this.of('ended').length < ended) await pause(10);
    })());
  }
}
