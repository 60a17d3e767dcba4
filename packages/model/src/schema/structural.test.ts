/** Objects of structural schemas: what is kept, pruned, filled in and owned, as recorded from kube-apiserver. */
import {
  anything,
  array,
  assert,
  boolean as anyBoolean,
  constantFrom,
  dictionary,
  integer,
  letrec,
  object as anyObject,
  property,
  string as anyString,
  tuple,
} from 'fast-check';
import { describe, expect, test } from '@jest/globals';
import { runSync } from '@cluster-apiserver/base';
import { parseStoredJson, parseJson } from '../json/json.ts';
import { rawNumber } from '../json/raw-number.ts';
import type { KubeObject } from '../kind/object.ts';
import { apply, ApplyConflictError } from '../managed-fields/apply.ts';
import { readApplied } from '../managed-fields/applied.ts';
import { managedFieldsAfterUpdate } from '../managed-fields/managed-fields.ts';
import { formatPath, Problems } from '../problems.ts';
import { decode, WrongTypeError } from './decode.ts';
import { decodeInSteps } from './decode-in-steps.ts';
import { boolean, double, int64, list, type ObjectSchema, type Schema, string } from './schema.ts';
import { anyValue, emptied, structural, unstructured } from './structural.ts';
import { validateValue } from './validate-value.ts';

const of = (fields: Readonly<Record<string, Schema>>, options?: Parameters<typeof structural>[1]): ObjectSchema =>
  structural(Object.entries(fields), options);

const port = of({ port: int64, protocol: { ...string, default: 'TCP' }, name: string });
const spec = of({
  text: string,
  size: { ...int64, default: 3 },
  ratio: double,
  word: { ...string, nullable: true },
  sized: { ...string, nullable: true, default: 'd' },
  inner: of({ a: string, b: { ...boolean, default: true } }),
  made: { ...of({ a: string }), default: { a: 'x' } },
  words: list(string, 'atomic'),
  set: list(string, 'set'),
  ports: list(port, { keys: ['port', 'protocol'] }),
  map: of({}, { rest: string }),
  whole: of({ a: string }, { atomic: true }),
  free: unstructured,
  given: anyValue,
  partly: of({ known: of({ a: string }) }, { rest: unstructured }),
  shallow: of({}, { rest: emptied }),
  nothing: of({}),
  resource: of({ spec: unstructured }, { embeddedResource: true }),
});
const schema = of({ spec, status: of({ n: int64 }) }, { isRoot: true }) as ObjectSchema<KubeObject>;

function read(text: string | object): { readonly spec: unknown; readonly unknown: readonly string[] } {
  const unknown: string[] = [];
  const parsed = parseJson(typeof text === 'string' ? text : JSON.stringify(text)).value;
  const object = decode(schema, { metadata: { name: 'a' }, spec: parsed }, (path) =>
    unknown.push(formatPath(path.slice(1))),
  );
  return { spec: object['spec'], unknown };
}
const defaults = { made: { a: 'x' }, size: 3, sized: 'd' };

