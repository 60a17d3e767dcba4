import { trackLatency } from '@cluster-apiserver/base';
import type { Store } from '@cluster-apiserver/storage';

/** A store that adds waiting times to the storage latency of the request. */
export const trackedStore = (store: Store): Store => ({
  get: (key, call) => trackLatency(call.latency, 'storage', store.get(key, call)),
  list: (range, call) => trackLatency(call.latency, 'storage', store.list(range, call)),
  create: (key, value, options, call) => trackLatency(call.latency, 'storage', store.create(key, value, options, call)),
  update: (key, value, expected, options, call) =>
    trackLatency(call.latency, 'storage', store.update(key, value, expected, options, call)),
  delete: (key, expected, call) => trackLatency(call.latency, 'storage', store.delete(key, expected, call)),
  watch: (...watched) => store.watch(...watched),
  readLatestRevision: (call) => trackLatency(call.latency, 'storage', store.readLatestRevision(call)),
  requestProgress: () => store.requestProgress(),
  restartWatches: () => store.restartWatches(),
  get historyNumber() {
    return store.historyNumber;
  },
  onHistoryReplaced: (listener) => store.onHistoryReplaced(listener),
});
