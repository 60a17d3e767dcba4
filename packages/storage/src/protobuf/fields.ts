/**
 * Helpers to encode and decode protobuf messages by their field numbers. The messages of etcd and of KMS plugins are so
 * few that generated code would be more than these helpers save.
 */
import { requireValue } from '@cluster-apiserver/base';
import protobuf from 'protobufjs/minimal.js';
import { totalLength, type Pieces } from '../pieces.ts';

export type Reader = protobuf.Reader;
export type Writer = protobuf.Writer;

/** Two of protobuf's wire types. The tag of a field is its number and its wire type. */
export const varintType = 0;
export const bytesType = 2;

/** The writer of small messages is reused, because memory in use is several times as fast as new memory. */
const keptBytesMax = 64 * 1024;
let idle: Writer | undefined;

export function encodeMessage(write: (to: Writer) => void): Uint8Array {
  const writer = idle ?? protobuf.Writer.create();
  // If `write` throws, the unfinished writer is not reused.
  idle = undefined;
  write(writer);
  const message = writer.finish();
  if (message.length <= keptBytesMax) idle = writer.reset();
  return message;
}

/** Reads a field, or returns false for an unknown field, which is then skipped. Untrusted messages need the wire type. */
export type ReadField = (number: number, reader: Reader, wireType: number) => boolean;

/** Calls `field` for each field of a message. */
export function readFields(reader: Reader, end: number, field: ReadField): void {
  while (reader.pos < end) {
    const tag = reader.uint32();
    if (!field(tag >>> 3, reader, tag & 7)) reader.skipType(tag & 7);
  }
}

export const readerOf = (message: Buffer): Reader => protobuf.Reader.create(message);

export function decodeMessage(message: Buffer, field: ReadField): void {
  readFields(readerOf(message), message.length, field);
}

/** Reads a nested message with a function that reads up to a given end. */
export function readNested<T>(reader: Reader, read: (reader: Reader, end: number) => T): T {
  const length = reader.uint32();
  return read(reader, reader.pos + length);
}

/**
 * Reads a 64-bit number as a double. Revisions, counts and times stay far below 2^53; the only negative number that etcd
 * sends is the -1 of a watch id. The reader's own method would allocate an object for each number.
 */
export function readInt64(reader: Reader): number {
  const start = reader.pos;
  let value = 0;
  let factor = 1;
  while (reader.pos < reader.len) {
    const byte = requireValue(reader.buf[reader.pos++]);
    value += (byte & 0x7f) * factor;
    if (byte < 0x80) return value;
    factor *= 0x80;
    if (reader.pos - start === 8) break;
  }
  reader.pos = start;
  return Number(reader.int64());
}

export function writeBytes(to: Writer, field: number, value: Uint8Array | string): void {
  to.uint32((field << 3) | bytesType);
  if (typeof value === 'string') to.string(value);
  else to.bytes(value);
}

/** Writes one value that consists of several pieces. */
export function writePieces(to: Writer, field: number, pieces: Pieces): void {
  writeBytesHeader(to, field, totalLength(pieces));
  for (const piece of pieces) to.raw(piece);
}

/** Writes tag and length; the caller appends the bytes. */
export function writeBytesHeader(to: Writer, field: number, bytes: number): void {
  to.uint32((field << 3) | bytesType).uint32(bytes);
}

/** Zero is protobuf's default and is not written. */
export function writeInt64(to: Writer, field: number, value: number): void {
  if (value !== 0) to.uint32((field << 3) | varintType).int64(value);
}

export function writeFlag(to: Writer, field: number, value: boolean): void {
  if (value) to.uint32((field << 3) | varintType).bool(true);
}

export function writeNested(to: Writer, field: number, write: (to: Writer) => void): void {
  to.uint32((field << 3) | bytesType).fork();
  write(to);
  to.ldelim();
}
