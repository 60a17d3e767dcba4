import { describe, expect, test } from '@jest/globals';
import { objectMeta, typeMeta } from '../schema/common.ts';
import {
  any,
  boolean,
  field,
  int32,
  list,
  microTime,
  object,
  type ObjectSchema,
  string,
  stringMap,
  time,
} from '../schema/schema.ts';
import { MalformedTextError } from '../json/json.ts';
import { nestingMax, TooManyValuesError } from '../json/json-scan.ts';
import { encodeProtobuf, parseProtobuf, watchFrame } from './protobuf.ts';
import { decodeMessage } from './protobuf-decoder.ts';
import { encodeMessage } from './protobuf-encoder.ts';

const part = object({ size: field(1, int32, ''), name: field(2, string, '') });
const schema = object(
  {
    ...typeMeta,
    metadata: field(1, objectMeta, ''),
    parts: field(2, list(part, 'atomic'), ''),
    main: field(3, part, ''),
    words: field(4, stringMap, ''),
    born: field(5, time, ''),
    seen: field(6, microTime, ''),
    awake: field(7, boolean, '', 'given'),
    extra: field(20, any, ''),
  },
  {},
);
const bytes = (...parts: (string | number[])[]): Buffer =>
  Buffer.concat(parts.map((part) => Buffer.from(part as string)));
const billion = [128, 148, 235, 220, 3];
const minus1999 = [177, 240, 255, 255, 255, 255, 255, 255, 255, 1];
const lastSecond = [255, 130, 209, 255, 175, 7];
const read = (...parts: (string | number[])[]): unknown => decodeMessage(schema, bytes(...parts));

test('an object is its message, with kind and version around it', () => {
  const robot = { kind: 'Robot', apiVersion: 'v1', metadata: { name: 'a' }, awake: false };
  const written = encodeProtobuf(schema, robot);
  expect(written).toEqual(bytes('k8s\0', [10, 11, 10, 2], 'v1', [18, 5], 'Robot', [18, 7, 10, 3, 10, 1], 'a', [56, 0]));
  expect(parseProtobuf(written, () => schema)).toEqual({ value: robot, faults: [] });
});

test('unknown fields of an envelope are skipped, and an empty name is kept', () => {
  const written = bytes('k8s\0', [10, 2, 18, 0, 18, 2, 56, 1, 26, 0, 34, 4], 'json', [42, 0]);
  expect(parseProtobuf(written, () => schema).value).toEqual({ kind: '', awake: true });
});

test('of an unknown kind only kind and apiVersion are read', () => {
  const written = bytes('k8s\0', [10, 11, 10, 2], 'v2', [18, 5], 'Robot', [18, 2, 255, 255]);
  const asked: unknown[] = [];
  expect(parseProtobuf(written, (names) => void asked.push(names)).value).toEqual({ kind: 'Robot', apiVersion: 'v2' });
  expect(asked).toEqual([{ kind: 'Robot', apiVersion: 'v2' }]);
});

test.each<[string, unknown, (string | number[])[]]>([
  [
    'a list in the order in which it comes',
    { parts: [{ size: 1 }, {}] },
    [
      [18, 2, 8, 1],
      [18, 0],
    ],
  ],
  [
    'a map, its keys and values empty when they are left out',
    { words: { a: '', '': 'b' } },
    [[34, 3, 10, 1], 'a', [34, 3, 18, 1], 'b'],
  ],
  ['an object that comes in two parts', { main: { size: 1, name: 'x' } }, [[26, 2, 8, 1], [26, 3, 18, 1], 'x']],
  ['the last of a value that comes twice', { awake: true }, [[56, 0, 56, 1]]],
  ['a negative number of 32 bits', { main: { size: -1 } }, [[26, 6, 8, 255, 255, 255, 255, 15]]],
  ['32 bits of a longer number', { main: { size: 7 } }, [[26, 7, 8, 135, 128, 128, 128, 128, 32]]],
  ['a negative number', { main: { size: -1 } }, [[26, 11, 8, 255, 255, 255, 255, 255, 255, 255, 255, 255, 1]]],
  ['a time that is not set', { born: null }, [[42, 0]]],
  ['the first second of 1970, which is a time', { born: '1970-01-01T00:00:00Z' }, [[42, 2, 8, 0]]],
  [
    'the parts of a second that a time does not keep',
    { born: '1970-01-01T00:00:01Z' },
    [[42, 8, 8, 1, 16, ...billion]],
  ],
  ['parts of a second that are a whole one', { seen: '1970-01-01T00:00:02.000000Z' }, [[50, 8, 8, 1, 16, ...billion]]],
  ['negative parts of a second', { seen: '1970-01-01T00:00:00.999999Z' }, [[50, 13, 8, 1, 16, ...minus1999]]],
  ['the parts of a second that a time keeps', { seen: '1970-01-01T00:00:01.000001Z' }, [[50, 5, 8, 1, 16, 0xcf, 0x0f]]],
  ['JSON as what it says', { extra: { 'f:a': {} } }, [[162, 1, 12, 10, 10], '{"f:a":{}}']],
  ['nothing of unknown field numbers', {}, [[80, 1, 90, 1, 0, 97, 0, 0, 0, 0, 0, 0, 0, 0, 101, 0, 0, 0, 0]]],
])('reads %s', (_, value, parts) => {
  expect(read(...parts)).toEqual(value);
});

test('a key may be any text', () => {
  const value = read([34, 14, 10, 9], '__proto__', [18, 1], 'x') as { words: object };
  expect(Object.keys(value.words)).toEqual(['__proto__']);
});

