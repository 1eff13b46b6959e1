// Somebody who visits pages of one question (/a/...): signed in as a browser is, or by the link alone.
import { Browser } from './credentials.js';

// A browser of somebody who has signed in, or has not.
export class Visitor extends Browser {
  // What the script of the page asks for: `link` is that of a question, or the address that another site has sent the person back to.
  async page(link, headers = {}) {
    const { href, origin, pathname } = new URL(link, this.origin);
    const reply = pathname === '/a/return' ? await this.fetch(href, { method: 'POST', headers: { Origin: origin, ...headers } }) : await this.fetch(`${href}/data`, { headers });
    const data = await reply.json();
    return { status: reply.status, data, go: data.go, said: data.outcome || data.detail };
  }

  // The page itself, which is the same for everybody.
  async shell(link) {
    const reply = await this.fetch(link, { headers: { 'Sec-Fetch-Site': 'none', 'X-Page-Key': undefined } });
    return { status: reply.status, headers: reply.headers, html: await reply.text() };
  }

  async submit(link, content, { action = 'accept', headers = {} } = {}) {
    const reply = await this.fetch(link, { method: 'POST', headers: { 'Content-Type': 'application/json', ...headers }, body: JSON.stringify({ action, content }) });
    const text = await reply.text();
    return { status: reply.status, text, body: text ? JSON.parse(text) : null };
  }
}

// Fills the form behind a link in and sends it, as a process of the server's own user, for whom the link is enough.
export const fillIn = (link, content) => new Visitor(link).submit(link, content);
