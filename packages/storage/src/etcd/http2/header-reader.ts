import { flags, frameTypes, headBytes, Http2ProtocolError } from './frames.ts';
import { HeaderDecoder } from './header-block.ts';

/** Response headers have a few hundred bytes. */
const headerBytesMax = 64 * 1024;

export interface ReceivedHeaders {
  readonly id: number;
  readonly headers: ReadonlyMap<string, string>;
  /** Whether they end the stream. */
  readonly last: boolean;
}

/**
 * Reads the header blocks of a connection, each from one or several frames. A block is decoded even if its stream has ended,
 * because later blocks may refer to it.
 */
export class HeaderReader {
  readonly #decoder = new HeaderDecoder();
  /** A block that continues in further frames. */
  #unfinished: { readonly id: number; readonly last: boolean; readonly pieces: Buffer[]; bytes: number } | undefined;

  /** No other frame may come between the frames of a block. */
  requireContinuation(type: number, id: number): void {
    if (this.#unfinished && (type !== frameTypes.continuation || id !== this.#unfinished.id))
      throw new Http2ProtocolError('a header block without its continuation');
  }

  /** The first frame of a block. Undefined if the block continues. */
  begin(id: number, frameFlags: number, fragment: Buffer): ReceivedHeaders | undefined {
    const last = (frameFlags & flags.endStream) !== 0;
    if ((frameFlags & flags.endHeaders) !== 0) return { id, last, headers: this.#decoder.decode(fragment) };
    this.#unfinished = { id, last, pieces: [Buffer.from(fragment)], bytes: fragment.length };
    return undefined;
  }

  /** A further frame of the unfinished block. Undefined if the block goes on. */
  continue(frameFlags: number, fragment: Buffer): ReceivedHeaders | undefined {
    const block = this.#unfinished;
    if (!block) throw new Http2ProtocolError('a continuation without a header block');
    block.pieces.push(Buffer.from(fragment));
    // Frames count with their head, because there could be any number of empty ones.
    block.bytes += fragment.length + headBytes;
    if (block.bytes > headerBytesMax) throw new Http2ProtocolError(`a header of more than ${headerBytesMax} bytes`);
    if ((frameFlags & flags.endHeaders) === 0) return undefined;
    this.#unfinished = undefined;
    return { id: block.id, last: block.last, headers: this.#decoder.decode(Buffer.concat(block.pieces)) };
  }
}
