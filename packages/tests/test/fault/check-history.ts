import {
  type Operation,
  type Compaction,
  describeOperation,
  type Entry,
  isAmbiguous,
  mayBeCompacted,
} from './history.ts';
import { findMisplaced, type Observation, type TimedWrite } from './real-time-order.ts';
import { attributeEntries } from './attribution.ts';
import { indexIntervals } from './valid-intervals.ts';

/**
 * Checks a history against etcd's log and returns the violations. The log fixes the order of writes, so no search is
 * needed: each entry must have exactly one operation with the right effect; each outcome with a state must fit between
 * two entries; and everything must fit the invocation and response times.
 */
export function checkHistory(
  history: readonly Operation[],
  log: readonly Entry[],
  compactions: readonly Compaction[] = [],
): string[] {
  const { owners, violations } = attributeEntries(history, log);
  const spans = indexIntervals(log);
  const observations: Observation[] = [];
  for (const operation of history) {
    const { outcome, returnedMs } = operation;
    if (outcome.result === 'expired' && !mayBeCompacted(compactions, outcome.revision, returnedMs))
      violations.push(`expired before its time: ${describeOperation(operation)}`);
    const candidates = spans.intervalsOf(operation);
    if (candidates === undefined) continue;
    if (candidates.length === 0) violations.push(`never true: ${describeOperation(operation)}`);
    else observations.push({ operation, candidates });
  }
  const writes = log.map((_, at): TimedWrite => timesOf(owners[at]));
  const misplaced = findMisplaced(writes, observations);
  for (const at of misplaced.writes) {
    const owner = owners[at];
    if (owner) violations.push(`after its response: the write at ${log[at]?.revision} of ${describeOperation(owner)}`);
  }
  for (const operation of misplaced.observed) violations.push(`not at that time: ${describeOperation(operation)}`);
  return violations;
}

/** An ambiguous write may have happened at any time after its invocation. */
function timesOf(owner: Operation | undefined): TimedWrite {
  if (!owner) return { invokedMs: Number.NEGATIVE_INFINITY, returnedMs: Number.POSITIVE_INFINITY };
  return isAmbiguous(owner.outcome) ? { ...owner, returnedMs: Number.POSITIVE_INFINITY } : owner;
}
