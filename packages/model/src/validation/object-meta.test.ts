import { describe, expect, test } from '@jest/globals';
import { runSync } from '@cluster-apiserver/base';
import { fieldErrorsMax, formatPath, Problems } from '../problems.ts';
import type { KubeObject, ObjectMeta } from '../kind/object.ts';
import { rawNumber } from '../json/raw-number.ts';
import { invalid } from '../status.ts';
import { subdomainNames } from './names.ts';
import { type MetadataChecks, validateObjectMeta, validateUpdatedMeta } from './object-meta.ts';
import { requireBoundedValues } from './values.ts';

const rules = { namespaced: true, names: subdomainNames, qualifiedFinalizers: true };
function validate(meta: Partial<ObjectMeta>): Problems {
  const problems = new Problems();
  validateObjectMeta({ name: 'a', namespace: 'b', ...meta }, rules, problems);
  return problems;
}
const fieldsOf = ({ errors }: Problems): string[] => errors.map(({ path }) => formatPath(path));
const many = <T>(count: number, make: (index: number) => T): T[] => Array.from({ length: count }, (_, i) => make(i));

const owner = { apiVersion: 'v1', kind: 'Robot', name: 'r', uid: 'u' };

describe('of a thousand errors a hundred are listed, and the others counted', () => {
  test.each<[string, Partial<ObjectMeta>]>([
    ['labels', { labels: Object.fromEntries(many(1000, (i) => [`-${i}`, ''])) }],
    ['annotations', { annotations: Object.fromEntries(many(1000, (i) => [`-${i}`, ''])) }],
    ['finalizers', { finalizers: many(1000, () => '-/a') }],
    ['owners', { ownerReferences: many(250, (i) => ({ uid: `${i}` })) }],
    ['second controllers', { ownerReferences: many(1001, () => ({ ...owner, controller: true })) }],
    ['managed fields', { managedFields: many(1000, () => ({})) }],
  ])('%s', (_, meta) => {
    const problems = validate(meta);
    expect(problems.errors).toHaveLength(fieldErrorsMax);
    const omitted = problems.count - fieldErrorsMax;
    expect(omitted).toBeGreaterThanOrEqual(650);
    const answer = invalid({ group: '', kind: 'Robot' }, 'a', problems);
    expect(answer.details?.causes).toHaveLength(fieldErrorsMax + 1);
    expect(answer.details?.causes?.at(-1)?.message).toBe(`and ${omitted} more errors`);
    expect(JSON.stringify(answer.toStatus()).length).toBeLessThan(100_000);
  });
});

test('errors of several places are counted together', () => {
  const problems = new Problems();
  problems.at('f').each(
    many(150, (i) => i),
    (i, at) => at.invalid(i, 'is wrong'),
  );
  const place = problems.at('g', { key: 'a.b' });
  many(10, (i) => place.invalid(i, 'is wrong'));
  const causes = invalid({ group: '', kind: 'Robot' }, 'a', problems).details?.causes;
  expect(causes?.at(7)?.field).toBe('f[7]');
  expect(causes?.at(-1)?.message).toBe('and 60 more errors');
  expect(formatPath(place.path)).toBe('g[a.b]');
});

test('an answer about a value or a name of a megabyte is short', () => {
  const long = 'x'.repeat(1_000_000);
  const nested = { a: many(10_000, () => [long]) };
  const answer = invalid({ group: '', kind: 'Robot' }, long, new Problems().at('f').invalid(nested, 'is wrong'));
  expect(JSON.stringify(answer.toStatus()).length).toBeLessThan(5_000);
});

test.each<[string, unknown, string]>([
  ['a text', 'a"b', '"a\\"b"'],
  ['an integer beyond 2^53', rawNumber('9223372036854775807'), '9223372036854775807'],
  ['an object', { a: [1, null, { b: true }] }, '{"a":[1,null,{"b":true}]}'],
  [
    'an object with characters of HTML',
    { rule: 'a > b && c < d\u2028' },
    String.raw`{"rule":"a \u003e b \u0026\u0026 c \u003c d\u2028"}`,
  ],
  ['a text with characters of HTML', 'a > b', '"a > b"'],
  ['a long list', many(1000, (i) => i), `${JSON.stringify(many(1000, (i) => i)).slice(0, 512)}…`],
  ['a long text', 'x'.repeat(600), `"${'x'.repeat(511)}…`],
])('%s shows as its JSON, cut', (_, value, shown) => {
  expect(new Problems().invalid(value, 'is wrong').errors[0]?.message).toBe(`Invalid value: ${shown}: is wrong`);
});

