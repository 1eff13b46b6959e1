// Signing in with a token. It is sent once and kept nowhere: what stays is the session's cookie.
import { onward, keepNext, takeNext } from './next.js';

const [form, token, problem] = ['form', 'token', 'problem'].map((id) => document.getElementById(id));
const base = new URL('..', import.meta.url);
const query = new URLSearchParams(location.search);
const next = query.get('next') ?? '';

// Why somebody was led here, if it was not to sign in.
const why = { used: 'This link was opened before, and works once.', unknown: 'There is no such link, or its ten minutes are over.' };
const note = document.getElementById('note');
note.textContent = why[query.get('link')] ?? '';
note.hidden = !note.textContent;

function say(text) {
  problem.hidden = !text;
  problem.textContent = text;
}

form.addEventListener('submit', async (event) => {
  event.preventDefault();
  say('');
  try {
    const reply = await fetch(new URL('api/login', base), { method: 'POST', headers: { Authorization: `Bearer ${token.value.trim()}` } });
    if (reply.ok) return takeNext(), location.replace(onward(next));
    const body = await reply.json().catch(() => ({}));
    say(reply.status === 401 ? 'This token is not known here.' : (body.detail ?? 'That did not work. Please try again.'));
  } catch {
    say('The server cannot be reached.');
  }
});
keepNext(next);
token.focus();
