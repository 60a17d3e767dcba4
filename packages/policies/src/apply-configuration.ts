import { getOwn, setOwn } from '@cluster-apiserver/base';
import { isJsonObject, type JsonObject } from '@cluster-apiserver/model/json';
import {
  findEntryStep,
  isSharedList,
  type ListSchema,
  memberSchema,
  type ObjectSchema,
  type Schema,
} from '@cluster-apiserver/model/schema';
import { findApplyFault } from './apply-fault.ts';

/** An apply configuration cannot be merged into an object. */
export class ConfigurationFault extends Error {
  override readonly name = 'ConfigurationFault';
}

/**
 * Merges the fields that the configuration sets into the object. Removes nothing: atomic lists and maps may not be set,
 * because that would replace them.
 */
export function mergeConfiguration(schema: ObjectSchema, live: JsonObject, configuration: JsonObject): JsonObject {
  const fault = findApplyFault(schema, configuration);
  if (fault !== undefined) throw new ConfigurationFault(fault);
  return mergeObject(schema, live, configuration);
}

function mergeObject(schema: ObjectSchema, live: JsonObject, given: JsonObject): JsonObject {
  const merged: Record<string, unknown> = { ...live };
  for (const [name, value] of Object.entries(given)) {
    const inner = memberSchema(schema, name);
    if (inner) setOwn(merged, name, mergeValue(inner, getOwn(live, name), value));
  }
  return merged;
}

function mergeValue(schema: Schema, live: unknown, given: unknown): unknown {
  if (given === null || live === undefined || live === null) return given;
  switch (schema.type) {
    case 'object':
      return isJsonObject(live) && isJsonObject(given) ? mergeObject(schema, live, given) : given;
    case 'map':
      return isJsonObject(live) && isJsonObject(given) ? mergeMap(live, given) : given;
    case 'list':
      return Array.isArray(live) && Array.isArray(given) ? mergeList(schema, live, given) : given;
    default:
      return given;
  }
}

function mergeMap(live: JsonObject, given: JsonObject): JsonObject {
  const merged: Record<string, unknown> = {};
  for (const values of [live, given]) for (const [key, value] of Object.entries(values)) setOwn(merged, key, value);
  return merged;
}

/** The entries of both, identified by value or by key; those of the object come first. */
function mergeList(schema: ListSchema, live: readonly unknown[], given: readonly unknown[]): unknown[] {
  const identityOf = (entry: unknown): unknown => (isSharedList(schema) ? findEntryStep(schema, entry) : entry);
  const merged = [...live];
  const places = new Map(live.map((entry, index) => [identityOf(entry), index]));
  for (const entry of given) {
    const place = places.get(identityOf(entry));
    if (place === undefined) merged.push(entry);
    else merged[place] = mergeValue(schema.items, merged[place], entry);
  }
  return merged;
}
