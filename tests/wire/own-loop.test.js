// Programs with a loop of their own: the two examples, over both transports, killed and resumed; and what nod does not do to such a process,
// by its system calls.
import test from 'node:test';
import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { Inbox, PATIENCE_MS, connect, environment, initializeMessage, isAsk, onBoth, pause, program, startHttp, textOf, within, withoutInbox } from './harness.js';
import { Modern, connectModern, metaOf, retryOf, scratchFolder } from './modern.js';

withoutInbox();

const examples = [
  { name: 'own-loop-poll', look: 'look', tool: 'heat', args: { degrees: 1200 }, question: 'Heat the kiln to 1200 degrees?',
    yes: 'The kiln heats to 1200 degrees.', no: 'The kiln stays as it is.', goesOn: /(\d+) looks/ },
  { name: 'own-loop-glib', look: 'look', tool: 'switch_lamp', args: { on: false }, question: 'Switch the lamp off?',
    yes: 'The lamp is off.', no: 'The lamp stays on.', goesOn: /blinked (\d+) times/ },
].filter(({ name }) => name !== 'own-loop-glib' || existsSync(path.join(process.env.NOD_BIN_DIR, 'examples', name))); // GLib may not be there

for (const example of examples) {
  const count = (text) => Number(example.goesOn.exec(text)[1]);

  onBoth(test, `${example.name} asks, and goes on while the person thinks`, async (t, kind) => {
    const session = await connect(t, kind, example.name);
    const call = session.text(example.tool, example.args);
    const question = await session.question();
    assert.equal(question.params.message, example.question);
    const before = count(await session.text(example.look));
    while (count(await session.text(example.look)) === before); // nobody answers meanwhile
    question.accept({});
    assert.equal(await call, example.yes);
  });

  onBoth(test, `${example.name} takes a no`, async (t, kind) => {
    const session = await connect(t, kind, example.name, { answer: () => ({ action: 'decline' }) });
    assert.equal(await session.text(example.tool, example.args), example.no);
  });

  test(`${example.name} serves clients of 2026`, async (t) => {
    for (const kind of ['stdio', 'http']) {
      const client = await connectModern(t, kind, example.name, { answer: () => ({ action: 'accept', content: {} }) });
      assert.equal(await client.text(example.tool, example.args), example.yes);
    }
  });
}

// --- killed and resumed ---

const SECRET = { MCP_ELICITATION_SECRET: 'a secret that is surely long enough for this' };

for (const example of examples) {
  test(`http: ${example.name} is killed while a person thinks, and goes on with the answer`, async (t) => {
    const args = ['--store', `sqlite:${path.join(scratchFolder(t), 'calls.db')}`];
    const first = await startHttp(t, example.name, { args, env: SECRET });
    const session = await connectModern(t, 'http', example.name, { server: first });
    const call = session.text(example.tool, example.args);
    const question = await session.question();
    await first.kill();
    await startHttp(t, example.name, { args, env: SECRET, port: Number(new URL(first.url).port) });
    question.accept({});
    assert.equal(await call, example.yes);
  });

  // A client that starts its server again, with what it had in its hands.
  test(`stdio: ${example.name} is killed while a person thinks, and goes on with the answer`, async (t) => {
    const options = { args: ['--store', `sqlite:${path.join(scratchFolder(t), 'calls.db')}`], env: SECRET };
    const begin = async () => {
      const transport = new StdioClientTransport({ command: program(example.name), args: options.args, env: environment(SECRET), stderr: 'inherit' });
      const came = new Inbox();
      transport.onmessage = (message) => came.push(message);
      await transport.start();
      t.after(() => transport.close());
      return {
        pid: transport.pid,
        ended: once(transport._process, 'close'),
        call: async (more) => {
          await transport.send({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: example.tool, arguments: example.args, _meta: metaOf(), ...more } });
          return (await came.next(({ id }) => id === 1, 'the reply')).result;
        },
      };
    };
    const first = await begin();
    const round = await first.call();
    assert.equal(round.resultType, 'input_required');
    process.kill(first.pid, 'SIGKILL');
    await first.ended;
    const second = await begin();
    const [key] = Object.keys(round.inputRequests);
    const result = await second.call({ requestState: round.requestState, inputResponses: { [key]: { action: 'accept', content: {} } } });
    assert.equal(textOf(result), example.yes);
  });
}