describe('of a value', () => {
  test.each<[string, string | object, object, readonly string[]]>([
    [
      'empty values are kept',
      { words: [], map: {}, text: '', size: 0, ratio: 0 },
      { words: [], map: {}, text: '', size: 0, ratio: 0 },
      [],
    ],
    [
      'unknown members are pruned at every depth',
      { x: 1, inner: { y: {} }, ports: [{ z: 1 }] },
      { inner: { b: true }, ports: [{ protocol: 'TCP' }] },
      ['inner.y', 'ports[0].z', 'x'],
    ],
    ['a part without a schema is kept', { free: { b: [null, {}], a: '' } }, { free: { b: [null, {}], a: '' } }, []],
    [
      'what is specified inside of such a part is pruned',
      { partly: { known: { b: 1 }, c: { d: 1 } } },
      { partly: { known: {}, c: { d: 1 } } },
      ['partly.known.b'],
    ],
    [
      'additional properties without a schema are kept one level',
      { shallow: { a: 1, b: { c: 1 }, d: [{ e: 1 }] } },
      { shallow: { a: 1, b: {}, d: [{}] } },
      ['shallow.b.c', 'shallow.d[0].e'],
    ],
    ['an object without properties keeps nothing', { nothing: { a: 1 } }, { nothing: {} }, ['nothing.a']],
    [
      'a null is dropped, or becomes the default',
      { text: null, size: null, map: { a: null }, given: null },
      { map: {} },
      [],
    ],
    [
      'a null is kept where it is a value',
      { word: null, sized: null, free: null },
      { word: null, sized: null, free: null },
      [],
    ],
    ['a null in a list is kept for validation', { words: [null, 'a'] }, { words: [null, 'a'] }, []],
    [
      'values of wrong types are kept for validation',
      { text: [1, 'a'], inner: 'x', ports: {}, size: 'x' },
      { text: [1, 'a'], inner: 'x', ports: {}, size: 'x' },
      [],
    ],
    [
      'the members of objects of wrong types are pruned',
      { text: { a: { b: 1 } }, size: [{ c: 1 }], inner: [[{ a: 1 }]], ports: { port: 1 } },
      { text: {}, size: [{}], inner: [[{}]], ports: {} },
      ['text.a', 'size[0].c', 'inner[0][0].a', 'ports.port'],
    ],
    [
      'what may have unknown members keeps those of other types',
      { partly: [{ a: 1 }], given: [{ a: [1] }] },
      { partly: [{ a: 1 }], given: [{ a: [1] }] },
      [],
    ],
  ])('%s', (_, given, kept, unknown) => {
    expect(read(given)).toEqual({ spec: { ...defaults, ...kept }, unknown: expect.arrayContaining([...unknown]) });
    expect(read(given).unknown).toHaveLength(unknown.length);
  });

  test.each([
    ['9007199254740993', '9007199254740993'],
    ['-9223372036854775808', '-9223372036854775808'],
    ['9223372036854775808', '9223372036854776000'],
    ['5.0', '5'],
    ['1e3', '1000'],
    ['-0.0', '0'],
    ['1e21', '1e+21'],
    ['0.10', '0.1'],
  ])('the number %s is stored as %s, with and without a schema', (given, stored) => {
    expect(JSON.stringify(read(`{"ratio":${given},"free":[${given}]}`).spec)).toContain(`"free":[${stored}]`);
    expect(JSON.stringify(read(`{"ratio":${given},"free":[${given}]}`).spec)).toContain(`"ratio":${stored},`);
  });

  test('a number beyond all doubles is refused', () => {
    expect(() => read('{"free":{"a":1e999}}')).toThrow(
      'spec.free.a: the number is beyond those that a double can hold',
    );
  });
});

test('kind, apiVersion and metadata come first, all other members in the order of names', () => {
  const object = decode(
    schema,
    { spec: { text: 'x', inner: { b: false, a: '' } }, metadata: { name: 'a', x: 1 }, apiVersion: 'v', kind: 'K' },
    () => {},
  );
  expect(JSON.stringify(object)).toBe(
    '{"kind":"K","apiVersion":"v","metadata":{"name":"a"},"spec":{"inner":{"a":"","b":false},"made":{"a":"x"},"size":3,"sized":"d","text":"x"}}',
  );
  expect(decode(schema, {}, () => {})).toEqual({ metadata: {} });
});

test('metadata and type names are read strictly, in an embedded resource too', () => {
  const wrong = (value: object): unknown => decode(schema, value, () => {});
  expect(() => wrong({ metadata: { labels: { a: 1 } } })).toThrow('metadata.labels.a: expected a string, got a number');
  expect(() => wrong({ spec: { resource: { metadata: { name: 1 } } } })).toThrow(
    'spec.resource.metadata: Invalid value: {"name":1}: name: expected a string',
  );
  expect(() => wrong({ spec: { resource: { kind: 1 } } })).toThrow(
    'spec.resource.kind: Invalid value: 1: must be a string',
  );
  expect(read({ resource: { kind: 'K', metadata: { x: 1 }, spec: { y: 1 }, z: 1 } })).toMatchObject({
    spec: { resource: { kind: 'K', metadata: {}, spec: { y: 1 } } },
    unknown: ['resource.metadata.x', 'resource.z'],
  });
});

test('the path of a member far down is cut', () => {
  const { unknown } = read(`{"shallow":{"a":${'['.repeat(100)}{"x":1}${']'.repeat(100)}}}`);
  expect(unknown).toEqual([`shallow.a${'[0]'.repeat(29)}.…`]);
});

test('members may have the names of what objects inherit', () => {
  const odd = structural([['constructor', string]], { rest: string });
  const value = JSON.parse('{"__proto__":"a","constructor":"b","toString":"c"}') as object;
  expect(JSON.stringify(decode(odd, value, () => {}))).toBe('{"__proto__":"a","constructor":"b","toString":"c"}');
  expect(decode(odd, {}, () => {})).toEqual({});
});

