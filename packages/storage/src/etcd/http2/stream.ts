import { type Pieces, totalLength } from '../../pieces.ts';
import { errorCodes, frameTypes, Http2ProtocolError, number31Max, numberFrame } from './frames.ts';
import { ReceiveWindow } from './receive-window.ts';

/** How much an unread watch may buffer. */
export const streamWindowBytes = 2 * 1024 * 1024;

/** Receives the events of a stream. `onEnd` or `onLost` is the last one. */
export interface StreamListener {
  onHeaders(headers: ReadonlyMap<string, string>): void;
  /** The memory of the piece is reused after the call. */
  onData(piece: Buffer): void;
  /** The peer has closed its side of the stream. */
  onEnd(): void;
  /** `unsent`: the peer has processed nothing of the stream. */
  onLost(kind: 'unsent' | 'lost', cause?: Error): void;
}

/** The connection, as its streams use it. */
export interface StreamOwner {
  write(frame: Buffer): void;
  /** The stream has something to send. */
  queueForSending(stream: Stream): void;
  /** The stream has ended. */
  release(stream: Stream): void;
}

/** A stream of a connection: what is to be sent, its flow control, and its end. */
export class Stream {
  readonly headers: Buffer;
  /** 0 until the connection has opened the stream. */
  id = 0;
  sendWindow = 0;
  unsentBytes = 0;
  readonly #connection: StreamOwner;
  /** Dropped at the end: V8 may keep ended streams in memory for a while, see docs/decisions/0055-memory.md. */
  #listener: StreamListener;
  #unsent: Uint8Array[] = [];
  #isLastQueued = false;
  #over = false;
  #paused = false;
  readonly #receiveWindow = new ReceiveWindow(streamWindowBytes);

  constructor(connection: StreamOwner, headers: Buffer, listener: StreamListener) {
    this.#connection = connection;
    this.headers = headers;
    this.#listener = listener;
  }

  /** Whether anything of it may have reached the peer. */
  get isSent(): boolean {
    return this.id > 0;
  }

  /** Whether the bytes taken last close this side of the stream. */
  get isAllSent(): boolean {
    return this.#isLastQueued && this.unsentBytes === 0;
  }

  open(id: number, sendWindow: number): void {
    this.id = id;
    this.sendWindow = sendWindow;
  }

  send(pieces: Pieces, last: boolean): void {
    if (this.#over) return;
    this.#unsent.push(...pieces);
    this.unsentBytes += totalLength(pieces);
    this.#isLastQueued = last;
    this.#connection.queueForSending(this);
  }

  /** The peer has updated its window. An invalid update is an error of this stream alone. */
  increaseSendWindow(increment: number): void {
    this.sendWindow += increment;
    if (increment === 0) this.#fail(errorCodes.protocolError, 'a window increment of 0');
    else if (this.sendWindow > number31Max) this.#fail(errorCodes.flowControlError, 'a window that is too large');
  }

  #fail(code: number, why: string): void {
    this.#connection.write(numberFrame(frameTypes.resetStream, this.id, code));
    this.end('lost', new Http2ProtocolError(why));
  }

  /** Takes the next bytes to send, at most as many as given. */
  takeUnsent(bytesMax: number): Pieces {
    const pieces: Uint8Array[] = [];
    let leftBytes = bytesMax;
    for (let next = this.#unsent[0]; next && leftBytes > 0; next = this.#unsent[0]) {
      const piece = next.length <= leftBytes ? next : next.subarray(0, leftBytes);
      if (piece === next) this.#unsent.shift();
      else this.#unsent[0] = next.subarray(leftBytes);
      pieces.push(piece);
      leftBytes -= piece.length;
    }
    const taken = bytesMax - leftBytes;
    this.unsentBytes -= taken;
    this.sendWindow -= taken;
    return pieces;
  }

  /** Stops the peer by flow control once its window is used up, until `resume`. */
  pause(): void {
    this.#paused = true;
  }

  resume(): void {
    if (!this.#paused) return;
    this.#paused = false;
    this.#updateReceiveWindow(0);
  }

  /** Ends the stream without calling its listener. */
  cancel(): void {
    if (this.#over) return;
    this.#finish();
    if (this.isSent) this.#connection.write(numberFrame(frameTypes.resetStream, this.id, errorCodes.cancel));
  }

  receiveHeaders(headers: ReadonlyMap<string, string>, last: boolean): void {
    this.#listener.onHeaders(headers);
    if (last) this.#endByPeer();
  }

  receiveData(piece: Buffer, windowBytes: number, last: boolean): void {
    this.#updateReceiveWindow(windowBytes);
    this.#listener.onData(piece);
    if (last) this.#endByPeer();
  }

  end(kind: 'unsent' | 'lost', cause?: Error): void {
    if (this.#over) return;
    const listener = this.#listener;
    this.#finish();
    listener.onLost(kind, cause);
  }

  #endByPeer(): void {
    if (this.#over) return;
    const listener = this.#listener;
    // The response may end before the request has been sent completely.
    if (this.isAllSent) this.#finish();
    else this.cancel();
    listener.onEnd();
  }

  #finish(): void {
    this.#over = true;
    this.#unsent = [];
    this.#listener = endedListener;
    this.#connection.release(this);
  }

  #updateReceiveWindow(receivedBytes: number): void {
    if (this.#paused) return this.#receiveWindow.receiveWithoutUpdate(receivedBytes);
    const increment = this.#receiveWindow.receive(receivedBytes);
    if (increment > 0) this.#connection.write(numberFrame(frameTypes.windowUpdate, this.id, increment));
  }
}

/** The listener of ended streams. */
const endedListener: StreamListener = { onHeaders: () => {}, onData: () => {}, onEnd: () => {}, onLost: () => {} };