// --- the process is the program's ---

const traced = ['rt_sigaction', 'write', 'writev', 'pwrite64', 'sendmsg', 'sendto', 'dup2', 'dup3', 'exit', 'exit_group', 'prlimit64', 'setrlimit', 'kill', 'tgkill'];
const hasStrace = spawnSync('strace', ['-o', '/dev/null', 'true']).status === 0;

onBoth(test, 'nod sets no signal handler, writes to no standard stream, and ends no process', async (t, kind) => {
  if (!hasStrace) return t.skip('strace is not there, or may not trace');
  const folder = scratchFolder(t);
  const file = path.join(folder, 'log');
  const trace = path.join(folder, 'trace');
  const store = ['--store', `sqlite:${path.join(folder, 'calls.db')}`];
  const child = spawn('strace', ['-f', '-o', trace, '-e', `trace=${traced.join()}`, program('own-process'), file, ...(kind === 'http' ? ['--http', '127.0.0.1:0', '--no-inbox'] : []), ...store],
    // A sanitizer that looks for leaks would trace the process itself.
    { env: environment({ ASAN_OPTIONS: `${process.env.ASAN_OPTIONS ?? ''}:detect_leaks=0`, NOD_LOG: 'debug' }), stdio: ['ignore', 'inherit', 'inherit', 'pipe', 'pipe'] });
  t.after(() => child.kill('SIGKILL'));
  const ended = within(PATIENCE_MS, 'the program ends', once(child, 'close'));
  const said = () => (existsSync(file) ? readFileSync(file, 'utf8') : '');

  if (kind === 'http') {
    await within(PATIENCE_MS, 'it listens', (async () => {
      while (!/url=http\S+\n/.test(said())) await pause(20);
    })());
    const url = /url=(http\S+)\n/.exec(said())[1];
    const modern = new Modern(url);
    const round = await modern.asked('ask');
    const [key] = Object.keys(round.inputRequests);
    assert.equal(await modern.ended('ask', {}, retryOf(round, { [key]: { action: 'accept', content: {} } })), 'yes');
    assert.equal(await modern.ended('work'), 'worked');
    await modern.call('stop');
  } else {
    const came = new Inbox();
    let rest = '';
    child.stdio[4].setEncoding('utf8').on('data', (text) => {
      const lines = (rest + text).split('\n');
      rest = lines.pop();
      for (const line of lines) came.push(JSON.parse(line));
    });
    const send = (message) => child.stdio[3].write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
    const call = (id, name) => send({ id, method: 'tools/call', params: { name } });
    send(initializeMessage({ elicitation: {} }));
    send({ method: 'notifications/initialized' });
    call(1, 'ask');
    const asked = await came.next(isAsk, 'a question');
    send({ id: asked.id, result: { action: 'accept', content: {} } });
    assert.equal(textOf((await came.next(({ id }) => id === 1, 'the reply')).result), 'yes');
    call(2, 'work');
    assert.equal(textOf((await came.next(({ id }) => id === 2, 'the reply')).result), 'worked');
    child.stdio[3].end(); // the client goes, and the server with it
  }

  const [code] = await ended;
  assert.equal(code, 7, said());
  assert.match(said(), /is there after nod\n$/); // main has returned; nothing has ended it
  const calls = readFileSync(trace, 'utf8').split('\n');
  const those = (what) => calls.filter((line) => what.test(line));
  assert.ok(those(/ write\(\d+, "is there after nod"/).length === 1, 'the trace shows what the program writes');
  assert.deepEqual(those(/rt_sigaction\(SIG(INT|TERM|HUP|PIPE|CHLD), \{/), []);
  assert.deepEqual(those(/ (write|writev|pwrite64|sendmsg|sendto|dup2|dup3)\([012][,)]/), []);
  assert.deepEqual(those(/ dup[23]\(\d+, [012]\b/), []);
  assert.deepEqual(those(/ (kill|tgkill)\(/), []);
  assert.deepEqual(those(/RLIMIT_NOFILE, \{/), []);
  assert.equal(those(/exit_group\(/).length, 1);
});
