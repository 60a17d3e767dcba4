import type { Operation } from './history.ts';

/**
 * Two deletions of one state are twins: if one of them is in doubt, both count as applied, at the revision of one. Leaves out
 * the second one, if both ran at the same time. Any other stays, and is found to be lost.
 */
export function withoutTwins(history: readonly Operation[]): readonly Operation[] {
  const deletions = new Map<string, Operation>();
  return history.filter((operation) => {
    const { action, outcome, invokedMs, returnedMs } = operation;
    if (action.verb !== 'delete' || outcome.result !== 'written') return true;
    const place = `${action.name} ${outcome.revision}`;
    const twin = deletions.get(place);
    if (!twin) deletions.set(place, operation);
    return !twin || twin.invokedMs >= returnedMs || invokedMs >= twin.returnedMs;
  });
}
