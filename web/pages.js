// History and grants: lists to look things up in.
import { el, button, said, timeAgo, exact, lasting, plural } from './dom.js';
import { num } from './json.js';
import { request } from './live.js';
import { badge, nameOf, messageOf, pastView } from './ask.js';

const failed = (reply) => el('p', { class: 'none', role: 'alert' }, reply.body?.detail ?? 'This could not be read. Please try again.');

export function history(me) {
  const text = el('input', { type: 'search', placeholder: 'Search messages, arguments, reasons', 'aria-label': 'Search' });
  const state = el('select', { 'aria-label': 'State' }, [['ended', 'All outcomes'], ['accepted', 'Approved'], ['declined', 'Declined'], ['cancelled', 'Dismissed'],
    ['expired', 'Expired'], ['withdrawn', 'Withdrawn']].map(([value, word]) => el('option', { value }, word)));
  const tool = el('input', { type: 'text', placeholder: 'Tool', 'aria-label': 'Tool' });
  const who = el('input', { type: 'text', placeholder: 'Who asked', 'aria-label': 'Who asked' });
  const since = el('input', { type: 'date' });
  const until = el('input', { type: 'date' });
  const list = el('ul', { class: 'rows' });
  const status = el('p', { class: 'none', role: 'status' });
  const more = button('Show more', () => load(true), { hidden: true });
  let cursor = null, turn = 0, timer;

  function row(item) {
    const answer = item.answer;
    const body = el('details', { class: 'entry' }, el('summary', {}, badge(item), said(nameOf(item), 'b'), said(messageOf(item).slice(0, 160), 'span', { class: 'gist' }),
      el('span', { class: 'meta' }, said(item.principal), answer?.by ? [' · answered by ', answer.by === me.principal ? 'you' : said(answer.by), answer.via ? ` (${answer.via})` : ''] : null,
        answer?.tookMs ? ` · in ${lasting(num(answer.tookMs))}` : null, ' · ', timeAgo(answer?.at ?? item.askedAt))));
    body.addEventListener('toggle', () => body.children.length < 2 && body.append(pastView(item, me.principal)));
    return el('li', {}, body);
  }
  async function load(further) {
    const mine = ++turn;
    const query = new URLSearchParams({ state: state.value, limit: '50' });
    if (text.value.trim()) query.set('q', text.value.trim());
    if (tool.value.trim()) query.set('tool', tool.value.trim());
    if (who.value.trim()) query.set('principal', who.value.trim());
    if (since.value) query.set('since', new Date(`${since.value}T00:00:00`).toISOString());
    if (until.value) query.set('until', new Date(`${until.value}T23:59:59.999`).toISOString());
    if (further && cursor) query.set('cursor', cursor);
    const reply = await request(`/api/elicitation?${query}`);
    if (mine !== turn) return; // a later search is on its way
    if (!further) list.replaceChildren();
    if (reply.status !== 200) return list.append(el('li', {}, failed(reply)));
    list.append(...reply.body.items.map(row));
    cursor = reply.body.next;
    more.hidden = !cursor;
    status.textContent = list.children.length ? '' : query.size > 2 || state.value !== 'ended' ? 'Nothing fits this search.' : 'Nothing was answered yet. What is answered is listed here.';
  }
  const soon = () => {
    clearTimeout(timer);
    timer = setTimeout(load, 200);
  };
  const search = el('form', { class: 'filters', role: 'search', onsubmit: (event) => (event.preventDefault(), load()), oninput: soon, onchange: soon }, text, state, tool, who, el('label', {}, 'from ', since), el('label', {}, 'to ', until));
  load();
  return { node: el('section', { class: 'sheet' }, el('h1', { tabindex: -1 }, 'History'), search, list, status, more), focus: () => text.focus(), changed: () => document.hidden || !list.querySelector('[open]') && soon() };
}

export function grants(me) {
  const list = el('ul', { class: 'rows' });
  const status = el('p', { class: 'none', role: 'status' });
  const more = button('Show more', () => load(true), { hidden: true });
  let cursor = null;

  function row(grant) {
    let armed = false;
    const revoke = button('Revoke', async () => {
      if (!armed) return (armed = true), (revoke.textContent = 'Press again to revoke');
      const reply = await request(`/api/grants/${encodeURIComponent(grant.id)}`, 'DELETE');
      if (reply.status === 204 || reply.status === 404) {
        item.remove();
        say('Revoked. The next call asks again.');
      } else say(reply.body?.detail ?? 'It could not be revoked. Please try again.');
    });
    const item = el('li', { class: 'grant' }, el('div', {}, said(grant.tool, 'code'), ' ', said(grant.label ?? '', 'b'),
      el('span', { class: 'meta' }, grant.principal !== me.principal ? ['for ', said(grant.principal), ' · '] : null, 'given by ', grant.by === me.principal ? 'you' : said(grant.by ?? '?'), ' ', timeAgo(grant.createdAt), ' · ',
        grant.expiresAt ? el('time', { datetime: grant.expiresAt }, `ends ${exact(grant.expiresAt)}`) : 'until revoked', ' · ', `used ${plural(num(grant.uses) ?? 0, 'time')}`)), revoke);
    return item;
  }
  const say = (word) => (status.textContent = word || (list.children.length ? '' : 'Nothing is remembered. When you approve something you may be offered to allow it for longer; what you allowed is listed here.'));
  async function load(further) {
    const reply = await request(`/api/grants${further && cursor ? `?cursor=${encodeURIComponent(cursor)}` : ''}`);
    if (!further) list.replaceChildren();
    if (reply.status !== 200) return list.append(el('li', {}, failed(reply)));
    list.append(...reply.body.items.map(row));
    cursor = reply.body.next;
    more.hidden = !cursor;
    say('');
  }
  load();
  return { node: el('section', { class: 'sheet' }, el('h1', { tabindex: -1 }, 'Remembered approvals'), list, status, more), focus: () => list.querySelector('button')?.focus(), changed() {} };
}
