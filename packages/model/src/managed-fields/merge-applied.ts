import { isJsonObject, type JsonObject } from '../json/json-object.ts';
import { type KubeObject, requireKubeObject } from '../kind/object.ts';
import { getOwn, setOwn } from '@cluster-apiserver/base';
import {
  hasSharedMembers,
  isSharedList,
  memberSchema,
  type MembersSchema,
  type ObjectSchema,
  type Schema,
  type SharedListSchema,
} from '../schema/schema.ts';
import { identityOfEntry, stepOfEntry } from '../schema/list-entries.ts';
import type { FieldSet } from './field-set.ts';

/** `live` with the values of all fields that a configuration mentions. What is mentioned without a value is unset. */
export function mergeApplied(
  schema: ObjectSchema,
  live: KubeObject,
  applied: KubeObject,
  fields: FieldSet,
): KubeObject {
  return requireKubeObject(withEmptyLists(schema, mergeMembers(schema, live, applied, fields), applied));
}

/** An empty list that is applied mentions no field, and is there all the same unless the object has a list already. */
function withEmptyLists(schema: Schema, merged: unknown, applied: unknown): unknown {
  if (merged === undefined && Array.isArray(applied) && applied.length === 0) return applied;
  if (isSharedList(schema) && Array.isArray(applied) && Array.isArray(merged))
    return withEmptyListsInEntries(schema, merged, applied);
  if (!isJsonObject(applied) || !hasSharedMembers(schema, applied)) return merged;
  if (merged !== undefined && !isJsonObject(merged)) return merged;
  const changed: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(applied)) {
    const inner = memberSchema(schema, name);
    const before = getOwn(merged ?? {}, name);
    const after = inner && withEmptyLists(inner, before, value);
    if (after !== undefined && after !== before) setOwn(changed, name, after);
  }
  return Object.keys(changed).length > 0 ? { ...merged, ...changed } : merged;
}

function withEmptyListsInEntries(
  schema: SharedListSchema,
  merged: readonly unknown[],
  applied: readonly unknown[],
): readonly unknown[] {
  const { items } = schema;
  if (items.type !== 'object') return merged;
  const wanted = placesOf(schema, applied);
  return merged.map((entry) => {
    const at = wanted.get(identityOfEntry(schema, entry));
    return at === undefined ? entry : withEmptyLists(items, entry, applied[at]);
  });
}

const nameIn = (step: string): string => step.slice('f:'.length);

function mergeValue(schema: Schema, live: unknown, applied: unknown, fields: FieldSet): unknown {
  // A null is like an empty value where others may have put something below.
  if (applied === null) return hasSharedMembers(schema, live) || isListOf(schema, live) ? live : null;
  if (hasSharedMembers(schema, applied ?? live)) return mergeMembers(schema, asObject(live), asObject(applied), fields);
  return isSharedList(schema) && (applied === undefined || Array.isArray(applied))
    ? mergeList(schema, Array.isArray(live) ? live : [], applied ?? [], fields)
    : applied;
}

const isListOf = (schema: Schema, value: unknown): boolean => isSharedList(schema) && Array.isArray(value);

/** What was stored by another schema may have another type. */
const asObject = (value: unknown): JsonObject | undefined => (isJsonObject(value) ? value : undefined);

function mergeMembers(
  schema: MembersSchema,
  live: JsonObject | undefined,
  applied: JsonObject | undefined,
  fields: FieldSet,
): JsonObject | undefined {
  // There are no empty maps.
  if (fields.below.size === 0) return live ?? (schema.type === 'map' ? undefined : applied);
  const merged: Record<string, unknown> = { ...live };
  for (const [step, below] of fields.below) {
    const name = nameIn(step);
    const inner = memberSchema(schema, name);
    const value = inner && mergeValue(inner, getOwn(live ?? {}, name), getOwn(applied ?? {}, name), below);
    if (value === undefined) delete merged[name];
    else setOwn(merged, name, value);
  }
  return merged;
}

/**
 * Applied entries come in the order of the configuration; an entry that only the live list has stays before the one
 * that it was before.
 */
function mergeList(
  schema: SharedListSchema,
  live: readonly unknown[],
  applied: readonly unknown[],
  fields: FieldSet,
): unknown[] | undefined {
  const wanted = placesOf(schema, applied);
  const before = uniqueEntries(schema, live);
  const shared: number[] = [];
  for (const [identity, index] of wanted) if (before.has(identity)) shared.push(index);
  const merged: unknown[] = [];
  let [next, nextShared] = [0, 0];
  const takeThrough = (last: number): void => {
    for (; next <= last; next++) {
      const entry = applied[next];
      const below = fields.below.get(stepOfEntry(schema, entry));
      const unique = before.get(identityOfEntry(schema, entry));
      merged.push(below ? mergeValue(schema.items, unique, entry, below) : entry);
    }
  };
  live.forEach((entry) => {
    const at = wanted.get(identityOfEntry(schema, entry));
    if (at === undefined) merged.push(entry);
    else if (at === shared[nextShared]) {
      takeThrough(at);
      nextShared += 1;
    }
  });
  takeThrough(applied.length - 1);
  return merged.length > 0 ? merged : undefined;
}

/** The live entry of each key; undefined where several have it, because none of them is the one to merge with. */
function uniqueEntries(schema: SharedListSchema, entries: readonly unknown[]): Map<unknown, unknown> {
  const found = new Map<unknown, unknown>();
  for (const entry of entries) {
    const identity = identityOfEntry(schema, entry);
    found.set(identity, found.has(identity) ? undefined : entry);
  }
  return found;
}

const placesOf = (schema: SharedListSchema, entries: readonly unknown[]): Map<unknown, number> =>
  new Map(entries.map((entry, index) => [identityOfEntry(schema, entry), index]));
