// Where somebody wanted to go when they were led to the sign-in, for which there may be a link that opens in another tab. So it
// is kept in this browser, as long as such a link works.
const base = new URL('../..', import.meta.url);
const LASTS_MS = 600_000;

// Only these pages are followed; with anything else it goes on to the inbox. No link that signs in is among them, nor what
// another site has sent: whoever signs in may not be who it was sent to.
const PAGES = /^\/(history|grants|secrets|accounts|(ask|a)\/(?!return$)[\w-][\w.-]*)$/;
export const onward = (next) => (PAGES.test(next) ? new URL(`.${next}`, base) : base);

export const keepNext = (next) => onward(next) !== base && localStorage.setItem('nod-next', `${Date.now()} ${next}`);

export function takeNext() {
  const [at, next] = (localStorage.getItem('nod-next') ?? '').split(' ');
  localStorage.removeItem('nod-next');
  return Date.now() - at < LASTS_MS ? onward(next) : base;
}
