import type { ListSchema, ObjectSchema, Schema } from '../schema/schema.ts';
import { emptySet, type FieldSet, fieldStep, keyStep, leaf as place, valueStep } from './field-set.ts';

/** What differs between two values of one schema, as sets of fields. */
export interface Comparison {
  readonly added: FieldSet;
  readonly modified: FieldSet;
  readonly removed: FieldSet;
}

/** A list whose entries cannot be told apart: one has no key. Ownership cannot be tracked in such a value. */
export class UnkeyedEntryError extends Error {
  override readonly name = 'UnkeyedEntryError';
}

/** Compares down to the smallest parts that can have an owner of their own. Undefined stands for an absent value. */
export function compare(schema: Schema, left: unknown, right: unknown): Comparison {
  if (left === undefined && right === undefined) return nothing;
  switch (schema.type) {
    case 'object':
      return schema.atomic ? leaf(left, right) : compareObjects(schema, left as Values, right as Values);
    case 'map':
      return compareMaps(schema.values, left as Values | undefined, right as Values | undefined);
    case 'list':
      return schema.sharing === 'atomic'
        ? leaf(left, right)
        : compareLists(schema, left as unknown[] | undefined, right as unknown[] | undefined);
    default:
      return leaf(left, right);
  }
}

type Values = Readonly<Record<string, unknown>>;

const nothing: Comparison = { added: emptySet, modified: emptySet, removed: emptySet };
const added: Comparison = { ...nothing, added: place };
const modified: Comparison = { ...nothing, modified: place };
const removed: Comparison = { ...nothing, removed: place };

function leaf(left: unknown, right: unknown): Comparison {
  if (left === undefined) return added;
  if (right === undefined) return removed;
  return same(left, right) ? nothing : modified;
}

/** Canonical values are equal when their JSON is. */
const same = (left: unknown, right: unknown): boolean =>
  left === right || (typeof left === 'object' && JSON.stringify(left) === JSON.stringify(right));

/** What differs below one place, step by step. */
class Below {
  #added: Map<string, FieldSet> | undefined;
  #modified: Map<string, FieldSet> | undefined;
  #removed: Map<string, FieldSet> | undefined;

  put(step: string, { added, modified, removed }: Comparison): void {
    if (added !== emptySet) (this.#added ??= new Map()).set(step, added);
    if (modified !== emptySet) (this.#modified ??= new Map()).set(step, modified);
    if (removed !== emptySet) (this.#removed ??= new Map()).set(step, removed);
  }

  /** A place that appears or disappears is named itself, and so is everything below it. */
  of(left: unknown, right: unknown): Comparison {
    return {
      added: setOf(left === undefined, this.#added),
      modified: setOf(false, this.#modified),
      removed: setOf(right === undefined, this.#removed),
    };
  }
}

function setOf(member: boolean, below: ReadonlyMap<string, FieldSet> | undefined): FieldSet {
  if (below) return { member, below };
  return member ? place : emptySet;
}

function compareObjects(schema: ObjectSchema, left: Values | undefined, right: Values | undefined): Comparison {
  const below = new Below();
  for (const { name, schema: inner } of schema.fields.values()) {
    const [one, other] = [left?.[name], right?.[name]];
    // Of the fields that there could be, few are there.
    if (one !== undefined || other !== undefined) below.put(fieldStep(name), compare(inner, one, other));
  }
  return below.of(left, right);
}

function compareMaps(values: Schema, left: Values | undefined, right: Values | undefined): Comparison {
  const below = new Below();
  for (const key of Object.keys(left ?? {})) below.put(fieldStep(key), compare(values, left?.[key], own(right, key)));
  for (const key of Object.keys(right ?? {}))
    if (own(left, key) === undefined) below.put(fieldStep(key), compare(values, undefined, right?.[key]));
  return below.of(left, right);
}

const own = (values: Values | undefined, key: string): unknown =>
  values && Object.hasOwn(values, key) ? values[key] : undefined;

function compareLists(
  schema: ListSchema,
  left: readonly unknown[] | undefined,
  right: readonly unknown[] | undefined,
): Comparison {
  const below = new Below();
  const before = byStep(schema, left ?? []);
  const after = byStep(schema, right ?? []);
  for (const [step, one] of before) below.put(step, compareEntries(schema, one, after.get(step)));
  for (const [step, other] of after) if (!before.has(step)) below.put(step, compareEntries(schema, undefined, other));
  return below.of(left, right);
}

/** Entries that share a key cannot have different owners: the key stands for all of them. */
const compareEntries = (
  { items }: ListSchema,
  one: readonly unknown[] | undefined,
  other: readonly unknown[] | undefined,
): Comparison =>
  (one?.length ?? 0) > 1 || (other?.length ?? 0) > 1 ? leaf(one, other) : compare(items, one?.[0], other?.[0]);

function byStep(schema: ListSchema, entries: readonly unknown[]): Map<string, unknown[]> {
  const steps = new Map<string, unknown[]>();
  for (const entry of entries) {
    const step = stepOfEntry(schema, entry);
    const known = steps.get(step);
    if (known) known.push(entry);
    else steps.set(step, [entry]);
  }
  return steps;
}

/** The step to an entry of a list that writers share. */
export const stepOfEntry = ({ sharing }: ListSchema, entry: unknown): string =>
  sharing === 'set' ? valueStep(entry) : keyStepOf(entry, (sharing as { key: string }).key);

function keyStepOf(entry: unknown, key: string): string {
  const value = (entry as Values)[key];
  if (value === undefined) throw new UnkeyedEntryError(`an entry has no ${key}`);
  return keyStep(key, value);
}
