// A page of this server that one question is answered on (/a/...). The server has drawn the question, and how it ended if
// it has; this draws the form, as the inbox does, and sends it. What is entered is kept nowhere, and shown nowhere again. If
// nobody answered in time, it can still be read until the person leaves.
import { el, button, folded, tell, said, lasting, timeLeft, tick, setNow, now, $ } from './dom.js';
import { parse, write, num } from './json.js';
import { makeForm, makeSure } from './form.js';

const submit = el('button.primary', 'Submit');

// Each kind of page: what stands in the form, whether it may be sent, and what is sent.
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

const data = parse($('data').textContent);
const note = el('p.note', { role: 'alert', hidden: true });

function over(text) {
  $('form').hidden = true;
  $('verdict').textContent = text;
  $('outcome').hidden = false;
}

async function post(body) {
  try {
    const headers = { 'Content-Type': 'application/json' };
    if (data.csrf) headers['X-CSRF-Token'] = data.csrf;
    const reply = await fetch(location.pathname, { method: 'POST', headers, body: write(body) });
    return { status: reply.status, told: parse(await reply.text()) };
  } catch {
    return { status: 0 };
  }
}

function draw(kind) {
  let busy = false;
  const left = el('span', ' · ', timeLeft(data.expiresAt));
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
    tell(note, `${text} What you wrote was not sent. You can read it here until you leave this page.`);
  }
  async function send(action) {
    if (busy || (action === 'accept' && !kind.check())) return;
    busy = true;
    tell(note, '');
    const { status, told } = await post({ action, content: action === 'accept' ? kind.content() : undefined });
    busy = false;
    if (told?.outcome && (told.state === 'expired' || told.state === 'withdrawn') && action === 'accept') late(told.outcome);
    else if (told?.outcome) stop(), over(told.outcome), kind.wipe?.();
    else if (status === 422) tell(note, kind.refused(told.errors ?? []) || told.detail);
    else tell(note, status ? (told?.detail ?? 'That did not work. Please try again.') : 'The server cannot be reached. What you wrote is still here.');
  }
  $('message').replaceChildren(folded(data.message, 'span', { limit: 1500, lines: 20 }));
  document.querySelector('.who').append(left);
  $('form').append(kind.node, note, buttons);
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

setNow(data.now);
if (kinds[data.kind] && data.state === 'pending') draw(kinds[data.kind](data));
