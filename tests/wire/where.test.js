// The tables of docs/where.md, walked: every cell is a call, and the question must come up where the cell says, and nowhere else.
import test from 'node:test';
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { HttpPeer, startHttp, textOf, within, PATIENCE_MS } from './harness.js';
import { Modern } from './modern.js';
import { Api, token, tokenFile } from './inbox.js';

const page = readFileSync(new URL('../../docs/where.md', import.meta.url), 'utf8');
const SOFT = '1s';

// What the words of the tables mean.
const capabilities = {
  'forms and links': { elicitation: { form: {}, url: {} } },
  forms: { elicitation: { form: {} } },
  links: { elicitation: { url: {} } },
  views: { extensions: { 'io.modelcontextprotocol/ui': { mimeTypes: ['text/html;profile=mcp-app'] } } },
  nothing: {},
};
const tools = { data: ['data'], 'a yes': ['yes', 'danger', 'gated'], 'a link': ['link'], 'a page': ['page', 'secret', 'account', 'returns'] };

// Whoever has these roles; without any word, as ada has them.
const people = { ada: 'ask answer', carl: 'ask', eve: 'ask approve', root: 'ask admin' };
const whose = (roles = '`ask answer`') => Object.keys(people).find((name) => `\`${people[name]}\`` === roles);

// Every cell: { options, who, era, client, tool, where }.
function cells() {
  const found = [];
  let heads = null;
  for (const line of page.split('\n')) {
    if (!line.startsWith('|')) {
      heads = null;
      continue;
    }
    const row = line.slice(1, -1).split('|').map((cell) => cell.trim());
    if (heads === null) heads = row;
    else if (!/^[- ]+$/.test(row[0])) {
      const of = Object.fromEntries(heads.map((head, i) => [head, row[i]]));
      const [, era, client, quiet] = /^(2025|2026): (.*?)(, and the tool has no `\.asks`)?$/.exec(of['the client declares']);
      assert.ok(capabilities[client], `an unknown client: ${client}`);
      for (const what of heads.filter((head) => tools[head]))
        for (const tool of tools[what].slice(0, quiet && what === 'a yes' ? 1 : undefined)) // the others may ask without saying so
          found.push({ options: of.option?.replaceAll('`', '') ?? '', who: whose(of.roles), era, client, tool: quiet ? `quiet_${tool}` : tool, where: of[what] });
    }
  }
  return found;
}

// A link to a question's page in the inbox leads there.
function modeOf(server, params) {
  if (params.mode !== 'url') return 'form';
  return params.url.startsWith(new URL('/ask/', server.url).href) ? 'inbox' : 'link';
}

// Where a call's question comes up: what the client is given, and what the inbox lists meanwhile.
async function places(server, { era, client, who, tool: name }) {
  const seen = new Set();
  // Each call has arguments of its own: the same call of another client of ada's would find the one that waits already.
  const args = { era, client, who };
  const inbox = new Api(server, 'root');
  const look = async () => {
    const items = (await inbox.list({ tool: name, limit: 200 })).json?.items ?? [];
    if (items.some((item) => item.arguments.era === era && item.arguments.client === client && item.arguments.who === who)) seen.add('inbox');
  };
  const ended = (result) => {
    if (result._meta?.elicitationPending) seen.add('model');
    else if (result.structuredContent?.pending) seen.add(result._meta?.ui ? 'view' : 'inbox');
    else if (/nobody|not the model's/.test(textOf(result))) seen.add('nobody');
    else assert.fail(`an end nobody asked for: ${JSON.stringify(result)}`);
  };

  if (era === '2026') {
    const reply = await new Modern(server.url, { token: token(who), capabilities: capabilities[client] }).call(name, args);
    assert.ok(reply.result, reply.text);
    if (reply.result.resultType === 'input_required')
      for (const request of Object.values(reply.result.inputRequests)) seen.add(modeOf(server, request.params));
    else ended(reply.result);
    await look();
    return seen;
  }
  const peer = await new HttpPeer(server.url, { token: token(who) }).initialize(capabilities[client]);
  try {
    await peer.send({ id: 'call', method: 'tools/call', params: { name, arguments: args } });
    const message = await peer.next((one) => one.method === 'elicitation/create' || one.id === 'call', 'a question or the end');
    if (message.method) {
      seen.add(modeOf(server, message.params));
      await look();
    } else {
      ended(message.result);
      await look();
    }
    return seen;
  } finally {
    peer.close();
  }
}

const all = cells();
assert.ok(all.length >= 42, `docs/where.md has only ${all.length} cells`);

for (const options of new Set(all.map((cell) => cell.options))) {
  test(`where a person is asked, ${options || 'as usual'}`, { concurrency: true }, async (t) => {
    const server = await startHttp(t, 'where-server', {
      args: ['--token-file', tokenFile(t, people), '--soft-deadline', SOFT, ...(options ? options.split(' ') : [])],
    });
    // All of them at the same time: most of it is waiting.
    await Promise.all(all.filter((one) => one.options === options).map((cell) =>
      t.test(`${cell.who}: ${cell.era}: ${cell.client}: ${cell.tool}: ${cell.where}`, async () => {
        const seen = await within(PATIENCE_MS, 'the call', places(server, cell));
        assert.deepEqual([...seen].sort(), cell.where.split(' and ').sort());
      })));
  });
}
