/** A store in memory. It passes the same contract suite as the store on etcd. */
import { type Clock, throwIfAborted } from '@cluster-apiserver/base';
import {
  type ChangeSet,
  type FollowedStore,
  type HistoryReplaced,
  HistoryReplacedError,
  KeyExistsError,
  PreconditionFailedError,
  type Revision,
  revision,
  RevisionCompactedError,
  RevisionMismatchError,
  RevisionTooLargeError,
  type StoredValue,
  type WriteOptions,
} from '@cluster-apiserver/storage';

export interface MemoryStore extends FollowedStore {
  /** Drops the history before the revision, as etcd's compaction does. */
  compact(oldest: Revision): void;
  /**
   * Restores the state of a revision with another history, as a restored backup has. With `bumpedTo`, it continues at that
   * revision and everything before is compacted.
   */
  restore(to: Revision, bumpedTo?: Revision): void;
  /** Compacts all that a replica knew before it was cut off, up to a revision: whether the history is the same is unknown. */
  compactKnown(upTo: Revision): void;
  /** Cancels the timers of values with a time to live. */
  close(): void;
}

interface Write {
  readonly revision: Revision;
  readonly key: string;
  readonly current: StoredValue | undefined;
  readonly previous: StoredValue | undefined;
}

export function memoryStore(clock: Clock): MemoryStore {
  const state = new State(clock);
  const { latest } = state;
  const ended = new Set<string>();
  return {
    get: async (key) => ({ stored: latest.get(key), revision: state.head }),
    list: async ({ prefix, after = '', limit = Number.POSITIVE_INFINITY, revision: at = state.head }) => {
      const inRange = [...state.at(at).values()]
        .filter(({ key }) => key.startsWith(prefix) && byBytes(key, after) > 0)
        .sort((one, other) => byBytes(one.key, other.key));
      const entries = inRange.slice(0, limit);
      return { entries, revision: at, remaining: inRange.length - entries.length };
    },
    create: async (key, value, options, call) => {
      throwIfAborted(call);
      const current = latest.get(key);
      if (current) throw new KeyExistsError(current);
      const hasFailed = options.preconditions?.some((one) => (latest.get(one.key)?.revision ?? 0) !== one.revision);
      if (hasFailed || options.within?.some((whole) => ended.has(whole)))
        throw new PreconditionFailedError(key, state.head);
      const others = options.preconditions?.flatMap(({ key: other, value: next }) =>
        next ? [[other, next] as const] : [],
      );
      return state.write(key, value, options, others);
    },
    update: async (key, value, expected, options, call) => {
      throwIfAborted(call);
      state.requireRevision(key, expected);
      return state.write(key, value, options);
    },
    delete: async (key, expected, call) => {
      throwIfAborted(call);
      state.requireRevision(key, expected);
      return state.write(key, undefined, {});
    },
    end: async (whole) => void ended.add(whole),
    writeCongestion: 1,
    watch: (prefix, after, signal, { withPrevious = true } = {}) =>
      watchState(state, prefix, after, signal, withPrevious),
    readLatestRevision: async () => state.head,
    // Its watches deliver every revision anyway.
    requestProgress: () => {},
    restartWatches: () => {},
    get historyNumber() {
      return state.historyNumber;
    },
    onHistoryReplaced: (listener) => {
      state.listeners.add(listener);
      return () => state.listeners.delete(listener);
    },
    restore: (to, bumpedTo) => state.restore(to, bumpedTo),
    compact: (to) => state.compact(to),
    compactKnown: (upTo) => state.compactKnown(upTo),
    close: () => state.close(),
  };
}

async function* watchState(
  state: State,
  prefix: string,
  after: Revision,
  signal: AbortSignal,
  withPrevious: boolean,
): AsyncGenerator<ChangeSet> {
  let next = revision(after + 1);
  const { historyNumber } = state;
  while (!signal.aborted) {
    if (state.historyNumber !== historyNumber) throw new HistoryReplacedError();
    if (next < state.oldest) throw new RevisionCompactedError(after, state.oldest);
    const found = state.firstWriteSince(next);
    if (!found) {
      await state.waitForWrite(signal);
      continue;
    }
    next = revision(found.revision + 1);
    const changes = state.writesAt(found.revision).filter(({ key }) => key.startsWith(prefix));
    yield {
      revision: found.revision,
      changes: changes.map(({ key, current, previous }) => ({
        key,
        current,
        previous: withPrevious ? previous : undefined,
      })),
    };
  }
}

