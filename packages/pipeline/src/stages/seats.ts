import { type Allocate, type BodySource, isReady } from '../body-source.ts';
import type { ApiResponse } from '../exchange.ts';
import type { AuthenticatedContext, Seat } from '../request-context.ts';
import { textResponse } from '../responses.ts';
import type { RequestKind } from './in-flight-measures.ts';

/** The seat of a request, which its response needs too. */
export interface HeldSeat extends Seat {
  /** Acquires a seat even if all are taken. */
  forceAcquire(): void;
}

export const kindOfRequest = ({ info }: AuthenticatedContext): RequestKind =>
  readOnlyVerbs.has(info.verb) ? 'readOnly' : 'mutating';

export const tooManyRequests = ({ auditId }: AuthenticatedContext): ApiResponse =>
  textResponse(auditId, 429, 'Too many requests, please try again later.\n', { 'retry-after': '1' });

/** All other verbs count as mutating, as in kube-apiserver. A list also holds a seat while its body is generated. */
const readOnlyVerbs: ReadonlySet<string> = new Set(['get', 'list']);

/** The response is ready, but a generated body still needs the seat at times. */
export function releaseSeat(response: ApiResponse, { seat }: { readonly seat: HeldSeat }): ApiResponse {
  seat.release();
  const { body } = response;
  if (isReady(body) || body.length !== undefined) return response;
  return { ...response, body: new SeatedBody(body, seat) };
}

/** Generating a piece needs a seat too. It never waits for one, since part of the response has been sent. */
class SeatedBody implements BodySource {
  readonly #source: BodySource;
  readonly #seat: HeldSeat;

  constructor(source: BodySource, seat: HeldSeat) {
    this.#source = source;
    this.#seat = seat;
  }

  /** The seat is free while the client does not read. */
  async next(bytesMax: number, allocate: Allocate): Promise<Buffer | undefined> {
    this.#seat.forceAcquire();
    try {
      return await this.#source.next(bytesMax, allocate);
    } finally {
      this.#seat.release();
    }
  }

  close(): void {
    this.#source.close();
  }
}
