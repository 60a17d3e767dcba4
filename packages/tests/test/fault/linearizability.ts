import { isDeepStrictEqual } from 'node:util';
import { type Operation, type Entry, isAcknowledged, isAmbiguous, type StoredVersion, type State } from './history.ts';
import { isWrite, refusalOf, resultOf } from './write-semantics.ts';

/**
 * The definition that `checkHistory` must satisfy: there is an order of all operations, each at one moment between its
 * invocation and its response, in which a sequential store returns the same outcomes and writes the same log. It tries
 * every order, so it is for histories of a few operations.
 */
export function isLinearizable(history: readonly Operation[], log: readonly Entry[]): boolean {
  return canComplete(new Set(history), log, { nowMs: Number.NEGATIVE_INFINITY, written: 0, objects: new Map() });
}

interface Store {
  readonly nowMs: number;
  /** Number of log entries written so far. */
  readonly written: number;
  readonly objects: ReadonlyMap<string, StoredVersion>;
}

function canComplete(left: ReadonlySet<Operation>, log: readonly Entry[], store: Store): boolean {
  if (store.written === log.length && [...left].every(({ outcome }) => isAmbiguous(outcome))) return true;
  for (const operation of left) {
    const nowMs = Math.max(store.nowMs, operation.invokedMs);
    if (nowMs > operation.returnedMs && !isAmbiguous(operation.outcome)) continue;
    const next = applyOperation(operation, log, store);
    if (next && canComplete(new Set([...left].filter((other) => other !== operation)), log, { ...next, nowMs }))
      return true;
  }
  return false;
}

/** The store after the operation; undefined if it cannot be the next one. An ambiguous operation always writes here. */
function applyOperation({ action, outcome }: Operation, log: readonly Entry[], store: Store): Store | undefined {
  if (outcome.result === 'unavailable') return store;
  const when = (fact: boolean): Store | undefined => (fact ? store : undefined);
  const entry = log[store.written];
  if (action.verb === 'list') {
    if (outcome.result !== 'listed') return undefined;
    const { revision, items } = outcome;
    const then = revision >= (log[store.written - 1]?.revision ?? 0) && revision < (entry?.revision ?? Infinity);
    const same = [...store.objects].every(([name, found]) => items.get(name) === found.revision);
    return when(then && same && items.size === store.objects.size);
  }
  const found = store.objects.get(action.name);
  if (!isWrite(action)) {
    if (outcome.result === 'absent') return when(!found);
    return when(outcome.result === 'found' && isDeepStrictEqual(plain(outcome), found && plain(found)));
  }
  const refusal = refusalOf(action, found);
  if (refusal || (!isAcknowledged(outcome) && !isAmbiguous(outcome))) return when(isDeepStrictEqual(refusal, outcome));

  if (!entry || entry.name !== action.name) return undefined;
  const state = resultOf(action, found, entry.state?.uid ?? '');
  if (!isDeepStrictEqual(state && sorted(state), entry.state && sorted(entry.state))) return undefined;
  const shown = { revision: entry.revision, state: state ?? found?.state };
  if (outcome.result === 'written' && !isDeepStrictEqual(plain(outcome), plain(shown))) return undefined;
  if (outcome.result === 'deleted' && outcome.uid !== found?.state.uid) return undefined;
  const objects = new Map(store.objects);
  if (state) objects.set(action.name, { revision: entry.revision, state });
  else objects.delete(action.name);
  return { ...store, written: store.written + 1, objects };
}

const plain = ({ revision, state }: { readonly revision: number; readonly state: State | undefined }): unknown => ({
  revision,
  state: state && sorted(state),
});

/** Owners in a canonical order. */
const sorted = ({ uid, values, owners }: State): unknown => ({
  uid,
  values: { ...values },
  owners: Object.fromEntries(Object.entries(owners).map(([owner, places]) => [owner, [...places].sort()])),
});
