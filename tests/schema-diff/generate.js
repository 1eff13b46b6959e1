/*
 * tests/schema-diff/generate: pairs of schema and value, the same ones every time.
 *
 * A schema is grown from a table with one entry per keyword. A value is grown half at random and half from the schema
 * itself, so that about as many pairs fit as do not. One seed decides all of it.
 */

/** xorshift32: small, and the same on every machine. */
export function random(seed) {
  let state = seed >>> 0 || 1;
  const next = () => {
    state ^= state << 13;
    state >>>= 0;
    state ^= state >>> 17;
    state ^= state << 5;
    state >>>= 0;
    return state;
  };
  const below = (n) => next() % n;
  return {
    below,
    chance: (percent) => below(100) < percent,
    pick: (list) => list[below(list.length)],
    some: (list, most) => {
      const left = [...list];
      const out = [];
      for (let n = 1 + below(most); n > 0 && left.length; n--) out.push(left.splice(below(left.length), 1)[0]);
      return out;
    },
  };
}

const NAMES = ['a', 'b', 'c', 'd', 'foo', 'bar', 'x/y', 'p~q', '', 'ключ', '__proto__x'];
const NAMED = NAMES.filter((name) => name !== ''); /* see `decided` in compare.js */
const WORDS = ['', 'a', 'ab', 'abc', 'foo', 'bar', 'aaaa', 'A1', '42', 'x y', 'ünï', '😀', '😀😀😀', 'a\nb', 'été', '\u00a0'];
const NUMBERS = [0, 1, -1, 2, 3, 5, 10, 100, 0.5, 1.5, -2.5, 0.1, 0.3, 7, 1e3, -1e-3, 4294967296, 1e15];
const PATTERNS = ['^a', 'b$', '^[a-c]+$', 'o{2}', '^\\d+$', '^\\w*$', '\\s', '^.$', '^(foo|bar)$', '^\\p{L}+$', '^[^a]*$',
  '(?:a|b)c?', '^(?=a)', '^(?!a)', 'a.b', '^\\S*$', '^[\\s\\w]+$', '(a)\\1', '^\\u{1F600}', '\\u0061', '^x?y*?z+?', '[\\-.]'];
const TYPES = ['null', 'boolean', 'number', 'integer', 'string', 'array', 'object'];
const FORMATS = ['email', 'uri', 'date', 'date-time', 'time', 'uuid', 'ipv4', 'ipv6', 'hostname', 'regex'];
const FORMATTED = ['joe@example.com', 'joe@', 'https://example.org/a?b=c#d', 'mailto:x@y.zz', 'no uri', '2024-02-29', '2023-02-29',
  '2024-13-01', '2024-01-31T10:20:30Z', '2024-01-31T25:20:30Z', '10:20:30Z', '10:20:30+01:00', '10:61:00Z',
  '2eb8aa08-aa98-11ea-b4aa-73b441d16380', '2eb8aa08', '127.0.0.1', '256.1.1.1', '::1', '1::2::3', 'fe80::1', 'example.com',
  '-bad.com', 'a.b-c.d', '^a+$', '(', '[a-z', '\\d{2}'];

export function value(r, depth = 3) {
  const kind = r.below(depth > 0 ? 9 : 6);
  if (kind === 0) return null;
  if (kind === 1) return r.chance(50);
  if (kind <= 3) return r.pick(NUMBERS);
  if (kind <= 5) return r.pick(WORDS);
  if (kind === 6) return Array.from({ length: r.below(5) }, () => value(r, depth - 1));
  const out = {};
  for (let n = r.below(5); n > 0; n--) out[r.pick(NAMES)] = value(r, depth - 1);
  return out;
}

const small = (r) => r.below(4);
const some = (r, make, most = 3) => Array.from({ length: 1 + r.below(most) }, make);
const mapOf = (r, keys, make) => Object.fromEntries(r.some(keys, 3).map((key) => [key, make(key)]));

/** What each keyword may be given. `s` grows a subschema one level down. */
const KEYWORDS = {
  type: (r) => (r.chance(70) ? r.pick(TYPES) : r.some(TYPES, 3)),
  enum: (r) => uniqueValues(some(r, () => value(r, 1), 4)),
  const: (r) => value(r, 2),
  multipleOf: (r) => r.pick([1, 2, 3, 5, 0.5, 10, 7, 0.25]),
  maximum: (r) => r.pick(NUMBERS),
  exclusiveMaximum: (r) => r.pick(NUMBERS),
  minimum: (r) => r.pick(NUMBERS),
  exclusiveMinimum: (r) => r.pick(NUMBERS),
  maxLength: small,
  minLength: small,
  pattern: (r) => r.pick(PATTERNS),
  maxItems: small,
  minItems: small,
  uniqueItems: (r) => r.chance(80),
  contains: (r, s) => s(),
  maxContains: small,
  minContains: small,
  maxProperties: small,
  minProperties: small,
  required: (r) => r.some(NAMED, 2),
  dependentRequired: (r) => mapOf(r, NAMES, () => r.some(NAMED, 2)),
  dependentSchemas: (r, s) => mapOf(r, NAMES, s),
  properties: (r, s) => mapOf(r, NAMES, s),
  patternProperties: (r, s) => mapOf(r, PATTERNS, s),
  additionalProperties: (r, s) => s(),
  propertyNames: (r, s) => s(),
  items: (r, s) => s(),
  prefixItems: (r, s) => some(r, s),
  unevaluatedItems: (r, s) => s(),
  unevaluatedProperties: (r, s) => s(),
  allOf: (r, s) => some(r, s),
  anyOf: (r, s) => some(r, s),
  oneOf: (r, s) => some(r, s),
  not: (r, s) => s(),
  if: (r, s) => s(),
  then: (r, s) => s(),
  else: (r, s) => s(),
  $ref: (r) => r.pick(['#/$defs/one', '#/$defs/two', '#named', 'inner.json', 'inner.json#/$defs/deep']),
  format: (r) => r.pick(FORMATS),
};

