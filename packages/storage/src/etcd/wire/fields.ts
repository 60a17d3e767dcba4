/**
 * The little that the messages of etcd need on top of a reader and a writer of protobuf fields. They are few enough to
 * be written down by their field numbers; a generator would bring more code than it saves.
 */
import protobuf from 'protobufjs/minimal.js';
import { totalLength, type Pieces } from '../../pieces.ts';

export type Reader = protobuf.Reader;
export type Writer = protobuf.Writer;

/** Protobuf has four wire types in use; a field's tag is its number with one of them. */
export const varintType = 0;
export const bytesType = 2;

/** A method of etcd's API: its path, what is asked and what is answered. */
export interface Rpc<Request, Answer> {
  readonly path: string;
  encode(request: Request): Uint8Array;
  decode(message: Buffer): Answer;
  /** Of an answer that tells which history of which cluster it comes from. */
  headerOf?(answer: Answer): ResponseHeader;
  /** Whether a full store refuses the request. */
  takesData?(request: Request): boolean;
}

export interface ResponseHeader {
  readonly clusterId: ClusterId;
  /** The newest revision of the store. */
  readonly revision: number;
}

/** The leading 53 of its 64 bits, which tell two clusters apart as well and need no text. */
export type ClusterId = number;

/** What the next message is written in: memory in use is several times as fast as new one. Large ones bring their own. */
const keptBytesMax = 64 * 1024;
let idle: Writer | undefined;

export function encodeMessage(write: (to: Writer) => void): Uint8Array {
  const writer = idle ?? protobuf.Writer.create();
  // A writer that is left in the middle of a message is not used again.
  idle = undefined;
  write(writer);
  const message = writer.finish();
  if (message.length <= keptBytesMax) idle = writer.reset();
  return message;
}

/**
 * Reads a field, or returns false if it does not know it: then it is skipped. The wire type matters to those who read
 * what anybody may have written.
 */
export type ReadField = (number: number, reader: Reader, wireType: number) => boolean;

/** Calls `field` for each field of a message. */
export function readFields(reader: Reader, end: number, field: ReadField): void {
  while (reader.pos < end) {
    const tag = reader.uint32();
    if (!field(tag >>> 3, reader, tag & 7)) reader.skipType(tag & 7);
  }
}

export function decodeMessage(message: Buffer, field: ReadField): void {
  readFields(protobuf.Reader.create(message), message.length, field);
}

/** Reads a message inside a message, with a function that reads up to a given end. */
export function readNested<T>(reader: Reader, read: (reader: Reader, end: number) => T): T {
  const length = reader.uint32();
  return read(reader, reader.pos + length);
}

/**
 * A 64-bit number as a double. Revisions, counts and times stay far below 2^53; the only negative number etcd sends is
 * the -1 of a watch id. The reader's own method would allocate an object for each.
 */
export function readInt64(reader: Reader): number {
  const start = reader.pos;
  let value = 0;
  let factor = 1;
  while (reader.pos < reader.len) {
    const byte = reader.buf[reader.pos++] as number;
    value += (byte & 0x7f) * factor;
    if (byte < 0x80) return value;
    factor *= 0x80;
    if (reader.pos - start === 8) break;
  }
  reader.pos = start;
  return Number(reader.int64());
}

/** Rounds to the bits that a double holds. Answers bring one each, so it allocates nothing. */
export function readClusterId(reader: Reader): ClusterId {
  let value = 0;
  for (let factor = 1; reader.pos < reader.len; factor *= 0x80) {
    const byte = reader.buf[reader.pos++] as number;
    value += (byte & 0x7f) * factor;
    if (byte < 0x80) break;
  }
  return value;
}

/** Identifiers use all 64 bits, so they stay text. */
export const readIdentifier = (reader: Reader): string => reader.uint64().toString();

export function writeBytes(to: Writer, field: number, value: Uint8Array | string): void {
  to.uint32((field << 3) | bytesType);
  if (typeof value === 'string') to.string(value);
  else to.bytes(value);
}

/** One value, of which there are pieces. */
export function writePieces(to: Writer, field: number, pieces: Pieces): void {
  writeBytesHeader(to, field, totalLength(pieces));
  for (const piece of pieces) to.raw(piece);
}

/** For bytes that are put behind it by the caller. */
export function writeBytesHeader(to: Writer, field: number, bytes: number): void {
  to.uint32((field << 3) | bytesType).uint32(bytes);
}

/** Zero is the default of the protocol and is not written. */
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
