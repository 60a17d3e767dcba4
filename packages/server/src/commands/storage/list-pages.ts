import { callUntil, type Clock } from '@cluster-apiserver/base';
import type { Kind } from '@cluster-apiserver/model/kind';
import type { Entry, Store } from '@cluster-apiserver/storage';

export interface StorageScan {
  /** One of the etcds, and the kinds that are served from it. */
  readonly id: string;
  readonly store: Store;
  readonly holds: (kind: Kind) => boolean;
  /** Prefix of the keys of all kinds, such as /registry. */
  readonly keyPrefix: string;
  /** Keys of the servers themselves, which are skipped. */
  readonly ownPrefix: string;
  readonly clock: Clock;
  readonly print: (line: string) => void;
  readonly signal: AbortSignal;
}

/** Small enough to print progress regularly. */
const pageKeys = 500;
const pageTimeoutMs = 30_000;

/** All stored entries, page by page, in key order. Pages are not of one snapshot. */
export async function* listPages(
  { store, keyPrefix, ownPrefix, clock, signal }: StorageScan,
  from: string | undefined,
): AsyncGenerator<readonly Entry[]> {
  let after = from;
  for (;;) {
    const call = callUntil(clock.monotonicMs() + pageTimeoutMs);
    const { entries, remaining } = await store.list({ prefix: `${keyPrefix}/`, after, limit: pageKeys }, call);
    yield entries.filter(({ key }) => !key.startsWith(ownPrefix));
    after = entries.at(-1)?.key;
    if (remaining === 0 || signal.aborted) return;
  }
}
