import { sleep, systemClock as clock } from '@cluster-apiserver/base';
import { compact } from '@cluster-apiserver/testkit/etcd-gateway';
import type { Compaction } from '../fault/history.ts';
import type { Recorder } from './recorder.ts';

export interface Compactor {
  /** All requested compactions, with or without a response. */
  readonly requests: readonly Compaction[];
  /** Number of acknowledged compactions. */
  readonly done: number;
  stop(): Promise<void>;
}

/**
 * Periodically compacts etcd to the revision of the previous round, so a revision stays available for one to two
 * intervals.
 */
export function startCompactor(members: readonly string[], recorder: Recorder, intervalMs: number): Compactor {
  const requests: Compaction[] = [];
  const stopping = new AbortController();
  let done = 0;
  const loop = (async () => {
    let seen = 0;
    for (let turn = 0; !stopping.signal.aborted; turn += 1) {
      // Only recorded revisions may be compacted.
      const target = seen;
      seen = recorder.revision;
      if (target > (requests.at(-1)?.revision ?? 0)) {
        requests.push({ revision: target, requestedMs: clock.monotonicMs() });
        try {
          await compact(members[turn % members.length] as string, target);
          done += 1;
        } catch {
          // The member is down or has no leader. The compaction may still have happened, and the next one follows soon.
        }
      }
      await sleep(clock, intervalMs);
    }
  })();
  return {
    requests,
    get done() {
      return done;
    },
    stop: async () => {
      stopping.abort();
      await loop;
    },
  };
}
