import { type Attempt, type Compaction, describe, type Entry, leavesOpen, mayBeForgotten } from './history.ts';
import { misplacedIn, type Observation, type TimedWrite } from './real-time-order.ts';
import { ownersOf } from './attribution.ts';
import { spansOf } from './valid-intervals.ts';

/**
 * Whether a history can be true, given etcd's own log. The log fixes the order of the writes, so nothing has to be
 * searched: each write must be somebody's, once, with the effect it was asked for; each answer that tells of a state must
 * fit between two writes; and all of it must fit the times at which clients asked and were told.
 */
export function judge(
  history: readonly Attempt[],
  log: readonly Entry[],
  compactions: readonly Compaction[] = [],
): string[] {
  const { owners, violations } = ownersOf(history, log);
  const spans = spansOf(log);
  const observations: Observation[] = [];
  for (const attempt of history) {
    const { outcome, returnedMs } = attempt;
    if (outcome.told === 'expired' && !mayBeForgotten(compactions, outcome.revision, returnedMs))
      violations.push(`expired before its time: ${describe(attempt)}`);
    const candidates = spans.fitting(attempt);
    if (candidates === undefined) continue;
    if (candidates.length === 0) violations.push(`never true: ${describe(attempt)}`);
    else observations.push({ attempt, candidates });
  }
  const writes = log.map((_, at): TimedWrite => timesOf(owners[at]));
  const misplaced = misplacedIn(writes, observations);
  for (const at of misplaced.writes) {
    const owner = owners[at];
    if (owner) violations.push(`after its answer: the write at ${log[at]?.revision} of ${describe(owner)}`);
  }
  for (const attempt of misplaced.observed) violations.push(`not at that time: ${describe(attempt)}`);
  return violations;
}

/** A write that nobody was told of may have happened at any time after it was asked for. */
function timesOf(owner: Attempt | undefined): TimedWrite {
  if (!owner) return { invokedMs: Number.NEGATIVE_INFINITY, returnedMs: Number.POSITIVE_INFINITY };
  return leavesOpen(owner.outcome) ? { ...owner, returnedMs: Number.POSITIVE_INFINITY } : owner;
}
