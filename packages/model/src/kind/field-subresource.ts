import { isJsonObject } from '../json/json-object.ts';
import type { ApiVersion, FieldSubresource } from './api-version.ts';
import type { Kind } from './kind.ts';
import type { KubeObject } from './object.ts';

/** The subresource of this name; undefined for the object as a whole. */
export const fieldSubresourceOf = (
  { fieldSubresources }: ApiVersion,
  name: string | undefined,
): FieldSubresource | undefined =>
  name === undefined ? undefined : fieldSubresources.find((subresource) => subresource.name === name);

/** Keeps the fields that other paths write: for a subresource all fields except its own, for the object the fields of all subresources, and those that no write changes. */
export function keepOtherFields(
  { kind, served }: { readonly kind: Kind; readonly served: ApiVersion },
  subresource: FieldSubresource | undefined,
  next: KubeObject,
  current: KubeObject,
): KubeObject {
  const elsewhere = fieldsElsewhere(served, subresource, [next, current]);
  const kept = subresource ? elsewhere : [...elsewhere, ...kind.fixedFields];
  const bound = kept.length > 0 ? keepFields(next, current, kept) : next;
  if (!subresource?.keepsMetadata) return bound;
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
  { fieldSubresources, schema }: ApiVersion,
  subresource: FieldSubresource | undefined,
  objects: readonly object[],
): readonly string[] {
  if (fieldSubresources.length === 0) return [];
  if (!subresource) return fieldSubresources.flatMap(({ fields, projection }) => (projection ? [] : fields));
  const names = new Set(schema.fields.keys());
  if (schema.rest) for (const name of objects.flatMap((one) => Object.keys(one))) names.add(name);
  return [...names].filter((name) => !commonFields.has(name) && !subresource.fields.includes(name));
}

const commonFields = new Set(['kind', 'apiVersion', 'metadata']);

/** Drops the fields that cannot be written through this path on a create, without a warning. */
export function dropUnwritable<T extends object>(
  kind: ApiVersion,
  subresource: FieldSubresource | undefined,
  written: T,
): T {
  if (kind.fieldSubresources.length === 0) return written;
  const dropped = subresource
    ? fieldsElsewhere(kind, subresource, [written])
    : kind.fieldSubresources.filter(({ givenOnCreate }) => !givenOnCreate).flatMap(({ fields }) => fields);
  const rest = dropped.length > 0 ? withoutFields(written, dropped) : written;
  const metadata: unknown = 'metadata' in rest ? rest.metadata : undefined;
  if (!subresource?.keepsMetadata || !isJsonObject(metadata)) return rest;
  return { ...rest, metadata: withoutFields(metadata, clientMetadata) };
}

function withoutFields<T extends object>(written: T, names: readonly string[]): T {
  const rest = { ...written };
  for (const name of names) Reflect.deleteProperty(rest, name);
  return rest;
}
