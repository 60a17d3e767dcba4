import { Comparison, isContainer } from '../values/comparison.ts';
import { equal } from '../values/equal.ts';
import { equalityUnits } from '../cost/call-units.ts';
import type { Plan } from './frame.ts';
import { chargeFailure } from './budget.ts';
import { Interruption } from './progress.ts';

/** `==` and `!=`. Policies compare objects with their old selves, so a comparison can be interrupted. */
export function planEquality(slot: number, left: Plan, right: Plan, expected: boolean): Plan {
  return (frame) => {
    const { budget, progress } = frame;
    const pending = progress.get(slot);
    let comparison = pending?.kind === 'comparison' ? pending.comparison : undefined;
    if (pending) budget.goOnAt(pending);
    if (!comparison) {
      const [one, other] = chargeFailure(budget, () => [left(frame), right(frame)] as const);
      if (budget.countsUnits) budget.charge(0, equalityUnits(one, other));
      if (!isContainer(one)) return equal(one, other, budget) === expected;
      comparison = new Comparison(one, other, budget);
    }
    const areEqual = comparison.proceed(budget);
    // When it has ended it says so again, so it is kept until the round of the loop around it is over.
    if (areEqual === undefined || pending)
      progress.set(slot, { kind: 'comparison', comparison, left: budget.left, unitsLeft: budget.unitsLeft });
    if (areEqual === undefined) throw new Interruption();
    return areEqual === expected;
  };
}
