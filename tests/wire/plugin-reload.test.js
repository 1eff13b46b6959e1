// SIGHUP at nod serve: the configuration is read again, whole. What has changed takes effect; what is wrong changes nothing.
import test from 'node:test';
import assert from 'node:assert/strict';
import { appendFileSync, chmodSync, copyFileSync, existsSync, mkdirSync, readFileSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import https from 'node:https';
import { callTool, complaints, nextAsk, pause, rawPeer, textOf, within, PATIENCE_MS } from './harness.js';
import { Api, token } from './inbox.js';
import { ADA, BOB, Modern } from './modern.js';
import { STEADY, linesOf, serveHome, toolsOf } from './serving.js';
import { certificate, overTls } from './tls.js';

const WORD = { what: 'it' };
const said = (server, tool, args = {}) => new Modern(server.url).ended(tool, args);
const mapped = (server) => new Set(readFileSync(`/proc/${server.pid}/maps`, 'utf8').match(/\S*\/copies-\w+\/\S+/g) ?? []);
const copies = (home) => readdirSync(home.at('state/nod/plugins')).filter((name) => name.startsWith('copies-')).flatMap((name) => readdirSync(home.at('state/nod/plugins', name)));

async function reload(server) {
  server.signal('SIGHUP');
  await server.said(/event="the configuration was read again"/);
}
async function refused(server) {
  server.signal('SIGHUP');
  return linesOf(await server.said(/event="the configuration is not taken, and nothing changes"/))[0].why;
}
// What the log complains of, but for what every first start says.
const complains = (server) => complaints(server.stderr()).filter((line) => !/no secret is set|has no tools yet/.test(line));
async function until(what, found) {
  for (const end = Date.now() + PATIENCE_MS; !found(); await pause(10)) assert.ok(Date.now() < end, `never: ${what}`);
}

test('plugins are added, replaced and removed, and the old object is no longer in memory', async (t) => {
  const home = serveHome(t);
  const [steady, taken] = [home.plugin('steady-1', 'steady'), home.plugin('taken')];
  home.configure('[server]\n');
  const server = await home.start();
  assert.deepEqual(await toolsOf(server), []);

  home.configure(`[server]\nplugin = ${steady}\n`);
  await reload(server);
  assert.deepEqual(await toolsOf(server), STEADY);
  assert.equal(await said(server, 'steady.plain', WORD), 'one: it');
  const first = mapped(server);
  assert.equal(first.size, 1);

  await reload(server); // nothing has changed
  assert.deepEqual(mapped(server), first);

  home.plugin('steady-2', 'steady'); // in place
  await reload(server);
  assert.equal(await said(server, 'steady.plain', WORD), 'two: it');
  await server.said(/unloaded one/);
  await server.said(/event="the old code of a plugin was let go".*plugin=steady version=1/);
  const second = mapped(server);
  assert.equal(second.size, 1);
  assert.notDeepEqual(second, first);

  renameSync(home.plugin('steady-1-again', 'other'), steady);
  await reload(server);
  assert.equal(await said(server, 'steady.plain', WORD), 'again: it');
  await server.said(/unloaded two/);

  // Another plugin of the same file, which has one of its tools.
  copyFileSync(taken, steady);
  await reload(server);
  assert.deepEqual(await toolsOf(server), ['steady.plain', 'taken.own']);
  await server.said(/unloaded again/);

  home.configure('[server]\n');
  await reload(server);
  await server.said(/event="a plugin was removed" plugin=taken/);
  assert.deepEqual(await toolsOf(server), []);
  await until('the last object is gone', () => mapped(server).size === 0 && copies(home).length === 0);
  assert.deepEqual(complains(server), []);
});

test('a folder of plugins is looked at again, and two plugins may exchange their tools and their files', async (t) => {
  const home = serveHome(t);
  home.configure(`[server]\nplugins = ${home.at('plugins')}\n`);
  const server = await home.start();
  home.plugin('steady-1', 'a');
  await reload(server);
  assert.equal(await said(server, 'steady.plain', WORD), 'one: it');
  home.plugin('taken', 'b');
  assert.match(await refused(server), /plugins/);
  assert.match(linesOf(server.stderr(), 'error').at(-2).why, /the name of its tool steady\.plain is taken, by the plugin steady/);
  assert.deepEqual(await toolsOf(server), STEADY);
  rmSync(home.at('plugins/a.so'));
  await reload(server);
  assert.deepEqual(await toolsOf(server), ['steady.plain', 'taken.own']);
  // The same plugin under another file is the same plugin.
  renameSync(home.at('plugins/b.so'), home.at('plugins/a.so'));
  await reload(server);
  await server.said(/event="a plugin was replaced" plugin=taken/);
  assert.deepEqual(await toolsOf(server), ['steady.plain', 'taken.own']);
  // One name at two files: the first is new, the second would stay.
  home.plugin('steady-1', 'a');
  home.plugin('steady-2', 'b');
  assert.match(await refused(server), /plugins/);
  assert.match(linesOf(server.stderr(), 'error').at(-2).why, /its name, steady, is that of another plugin: .*a\.so/);
  assert.deepEqual(await toolsOf(server), ['steady.plain', 'taken.own']);
});

test('its settings have changed: it is loaded again with them', async (t) => {
  const home = serveHome(t);
  const configure = (more) => home.configure(`[server]\nplugin = ${home.at('plugins/steady.so')}\n[plugin steady]\n${more}`);
  home.plugin('steady-1', 'steady');
  configure('');
  const server = await home.start();
  assert.equal(await said(server, 'steady.limits'), 'one: at most 3');
  configure('limit = 7\n');
  await reload(server);
  assert.equal(await said(server, 'steady.limits'), 'one: at most 7');
  configure('limit = 70\n');
  assert.match(await refused(server), /plugins/);
  assert.match(linesOf(server.stderr(), 'error').at(-2).why, /nod\.ini:4: limit: /);
  assert.equal(await said(server, 'steady.limits'), 'one: at most 7');
});

// What is wrong, beside changes that are right: a plugin more, another level, and one plugin less.
const WRONG = {
  'an unknown key': (home) => home.configure(`[server]\nlog = debug\nplugn = ${home.at('plugins/gone.so')}\n`),
  'a setting of a plugin': (home) => home.configure(`[server]\nlog = debug\nplugin = ${home.plugin('steady-2', 'more')}\n[plugin steady]\nlimit = 0\n`),
  'a plugin that is no file': (home) => home.configure(`[server]\nlog = debug\nplugin = ${home.at('nowhere.so')}\n`),
  'a plugin that is broken': (home) => {
    writeFileSync(home.plugin('steady-2', 'more'), readFileSync(home.at('plugins/steady.so')).subarray(0, 5000));
    home.configure(`[server]\nlog = debug\nplugin = ${home.at('plugins/more.so')}\n`);
  },
  'a plugin that fails': (home) => home.configure(`[server]\nlog = debug\nplugin = ${home.plugin('steady-2', 'more')}\nplugin = ${home.plugin('fails')}\n`),
  'a plugin that is required': (home) => home.configure('[server]\nlog = debug\n[plugin steady]\nrequired = yes\n'),
  'a file that others may write': (home) => {
    home.configure('[server]\nlog = debug\n');
    chmodSync(home.at('config/nod/nod.ini'), 0o666);
  },
  'a token file': (home) => {
    home.configure(`[server]\nlog = debug\ntoken-file = ${home.file('tokens', 'short x\n')}\nplugin = ${home.plugin('steady-2', 'more')}\n`);
  },
};
const WHERE = {
  'an unknown key': /nod\.ini:3: .*plugn.*plugin/,
  'a setting of a plugin': /nod\.ini:5: limit: /,
  'a plugin that is no file': /No such file/,
  'a plugin that is broken': /more\.so why="it is cut off: /,
  'a plugin that fails': /its \.load has failed/,
  'a plugin that is required': /a plugin is required, and is not loaded.*plugin=steady.*nod\.ini line=3/,
  'a file that others may write': /nod\.ini: others may write this file/,
  'a token file': /tokens:1: the token is shorter/,
};
for (const [what, wrong] of Object.entries(WRONG))
  test(`${what}: nothing changes, and the log says where`, async (t) => {
    const home = serveHome(t);
    const tokens = home.file('tokens', `${ADA} ada ask answer\n`);
    home.configure(`[server]\ntoken-file = ${tokens}\nplugin = ${home.plugin('steady-1', 'steady')}\n`);
    const server = await home.start();
    const before = mapped(server);
    const ada = new Modern(server.url, { token: ADA });
    wrong(home);
    await refused(server);
    assert.match(server.stderr(), WHERE[what]);
    assert.equal(await ada.ended('steady.plain', WORD), 'one: it');
    assert.deepEqual(await toolsOf(server, { token: ADA }), STEADY);
    assert.doesNotMatch(server.stderr(), /level=debug/);
    await until('what was loaded for it is gone', () => mapped(server).size === before.size && copies(home).length === 1);
    assert.doesNotMatch(server.stderr(), /the old code of a plugin was let go/);
    home.configure(`[server]\ntoken-file = ${home.file('tokens', `${BOB} bob ask answer\n`)}\nplugin = ${home.plugin('steady-2', 'steady')}\n`);
    await reload(server);
    assert.equal(await new Modern(server.url, { token: BOB }).ended('steady.plain', WORD), 'two: it');
    assert.equal((await ada.call('steady.plain', WORD)).status, 401);
  });

test('tokens, certificate, rules of remember and log level take effect; what needs a restart is named, and stays', async (t) => {
  const home = serveHome(t);
  const [first, second] = ['first', 'second'].map((name) => certificate(home.folder, name));
  const [one, two] = [home.file('one', `${token('ada')} ada ask answer\n`), home.file('two', `${token('bob')} bob ask answer\n`)];
  for (const { key } of [first, second]) chmodSync(key, 0o600);
  const configure = (tokens, pair, more = '') => home.configure(`[server]\nplugin = ${home.at('plugins/steady.so')}\ntoken-file = ${tokens}\ntls-cert = ${pair.cert}\ntls-key = ${pair.key}\n${more}`);
  home.plugin('steady-1', 'steady');
  configure(one, first);
  const server = await home.start();
  const agent = () => new https.Agent({ ca: [first.ca, second.ca] });
  const overs = (method, path, headers, body) => overTls([first.ca, second.ca], agent())(new URL(path, server.url), { method, headers, body });
  const shown = () => new Promise((resolve, reject) => https.get(new URL('/readyz', server.url), { ca: [first.ca, second.ca], agent: agent() }, (response) => {
    resolve(response.socket.getPeerCertificate().subject.CN);
    response.resume();
  }).on('error', reject));
  const status = async (who) => (await overs('GET', '/api/me', { Authorization: `Bearer ${token(who)}` })).status;
  assert.deepEqual([await shown(), await status('ada'), await status('bob')], ['first', 200, 401]);

  await reload(server); // nothing has changed
  assert.deepEqual(complains(server), []);

  const restarts = 'log = debug\nstore = memory:\nask-ttl = 1d\nmetrics = 127.0.0.1:1\n';
  configure(two, second, `${restarts}[oauth github]\n`);
  assert.match(await refused(server), /nod\.ini:10: .*github/, 'a service without what it needs');
  assert.deepEqual([await shown(), await status('ada'), await status('bob')], ['first', 200, 401]);
  configure(two, second, `${restarts}[oauth github]\nissuer = https://example.com\nclient_id = nod\n`);
  await reload(server);
  const named = linesOf(server.stderr(), 'warn').filter(({ event }) => /needs a restart/.test(event)).map(({ setting }) => setting);
  assert.deepEqual(named.sort(), ['ask-ttl', 'metrics', 'store', undefined]);
  assert.match(server.stderr(), /a service has changed that needs a restart.*oauth=github/);
  assert.deepEqual([await shown(), await status('ada'), await status('bob')], ['second', 401, 200]);
  assert.match(server.stderr(), /level=debug/);

  // What is not named any more stays, also after a further reload; a file that is read again is read under its new name.
  home.configure(`[server]\nplugin = ${home.at('plugins/steady.so')}\n`);
  for (let i = 0; i < 2; i++) {
    await reload(server);
    assert.deepEqual([await shown(), await status('ada'), await status('bob')], ['second', 401, 200]);
  }
  assert.deepEqual(linesOf(server.stderr(), 'warn').filter(({ event }) => /needs a restart/.test(event)).slice(4).map(({ setting }) => setting).sort(),
    ['tls-cert', 'tls-cert', 'tls-key', 'tls-key', 'token-file', 'token-file']);
});

test('rules of remember: what may be remembered is what the newest configuration says', async (t) => {
  const home = serveHome(t);
  const tokens = home.file('tokens', `${token('ada')} ada ask answer\n`);
  const configure = (more) => home.configure(`[server]\nplugin = ${home.at('plugins/steady.so')}\ntoken-file = ${tokens}\n${more}`);
  home.plugin('steady-1', 'steady');
  configure('');
  const server = await home.start();
  const api = new Api(server, 'ada');
  const offered = async () => {
    const peer = await rawPeer(t, 'http', 'nod', { server, token: token('ada'), capabilities: {} });
    const call = await callTool(peer, 'steady.approve');
    const [item] = await api.pending();
    assert.equal((await api.resolve(item.id, { approved: true })).status, 200);
    assert.match(textOf((await call.reply()).result), /at most 3/);
    return item.remember.map(({ label }) => label);
  };
  assert.deepEqual(await offered(), ['Allow for this session, with these arguments']);
  configure('remember = none\n');
  await reload(server);
  assert.deepEqual(await offered(), []);
  configure('remember = steady.approve=2h\n');
  await reload(server);
  assert.deepEqual(await offered(), ['Allow for 2 hours, with these arguments']);
});

test('a hook has asked, and its plugin is removed: a no to its question still counts', async (t) => {
  const home = serveHome(t);
  const tokens = home.file('tokens', `${token('ada')} ada ask answer\n`);
  const [steady, doorman] = [home.plugin('steady-1', 'steady'), home.plugin('doorman')];
  const configure = (...plugins) => home.configure(`[server]\ntoken-file = ${tokens}\n${plugins.map((file) => `plugin = ${file}\n`).join('')}`);
  configure(steady, doorman);
  const server = await home.start();
  const api = new Api(server, 'ada');
  const peer = await rawPeer(t, 'http', 'nod', { server, token: token('ada'), capabilities: {} });
  for (const stays of [true, false]) {
    const call = await callTool(peer, 'steady.plain', WORD);
    const [item] = await api.pending();
    assert.match(item.message, /May it begin\?/);
    if (!stays) {
      configure(steady);
      await reload(server);
    }
    assert.equal((await api.resolve(item.id, { action: 'decline' })).status, 200);
    const { result } = await call.reply();
    assert.equal(result.isError, true);
    assert.match(textOf(result), stays ? /The doorman said no/ : /A person did not confirm this; nothing was done/);
  }
});

test('a run under way ends in the old code, which is unloaded after the last of them', async (t) => {
  const home = serveHome(t);
  const steady = home.plugin('steady-1', 'steady');
  home.configure(`[server]\nplugin = ${steady}\n`);
  const server = await home.start();
  const run = async (name) => {
    const file = home.at(name);
    const ended = said(server, 'steady.slow', { what: file });
    await until('it runs', () => existsSync(`${file}.begun`));
    return { ended, finish: () => writeFileSync(file, '') };
  };
  const [one, two] = [await run('one'), await run('two')];
  const [object] = mapped(server);
  home.plugin('steady-2', 'steady');
  await reload(server);
  const three = await run('three');
  assert.equal(mapped(server).size, 2);
  one.finish();
  assert.equal(await one.ended, 'one: slow');
  assert.ok(mapped(server).has(object));
  assert.doesNotMatch(server.stderr(), /unloaded/);
  home.configure('[server]\n'); // and now the new one leaves, too
  await reload(server);
  assert.equal(mapped(server).size, 2);
  assert.deepEqual(await toolsOf(server), []);
  three.finish();
  assert.equal(await three.ended, 'two: slow');
  await server.said(/unloaded two/);
  await until('the newer object is gone', () => mapped(server).size === 1);
  two.finish();
  assert.equal(await two.ended, 'one: slow');
  await server.said(/unloaded one/);
  await until('both are gone', () => mapped(server).size === 0 && copies(home).length === 0);
  assert.equal(server.stderr().match(/unloaded/g).length, 2);
});

test('a configuration that was moved away, or that another one has come before, changes nothing', async (t) => {
  const home = serveHome(t);
  const file = home.configure(`[server]\nplugin = ${home.plugin('steady-1', 'steady')}\n`);
  const server = await home.start();
  renameSync(file, `${file}.old`);
  assert.equal(await refused(server), `${file}, which is in force, is not there any more; put it back, or restart`);
  assert.deepEqual(await toolsOf(server), STEADY);
  renameSync(`${file}.old`, file);
  await reload(server);
  assert.deepEqual(await toolsOf(server), STEADY);
});

test('SIGHUP again and again while the server stops does not keep it from that', async (t) => {
  const home = serveHome(t);
  const steady = home.plugin('steady-1', 'steady');
  home.configure(`[server]\nplugin = ${steady}\n`);
  for (let i = 0; i < 5; i++) {
    const server = await home.start();
    home.plugin(i % 2 ? 'steady-1' : 'steady-2', 'steady');
    const stopped = server.stop(); // it ends with 0
    const storm = setInterval(() => server.signal('SIGHUP'), 1);
    await stopped.finally(() => clearInterval(storm));
    assert.doesNotMatch(server.stderr().split('event=stopping')[1], /a plugin was (replaced|removed|loaded)/);
  }
});

test('a plugin whose .load fails at a reload has removed nothing of another one', async (t) => {
  const home = serveHome(t);
  const steady = home.plugin('steady-1', 'steady');
  home.configure(`[server]\nplugin = ${steady}\n`);
  const server = await home.start();
  home.configure(`[server]\nplugin = ${steady}\nplugin = ${home.plugin('service-fails')}\n`);
  assert.match(await refused(server), /its plugins cannot be used/);
  const kept = linesOf(server.stderr(), 'error').filter(({ event }) => event === 'nothing is removed while a plugin is loaded, but what it has registered itself');
  assert.deepEqual(kept.map(({ plugin, kind, name }) => [plugin, kind, name]), [['fails', 'tool', 'steady.plain'], ['fails', 'hook', 'steady-note']]);
  assert.deepEqual(await toolsOf(server), STEADY);
  assert.equal(await said(server, 'steady.plain', WORD), 'one: it');
});

test('a service is as the server has opened it: a plugin that comes again has the same one, or is refused', async (t) => {
  const home = serveHome(t);
  const one = home.plugin('service-one', 'one');
  home.configure(`[server]\nplugin = ${one}\n\n[plugin one]\nrequired = yes\n`);
  const server = await home.start();
  const whys = () => linesOf(server.stderr(), 'error').filter(({ event }) => event === 'a plugin cannot be loaded').map(({ why }) => why);

  home.plugin('service-one-other', 'one');
  await refused(server);
  assert.match(whys().at(-1), /^its service svc is new, or not as it was, .*: restart it$/);
  home.plugin('service-one', 'one');
  home.configure(`[server]\nplugin = ${one}\nplugin = ${home.plugin('service-two', 'two')}\n`);
  await refused(server);
  assert.equal(whys().at(-1), 'the name of its service svc is taken, by the plugin one');

  appendFileSync(one, '\0'); // another file, of the same code
  home.configure(`[server]\nplugin = ${one}\n`);
  await reload(server);
  await server.said(/event="a plugin was replaced" plugin=one/);
  const { text } = await new Modern(server.url, { capabilities: { elicitation: { url: {} } } }).call('one.want');
  assert.match(text, /Service one/);
});
