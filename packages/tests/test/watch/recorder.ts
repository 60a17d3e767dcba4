import { sleep, systemClock as clock } from '@cluster-apiserver/base';
import { type Change, streamChanges } from '@cluster-apiserver/testkit/etcd-gateway';

/** Records all changes from every etcd member, so that any member may fail. */
export interface Recorder {
  readonly changes: readonly Change[];
  /** All changes up to this revision are recorded; etcd may compact older ones. */
  readonly revision: number;
  stop(): Promise<void>;
}

/** Delay between connection attempts to a member that is down. */
const retryMs = 100;

/** Records those of the changes to keys with a prefix that `isWanted` selects. */
export function startRecorder(
  members: readonly string[],
  prefix: string,
  isWanted: (change: Change) => boolean,
): Recorder {
  const changes: Change[] = [];
  const stopping = new AbortController();
  const newest = (): number => changes.at(-1)?.revision ?? 0;
  const listeners = members.map(async (url) => {
    while (!stopping.signal.aborted) {
      try {
        for await (const batch of streamChanges(url, prefix, newest() + 1, stopping.signal)) {
          // Every member sends all changes in the same order and does not split revisions, so the first one counts.
          const known = newest();
          changes.push(...batch.filter((change) => change.revision > known && isWanted(change)));
        }
      } catch {
        // The member is down or the recorder stops. The checker would notice a gap as events without a write.
      }
      if (!stopping.signal.aborted) await sleep(clock, retryMs);
    }
  });
  return {
    changes,
    get revision() {
      return newest();
    },
    stop: async () => {
      stopping.abort();
      await Promise.all(listeners);
    },
  };
}
