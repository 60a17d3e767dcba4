import { setOwn } from '@cluster-apiserver/base';
import { type JsonObject, requireList, requireObject } from '../json/json-object.ts';
import { type KubeObject, requireKubeObject } from '../kind/object.ts';
import { isSharedList, type ObjectSchema, type Schema, type SharedListSchema } from '../schema/schema.ts';
import { stepOfEntry } from '../schema/list-entries.ts';
import { type FieldSet, isEmptySet } from './field-set.ts';

/**
 * `value` without the fields in `gone`, which a manager no longer applies and no other one owns. `kept` are the fields with
 * an owner. An inner object without any owned field is removed as a whole.
 */
export function prune(schema: ObjectSchema, value: KubeObject, gone: FieldSet, kept: FieldSet): KubeObject {
  return isEmptySet(gone) ? value : requireKubeObject(pruneObject(schema, value, gone, kept));
}

/** Undefined for a step into a list: clients may write such things into managedFields, whatever the place really is. */
const nameIn = (step: string): string | undefined => (step.startsWith('f:') ? step.slice('f:'.length) : undefined);

/** Undefined when nothing is left. */
function pruneValue(schema: Schema, value: unknown, gone: FieldSet, kept: FieldSet | undefined): unknown {
  if (schema.type === 'object' && !schema.atomic) return pruneObject(schema, requireObject(value), gone, kept);
  if (schema.type === 'map') return pruneMap(schema.values, requireObject(value), gone, kept);
  if (isSharedList(schema)) return pruneList(schema, requireList(value), gone, kept);
  return gone.member ? undefined : value;
}

function pruneObject(schema: ObjectSchema, value: JsonObject, gone: FieldSet, kept: FieldSet | undefined): JsonObject {
  const rest: Record<string, unknown> = { ...value };
  for (const [step, below] of gone.below) {
    const name = nameIn(step);
    const field = schema.fields.get(name ?? '');
    if (name === undefined || field === undefined || value[name] === undefined) continue;
    const others = kept?.below.get(step);
    const whole = field.schema.type === 'object' && field.presence !== 'always' && !others;
    const pruned = whole ? undefined : pruneValue(field.schema, value[name], below, others);
    if (pruned === undefined) delete rest[name];
    else rest[name] = pruned;
  }
  return rest;
}

function pruneMap(
  values: Schema,
  value: JsonObject,
  gone: FieldSet,
  kept: FieldSet | undefined,
): JsonObject | undefined {
  const rest: Record<string, unknown> = { ...value };
  for (const [step, below] of gone.below) {
    const name = nameIn(step);
    if (name === undefined || !Object.hasOwn(value, name)) continue;
    const others = kept?.below.get(step);
    const whole = values.type === 'object' && !others;
    const pruned = whole ? undefined : pruneValue(values, value[name], below, others);
    if (pruned === undefined) delete rest[name];
    else setOwn(rest, name, pruned);
  }
  return Object.keys(rest).length > 0 ? rest : undefined;
}

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
