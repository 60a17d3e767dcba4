import { isJsonObject } from '../json/json-object.ts';
import type { ApiVersion, Part } from './api-version.ts';
import type { Kind } from './kind.ts';
import type { KubeObject } from './object.ts';

/** The part of this name; undefined for the object as a whole. */
export const partOf = ({ parts }: ApiVersion, name: string | undefined): Part | undefined =>
  name === undefined ? undefined : parts.find((part) => part.name === name);

/** Keeps the fields that other paths write: for a part all fields except its own, for the object the fields of all parts, and those that no write changes. */
export function keepOtherParts(kind: Kind, part: Part | undefined, next: KubeObject, current: KubeObject): KubeObject {
  const elsewhere = fieldsElsewhere(kind, part, [next, current]);
  const kept = part ? elsewhere : [...elsewhere, ...kind.fixedFields];
  const bound = kept.length > 0 ? keepFields(next, current, kept) : next;
  if (!part?.keepsMetadata) return bound;
  return { ...bound, metadata: keepFields(bound.metadata, current.metadata, clientMetadata) };
}

/** The metadata that a client decides. */
const clientMetadata = ['labels', 'annotations', 'finalizers', 'ownerReferences'] as const;

function keepFields<T extends object>(next: T, current: T, names: readonly (keyof T)[]): T {
  const kept = { ...next };
  for (const name of names) {
    if (current[name] === undefined) delete kept[name];
    else kept[name] = current[name];
  }
  return kept;
}

/** An object may have fields that its schema does not declare. */
function fieldsElsewhere(
  { parts, schema }: ApiVersion,
  part: Part | undefined,
  objects: readonly object[],
): readonly string[] {
  if (parts.length === 0) return [];
  if (!part) return parts.flatMap(({ fields }) => fields);
  const names = new Set(schema.fields.keys());
  if (schema.rest) for (const name of objects.flatMap((one) => Object.keys(one))) names.add(name);
  return [...names].filter((name) => !commonFields.has(name) && !part.fields.includes(name));
}

const commonFields = new Set(['kind', 'apiVersion', 'metadata']);

/** Drops the fields that cannot be written through this path on a create, without a warning. */
export function dropUnwritable<T extends object>(kind: ApiVersion, part: Part | undefined, written: T): T {
  if (kind.parts.length === 0) return written;
  const dropped = part
    ? fieldsElsewhere(kind, part, [written])
    : kind.parts.filter(({ givenOnCreate }) => !givenOnCreate).flatMap(({ fields }) => fields);
  const rest = dropped.length > 0 ? withoutFields(written, dropped) : written;
  const metadata: unknown = 'metadata' in rest ? rest.metadata : undefined;
  if (!part?.keepsMetadata || !isJsonObject(metadata)) return rest;
  return { ...rest, metadata: withoutFields(metadata, clientMetadata) };
}

function withoutFields<T extends object>(written: T, names: readonly string[]): T {
  const rest = { ...written };
  for (const name of names) Reflect.deleteProperty(rest, name);
  return rest;
}
