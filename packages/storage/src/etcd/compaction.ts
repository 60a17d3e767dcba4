/**
 * Compacts etcd's history every interval, up to the revision of one interval ago. The leader does it, only to save the
 * other replicas the work. Without a leader for long, every replica does it: an etcd that is out of space refuses even
 * the leader's key, and compaction frees space.
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
  /** Receives each compaction and each failure; the next interval tries again. */
  readonly report: (event: CompactionEvent) => void;
}

export type CompactionEvent =
  | { readonly type: 'compacted'; readonly revision: number }
  | { readonly type: 'compaction failed'; readonly cause: unknown };

/** Without a leader for this many intervals, every replica compacts. */
const vacantIntervalsMin = 2;

/** In election timeouts. etcd responds when the members have agreed on the compaction, and compacts later. */
const callTimeoutElections = 5;

export function startCompaction({ client, election, intervalMs, report }: CompactionOptions): { close(): void } {
  const { clock, electionTimeoutMs } = client;
  const callOf = (): Call => callUntil(clock.monotonicMs() + callTimeoutElections * electionTimeoutMs);
  let seenRevision = 0;
  let closed = false;
  // A revision of the previous history says nothing about the age of revisions of this one.
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
      // Another replica, or an own attempt whose response was lost, compacted first.
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
