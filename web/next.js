// Where somebody wanted to go when they were led to the sign-in, for which there may be a link that opens in another tab. So it
// is kept in this browser, as long as such a link works.
const base = new URL('..', import.meta.url);
const LASTS_MS = 600_000;

// Only a path of ours is followed; with anything else it goes on to the inbox. Whoever comes back from another page does so
// with its query.
export function onward(next) {
  if (!/^(\/[\w.-]+)+$/.test(next) && !/^\/a\/return\?[!-~]*$/.test(next)) return base;
  const to = new URL(`.${next}`, base);
  return to.href.startsWith(base.href) ? to : base;
}

export const keepNext = (next) => onward(next) !== base && localStorage.setItem('nod-next', `${Date.now()} ${next}`);

export function takeNext() {
  const [at, next] = (localStorage.getItem('nod-next') ?? '').split(' ');
  localStorage.removeItem('nod-next');
  return Date.now() - at < LASTS_MS ? onward(next) : base;
}
