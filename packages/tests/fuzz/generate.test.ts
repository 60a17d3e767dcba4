import { describe, expect, test } from '@jest/globals';
import { seededRandom } from '@cluster-apiserver/base';
import { generators, inputAt } from './generate.ts';
import { mutateJson } from './mutate-json.ts';
import { mutateProtobuf, readFields, writeField } from './mutate-protobuf.ts';
import { mutateYaml } from './mutate-yaml.ts';
import { parseNumbers } from './numbers.ts';
import { contextForTests as context } from './testing.ts';

const several = Array.from({ length: 2_000 }, (_, number) => number);

test("the generators' shares add up to 1,000", () => {
  expect(Object.values(generators).reduce((sum, { perMille }) => sum + perMille, 0)).toBe(1_000);
});

test('every generator produces inputs', () => {
  const kinds = new Set(several.map((number) => inputAt(1, number, context).kind));
  expect([...kinds].toSorted()).toEqual(Object.keys(generators).toSorted());
});

test('an input depends only on the seed and its number', () => {
  const text = (seed: number, number: number): string => JSON.stringify(inputAt(seed, number, context));
  const numbers = several.slice(0, 300);
  const first = numbers.map((number) => text(1, number));
  expect(numbers.toReversed().map((number) => text(1, number))).toEqual(first.toReversed());
  expect(numbers.filter((number) => text(2, number) === first[number]).length).toBeLessThan(10);
});

test('the unchanged parts stay valid', () => {
  const value = { a: [1, 'x', null], b: { c: true } };
  expect(JSON.parse(mutateJson(seededRandom(1), value, 0))).toEqual(value);
});

describe.each([
  ['JSON', (seed: number) => mutateJson(seededRandom(seed), { a: { b: ['c', 1] }, d: 'e' })],
  ['YAML', (seed: number) => mutateYaml(seededRandom(seed), { a: { b: ['c', 1] }, d: 'e' })],
])('mutated %s', (_, make) => {
  const texts = several.map(make);
  test('different seeds produce different values', () => {
    expect(new Set(texts).size).toBeGreaterThan(several.length / 4);
  });
  test('stays below the size limits of a server', () => {
    expect(Math.max(...texts.map((text) => text.length))).toBeLessThan(1_500_000);
  });
});

describe('protobuf', () => {
  // Field 1 contains field 2 with a number; field 3 is a string; field 4 has eight bytes.
  const message = Buffer.from([0x0a, 2, 0x10, 5, 0x1a, 2, 0x68, 0x69, 0x21, 1, 2, 3, 4, 5, 6, 7, 8]);

  test('fields are parsed and encoded without a change', () => {
    const fields = readFields(message) ?? [];
    expect(fields.map(({ number, type }) => [number, type])).toEqual([
      [1, 2],
      [3, 2],
      [4, 1],
    ]);
    expect(Buffer.concat(fields.map(writeField))).toEqual(message);
  });

  test.each([
    ['a truncated tag', [0x80]],
    ['a length beyond the end', [0x0a, 9]],
    ['an unknown wire type', [0x0e]],
    ['field number zero', [0x00, 1]],
  ])('%s is not a message', (_, bytes) => {
    expect(readFields(Buffer.from(bytes))).toBeUndefined();
  });

  test('mutations of mutations do not grow without bounds', () => {
    const random = seededRandom(1);
    const long = Buffer.concat([
      Buffer.from('k8s\0'),
      message,
      writeField({ number: 5, type: 2, content: Buffer.alloc(9_000) }),
    ]);
    const changed = several.map(() => mutateProtobuf(random, mutateProtobuf(random, long)));
    expect(Math.max(...changed.map(({ length }) => length))).toBeLessThan(1_500_000);
  });

  test('mutations keep the prefix, and often the enclosing lengths', () => {
    const whole = Buffer.concat([Buffer.from('k8s\0'), message]);
    const changed = several.map((seed) => mutateProtobuf(seededRandom(seed), whole));
    expect(changed.every((bytes) => bytes.subarray(0, 4).toString() === 'k8s\0')).toBe(true);
    const readable = changed.filter((bytes) => readFields(bytes.subarray(4)) !== undefined);
    expect(readable.length).toBeGreaterThan(several.length / 4);
  });
});

test('numbers are parsed individually and as ranges', () => {
  expect(parseNumbers('1,5-8, 12')).toEqual([1, 5, 6, 7, 8, 12]);
  expect(() => parseNumbers('1,x')).toThrow('neither a number nor a range');
});
