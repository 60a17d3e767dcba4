import type { CutOffResponse, RefusedBody } from '../measures.ts';

/** Unread response bytes, and since when the client has read none. */
export interface Backlog {
  readonly bytes: number;
  readonly sinceMs: number;
}

/** A request whose response has not been sent yet, as its connection and the listener see it. */
export interface OpenRequest {
  /** Its body is arriving. */
  readonly isReceiving: boolean;
  /** Response bytes that the client has not read, and since when it has read nothing. */
  readonly backlog: Backlog | undefined;
  /** Bytes queued by a stream, which no budget counts. */
  readonly streamBacklogBytes: number;
  /** Refuses the body and releases its memory. */
  refuseBody(reason: RefusedBody): void;
  abandonResponse(reason: CutOffResponse): void;
  /** Checks its limits of time. */
  sweep(nowMs: number): void;
  /** The client is gone, or has ended its side. */
  abort(): void;
  /** The response is over, sent or not. */
  finish(): void;
}
