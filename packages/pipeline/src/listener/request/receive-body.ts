import type { Readable } from 'node:stream';
import { joinBuffers } from '../../join-buffers.ts';
import { BodyTooLargeError, ClientGoneError } from '../../exchange.ts';

/** The state of an arriving body, which the sweep checks for its rate. */
export interface Receiving {
  readonly sinceMs: number;
  bytes: number;
  /** The body is complete, was aborted or refused. */
  isOver: boolean;
  /** Stops reading and rejects the body with the error. */
  fail(error: Error): void;
}

/**
 * A single instance: a connection may end with a hundred arriving bodies, and each stack trace costs more than the
 * rest.
 */
const clientLeft = new ClientGoneError('the client left before its request was complete');

/**
 * Reads the body. `isComplete` distinguishes the end of a body from a reset stream, which Node ends the same way.
 * `onPiece` is called for each piece that is kept in memory.
 */
export function receiveBody(
  source: Readable,
  isComplete: () => boolean,
  limitBytes: number,
  nowMs: number,
  onPiece: (bytes: number) => void,
): { body: Promise<Buffer>; receiving: Receiving } {
  const { promise: body, resolve, reject } = Promise.withResolvers<Buffer>();
  const pieces: Buffer[] = [];

  const receiving: Receiving = {
    sinceMs: nowMs,
    bytes: 0,
    isOver: false,
    fail: (error) => {
      receiving.isOver = true;
      source.off('data', take);
      source.pause();
      pieces.length = 0;
      reject(error);
    },
  };
  const take = (piece: Buffer): void => {
    receiving.bytes += piece.length;
    if (receiving.bytes > limitBytes) return receiving.fail(new BodyTooLargeError(limitBytes));
    pieces.push(piece);
    onPiece(piece.length);
  };
  const abort = (): void => {
    receiving.isOver = true;
    reject(clientLeft);
  };

  source.on('data', take);
  let ended = false;
  const end = (): void => {
    ended = true;
    if (!isComplete()) return abort();
    receiving.isOver = true;
    resolve(joinBuffers(pieces, receiving.bytes));
  };
  source.on('end', end);
  source.on('error', abort);
  source.on('close', () => {
    // Most bodies emit 'close' after 'end'.
    if (!ended) abort();
  });
  // Over HTTP/2 an empty body may have ended before this listener was added.
  if (source.readableEnded) end();
  else if (source.destroyed) abort();
  // If the handler fails before it awaits the body, the rejection must not end the process.
  body.catch(() => {});
  return { body, receiving };
}
