import type { FlowSeats } from '@cluster-apiserver/gates';
import { type Allocate, type BodySource, isReady } from '../body-source.ts';
import type { ApiResponse } from '../exchange.ts';

/** The response is ready, but a generated body still needs the seat at times. */
export function releaseSeat(response: ApiResponse, seat: FlowSeats): ApiResponse {
  seat.release();
  const { body } = response;
  if (isReady(body) || body.length !== undefined) return response;
  return { ...response, body: new SeatedBody(body, seat) };
}

/** Generating a piece needs a seat too. It never waits for one, since part of the response has been sent. */
class SeatedBody implements BodySource {
  readonly #source: BodySource;
  readonly #seat: FlowSeats;

  constructor(source: BodySource, seat: FlowSeats) {
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
