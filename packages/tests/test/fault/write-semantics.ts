import {
  type Action,
  counterPlace,
  type Living,
  type Owners,
  type Place,
  type Refusal,
  type State,
  updates,
  type Values,
  type Write,
} from './history.ts';

/**
 * What each write means in a store that does one thing at a time: why it is refused, or what becomes of an object. Small
 * enough to be seen to be right, and no code of the server: it is what the server is held against.
 */
export function refusalOf(action: Write, before: Living | undefined): Refusal | undefined {
  if (action.verb === 'create') return before && { told: 'exists' };
  if (!before) return action.verb === 'apply' ? undefined : { told: 'absent' };
  if (action.verb === 'delete') return undefined;
  if (action.verb === 'count' && before.state.values[counterPlace] !== action.counted) return { told: 'failed' };
  if (action.verb === 'apply' && !action.force) {
    const places = placesOfOthers(action, before.state);
    if (places.length > 0) return { told: 'owned', places };
  }
  const isStale = action.expected !== undefined && action.expected !== before.revision;
  return isStale ? { told: 'conflict' } : undefined;
}

/** What a write that is not refused leaves; undefined for nothing. A new object has a uid of its own. */
export function resultOf(action: Write, before: Living | undefined, newUid: string): State | undefined {
  if (action.verb === 'delete') return undefined;
  const state = before?.state ?? { uid: newUid, values: {}, owners: {} };
  if (action.verb === 'apply') return applied(action, state);
  const values = valuesAfter(action, state.values);
  const changed = placesThatDiffer(state.values, values);
  const set = changed.filter((place) => place in values);
  const owners = without(changed, state.owners);
  return { uid: state.uid, values, owners: owning(updates, union(owners[updates] ?? [], set), owners) };
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
      return { ...before, ...action.values, [counterPlace]: `${Number(action.counted ?? 0) + 1}` };
  }
}

type Apply = Extract<Write, { verb: 'apply' }>;

/** Where an apply wants something else than there is, and others see to it that it is there. */
const placesOfOthers = ({ manager, values }: Apply, state: State): Place[] =>
  Object.keys(values)
    .filter((place) => state.values[place] !== values[place] && isOwned(place, omit([manager], state.owners)))
    .sort();

/** What was applied before and is no longer goes, unless others own it; what changes leaves its owners. */
function applied({ manager, values }: Apply, { uid, values: before, owners }: State): State {
  const wanted = Object.keys(values);
  const others = omit([manager], owners);
  const gone = (owners[manager] ?? []).filter((place) => !wanted.includes(place) && !isOwned(place, others));
  const changed = wanted.filter((place) => before[place] !== values[place]);
  return {
    uid,
    values: omit(gone, { ...before, ...values }),
    owners: owning(manager, wanted, without(changed, others)),
  };
}

const isOwned = (place: Place, owners: Owners): boolean =>
  Object.values(owners).some((places) => places.includes(place));

const placesThatDiffer = (some: Values, others: Values): Place[] =>
  union(Object.keys(some), Object.keys(others)).filter((place) => some[place] !== others[place]);

const without = (lost: readonly Place[], owners: Owners): Owners =>
  Object.entries(owners).reduce<Owners>(
    (rest, [owner, places]) =>
      owning(
        owner,
        places.filter((place) => !lost.includes(place)),
        rest,
      ),
    {},
  );

/** Who owns nothing is no owner. */
const owning = (owner: string, places: readonly Place[], owners: Owners): Owners =>
  places.length > 0 ? { ...owners, [owner]: places } : omit([owner], owners);

const union = (some: readonly Place[], others: readonly Place[]): Place[] => [...new Set([...some, ...others])];

const omit = <T>(names: readonly string[], record: Readonly<Record<string, T>>): Readonly<Record<string, T>> =>
  Object.fromEntries(Object.entries(record).filter(([name]) => !names.includes(name)));
