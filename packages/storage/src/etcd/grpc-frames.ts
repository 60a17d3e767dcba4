import type { Pieces } from '../pieces.ts';
import { LengthPrefixedFramer } from './http2/length-prefixed-framer.ts';

/** gRPC puts five bytes before each message: whether it is compressed, and how long it is. */
const prefixBytes = 5;

/** No message of ours comes near: a page of a list is kept to a few MiB. It is the bound for a member gone mad. */
const messageBytesMax = 512 * 1024 * 1024;

export function encodeGrpcMessage(message: Uint8Array): Pieces {
  const prefix = Buffer.allocUnsafe(prefixBytes);
  prefix[0] = 0;
  prefix.writeUInt32BE(message.length, 1);
  return [prefix, message];
}

/** Puts messages together from whatever pieces the network made of them. */
export class MessageReader {
  readonly #units = new LengthPrefixedFramer(prefixBytes, messageLength);

  /**
   * Gives the messages that are complete now. The piece is lent, the messages are kept. Throws on what is not gRPC, or
   * larger than allowed.
   */
  push(piece: Buffer): readonly Buffer[] {
    const messages: Buffer[] = [];
    this.#units.push(piece, (held, start, end) => {
      const message = held.subarray(start + prefixBytes, end);
      messages.push(held === piece ? Buffer.from(message) : message);
    });
    return messages;
  }
}

function messageLength(held: Buffer, at: number): number {
  if (held[at] !== 0) throw new Error('a compressed message, which nobody asked for');
  const length = held.readUInt32BE(at + 1);
  if (length > messageBytesMax) throw new Error(`a message of ${length} bytes, limit is ${messageBytesMax}`);
  return length;
}

/** Error texts travel percent-encoded; one that is badly encoded is given as it came. */
export function decodeStatusMessage(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
