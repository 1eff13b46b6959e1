// nod in a window: a GTK program on an X server of its own, whose buttons answer what a tool asks, and whose clock goes on meanwhile.
import test from 'node:test';
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, statSync } from 'node:fs';
import path from 'node:path';
import { PATIENCE_MS, connect, environment, pause, program, within } from './harness.js';
import { ADA, scratchFolder, tokenFile } from './modern.js';

const built = existsSync(path.join(process.env.NOD_BIN_DIR, 'tests/wire/window'));
const skip = !built ? 'GTK is not there' : spawnSync('xdotool', ['version']).error ? 'xdotool is not there' : false;

async function display(t) {
  const server = spawn('Xvfb', ['-displayfd', '3', '-screen', '0', '640x480x24', '-nolisten', 'tcp'], { stdio: ['ignore', 'ignore', 'ignore', 'pipe'] });
  t.after(async () => {
    server.kill();
    await once(server, 'close');
  });
  const [number] = await within(PATIENCE_MS, 'Xvfb is there', once(server.stdio[3].setEncoding('utf8'), 'data'));
  return `:${number.trim()}`;
}

test('a window whose button answers stays alive while a question waits', { skip }, async (t) => {
  const ticks = path.join(scratchFolder(t), 'ticks');
  const DISPLAY = await display(t);
  // Debian's GTK keeps what it has once: that is no leak of ours.
  const env = environment({ DISPLAY, ASAN_OPTIONS: `${process.env.ASAN_OPTIONS ?? ''}:detect_leaks=0`, GDK_BACKEND: 'x11', NO_AT_BRIDGE: '1', WINDOW_TOKEN: ADA });
  const child = spawn(program('window'), [ticks, '--http', '127.0.0.1:0', '--token-file', tokenFile(t)], { env, stdio: ['ignore', 'inherit', 'pipe'] });
  t.after(() => child.kill('SIGKILL'));
  let said = '';
  child.stderr.setEncoding('utf8').on('data', (text) => (said += text));
  const ended = once(child, 'close');
  const until = (what, is) => within(PATIENCE_MS, what, (async () => {
    while (!is()) await pause(20);
  })());
  await until('it listens', () => /url=(http\S+mcp)\n/.test(said));
  const server = { url: /url=(http\S+mcp)\n/.exec(said)[1], stderr: () => said };
  const session = await connect(t, 'http', 'window', { server, token: ADA, capabilities: {} }); // only the window can be asked

  const xdotool = (...args) => {
    const ran = spawnSync('xdotool', args, { env, encoding: 'utf8' });
    assert.equal(ran.status, 0, `xdotool ${args.join(' ')}: ${ran.stderr}`);
    return ran.stdout;
  };
  const [window] = xdotool('search', '--sync', '--name', 'nod in a window').trim().split('\n');
  const ticked = () => statSync(ticks).size;
  const geometry = Object.fromEntries(xdotool('getwindowgeometry', '--shell', window).trim().split('\n').map((line) => line.split('=')));
  // The labels are at the top; of what is below, Yes has the upper half, and No the lower.
  const click = (part) => xdotool('mousemove', '--window', window, String(geometry.WIDTH / 2), String(Math.round(geometry.HEIGHT * part)), 'click', '1');

  for (const [part, reply] of [[0.35, 'The canvas is clear.'], [0.8, 'The canvas stays.']]) {
    let over = false;
    const call = session.text('clear').finally(() => (over = true));
    const before = ticked();
    await until('the window ticks while the question waits', () => ticked() > before + 10);
    assert.equal(over, false);
    click(part);
    assert.equal(await within(PATIENCE_MS, 'the click answers', call), reply);
  }
  await session.stop();
  const before = ticked();
  await until('the window ticks when nobody asks', () => ticked() > before);
  child.kill('SIGTERM'); // it stops its server, as when the window is closed, for which there is no window manager here
  const [code] = await within(PATIENCE_MS, 'the program ends', ended);
  assert.equal(code, 0, said);
});
