import { type Attempt, attemptAnnotation, type Entry, leavesOpen, patchAnnotation, type State } from './history.ts';

/**
 * The plain meaning of what `judge` finds out by sorting: there is an order of all attempts, each at one moment between
 * its question and its answer, in which a store that does one thing at a time says what was said and writes what was
 * written. It tries every order, so it is for histories of a few attempts.
 */
export function hasSomeOrder(history: readonly Attempt[], log: readonly Entry[]): boolean {
  return goesOn(new Set(history), log, { nowMs: Number.NEGATIVE_INFINITY, written: 0, objects: new Map() });
}

interface Store {
  readonly nowMs: number;
  /** So much of the log. */
  readonly written: number;
  readonly objects: ReadonlyMap<string, Stored>;
}

interface Stored {
  readonly revision: number;
  readonly state: State;
}

function goesOn(left: ReadonlySet<Attempt>, log: readonly Entry[], store: Store): boolean {
  if (store.written === log.length && [...left].every(({ outcome }) => leavesOpen(outcome))) return true;
  for (const attempt of left) {
    const nowMs = Math.max(store.nowMs, attempt.invokedMs);
    if (nowMs > attempt.returnedMs && !leavesOpen(attempt.outcome)) continue;
    const next = after(attempt, log, store);
    if (next && goesOn(new Set([...left].filter((other) => other !== attempt)), log, { ...next, nowMs })) return true;
  }
  return false;
}

/** The store when the attempt is done; undefined when it cannot be the next. An attempt without an answer always writes here. */
function after({ id, client, action, outcome }: Attempt, log: readonly Entry[], store: Store): Store | undefined {
  const when = (fact: boolean): Store | undefined => (fact ? store : undefined);
  const entry = log[store.written];
  if (action.verb === 'list') {
    if (outcome.told !== 'listed') return undefined;
    const { revision, items } = outcome;
    const then = revision >= (log[store.written - 1]?.revision ?? 0) && revision < (entry?.revision ?? Infinity);
    const same = [...store.objects].every(([name, found]) => items.get(name) === found.revision);
    return when(then && same && items.size === store.objects.size);
  }
  const { name, verb } = action;
  const found = store.objects.get(name);
  if (verb === 'get') {
    if (outcome.told === 'absent') return when(!found);
    const attempt = found?.state.annotations[attemptAnnotation];
    return when(outcome.told === 'found' && outcome.revision === found?.revision && outcome.attempt === attempt);
  }
  const expected = action.verb === 'replace' ? action.expected : undefined;
  if (outcome.told === 'exists') return when(verb === 'create' && found !== undefined);
  if (outcome.told === 'absent') return when(verb !== 'create' && !found);
  if (outcome.told === 'conflict')
    return when(found !== undefined && expected !== undefined && expected !== found.revision);

  if (!entry || entry.name !== name || (outcome.told === 'written' && outcome.revision !== entry.revision))
    return undefined;
  if ((verb === 'create') !== (found === undefined)) return undefined;
  if (expected !== undefined && expected !== found?.revision) return undefined;
  const own = { [attemptAnnotation]: id };
  const { annotations: before = {}, uid = entry.state?.uid } = found?.state ?? {};
  const annotations = verb === 'patch' ? { ...before, ...own, [patchAnnotation(client)]: id } : own;
  const objects = new Map(store.objects);
  if (verb === 'delete') {
    if (entry.state) return undefined;
    objects.delete(name);
  } else {
    if (!entry.state || entry.state.uid !== uid || inOrder(entry.state.annotations) !== inOrder(annotations))
      return undefined;
    objects.set(name, { revision: entry.revision, state: entry.state });
  }
  return { ...store, written: store.written + 1, objects };
}

const inOrder = (annotations: Readonly<Record<string, string>>): string =>
  JSON.stringify(Object.entries(annotations).sort(([one], [other]) => (one < other ? -1 : 1)));
