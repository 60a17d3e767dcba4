/** The interface of an HTTP/2 connection to one member, which two implementations provide. */
import type { Pieces } from '../../pieces.ts';

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

export interface Stream {
  /** Whether anything of it may have reached the peer. */
  readonly isSent: boolean;
  send(pieces: Pieces, last: boolean): void;
  /** Stops the peer by flow control once its window is used up, until `resume`. */
  pause(): void;
  resume(): void;
  /** Ends the stream without calling its listener. */
  cancel(): void;
}

export interface Connection {
  /** Whether further streams can be opened. */
  readonly isUsable: boolean;
  /** False after its end. Until then, one that is not usable may still serve streams. */
  readonly isOpen: boolean;
  open(headers: Buffer, listener: StreamListener): Stream;
  /** A response is overdue: sends a ping at once. */
  checkAlive(): void;
  destroy(): void;
}

/**
 * The timeout of the handshake and of a ping, which take a few milliseconds in one data centre. With a longer election
 * timeout, as for members that are far apart, the timeout is as long.
 */
export const timeoutMinMs = 1_000;

/** Far more than a page of a list needs in flight, so that flow control never slows down a fast network. */
export const connectionWindowBytes = 32 * 1024 * 1024;

/** How much an unread watch may buffer. */
export const streamWindowBytes = 2 * 1024 * 1024;