const json = letrec((tie) => ({
  value: anyObject({ values: [anyString(), integer(), anyBoolean()], maxDepth: 3 }),
  tie: tie('value'),
})).value;
const names = constantFrom(
  'text',
  'size',
  'word',
  'inner',
  'made',
  'words',
  'set',
  'map',
  'free',
  'partly',
  'shallow',
  'x',
);
const anySpec = dictionary(
  names,
  tuple(json, array(anyString()), integer(), anyString(), constantFrom(null, true)).chain((all) =>
    constantFrom(...all),
  ),
);

const shuffled = (value: unknown): unknown =>
  Array.isArray(value)
    ? value.map(shuffled)
    : typeof value === 'object' && value !== null
      ? Object.fromEntries(
          Object.entries(value)
            .toReversed()
            .map(([key, member]) => [key, shuffled(member)]),
        )
      : value;

test('equal values have equal bytes, and the canonical value is its own, which is not copied', () => {
  assert(
    property(anySpec, (given) => {
      const canonical = JSON.stringify(read(given).spec);
      expect(JSON.stringify(read(shuffled(given) as object).spec)).toBe(canonical);
      const again = read(canonical);
      const { spec: kept } = read(given);
      const isKept = decode(schema, { metadata: { name: 'a' }, spec: kept }, () => {})['spec'] === kept;
      // Names that are numbers have an order of their own.
      expect(isKept || /"[0-9]+":/.test(canonical)).toBe(true);
      expect(JSON.stringify(again.spec)).toBe(canonical);
      expect(again.unknown).toEqual([]);
    }),
    { seed: 1 },
  );
});

const writer = { manager: 'm', apiVersion: 'g/v1', time: '2026-01-01T00:00:00Z' };
const empty = decode(schema, {}, () => {});
const applied = (live: KubeObject, manager: string, given: object, force = false): KubeObject =>
  decode(
    schema,
    runSync(
      apply(
        schema,
        live,
        empty,
        readApplied(schema, { metadata: { name: 'a' }, spec: given }, () => {}),
        { ...writer, manager, force },
      ),
    ),
    () => {},
  );
const live: KubeObject = { metadata: { name: 'a', uid: 'u' } };
const fieldsOf = ({ metadata }: KubeObject): unknown[] =>
  (metadata.managedFields ?? []).map(({ fieldsV1 }) => (fieldsV1 as Record<string, unknown>)['f:spec']);

