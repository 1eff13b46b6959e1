// The program nod in a pseudo-terminal: what it draws is read, and keys are typed.
//
//   const screen = new Screen(t, ['inbox'], { env })
//   await screen.until(/1 waiting/)        what it shows from then on
//   screen.type('a\n')
//   await screen.end()                     its exit code
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import { environment, program, within, PATIENCE_MS } from './harness.js';

export const UTF8 = { LC_ALL: 'C.UTF-8' };

export class Screen {
  constructor(t, args, { rows = 24, columns = 80, env = {} } = {}) {
    const script = path.join(import.meta.dirname, 'pseudo_terminal.py');
    this.child = spawn('python3', [script, String(rows), String(columns), program('nod'), ...args], {
      env: environment({ TERM: 'xterm', ...UTF8, ...env }),
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    this.shown = '';
    this.read = 0; // up to here it was waited for
    this.child.stdout.setEncoding('utf8').on('data', (data) => (this.shown += data));
    this.child.stdin.on('error', () => {});
    this.ended = once(this.child, 'close');
    t.after(() => this.child.stdin.end());
  }

  // Waits until it shows this, after what was waited for before.
  until(wanted) {
    return within(PATIENCE_MS, `${wanted} on the screen, after ${JSON.stringify(this.shown.slice(this.read - 200))}`, (async () => {
      for (;;) {
        const found = wanted.exec(this.shown.slice(this.read));
        if (found) {
          this.read += found.index + found[0].length;
          return found;
        }
        await Promise.race([once(this.child.stdout, 'data'), this.ended.then(() => Promise.reject(new Error(`it ended: ${this.shown}`)))]);
      }
    })());
  }

  type(text) {
    this.child.stdin.write(JSON.stringify(['type', text]) + '\n');
  }

  resize(rows, columns) {
    this.child.stdin.write(JSON.stringify(['size', rows, columns]) + '\n');
  }

  async end() {
    const [code] = await within(PATIENCE_MS, 'the command ends', this.ended);
    assert.doesNotMatch(this.shown, /Sanitizer|runtime error/);
    return code;
  }
}
