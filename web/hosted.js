// A page of this server that one question is answered on (/a/...). The server sends the same page to everybody; this asks what
// it is about, and draws it: whose question it is and who is signed in, before anything else, then the question and its form, as
// the inbox does, or how it ended. What is entered is kept nowhere, and shown nowhere again. If nobody answered in time, it can
// still be read until the person leaves.
//
// A page that leads elsewhere says where to, and goes there when the person wants. The way back ends at /a/return, from where
// this sends on what the other site has said.
import { words } from './words.js';
import { el, button, folded, tell, said, lasting, timeLeft, tick, now, $ } from './dom.js';
import { num } from './json.js';
import { makeForm, makeSure } from './form.js';
import { hasty, isCalm, onCalm, stir } from './calm.js';
import { base, request, whoAmI, hasKey, isOf, onOther, signInPath, toSignIn } from './live.js';

const submit = el('button.primary', words.submit);

// What stands in the form of a page, whether it may be sent, and what is sent. A kind of page without a row here has a schema, or
// leads elsewhere.
const kinds = {
  form(data) {
    const form = makeForm(data.schema, () => sure.disarm());
    if (data.destructive) submit.classList.add('danger');
    const sure = makeSure(submit, form, { approval: data.destructive || data.consent, destructive: data.destructive, word: () => words.submit });
    return { node: form.node, consent: data.destructive || data.consent, check: () => form.check() && sure.isSure(), content: () => form.content(), refused: (errors) => form.refused(errors) };
  },
  secret({ name, keepMs, lasting: kept }) {
    const attributes = { id: 'secret', autocomplete: 'off', spellcheck: false, required: true, maxlength: 16384 };
    let input = el('input', { ...attributes, type: 'password' });
    const lines = button(words.secretLines, () => {
      const area = el('textarea', { ...attributes, rows: 6 });
      area.value = input.value;
      input.replaceWith(area);
      input = area;
      lines.remove();
      area.focus();
    });
    const until = num(keepMs) ? words.keptFor(lasting(num(keepMs))) : words.keptUntil;
    return {
      node: el('div.field', el('label', { for: 'secret' }, words.secret, said(name, 'code')), input, lines,
        el('p.help', (kept ? words.secretSealed : words.secretMemory)(until))),
      check: () => input.reportValidity(),
      content: () => ({ secret: input.value }),
      refused: (errors) => errors.map(({ message }) => words.secretWrong(message)).join(' '),
      wipe: () => (input.value = ''),
    };
  },
};

// To another site, or to the service of an account.
function leads({ go, principal, service }) {
  const { host, origin, pathname } = new URL(go);
  submit.textContent = words.goTo(host);
  const rows = { ...(service && { [words.accountOf]: principal, [words.service]: service }), [words.addressName]: origin + pathname };
  return {
    node: el('div.body', el('dl', Object.entries(rows).map(([name, value]) => el('div', el('dt', name), said(value, 'dd')))),
      el('details.details', el('summary', words.wholeAddress), folded(go, 'p.v.address')),
      el('p.help', service ? [words.accountHelp[0], said(principal), words.accountHelp[1]] : words.sentBack)),
    go,
  };
}

const note = el('p.note', { role: 'alert', hidden: true });

// How it ended, or why it cannot be shown; and what the person can do then.
function over(text, way = words.canClose) {
  $('form').hidden = true;
  $('verdict').textContent = text;
  $('way').replaceChildren(...[way].flat());
  $('outcome').hidden = false;
}

function refused({ status, body }) {
  // What another site has sent is for whoever was signed in then. It is kept for nobody else, also not in the address.
  const returned = path === '/a/return';
  if (returned && status && status !== 503) history.replaceState(null, '', location.pathname);
  if (status === 401 && returned) return over(words.notTaken, [words.beginAgain, el('a', { href: `${base}/login` }, words.signIn)]);
  if (status === 401) return toSignIn();
  const way = status === 409 ? el('a', { href: `${base}/` }, words.toInbox) : status === 403 || status === 404 ? el('a', { href: signInPath() }, hasKey() ? words.signInOther : words.signIn)
    : !status || status === 503 ? el('a', { href: '' }, words.tryAgain) : undefined;
  over(status === 403 && !hasKey() ? words.lostHalf : (body?.detail ?? words.failed), way);
}

function draw(data, kind) {
  let busy = false;
  const left = timeLeft(data);
  const buttons = el('div.buttons', button(words.decline, () => send('decline')), el('span.yes', submit));
  const clock = setInterval(() => {
    tick();
    if (Date.parse(data.expiresAt) <= now() && !busy) late(words.late);
  }, 1000);
  function stop() {
    clearInterval(clock);
    left.remove();
  }
  function late(text) {
    stop();
    buttons.remove();
    if (kind.go) return over(text);
    tell(note, words.lateKept(text));
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
    else if (status === 401) tell(note, words.outKept);
    else if (status === 422) tell(note, kind.refused(told.errors ?? []) || told.detail);
    else tell(note, status ? (told?.detail ?? words.failed) : words.unreachableKept);
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
    if (kind.consent) tell(note, words.enterNothing);
    else send('accept');
  });
}

// Whose it is comes first.
function show(data) {
  isOf(data.me);
  const [asked, then, as, open] = words.askedOf;
  $('whose').replaceChildren(asked, said(data.principal), then, ...(data.me ? [as, said(data.me)] : [open]));
  $('about').replaceChildren(said(data.tool, 'b'), ...(data.destructive ? [' ', el('span.tag', words.destructive)] : []));
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
