// The pages beside the inbox: lists to look things up in. Each is a function of `sheets`, named as its path.
import { words } from './words.js';
import { el, button, select, said, folded, timeAgo, exact, lasting } from './dom.js';
import { num } from './json.js';
import { request, readAsk } from './live.js';
import { badge, gistOf, labelOf, pastView, wasAnswered } from './ask.js';

// A list that is read in pieces, from `path`. search() -> what is asked for; row(item, say) -> its node; none() -> what is said
// where there is nothing; top: what is above it.
function listed(title, { path, search, row, none, top }) {
  const list = el('ul.rows'), status = el('p.none', { role: 'status' });
  const more = button(words.showMore, () => load(true), { hidden: true });
  let cursor, turn = 0;
  const say = (text) => (status.textContent = text ?? (list.children.length ? '' : none()));
  async function load(further) {
    const mine = ++turn, query = new URLSearchParams(search?.());
    if (further) query.set('cursor', cursor);
    const { ok, body } = await request(`${path}?${query}`);
    if (mine !== turn) return; // a later search is on its way
    if (!further) list.replaceChildren();
    if (!ok) return say(body?.detail ?? words.unreadable);
    list.append(...body.items.map((item) => row(item, say)));
    cursor = body.next;
    more.hidden = !cursor;
    say();
  }
  load();
  return { node: el('section.sheet', el('h1', { tabindex: -1 }, title), top, list, status, more), load, list, changed() {} };
}

const you = (who, me) => (who === me.principal ? words.you.toLowerCase() : said(who ?? '?'));

// A button that removes its row, with the second press.
function remover(word, path, say, done) {
  let armed = false;
  const node = button(word, async () => {
    if (!armed) return (armed = true), (node.textContent = words.pressAgain(word));
    const { ok, status, body } = await request(path, 'DELETE');
    const gone = ok || status === 404;
    if (gone) node.closest('li').remove();
    say(gone ? done : (body?.detail ?? words.failed));
  });
  return node;
}

export const sheets = {
  history(me) {
    const text = el('input', { type: 'search', placeholder: words.searchWhat, 'aria-label': words.search });
    const state = select(words.state, Object.entries(words.filterStates));
    const [tool, who] = [words.tool, words.whoAsked].map((name) => el('input', { type: 'text', placeholder: name, 'aria-label': name }));
    const [since, until] = [0, 1].map(() => el('input', { type: 'date' }));
    let timer;
    const day = (input, time) => input.value && new Date(`${input.value}T${time}`).toISOString();
    const given = () => Object.entries({ q: text.value.trim(), tool: tool.value.trim(), principal: who.value.trim(), since: day(since, '00:00:00'), until: day(until, '23:59:59.999') }).filter(([, value]) => value);

    function row(item) {
      const { by, via, tookMs, at } = item.answer ?? {};
      const body = el('details.entry', { ontoggle: () => body.children.length < 2 && body.append(pastView(item, me.principal, () => readAsk(item.id))) },
        el('summary', badge(item), said(gistOf(item), 'b.gist'), labelOf(item),
          el('span.meta', wasAnswered(item) && [words.by, you(by, me), via !== 'page' && ` (${via})`, tookMs && [' · ', el('span.took', words.after(lasting(num(tookMs))))], ' · '], timeAgo(at ?? item.askedAt))));
      return el('li', body);
    }
    const soon = () => {
      clearTimeout(timer);
      timer = setTimeout(sheet.load, 200);
    };
    const sheet = listed(words.history, {
      path: '/api/elicitation',
      search: () => [['state', state.value], ['limit', 50], ...given()],
      row,
      none: () => (given().length || state.value !== 'ended' ? words.noMatch : words.noHistory),
      top: el('form.filters', { role: 'search', onsubmit: (event) => (event.preventDefault(), sheet.load()), oninput: soon }, text, state, tool, who, el('label', words.from, since), el('label', words.to, until)),
    });
    return { ...sheet, focus: () => text.focus(), changed: () => document.hidden || sheet.list.querySelector('[open]') || soon() };
  },

  grants: (me) => listed(words.grants, {
    path: '/api/grants',
    row: ({ id, tool, label, message, principal, by, createdAt, expiresAt, uses, sleeps }, say) => el('li.grant', el('div', said(tool, 'code'), ' ', said(label, 'b'), folded(message, 'p.about', { limit: 200, lines: 3 }), sleeps && el('p.help', words.sleeps(sleeps)),
      el('span.meta', principal !== me.principal && [words.whose[0], said(principal), ' · '], words.givenBy, you(by, me), ' ', timeAgo(createdAt), ' · ',
        expiresAt ? el('time', { datetime: expiresAt }, words.endsAt(exact(expiresAt))) : words.untilRevoked, words.used(num(uses)))),
    remover(words.revoke, `/api/grants/${encodeURIComponent(id)}`, say, words.revoked)),
    none: () => words.noGrants,
  }),

  secrets: (me) => listed(words.secrets, {
    path: '/api/secrets',
    row: ({ id, name, principal, tool, createdAt, expiresAt }, say) => el('li.grant', el('div', said(name, 'code'),
      el('span.meta', principal !== me.principal && [words.whose[1], said(principal), ' · '], words.given, tool && [words.givenTo, said(tool), ' '], timeAgo(createdAt), ' · ',
        expiresAt ? el('time', { datetime: expiresAt }, words.endsAt(exact(expiresAt))) : words.untilDeleted)),
    remover(words.delete, `/api/secrets/${encodeURIComponent(id)}`, say, words.deleted)),
    none: () => words.noSecrets,
  }),

  accounts: (me) => listed(words.connectedAccounts, {
    path: '/api/credentials',
    row: ({ id, title, principal, scopes, state, connectedAt }, say) => el('li.grant', el('div', said(title, 'b'), ' ', scopes && said(scopes, 'code'),
      el('span.meta', principal !== me.principal && [words.whose[1], said(principal), ' · '], words.connected, timeAgo(connectedAt), state === 'refused' && words.reconnect)),
    remover(words.disconnect, `/api/credentials/${encodeURIComponent(id)}`, say, words.disconnected)),
    none: () => words.noAccounts,
  }),
};
