import type { Clock } from '@cluster-apiserver/base';
import type { Resource } from '@cluster-apiserver/registry';
import { type Follower, followAll, isLoaded } from './memory.ts';
import { createPasses } from './passes.ts';

export interface FollowAndSyncOptions {
  readonly resources: readonly Resource[];
  readonly clock: Clock;
  readonly signal: AbortSignal;
  readonly changed: Follower['changed'];
  /** Looks at all that memory holds: at first, and again after changes were missed. */
  readonly sync: () => Promise<void>;
}

/** Follows the collections until the signal aborts. Rejects with what `changed` or `sync` throws. */
export async function followAndSync({ resources, clock, signal, changed, sync }: FollowAndSyncOptions): Promise<void> {
  const passes = createPasses(clock, signal);
  const unfollow = followAll(resources, { changed, interrupted: passes.request, failed: passes.fail });
  passes.request();
  try {
    await passes.run(async () => {
      // The load interrupts the followers, and that is the time to sync.
      if (isLoaded(resources)) await sync();
    });
  } finally {
    unfollow();
  }
}
