import { getOwn, setOwn } from '@cluster-apiserver/base';
import { findApplyFault } from '@cluster-apiserver/expressions';
import type { ListSchema, ObjectSchema, Schema } from '@cluster-apiserver/model';

type Values = Readonly<Record<string, unknown>>;

/** An apply configuration cannot be merged into an object. */
export class ConfigurationFault extends Error {
  override readonly name = 'ConfigurationFault';
}

/**
 * Merges the fields that the configuration sets into the object. Removes nothing: atomic lists and maps may not be set,
 * because that would replace them.
 */
export function mergeConfiguration(schema: ObjectSchema, live: object, configuration: object): Record<string, unknown> {
  const fault = findApplyFault(schema, configuration as Values);
  if (fault !== undefined) throw new ConfigurationFault(fault);
  return mergeObject(schema, live as Values, configuration as Values);
}

function mergeObject({ fields }: ObjectSchema, live: Values, given: Values): Record<string, unknown> {
  const merged: Record<string, unknown> = { ...live };
  for (const [name, value] of Object.entries(given)) {
    const field = fields.get(name);
    if (field) merged[name] = mergeValue(field.schema, live[name], value);
  }
  return merged;
}

function mergeValue(schema: Schema, live: unknown, given: unknown): unknown {
  if (given === null || live === undefined || live === null) return given;
  switch (schema.type) {
    case 'object':
      return mergeObject(schema, live as Values, given as Values);
    case 'map':
      return mergeMap(live as Values, given as Values);
    case 'list':
      return mergeList(schema, live as readonly unknown[], given as readonly unknown[]);
    default:
      return given;
  }
}

function mergeMap(live: Values, given: Values): Values {
  const merged: Record<string, unknown> = {};
  for (const values of [live, given]) for (const [key, value] of Object.entries(values)) setOwn(merged, key, value);
  return merged;
}

/** The entries of both, identified by value or by key; those of the object come first. */
function mergeList({ items, sharing }: ListSchema, live: readonly unknown[], given: readonly unknown[]): unknown[] {
  const identityOf = (entry: unknown): unknown =>
    typeof sharing === 'object' && isMap(entry) ? getOwn(entry, sharing.key) : entry;
  const merged = [...live];
  const places = new Map(live.map((entry, index) => [identityOf(entry), index]));
  for (const entry of given) {
    const place = places.get(identityOf(entry));
    if (place === undefined) merged.push(entry);
    else merged[place] = mergeValue(items, merged[place], entry);
  }
  return merged;
}

const isMap = (value: unknown): value is Values => typeof value === 'object' && value !== null && !Array.isArray(value);
