import type { ListSchema, Schema } from '../schema/schema.ts';
import { type FieldSet, fieldStep, GrowingFieldSet, keyStep, valueStep } from './field-set.ts';

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
  const found = { added: new GrowingFieldSet(), modified: new GrowingFieldSet(), removed: new GrowingFieldSet() };
  descend(schema, left, right, [], found);
  return found;
}

interface Found {
  readonly added: GrowingFieldSet;
  readonly modified: GrowingFieldSet;
  readonly removed: GrowingFieldSet;
}

type Values = Readonly<Record<string, unknown>>;

function descend(schema: Schema, left: unknown, right: unknown, path: string[], found: Found): void {
  if (left === undefined && right === undefined) return;
  // A place that appears or disappears is told itself, and so is everything below it.
  if (left === undefined) found.added.add(path);
  else if (right === undefined) found.removed.add(path);

  switch (schema.type) {
    case 'object':
      if (schema.atomic) return leaf(left, right, path, found);
      for (const { name, schema: inner } of schema.fields.values()) {
        const [one, other] = [(left as Values)?.[name], (right as Values)?.[name]];
        // Of the fields that there could be, few are there.
        if (one !== undefined || other !== undefined) below(path, fieldStep(name), inner, one, other, found);
      }
      return;
    case 'map':
      return compareMaps(schema.values, left as Values | undefined, right as Values | undefined, path, found);
    case 'list':
      if (schema.sharing === 'atomic') return leaf(left, right, path, found);
      return compareLists(schema, (left ?? []) as unknown[], (right ?? []) as unknown[], path, found);
    default:
      return leaf(left, right, path, found);
  }
}

function below(path: string[], step: string, schema: Schema, left: unknown, right: unknown, found: Found): void {
  if (left === undefined && right === undefined) return;
  path.push(step);
  descend(schema, left, right, path, found);
  path.pop();
}

function leaf(left: unknown, right: unknown, path: string[], found: Found): void {
  if (left !== undefined && right !== undefined && !same(left, right)) found.modified.add(path);
}

/** Canonical values are equal when their JSON is. */
const same = (left: unknown, right: unknown): boolean =>
  left === right || (typeof left === 'object' && JSON.stringify(left) === JSON.stringify(right));

function compareMaps(
  values: Schema,
  left: Values | undefined,
  right: Values | undefined,
  path: string[],
  found: Found,
): void {
  for (const key of Object.keys(left ?? {})) below(path, fieldStep(key), values, left?.[key], own(right, key), found);
  for (const key of Object.keys(right ?? {}))
    if (own(left, key) === undefined) below(path, fieldStep(key), values, undefined, right?.[key], found);
}

const own = (values: Values | undefined, key: string): unknown =>
  values && Object.hasOwn(values, key) ? values[key] : undefined;

function compareLists(
  schema: ListSchema,
  left: readonly unknown[],
  right: readonly unknown[],
  path: string[],
  found: Found,
): void {
  const before = byStep(schema, left);
  const after = byStep(schema, right);
  for (const step of new Set([...before.keys(), ...after.keys()])) {
    const [one, other] = [before.get(step), after.get(step)];
    // Entries that share a key cannot have different owners: the key stands for all of them.
    if ((one?.length ?? 0) > 1 || (other?.length ?? 0) > 1) {
      path.push(step);
      if (!one) found.added.add(path);
      else if (!other) found.removed.add(path);
      else if (!same(one, other)) found.modified.add(path);
      path.pop();
    } else below(path, step, schema.items, one?.[0], other?.[0], found);
  }
}

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
