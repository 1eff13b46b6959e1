// JSON that loses nothing: numbers stay the text that came (0.10, 12345678901234567890), members keep their order and
// may come twice. JSON.parse would change all three, and a person would approve something else than what is sent.

export class Num {
  constructor(text) {
    this.text = text;
  }
}

const members = new WeakMap(), sources = new WeakMap();
export const entries = (object) => members.get(object) ?? Object.entries(object);
export const isObject = (value) => typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof Num);

const words = { true: true, false: false, null: null };
const plain = /true|false|null|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y;
const blank = /[ \t\n\r]*/y;

export function parse(text) {
  let at = 0;
  const wrong = () => {
    throw new SyntaxError(`not JSON at ${at}`);
  };
  const take = (pattern) => {
    pattern.lastIndex = at;
    const [found] = pattern.exec(text) ?? wrong();
    at += found.length;
    return found;
  };
  const peek = () => (take(blank), text[at]);
  const expect = (sign) => (peek() === sign ? at++ : wrong());
  // A string of a megabyte is too much for the pattern's stack in some browsers, so it is cut out by hand.
  const quoted = () => {
    const from = at;
    let slashes;
    do {
      at = text.indexOf('"', at + 1);
      if (at < 0) wrong();
      for (slashes = 0; text[at - 1 - slashes] === '\\'; ) slashes++;
    } while (slashes % 2);
    return JSON.parse(text.slice(from, ++at));
  };
  const value = () => {
    const first = peek();
    if (first === '"') return quoted();
    const close = { '[': ']', '{': '}' }[first];
    if (!close) {
      const word = take(plain);
      return word in words ? words[word] : new Num(word);
    }
    const all = [], object = Object.create(null), from = at;
    for (at++; peek() !== close; ) {
      if (all.length) expect(',');
      if (close === ']') {
        all.push(value());
        continue;
      }
      const key = peek() === '"' ? quoted() : wrong();
      expect(':');
      all.push([key, (object[key] = value())]);
    }
    at++;
    if (close === ']') return all;
    members.set(object, all);
    sources.set(object, [text, from, at]);
    return object;
  };
  const result = value();
  return peek() ? wrong() : result;
}

export function write(value) {
  if (value instanceof Num) return value.text;
  if (Array.isArray(value)) return `[${value.map(write)}]`;
  if (!isObject(value)) return JSON.stringify(value);
  return `{${entries(value).filter(([, member]) => member !== undefined).map(([key, member]) => `${JSON.stringify(key)}:${write(member)}`)}}`;
}

// An object as it was written, to the last blank.
export function sourceOf(object) {
  const [text, from, to] = sources.get(object) ?? [write(object)];
  return text.slice(from, to);
}

// A number where the exact text does not matter.
export const num = (value) => (value instanceof Num ? Number(value.text) : (value ?? undefined));
