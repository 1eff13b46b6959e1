// A one-time link, which signs nobody in until its button is pressed. Who made it may not be who opens it: so the page says
// whose sign-in it is, and who is signed in here now. If that is somebody else, Enter alone does not replace them.
import { takeNext } from './next.js';
import { base, ownKey, request, signIn } from './live.js';
import { $, said, tell } from './dom.js';
import { hasty, isCalm, onCalm, stir } from './calm.js';

const whose = $('whose').textContent;
const { ok, status, body: me } = await request('/api/me');
const other = ok && me.principal !== whose ? me.principal : null;
const nobody = status === 401 || status === 403;

if (other) {
  $('now').append(said(other, 'b'), ' is signed in here now, and is signed out then. Whatever is asked and answered here after that is ', said(whose, 'b'), '’s.');
  $('go').replaceChildren('Sign ', said(other), ' out, and ', said(whose), ' in');
} else {
  $('now').append(...(ok ? ['You are signed in here as ', said(whose, 'b'), ' already. This signs you in anew, with the roles of this link.'] : [nobody ? 'Nobody is signed in here now.' : 'It is not known who is signed in here now.']));
}
$('go').disabled = false;
onCalm(() => $('go').setAttribute('aria-disabled', String(!isCalm())));
stir();
if (nobody) $('go').focus(); // the roles of the link may be others than those of whoever is signed in

$('form').addEventListener('submit', async (event) => {
  event.preventDefault();
  tell($('problem'), hasty());
  if (hasty()) return;
  $('go').disabled = true;
  const { ok, status, body } = await signIn(location.pathname.slice(base.length), other ? ownKey() : {});
  if (ok) return location.replace(takeNext());
  $('go').disabled = false;
  if (status === 410 || status === 404) return location.replace(`${base}/login?link=${status === 410 ? 'used' : 'unknown'}`);
  tell($('problem'), body?.detail ?? 'That did not work. Please try again.');
});
