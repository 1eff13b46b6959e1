/*
 * tests/schema-diff/compare: does nod's validator agree with Ajv?
 *
 *     node compare.js <driver> [count] [seed]
 *
 * Each pair goes to both. A disagreement fails the test unless `decided` has an entry for it, with the line of the
 * standard that decides it. Every keyword must occur often enough for the result to mean something.
 */
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { Ajv2020 } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import { pairs, keywordsOf, KEYWORD_NAMES } from './generate.js';

const COUNT = process.env.NOD_SOAK ? '5000' : '1500';
const SEED = '20260728';
const [driver, count = COUNT, seed = SEED] = process.argv.slice(2);
const LEAST_OF_EACH = 20;

/*
 * Where the two differ and the standard is on nod's side: the smallest pair that shows it, what nod says, and the line that
 * decides. `pairs` are the generated ones that come down to it, by digest; nothing else is excused.
 */
const decided = [
  {
    line: 'validation 6.5.3: valid "if every item in the array is the name of a property in the instance"; "" is a name',
    schema: { required: [''] }, instance: {}, nod: 'false', pairs: [],
  },
  {
    line: 'validation 6.5.4: the same of dependentRequired',
    schema: { dependentRequired: { a: [''] } }, instance: { a: 1 }, nod: 'false', pairs: [],
  },
  {
    line: 'core 10.3.1.3: contains needs "at least one" matching element, and an empty array has none',
    schema: { prefixItems: [{ patternProperties: {} }], contains: true }, instance: [], nod: 'false', pairs: ['52e3e9caf7b4'],
  },
  {
    line: 'core 10.3.1.3: the same one level down, after an array that did match',
    schema: { minContains: 2, contains: { contains: { properties: {} } } }, instance: [[{}], []], nod: 'false', pairs: ['7e529103dae2', '17774d5e7093'],
  },
  {
    line: 'core 11.2: unevaluatedItems looks at the annotation of "contains" beside it',
    schema: { contains: { contains: true, unevaluatedItems: { type: 'null' } } }, instance: [[[]]], nod: 'true', pairs: ['2fc418084610'],
  },
  {
    line: 'core 7.7.1.2: a schema that "produces a false assertion result MUST NOT produce any annotation results"',
    schema: { oneOf: [{ anyOf: [{ prefixItems: [true], const: true }, true] }], unevaluatedItems: false },
    instance: [{}], nod: 'false', pairs: ['be4afbb00b12', '886fd09d78cb'],
  },
  {
    line: 'core 11.2: unevaluatedItems of an in-place subschema is among the annotations looked at',
    schema: { unevaluatedItems: false, then: { unevaluatedItems: true }, if: true }, instance: [1, []], nod: 'true', pairs: ['621fd32ace6c'],
  },
  {
    line: 'core 10.2.2.4: dependentSchemas applies "if the object key is a property in the instance"; an array has none',
    schema: { unevaluatedItems: false, if: { dependentSchemas: { b: { items: true } } }, else: { if: true } },
    instance: [1], nod: 'false', pairs: [],
  },
  {
    line: 'core 10.3.2.2: patternProperties with true fits any object; Ajv throws while it tracks what was evaluated',
    schema: { patternProperties: { '^(?!a)': true }, anyOf: [{}, { const: false, properties: { a: true } }],
      unevaluatedProperties: true },
    instance: { b: 1 }, nod: 'true', pairs: ['d7737e8d74a1'],
  },
];

const digest = ({ schema, instance }) =>
  createHash('sha256').update(JSON.stringify([schema, instance])).digest('hex').slice(0, 12);

const ajv = new Ajv2020({ strict: false, allErrors: false, logger: false, validateFormats: true });
addFormats.default(ajv);

function ajvSays({ schema, instance }) {
  try {
    return String(ajv.compile(schema)(instance));
  } catch (error) {
    return `error ${error.message}`;
  } finally {
    ajv.removeSchema(); /* of all but the metaschema: every pair has the same $id */
  }
}

function nodSays(all) {
  const input = all.map(({ schema, instance }) => JSON.stringify({ schema, instance, formats: true })).join('\n') + '\n';
  const run = spawnSync(driver, { input, encoding: 'utf8', maxBuffer: 1 << 28 });
  if (run.status !== 0) throw new Error(`the driver ended with ${run.status ?? run.signal}: ${run.stderr}`);
  return run.stdout.trimEnd().split('\n');
}

/** Each entry of the list must still be a difference, or it has no place there. */
function stale() {
  const answers = nodSays(decided);
  return decided.filter((entry, i) => answers[i] !== entry.nod || ajvSays(entry) === entry.nod);
}

const all = pairs(Number(seed), Number(count));
const nod = nodSays(all);
if (nod.length !== all.length) throw new Error(`${all.length} pairs, ${nod.length} answers`);

const uses = Object.fromEntries(KEYWORD_NAMES.map((name) => [name, 0]));
const tally = { true: 0, false: 0, error: 0, decided: 0 };
const excused = new Set(decided.flatMap((entry) => entry.pairs));
const apart = [];
all.forEach((pair, i) => {
  for (const name of keywordsOf(pair.schema)) if (name in uses) uses[name]++;
  const ajv = ajvSays(pair);
  const word = (answer) => answer.split(' ')[0];
  tally[word(nod[i])]++;
  if (word(ajv) === word(nod[i])) return;
  if (excused.delete(digest(pair))) tally.decided++;
  else apart.push({ digest: digest(pair), ...pair, nod: nod[i], ajv });
});

console.log(Object.entries(uses).map(([name, n]) => `${name} ${n}`).join(', '));
console.log(`${all.length} pairs: ${tally.true} fit, ${tally.false} do not, ${tally.error} do not compile, ` +
  `${tally.decided} decided by the standard, ${apart.length} disagreements`);
for (const pair of apart.slice(0, 20)) console.log(JSON.stringify(pair));

const rare = Object.entries(uses).filter(([, n]) => n < LEAST_OF_EACH).map(([name]) => name);
if (rare.length) console.log(`hardly covered: ${rare.join(', ')}`);
const lopsided = Math.min(tally.true, tally.false) < all.length / 5;
if (lopsided) console.log('too few pairs of one kind to compare anything');
const idle = stale();
for (const entry of idle) console.log(`no longer a difference: ${entry.line}`);
const unused = seed === SEED && count === '5000' ? [...excused] : [];
if (unused.length) console.log(`excused, but no disagreement: ${unused.join(' ')}`);
process.exitCode = apart.length || idle.length || unused.length || rare.length || lopsided ? 1 : 0;
