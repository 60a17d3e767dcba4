import {
  type Action,
  counterPath,
  type StoredVersion,
  type Owners,
  type FieldPath,
  type Refusal,
  type State,
  updates,
  type Values,
  type Write,
} from './history.ts';

/**
 * The semantics of each write in a sequential store: its rejection, or its result. Simple enough to verify by reading,
 * and independent of the server's code.
 */
export function refusalOf(action: Write, before: StoredVersion | undefined): Refusal | undefined {
  if (action.verb === 'create') return before && { result: 'exists' };
  if (!before) return action.verb === 'apply' ? undefined : { result: 'absent' };
  if (action.verb === 'delete') return undefined;
  if (action.verb === 'count' && before.state.values[counterPath] !== action.counted) return { result: 'failed' };
  if (action.verb === 'apply' && !action.force) {
    const places = conflictingPaths(action, before.state);
    if (places.length > 0) return { result: 'owned', places };
  }
  const isStale = action.expected !== undefined && action.expected !== before.revision;
  return isStale ? { result: 'conflict' } : undefined;
}

/** The state after a write that is not rejected; undefined for none. A new object has a new uid. */
export function resultOf(action: Write, before: StoredVersion | undefined, newUid: string): State | undefined {
  if (action.verb === 'delete') return undefined;
  const state = before?.state ?? { uid: newUid, values: {}, owners: {} };
  if (action.verb === 'apply') return applyManaged(action, state);
  const values = valuesAfter(action, state.values);
  const changed = differingPaths(state.values, values);
  const set = changed.filter((place) => place in values);
  const owners = without(changed, state.owners);
  return { uid: state.uid, values, owners: withOwner(updates, union(owners[updates] ?? [], set), owners) };
}

export const isWrite = (action: Action): action is Write => action.verb !== 'get' && action.verb !== 'list';

function valuesAfter(action: Exclude<Write, { verb: 'delete' | 'apply' }>, before: Values): Values {
  switch (action.verb) {
    case 'create':
    case 'replace':
      return action.values;
    case 'merge':
      return { ...before, ...action.values };
    case 'strategic':
      return omit(action.removed, { ...before, ...action.values });
    case 'count':
      return { ...before, ...action.values, [counterPath]: `${Number(action.counted ?? 0) + 1}` };
  }
}

type Apply = Extract<Write, { verb: 'apply' }>;

/** Paths where an apply sets another value and another manager owns the current one. */
const conflictingPaths = ({ manager, values }: Apply, state: State): FieldPath[] =>
  Object.keys(values)
    .filter((place) => state.values[place] !== values[place] && isOwned(place, omit([manager], state.owners)))
    .sort();

/** Removes fields that are no longer applied unless others own them; changed fields lose their other owners. */
function applyManaged({ manager, values }: Apply, { uid, values: before, owners }: State): State {
  const wanted = Object.keys(values);
  const others = omit([manager], owners);
  const gone = (owners[manager] ?? []).filter((place) => !wanted.includes(place) && !isOwned(place, others));
  const changed = wanted.filter((place) => before[place] !== values[place]);
  return {
    uid,
    values: omit(gone, { ...before, ...values }),
    owners: withOwner(manager, wanted, without(changed, others)),
  };
}

const isOwned = (place: FieldPath, owners: Owners): boolean =>
  Object.values(owners).some((places) => places.includes(place));

const differingPaths = (some: Values, others: Values): FieldPath[] =>
  union(Object.keys(some), Object.keys(others)).filter((place) => some[place] !== others[place]);

const without = (lost: readonly FieldPath[], owners: Owners): Owners =>
  Object.entries(owners).reduce<Owners>(
    (rest, [owner, places]) =>
      withOwner(
        owner,
        places.filter((place) => !lost.includes(place)),
        rest,
      ),
    {},
  );

/** Sets an owner's paths; an owner without paths is removed. */
const withOwner = (owner: string, places: readonly FieldPath[], owners: Owners): Owners =>
  places.length > 0 ? { ...owners, [owner]: places } : omit([owner], owners);

const union = (some: readonly FieldPath[], others: readonly FieldPath[]): FieldPath[] => [
  ...new Set([...some, ...others]),
];

const omit = <T>(names: readonly string[], record: Readonly<Record<string, T>>): Readonly<Record<string, T>> =>
  Object.fromEntries(Object.entries(record).filter(([name]) => !names.includes(name)));
