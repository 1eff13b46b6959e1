// A form from a schema: one field for each property, checked while typing. The server checks again, and its word counts.
import { words } from './words.js';
import { el, select, called, folded } from './dom.js';
import { Num, num, entries } from './json.js';
import { stir } from './calm.js';

const ARMED_MS = 6000; // a first press waits that long for the second
const LINE_MOST = 200; // characters of a text that is written in one line; what may be longer has several
const TITLE_MOST = 30; // characters of a choice in a closed list: longer ones would be cut

// While a pointer is pressed nothing may move under it: what would waits until it is released.
let pressed = false;
for (const name of ['pointerdown', 'pointerup', 'pointercancel']) addEventListener(name, () => (pressed = name === 'pointerdown'), true);
const released = (then) => (pressed ? addEventListener('pointerup', () => setTimeout(then), { once: true }) : then());

let serial = 0;

// Bounds are compared as exactly as the texts allow: whole numbers of any size, else as numbers.
const less = (a, b) => ([a, b].every((text) => /^-?\d+$/.test(text)) ? BigInt(a) < BigInt(b) : Number(a) < Number(b));

const formats = {
  email: [/^[^\s@"(),:;<>[\\\]]{1,64}@[^\s@.]+(\.[^\s@.]+)*$/, words.formats.email],
  uri: [/^[a-z][a-z0-9+.-]*:[^\s<>"{}|\\^`]+$/i, words.formats.uri],
  date: [/^\d{4}-\d\d-\d\d$/, words.formats.date],
  'date-time': [/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$/i, words.formats['date-time']],
};

// A time as a picker has it, without its zone, and with the zone of this person as RFC 3339 has it.
const two = (n) => String(n).padStart(2, '0');
function inPicker(text) {
  const at = new Date(text), s = at.getSeconds();
  return isNaN(at) ? '' : `${String(at.getFullYear()).padStart(4, '0')}-${two(at.getMonth() + 1)}-${two(at.getDate())}T${two(at.getHours())}:${two(at.getMinutes())}${s ? `:${two(s)}` : ''}`;
}
function offset(at) {
  const minutes = -at.getTimezoneOffset(), all = Math.abs(minutes);
  return Number.isInteger(minutes) ? `${minutes < 0 ? '-' : '+'}${two(Math.floor(all / 60))}:${two(all % 60)}` : '';
}
function withZone(value) {
  const at = new Date(value), zone = offset(at);
  return zone ? `${value.length < 17 ? `${value}:00` : value}${zone}` : at.toISOString(); // long ago zones had seconds
}

// A pattern of a tool is tried here only where it cannot take long; the server tries every one.
function misses(pattern, text) {
  if (text.length > 256 || pattern.length > 200 || /\)[*+{?]/.test(pattern) || pattern.match(/[*+{]/g)?.length > 3) return false;
  try {
    return !new RegExp(pattern, 'u').test(text);
  } catch {
    return false;
  }
}

function checkText(schema, text) {
  const length = [...text].length;
  const min = num(schema.minLength) ?? 0, max = num(schema.maxLength) ?? Infinity;
  if (length < min) return words.tooShort(min, length);
  if (length > max) return words.tooLong(max, length);
  const [pattern, how] = formats[schema.format] ?? [];
  if (pattern && (!pattern.test(text) || (schema.format.startsWith('date') && isNaN(Date.parse(text))))) return how;
  if (schema.pattern && misses(schema.pattern, text)) return words.notLike(schema.patternHint ?? schema.pattern);
  return '';
}

function checkNumber(schema, text) {
  if (schema.type === 'integer' && !/^-?(0|[1-9]\d*)(\.0+)?$/.test(text)) return words.notWhole;
  if (!/^-?(0|[1-9]\d*)(\.\d+)?(e[+-]?\d+)?$/i.test(text)) return words.notNumber;
  if (schema.minimum && less(text, schema.minimum.text)) return words.atLeast(schema.minimum.text);
  if (schema.maximum && less(schema.maximum.text, text)) return words.atMost(schema.maximum.text);
  return '';
}

function choicesOf(schema) {
  const titled = schema.oneOf ?? schema.anyOf;
  if (titled) return titled.map((one) => ({ value: one.const, title: one.title ?? one.const }));
  return (schema.enum ?? []).map((value, i) => ({ value, title: schema.enumNames?.[i] ?? value }));
}

function limits(schema) {
  const { between } = words;
  if (schema.type === 'array') return between(num(schema.minItems), num(schema.maxItems), words.ofThem);
  if (schema.type === 'string') {
    const least = num(schema.minLength), most = num(schema.maxLength);
    return between(least > 1 && least, most, words.characters(most ?? least)); // one at least: what is empty is no answer
  }
  return [schema.type === 'integer' && words.wholeNumber, between(schema.minimum?.text, schema.maximum?.text, '')].filter(Boolean).join(', ');
}

// Boxes or circles, each with its title.
function ticks(choices, attributes, chosen) {
  const inputs = choices.map(({ value }) => {
    const input = el('input', attributes);
    input.checked = chosen(value);
    return input;
  });
  return { inputs, group: true, node: el('div.choices', choices.map(({ title }, i) => el('label', inputs[i], called(title)))), chosen: () => choices.filter((_, i) => inputs[i].checked).map(({ value }) => value) };
}

// Each kind: its node, the inputs in it, read() -> the value, or undefined: it was left empty; check(value) -> what is wrong, or ''.
const kinds = {
  text(schema, id) {
    const several = !schema.format && !schema.pattern && (num(schema.maxLength) > LINE_MOST || /\n/.test(schema.default));
    const node = several ? el('textarea', { id, rows: 3 }) : el('input', { id, type: { email: 'email', uri: 'url', date: 'date' }[schema.format] ?? 'text' });
    node.value = schema.default ?? '';
    return { node, line: !several, read: () => node.value || (node.validity.badInput ? '?' : undefined), check: (text) => checkText(schema, text) };
  },
  time(schema, id) {
    const preset = schema.default ? inPicker(schema.default) : '';
    const node = el('input', { id, type: 'datetime-local', value: preset });
    const zone = el('p.help', { id: `${id}-zone` });
    const value = () => (node.value === preset && preset ? schema.default : node.value && withZone(node.value)); // a preset goes back as it came
    const { timeZone } = Intl.DateTimeFormat().resolvedOptions();
    const tellZone = () => (zone.textContent = words.inZone(`${timeZone}${timeZone === 'UTC' ? '' : `, UTC${offset(node.value ? new Date(node.value) : new Date())}`}`));
    node.addEventListener('input', tellZone);
    tellZone();
    return { node, after: zone, read: () => value() || (node.validity.badInput ? '?' : undefined),
      check: (text) => checkText(schema, text) || (node.value && Date.parse(withZone(node.value)) !== Date.parse(node.value) ? words.noSuchTime : '') };
  },
  number(schema, id) {
    const node = el('input.number', { id, inputmode: schema.type === 'integer' ? 'numeric' : 'decimal', value: schema.default?.text });
    const text = () => node.value.trim();
    return { node, read: () => (text() ? new Num(text()) : undefined), check: (value) => checkNumber(schema, value.text) };
  },
  boolean(schema, id, required) {
    let touched = required || schema.default !== undefined;
    const node = el('input', { id, type: 'checkbox', checked: schema.default === true, onchange: () => (touched = true) });
    return { node, box: true, read: () => (touched ? node.checked : undefined) };
  },
  choice(schema, id, required) {
    const choices = choicesOf(schema);
    if (choices.length < 7 || choices.some(({ title }) => title.length > TITLE_MOST)) {
      const all = ticks(choices, { type: 'radio', name: id }, (value) => value === schema.default);
      return { ...all, read: () => all.chosen()[0] };
    }
    const node = select(undefined, [['', required ? words.choose : words.noChoice], ...choices.map(({ title }, i) => [i, title])], { id });
    const preset = choices.findIndex(({ value }) => value === schema.default);
    if (preset >= 0) node.value = preset;
    return { node, read: () => choices[node.value]?.value };
  },
  choices(schema) {
    const all = ticks(choicesOf(schema.items ?? {}), { type: 'checkbox' }, (value) => schema.default?.includes(value));
    const min = num(schema.minItems) ?? 0, max = num(schema.maxItems) ?? Infinity;
    let touched = schema.default;
    all.node.addEventListener('change', () => (touched = true));
    return { ...all, read: () => (touched ? all.chosen() : undefined), check: ({ length }) => (length < min ? words.chooseLeast(min) : length > max ? words.chooseMost(max) : '') };
  },
};

function kindOf({ type, ...schema }) {
  if (type === 'integer') return 'number';
  if (type === 'array') return 'choices';
  if (type === 'boolean' || type === 'number') return type;
  if (schema.enum || schema.oneOf || schema.anyOf) return 'choice';
  return schema.format === 'date-time' ? 'time' : 'text';
}

function makeField(name, schema, required, changed) {
  const id = `f${++serial}`;
  const kind = kinds[kindOf(schema)](schema, id, required);
  const { group, box, inputs = [kind.node] } = kind;
  const error = el('p.error', { id: `${id}-error` }); // its room is kept: what is wrong moves nothing
  const title = [called(schema.title ?? name), !required ? el('span.opt', words.optional) : !box && el('span.req', words.required)]; // a box that is not ticked is an answer, too
  const hint = limits(schema);
  const help = (schema.description || hint) && el('p.help', { id: `${id}-help` }, schema.description && folded(schema.description, 'span', { limit: 300 }), ' ', hint && el('span.limit', `(${hint})`));
  const label = (...nodes) => el('label', { for: id }, nodes);
  const node = group ? el('fieldset.field', el('legend', title), help, kind.node, error)
    : el('div.field', box ? label(kind.node, el('span', title)) : label(title), help, !box && kind.node, kind.after, error);
  if (box) node.classList.add('tick');
  (group ? node : kind.node).setAttribute('aria-describedby', `${id}-help${kind.after ? ` ${kind.after.id}` : ''} ${id}-error`);
  if (required && !group && !box) kind.node.setAttribute('aria-required', 'true');
  let marked = false; // it was found wrong before: from then on it is looked at with every key
  const field = {
    name, node, read: kind.read,
    say(text) {
      marked ||= Boolean(text);
      error.textContent = text;
      node.classList.toggle('wrong', Boolean(text));
      for (const input of inputs) input.setAttribute('aria-invalid', String(Boolean(text)));
      return text;
    },
    problem() {
      const value = kind.read();
      if (value === undefined) return required ? (group ? words.pleaseChoose : words.pleaseFill) : '';
      return kind.check?.(value) ?? '';
    },
    focus: () => inputs[0]?.focus(),
    box: () => required && box && (kind.node.checked ? 'yes' : 'no'),
  };
  // What is too much is said at once, what is not enough when the field is left.
  node.addEventListener('input', () => {
    const problem = field.problem();
    if (marked || /most/.test(problem)) field.say(problem);
    changed();
  });
  node.addEventListener('focusout', (event) => !node.contains(event.relatedTarget) && kind.read() !== undefined && released(() => field.say(field.problem())));
  // What has several lines becomes one, and is seen to.
  if (kind.line) node.addEventListener('paste', ({ clipboardData: given }) => given?.getData('text').trim().includes('\n') && setTimeout(() => (error.textContent = words.pasted)));
  return field;
}

export function makeForm(schema, changed) {
  const required = schema?.required ?? [];
  const fields = entries(schema?.properties ?? {}).map(([name, one]) => makeField(name, one, required.includes(name), changed));
  return {
    fields,
    node: el('div.form', fields.map((field) => field.node)),
    // Everything fits, or the first field that does not has the focus.
    check() {
      const wrong = fields.filter((field) => field.say(field.problem()));
      wrong[0]?.focus();
      return !wrong.length;
    },
    content: () => Object.fromEntries(fields.map((field) => [field.name, field.read()])),
    // What the server says: each at its field; the rest is returned, for above the buttons.
    refused(errors) {
      const rest = [];
      for (const { path, message } of errors) {
        const field = fields.find(({ name }) => path === `/${name.replaceAll('~', '~0').replaceAll('/', '~1')}` || path?.startsWith(`/${name}/`));
        field ? field.say(message) : rest.push(path ? `${path}: ${message}` : message);
      }
      fields.find(({ node }) => node.classList.contains('wrong'))?.focus();
      return rest.join(' ') || (errors.length && words.marked);
    },
    // A required box that the person has ticked is a deliberate act.
    ticked: () => fields.some((field) => field.box() === 'yes'),
    // Names the required boxes that are not ticked.
    sayNo: () => fields.filter((field) => field.box() === 'no' && field.say(words.saysNo)).length > 0,
  };
}

// Nothing is approved by accident. What is destructive takes a second press, unless its box was ticked, and so does an
// approval with a required box that says no: it is named first. A double click is one press.
// word() -> what the button says.
export function makeSure(button, form, { approval, destructive, word }) {
  let armed;
  const disarm = () => {
    armed = clearTimeout(armed);
    button.textContent = word();
  };
  // May it be sent? If not, the next press may.
  const isSure = () => {
    const no = approval && form.sayNo();
    if (armed || (!no && (!destructive || form.ticked()))) return true;
    armed = setTimeout(disarm, ARMED_MS);
    stir(words.firstPress);
    button.textContent = words.pressAgain(no ? words.send : word());
  };
  return { isSure, disarm };
}
