import type { HistoryReplaced } from './history.ts';

/** What operators should see in the log. */
export type EtcdEvent =
  /** No quorum responds; calls fail early from now on. */
  | { readonly type: 'outage' | 'outage goes on'; readonly cause: unknown }
  | { readonly type: 'outage ended' }
  /** etcd was restored, rebuilt or replaced: everything that was known is void. */
  | ({ readonly type: 'history replaced' } & HistoryReplaced)
  /** An endpoint belongs to another cluster than the others; it is not used. */
  | { readonly type: 'foreign member'; readonly endpoint: string }
  /** A member runs a version of etcd that is not supported; it is not used. */
  | { readonly type: 'old member'; readonly endpoint: string; readonly version: string }
  /** etcd refuses data for lack of space, or accepts it again. */
  | { readonly type: 'full' | 'not full' }
  /** A watch lost its member and continues at another one. Reported rarely, because all watches may be lost together. */
  | { readonly type: 'watch lost'; readonly cause: unknown }
  /** etcd refuses the watch, so changes by other replicas are not seen. */
  | { readonly type: 'watch refused'; readonly cause: unknown }
  | { readonly type: 'watch accepted' }
  /** etcd denies a write, or grants it again. */
  | { readonly type: 'access refused'; readonly cause: unknown }
  | { readonly type: 'access granted' };