describe('ownership', () => {
  test('goes down along the schema, and along the value where there is none', () => {
    const given = {
      inner: { a: 'x' },
      map: { k: 'v' },
      whole: { a: 'x' },
      words: ['a'],
      set: ['a'],
      free: { a: { b: 1 }, l: [{ c: 1 }], e: {} },
    };
    expect(fieldsOf(applied(live, 'm', given))).toEqual([
      {
        'f:inner': { 'f:a': {} },
        'f:map': { 'f:k': {} },
        'f:whole': {},
        'f:words': {},
        'f:set': { 'v:"a"': {} },
        'f:free': { 'f:a': { '.': {}, 'f:b': {} }, 'f:e': {}, 'f:l': {} },
      },
    ]);
  });

  test('of an update includes what was filled in', () => {
    const next = decode(schema, { metadata: { name: 'a' }, spec: { free: { a: { b: 1 } } } }, () => {});
    const entries = runSync(managedFieldsAfterUpdate(schema, empty, next, writer));
    expect(entries?.[0]?.fieldsV1).toMatchObject({
      'f:spec': {
        '.': {},
        'f:free': { '.': {}, 'f:a': { '.': {}, 'f:b': {} } },
        'f:made': { '.': {}, 'f:a': {} },
        'f:size': {},
      },
    });
  });

  test('conflicts below parts without a schema, and members come back apart', () => {
    const one = applied(live, 'm1', { free: { a: 1, b: 1 } });
    expect(() => applied(one, 'm2', { free: { a: 2 } })).toThrow(ApplyConflictError);
    const both = applied(one, 'm2', { free: { a: 2, c: 1 } }, true);
    expect(both['spec']).toMatchObject({ free: { a: 2, b: 1, c: 1 } });
    expect(applied(both, 'm1', {})['spec']).toMatchObject({ free: { a: 2, c: 1 } });
  });

  test('takes a number beyond 2^53 as a whole', () => {
    const number = rawNumber('9007199254740993');
    const given = { free: { n: number, l: [number] }, inner: number };
    const one = applied(live, 'm', given);
    expect(fieldsOf(one)).toEqual([{ 'f:free': { 'f:l': {}, 'f:n': {} }, 'f:inner': {} }]);
    expect(JSON.stringify(one['spec'])).toContain('"free":{"l":[9007199254740993],"n":9007199254740993}');
    const other = applied(one, 'm', { free: { n: rawNumber('9007199254740995') } });
    expect(JSON.stringify(other['spec'])).toContain('"free":{"n":9007199254740995}');
    const entries = runSync(managedFieldsAfterUpdate(schema, empty, one, { ...writer, manager: 'u' }));
    expect(JSON.stringify(entries)).not.toContain('rawJSON');
  });

  test.each<[string, string, string]>([
    ['[]', '[{"name":"a","subs":[]}]', '[{"name":"a","subs":[]}]'],
    ['[{"name":"a","subs":[{"name":"x"}]}]', '[{"name":"a","subs":[]}]', '[{"name":"a","subs":[{"name":"x"}]}]'],
    ['[{"name":"a","size":1}]', '[{"name":"a","subs":[],"tags":[]}]', '[{"name":"a","size":1,"subs":[],"tags":[]}]'],
    ['[{"name":"b"}]', '[{"name":"a","o":{"subs":[]}}]', '[{"name":"b"},{"name":"a","o":{"subs":[]}}]'],
    [
      '[{"name":"a","o":{"name":"q"}}]',
      '[{"name":"a","o":{"subs":[{"name":"y","tags":[]}]}}]',
      '[{"name":"a","o":{"name":"q","subs":[{"name":"y","tags":[]}]}}]',
    ],
    ['[{"name":"a","subs":[]}]', '[{"name":"a","size":1}]', '[{"name":"a","size":1,"subs":[]}]'],
  ])('an empty list in an entry is there unless it has entries: over %s, %s is %s', (before, given, after) => {
    const tags = list(string, 'set');
    const subs = list(of({ name: string, tags }), { keys: ['name'] });
    const entry = of({ name: string, size: int64, subs, tags, o: of({ name: string, subs }) });
    const whole = of({ items: list(entry, { keys: ['name'] }) }, { isRoot: true }) as ObjectSchema<KubeObject>;
    const objectOf = (items: string): object => ({ metadata: { name: 'a', uid: 'u' }, items: JSON.parse(items) });
    const present = decode(whole, objectOf(before), () => {});
    const configuration = readApplied(whole, objectOf(given), () => {});
    const task = apply(
      whole,
      present,
      decode(whole, {}, () => {}),
      configuration,
      { ...writer, force: true },
    );
    expect(JSON.stringify(decode(whole, runSync(task), () => {})['items'])).toBe(after);
  });

  test('a dropped field falls back to its default, an empty object stays while it is applied', () => {
    const one = applied(live, 'm', { size: 7, inner: {} });
    expect(one['spec']).toEqual({ ...defaults, size: 7, inner: { b: true } });
    expect(fieldsOf(one)).toEqual([{ 'f:inner': {}, 'f:size': {} }]);
    expect(applied(one, 'm', { inner: {} })['spec']).toEqual({ ...defaults, inner: { b: true } });
  });

  test('survives values that another schema has stored', () => {
    const stored = { ...live, spec: { inner: 'x', ports: 'y', map: ['z'], set: { a: 1 } } };
    const given = { inner: { a: 'b' }, ports: [{ port: 1 }], map: { k: 'v' }, set: ['a'] };
    expect(applied(stored, 'm', given, true)['spec']).toMatchObject(given);
    expect(applied(applied(stored, 'm', given, true), 'm', {}, true)['spec']).toEqual(expect.any(Object));
  });

  test('what is applied as null has its default, stays for validation, or unsets what may be null', () => {
    const given = { text: null, size: null, word: null, made: null, inner: { a: null } };
    const { values } = readApplied(schema, { metadata: { name: 'a' }, spec: given }, () => {});
    expect(values['spec']).toEqual({ ...given, ...defaults, inner: { a: null, b: true } });
    const merged = runSync(
      apply(
        schema,
        { ...live, spec: { made: { a: 'y' } } },
        empty,
        readApplied(schema, { spec: given }, () => {}),
        { ...writer, force: false },
      ),
    );
    const problems = new Problems();
    const object = decode(schema, merged, () => {}, { keepsNulls: true });
    runSync(validateValue(schema, object, undefined, problems));
    expect(problems.errors.map(({ message }) => message)).toEqual([
      'Invalid value: "null": spec.inner.a in body must be of type string: "null"',
      'Invalid value: "null": spec.text in body must be of type string: "null"',
    ]);
  });

  test('never fails for values of any type', () => {
    assert(
      property(anySpec, anySpec, (before, after) => {
        const [left, right] = [before, after].map((one) =>
          decode(schema, { metadata: { name: 'a' }, spec: one }, () => {}),
        ) as [KubeObject, KubeObject];
        const entries = runSync(managedFieldsAfterUpdate(schema, left, right, writer));
        expect(entries === undefined || entries.length > 0).toBe(true);
      }),
      { seed: 1 },
    );
  });
});

