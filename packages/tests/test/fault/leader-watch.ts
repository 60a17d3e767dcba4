import { sleep, systemClock as clock } from '@cluster-apiserver/base';
import { memberAt } from '@cluster-apiserver/testkit/etcd-gateway';

/** A time without a leader, from the last sign of one to the first sign of the next. */
export interface LeaderlessTime {
  readonly fromMs: number;
  readonly toMs: number;
}

export interface LeaderWatch {
  /** Ends the watch. Returns the times without a leader that were longer than a few polls. */
  stop(): Promise<readonly LeaderlessTime[]>;
}

const pollMs = 50;
const leaderlessMinMs = 10 * pollMs;

/** Asks the members of etcd themselves, all the time, which of them leads. None of the code under test is involved. */
export function watchLeader(endpoints: readonly string[]): LeaderWatch {
  const leaderless: LeaderlessTime[] = [];
  let lastSeenMs = clock.monotonicMs();
  const noteTime = (nowMs: number): void => {
    if (nowMs - lastSeenMs >= leaderlessMinMs) leaderless.push({ fromMs: lastSeenMs, toMs: nowMs });
    lastSeenMs = nowMs;
  };
  const stopping = new AbortController();
  const loops = endpoints.map(async (endpoint) => {
    while (!stopping.signal.aborted) {
      const member = await memberAt(endpoint);
      if (member && member.id === member.leader) noteTime(clock.monotonicMs());
      await sleep(clock, pollMs);
    }
  });
  return {
    stop: async () => {
      stopping.abort();
      await Promise.all(loops);
      noteTime(clock.monotonicMs());
      return leaderless;
    },
  };
}
