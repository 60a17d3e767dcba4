import { expect, test } from '@jest/globals';
import { type Random, seededRandom } from '@cluster-apiserver/base';
import { hasSomeOrder } from './every-order.ts';
import { type Attempt, attemptAnnotation, describe as inWords, type Outcome } from './history.ts';
import { judge } from './judge.ts';
import { type Told, unanswered, world } from './world.ts';

// The judge sorts where others search. That this is no less than the search is shown by searching: on histories so small
// that every order can be tried, both must come to the same verdict, whether the history is possible or not.

const histories = 100_000;
const turnsMax = 7;
/** Neither verdict may be so rare that the agreement means nothing. */
const shareMin = 0.2;

test(`sorting and trying every order agree on ${histories} histories`, () => {
  let possible = 0;
  for (let seed = 0; seed < histories; seed += 1) {
    const random = seededRandom(seed);
    const told = world(seed, {
      turns: 3 + random.below(turnsMax - 2),
      names: random.below(2) === 0 ? ['a'] : ['a', 'b'],
    });
    for (let changes = random.below(6); changes > 0; changes -= 1) disturb(told, random);
    const found = judge(told.history, told.log);
    const verdict = hasSomeOrder(told.history, told.log);
    if (verdict) possible += 1;
    if (verdict === (found.length === 0)) continue;
    expect({ seed, verdict, found, log: told.log, history: told.history.map(inWords) }).toBe('the same');
  }
  expect(possible).toBeGreaterThan(histories * shareMin);
  expect(possible).toBeLessThan(histories * (1 - shareMin));
});

/** Changes what was told, when, or what came of it. Much of that leaves a history that is possible. */
function disturb({ history, log }: Told, random: Random): void {
  const at = random.below(history.length);
  const attempt = history[at] as Attempt; // a world has three turns at least
  const swap = (next: Partial<Attempt>): void => {
    history[at] = { ...attempt, ...next };
  };
  switch (random.below(6)) {
    case 0: {
      const shiftMs = random.below(61) - 30;
      return swap({ invokedMs: attempt.invokedMs + shiftMs, returnedMs: attempt.returnedMs + shiftMs });
    }
    case 1:
      return swap({ returnedMs: attempt.returnedMs + random.below(40) });
    case 2:
      return swap({ outcome: another(attempt, { history, log }, random) });
    case 3:
      log.splice(random.below(log.length + 1), 1);
      return;
    case 4: {
      const first = random.below(Math.max(log.length - 1, 1));
      const [one, two] = [log[first], log[first + 1]];
      if (one && two) log.splice(first, 2, { ...two, revision: one.revision }, { ...one, revision: two.revision });
      return;
    }
    default:
      if (attempt.outcome.told === 'written') swap({ outcome: unanswered });
  }
}

/** What the attempt could have been told in another world. */
function another({ action, outcome }: Attempt, { log }: Told, random: Random): Outcome {
  const entry = log[random.below(log.length)];
  if (outcome.told === 'listed') {
    const items = new Map([...outcome.items].filter(() => random.below(4) > 0));
    return { ...outcome, items, revision: Math.max(1, outcome.revision + random.below(3) - 1) };
  }
  if (action.verb === 'get') {
    if (!entry?.state || random.below(3) === 0) return { told: 'absent' };
    return { told: 'found', revision: entry.revision, attempt: entry.state.annotations[attemptAnnotation] };
  }
  if (action.verb === 'list') return outcome;
  const refused: Outcome = action.verb === 'create' ? { told: 'exists' } : { told: 'absent' };
  if (action.verb === 'replace' && action.expected !== undefined && random.below(2) === 0) return { told: 'conflict' };
  return entry && random.below(2) === 0 ? { told: 'written', revision: entry.revision } : refused;
}
