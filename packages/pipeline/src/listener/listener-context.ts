import type { Clock, Loop, LongList } from '@cluster-apiserver/base';
import type { StatusError } from '@cluster-apiserver/model';
import type { Budget } from './connection/budget.ts';
import type { CallbackGuard } from './callback-guard.ts';
import type { ListenerMeasures } from './measures.ts';
import type { OpenRequest } from './request/open-request.ts';

/** Shared by all connections and requests of a listener. */
export interface ListenerContext {
  /** The time of the last sweep: precise enough for limits of seconds, and free to read on the hot path. */
  readonly nowMs: number;
  readonly clock: Clock;
  /** Aborts when the listener drains. */
  readonly draining: AbortSignal;
  readonly asksForCertificates: boolean;
  /** Response bytes in memory, of all connections. */
  readonly responseBytes: Budget;
  /** Responses of several pieces that are being written. */
  readonly longResponses: Budget;
  /** Request bytes in memory, of all connections. */
  readonly bodyBytes: Budget;
  /** Its steps are not guarded: they must not throw. */
  readonly loop: Loop;
  /** Requests whose body is arriving, the oldest first. */
  readonly receiving: LongList<OpenRequest>;
  /** Connections that only drop the rest of a refused body. */
  lingering: number;
  readonly guard: CallbackGuard;
  readonly measures: ListenerMeasures;
  /** Counts and logs bytes that are no request for the handler chain. Does not throw. */
  reportRefusal(refusal: StatusError, remoteAddress: string): void;
  /** Reports an internal error of the listener. Does not throw. */
  report(what: string, error: unknown): void;
}
