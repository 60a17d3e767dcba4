import type { Pieces } from '../pieces.ts';
import { LengthPrefixedFramer } from './http2/length-prefixed-framer.ts';

/** The prefix of a gRPC message: a compression flag and four bytes of length. */
const prefixBytes = 5;

/** The largest response to a call. A list asks for fewer keys if a page would exceed it. */
export const responseBytesMax = 64 * 1024 * 1024;

/** A bound against broken members: etcd sends fragments of some 2 MiB, unless one event with its two values is larger. */
export const streamedMessageBytesMax = 64 * 1024 * 1024;

/** A received message is larger than its limit. It was refused before any of it was kept. */
export class MessageTooLargeError extends Error {
  override readonly name = 'MessageTooLargeError';
  readonly bytes: number;
  constructor(bytes: number, bytesMax: number) {
    super(`a message of ${bytes} bytes, limit is ${bytesMax}`);
    this.bytes = bytes;
  }
}

export function encodeGrpcMessage(message: Uint8Array): Pieces {
  const prefix = Buffer.allocUnsafe(prefixBytes);
  prefix[0] = 0;
  prefix.writeUInt32BE(message.length, 1);
  return [prefix, message];
}

/** Reassembles messages from the pieces that the network delivers. */
export class MessageReader {
  readonly #framer: LengthPrefixedFramer;

  constructor(bytesMax: number) {
    this.#framer = new LengthPrefixedFramer(prefixBytes, (held, at) => readMessageLength(held, at, bytesMax));
  }

  /**
   * Returns the messages that are complete now. The memory of the piece is reused, so messages are copied. Throws on
   * invalid or too large messages.
   */
  push(piece: Buffer): readonly Buffer[] {
    const messages: Buffer[] = [];
    this.#framer.push(piece, (held, start, end) => {
      const message = held.subarray(start + prefixBytes, end);
      messages.push(held === piece ? Buffer.from(message) : message);
    });
    return messages;
  }
}

function readMessageLength(held: Buffer, at: number, bytesMax: number): number {
  if (held[at] !== 0) throw new Error('a compressed message, which was not requested');
  const length = held.readUInt32BE(at + 1);
  if (length > bytesMax) throw new MessageTooLargeError(length, bytesMax);
  return length;
}

/** Error messages are percent-encoded. An invalid encoding is returned as it is. */
export function decodeStatusMessage(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
