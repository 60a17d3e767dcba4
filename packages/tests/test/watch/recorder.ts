import { sleep, systemClock as clock } from '@cluster-apiserver/base';
import { type Change, streamChanges } from '../etcd.ts';

/** The truth while it happens: what etcd itself says is written, heard from every member, so that any may die. */
export interface Recorder {
  readonly changes: readonly Change[];
  /** Everything up to here is recorded; what is older may be forgotten by etcd. */
  readonly revision: number;
  stop(): Promise<void>;
}

/** Between two attempts to hear a member that is down. */
const retryMs = 100;

export function startRecorder(members: readonly string[], prefix: string): Recorder {
  const changes: Change[] = [];
  const stopping = new AbortController();
  const newest = (): number => changes.at(-1)?.revision ?? 0;
  const listeners = members.map(async (url) => {
    while (!stopping.signal.aborted) {
      try {
        for await (const told of streamChanges(url, prefix, newest() + 1, stopping.signal)) {
          // Every member tells all of it in the same order, and none divides a revision: whoever is first is believed.
          const known = newest();
          changes.push(...told.filter(({ revision }) => revision > known));
        }
      } catch {
        // The member is down or we stop. That nothing is lost meanwhile is seen by the judge: a gap has no owner.
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
