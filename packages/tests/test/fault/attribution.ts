import {
  type Operation,
  describeOperation,
  type Entry,
  isAmbiguous,
  type StoredVersion,
  type State,
  canonicalText,
  type Values,
} from './history.ts';
import { isWrite, refusalOf, resultOf } from './write-semantics.ts';

/** Finds the operation behind each entry of the log, and what is wrong between the two. */
export function attributeEntries(
  history: readonly Operation[],
  log: readonly Entry[],
): { owners: (Operation | undefined)[]; violations: string[] } {
  const violations: string[] = [];
  const byId = new Map(history.map((operation) => [operation.id, operation]));
  const deletions = history.filter(({ action }) => action.verb === 'delete');
  const removedAt = new Map(
    deletions.map((operation) => [operation.outcome.result === 'written' ? operation.outcome.revision : -1, operation]),
  );
  const ambiguousDeletions = deletions
    .filter(({ outcome }) => isAmbiguous(outcome))
    .sort((a, b) => a.invokedMs - b.invokedMs);
  const takeAmbiguousDeletion = (name: string): Operation | undefined => {
    const at = ambiguousDeletions.findIndex(({ action }) => 'name' in action && action.name === name);
    return at < 0 ? undefined : ambiguousDeletions.splice(at, 1)[0];
  };

  const seen = new Set<string>();
  const current = new Map<string, StoredVersion | undefined>();
  const owners = log.map((entry) => {
    const { revision, name, state } = entry;
    const before = current.get(name);
    const owner = state
      ? byId.get(newOperationId(state.values, before?.state.values, byId))
      : (removedAt.get(revision) ?? takeAmbiguousDeletion(name));
    const what = `the write at ${revision} to ${name}`;
    if (!owner) violations.push(`nobody asked for ${what}${state ? ` (${canonicalText(state)})` : ''}`);
    else {
      if (seen.has(owner.id)) violations.push(`done twice: ${describeOperation(owner)}, again at ${revision}`);
      seen.add(owner.id);
      const { outcome } = owner;
      if (outcome.result === 'written' && outcome.revision !== revision)
        violations.push(`another revision than told: ${what} of ${describeOperation(owner)}`);
      else if (outcome.result !== 'written' && !isAmbiguous(outcome))
        violations.push(`refused, and yet done: ${what} of ${describeOperation(owner)}`);
      const wrong = wrongEffect(owner, entry, before);
      if (wrong) violations.push(`${wrong}: ${what} of ${describeOperation(owner)}`);
    }
    current.set(name, state && { revision, state });
    return owner;
  });

  for (const operation of history) {
    if (operation.outcome.result === 'invalid') violations.push(`no answer to that: ${describeOperation(operation)}`);
    else if (operation.outcome.result === 'written' && !seen.has(operation.id))
      violations.push(`lost: ${describeOperation(operation)}`);
  }
  return { owners, violations };
}

/** The id that was not there before. A write brings one, its own. */
const newOperationId = (values: Values, before: Values | undefined, ids: ReadonlyMap<string, unknown>): string =>
  Object.entries(values).find(([place, value]) => before?.[place] !== value && ids.has(value))?.[1] ?? '';

/** What is wrong with an entry as the effect of an operation on what was there before. */
function wrongEffect(
  { action, outcome }: Operation,
  entry: Entry,
  before: StoredVersion | undefined,
): string | undefined {
  if (!isWrite(action)) return 'a read wrote';
  if (action.name !== entry.name) return 'in another place';
  const refusal = refusalOf(action, before);
  if (refusal) return `not to be done to what was there (${refusal.result})`;
  const result = resultOf(action, before, entry.state?.uid ?? '');
  if (!isSame(result, entry.state)) return `not what it makes of what was there (${result && canonicalText(result)})`;
  return outcome.result === 'written' && !isSame(result ?? before?.state, outcome.state)
    ? 'another state than told'
    : undefined;
}

const isSame = (one: State | undefined, other: State | undefined): boolean =>
  (one && canonicalText(one)) === (other && canonicalText(other));
