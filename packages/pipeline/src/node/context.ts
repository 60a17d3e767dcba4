import type { Clock } from '@cluster-apiserver/base';
import type { Budget } from './budget.ts';
import type { Guard } from './guard.ts';
import type { ListenerMeasures } from './measures.ts';
import type { SocketRequest } from './socket-request.ts';

/** What all connections and requests of a listener share. */
export interface ListenerContext {
  /** The time of the last sweep: exact enough for limits of seconds, and free to read on the hot path. */
  readonly nowMs: number;
  readonly clock: Clock;
  /** Aborted once the listener drains. */
  readonly draining: AbortSignal;
  readonly asksForCertificates: boolean;
  /** Headers that a request has once at most, in lower case. */
  readonly singleHeaders: SingleHeaders;
  /** Response bytes of all connections in memory. */
  readonly responseBytes: Budget;
  /** Bytes of request bodies of all connections in memory. */
  readonly bodyBytes: Budget;
  /** Requests whose body is on its way, the oldest first. */
  readonly receiving: Set<SocketRequest>;
  /** Connections that are kept only to throw away a refused body. */
  lingering: number;
  readonly guard: Guard;
  readonly measures: ListenerMeasures;
  /** What went wrong on our side after the answer had begun. Does not throw. */
  report(what: string, error: unknown): void;
}

/**
 * Headers on which identity, rights or the meaning of a body depend. Two servers on the way that each take another line
 * of them would disagree about the request.
 */
export class SingleHeaders {
  readonly #names: ReadonlySet<string>;
  readonly #lengths: readonly boolean[];

  constructor(names: readonly string[]) {
    this.#names = new Set([...always, ...names.map((name) => name.toLowerCase())]);
    const lengths: boolean[] = [];
    for (const { length } of this.#names) lengths[length] = true;
    this.#lengths = lengths;
  }

  /** A header of these that has more than one line. */
  repeated(raw: readonly string[]): string | undefined {
    let first: string | undefined;
    let more: Set<string> | undefined;
    for (let i = 0; i < raw.length; i += 2) {
      const given = raw[i] as string;
      // Most names differ in their length, and cost nothing more.
      if (!this.#lengths[given.length]) continue;
      const name = given.toLowerCase();
      if (!this.#names.has(name)) continue;
      if (name === first || more?.has(name)) return name;
      if (first === undefined) first = name;
      else (more ??= new Set()).add(name);
    }
    return undefined;
  }
}

const always = ['authorization', 'content-length', 'content-type', 'impersonate-user', 'impersonate-uid'];
