import type { Kind, Part } from './kind.ts';
import type { KubeObject } from './object.ts';

/** The part of this name; undefined for the object as a whole. */
export const partOf = ({ parts }: Kind, name: string | undefined): Part | undefined =>
  name === undefined ? undefined : parts.find((part) => part.name === name);

/** Keeps the fields that other paths write: for a part all fields except its own, for the object the fields of all parts. */
export function keepOtherParts(kind: Kind, part: Part | undefined, next: KubeObject, current: KubeObject): KubeObject {
  const kept = fieldsElsewhere(kind, part);
  if (kept.length === 0) return next;
  const bound: KubeObject = { ...next };
  for (const name of kept) {
    if (current[name] === undefined) delete bound[name];
    else bound[name] = current[name];
  }
  return bound;
}

function fieldsElsewhere({ parts, schema }: Kind, part: Part | undefined): readonly string[] {
  if (parts.length === 0) return [];
  if (!part) return parts.flatMap(({ fields }) => fields);
  return [...schema.fields.keys()].filter((name) => !commonFields.has(name) && !part.fields.includes(name));
}

const commonFields = new Set(['kind', 'apiVersion', 'metadata']);

/** Drops the fields that cannot be written through this path on a create, without a warning. */
export function dropUnwritable<T extends object>(kind: Kind, part: Part | undefined, written: T): T {
  if (kind.parts.length === 0) return written;
  const dropped = part
    ? fieldsElsewhere(kind, part)
    : kind.parts.filter(({ givenOnCreate }) => !givenOnCreate).flatMap(({ fields }) => fields);
  if (dropped.length === 0) return written;
  const rest = { ...written };
  for (const name of dropped) Reflect.deleteProperty(rest, name);
  return rest;
}
