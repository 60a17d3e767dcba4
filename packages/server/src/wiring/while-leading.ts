import { StorageUnavailableError, type Store } from '@cluster-apiserver/storage';

/**
 * A process that stood still learns of it by timers, and what came in the meantime may be dealt with before them. So each
 * write asks once more.
 */
export function whileLeading(store: Store, leading: () => boolean): Store {
  const requireLead = (): void => {
    if (!leading()) throw new StorageUnavailableError('leadership was lost');
  };
  return {
    get: store.get,
    list: store.list,
    watch: store.watch,
    readLatestRevision: store.readLatestRevision,
    requestProgress: store.requestProgress,
    restartWatches: store.restartWatches,
    onHistoryReplaced: store.onHistoryReplaced,
    get historyNumber() {
      return store.historyNumber;
    },
    create: async (...write) => (requireLead(), store.create(...write)),
    update: async (...write) => (requireLead(), store.update(...write)),
    delete: async (...write) => (requireLead(), store.delete(...write)),
  };
}
