import { isDeepStrictEqual } from 'node:util';
import { type Attempt, type Entry, leavesOpen, type Living, type State } from './history.ts';
import { isWrite, refusalOf, resultOf } from './write-semantics.ts';

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
  readonly objects: ReadonlyMap<string, Living>;
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
function after({ action, outcome }: Attempt, log: readonly Entry[], store: Store): Store | undefined {
  if (outcome.told === 'unavailable') return store;
  const when = (fact: boolean): Store | undefined => (fact ? store : undefined);
  const entry = log[store.written];
  if (action.verb === 'list') {
    if (outcome.told !== 'listed') return undefined;
    const { revision, items } = outcome;
    const then = revision >= (log[store.written - 1]?.revision ?? 0) && revision < (entry?.revision ?? Infinity);
    const same = [...store.objects].every(([name, found]) => items.get(name) === found.revision);
    return when(then && same && items.size === store.objects.size);
  }
  const found = store.objects.get(action.name);
  if (!isWrite(action)) {
    if (outcome.told === 'absent') return when(!found);
    return when(outcome.told === 'found' && isDeepStrictEqual(plain(outcome), found && plain(found)));
  }
  const refusal = refusalOf(action, found);
  if (refusal || (outcome.told !== 'written' && !leavesOpen(outcome))) return when(isDeepStrictEqual(refusal, outcome));

  if (!entry || entry.name !== action.name) return undefined;
  const state = resultOf(action, found, entry.state?.uid ?? '');
  if (!isDeepStrictEqual(state && sorted(state), entry.state && sorted(entry.state))) return undefined;
  const shown = { revision: entry.revision, state: state ?? found?.state };
  if (outcome.told === 'written' && !isDeepStrictEqual(plain(outcome), plain(shown))) return undefined;
  const objects = new Map(store.objects);
  if (state) objects.set(action.name, { revision: entry.revision, state });
  else objects.delete(action.name);
  return { ...store, written: store.written + 1, objects };
}

const plain = ({ revision, state }: { readonly revision: number; readonly state: State | undefined }): unknown => ({
  revision,
  state: state && sorted(state),
});

/** Whose places these are is told in any order. */
const sorted = ({ uid, values, owners }: State): unknown => ({
  uid,
  values: { ...values },
  owners: Object.fromEntries(Object.entries(owners).map(([owner, places]) => [owner, [...places].sort()])),
});
