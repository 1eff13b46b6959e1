// A page of this server that one question is answered on (/a/...). The server sends the same page to everybody; this asks what
// it is about, and draws it: whose question it is and who is signed in, before anything else, then the question and its form, as
// the inbox does, or how it ended. What is entered is kept nowhere, and shown nowhere again. If nobody answered in time, it can
// still be read until the person leaves.
//
// A page that leads elsewhere says where to, and goes there when the person wants. The way back ends at /a/return, from where
// this sends on what the other site has said.
import { el, button, folded, tell, said, lasting, timeLeft, tick, now, $ } from './dom.js';
import { num } from './json.js';
import { makeForm, makeSure } from './form.js';
import { hasty, isCalm, onCalm, stir } from './calm.js';
import { LOST_HALF, base, request, whoAmI, hasKey, isOf, onOther, signInPath, toSignIn } from './live.js';

const submit = el('button.primary', 'Submit');

// What stands in the form of a page, whether it may be sent, and what is sent. A kind of page without a row here has a schema, or
// leads elsewhere.
const kinds = {
  form(data) {
    const form = makeForm(data.schema, () => sure.disarm());
    if (data.destructive) submit.classList.add('danger');
    const sure = makeSure(submit, form, { approval: data.destructive || data.consent, destructive: data.destructive, word: () => 'Submit' });
    return { node: form.node, consent: data.destructive || data.consent, check: () => form.check() && sure.isSure(), content: () => form.content(), refused: (errors) => form.refused(errors) };
  },
  secret({ name, keepMs, lasting: kept }) {
    const attributes = { id: 'secret', autocomplete: 'off', spellcheck: false, required: true, maxlength: 16384 };
    let input = el('input', { ...attributes, type: 'password' });
    const lines = button('Enter several lines', () => {
      const area = el('textarea', { ...attributes, rows: 6 });
      area.value = input.value;
      input.replaceWith(area);
      input = area;
      lines.remove();
      area.focus();
    });
    const until = num(keepMs) ? `for ${lasting(num(keepMs))}` : 'until you delete it';
    return {
      node: el('div.field', el('label', { for: 'secret' }, 'Secret ', said(name, 'code')), input, lines,
        el('p.help', kept ? `It is stored sealed, for you alone, ${until}. Tools that you use may use it; it is shown to nobody.`
          : `It is kept in the memory of this server only, ${until} or the server stops; then it is asked for again. It is shown to nobody.`)),
      check: () => input.reportValidity(),
      content: () => ({ secret: input.value }),
      refused: (errors) => errors.map(({ message }) => `The secret ${message}.`).join(' '),
      wipe: () => (input.value = ''),
    };
  },
};

// To another site, or to the service of an account.
function leads({ go, principal, service }) {
  const { host, origin, pathname } = new URL(go);
  submit.textContent = `Go on to ${host}`;
  const rows = { ...(service && { 'Account of': principal, Service: service }), Address: origin + pathname };
  return {
    node: el('div.body', el('dl', Object.entries(rows).map(([name, value]) => el('div', el('dt', name), said(value, 'dd')))),
      el('details.details', el('summary', 'The whole address'), folded(go, 'p.v.address')),
      el('p.help', service ? ['You sign in there, with the account that is to be connected. It is then used for calls of ', said(principal), '.'] : 'From there you are sent back here.')),
    go,
  };
}

const note = el('p.note', { role: 'alert', hidden: true });

// How it ended, or why it cannot be shown; and what the person can do then.
function over(text, way = 'You can close this page.') {
  $('form').hidden = true;
  $('verdict').textContent = text;
  $('way').replaceChildren(...[way].flat());
  $('outcome').hidden = false;
}

