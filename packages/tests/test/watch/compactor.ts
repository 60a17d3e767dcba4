import { sleep, systemClock as clock } from '@cluster-apiserver/base';
import { compact } from '../etcd.ts';
import type { Compaction } from '../fault/history.ts';
import type { Recorder } from './recorder.ts';

export interface Compactor {
  /** All that were asked for, whether the answer came or not. */
  readonly requests: readonly Compaction[];
  /** How many were answered. */
  readonly done: number;
  stop(): Promise<void>;
}

/** Makes etcd forget, time and again, all that it knew the time before: the life of a revision is one to two intervals. */
export function startCompactor(members: readonly string[], recorder: Recorder, intervalMs: number): Compactor {
  const asked: Compaction[] = [];
  const stopping = new AbortController();
  let done = 0;
  const loop = (async () => {
    let seen = 0;
    for (let turn = 0; !stopping.signal.aborted; turn += 1) {
      // Never more than is recorded, lest the truth itself be forgotten.
      const target = seen;
      seen = recorder.revision;
      if (target > (asked.at(-1)?.revision ?? 0)) {
        asked.push({ revision: target, requestedMs: clock.monotonicMs() });
        try {
          await compact(members[turn % members.length] as string, target);
          done += 1;
        } catch {
          // A member that is down or without a leader; it may have happened all the same, and the next one comes soon.
        }
      }
      await sleep(clock, intervalMs);
    }
  })();
  return {
    requests: asked,
    get done() {
      return done;
    },
    stop: async () => {
      stopping.abort();
      await loop;
    },
  };
}
