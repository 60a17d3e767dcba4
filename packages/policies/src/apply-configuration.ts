import { getOwn, setOwn } from '@cluster-apiserver/base';
import type { ListSchema, ObjectSchema, Schema } from '@cluster-apiserver/model';

type Values = Readonly<Record<string, unknown>>;

/** Why an apply configuration cannot be merged into an object. */
export class ConfigurationFault extends Error {
  override readonly name = 'ConfigurationFault';
}

/**
 * The object with the fields that the configuration names. Nothing is removed, and what has one owner as a whole may not
 * be named: the rest of it would be lost.
 */
export function mergeConfiguration(schema: ObjectSchema, live: object, configuration: object): Record<string, unknown> {
  const faults = faultsOf(schema, configuration, '');
  if (faults.length > 0)
    throw new ConfigurationFault(`failed to convert patch object to typed object: ${faults.join('\n')}`);
  const atomic = atomicsOf(schema, configuration, '');
  if (atomic.length > 0)
    throw new ConfigurationFault(
      `invalid ApplyConfiguration: may not mutate atomic arrays, maps or structs: ${atomic.join(', ')}`,
    );
  return mergeObject(schema, live as Values, configuration as Values);
}

const jsonTypes = {
  string: 'string',
  bytes: 'string',
  time: 'string',
  microTime: 'string',
  boolean: 'boolean',
  int32: 'numeric',
  int64: 'numeric',
} as const;

/** What the schema does not allow, in the words of upstream. */
function faultsOf(schema: Schema, value: unknown, path: string): string[] {
  if (value === null || schema.type === 'any') return [];
  switch (schema.type) {
    case 'object':
      if (!isMap(value)) return [wrongType(path, 'map', value)];
      return Object.entries(value).flatMap(([name, held]) => {
        const field = schema.fields.get(name);
        return field
          ? faultsOf(field.schema, held, `${path}.${name}`)
          : [`${path}.${name}: field not declared in schema`];
      });
    case 'map':
      if (!isMap(value)) return [wrongType(path, 'map', value)];
      return Object.entries(value).flatMap(([key, held]) => faultsOf(schema.values, held, `${path}.${key}`));
    case 'list':
      if (!Array.isArray(value)) return [wrongType(path, 'list', value)];
      return [
        ...value.flatMap((entry: unknown, index) => faultsOf(schema.items, entry, `${path}[${index}]`)),
        ...identityFaults(schema, value, path),
      ];
    default: {
      const wanted = jsonTypes[schema.type];
      const given = typeof value === 'number' ? 'numeric' : typeof value;
      return given === wanted ? [] : [wrongType(path, wanted, value)];
    }
  }
}

/** Entries of a set and of a list with a key have to be told apart. */
function identityFaults({ sharing }: ListSchema, entries: readonly unknown[], path: string): string[] {
  if (sharing === 'atomic') return [];
  const seen = new Set<unknown>();
  return entries.flatMap((entry, index) => {
    const key = typeof sharing === 'object' ? sharing.key : undefined;
    const identity = key === undefined ? entry : isMap(entry) ? getOwn(entry, key) : undefined;
    if (key !== undefined && (identity === undefined || identity === null))
      return [
        `${path}: element ${index}: associative list with keys has an element that omits all key fields ["${key}"] (and doesn't have default values for any key fields)`,
      ];
    const isSeen = seen.has(identity);
    seen.add(identity);
    return isSeen ? [`${path}: duplicate entries for key [${key ?? ''}=${JSON.stringify(identity)}]`] : [];
  });
}

const wrongType = (path: string, wanted: string, value: unknown): string =>
  `${path}: expected ${wanted}, got &{${typeof value === 'string' ? value : JSON.stringify(value)}}`;

/** The paths of what has one owner as a whole. */
function atomicsOf(schema: Schema, value: unknown, path: string): string[] {
  if (schema.type === 'object' && isMap(value))
    return [
      ...(schema.atomic ? [path] : []),
      ...Object.entries(value).flatMap(([name, held]) => {
        const field = schema.fields.get(name);
        return field ? atomicsOf(field.schema, held, `${path}.${name}`) : [];
      }),
    ];
  if (schema.type === 'list' && Array.isArray(value))
    return [
      ...(schema.sharing === 'atomic' ? [path] : []),
      ...value.flatMap((entry: unknown, index) => atomicsOf(schema.items, entry, `${path}[${index}]`)),
    ];
  return [];
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

/** Entries of both, told apart by value or by key; the object's come first. */
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