/** Keywords that say nothing without another one. */
const NEEDS = {
  minContains: 'contains', maxContains: 'contains', then: 'if', else: 'if',
};

/** Not drawn as keywords: they are in every schema that refers to something. */
export const IN_DEFS = ['$defs', '$anchor', '$id'];
export const KEYWORD_NAMES = [...Object.keys(KEYWORDS), ...IN_DEFS];

function uniqueValues(list) {
  const seen = new Set();
  return list.filter((v) => {
    const key = JSON.stringify(v);
    if (seen.has(key)) return false;
    seen.add(key);
    return true;
  });
}

function grow(r, depth, refs) {
  if (depth === 0 || r.chance(12)) return r.chance(60) ? r.chance(75) : { type: r.pick(TYPES) };
  const names = Object.keys(KEYWORDS).filter((name) => refs || name !== '$ref');
  const schema = {};
  for (const name of r.some(names, depth > 2 ? 4 : 3)) add(schema, name, r, depth, refs);
  return schema;
}

function add(schema, name, r, depth, refs) {
  schema[name] = KEYWORDS[name](r, () => grow(r, depth - 1, refs));
  if (NEEDS[name] && !(NEEDS[name] in schema)) add(schema, NEEDS[name], r, depth, refs);
}

/** Definitions hold no references themselves, so that no loop can come about. */
function definitions(r) {
  const object = (extra) => {
    const made = grow(r, 2, false);
    return { ...(typeof made === 'object' ? made : { not: { not: made } }), ...extra };
  };
  return {
    one: object(),
    two: object({ $anchor: 'named' }),
    three: object({ $id: 'inner.json', $defs: { deep: object() } }),
  };
}

/** A value that has a fair chance to fit: it is built after the schema, as far as that is easy. */
function towards(r, schema, depth = 4) {
  if (typeof schema !== 'object' || depth === 0 || r.chance(15)) return value(r);
  if ('const' in schema) return schema.const;
  if ('enum' in schema) return r.pick(schema.enum);
  if (schema.format) return r.pick(FORMATTED);
  for (const list of [schema.allOf, schema.anyOf, schema.oneOf])
    if (list && r.chance(40)) return towards(r, r.pick(list), depth - 1);
  if (schema.properties || schema.required || schema.patternProperties || schema.dependentSchemas || schema.dependentRequired ||
      'unevaluatedProperties' in schema || 'additionalProperties' in schema) {
    const out = {};
    for (const name of [...Object.keys(schema.properties ?? {}), ...(schema.required ?? []), ...Object.keys(schema.dependentSchemas ?? {}),
      ...Object.keys(schema.dependentRequired ?? {})])
      if (r.chance(75)) out[name] = towards(r, schema.properties?.[name] ?? true, depth - 1);
    if (r.chance(40)) out[r.pick(NAMES)] = value(r, 1);
    if (schema.patternProperties && r.chance(70)) out[r.pick(WORDS)] = value(r, 1);
    return out;
  }
  if (schema.items !== undefined || schema.prefixItems || schema.contains !== undefined || schema.uniqueItems ||
      'unevaluatedItems' in schema || 'minItems' in schema || 'maxItems' in schema) {
    const out = (schema.prefixItems ?? []).map((s) => towards(r, s, depth - 1));
    for (let n = r.below(4); n > 0; n--) out.push(towards(r, schema.items ?? schema.contains ?? true, depth - 1));
    return out;
  }
  if ('minLength' in schema || 'maxLength' in schema || 'pattern' in schema) return r.pick(WORDS);
  if ('minimum' in schema || 'maximum' in schema || 'multipleOf' in schema || 'exclusiveMinimum' in schema) return r.pick(NUMBERS);
  return value(r);
}

export function pairs(seed, count) {
  const r = random(seed);
  const out = [];
  while (out.length < count) {
    const made = grow(r, 3, true);
    const body = typeof made === 'object' ? made : { not: { not: made } };
    const schema = JSON.stringify(body).includes('"$ref"')
      ? { $id: 'http://example.org/root.json', ...body, $defs: definitions(r) } : body;
    for (let n = 0; n < 2; n++)
      out.push({ schema, instance: r.chance(65) ? towards(r, schema) : value(r) });
  }
  return out;
}

/** Every keyword of a schema, wherever a subschema may stand. */
export function keywordsOf(schema, into = new Set()) {
  if (typeof schema !== 'object' || schema === null) return into;
  for (const [name, inside] of Object.entries(schema)) {
    into.add(name);
    if (['dependentSchemas', 'properties', 'patternProperties', '$defs'].includes(name))
      for (const one of Object.values(inside)) keywordsOf(one, into);
    else if (['allOf', 'anyOf', 'oneOf', 'prefixItems'].includes(name)) for (const one of inside) keywordsOf(one, into);
    else if (['contains', 'additionalProperties', 'propertyNames', 'items', 'unevaluatedItems', 'unevaluatedProperties', 'not', 'if',
      'then', 'else'].includes(name)) keywordsOf(inside, into);
  }
  return into;
}