test('a large value is decoded in steps, and like at once', () => {
  const numbers = Array.from({ length: 1_500 }, (_, index) => index);
  const free = numbers.map((index) => ({ b: [null, {}], a: '', index, ratio: rawNumber('1.50') }));
  const members = Object.fromEntries(numbers.map((index) => [`k${index}`, { x: index, d: [{ e: 1 }] }]));
  const given = {
    metadata: { name: 'a', annotations: Object.fromEntries(numbers.map((index) => [`a${index}`, 'x'])) },
    spec: {
      free: { free, members },
      ports: numbers.map((index) => ({ z: 1, port: index, name: null })),
      partly: { known: { a: 'x', b: 1 }, free },
      shallow: members,
      map: { ...members, a: 'b' },
      words: [null, ...free],
      inner: free,
      text: members,
      resource: { kind: 'K', apiVersion: 'v1', metadata: { labels: { a: 'b' } }, spec: { free } },
      unknown: free,
    },
  };
  // No object is in two places.
  const { value } = parseStoredJson(JSON.stringify(given));
  const [unknown, inSteps]: string[][] = [[], []];
  const whole = decode(schema, value, (path) => unknown?.push(formatPath(path)));
  const task = decodeInSteps(schema, value, (path) => inSteps?.push(formatPath(path)));
  let steps = 1;
  let last = task.next();
  for (; !last.done; last = task.next()) steps++;
  expect(JSON.stringify(last.value)).toBe(JSON.stringify(whole));
  expect(inSteps?.toSorted()).toEqual(unknown?.toSorted());
  expect(steps).toBeGreaterThan(10);
});

test('nothing that is no object becomes one', () => {
  assert(
    property(
      anything(),
      (value) =>
        typeof value === 'object' ||
        expect(() => decode(schema, value ?? 1, () => {})).toThrow(WrongTypeError) === undefined,
    ),
    { seed: 1 },
  );
});

describe('defaults that are small in memory and huge as text', () => {
  const entry = (value: Schema, count: number): Schema => ({
    ...list(of({ a: value }), 'atomic'),
    default: Array.from({ length: count }, () => ({ a: value.default })),
  });
  let nested: Schema = { ...string, default: 'x' };
  for (let level = 0; level < 8; level++) nested = entry(nested, 50);
  const long = list(of({ a: { ...string, default: 'x'.repeat(100_000) } }), 'atomic');
  const huge = of({ nested, long });
  const entries = Array.from({ length: 100 }, () => ({}));

  test.each([
    [{}, 'the defaults of its schema would add more than 25000 values'],
    [{ nested: [], long: entries }, 'the defaults of its schema would add more than 3145728 characters'],
  ])('a request that would get them is refused', (value, problem) => {
    expect(() => decode(huge, value, () => {})).toThrow(problem);
  });

  test('a stored object is read without them', () => {
    const decoded = decode(huge, { long: entries }, () => {}, { hugeDefaults: 'omitted' }) as {
      long: { a?: string }[];
    };
    expect(decoded).not.toHaveProperty('nested');
    expect(decoded.long.filter(({ a }) => a !== undefined)).toHaveLength(31);
  });

  test('a value that is stored grows by no more than a multiple of its size', () => {
    const growing = of({ text: { ...string, default: 'x'.repeat(20_000) }, size: { ...int64, default: 1 } });
    const readFrom = (storedBytes: number): object =>
      decode(growing, {}, () => {}, { hugeDefaults: 'omitted', storedBytes }) as object;
    expect(readFrom(500)).toEqual({ size: 1 });
    expect(readFrom(5_000)).toHaveProperty('text');
  });
});
