import { expect, test } from '@jest/globals';
import { type Random, seededRandom } from '@cluster-apiserver/base';
import { repetitions } from '@cluster-apiserver/testkit/soak';
import { isLinearizable } from './linearizability.ts';
import { type Action, type Operation, describeOperation, type Entry, type Outcome, type Refusal } from './history.ts';
import { checkHistory } from './check-history.ts';
import { type SimulatedHistory, unanswered, simulateHistory } from './simulated-history.ts';

// checkHistory decides by sorting what isLinearizable decides by searching. Both must agree on histories that are small
// enough to try every order, possible or not.

const histories = repetitions({ ci: 20_000, soak: 100_000 });
const turnsMax = 7;
/** The search is slow on a busy machine. */
const patienceMs = 120_000;
/** Neither verdict may be too rare for the agreement to be meaningful. */
const shareMin = 0.2;

test(
  `checkHistory and the search over all orders agree on ${histories} histories`,
  () => {
    let linearizableCount = 0;
    for (let seed = 0; seed < histories; seed += 1) {
      const random = seededRandom(seed);
      const simulation = simulateHistory(seed, {
        turns: 3 + random.below(turnsMax - 2),
        names: random.below(2) === 0 ? ['a'] : ['a', 'b'],
      });
      for (let changes = random.below(6); changes > 0; changes -= 1) disturb(simulation, random);
      const found = checkHistory(simulation.history, simulation.log);
      const verdict = isLinearizable(simulation.history, simulation.log);
      if (verdict) linearizableCount += 1;
      if (verdict === (found.length === 0)) continue;
      expect({ seed, verdict, found, log: simulation.log, history: simulation.history.map(describeOperation) }).toBe(
        'the same',
      );
    }
    expect(linearizableCount).toBeGreaterThan(histories * shareMin);
    expect(linearizableCount).toBeLessThan(histories * (1 - shareMin));
  },
  patienceMs,
);

/** Changes outcomes, times or actions. Many of the resulting histories are still possible. */
function disturb({ history, log }: SimulatedHistory, random: Random): void {
  const at = random.below(history.length);
  const operation = history[at] as Operation; // a simulation has at least three operations
  const swap = (next: Partial<Operation>): void => {
    history[at] = { ...operation, ...next };
  };
  switch (random.below(8)) {
    case 0: {
      const shiftMs = random.below(61) - 30;
      return swap({ invokedMs: operation.invokedMs + shiftMs, returnedMs: operation.returnedMs + shiftMs });
    }
    case 1:
      return swap({ returnedMs: operation.returnedMs + random.below(40) });
    case 2:
      return swap({ outcome: changeOutcome(operation, { history, log }, random) });
    case 3:
      log.splice(random.below(log.length + 1), 1);
      return;
    case 4: {
      const first = random.below(Math.max(log.length - 1, 1));
      const [one, two] = [log[first], log[first + 1]];
      if (one && two) log.splice(first, 2, { ...two, revision: one.revision }, { ...one, revision: two.revision });
      return;
    }
    case 5:
      return swap({ action: changeAction(operation.action, log) });
    case 6: {
      const entry = oneOf(random, log);
      const others = log.filter(({ name, state }) => state && name === entry?.name);
      if (entry?.state) log[log.indexOf(entry)] = { ...entry, state: oneOf(random, others)?.state };
      return;
    }
    default:
      if (operation.outcome.result === 'written') swap({ outcome: unanswered });
  }
}

/** Another action, which may lead to the same effect. */
function changeAction(action: Action, log: readonly Entry[]): Action {
  if (action.verb === 'apply') return { ...action, force: !action.force };
  if (action.verb === 'count') return { ...action, counted: action.counted === '1' ? undefined : '1' };
  return 'expected' in action
    ? { ...action, expected: action.expected === undefined ? log[0]?.revision : undefined }
    : action;
}

/** Another outcome that the action could have. */
function changeOutcome({ action, outcome }: Operation, { log }: SimulatedHistory, random: Random): Outcome {
  if (outcome.result === 'listed') {
    const items = new Map([...outcome.items].filter(() => random.below(4) > 0));
    return { ...outcome, items, revision: Math.max(1, outcome.revision + random.below(3) - 1) };
  }
  if (action.verb === 'list') return outcome;
  const entry = oneOf(random, log);
  const state = entry?.state ?? log.find(({ name, state }) => state && name === entry?.name)?.state;
  if (!entry || !state || random.below(2) === 0) return refusalFor(action, random);
  return { result: action.verb === 'get' ? 'found' : 'written', revision: entry.revision, state };
}

function refusalFor(action: Action, random: Random): Refusal {
  if (action.verb === 'create') return { result: 'exists' };
  const some: Refusal[] = action.verb === 'apply' ? [] : [{ result: 'absent' }];
  if ('expected' in action) some.push({ result: 'conflict' });
  if (action.verb === 'count') some.push({ result: 'failed' });
  if (action.verb === 'apply') some.push({ result: 'owned', places: [Object.keys(action.values).sort()[0] ?? ''] });
  return oneOf(random, some) as Refusal; // every verb has one
}

const oneOf = <T>(random: Random, some: readonly T[]): T | undefined => some[random.below(some.length)];
