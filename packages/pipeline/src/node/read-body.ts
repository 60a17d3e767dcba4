import type { Readable } from 'node:stream';
import { BodyTooLargeError, ClientGoneError } from '../exchange.ts';

/** What the sweep needs to know about a body on its way, to tell a slow client from a slow line. */
export interface Receiving {
  readonly sinceMs: number;
  bytes: number;
  /** Stops reading; whoever waits for the body gets the error. */
  fail(error: Error): void;
}

/** `whole` tells at the end of the bytes whether it is also the end of the body: Node ends a stream that was reset the same way. */
export function readBody(
  source: Readable,
  whole: () => boolean,
  limitBytes: number,
  nowMs: number,
): { body: Promise<Buffer>; receiving: Receiving } {
  const { promise: body, resolve, reject } = Promise.withResolvers<Buffer>();
  const pieces: Buffer[] = [];

  const receiving: Receiving = {
    sinceMs: nowMs,
    bytes: 0,
    fail: (error) => {
      source.off('data', take);
      source.pause();
      reject(error);
    },
  };
  const take = (piece: Buffer): void => {
    receiving.bytes += piece.length;
    if (receiving.bytes > limitBytes) receiving.fail(new BodyTooLargeError(limitBytes));
    else pieces.push(piece);
  };
  const gone = (): void => reject(new ClientGoneError('the client left before its request was complete'));

  source.on('data', take);
  let ended = false;
  source.on('end', () => {
    ended = true;
    if (!whole()) return gone();
    resolve(pieces.length === 1 ? (pieces[0] as Buffer) : Buffer.concat(pieces, receiving.bytes));
  });
  source.on('error', gone);
  source.on('close', () => {
    // An error is dear to make, and nearly every body closes behind its end.
    if (!ended) gone();
  });
  if (source.destroyed) gone();
  return { body, receiving };
}
