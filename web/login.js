// Signing in with a token. It is sent once and kept nowhere: what stays is the sign-in, half of it in a cookie and half in the
// storage of this origin.
import { words } from './words.js';
import { onward, keepNext, takeNext } from './next.js';
import { signIn } from './live.js';
import { $, tell } from './dom.js';

const query = new URLSearchParams(location.search);
const next = query.get('next') ?? '';

// Why somebody was led here, if it was not to sign in.
const why = query.get('link');
tell($('note'), Object.hasOwn(words.links, why) ? words.links[why] : '');

$('form').addEventListener('submit', async (event) => {
  event.preventDefault();
  tell($('problem'), '');
  const { ok, status, body } = await signIn('/api/login', { Authorization: `Bearer ${$('token').value.trim()}` });
  if (ok) return takeNext(), location.replace(onward(next));
  tell($('problem'), status === 401 ? words.badToken : (body?.detail ?? words.failed));
});
keepNext(next);
$('token').focus();
