// The pages beside the inbox: lists to look things up in. Each is a function of `sheets`, named as its path.
import { el, button, select, said, folded, timeAgo, exact, lasting, plural } from './dom.js';
import { num } from './json.js';
import { request, readAsk } from './live.js';
import { badge, gistOf, labelOf, pastView, wasAnswered } from './ask.js';

// A list that is read in pieces, from `path`. search() -> what is asked for; row(item, say) -> its node; none() -> what is said
// where there is nothing; top: what is above it.
function listed(title, { path, search, row, none, top }) {
  const list = el('ul.rows'), status = el('p.none', { role: 'status' });
  const more = button('Show more', () => load(true), { hidden: true });
  let cursor, turn = 0;
  const say = (text) => (status.textContent = text ?? (list.children.length ? '' : none()));
  async function load(further) {
    const mine = ++turn, query = new URLSearchParams(search?.());
    if (further) query.set('cursor', cursor);
    const { ok, body } = await request(`${path}?${query}`);
    if (mine !== turn) return; // a later search is on its way
    if (!further) list.replaceChildren();
    if (!ok) return say(body?.detail ?? 'This could not be read. Please try again.');
    list.append(...body.items.map((item) => row(item, say)));
    cursor = body.next;
    more.hidden = !cursor;
    say();
  }
  load();
  return { node: el('section.sheet', el('h1', { tabindex: -1 }, title), top, list, status, more), load, list, changed() {} };
}

const you = (who, me) => (who === me.principal ? 'you' : said(who ?? '?'));

// A button that removes its row, with the second press.
function remover(word, path, say, done) {
  let armed = false;
  const node = button(word, async () => {
    if (!armed) return (armed = true), (node.textContent = `Press again to ${word.toLowerCase()}`);
    const { ok, status, body } = await request(path, 'DELETE');
    const gone = ok || status === 404;
    if (gone) node.closest('li').remove();
    say(gone ? done : (body?.detail ?? 'That did not work. Please try again.'));
  });
  return node;
}

export const sheets = {
  history(me) {
    const text = el('input', { type: 'search', placeholder: 'Search messages, arguments, reasons', 'aria-label': 'Search' });
    const state = select('State', Object.entries({ ended: 'All outcomes', accepted: 'Approved or answered', declined: 'Declined', cancelled: 'Dismissed', expired: 'Expired', withdrawn: 'Withdrawn' }));
    const [tool, who] = ['Tool', 'Who asked'].map((name) => el('input', { type: 'text', placeholder: name, 'aria-label': name }));
    const [since, until] = [0, 1].map(() => el('input', { type: 'date' }));
    let timer;
    const day = (input, time) => input.value && new Date(`${input.value}T${time}`).toISOString();
    const given = () => Object.entries({ q: text.value.trim(), tool: tool.value.trim(), principal: who.value.trim(), since: day(since, '00:00:00'), until: day(until, '23:59:59.999') }).filter(([, value]) => value);

    function row(item) {
      const { by, via, tookMs, at } = item.answer ?? {};
      const body = el('details.entry', { ontoggle: () => body.children.length < 2 && body.append(pastView(item, me.principal, () => readAsk(item.id))) },
        el('summary', badge(item), said(gistOf(item), 'b.gist'), labelOf(item),
          el('span.meta', wasAnswered(item) && ['by ', you(by, me), via !== 'page' && ` (${via})`, tookMs && [' · ', el('span.took', `after ${lasting(num(tookMs))}`)], ' · '], timeAgo(at ?? item.askedAt))));
      return el('li', body);
    }
    const soon = () => {
      clearTimeout(timer);
      timer = setTimeout(sheet.load, 200);
    };
    const sheet = listed('History', {
      path: '/api/elicitation',
      search: () => [['state', state.value], ['limit', 50], ...given()],
      row,
      none: () => (given().length || state.value !== 'ended' ? 'Nothing fits this search.' : 'Nothing was answered yet. What is answered is listed here.'),
      top: el('form.filters', { role: 'search', onsubmit: (event) => (event.preventDefault(), sheet.load()), oninput: soon }, text, state, tool, who, el('label', 'from ', since), el('label', 'to ', until)),
    });
    return { ...sheet, focus: () => text.focus(), changed: () => document.hidden || sheet.list.querySelector('[open]') || soon() };
  },

  grants: (me) => listed('Remembered approvals', {
    path: '/api/grants',
    row: ({ id, tool, label, message, principal, by, createdAt, expiresAt, uses, sleeps }, say) => el('li.grant', el('div', said(tool, 'code'), ' ', said(label, 'b'), folded(message, 'p.about', { limit: 200, lines: 3 }), sleeps && el('p.help', `It sleeps, and calls ask: ${sleeps}.`),
      el('span.meta', principal !== me.principal && ['for ', said(principal), ' · '], 'given by ', you(by, me), ' ', timeAgo(createdAt), ' · ',
        expiresAt ? el('time', { datetime: expiresAt }, `ends ${exact(expiresAt)}`) : 'until revoked', num(uses) ? ` · used ${plural(num(uses), 'time')}` : ' · not used yet')),
    remover('Revoke', `/api/grants/${encodeURIComponent(id)}`, say, 'Revoked. The next call asks again.')),
    none: () => 'Nothing is remembered. When you approve something you may be offered to allow it for longer; what you allowed is listed here.',
  }),

  secrets: (me) => listed('Secrets', {
    path: '/api/secrets',
    row: ({ id, name, principal, tool, createdAt, expiresAt }, say) => el('li.grant', el('div', said(name, 'code'),
      el('span.meta', principal !== me.principal && ['of ', said(principal), ' · '], 'given ', tool && ['to ', said(tool), ' '], timeAgo(createdAt), ' · ',
        expiresAt ? el('time', { datetime: expiresAt }, `ends ${exact(expiresAt)}`) : 'until deleted')),
    remover('Delete', `/api/secrets/${encodeURIComponent(id)}`, say, 'Deleted. Whoever needs it next asks for it.')),
    none: () => 'No secret is stored. When a tool needs one it asks for it on a page of this server; what you gave is listed here by name, never shown.',
  }),

  accounts: (me) => listed('Connected accounts', {
    path: '/api/credentials',
    row: ({ id, title, principal, scopes, state, connectedAt }, say) => el('li.grant', el('div', said(title, 'b'), ' ', scopes && said(scopes, 'code'),
      el('span.meta', principal !== me.principal && ['of ', said(principal), ' · '], 'connected ', timeAgo(connectedAt), state === 'refused' && ' · has to be connected again')),
    remover('Disconnect', `/api/credentials/${encodeURIComponent(id)}`, say, 'Disconnected. Tools are given nothing of it any more.')),
    none: () => 'No account is connected. When a tool needs one of yours, it asks you to connect it; what is connected is listed here.',
  }),
};
