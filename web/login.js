// Signing in with a token. It is sent once and kept nowhere: what stays is the sign-in, half of it in a cookie and half in the
// storage of this origin.
import { onward, keepNext, takeNext } from './next.js';
import { signIn } from './live.js';
import { $, tell } from './dom.js';

const query = new URLSearchParams(location.search);
const next = query.get('next') ?? '';

// Why somebody was led here, if it was not to sign in.
const why = {
  used: 'This link was used before, and works once.',
  unknown: 'There is no such link, or its ten minutes are over.',
  ended: 'Your sign-in has ended. Please sign in again.',
};
tell($('note'), why[query.get('link')] ?? '');

$('form').addEventListener('submit', async (event) => {
  event.preventDefault();
  tell($('problem'), '');
  const { ok, status, body } = await signIn('/api/login', { Authorization: `Bearer ${$('token').value.trim()}` });
  if (ok) return takeNext(), location.replace(onward(next));
  tell($('problem'), status === 401 ? 'This token is not known here.' : (body?.detail ?? 'That did not work. Please try again.'));
});
keepNext(next);
$('token').focus();
