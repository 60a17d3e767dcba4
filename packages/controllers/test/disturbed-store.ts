import type { ChangeSet, Store } from '@cluster-apiserver/storage';

/** A store that a test can disturb between the collector and what is stored. */
export interface DisturbedStore extends Store {
  /** Called before each write. What it throws is what the write throws. */
  beforeWrite: (verb: 'update' | 'delete', key: string) => Promise<void> | void;
  /** How often each was asked for. */
  readonly asked: { readonly get: number; readonly list: number; readonly writes: number };
  /** Watches of the prefix tell nothing until the returned function is called. */
  hold(prefix: string): () => void;
  /** Ends all watches with this error. */
  cut(error: Error): void;
}

export function disturbedStore(store: Store): DisturbedStore {
  const asked = { get: 0, list: 0, writes: 0 };
  const held = new Map<string, Promise<void>>();
  const watches = new Set<(error: Error) => void>();

  async function* watch(prefix: string, changes: AsyncIterator<ChangeSet>): AsyncGenerator<ChangeSet> {
    const { promise: severed, reject: sever } = Promise.withResolvers<never>();
    watches.add(sever);
    try {
      for (;;) {
        const next = await Promise.race([changes.next(), severed]);
        await held.get(prefix);
        if (next.done) return;
        yield next.value;
      }
    } finally {
      watches.delete(sever);
      void changes.return?.();
    }
  }
  const writing = async <T>(verb: 'update' | 'delete', key: string, write: () => Promise<T>): Promise<T> => {
    asked.writes++;
    await disturbed.beforeWrite(verb, key);
    return write();
  };
  const disturbed: DisturbedStore = {
    beforeWrite: () => {},
    asked,
    get: (...args) => {
      asked.get++;
      return store.get(...args);
    },
    list: (...args) => {
      asked.list++;
      return store.list(...args);
    },
    create: (...args) => store.create(...args),
    update: (...args) => writing('update', args[0], () => store.update(...args)),
    delete: (...args) => writing('delete', args[0], () => store.delete(...args)),
    watch: (prefix, after, signal) => watch(prefix, store.watch(prefix, after, signal)[Symbol.asyncIterator]()),
    head: (...args) => store.head(...args),
    askForProgress: () => store.askForProgress(),
    reopenWatches: () => store.reopenWatches(),
    get history() {
      return store.history;
    },
    onHistoryReplaced: (listener) => store.onHistoryReplaced(listener),
    hold: (prefix) => {
      const { promise, resolve } = Promise.withResolvers<void>();
      held.set(prefix, promise);
      return () => {
        held.delete(prefix);
        resolve();
      };
    },
    cut: (error) => {
      for (const sever of watches) sever(error);
    },
  };
  return disturbed;
}
