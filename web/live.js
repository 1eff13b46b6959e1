// Talking to the server: requests with the session's token, and the stream of changes with its end and return.
import { parse, write } from './json.js';
import { setNow } from './dom.js';

// Where our paths begin: behind a proxy the server may live below one.
export const base = new URL('..', import.meta.url).pathname.slice(0, -1);
export const askPath = (id) => `/ask/${encodeURIComponent(id)}`;
const apiPath = (id) => `/api/elicitation/${encodeURIComponent(id)}`;
let csrf = null;

// A reply is { ok, status, body }; status 0: the server cannot be reached.
export async function request(path, method = 'GET', body) {
  const headers = {};
  if (body) headers['Content-Type'] = 'application/json';
  if (method !== 'GET') headers['X-CSRF-Token'] = csrf;
  try {
    const reply = await fetch(base + path, { method, headers, body: body && write(body) });
    const text = await reply.text();
    const data = text ? parse(text) : null;
    setNow(data?.now);
    return { ok: reply.ok, status: reply.status, body: data };
  } catch {
    return { status: 0, body: { detail: 'The server cannot be reached.' } };
  }
}

export const readAsk = (id) => request(apiPath(id));
export const answerAsk = (id, body) => request(`${apiPath(id)}/resolve`, 'POST', body);

export async function whoAmI() {
  const reply = await request('/api/me');
  if (reply.ok) csrf = reply.body.csrf;
  return reply;
}

// Calls on.state('live' | 'lost' | 'out'), on.fresh() when the whole list is to be read, on.changes(data).
export function watch(on) {
  let source, pause = 300;
  const lost = async () => {
    source.close();
    on.state('lost');
    const { status } = await whoAmI(); // the stream does not say why it ended
    if (status === 401 || status === 403) {
      on.state('out');
      return addEventListener('focus', open, { once: true }); // perhaps signed in again, in another tab
    }
    setTimeout(open, pause);
    pause = Math.min(pause * 1.7, 5000);
  };
  function open() {
    const mine = (source = new EventSource(`${base}/api/events`));
    const held = []; // what comes before the list was read
    let ready = false;
    source.onopen = async () => {
      ready = false;
      if (!(await on.fresh())) return mine === source && lost();
      ready = true;
      held.splice(0).forEach(on.changes);
      pause = 300;
      on.state('live');
    };
    source.onerror = lost;
    source.addEventListener('changes', (event) => {
      const data = parse(event.data);
      setNow(data.now);
      ready ? on.changes(data) : held.push(data);
    });
    source.addEventListener('reset', () => on.fresh());
    source.addEventListener('bye', lost);
  }
  open();
}
