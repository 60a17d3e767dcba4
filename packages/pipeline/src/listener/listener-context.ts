import type { Clock } from '@cluster-apiserver/base';
import type { MemoryBudget } from './connection/memory-budget.ts';
import type { CallbackGuard } from './callback-guard.ts';
import type { ListenerMeasures } from './measures.ts';
import type { SocketRequest } from './request/socket-request.ts';

/** What all connections and requests of a listener share. */
export interface ListenerContext {
  /** The time of the last sweep: exact enough for limits of seconds, and free to read on the hot path. */
  readonly nowMs: number;
  readonly clock: Clock;
  /** Aborted once the listener drains. */
  readonly draining: AbortSignal;
  readonly asksForCertificates: boolean;
  /** Response bytes of all connections in memory. */
  readonly responseBytes: MemoryBudget;
  /** Bytes of request bodies of all connections in memory. */
  readonly bodyBytes: MemoryBudget;
  /** Requests whose body is on its way, the oldest first. */
  readonly receiving: Set<SocketRequest>;
  /** Connections that are kept only to throw away a refused body. */
  lingering: number;
  readonly guard: CallbackGuard;
  readonly measures: ListenerMeasures;
  /** What went wrong on our side after the answer had begun. Does not throw. */
  report(what: string, error: unknown): void;
}