function refused({ status, body }) {
  // What another site has sent is for whoever was signed in then. It is kept for nobody else, also not in the address.
  const returned = path === '/a/return';
  if (returned && status && status !== 503) history.replaceState(null, '', location.pathname);
  if (status === 401 && returned) return over('Nobody is signed in here: what the other site has sent was not taken.', ['Sign in, and begin again from the question. ', el('a', { href: `${base}/login` }, 'Sign in')]);
  if (status === 401) return toSignIn();
  const way = status === 409 ? el('a', { href: `${base}/` }, 'To the inbox') : status === 403 || status === 404 ? el('a', { href: signInPath() }, hasKey() ? 'Sign in as somebody else' : 'Sign in')
    : !status || status === 503 ? el('a', { href: '' }, 'Try again') : undefined;
  over(status === 403 && !hasKey() ? LOST_HALF : (body?.detail ?? 'That did not work.'), way);
}

function draw(data, kind) {
  let busy = false;
  const left = timeLeft(data);
  const buttons = el('div.buttons', button('Decline', () => send('decline')), el('span.yes', submit));
  const clock = setInterval(() => {
    tick();
    if (Date.parse(data.expiresAt) <= now() && !busy) late('The time for this is over: nobody answered.');
  }, 1000);
  function stop() {
    clearInterval(clock);
    left.remove();
  }
  function late(text) {
    stop();
    buttons.remove();
    if (kind.go) return over(text);
    tell(note, `${text} What you wrote was not sent. You can read it here until you leave this page.`);
  }
  async function send(action) {
    if (hasty()) return tell(note, hasty());
    if (action === 'accept' && kind.go) return location.assign(kind.go);
    if (busy || (action === 'accept' && !kind.check())) return;
    busy = true;
    tell(note, '');
    const { status, body: told } = await request(path, 'POST', { action, content: action === 'accept' ? kind.content() : undefined });
    busy = false;
    if (told?.outcome && (told.state === 'expired' || told.state === 'withdrawn') && action === 'accept') late(told.outcome);
    else if (told?.outcome) stop(), over(told.outcome), kind.wipe?.();
    else if (status === 401) tell(note, 'You are signed out here, and nothing was sent. Sign in again in another tab: what you wrote is still here.');
    else if (status === 422) tell(note, kind.refused(told.errors ?? []) || told.detail);
    else tell(note, status ? (told?.detail ?? 'That did not work. Please try again.') : 'The server cannot be reached. What you wrote is still here.');
  }
  $('about').append(left);
  $('form').append(kind.node, note, buttons);
  $('form').hidden = false;
  onCalm(() => buttons.querySelectorAll('button').forEach((one) => one.setAttribute('aria-disabled', String(!isCalm()))));
  stir();
  $('form').addEventListener('submit', (event) => {
    event.preventDefault();
    if (buttons.isConnected) send('accept');
  });
  // Enter in a line sends data, and never gives consent.
  $('form').addEventListener('keydown', (event) => {
    if (event.key !== 'Enter' || event.isComposing || !event.target.matches('input')) return;
    event.preventDefault();
    if (event.repeat || !buttons.isConnected || event.target.matches('[type=checkbox], [type=radio]')) return;
    if (kind.consent) tell(note, 'Enter alone sends nothing here: press Submit.');
    else send('accept');
  });
}

// Whose it is comes first.
function show(data) {
  isOf(data.me);
  $('whose').replaceChildren('Asked of ', said(data.principal), '; ', ...(data.me ? ['you are signed in as ', said(data.me)] : ['here the link alone opens it']));
  $('about').replaceChildren(said(data.tool, 'b'), ...(data.destructive ? [' ', el('span.tag', '▲ Destructive')] : []));
  $('message').replaceChildren(folded(data.message, 'span', { limit: 1500, lines: 20 }));
  const kind = data.go ? leads : kinds[data.kind] ?? (data.schema && kinds.form);
  if (data.state !== 'pending') over(data.outcome);
  else if (kind) draw(data, kind(data));
  // Somebody who has signed in again goes on; if it is somebody else, this page is not theirs.
  if (data.me) onOther(async () => (await whoAmI()).ok && tell(note, ''));
}

const path = location.pathname.slice(base.length);
const reply = path === '/a/return' ? await request(path + location.search, 'POST') : await request(`${path}/data`);
if (reply.ok) show(reply.body);
else refused(reply);
