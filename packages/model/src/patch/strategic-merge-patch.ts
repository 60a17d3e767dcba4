import { getOwn, setOwn } from '@cluster-apiserver/base';
import { isJsonObject, type JsonObject, requireObject } from '../json/json-object.ts';
import { isSharedList, memberSchema, type ObjectSchema, type Schema, type SharedListSchema } from '../schema/schema.ts';
import { PatchFormError } from './errors.ts';

/**
 * Strategic merge patch: a merge patch that knows the schema. Lists whose entries have a key are merged entry by
 * entry, sets value by value, and directives inside the patch (keys that begin with a dollar sign) say what a plain
 * merge cannot: replace, delete, retain, and in which order.
 */
export function applyStrategicMergePatch(schema: ObjectSchema, target: unknown, patch: unknown): unknown {
  if (!isJsonObject(patch)) throw new PatchFormError('the patch must be an object');
  return mergeMaps(schema, isJsonObject(target) ? target : {}, patch);
}

const patchDirective = '$patch';
const retainKeysDirective = '$retainKeys';
const orderPrefix = '$setElementOrder/';
const deletePrefix = '$deleteFromPrimitiveList/';

function mergeMaps(schema: Schema | undefined, target: JsonObject, patch: JsonObject): JsonObject {
  const directive = getOwn(patch, patchDirective);
  if (directive === 'replace') return withoutPatchDirective(patch);
  if (directive === 'delete') return {};
  if (directive !== undefined) throw new PatchFormError(`unknown $patch directive: ${JSON.stringify(directive)}`);

  const merged: Record<string, unknown> = {};
  const kept = retainKeys(target, patch);
  for (const key of Object.keys(kept)) setOwn(merged, key, kept[key]);
  const hasDirectives = Object.keys(patch).some((key) => key.startsWith('$'));
  for (const key of hasDirectives ? touchedKeys(patch) : Object.keys(patch)) {
    const [inner, before] = [schemaBelow(schema, key), getOwn(target, key)];
    const value = hasDirectives ? mergeMember(inner, before, patch, key) : mergeChange(inner, before, patch[key]);
    if (value === undefined) delete merged[key];
    else setOwn(merged, key, value);
  }
  return merged;
}

/** The members that a patch changes, including those that only directives name. */
function touchedKeys(patch: JsonObject): Set<string> {
  const keys = new Set<string>();
  for (const key of Object.keys(patch)) {
    if (key.startsWith(orderPrefix)) keys.add(key.slice(orderPrefix.length));
    else if (key.startsWith(deletePrefix)) keys.add(key.slice(deletePrefix.length));
    else if (key !== patchDirective && key !== retainKeysDirective) keys.add(key);
  }
  return keys;
}

function retainKeys(target: JsonObject, patch: JsonObject): JsonObject {
  const keys = getOwn(patch, retainKeysDirective);
  if (keys === undefined) return target;
  if (!Array.isArray(keys)) throw new PatchFormError('$retainKeys must be a list');
  const kept = new Set<unknown>(keys);
  const stray = [...touchedKeys(patch)].find((key) => (getOwn(patch, key) ?? null) !== null && !kept.has(key));
  if (stray !== undefined)
    throw new PatchFormError(`$retainKeys does not list ${JSON.stringify(stray)}, which the patch sets`);
  return Object.fromEntries(Object.entries(target).filter(([key]) => kept.has(key)));
}

const isMerged = (schema: Schema | undefined): schema is SharedListSchema =>
  isSharedList(schema) && !(typeof schema.sharing === 'object' && schema.sharing.isReplacedByPatch);

function schemaBelow(schema: Schema | undefined, key: string): Schema | undefined {
  return schema?.type === 'object' || schema?.type === 'map' ? memberSchema(schema, key) : undefined;
}

/** The new value of one member; undefined if it is removed. */
function mergeMember(schema: Schema | undefined, before: unknown, patch: JsonObject, key: string): unknown {
  const order = listOf(getOwn(patch, orderPrefix + key), orderPrefix + key);
  const deleted = listOf(getOwn(patch, deletePrefix + key), deletePrefix + key);
  const change = getOwn(patch, key);
  if (order) requireFittingOrder(schema, key, order, change);
  const gone = new Set(deleted?.map(identityOf));
  const base = deleted && Array.isArray(before) ? before.filter((value) => !gone.has(identityOf(value))) : before;
  const merged = mergeChange(schema, base, change);
  return order && Array.isArray(merged) && isMerged(schema)
    ? orderEntries(schema, merged, order, Array.isArray(before) ? before : [])
    : merged;
}

function mergeChange(schema: Schema | undefined, before: unknown, change: unknown): unknown {
  if (change === null) return undefined;
  return change === undefined ? before : mergeValues(schema, before, change);
}

/** Throws unless the list is merged, and the order contains the entries that the patch sets, in the same order. */
function requireFittingOrder(
  schema: Schema | undefined,
  key: string,
  order: readonly unknown[],
  change: unknown,
): void {
  const refuse = (problem: string): never => {
    throw new PatchFormError(`${orderPrefix}${key}: ${problem}`);
  };
  if (!isMerged(schema)) return refuse('there is no list of this name whose entries are merged');
  if (change !== undefined && !Array.isArray(change)) return refuse('the patch sets something other than a list');
  const { sharing } = schema;
  const identity = (entry: unknown): string => identityOf(sharing === 'set' ? entry : keyOf(entry, sharing.keys[0]));
  const ordered = order.map(identity);
  if (ordered.length === 0) return;
  let at = 0;
  for (const entry of listOf(change, key) ?? []) {
    if (isDirective(entry)) continue;
    const wanted = identity(entry);
    while (at < ordered.length && ordered[at] !== wanted) at++;
    if (at++ >= ordered.length) refuse('it lacks an entry that the patch sets, or has it elsewhere');
  }
}

