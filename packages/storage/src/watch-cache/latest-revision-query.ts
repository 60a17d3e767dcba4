import { callUntil, type Clock, Coalescer, type Span } from '@cluster-apiserver/base';
import { StorageUnavailableError } from '../errors.ts';
import type { Revision } from '../revision.ts';
import type { Feed } from '../store.ts';
import { type FreshReader, rejectReader } from './fresh-reader.ts';

/**
 * A query that has been in flight for longer does not hold up later readers: theirs is sent beside it. An idle etcd answers
 * sooner. Under load, the response waits for the next iteration of the event loop, and so would theirs after that.
 */
const overlapMs = 2;

/**
 * A reader that has waited this long for a query in flight fails with it. All others get a query of their own, which fails
 * within half a second if there is an outage.
 */
const queuedMaxMs = 1_000;

/** While etcd does not respond, further readers queue behind so many queries. */
const inFlightMax = 4;

export interface LatestRevisionQueryOptions {
  readonly store: Pick<Feed, 'readLatestRevision'>;
  readonly clock: Clock;
  /** The latest revision is known for these readers. What it throws rejects them. */
  readonly onRevision: (revision: Revision, readers: readonly FreshReader[]) => void;
  /** A query that was sent at this time has failed, because etcd does not respond. */
  readonly onUnavailable: (error: StorageUnavailableError, sentMs: number) => void;
}

/**
 * The read barrier: linearizable reads of the latest revision, which concurrent readers share. A reader may share a query
 * that is sent after it arrived; one that is already in flight could be older than a write that was acknowledged since.
 */
export class LatestRevisionQuery {
  readonly #options: LatestRevisionQueryOptions;
  /** Readers that arrive at about the same time share the query. */
  readonly #starts: Coalescer;
  /** Readers that arrived since the last query was sent. */
  #queued: FreshReader[] = [];
  /** A span of one of the queued readers. */
  #trace: Span | undefined;
  #inFlight = 0;
  #sentMs = Number.NEGATIVE_INFINITY;

  constructor(options: LatestRevisionQueryOptions) {
    this.#options = options;
    this.#starts = new Coalescer(options.clock, () => void this.#run(this.#queued.splice(0)));
  }

  add(reader: FreshReader): void {
    this.#queued.push(reader);
    this.#trace ??= reader.call.trace;
    this.#sendForQueued();
  }

  /** Sends a query without a reader, unless one is in flight. */
  probe(): void {
    if (this.#inFlight === 0) this.#starts.request();
  }

  rejectQueued(error: unknown): void {
    for (const reader of this.#queued.splice(0)) rejectReader(reader, error, 0);
  }

  #rejectQueuedLong(error: unknown): void {
    const sinceMs = this.#options.clock.monotonicMs() - queuedMaxMs;
    const rejected = this.#queued.filter(({ arrivedMs }) => arrivedMs <= sinceMs);
    this.#queued = this.#queued.filter(({ arrivedMs }) => arrivedMs > sinceMs);
    for (const reader of rejected) rejectReader(reader, error, 0);
  }

  /** The end of a query in flight calls this again for those who have to wait. */
  #sendForQueued(): void {
    if (this.#inFlight === inFlightMax) return;
    if (this.#inFlight > 0 && this.#options.clock.monotonicMs() - this.#sentMs < overlapMs) return;
    this.#starts.request();
  }

  async #run(readers: readonly FreshReader[]): Promise<void> {
    const { store, clock, onRevision, onUnavailable } = this.#options;
    const sentMs = clock.monotonicMs();
    this.#sentMs = sentMs;
    this.#inFlight++;
    try {
      // The query belongs to one trace: that of the first sampled reader.
      const trace = this.#trace;
      this.#trace = undefined;
      // The etcd client gives up by itself.
      onRevision(await store.readLatestRevision(callUntil(Number.POSITIVE_INFINITY, trace)), readers);
    } catch (error) {
      for (const reader of readers) rejectReader(reader, error, 0);
      if (error instanceof StorageUnavailableError) {
        this.#rejectQueuedLong(error);
        onUnavailable(error, sentMs);
      }
    }
    this.#inFlight--;
    if (this.#queued.length > 0) this.#sendForQueued();
  }
}
