import type { Pieces } from '../pieces.ts';
import { LengthPrefixedFramer } from './http2/length-prefixed-framer.ts';

/** The prefix of a gRPC message: a compression flag and four bytes of length. */
const prefixBytes = 5;

/** A bound against broken members: a page of a list has only a few MiB. */
const messageBytesMax = 512 * 1024 * 1024;

export function encodeGrpcMessage(message: Uint8Array): Pieces {
  const prefix = Buffer.allocUnsafe(prefixBytes);
  prefix[0] = 0;
  prefix.writeUInt32BE(message.length, 1);
  return [prefix, message];
}

/** Reassembles messages from the pieces that the network delivers. */
export class MessageReader {
  readonly #framer = new LengthPrefixedFramer(prefixBytes, messageLength);

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

function messageLength(held: Buffer, at: number): number {
  if (held[at] !== 0) throw new Error('a compressed message, which was not requested');
  const length = held.readUInt32BE(at + 1);
  if (length > messageBytesMax) throw new Error(`a message of ${length} bytes, limit is ${messageBytesMax}`);
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
