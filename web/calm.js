// Was a press meant for what is on this page? Another site can lead a tab here, or take its own window away from over this one,
// while the person clicks on. So what gives consent counts only after a moment of calm: since the page was opened, came to the
// front, or showed something new. A press in that moment does nothing, is told so, and begins the moment again.
//
// In a frame (view.js) the host is around it, and the focus comes with the press itself.
import { words } from './words.js';

const CALM_MS = 1000;
const hearsCalm = [];
const framed = self !== top;
let calmAt = 0, calmTimer, stirredBy;

export function stir(why = stirredBy) {
  stirredBy = why;
  calmAt = performance.now() + CALM_MS;
  for (const hear of hearsCalm) hear();
  clearTimeout(calmTimer);
  calmTimer = setTimeout(() => hearsCalm.forEach((hear) => hear()), CALM_MS + 10);
}
// Called when the moment begins, and when it is over.
export const onCalm = (hear) => hearsCalm.push(hear);
export const isCalm = () => performance.now() >= calmAt;
// Why a press does not count, in words.
export const hasty = () => (isCalm() && (framed || document.hasFocus()) ? '' : words.hasty(stirredBy));

const stirOpened = () => stir(words.pageOpened);
const stirFront = () => framed || document.hidden || stir(words.cameToFront);
const stirPress = () => isCalm() || stir();
stirOpened();
addEventListener('pageshow', stirOpened);
addEventListener('focus', stirFront);
document.addEventListener('visibilitychange', stirFront);
addEventListener('pointerdown', stirPress, true);
addEventListener('keydown', ({ key, target }) => (key === 'Enter' || (key === ' ' && target.matches?.('button'))) && stirPress(), true);
addEventListener('click', ({ detail, target }) => detail > 1 && target.closest?.('button') && stir(words.doubleClick), true);