test.each<[string, Partial<ObjectMeta>, string]>([
  ['labels', { labels: Object.fromEntries(many(1001, (i) => [`k${i}`, ''])) }, 'FieldValueTooMany'],
  ['annotations', { annotations: { a: 'x'.repeat(256 * 1024) } }, 'FieldValueTooLong'],
  ['finalizers', { finalizers: many(30_000, (i) => `a/${i}`) }, 'FieldValueTooLong'],
  ['owners', { ownerReferences: many(10_000, (i) => ({ ...owner, uid: `${i}` })) }, 'FieldValueTooLong'],
])('more %s than an object may have are one error', (_, meta, reason) => {
  expect(validate(meta).errors.map((error) => error.reason)).toEqual([reason]);
});

test.each<[string, Partial<ObjectMeta>]>([
  ['labels', { labels: Object.fromEntries(many(1000, (i) => [`k${i}`, ''])) }],
  ['finalizers', { finalizers: many(5_000, (i) => `a/${i}`) }],
  ['owners', { ownerReferences: many(1_000, (i) => ({ ...owner, uid: `00000000-0000-0000-0000-${i}` })) }],
])('thousands of %s are accepted', (_, meta) => {
  expect(validate(meta).count).toBe(0);
});

test('integers beyond 2^53 are compared by their digits', () => {
  const object = (digits: string): KubeObject => ({
    metadata: { name: 'a', deletionGracePeriodSeconds: rawNumber(digits), generation: rawNumber(digits) },
  });
  const [one, other] = [object('9007199254740993'), object('9007199254740995')];
  const changes = (next: KubeObject): string[] => {
    const problems = new Problems();
    validateUpdatedMeta(one, next, { ...rules, namespaced: false, metadataChecks: 'none' }, problems);
    return fieldsOf(problems);
  };
  expect(changes(object('9007199254740993'))).toEqual([]);
  expect(changes(other)).toEqual(['metadata.deletionGracePeriodSeconds']);
  expect(fieldsOf(validate({ generation: rawNumber('-9223372036854775808') }))).toEqual(['metadata.generation']);
});

test('an object that has grown beyond the limit of a request body is rejected', () => {
  const object = (count: number): object => ({ metadata: {}, secrets: many(count, (i) => ({ name: `${i}` })) });
  expect(() => runSync(requireBoundedValues({}, object(12_000)))).not.toThrow();
  expect(() => runSync(requireBoundedValues({}, object(13_000)))).toThrow(/more than 25000 values/);
  expect(() => runSync(requireBoundedValues({ valuesMax: 30_000 }, object(13_000)))).not.toThrow();
});

test('so is an object with too many members beside each other, unless as many were stored', () => {
  const object = (count: number, more = {}): object => ({
    metadata: {},
    data: Object.fromEntries(many(count, (i) => [`k${i}`, ''])),
    ...more,
  });
  expect(() => runSync(requireBoundedValues({}, object(10_000)))).not.toThrow();
  expect(() => runSync(requireBoundedValues({}, object(10_001)))).toThrow(
    'the object would hold more than 10000 members',
  );
  expect(() => runSync(requireBoundedValues({}, object(10_002), object(10_001)))).toThrow(/10000 members/);
  expect(() => runSync(requireBoundedValues({}, object(10_001, { more: [1, 2, 3] }), object(10_001)))).not.toThrow();
  const deep = { metadata: {}, list: many(5_000, String), inner: object(10_001) };
  expect(() => runSync(requireBoundedValues({}, deep))).toThrow(/10000 members/);
});

test.each<[MetadataChecks, readonly number[]]>([
  ['both', [4, 2, 2, 2]],
  ['object', [3, 2, 1, 1]],
  ['change', [3, 1, 1, 2]],
  ['none', [2, 1, 0, 1]],
])('an update lists an error as often as it is found: %s', (metadataChecks, counts) => {
  const object = (metadata: Partial<ObjectMeta>): KubeObject => ({
    metadata: { name: 'a', namespace: 'b', ...metadata },
  });
  const problems = new Problems();
  const next = object({ uid: 'v', labels: { '-': '' }, finalizers: ['-/x', 'x'] });
  validateUpdatedMeta(next, object({ uid: 'u' }), { ...rules, metadataChecks }, problems);
  const count = (field: string): number => fieldsOf(problems).filter((one) => one === field).length;
  const fields = ['metadata.labels', 'metadata.finalizers', 'metadata.finalizers[1]', 'metadata.uid'];
  expect(fields.map(count)).toEqual(counts);
});
