// Signing in with a token. It is sent once and kept nowhere: what stays is the session's cookie.
const [form, token, problem] = ['form', 'token', 'problem'].map((id) => document.getElementById(id));
const base = new URL('..', import.meta.url);

// Why somebody was led here, if it was not to sign in.
const why = { used: 'This link was opened before, and works once.', unknown: 'There is no such link, or its ten minutes are over.' };
const note = document.getElementById('note');
note.textContent = why[new URLSearchParams(location.search).get('link')] ?? '';
note.hidden = !note.textContent;

function say(text) {
  problem.hidden = !text;
  problem.textContent = text;
}

// Only a path of ours is followed; with anything else in the address it goes on to the inbox. Whoever comes back from
// another page does so with its query.
function onward(next) {
  if (!/^(\/[\w.-]+)+$/.test(next) && !/^\/a\/return\?[!-~]*$/.test(next)) return base;
  const to = new URL(`.${next}`, base);
  return to.href.startsWith(base.href) ? to : base;
}

form.addEventListener('submit', async (event) => {
  event.preventDefault();
  say('');
  try {
    const reply = await fetch(new URL('api/login', base), { method: 'POST', headers: { Authorization: `Bearer ${token.value.trim()}` } });
    if (reply.ok) return location.replace(onward(new URLSearchParams(location.search).get('next') ?? ''));
    const body = await reply.json().catch(() => ({}));
    say(reply.status === 401 ? 'This token is not known here.' : (body.detail ?? 'That did not work. Please try again.'));
  } catch {
    say('The server cannot be reached.');
  }
});
token.focus();
