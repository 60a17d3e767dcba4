import { getOwn, setOwn } from '@cluster-apiserver/base';
import { type JsonObject, requireObject } from '../json/json-object.ts';
import { type KubeObject, requireKubeObject } from '../kind/object.ts';
import {
  hasSharedMembers,
  isSharedList,
  memberSchema,
  type MembersSchema,
  type ObjectSchema,
  type Schema,
  type SharedListSchema,
} from '../schema/schema.ts';
import { stepOfEntry } from '../schema/list-entries.ts';
import { type FieldSet, isEmptySet } from './field-set.ts';

/**
 * `value` without the fields in `gone`, which a manager no longer applies and no other one owns. `kept` are the fields with
 * an owner. An inner object without any owned field is removed as a whole.
 */
export function prune(schema: ObjectSchema, value: KubeObject, gone: FieldSet, kept: FieldSet): KubeObject {
  return isEmptySet(gone) ? value : requireKubeObject(pruneMembers(schema, value, gone, kept));
}

/** Undefined for a step into a list: clients may write such things into managedFields, whatever the place really is. */
const nameIn = (step: string): string | undefined => (step.startsWith('f:') ? step.slice('f:'.length) : undefined);

/** Undefined when nothing is left. */
function pruneValue(schema: Schema, value: unknown, gone: FieldSet, kept: FieldSet | undefined): unknown {
  if (hasSharedMembers(schema, value)) return pruneMembers(schema, requireObject(value), gone, kept);
  if (isSharedList(schema) && Array.isArray(value)) return pruneList(schema, value, gone, kept);
  return gone.member ? undefined : value;
}

function pruneMembers(
  schema: MembersSchema,
  value: JsonObject,
  gone: FieldSet,
  kept: FieldSet | undefined,
): JsonObject | undefined {
  const rest: Record<string, unknown> = { ...value };
  for (const [step, below] of gone.below) {
    const name = nameIn(step);
    const inner = name === undefined ? undefined : memberSchema(schema, name);
    if (name === undefined || inner === undefined || getOwn(value, name) === undefined) continue;
    const others = kept?.below.get(step);
    const isWhole = inner.type === 'object' && !others && !isAlwaysThere(schema, name);
    const pruned = isWhole ? undefined : pruneValue(inner, value[name], below, others);
    if (pruned === undefined) delete rest[name];
    else setOwn(rest, name, pruned);
  }
  const mayBeEmpty = schema.type === 'object' || (schema.type === 'any' && kept?.member === true);
  return mayBeEmpty || Object.keys(rest).length > 0 ? rest : undefined;
}

const isAlwaysThere = (schema: MembersSchema, name: string): boolean =>
  schema.type === 'object' && schema.fields.get(name)?.presence === 'always';

function pruneList(
  schema: SharedListSchema,
  entries: readonly unknown[],
  gone: FieldSet,
  kept: FieldSet | undefined,
): unknown[] | undefined {
  const rest = entries.flatMap((entry) => {
    const step = stepOfEntry(schema, entry);
    const below = gone.below.get(step);
    if (!below) return [entry];
    return below.member ? [] : [pruneValue(schema.items, entry, below, kept?.below.get(step))];
  });
  return rest.length > 0 ? rest : undefined;
}
