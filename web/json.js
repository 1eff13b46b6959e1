// JSON that loses nothing: numbers stay the text that came (0.10, 12345678901234567890), members keep their order and
// may come twice. JSON.parse would change all three, and a person would approve something else than what is sent.

export class Num {
  constructor(text) {
    this.text = text;
  }
}

const members = new WeakMap();
export const entries = (object) => members.get(object) ?? Object.entries(object);
export const isObject = (value) =>
  typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof Num);

const number = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y;
const space = /[ \t\n\r]*/y;

export function parse(text) {
  let at = 0;
  const skip = () => {
    space.lastIndex = at;
    space.test(text);
    at = space.lastIndex;
  };
  const take = (pattern) => {
    pattern.lastIndex = at;
    const found = pattern.exec(text)?.[0];
    if (found === undefined) throw new SyntaxError(`not JSON at ${at}`);
    at += found.length;
    return found;
  };
  const expect = (word) => {
    if (!text.startsWith(word, at)) throw new SyntaxError(`not JSON at ${at}`);
    at += word.length;
  };
  // A string of a megabyte is too much for the pattern's stack in some browsers, so it is cut out by hand.
  const quoted = () => {
    let end = at + 1;
    for (;;) {
      end = text.indexOf('"', end);
      if (end < 0) throw new SyntaxError('a string does not end');
      let slashes = 0;
      while (text[end - 1 - slashes] === '\\') slashes++;
      if (slashes % 2 === 0) break;
      end++;
    }
    const raw = text.slice(at, end + 1);
    at = end + 1;
    return JSON.parse(raw);
  };
  const list = (close, one) => {
    at++;
    skip();
    if (text[at] === close) return void at++;
    for (;;) {
      one();
      skip();
      if (text[at] === close) return void at++;
      expect(',');
      skip();
    }
  };
  const value = () => {
    skip();
    const c = text[at];
    if (c === '"') return quoted();
    if (c === '[') {
      const items = [];
      list(']', () => items.push(value()));
      return items;
    }
    if (c === '{') {
      const object = Object.create(null);
      const pairs = [];
      list('}', () => {
        const key = quoted();
        skip();
        expect(':');
        pairs.push([key, (object[key] = value())]);
      });
      members.set(object, pairs);
      return object;
    }
    if (c === 't') return expect('true'), true;
    if (c === 'f') return expect('false'), false;
    if (c === 'n') return expect('null'), null;
    return new Num(take(number));
  };
  const result = value();
  skip();
  if (at !== text.length) throw new SyntaxError(`not JSON at ${at}`);
  return result;
}

export function write(value) {
  if (value instanceof Num) return value.text;
  if (Array.isArray(value)) return `[${value.map(write).join(',')}]`;
  if (isObject(value))
    return `{${entries(value)
      .filter(([, member]) => member !== undefined)
      .map(([key, member]) => `${JSON.stringify(key)}:${write(member)}`)
      .join(',')}}`;
  return JSON.stringify(value);
}

// A number where the exact text does not matter.
export const num = (value) => (value instanceof Num ? Number(value.text) : (value ?? undefined));
