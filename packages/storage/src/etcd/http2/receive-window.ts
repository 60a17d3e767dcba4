import { Http2ProtocolError } from './frames.ts';

/** A flow control window for received data. The peer gets an update when half of it is used, and not for each frame. */
export class ReceiveWindow {
  readonly #bytes: number;
  #usedBytes = 0;

  constructor(bytes: number) {
    this.#bytes = bytes;
  }

  /** Counts received bytes. Returns the increment to send to the peer; 0 for none. */
  receive(bytes: number): number {
    this.receiveWithoutUpdate(bytes);
    if (this.#usedBytes < this.#bytes / 2) return 0;
    const increment = this.#usedBytes;
    this.#usedBytes = 0;
    return increment;
  }

  /** Counts received bytes while the reader is paused. */
  receiveWithoutUpdate(bytes: number): void {
    this.#usedBytes += bytes;
    if (this.#usedBytes > this.#bytes) throw new Http2ProtocolError('the peer sent more than its window');
  }
}