test('a list can be written in parts', () => {
  const parts = [{ metadata: { name: 'a' } }, { parts: [{ size: 1 }] }, { parts: [{ size: 2 }] }];
  const whole = Buffer.concat(parts.map((some) => encodeMessage(schema, some)));
  expect(decodeMessage(schema, whole)).toEqual({ metadata: { name: 'a' }, parts: [{ size: 1 }, { size: 2 }] });
});

test('a line of a watch begins with its length', () => {
  const frame = watchFrame('ADDED', Buffer.from('xyz'));
  expect(frame).toEqual(bytes([0, 0, 0, 14, 10, 5], 'ADDED', [18, 5, 10, 3], 'xyz'));
});

describe('is refused', () => {
  test.each<[string, (string | number[])[]]>([
    ['a message that ends too early', [[10, 5, 1]]],
    ['a message longer than the one around it', [[26, 2, 18, 9], 'too long for it']],
    ['a number where a text belongs', [[26, 2, 16, 1]]],
    ['a text where a number belongs', [[26, 2, 10, 0]]],
    ['a number where an object belongs', [[24, 1]]],
    ['a number where an entry belongs', [[32, 1]]],
    ['a number where a time belongs', [[40, 1]]],
    ['a time that no calendar has', [[42, 10, 8, 255, 255, 255, 255, 255, 255, 255, 127, 16, 0]]],
    ['a time that its parts of a second move out of the calendar', [[50, 13, 8, ...lastSecond, 16, ...billion]]],
    ['JSON that is none', [[162, 1, 4, 10, 2], '{]']],
    ['the number 0', [[0, 0]]],
    ['a wire type that there is not', [[95, 0]]],
    ['a group without an end', [[83]]],
    ['groups within one another', [Array.from({ length: 50_000 }, () => 83)]],
  ])('%s', (_, parts) => {
    const body = bytes(...parts);
    expect(() => decodeMessage(schema, body)).toThrow();
    const around = bytes('k8s\0', [18], lengthOf(body), [...body]);
    expect(() => parseProtobuf(around, () => schema)).toThrow(MalformedTextError);
  });

  test.each([[''], ['k8s'], ['k8s\0'], ['{"kind":"Robot"}'], ['k8s\0\u0012'], ['k8s\0\u0008\u0001']])(
    '%j as an envelope',
    (text) => {
      expect(() => parseProtobuf(Buffer.from(text), () => schema)).toThrow(MalformedTextError);
    },
  );
});

describe('so many fields that reading them would block the event loop are refused', () => {
  const many = 2 ** 18;
  const tagOf = (number: number): number[] => (number < 16 ? [(number << 3) | 2] : [162, 1]);
  const times = (...part: number[]): Buffer => Buffer.alloc(many * part.length, Buffer.from(part));
  const around = (number: number, inner: Buffer): Buffer =>
    Buffer.concat([bytes(tagOf(number), lengthOf(inner)), inner]);

  test.each<[string, Buffer]>([
    ['in the envelope', times(120, 0)],
    ['in the names of the envelope', around(1, times(18, 0))],
    ['unknown ones', around(2, times(120, 0))],
    ['unknown ones in a group', around(2, Buffer.concat([bytes([123]), times(120, 0), bytes([124])]))],
    ['a key again and again', around(2, around(4, times(10, 0)))],
    ['a time again and again', around(2, around(5, times(8, 0)))],
    ['JSON again and again', around(2, around(20, times(10, 0)))],
  ])('%s', (_, envelope) => {
    expect(() => parseProtobuf(Buffer.concat([bytes('k8s\0'), envelope]), () => schema)).toThrow(TooManyValuesError);
  });

  test('but not those that stored objects have', () => {
    expect(decodeMessage(schema, times(120, 0))).toEqual({});
  });
});

test('messages inside each other are refused below as many levels as JSON may have', () => {
  const form: { type: 'object'; fields: Map<string, unknown> } = { type: 'object', fields: new Map() };
  form.fields.set('inner', { name: 'inner', number: 1, presence: 'filled', description: '', schema: form });
  const nested = (levels: number): Buffer => {
    let message = Buffer.alloc(0);
    for (let level = 0; level < levels; level++) message = Buffer.concat([bytes([10], lengthOf(message)), message]);
    return Buffer.concat([bytes('k8s\0', [18], lengthOf(message)), message]);
  };
  const parse = (levels: number): unknown => parseProtobuf(nested(levels), () => form as unknown as ObjectSchema).value;
  expect(JSON.stringify(parse(nestingMax - 1))).toContain('{}');
  for (const levels of [nestingMax + 1, 3_000]) expect(() => parse(levels)).toThrow(`deeper than ${nestingMax} levels`);
});

test('unset fields that Go writes all the same do not count as values', () => {
  const parts = Buffer.alloc(12_000 * 6, Buffer.from([18, 4, 8, 0, 18, 0]));
  const message = Buffer.concat([bytes('k8s\0', [18], lengthOf(parts)), parts]);
  expect((parseProtobuf(message, () => schema).value as { parts: unknown[] }).parts).toHaveLength(12_000);
});

test('groups are skipped', () => {
  expect(read([123, 131, 1, 120, 1, 132, 1, 124], [56, 1])).toEqual({ awake: true });
});

/** In groups of seven bits. */
function lengthOf({ length }: Buffer): number[] {
  const groups: number[] = [];
  let left = length;
  for (; left > 127; left >>>= 7) groups.push((left & 127) | 128);
  return [...groups, left];
}
