import { StorageUnavailableError, type Store } from '@cluster-apiserver/storage';

/**
 * Checks leadership before each write. After a pause of the process, queued work may run before the timer that ends the
 * term. A write that has passed the check and reaches etcd in the next term does no harm: it requires the revision of the
 * object that it was decided on. What controllers decide on besides, such as an owner that is gone or a namespace in
 * deletion, never reverts.
 */
export function requireLeadership(store: Store, leading: () => boolean): Store {
  const checkLeadership = (): void => {
    if (!leading()) throw new StorageUnavailableError('leadership was lost');
  };
  return {
    get: (...read) => store.get(...read),
    list: (...read) => store.list(...read),
    create: async (...write) => (checkLeadership(), store.create(...write)),
    update: async (...write) => (checkLeadership(), store.update(...write)),
    end: async (...write) => (checkLeadership(), store.end(...write)),
    delete: async (...write) => (checkLeadership(), store.delete(...write)),
    get writeCongestion() {
      return store.writeCongestion;
    },
  };
}
