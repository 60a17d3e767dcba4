import protobuf from 'protobufjs/minimal.js';

/** The little of protobuf's wire format that objects need, on top of a reader and a writer of single values. */

export type Reader = protobuf.Reader;
export type ProtobufWriter = protobuf.Writer;

/** How a value begins: with itself, or with its length. Nothing else is ever written. */
export const varint = 0;
export const delimited = 2;

export const writeTag = (to: ProtobufWriter, number: number, type: typeof varint | typeof delimited): ProtobufWriter =>
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

function readFields(reader: Reader, end: number, readField: ReadField): void {
  while (reader.pos < end) {
    const tag = reader.uint32();
    const [number, type] = [tag >>> 3, tag & 7];
    if (number === 0) throw new WireError('a field has the number 0');
    if (!readField(number, type, reader)) reader.skipType(type, 0, number);
  }
  if (reader.pos > end) throw new WireError('a field is longer than the message around it');
}

export function readMessage(message: Uint8Array, readField: ReadField): void {
  readFields(protobuf.Reader.create(message), message.length, readField);
}

export function readNested(reader: Reader, readField: ReadField): void {
  const length = reader.uint32();
  if (length > reader.len - reader.pos) throw new WireError('a field is longer than the message around it');
  readFields(reader, reader.pos + length, readField);
}

export function requireType(type: number, wanted: typeof varint | typeof delimited, what: string): void {
  if (type !== wanted) throw new WireError(`${what} has the wire type ${type}, and not ${wanted}`);
}
