// A one-time link, which signs nobody in until its button is pressed. Who made it may not be who opens it: so the page says
// whose sign-in it is, and who is signed in here now. If that is somebody else, Enter alone does not replace them.
import { words } from './words.js';
import { takeNext } from './next.js';
import { base, ownKey, request, signIn } from './live.js';
import { $, said, tell } from './dom.js';
import { hasty, isCalm, onCalm, stir } from './calm.js';

const whose = $('whose').textContent;
const { ok, status, body: me } = await request('/api/me');
const other = ok && me.principal !== whose ? me.principal : null;
const nobody = status === 401 || status === 403;

if (other) {
  $('now').append(said(other, 'b'), words.replaces[0], said(whose, 'b'), words.replaces[1]);
  $('go').replaceChildren(words.swap[0], said(other), words.swap[1], said(whose), words.swap[2]);
} else {
  $('now').append(...(ok ? [words.already[0], said(whose, 'b'), words.already[1]] : [nobody ? words.nobodyHere : words.unknownHere]));
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
  tell($('problem'), body?.detail ?? words.failed);
});
