import { type ChangeSet, CorruptValueError, type Entry, type FollowedStore } from '@cluster-apiserver/storage';

/** A store that a test can disturb between a replica and what is stored. */
export interface DisturbedStore extends FollowedStore {
  /** Called before each write. What it throws is what the write throws. */
  beforeWrite: (verb: 'update' | 'delete', key: string) => Promise<void> | void;
  /** The number of calls of each method. */
  readonly asked: { readonly get: number; readonly list: number; readonly head: number; readonly writes: number };
  /** Watches deliver nothing until the returned function is called. */
  hold(): () => void;
  /** Ends all watches with this error. */
  cut(error: Error): void;
  /** What is stored under the key cannot be read, for this reason, until the returned function is called. */
  lock(key: string, cause?: Error): () => void;
}

export function disturbedStore(store: FollowedStore): DisturbedStore {
  const asked = { get: 0, list: 0, head: 0, writes: 0 };
  let held: Promise<void> | undefined;
  const locked = new Map<string, CorruptValueError>();
  const watches = new Set<(error: Error) => void>();

  async function* watch(changes: AsyncIterator<ChangeSet>): AsyncGenerator<ChangeSet> {
    const { promise: severed, reject: sever } = Promise.withResolvers<never>();
    watches.add(sever);
    try {
      for (;;) {
        const next = await Promise.race([changes.next(), severed]);
        await held;
        if (next.done) return;
        const { revision, changes: all } = next.value;
        yield {
          revision,
          changes: all.map((change) => ({ ...change, current: change.current && seen(change.current) })),
        };
      }
    } finally {
      watches.delete(sever);
      void changes.return?.();
    }
  }
  const seen = (entry: Entry): Entry => {
    const unreadable = locked.get(entry.key);
    return unreadable ? { key: entry.key, revision: entry.revision, unreadable } : entry;
  };
  const writing = async <T>(verb: 'update' | 'delete', key: string, write: () => Promise<T>): Promise<T> => {
    asked.writes++;
    await disturbed.beforeWrite(verb, key);
    return write();
  };
  const disturbed: DisturbedStore = {
    beforeWrite: () => {},
    asked,
    get: async (...args) => {
      asked.get++;
      const unreadable = locked.get(args[0]);
      if (unreadable) throw unreadable;
      return store.get(...args);
    },
    list: async (...args) => {
      asked.list++;
      const page = await store.list(...args);
      return { ...page, entries: page.entries.map(seen) };
    },
    create: (...args) => store.create(...args),
    update: (...args) => writing('update', args[0], () => store.update(...args)),
    delete: (...args) => writing('delete', args[0], () => store.delete(...args)),
    end: (...args) => store.end(...args),
    writeCongestion: 1,
    watch: (prefix, after, signal) => watch(store.watch(prefix, after, signal)[Symbol.asyncIterator]()),
    readLatestRevision: (...args) => {
      asked.head++;
      return store.readLatestRevision(...args);
    },
    requestProgress: () => store.requestProgress(),
    restartWatches: () => store.restartWatches(),
    get historyNumber() {
      return store.historyNumber;
    },
    onHistoryReplaced: (listener) => store.onHistoryReplaced(listener),
    hold: () => {
      const { promise, resolve } = Promise.withResolvers<void>();
      held = promise;
      return () => {
        if (held === promise) held = undefined;
        resolve();
      };
    },
    lock: (key, cause) => {
      locked.set(key, new CorruptValueError([key], { cause }));
      return () => void locked.delete(key);
    },
    cut: (error) => {
      for (const sever of watches) sever(error);
    },
  };
  return disturbed;
}
