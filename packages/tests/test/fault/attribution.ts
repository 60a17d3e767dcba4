import {
  type Attempt,
  describe,
  type Entry,
  leavesOpen,
  type Living,
  type State,
  textOf,
  type Values,
} from './history.ts';
import { isWrite, refusalOf, resultOf } from './write-semantics.ts';

/** Finds the attempt behind each entry of the log, and what is wrong between the two. */
export function ownersOf(
  history: readonly Attempt[],
  log: readonly Entry[],
): { owners: (Attempt | undefined)[]; violations: string[] } {
  const violations: string[] = [];
  const byId = new Map(history.map((attempt) => [attempt.id, attempt]));
  const deletions = history.filter(({ action }) => action.verb === 'delete');
  const removedAt = new Map(
    deletions.map((attempt) => [attempt.outcome.told === 'written' ? attempt.outcome.revision : -1, attempt]),
  );
  const silent = deletions.filter(({ outcome }) => leavesOpen(outcome)).sort((a, b) => a.invokedMs - b.invokedMs);
  const takeSilent = (name: string): Attempt | undefined => {
    const at = silent.findIndex(({ action }) => 'name' in action && action.name === name);
    return at < 0 ? undefined : silent.splice(at, 1)[0];
  };

  const seen = new Set<string>();
  const current = new Map<string, Living | undefined>();
  const owners = log.map((entry) => {
    const { revision, name, state } = entry;
    const before = current.get(name);
    const owner = state
      ? byId.get(newIn(state.values, before?.state.values, byId))
      : (removedAt.get(revision) ?? takeSilent(name));
    const what = `the write at ${revision} to ${name}`;
    if (!owner) violations.push(`nobody asked for ${what}${state ? ` (${textOf(state)})` : ''}`);
    else {
      if (seen.has(owner.id)) violations.push(`done twice: ${describe(owner)}, again at ${revision}`);
      seen.add(owner.id);
      const { outcome } = owner;
      if (outcome.told === 'written' && outcome.revision !== revision)
        violations.push(`another revision than told: ${what} of ${describe(owner)}`);
      else if (outcome.told !== 'written' && !leavesOpen(outcome))
        violations.push(`refused, and yet done: ${what} of ${describe(owner)}`);
      const wrong = wrongEffect(owner, entry, before);
      if (wrong) violations.push(`${wrong}: ${what} of ${describe(owner)}`);
    }
    current.set(name, state && { revision, state });
    return owner;
  });

  for (const attempt of history) {
    if (attempt.outcome.told === 'nonsense') violations.push(`no answer to that: ${describe(attempt)}`);
    else if (attempt.outcome.told === 'written' && !seen.has(attempt.id)) violations.push(`lost: ${describe(attempt)}`);
  }
  return { owners, violations };
}

/** The id that was not there before. A write brings one, its own. */
const newIn = (values: Values, before: Values | undefined, ids: ReadonlyMap<string, unknown>): string =>
  Object.entries(values).find(([place, value]) => before?.[place] !== value && ids.has(value))?.[1] ?? '';

/** What is wrong with an entry as the effect of an attempt on what was there before. */
function wrongEffect({ action, outcome }: Attempt, entry: Entry, before: Living | undefined): string | undefined {
  if (!isWrite(action)) return 'a read wrote';
  if (action.name !== entry.name) return 'in another place';
  const refusal = refusalOf(action, before);
  if (refusal) return `not to be done to what was there (${refusal.told})`;
  const result = resultOf(action, before, entry.state?.uid ?? '');
  if (!isSame(result, entry.state)) return `not what it makes of what was there (${result && textOf(result)})`;
  return outcome.told === 'written' && !isSame(result ?? before?.state, outcome.state)
    ? 'another state than told'
    : undefined;
}

const isSame = (one: State | undefined, other: State | undefined): boolean =>
  (one && textOf(one)) === (other && textOf(other));
