import type { HistoryReplaced } from '../etcd/history.ts';
import type { Revision } from '../revision.ts';

export type WatchCacheEvent =
  | { readonly type: 'loaded'; readonly items: number; readonly revision: Revision; readonly tookMs: number }
  /** The objects below a prefix cannot be loaded, such as because a key is unavailable, and are not served meanwhile. */
  | { readonly type: 'suspended'; readonly prefix: string; readonly cause: unknown }
  /** The objects below a prefix were loaded alone: again after they were suspended, or attached. */
  | { readonly type: 'collection loaded'; readonly prefix: string; readonly items: number; readonly revision: Revision }
  /** The cache lists again. Until then it serves stale reads only. */
  | { readonly type: 'lost'; readonly cause: unknown }
  /** The store has another history than before: the cache is emptied at once and loaded again. */
  | ({ readonly type: 'history replaced' } & HistoryReplaced);
