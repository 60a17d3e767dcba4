import type { Random } from '@cluster-apiserver/base';
import { choose } from '../test/hostile/choose.ts';

/**
 * A field of a protobuf message: enough of the wire format to change one field and keep the enclosing lengths right.
 */
interface WireField {
  readonly number: number;
  readonly type: number;
  /** The bytes after the tag: a varint, 4 or 8 bytes, or length-delimited content. */
  readonly content: Buffer;
}

const prefixBytes = 4;
const lengthDelimited = 2;
const depthMax = 8;

/** Changes one field at any depth and keeps the enclosing lengths right, so that the server parses the change. */
export function mutateProtobuf(random: Random, bytes: Buffer): Buffer {
  const prefix = bytes.subarray(0, prefixBytes);
  return Buffer.concat([prefix, mutateMessage(random, bytes.subarray(prefixBytes), 0)]);
}

function mutateMessage(random: Random, message: Buffer, depth: number): Buffer {
  const fields = readFields(message);
  if (!fields || fields.length === 0) return choose(random, payloads)(random, message);
  const at = random.below(fields.length);
  const field = fields[at] as WireField;
  const goesDeeper = field.type === lengthDelimited && depth < depthMax && random.below(4) > 0;
  const changed = goesDeeper
    ? [{ ...field, content: mutateMessage(random, field.content, depth + 1) }]
    : choose(random, fieldMutations)(random, field);
  return Buffer.concat(fields.toSpliced(at, 1, ...changed).map(writeField));
}

/** Returns undefined for bytes that are not a message, such as a string. */
export function readFields(message: Buffer): WireField[] | undefined {
  const fields: WireField[] = [];
  let at = 0;
  const varint = (): number | undefined => {
    let value = 0;
    for (let shift = 0; shift < 70; shift += 7) {
      const byte = message[at++];
      if (byte === undefined) return undefined;
      value += (byte & 127) * 2 ** shift;
      if (byte < 128) return value;
    }
    return undefined;
  };
  while (at < message.length) {
    const tag = varint();
    if (tag === undefined || tag < 8) return undefined;
    const [number, type] = [Math.floor(tag / 8), tag % 8];
    const from = at;
    const bytes =
      type === 0
        ? (varint(), at - from)
        : type === 1
          ? 8
          : type === lengthDelimited
            ? varint()
            : type === 5
              ? 4
              : undefined;
    if (bytes === undefined) return undefined;
    const start = type === 0 ? from : at;
    at = start + bytes;
    if (at > message.length) return undefined;
    fields.push({ number, type, content: message.subarray(start, at) });
  }
  return fields;
}

export const writeField = ({ number, type, content }: WireField): Buffer =>
  Buffer.concat([
    varintOf(number * 8 + type),
    ...(type === lengthDelimited ? [varintOf(content.length)] : []),
    content,
  ]);

function varintOf(value: number): Buffer {
  const bytes: number[] = [];
  let rest = value;
  for (; rest > 127; rest = Math.floor(rest / 128)) bytes.push((rest % 128) | 128);
  return Buffer.from([...bytes, rest]);
}

const numbers = [0, 1, 2, 3, 15, 16, 17, 2_047, 19_000, 536_870_911, 536_870_912];
const overlong = Buffer.from([0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01]);
const lengths = [0, 1, 127, 128, 2 ** 31 - 1, 2 ** 31, 2 ** 32, 2 ** 53];

/** A thousand repetitions of a field that was repeated before would take the fuzzer seconds to write. */
const repeatedBytesMax = 256 * 1024;
const countUpTo = (count: number, field: WireField): number =>
  Math.max(1, Math.min(count, Math.floor(repeatedBytesMax / writeField(field).length)));

type FieldMutation = (random: Random, field: WireField) => readonly WireField[];

/** A field that is encoded from raw bytes, including tag and length. */
const verbatim = (bytes: Buffer): WireField => ({
  number: 2_000,
  type: 0,
  content: Buffer.concat([Buffer.from([0]), bytes]),
});

const fieldMutations: readonly FieldMutation[] = [
  (_, field) => [field, field],
  () => [],
  (random, field) => [{ ...field, number: choose(random, numbers) }],
  (random, field) => [{ ...field, type: random.below(8) }],
  (random, field) => [{ ...field, content: choose(random, payloads)(random, field.content) }],
  (random, field) => new Array<WireField>(countUpTo(choose(random, [10, 1_000]), field)).fill(field),
  (_, field) => [{ ...field, type: 0, content: overlong }],
  (random, field) => [
    verbatim(Buffer.concat([varintOf(field.number * 8 + 2), varintOf(choose(random, lengths)), field.content])),
  ],
  (_, field) => [verbatim(Buffer.from([field.number * 8 + 3, field.number * 8 + 4]))], // a group
  (_, field) => [verbatim(Buffer.from([field.number * 8 + 3]))], // an unterminated group
  (random, field) => {
    let content = field.content;
    for (let depth = choose(random, [5, 100, 1_000]); depth > 0; depth--)
      content = writeField({ number: field.number, type: lengthDelimited, content });
    return [{ ...field, type: lengthDelimited, content }];
  },
];

const payloads: readonly ((random: Random, content: Buffer) => Buffer)[] = [
  () => Buffer.alloc(0),
  (random, content) => content.subarray(0, random.below(content.length + 1)),
  (_, content) => Buffer.concat([content, content]),
  () => Buffer.from([0xff, 0xfe, 0xc0, 0x80]), // invalid UTF-8
  () => Buffer.from([0xed, 0xa0, 0x80]), // half a surrogate pair
  () => Buffer.from('__proto__'),
  () => overlong,
  (random) => Buffer.alloc(choose(random, [63, 64, 253, 254, 4_096]), 'a'),
  (random) => random.bytes(1 + random.below(20)),
];
