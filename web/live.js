// Talking to the server: signing in and out, requests with the page's half of the sign-in, and the stream of changes with its
// end and return.
//
// A cookie is sent to every port of a host, so it opens nothing alone. The page key, which the server hands over when somebody
// signs in, is kept in the storage of this origin, for all its tabs, and sent as a header. A page goes on with the key that it
// began with: if somebody else signs in in another tab, nothing of this page is sent in their name.
import { words } from './words.js';
import { parse, write } from './json.js';
import { button, el, setNow } from './dom.js';

// Where our paths begin: behind a proxy the server may live below one.
const top = new URL('../..', import.meta.url);
export const base = top.pathname.slice(0, -1);

// This server has no service worker. One that is here was left by a program that had this address before, and sees all that is
// sent: nothing is sent with it. The page does not wait for this before it listens to keys and clicks.
const clean = (async () => {
  const workers = await navigator.serviceWorker?.getRegistrations().catch(() => []) ?? [];
  const strange = workers.filter(({ scope }) => scope.startsWith(top.href) || top.href.startsWith(scope));
  if (!strange.length) return;
  await Promise.all(strange.map((one) => one.unregister()));
  const again = () => location.reload();
  const notice = el('dialog', { role: 'alertdialog', 'aria-label': words.workerTitle, onclose: again }, el('p', words.workerWhat), button(words.goOn, again));
  document.body.append(notice);
  notice.showModal();
  await new Promise(() => {});
})();

export const askPath = (id) => `/ask/${encodeURIComponent(id)}`;
const apiPath = (id) => `/api/elicitation/${encodeURIComponent(id)}`;
const KEY = `nod-key${base}`;
const stored = () => localStorage.getItem(KEY);
const keyed = (by) => (by ? { 'X-Page-Key': by } : {});
let key = stored(), me = null;

export const hasKey = () => Boolean(stored());
// Whose page this is.
export const isOf = (principal) => (me = principal);
// Somebody has signed in or out in another tab.
export const onOther = (heard) => addEventListener('storage', ({ key: name }) => (name === KEY || name === null) && heard());

// A reply is { ok, status, body }; status 0: the server cannot be reached. What is in a cache was put there by somebody else.
export async function request(path, method = 'GET', body, headers = keyed(key)) {
  if (body) headers = { ...headers, 'Content-Type': 'application/json' };
  await clean;
  try {
    const reply = await fetch(base + path, { method, headers, body: body && write(body), cache: 'no-store' });
    const text = await reply.text();
    const data = text ? parse(text) : null;
    setNow(data?.now);
    return { ok: reply.ok, status: reply.status, body: data };
  } catch {
    return { status: 0, body: { detail: words.unreachable } };
  }
}

export const readAsk = (id) => request(apiPath(id));
export const answerAsk = (id, body) => request(`${apiPath(id)}/resolve`, 'POST', body);

// The page's half of its own sign-in: sent with another one, that one takes its place.
export const ownKey = () => keyed(key);
export async function signIn(path, headers = {}) {
  const reply = await request(path, 'POST', null, headers);
  if (reply.ok) localStorage.setItem(KEY, reply.body.key);
  return reply;
}

export async function signOut() {
  await request('/api/logout', 'POST');
  localStorage.removeItem(KEY);
}

// The sign-in, from where the person comes back to this page.
export const signInPath = () => `${base}/login?next=${encodeURIComponent(location.pathname.slice(base.length))}`;
export const toSignIn = () => location.replace(`${signInPath()}${key ? '&link=ended' : ''}`);

// Who is signed in in this browser now. If that is who this page is of, it goes on with that sign-in; it is not somebody else's.
export async function whoAmI() {
  const now = stored();
  const reply = await request('/api/me', 'GET', null, keyed(now));
  if (!reply.ok) return reply;
  if (me && me !== reply.body.principal) return location.reload(), new Promise(() => {});
  key = now;
  isOf(reply.body.principal);
  return reply;
}

// --- the stream: it is read with fetch, because an EventSource sends no header ---

// Calls heard(event, data) for each, until it ends.
async function listen(path, signal, opened, heard) {
  const reply = await fetch(base + path, { headers: keyed(key), signal, cache: 'no-store' });
  if (!reply.ok) return;
  opened();
  const reader = reply.body.pipeThrough(new TextDecoderStream()).getReader();
  for (let text = '', { value, done } = await reader.read(); !done; { value, done } = await reader.read()) {
    let from = Math.max(0, text.length - 1), end;
    for (text += value; (end = text.indexOf('\n\n', from)) >= 0; from = 0) {
      const fields = Object.fromEntries(text.slice(0, end).split('\n').map((line) => line.split(/: ?([^]*)/)));
      text = text.slice(end + 2);
      if (fields.event) heard(fields.event, fields.data);
    }
  }
}

// Calls on.state('live' | 'lost' | 'out'), on.fresh() when the whole list is to be read, on.changes(data).
export function watch(on) {
  let turn, pause = 300, out = false;
  async function lost() {
    turn?.abort();
    const mine = (turn = new AbortController());
    if (!out) on.state('lost'); // whoever is out stays out until the server has said who is here
    const { ok, status } = await whoAmI(); // the stream does not say why it ended
    if (mine !== turn) return;
    const refused = status === 401 || status === 403;
    out = refused || (out && !ok);
    on.state(out ? 'out' : 'lost');
    if (!refused) setTimeout(() => mine === turn && open(), pause);
    pause = Math.min(pause * 1.7, 5000);
  }
  async function open() {
    const mine = (turn = new AbortController());
    const held = []; // what comes before the list was read
    let ready = false;
    const opened = async () => {
      if (!(await on.fresh())) return mine === turn && lost();
      if (mine !== turn) return;
      ready = true;
      held.splice(0).forEach(on.changes);
      pause = 300, out = false;
      on.state('live');
    };
    const events = {
      changes(data) {
        setNow(data.now);
        ready ? on.changes(data) : held.push(data);
      },
      reset: () => ready && on.fresh(),
      bye: () => mine === turn && lost(),
    };
    try {
      await listen('/api/events', mine.signal, opened, (event, data) => mine === turn && events[event]?.(parse(data)));
    } catch {
      // the connection is lost
    }
    if (mine === turn) lost();
  }
  onOther(lost);
  addEventListener('focus', () => document.body.dataset.live === 'out' && lost());
  open();
}