/** The values, and every write since the last compaction. */
class State {
  readonly latest = new Map<string, StoredValue>();
  readonly listeners = new Set<(replaced: HistoryReplaced) => void>();
  historyNumber = 0;
  readonly #clock: Clock;
  /** An empty etcd is at revision 1 too; 0 means no revision. */
  #head = revision(1);
  #oldest = revision(1);
  #writes: Write[] = [];
  readonly #expiries = new Map<string, () => void>();
  readonly #watchers = new Set<() => void>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  get head(): Revision {
    return this.#head;
  }

  get oldest(): Revision {
    return this.#oldest;
  }

  /** The other keys are written at the same revision. */
  write(
    key: string,
    value: Uint8Array | undefined,
    options: WriteOptions,
    others: readonly (readonly [key: string, value: Uint8Array])[] = [],
  ): Revision {
    this.#head = revision(this.#head + 1);
    this.#set(key, value, options);
    for (const [other, next] of others) this.#set(other, next, {});
    this.#wakeWatchers();
    return this.#head;
  }

  #set(key: string, value: Uint8Array | undefined, { timeToLiveSeconds }: WriteOptions): void {
    const previous = this.latest.get(key);
    const current = value && { key, value: Buffer.from(value), revision: this.#head, stale: false };
    if (current) this.latest.set(key, current);
    else this.latest.delete(key);
    this.#writes.push({ revision: this.#head, key, current, previous });
    this.#expiries.get(key)?.();
    this.#expiries.delete(key);
    if (current && timeToLiveSeconds !== undefined)
      this.#expireAt(key, this.#clock.monotonicMs() + timeToLiveSeconds * 1000);
  }

  requireRevision(key: string, expected: Revision): void {
    const current = this.latest.get(key);
    if (current?.revision !== expected) throw new RevisionMismatchError(key, expected, current);
  }

  /** The latest values, with every write after the revision undone. */
  at(requested: Revision): Map<string, StoredValue> {
    if (requested < this.#oldest) throw new RevisionCompactedError(requested, this.#oldest);
    if (requested > this.#head) throw new RevisionTooLargeError(requested);
    const values = new Map(this.latest);
    for (const { revision: written, key, previous } of this.#writes.toReversed()) {
      if (written <= requested) break;
      if (previous) values.set(key, previous);
      else values.delete(key);
    }
    return values;
  }

  firstWriteSince(oldest: Revision): Write | undefined {
    return this.#writes.find((write) => write.revision >= oldest);
  }

  writesAt(at: Revision): readonly Write[] {
    return this.#writes.filter((write) => write.revision === at);
  }

  waitForWrite(signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const wake = (): void => {
        this.#watchers.delete(wake);
        signal.removeEventListener('abort', wake);
        resolve();
      };
      this.#watchers.add(wake);
      signal.addEventListener('abort', wake, { once: true });
    });
  }

  restore(to: Revision, bumpedTo?: Revision): void {
    const values = this.at(to);
    this.latest.clear();
    for (const [key, stored] of values) this.latest.set(key, stored);
    this.#writes = this.#writes.filter((write) => write.revision <= to);
    const before = this.#head;
    this.#head = bumpedTo ?? to;
    if (bumpedTo !== undefined) this.compact(bumpedTo);
    this.#beginHistory('revision', before);
  }

  compactKnown(upTo: Revision): void {
    this.compact(revision(upTo + 1));
    this.#beginHistory('compacted', upTo);
  }

  #beginHistory(reason: HistoryReplaced['reason'], before: Revision): void {
    this.historyNumber++;
    for (const listener of [...this.listeners]) listener({ reason, before, now: this.#head });
    this.#wakeWatchers();
  }

  compact(oldest: Revision): void {
    this.#oldest = oldest;
    this.#writes = this.#writes.filter((write) => write.revision >= oldest);
    this.#wakeWatchers();
  }

  close(): void {
    for (const cancel of this.#expiries.values()) cancel();
  }

  /** A timer counts from the start of the turn that sets it, so it may fire early. */
  #expireAt(key: string, endMs: number): void {
    const expire = (): void => {
      if (this.#clock.monotonicMs() >= endMs) this.write(key, undefined, {});
      else this.#expireAt(key, endMs);
    };
    this.#expiries.set(key, this.#clock.after(Math.ceil(endMs - this.#clock.monotonicMs()), expire));
  }

  #wakeWatchers(): void {
    for (const wake of this.#watchers) wake();
  }
}

const byBytes = (one: string, other: string): number => Buffer.compare(Buffer.from(one), Buffer.from(other));
