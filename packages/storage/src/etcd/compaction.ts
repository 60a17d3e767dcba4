/**
 * Forgets history: every interval, what is older than the interval before. One replica does it; that it holds the lead
 * keeps the others from doing the same work, and nothing more depends on it. So when there has been no leader for long,
 * as when etcd is full and takes not even the leader's key, anybody does it: it is what makes room again.
 */
import { type Call, callUntil } from '@cluster-apiserver/base';
import type { EtcdClient } from './client.ts';
import type { Election } from './election.ts';
import { isCompacted } from './faults.ts';
import { compact } from './wire/key-value.ts';

export interface CompactionOptions {
  readonly client: EtcdClient;
  readonly election: Pick<Election, 'isLeading' | 'vacantMs'>;
  readonly intervalMs: number;
  /** Told of each compaction, and of each that failed: the next interval tries again. */
  readonly report: (event: CompactionEvent) => void;
}

export type CompactionEvent =
  | { readonly type: 'compacted'; readonly revision: number }
  | { readonly type: 'compaction failed'; readonly cause: unknown };

/** Without a leader for this long, it is nobody's turn and so everybody's. */
const vacantIntervalsMin = 2;

/** Compaction is answered when it is agreed upon, not when it is done. */
const callTimeoutMs = 5_000;

export function startCompaction({ client, election, intervalMs, report }: CompactionOptions): { close(): void } {
  const { clock } = client;
  const callOf = (): Call => callUntil(clock.monotonicMs() + callTimeoutMs);
  let seenRevision = 0;
  let closed = false;
  // What was seen of another history says nothing of how old a revision of this one is.
  const stopListening = client.history.onReplaced(() => {
    seenRevision = 0;
  });

  const compactOnce = async (): Promise<void> => {
    const target = seenRevision;
    const history = client.history.number;
    seenRevision = await client.readLatestRevision(callOf());
    const mayCompact = election.isLeading || election.vacantMs >= vacantIntervalsMin * intervalMs;
    if (!mayCompact || target === 0) return;
    await client.call(compact, target, { ...callOf(), historyNumber: history });
    report({ type: 'compacted', revision: target });
  };
  const attempt = async (): Promise<void> => {
    try {
      await compactOnce();
    } catch (cause) {
      // Another replica, or our own attempt whose answer was lost, came first.
      if (!isCompacted(cause) && !closed) report({ type: 'compaction failed', cause });
    }
    if (!closed) cancel = scheduleNext();
  };
  const scheduleNext = (): (() => void) => clock.after(intervalMs, () => void attempt());
  let cancel = scheduleNext();

  return {
    close: () => {
      closed = true;
      stopListening();
      cancel();
    },
  };
}
