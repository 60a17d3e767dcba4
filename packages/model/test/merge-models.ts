import type { JsonObject } from '../src/json/json-object.ts';
/**
 * Merge patch and strategic merge patch once more, slow and plain. Maps are lists of pairs here, so that no name can
 * mean anything but itself.
 */

/** The recursive definition of RFC 7386. */
export function mergedByModel(target: unknown, patch: unknown): unknown {
  if (Array.isArray(patch)) return patch.map((entry: unknown) => mergedByModel(undefined, entry));
  if (!isMap(patch)) return patch;
  let pairs = isMap(target) ? Object.entries(target) : [];
  for (const [name, value] of Object.entries(patch)) {
    const before = pairs.find(([key]) => key === name)?.[1];
    pairs = pairs.filter(([key]) => key !== name);
    if (value !== null) pairs.push([name, mergedByModel(before, value)]);
  }
  return Object.fromEntries(pairs);
}

/** How a place is merged: a record of places, a map of anything, or a list that is shared by values or by names. */
export type Form = 'whole' | 'map' | 'set' | 'named' | { readonly [name: string]: Form };

/** What is merged strategically; throws ModelRefusal. */
export function strategicModel(form: Form, target: unknown, patch: unknown): unknown {
  return mergeMap(form, isMap(target) ? target : {}, patch as JsonObject);
}

export class ModelRefusal extends Error {}

const isMap = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
const own = (values: JsonObject, name: string): unknown => Object.entries(values).find(([key]) => key === name)?.[1];
const directives = /^\$(patch$|retainKeys$|setElementOrder\/|deleteFromPrimitiveList\/)/;

function mergeMap(form: Form, target: JsonObject, patch: JsonObject): unknown {
  const directive = own(patch, '$patch');
  if (directive === 'replace') return Object.fromEntries(Object.entries(patch).filter(([key]) => key !== '$patch'));
  if (directive === 'delete') return {};
  if (directive !== undefined) throw new ModelRefusal();
  const named = Object.keys(patch).filter((key) => key !== '$patch' && key !== '$retainKeys');
  const touched = [...new Set(named.map((key) => (directives.test(key) ? key.slice(key.indexOf('/') + 1) : key)))];
  const retain = own(patch, '$retainKeys');
  if (retain !== undefined) {
    if (!Array.isArray(retain)) throw new ModelRefusal();
    if (touched.some((name) => (own(patch, name) ?? null) !== null && !retain.includes(name))) throw new ModelRefusal();
  }
  const pairs = Object.entries(target).filter(([name]) => !Array.isArray(retain) || retain.includes(name));
  const untouched = pairs.filter(([name]) => !touched.includes(name));
  const merged = touched.flatMap((name): [string, unknown][] => {
    const value = mergeMember(typeof form === 'object' ? form[name] : undefined, own(target, name), patch, name);
    return value === undefined ? [] : [[name, value]];
  });
  return Object.fromEntries([...untouched, ...merged]);
}

function mergeMember(form: Form | undefined, before: unknown, patch: JsonObject, name: string): unknown {
  const [order, gone] = ['$setElementOrder/', '$deleteFromPrimitiveList/'].map((prefix) => own(patch, prefix + name));
  for (const list of [order, gone]) if (list !== undefined && !Array.isArray(list)) throw new ModelRefusal();
  const change = own(patch, name);
  if (Array.isArray(order) && !fits(form, order, change)) throw new ModelRefusal();
  if (change === null) return undefined;
  const base =
    Array.isArray(gone) && Array.isArray(before)
      ? before.filter((value) => !gone.some((other) => JSON.stringify(other) === JSON.stringify(value)))
      : before;
  const merged = change === undefined ? base : mergeValue(form, base, change);
  if (!Array.isArray(order) || !Array.isArray(merged) || (form !== 'set' && form !== 'named')) return merged;
  return ordered(merged, order, Array.isArray(before) ? before : []);
}

