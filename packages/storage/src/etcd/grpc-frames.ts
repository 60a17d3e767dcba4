/** gRPC puts five bytes before each message: whether it is compressed, and how long it is. */
const prefixBytes = 5;

/** No message of ours comes near: a page of a list is kept to a few MiB. It is the bound for a member gone mad. */
const messageBytesMax = 512 * 1024 * 1024;

export function frame(message: Uint8Array): Buffer {
  const framed = Buffer.allocUnsafe(prefixBytes + message.length);
  framed[0] = 0;
  framed.writeUInt32BE(message.length, 1);
  framed.set(message, prefixBytes);
  return framed;
}

/** Puts messages together from whatever pieces the network made of them. */
export interface Unframer {
  /** Gives the messages that are complete now. Throws on what is not gRPC, or larger than allowed. */
  push(piece: Buffer): readonly Buffer[];
}

export function unframer(): Unframer {
  let pieces: Buffer[] = [];
  let heldBytes = 0;
  let wantedBytes = prefixBytes;
  return {
    push: (piece) => {
      pieces.push(piece);
      heldBytes += piece.length;
      if (heldBytes < wantedBytes) return none;
      const held = pieces.length === 1 ? piece : Buffer.concat(pieces, heldBytes);
      const messages: Buffer[] = [];
      let at = 0;
      wantedBytes = prefixBytes;
      while (held.length - at >= prefixBytes) {
        const end = at + prefixBytes + messageLength(held, at);
        if (end > held.length) {
          wantedBytes = end - at;
          break;
        }
        messages.push(held.subarray(at + prefixBytes, end));
        at = end;
      }
      heldBytes = held.length - at;
      pieces = heldBytes > 0 ? [held.subarray(at)] : [];
      return messages;
    },
  };
}

const none: readonly Buffer[] = [];

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
