// /metrics: what happened is counted, only administrators read it (or whoever reaches --metrics), it is Prometheus' text format
// to the letter, and nothing that a client sends becomes a label.
import test from 'node:test';
import assert from 'node:assert/strict';
import http from 'node:http';
import { connect, runOnce, startHttp, textOf, freePort, pause, within, PATIENCE_MS } from './harness.js';
import { Api, houses, mute, openHouse, token } from './inbox.js';

const NAME = '[a-zA-Z_:][a-zA-Z0-9_:]*';
const LABEL = '[a-zA-Z_][a-zA-Z0-9_]*="(?:[^"\\\\\\n]|\\\\[\\\\"n])*"';
const SAMPLE = new RegExp(`^(${NAME})(?:\\{(${LABEL}(?:,${LABEL})*)\\})? (-?(?:\\d+(?:\\.\\d+)?|\\+Inf))$`);

// The text exposition format 0.0.4, strictly: what Prometheus would merely tolerate is refused.
function parse(text) {
  assert.ok(text.endsWith('\n'), 'the last line ends');
  const families = new Map();
  let now = null;
  for (const line of text.slice(0, -1).split('\n')) {
    const comment = new RegExp(`^# (HELP|TYPE) (${NAME}) (.+)$`).exec(line);
    if (comment?.[1] === 'HELP') {
      assert.ok(!families.has(comment[2]), `${comment[2]} comes once, in one piece`);
      assert.doesNotMatch(comment[3].replace(/\\[\\n]/g, ''), /\\/);
      families.set(comment[2], (now = { name: comment[2], help: comment[3], series: new Map() }));
    } else if (comment) {
      assert.deepEqual([comment[2], now.type, now.series.size], [now.name, undefined, 0], 'TYPE follows HELP, before the samples');
      assert.match(comment[3], /^(counter|gauge|histogram)$/);
      now.type = comment[3];
    } else {
      const sample = SAMPLE.exec(line);
      assert.ok(sample, `a line that is none: ${line}`);
      const [, name, labels = '', value] = sample;
      const endings = now.type === 'histogram' ? ['_bucket', '_sum', '_count'] : [''];
      assert.ok(endings.some((ending) => name === now.name + ending), `${name} below ${now.name}`);
      const key = name.slice(now.name.length) + (labels && `{${labels}}`);
      assert.ok(!now.series.has(key), `${line}: twice`);
      now.series.set(key, Number(value));
    }
  }
  for (const { name, type, series } of families.values()) {
    assert.ok(type, `${name} has a type`);
    assert.equal(type === 'counter', name.endsWith('_total'), `${name} is a ${type}`);
    if (type !== 'histogram') continue;
    const buckets = [...series].filter(([key]) => key.startsWith('_bucket'));
    const bounds = buckets.map(([key]) => Number(/^_bucket\{le="([^"]+)"\}$/.exec(key)[1].replace('+Inf', 'Infinity')));
    assert.ok(bounds.every((bound, i) => i === 0 || bound > bounds[i - 1]), `${name}: bounds rise`);
    assert.equal(bounds.at(-1), Infinity);
    assert.ok(buckets.every(([, count], i) => i === 0 || count >= buckets[i - 1][1]), `${name}: each bucket holds those before it`);
    assert.equal(buckets.at(-1)[1], series.get('_count'));
    assert.ok(series.has('_sum'));
  }
  return (name, key = '') => families.get(name)?.series.get(key);
}

async function figures(server, who = 'root') {
  const { status, type, text } = await new Api(server, who).get('/metrics');
  assert.equal(status, 200);
  assert.equal(type, 'text/plain; version=0.0.4; charset=utf-8');
  return parse(text);
}

test('the parser of this test refuses what is not the format', () => {
  const fine = '# HELP a_total A.\n# TYPE a_total counter\na_total{b="c",d="\\"\\\\"} 1\n';
  assert.equal(parse(fine)('a_total', '{b="c",d="\\"\\\\"}'), 1);
  for (const bad of [fine.trimEnd(), fine + fine, fine.replace('counter', 'number'), fine.replace('} 1', '} one'), fine.replace('"c"', 'c'), fine.replace('"c"', '"\n"'),
    fine + 'a_total{b="c",d="\\"\\\\"} 2\n', fine + 'b_total 1\n', fine + '\n', fine.replaceAll('a_total', 'a'), fine.replace('# TYPE a_total counter\n', ''),
    '# HELP h H.\n# TYPE h histogram\nh_bucket{le="1"} 2\nh_bucket{le="+Inf"} 1\nh_sum 1\nh_count 1\n', '# HELP h H.\n# TYPE h histogram\nh_bucket{le="1"} 1\nh_sum 1\nh_count 1\n'])
    assert.throws(() => parse(bad), undefined, bad);
});

for (const house of houses) {
  test(`${house.name}: asks, answers, calls, lost claims and the store are counted`, async (t) => {
    const { first, last } = await openHouse(t, house);
    const ada = new Api(first, 'ada');
    const client = await mute(t, first, 'ada', { clientInfo: { name: 'evil"} 1\nnod_evil 1', version: '{a="b"}' } });
    const calls = [0, 1, 2].map(() => client.call('ask', { message: 'x"} 1\nnod_evil 1' }));
    const items = await ada.pending(3);
    assert.equal((await figures(first))('nod_asks_pending'), 3);
    await ada.resolve(items[0].id, { approved: true, data: { name: 'Ada' } }, { headers: { 'X-Nod-Via': 'evil"} 1' } });
    await ada.resolve(items[1].id, { approved: false });
    assert.equal((await ada.resolve(items[0].id, { approved: false })).status, 409);
    await ada.resolve(items[2].id, { action: 'cancel' });
    await Promise.all(calls);
    const asking = await connect(t, 'http', 'probe', { server: first, token: token('bob'), answer: () => ({ action: 'accept', content: { name: 'Bob' } }) });
    assert.equal(textOf(await asking.call('ask', { message: 'Who?' })), 'accept {"name":"Bob"}');

    const is = await figures(first);
    assert.equal(is('nod_asks_total'), 4);
    assert.equal(is('nod_asks_pending'), 0);
    assert.equal(is('nod_asks_ended_total', '{state="accepted",surface="api"}'), 1);
    assert.equal(is('nod_asks_ended_total', '{state="declined",surface="api"}'), 1);
    assert.equal(is('nod_asks_ended_total', '{state="cancelled",surface="api"}'), 1);
    assert.equal(is('nod_asks_ended_total', '{state="accepted",surface="client"}'), 1);
    assert.equal(is('nod_answer_seconds', '_count'), 4);
    assert.equal(is('nod_claims_lost_total'), 1);
    assert.equal(is('nod_calls_total'), 4);
    assert.equal(is('nod_calls_ended_total', '{outcome="ok"}'), 4);
    assert.equal(is('nod_calls_live'), 0);
    assert.ok(is('nod_store_seconds', '_count') >= 8);
    assert.deepEqual([is('nod_store_failures_total'), is('nod_store_ready')], [0, 1]);
    assert.ok(is('nod_connections', '{peer="known"}') >= 1);
    assert.ok(is('process_resident_memory_bytes') > 1e6);
    assert.equal(is('nod_info', `{version="0.1.0",store="${house.name.split(' ').at(-1)}"}`), 1);
    if (first !== last) assert.equal((await figures(last))('nod_asks_total'), 0, 'each node counts for itself');
  });
}

test('a cancelled call withdraws its ask, and one that runs out ends by the clock', async (t) => {
  const { first } = await openHouse(t, houses[0], { args: ['--ask-ttl', '1s'] });
  const client = await mute(t, first, 'ada');
  const end = new AbortController();
  const gone = client.call('ask', { message: 'Who?' }, { signal: end.signal });
  await new Api(first, 'ada').pending();
  end.abort();
  await assert.rejects(gone);
  await client.call('ask', { message: 'Who?' }).catch(() => {});
  await within(PATIENCE_MS, 'both are counted', (async () => {
    for (;;) {
      const is = await figures(first);
      if (is('nod_asks_ended_total', '{state="withdrawn",surface="nod"}') === 1 && is('nod_asks_ended_total', '{state="expired",surface="clock"}') === 1 &&
        is('nod_calls_ended_total', '{outcome="cancelled"}') === 1) return;
      await pause(20);
    }
  })());
});

test('only administrators read /metrics, loopback or not', async (t) => {
  const { first } = await openHouse(t, houses[0]);
  for (const who of ['ada', 'bob', 'carl', 'dora']) assert.equal((await new Api(first, who).get('/metrics')).status, 403, who);
  assert.equal((await new Api(first, null).get('/metrics')).status, 401);
  assert.equal((await new Api(first, 'root').get('/metrics', { headers: { 'Sec-Fetch-Site': 'cross-site' } })).status, 403);
  const open = await startHttp(t, 'probe');
  assert.equal((await new Api(open, null).get('/metrics')).status, 401, 'loopback is no credential');
});

// The status of a request with this Host, which fetch does not send.
const statusFor = (url, host) => new Promise((resolve, reject) => {
  http.get(url, { headers: { Host: host }, agent: false }, (response) => resolve(response.resume().statusCode)).on('error', reject);
});

test('--metrics opens an address for nothing else, over HTTP and beside stdio', async (t) => {
  const server = await startHttp(t, 'probe', { args: ['--metrics', '127.0.0.1:0', '--allow-host', 'figures.example'] });
  const line = /event=metrics url=(\S+)/.exec(server.stderr()) ?? (await server.said(/event=metrics/).then((text) => /url=(\S+)/.exec(text)));
  const url = line[1];
  const response = await fetch(url);
  assert.equal(response.status, 200);
  assert.equal(parse(await response.text())('nod_calls_total'), 0);
  assert.equal((await fetch(url, { method: 'HEAD' })).status, 200);
  assert.equal((await fetch(url, { method: 'POST' })).status, 405);
  for (const path of ['/', '/mcp', '/api/me', '/metrics/']) assert.equal((await fetch(new URL(path, url))).status, 404, path);
  assert.equal((await fetch(url, { headers: { Origin: 'http://evil.example' } })).status, 403);
  for (const [host, status] of [['evil.example', 403], ['127.0.0.1.evil.example:80', 403], ['localhost', 200], ['10.1.2.3:9100', 200], ['[::1]:9100', 200], ['Figures.example:9100', 200]])
    assert.equal(await statusFor(url, host), status, `Host: ${host}`);

  const port = await freePort();
  const client = await connect(t, 'stdio', 'probe', { args: ['--metrics', `${port}`], answer: () => ({ action: 'decline' }) });
  await client.call('ask', { message: 'Who?' });
  const is = parse(await (await fetch(`http://127.0.0.1:${port}/metrics`)).text());
  assert.deepEqual([is('nod_calls_total'), is('nod_asks_ended_total', '{state="declined",surface="client"}'), is('nod_connections', '{peer="known"}')], [1, 1, undefined]);
  const taken = await runOnce('probe', ['--http', '0', '--metrics', `${port}`]);
  assert.equal(taken.code, 1, 'a taken port is said');
});
