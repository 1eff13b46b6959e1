// What the tests of `nod serve` share: a home of their own, with a configuration and plugins in it.
//
//   const home = serveHome(t);
//   home.plugin('steady-1')                 copies an object of tests/wire/plugins or examples/plugins into the home; gives its path there
//   home.configure('[server]\n...')         writes the configuration; gives its path
//   await home.start({ args, env })         nod serve, as startHttp
//   await home.refused({ args, env })       the same, where it is expected not to start: { code, stderr }
import { chmodSync, copyFileSync, existsSync, mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { runOnce, startHttp } from './harness.js';
import { Modern, scratchFolder } from './modern.js';

const objects = ['tests/wire/plugins', 'examples/plugins'].map((folder) => path.join(process.env.NOD_BIN_DIR, folder));

export function serveHome(t) {
  const folder = scratchFolder(t);
  chmodSync(folder, 0o700);
  const at = (...names) => path.join(folder, ...names);
  const env = { HOME: folder, XDG_CONFIG_HOME: at('config'), XDG_STATE_HOME: at('state'), XDG_RUNTIME_DIR: at('run') };
  for (const name of ['config', 'config/nod', 'state', 'run', 'plugins']) mkdirSync(at(name), { recursive: true, mode: 0o700 });
  const home = { folder, at, env };
  home.file = (name, text, mode = 0o600) => {
    writeFileSync(at(name), text, { mode });
    chmodSync(at(name), mode);
    return at(name);
  };
  home.plugin = (object, name = object) => {
    const to = at('plugins', `${name}.so`);
    copyFileSync(objects.map((folder) => path.join(folder, `${object}.so`)).find(existsSync), to);
    chmodSync(to, 0o755);
    return to;
  };
  home.configure = (text) => home.file('config/nod/nod.ini', text);
  home.start = (opts = {}) => startHttp(t, 'nod', { command: ['serve'], inbox: true, ...opts, env: { ...env, ...opts.env } });
  home.refused = ({ args = [], env: more } = {}) => runOnce('nod', ['serve', '--http', '127.0.0.1:0', ...args], { ...env, ...more });
  return home;
}

// The lines of a log at some level, as objects: { event, plugin, file, why, ... }.
export const linesOf = (log, level = '(error|warn)') => log.split('\n').filter((line) => new RegExp(`level=${level}`).test(line)).map((line) => Object.fromEntries(
  [...line.matchAll(/(\w+)=("(?:[^"\\]|\\.)*"|\S+)/g)].map(([, key, value]) => [key, value.startsWith('"') ? JSON.parse(value) : value])));

// The tools of plugins that a server has: those with a path.
export const toolsOf = async (server, options) =>
  (await new Modern(server.url, options).request('tools/list')).result.tools.map(({ name }) => name).filter((name) => name.includes('.')).sort();
export const STEADY = ['steady.approve', 'steady.ask', 'steady.crash', 'steady.limits', 'steady.plain', 'steady.slow', 'steady.task'];
