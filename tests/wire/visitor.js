// Somebody who visits pages of one question (/a/...): signed in as a browser is, or by the link alone.
import { Browser } from './credentials.js';

// What the script of a page is told.
const dataOf = (html) => JSON.parse(/<script[^>]*id="?data"?>(.*?)<\/script>/s.exec(html)[1]);

// A browser of somebody who has signed in, or has not.
export class Visitor extends Browser {
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

// Fills the form behind a link in and sends it, as a process of the server's own user, for whom the link is enough.
export const fillIn = (link, content) => new Visitor(link).submit(link, content);