/** What the patch sets is found in the order one after another, each behind the one before. */
function fits(form: Form | undefined, order: readonly unknown[], change: unknown): boolean {
  if (form !== 'set' && form !== 'named') return false;
  if (change !== undefined && !Array.isArray(change)) return false;
  const identity = (entry: unknown): unknown => (form === 'set' ? entry : nameOf(entry));
  if (order.some((entry) => identity(entry) === undefined)) return false;
  if (order.length === 0) return true;
  const set = ((change ?? []) as unknown[]).filter((entry) => !isDirective(entry));
  const rest = (places: readonly unknown[], entries: readonly unknown[]): boolean => {
    const at = places.findIndex((place) => identity(place) === identity(entries[0]));
    return entries.length === 0 || (at >= 0 && rest(places.slice(at + 1), entries.slice(1)));
  };
  return rest(order, set);
}

function mergeValue(form: Form | undefined, before: unknown, change: unknown): unknown {
  if (isMap(change) && isMap(before)) return mergeMap(form ?? 'map', before, change);
  if (!Array.isArray(change) || !Array.isArray(before)) return plain(change);
  if (form === 'named') return mergeNamed(before, change);
  if (form === 'whole') return change;
  if (form !== 'set') return plain(change);
  const values = [...before, ...change].filter((value, at, all) => all.findIndex((one) => same(one, value)) === at);
  return ordered(values, change, before);
}

function mergeNamed(before: readonly unknown[], change: readonly unknown[]): unknown[] {
  const entries = change.filter((entry) => !isDirective(entry));
  const orders = change.filter(isDirective);
  if (orders.some((entry) => own(entry, '$patch') === 'replace')) return entries;
  if (orders.some((entry) => own(entry, '$patch') !== 'delete')) throw new ModelRefusal();
  if (change.some((entry) => nameOf(entry) === undefined)) throw new ModelRefusal();
  let merged = before.filter((entry) => !orders.some((order) => nameOf(order) === nameOf(entry)));
  for (const entry of entries as JsonObject[]) {
    const known = merged.find((other) => nameOf(other) === nameOf(entry)) as JsonObject | undefined;
    if (!known) merged = [...merged, entry];
    else merged = merged.map((other) => (other === known ? mergeMap('map', known, entry) : other));
  }
  return ordered(merged, entries, before);
}

const nameOf = (entry: unknown): unknown => (isMap(entry) ? own(entry, 'name') : undefined);

const same = (left: unknown, right: unknown): boolean =>
  isMap(left) && isMap(right) ? nameOf(left) === nameOf(right) : left === right;

/**
 * Named entries in the order wanted, the others in theirs. Before a named entry stand as many of the others as stood
 * before it, or before a named one that it now follows.
 */
function ordered(merged: readonly unknown[], wanted: readonly unknown[], before: readonly unknown[]): unknown[] {
  const at = (list: readonly unknown[], entry: unknown): number => {
    const found = list.findIndex((other) => same(other, entry));
    return found < 0 ? Infinity : found;
  };
  const by = (list: readonly unknown[]) => (left: unknown, right: unknown) =>
    at(list, left) === at(list, right) ? 0 : at(list, left) - at(list, right);
  const named = merged.filter((entry) => at(wanted, entry) < Infinity).sort(by(wanted));
  const others = merged.filter((entry) => at(wanted, entry) === Infinity).sort(by(before));
  let ahead = 0;
  const places = named.map((entry) => {
    const place = at(before, entry);
    const stood = place === Infinity ? 0 : others.filter((other) => at(before, other) < place).length;
    return (ahead = Math.max(ahead, stood));
  });
  return Array.from({ length: others.length + 1 }, (_, slot) => [
    ...named.filter((_, index) => places[index] === slot),
    ...others.slice(slot, slot + 1),
  ]).flat();
}

const isDirective = (value: unknown): value is JsonObject => isMap(value) && own(value, '$patch') !== undefined;

function plain(value: unknown): unknown {
  if (isDirective(value)) return undefined;
  if (Array.isArray(value)) return value.filter((entry) => !isDirective(entry)).map(plain);
  if (!isMap(value)) return value;
  const pairs = Object.entries(value).filter(([, member]) => member !== null && !isDirective(member));
  return Object.fromEntries(pairs.map(([key, member]) => [key, plain(member)]));
}
