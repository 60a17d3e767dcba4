import protobuf from 'protobufjs/minimal.js';
import { type JsonBounds, NestedTooDeepError, nestingMax, TooManyValuesError } from '../json/json-scan.ts';

/** The little of protobuf's wire format that objects need, on top of a reader and a writer of single values. */

export type Reader = protobuf.Reader;
export type ProtobufWriter = protobuf.Writer;

/** How a value begins: with itself, as 64 bits, or with its length. Nothing else is ever written. */
export const varint = 0;
export const fixed64 = 1;
export const delimited = 2;
export type WireType = typeof varint | typeof fixed64 | typeof delimited;

export const writeTag = (to: ProtobufWriter, number: number, type: WireType): ProtobufWriter =>
  to.uint32((number << 3) | type);

export function writeNested(to: ProtobufWriter, number: number, write: (to: ProtobufWriter) => void): void {
  writeTag(to, number, delimited).fork();
  write(to);
  to.ldelim();
}

export function encodeWith(write: (to: ProtobufWriter) => void): Uint8Array {
  const writer = protobuf.Writer.create();
  write(writer);
  return writer.finish();
}

/** The bytes are not the message that they should be. */
export class WireError extends Error {
  override readonly name = 'WireError';
}

/** Reads the field with this number and wire type. Returns false to skip it. */
export type ReadField = (number: number, type: number, reader: Reader) => boolean;

/**
 * Counts the fields of a message with those inside of it, also what is skipped or replaced: fields of two bytes each would
 * otherwise take many times longer than the values of an object. Bounds the messages inside each other: each takes stack.
 */
export class FieldBudget {
  #left: number;
  #levels = 0;
  readonly #bounds: JsonBounds;

  constructor(bounds: JsonBounds) {
    this.#bounds = bounds;
    this.#left = bounds.valuesMax * fieldsPerValueMax;
  }

  spend(): void {
    if (--this.#left < 0) throw new TooManyValuesError(this.#bounds.valuesMax);
  }

  enter(): void {
    if (++this.#levels > nestingMax) throw new NestedTooDeepError('the message', nestingMax);
  }

  leave(): void {
    this.#levels--;
  }
}

/** The entry of a map is a field with a key and a value, and a time has two fields. */
const fieldsPerValueMax = 4;

function readFields(reader: Reader, end: number, budget: FieldBudget, readField: ReadField): void {
  while (reader.pos < end) {
    const [number, type] = readTag(reader, budget);
    if (!readField(number, type, reader)) skipField(reader, type, budget);
  }
  if (reader.pos > end) throw new WireError('a field is longer than the message around it');
}

function readTag(reader: Reader, budget: FieldBudget): readonly [number: number, type: number] {
  budget.spend();
  const tag = reader.uint32();
  if (tag >>> 3 === 0) throw new WireError('a field has the number 0');
  return [tag >>> 3, tag & 7];
}

const groupStart = 3;
const groupEnd = 4;

/** The groups of old messages may be nested. */
function skipField(reader: Reader, outermost: number, budget: FieldBudget): void {
  let type = outermost;
  for (let depth = 0; ; ) {
    if (type === groupStart) depth++;
    else if (type === groupEnd && depth > 0) depth--;
    else reader.skipType(type);
    if (depth === 0) return;
    [, type] = readTag(reader, budget);
  }
}

export function readMessage(message: Uint8Array, budget: FieldBudget, readField: ReadField): void {
  readFields(protobuf.Reader.create(message), message.length, budget, readField);
}

export function readNested(reader: Reader, budget: FieldBudget, readField: ReadField): void {
  const length = reader.uint32();
  if (length > reader.len - reader.pos) throw new WireError('a field is longer than the message around it');
  budget.enter();
  readFields(reader, reader.pos + length, budget, readField);
  budget.leave();
}

export function requireType(type: number, wanted: WireType, what: string): void {
  if (type !== wanted) throw new WireError(`${what} has the wire type ${type}, and not ${wanted}`);
}
