/** A store in memory for tests. It passes the same contract suite as the store on etcd. */
import { type Clock, throwIfAborted } from '@cluster-apiserver/base';
import {
  HistoryReplacedError,
  KeyExistsError,
  PreconditionFailedError,
  RevisionCompactedError,
  RevisionMismatchError,
  RevisionTooLargeError,
} from '../errors.ts';
import { History } from '../etcd/history.ts';
import { type Revision, revision } from '../revision.ts';
import type { Store, StoredValue, WriteOptions } from '../store.ts';

export interface MemoryStore extends Store {
  /** Drops the history before the revision, as etcd's compaction does. */
  compact(oldest: Revision): void;
  /** Restores the state of a revision with another history, as a restored backup has. */
  restore(to: Revision): void;
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
  /** An empty etcd is at revision 1 too; 0 means no revision. */
  let head = revision(1);
  let oldest = revision(1);
  const replaced = new History();
  const newest = new Map<string, StoredValue>();
  let writes: Write[] = [];
  const expiries = new Map<string, () => void>();
  const watchers = new Set<() => void>();

  const write = (key: string, value: Uint8Array | undefined, options: WriteOptions): Revision => {
    head = revision(head + 1);
    const previous = newest.get(key);
    const current = value && { key, value: Buffer.from(value), revision: head, stale: false };
    if (current) newest.set(key, current);
    else newest.delete(key);
    writes.push({ revision: head, key, current, previous });
    expiries.get(key)?.();
    expiries.delete(key);
    if (current && options.timeToLiveSeconds !== undefined) {
      const endMs = clock.monotonicMs() + options.timeToLiveSeconds * 1000;
      // A timer counts from the start of the turn that sets it, so it may fire early.
      const expire = (): void => {
        if (clock.monotonicMs() >= endMs) write(key, undefined, {});
        else arm();
      };
      const arm = (): void => void expiries.set(key, clock.after(Math.ceil(endMs - clock.monotonicMs()), expire));
      arm();
    }
    for (const wake of watchers) wake();
    return head;
  };
  const requireRevision = (key: string, expected: Revision): void => {
    const current = newest.get(key);
    if (current?.revision !== expected) throw new RevisionMismatchError(key, expected, current);
  };
  /** The latest state, with every change after the revision undone. */
  const stateAt = (at: Revision): Map<string, StoredValue> => {
    if (at < oldest) throw new RevisionCompactedError(at, oldest);
    if (at > head) throw new RevisionTooLargeError(at);
    const state = new Map(newest);
    for (const { revision: written, key, previous } of writes.toReversed()) {
      if (written <= at) break;
      if (previous) state.set(key, previous);
      else state.delete(key);
    }
    return state;
  };

  return {
    get: async (key) => ({ stored: newest.get(key), revision: head }),
    list: async ({ prefix, after = '', limit = Number.POSITIVE_INFINITY, revision: at = head }) => {
      const inRange = [...stateAt(at).values()]
        .filter(({ key }) => key.startsWith(prefix) && byBytes(key, after) > 0)
        .sort((one, other) => byBytes(one.key, other.key));
      const entries = inRange.slice(0, limit);
      return { entries, revision: at, remaining: inRange.length - entries.length };
    },
    create: async (key, value, options, call) => {
      throwIfAborted(call);
      const current = newest.get(key);
      if (current) throw new KeyExistsError(current);
      const hasFailed = options.preconditions?.some((one) => newest.get(one.key)?.revision !== one.revision);
      if (hasFailed) throw new PreconditionFailedError(key, head);
      return write(key, value, options);
    },
    update: async (key, value, expected, options, call) => {
      throwIfAborted(call);
      requireRevision(key, expected);
      return write(key, value, options);
    },
    delete: async (key, expected, call) => {
      throwIfAborted(call);
      requireRevision(key, expected);
      return write(key, undefined, {});
    },
    watch: async function* (prefix, after, signal, { withPrevious = true } = {}) {
      let next = revision(after + 1);
      const { number } = replaced;
      while (!signal.aborted) {
        if (replaced.number !== number) throw new HistoryReplacedError();
        if (next < oldest) throw new RevisionCompactedError(after, oldest);
        const found = writes.find((one) => one.revision >= next);
        if (!found) {
          await waitForWrite(watchers, signal);
          continue;
        }
        next = revision(found.revision + 1);
        const { key, current, previous } = found;
        const change = { key, current, previous: withPrevious ? previous : undefined };
        yield { revision: found.revision, changes: key.startsWith(prefix) ? [change] : [] };
      }
    },
    readLatestRevision: async () => head,
    // Its watches deliver every revision anyway.
    requestProgress: () => {},
    restartWatches: () => {},
    get historyNumber() {
      return replaced.number;
    },
    onHistoryReplaced: (listener) => replaced.onReplaced(listener),
    restore: (to) => {
      const state = stateAt(to);
      newest.clear();
      for (const [key, stored] of state) newest.set(key, stored);
      writes = writes.filter((one) => one.revision <= to);
      replaced.revision = head;
      head = to;
      replaced.replace('revision', { clusterId: 1, revision: to });
      for (const wake of watchers) wake();
    },
    compact: (to) => {
      oldest = to;
      writes = writes.filter((one) => one.revision >= to);
      for (const wake of watchers) wake();
    },
    close: () => {
      for (const cancel of expiries.values()) cancel();
    },
  };
}

const byBytes = (one: string, other: string): number => Buffer.compare(Buffer.from(one), Buffer.from(other));

function waitForWrite(watchers: Set<() => void>, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const wake = (): void => {
      watchers.delete(wake);
      signal.removeEventListener('abort', wake);
      resolve();
    };
    watchers.add(wake);
    signal.addEventListener('abort', wake, { once: true });
  });
}
