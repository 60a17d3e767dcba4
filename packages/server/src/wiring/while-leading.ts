import { StorageUnavailableError, type Store } from '@cluster-apiserver/storage';

/**
 * A process that stood still learns of it by timers, and what came in the meantime may be dealt with before them. So each
 * write asks once more.
 */
export function requireLeadership(store: Store, leading: () => boolean): Store {
  const checkLeadership = (): void => {
    if (!leading()) throw new StorageUnavailableError('leadership was lost');
  };
  return {
    get: store.get,
    list: store.list,
    watch: store.watch,
    head: store.head,
    askForProgress: store.askForProgress,
    reopenWatches: store.reopenWatches,
    onHistoryReplaced: store.onHistoryReplaced,
    get history() {
      return store.history;
    },
    create: async (...write) => (checkLeadership(), store.create(...write)),
    update: async (...write) => (checkLeadership(), store.update(...write)),
    delete: async (...write) => (checkLeadership(), store.delete(...write)),
  };
}
