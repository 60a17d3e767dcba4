import type { Readable } from 'node:stream';
import { BodyTooLargeError, ClientGoneError } from '../../exchange.ts';

/** What the sweep needs to know about a body on its way, to tell a slow client from a slow line. */
export interface Receiving {
  readonly sinceMs: number;
  bytes: number;
  /** Nothing more is taken: the body is whole, broke off or was given up. */
  isOver: boolean;
  /** Stops reading; whoever waits for the body gets the error. */
  fail(error: Error): void;
}

/** One for all: a connection may end with a hundred bodies on their way, and a stack costs more than the rest of the end. */
const clientLeft = new ClientGoneError('the client left before its request was complete');

/**
 * `whole` tells at the end of the bytes whether it is also the end of the body: Node ends a stream that was reset the
 * same way. `kept` is told of each piece that is held in memory.
 */
export function readBody(
  source: Readable,
  whole: () => boolean,
  limitBytes: number,
  nowMs: number,
  kept: (bytes: number) => void,
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
    kept(piece.length);
  };
  const gone = (): void => {
    receiving.isOver = true;
    reject(clientLeft);
  };

  source.on('data', take);
  let ended = false;
  const end = (): void => {
    ended = true;
    if (!whole()) return gone();
    receiving.isOver = true;
    resolve(pieces.length === 1 ? (pieces[0] as Buffer) : Buffer.concat(pieces, receiving.bytes));
  };
  source.on('end', end);
  source.on('error', gone);
  source.on('close', () => {
    // Nearly every body closes behind its end.
    if (!ended) gone();
  });
  // HTTP/2 tells the end of a body without a byte at once, and not again to whoever listens later.
  if (source.readableEnded) end();
  else if (source.destroyed) gone();
  // A handler that fails before it waits for its body must not end the process with a rejection nobody handled.
  body.catch(() => {});
  return { body, receiving };
}
