import {
  type Attempt,
  attemptAnnotation,
  describe,
  type Entry,
  leavesOpen,
  patchAnnotation,
  type State,
} from './history.ts';

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
  const current = new Map<string, Entry>();
  const owners = log.map((entry) => {
    const id = entry.state?.annotations[attemptAnnotation] ?? '';
    const owner = entry.state ? byId.get(id) : (removedAt.get(entry.revision) ?? takeSilent(entry.name));
    const what = `the write at ${entry.revision} to ${entry.name}`;
    if (!owner) violations.push(`nobody asked for ${what}${entry.state ? ` (${id})` : ''}`);
    else {
      if (seen.has(owner.id)) violations.push(`done twice: ${describe(owner)}, again at ${entry.revision}`);
      seen.add(owner.id);
      const { outcome } = owner;
      if (outcome.told === 'written' && outcome.revision !== entry.revision)
        violations.push(`another revision than told: ${what} of ${describe(owner)}`);
      else if (outcome.told !== 'written' && !leavesOpen(outcome))
        violations.push(`refused, and yet done: ${what} of ${describe(owner)}`);
      const wrong = wrongEffect(owner, entry, current.get(entry.name));
      if (wrong) violations.push(`${wrong}: ${what} of ${describe(owner)}`);
    }
    current.set(entry.name, entry);
    return owner;
  });

  for (const attempt of history) {
    if (attempt.outcome.told === 'nonsense') violations.push(`no answer to that: ${describe(attempt)}`);
    else if (attempt.outcome.told === 'written' && !seen.has(attempt.id)) violations.push(`lost: ${describe(attempt)}`);
  }
  return { owners, violations };
}

/** What is wrong with an entry as the effect of an attempt on what was there before. */
function wrongEffect({ id, client, action }: Attempt, entry: Entry, before: Entry | undefined): string | undefined {
  const { verb } = action;
  if (verb === 'get' || verb === 'list') return 'a read wrote';
  if (action.name !== entry.name) return 'in another place';
  if ((verb === 'delete') !== (entry.state === undefined)) return 'another verb';
  if (verb === 'create') {
    if (before?.state) return 'created over what was there';
    return same(entry.state, { [attemptAnnotation]: id }) ? undefined : 'not what was sent';
  }
  if (!before?.state) return 'over what was not there';
  if (!entry.state) return undefined;
  if (entry.state.uid !== before.state.uid) return 'another uid';
  if (verb === 'patch') {
    const wanted = { ...before.state.annotations, [attemptAnnotation]: id, [patchAnnotation(client)]: id };
    return same(entry.state, wanted) ? undefined : 'not what the patch makes of what was there';
  }
  const expected = action.verb === 'replace' ? action.expected : undefined;
  if (expected !== undefined && expected !== before.revision) return `over revision ${before.revision}`;
  return same(entry.state, { [attemptAnnotation]: id }) ? undefined : 'not what was sent';
}

function same(state: State | undefined, annotations: Readonly<Record<string, string>>): boolean {
  const found = Object.entries(state?.annotations ?? {});
  return (
    found.length === Object.keys(annotations).length && found.every(([name, value]) => annotations[name] === value)
  );
}
