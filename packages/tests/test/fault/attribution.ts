import {
  type Operation,
  describeOperation,
  type Entry,
  isAcknowledged,
  isAmbiguous,
  type StoredVersion,
  type State,
  canonicalText,
  type Values,
} from './history.ts';
import { isWrite, refusalOf, resultOf } from './write-semantics.ts';

/** Finds the operation of each log entry, and violations between the two. */
export function attributeEntries(
  history: readonly Operation[],
  log: readonly Entry[],
): { owners: (Operation | undefined)[]; violations: string[] } {
  const violations: string[] = [];
  const byId = new Map(history.map((operation) => [operation.id, operation]));
  const deletions = history.filter(({ action }) => action.verb === 'delete');
  const deletionAt = new Map<number, Operation>();
  const deletionOf = new Map<string, Operation>();
  for (const operation of deletions) {
    const { outcome } = operation;
    if (outcome.result === 'written') deletionAt.set(outcome.revision, operation);
    if (outcome.result === 'deleted') deletionOf.set(outcome.uid, operation);
  }
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
      : (deletionAt.get(revision) ?? deletionOf.get(before?.state.uid ?? '') ?? takeAmbiguousDeletion(name));
    const what = `the write at ${revision} to ${name}`;
    if (!owner) violations.push(`no operation for ${what}${state ? ` (${canonicalText(state)})` : ''}`);
    else {
      if (seen.has(owner.id)) violations.push(`applied twice:  ${describeOperation(owner)}, again at ${revision}`);
      seen.add(owner.id);
      const { outcome } = owner;
      if (outcome.result === 'written' && outcome.revision !== revision)
        violations.push(`acknowledged with another revision:  ${what} of ${describeOperation(owner)}`);
      else if (!isAcknowledged(outcome) && !isAmbiguous(outcome))
        violations.push(`rejected but applied:  ${what} of ${describeOperation(owner)}`);
      const wrong = wrongEffect(owner, entry, before);
      if (wrong) violations.push(`${wrong}: ${what} of ${describeOperation(owner)}`);
    }
    current.set(name, state && { revision, state });
    return owner;
  });

  for (const operation of history) {
    if (operation.outcome.result === 'invalid') violations.push(`invalid response:  ${describeOperation(operation)}`);
    else if (isAcknowledged(operation.outcome) && !seen.has(operation.id))
      violations.push(`lost: ${describeOperation(operation)}`);
  }
  return { owners, violations };
}

/** The id that the entry added. Every write adds its own. */
const newOperationId = (values: Values, before: Values | undefined, ids: ReadonlyMap<string, unknown>): string =>
  Object.entries(values).find(([place, value]) => before?.[place] !== value && ids.has(value))?.[1] ?? '';

/** How an entry differs from the effect of its operation on the previous state. */
function wrongEffect(
  { action, outcome }: Operation,
  entry: Entry,
  before: StoredVersion | undefined,
): string | undefined {
  if (!isWrite(action)) return 'a read wrote';
  if (action.name !== entry.name) return 'wrote another object';
  const refusal = refusalOf(action, before);
  if (refusal) return `should have been rejected (${refusal.result})`;
  const result = resultOf(action, before, entry.state?.uid ?? '');
  if (!isSame(result, entry.state)) return `wrong effect, expected (${result && canonicalText(result)})`;
  return outcome.result === 'written' && !isSame(result ?? before?.state, outcome.state)
    ? 'acknowledged with another state'
    : undefined;
}

const isSame = (one: State | undefined, other: State | undefined): boolean =>
  (one && canonicalText(one)) === (other && canonicalText(other));
