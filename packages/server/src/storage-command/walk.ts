import { callUntil, type Clock } from '@cluster-apiserver/base';
import type { Entry, Store } from '@cluster-apiserver/storage';

export interface StorageScan {
  readonly store: Store;
  /** Where the keys of all kinds begin, such as /registry. */
  readonly keyPrefix: string;
  /** What the servers keep for themselves is no object. */
  readonly ownPrefix: string;
  readonly clock: Clock;
  readonly print: (line: string) => void;
  readonly signal: AbortSignal;
}

/** Small enough for a sign of life now and then. */
const pageKeys = 500;
const pageTimeoutMs = 30_000;

/** All that is stored, page by page, in the order of the keys. Each page is as of when it is read. */
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