function listOf(value: unknown, name: string): readonly unknown[] | undefined {
  if (value !== undefined && !Array.isArray(value)) throw new PatchFormError(`${name} must be a list`);
  return value;
}

function mergeValues(schema: Schema | undefined, before: unknown, change: unknown): unknown {
  if (isJsonObject(change) && isJsonObject(before)) return mergeMaps(schema, before, change);
  // An atomic list is replaced as it is: what looks like a directive in it is an unknown field, and not a deletion.
  if (Array.isArray(change) && Array.isArray(before) && schema?.type === 'list')
    return isMerged(schema) ? mergeLists(schema, before, change) : change;
  return withoutDirectives(change);
}

function mergeLists(schema: SharedListSchema, before: readonly unknown[], change: readonly unknown[]): unknown[] {
  if (schema.sharing === 'set') return orderEntries(schema, distinct([...before, ...change]), change, before);
  const [key] = schema.sharing.keys;
  const directives = change.filter(isDirective);
  const entries = change.filter((entry) => !isDirective(entry));
  if (directives.some((entry) => entry[patchDirective] === 'replace')) return entries;
  const gone = new Set(
    directives.map((entry) => {
      if (entry[patchDirective] !== 'delete')
        throw new PatchFormError(`unknown $patch directive: ${JSON.stringify(entry[patchDirective])}`);
      return identityOf(keyOf(entry, key));
    }),
  );

  const merged: unknown[] = [];
  // Of several entries with one key the first is the one that is merged.
  const places = new Map<string, number>();
  const append = (entry: unknown): void => {
    const value = isJsonObject(entry) ? getOwn(entry, key) : undefined;
    const identity = identityOf(value);
    if (value !== undefined && !places.has(identity)) places.set(identity, merged.length);
    merged.push(entry);
  };
  for (const entry of before)
    if (!isJsonObject(entry) || getOwn(entry, key) === undefined || !gone.has(identityOf(getOwn(entry, key))))
      append(entry);
  for (const entry of entries) {
    const value = keyOf(entry, key);
    const at = places.get(identityOf(value));
    if (at === undefined) append(entry);
    else merged[at] = mergeMaps(schema.items, requireObject(merged[at]), requireObject(entry));
  }
  return orderEntries(schema, merged, entries, before);
}

/** A key for maps: equal values have equal keys. */
const identityOf = (value: unknown): string =>
  // No other JSON begins with a quote.
  typeof value === 'string' ? `"${value}` : (JSON.stringify(value) ?? '');

function keyOf(entry: unknown, key: string): unknown {
  const value = isJsonObject(entry) ? getOwn(entry, key) : undefined;
  if (value === undefined) throw new PatchFormError(`an entry of the patch does not contain the merge key ${key}`);
  return value;
}

/**
 * Entries that the patch names come in the patch's order, the others in theirs; where the two meet, an old entry goes
 * before a named one only if it did so before.
 */
function orderEntries(
  { sharing }: SharedListSchema,
  merged: readonly unknown[],
  wanted: readonly unknown[],
  before: readonly unknown[],
): unknown[] {
  const key = sharing === 'set' ? undefined : sharing.keys[0];
  const identity = (entry: unknown): string =>
    identityOf(key !== undefined && isJsonObject(entry) ? getOwn(entry, key) : entry);
  const places = (entries: readonly unknown[]): Map<string, number> => {
    const first = new Map<string, number>();
    entries.forEach((entry, index) => {
      const at = identity(entry);
      if (!first.has(at)) first.set(at, index);
    });
    return first;
  };
  const [wantedAt, beforeAt] = [places(wanted), places(before)];
  const placed = merged.map((entry) => {
    const at = identity(entry);
    return { entry, wanted: wantedAt.get(at), before: beforeAt.get(at) ?? Infinity };
  });
  const byPlace = (left = Infinity, right = Infinity): number => (left === right ? 0 : left - right);
  const named = placed.filter((one) => one.wanted !== undefined).sort((a, b) => byPlace(a.wanted, b.wanted));
  const others = placed.filter((one) => one.wanted === undefined).sort((a, b) => byPlace(a.before, b.before));
  const out: unknown[] = [];
  let next = 0;
  for (const { entry, before: at } of named) {
    while (at < Infinity && (others[next]?.before ?? Infinity) < at) out.push(others[next++]?.entry);
    out.push(entry);
  }
  return [...out, ...others.slice(next).map(({ entry }) => entry)];
}

const isDirective = (value: unknown): value is JsonObject =>
  isJsonObject(value) && getOwn(value, patchDirective) !== undefined;

/** What replaces an object is taken as it is, so directives below it are unknown fields. */
const withoutPatchDirective = (patch: JsonObject): JsonObject =>
  Object.fromEntries(Object.entries(patch).filter(([key]) => key !== patchDirective));

/**
 * The value for a place that was empty, where neither a null nor a directive has anything to remove or replace. As in
 * kube-apiserver, an object with the directive `$patch` is left out; undefined if it is the value itself.
 */
function withoutDirectives(value: unknown): unknown {
  if (isDirective(value)) return undefined;
  if (Array.isArray(value)) return value.filter((entry) => !isDirective(entry)).map(withoutDirectives);
  return isJsonObject(value) ? membersWithoutDirectives(value) : value;
}

function membersWithoutDirectives(value: JsonObject): JsonObject {
  const out: Record<string, unknown> = {};
  for (const [key, member] of Object.entries(value))
    if (member !== null && !isDirective(member)) setOwn(out, key, withoutDirectives(member));
  return out;
}

const distinct = (values: readonly unknown[]): unknown[] => [
  ...new Map(values.map((value) => [identityOf(value), value])).values(),
];
