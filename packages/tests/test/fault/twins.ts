import type { Operation } from './history.ts';

/**
 * Two deletions of one state are twins: if one of them is in doubt, both count as applied. Leaves out
 * the second one, if both ran at the same time. Any other stays, and is found to be lost.
 */
export function withoutTwins(history: readonly Operation[]): readonly Operation[] {
  const deletions = new Map<string, Operation>();
  return history.filter((operation) => {
    const { action, outcome, invokedMs, returnedMs } = operation;
    if (action.verb !== 'delete') return true;
    if (outcome.result !== 'written' && outcome.result !== 'deleted') return true;
    const place = `${action.name} ${outcome.result === 'written' ? outcome.revision : outcome.uid}`;
    const twin = deletions.get(place);
    if (!twin) deletions.set(place, operation);
    return !twin || twin.invokedMs >= returnedMs || invokedMs >= twin.returnedMs;
  });
}
