/** @jest-environment ./packages/toolchain/isolated-environment.mjs */
import type { Format, ObjectSchema, Pattern, Schema, StructuralOptions } from '@cluster-apiserver/model/schema';
import { type Case, list, mapOf, model, numbers, runSync, testGrowth } from './growth.ts';

const of = (fields: Readonly<Record<string, Schema>>, options?: StructuralOptions): ObjectSchema =>
  model.structural(Object.entries(fields), options);

const pattern: Pattern = { source: '^a*$', size: 5, matches: (text) => !/[^a]/.test(text) };
const format: Format = { name: 'short', matches: (text) => text.length < 3 };
const entry = of({ name: model.string, size: { ...model.int64, default: 1 } });
const schema = of({
  free: model.unstructured,
  emptied: of({}, { rest: { type: 'any', contents: 'emptied' } }),
  map: of({}, { rest: { ...model.string, rules: { pattern, format, maxLength: 2 } } }),
  set: model.list(model.string, 'set'),
  keyed: model.list(entry, { keys: ['name', 'size'] }),
  plain: model.list(entry, 'atomic'),
  choice: {
    ...model.list({ ...model.string, rules: { enum: ['a', 'b', 'c'] } }, 'atomic'),
    rules: { anyOf: [{ items: { minLength: 2 } }, { items: { maxLength: 1 } }] },
  },
});

const decode = (value: object): object => model.decode(schema, value, () => {}) as object;
const decodeText = (text: string): (() => unknown) => {
  const value = JSON.parse(text) as object;
  return () => decode(value);
};
function validate(value: object, current?: object): () => unknown {
  const [next, before] = [decode(value), current && decode(current)];
  return () => {
    const problems = new model.Problems();
    runSync(model.validateValue(schema, next, before, problems));
    runSync(model.validateParts(schema, next, before, problems));
    return problems;
  };
}
const levels = 100;
/** Members that are each as deep: the server takes no JSON with more than 500 levels. */
const nested = (n: number): string =>
  `{${list(n / levels, (i) => `"k${i}":${'{"a":'.repeat(levels)}1${'}'.repeat(levels)}`)}}`;
const entries = (n: number, from = 0): object[] => numbers(n).map((i) => ({ name: `n${from + i}` }));
const members = (n: number, value: (i: number) => unknown): object => mapOf(n, (i) => `k${n - i}`, value);

const decoding: readonly Case[] = [
  ['members without a schema', (n) => decodeText(JSON.stringify({ free: members(n, () => ({})) }))],
  ['nesting without a schema', (n) => decodeText(`{"free":${nested(n)}}`)],
  ['members that are pruned', (n) => decodeText(JSON.stringify(members(n, () => 1)))],
  [
    'members that are pruned far down',
    (n) => decodeText(`{"emptied":{"a":${'['.repeat(levels)}{${list(n, (i) => `"k${i}":1`)}}${']'.repeat(levels)}}}`),
  ],
  ['members of a map', (n) => decodeText(JSON.stringify({ map: members(n, () => 'a') }))],
  ['entries with defaults', (n) => decodeText(JSON.stringify({ keyed: entries(n) }))],
  ['a long text', (n) => decodeText(JSON.stringify({ free: 'x'.repeat(n), set: numbers(n).map(String) }))],
];

const validating: readonly Case[] = [
  ['values of wrong types', (n) => validate({ set: numbers(n), map: members(n, (i) => i), plain: numbers(n) })],
  ['texts that break rules', (n) => validate({ map: members(n, () => 'bbb') })],
  ['alternatives of a list', (n) => validate({ choice: numbers(n).map(() => 'd') })],
  ['duplicates of a set', (n) => validate({ set: numbers(n).map(() => 'a') })],
  ['duplicates of keys', (n) => validate({ keyed: numbers(n).map(() => ({ name: 'a' })) })],
  ['an update of all entries with keys', (n) => validate({ keyed: entries(n) }, { keyed: entries(n, n) })],
  ['an update of the order of entries', (n) => validate({ keyed: entries(n).toReversed() }, { keyed: entries(n) })],
  [
    'an update far down',
    (n) => validate({ free: JSON.parse(nested(n)) as object, plain: [1] }, { free: JSON.parse(nested(n)) as object }),
  ],
  [
    'an update of one of many members',
    (n) => validate({ map: members(n, () => 'a') }, { map: members(n + 1, () => 'a') }),
  ],
];

const writer = { manager: 'm', apiVersion: 'v1', time: '2026-01-01T00:00:00Z' };
const owning = (before: object, after: object): (() => unknown) => {
  const [left, right] = [before, after].map((one) => ({ metadata: {}, ...decode(one) }));
  const whole = of({ ...Object.fromEntries([...schema.fields].map(([name, { schema: inner }]) => [name, inner])) });
  return () => runSync(model.managedFieldsAfterUpdate(whole, left as never, right as never, writer));
};
const ownership: readonly Case[] = [
  ['members without a schema', (n) => owning({}, { free: members(n, () => ({ a: 1 })) })],
  ['entries with several keys', (n) => owning({ keyed: entries(n) }, { keyed: entries(n, n / 2) })],
  ['values of other types', (n) => owning({ keyed: numbers(n) }, { keyed: members(n, () => 1) })],
];

testGrowth({ decoding, validating, ownership });
