import { isJsonObject, type JsonObject, type Optional } from '../json/json-object.ts';
import { sameJson } from '../json/same-json.ts';
import {
  hasSharedMembers,
  isSharedList,
  memberSchema,
  type MembersSchema,
  type Schema,
  type SharedListSchema,
} from '../schema/schema.ts';
import { identityOfEntry, stepOfEntry } from '../schema/list-entries.ts';
import { emptySet, type FieldSet, fieldStep, leaf as place } from './field-set.ts';

/** The difference of two values of one schema, as sets of fields. */
export interface Comparison {
  readonly added: FieldSet;
  readonly modified: FieldSet;
  readonly removed: FieldSet;
}

/** Compares down to the smallest values that can have an owner. Undefined stands for an absent value. */
export function compare(schema: Schema, left: unknown, right: unknown): Comparison {
  if (left === undefined && right === undefined) return nothing;
  // Null and an empty value have nothing below them that could tell them apart.
  if ((left === null && isEmpty(right)) || (right === null && isEmpty(left))) return leaf(left, right);
  if (hasSharedMembers(schema, left ?? right) && fitsObject(left) && fitsObject(right))
    return compareMembers(schema, left, right);
  if (isSharedList(schema) && fitsList(left) && fitsList(right)) return compareLists(schema, left, right);
  if (isAbsent(left) || isAbsent(right) || hasSharedMembers(schema, left) === hasSharedMembers(schema, right))
    return leaf(left, right);
  return compareTypes(schema, left, right);
}

/** All that is below a value of one type is gone, and all that is below one of another type is new. */
function compareTypes(schema: Schema, left: unknown, right: unknown): Comparison {
  return {
    added: withoutPlace(compare(schema, undefined, right).added),
    modified: place,
    removed: withoutPlace(compare(schema, left, undefined).removed),
  };
}

const withoutPlace = ({ below }: FieldSet): FieldSet => setOf(false, below.size > 0 ? below : undefined);

const isEmpty = (value: unknown): boolean =>
  Array.isArray(value) ? value.length === 0 : isJsonObject(value) && Object.keys(value).length === 0;

const fitsObject = (value: unknown): value is Optional<JsonObject> => isAbsent(value) || isJsonObject(value);
const fitsList = (value: unknown): value is Optional<readonly unknown[]> => isAbsent(value) || Array.isArray(value);
const isAbsent = (value: unknown): value is null | undefined => value === undefined || value === null;

const nothing: Comparison = { added: emptySet, modified: emptySet, removed: emptySet };
const placeAdded: Comparison = { ...nothing, added: place };
const placeModified: Comparison = { ...nothing, modified: place };
const placeRemoved: Comparison = { ...nothing, removed: place };

function leaf(left: unknown, right: unknown): Comparison {
  if (left === undefined) return placeAdded;
  if (right === undefined) return placeRemoved;
  return sameJson(left, right) ? nothing : placeModified;
}

/** The differences below one place, by step. */
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

function compareMembers(schema: MembersSchema, left: Optional<JsonObject>, right: Optional<JsonObject>): Comparison {
  const below = new Below();
  const put = (name: string, one: unknown, other: unknown): void => {
    const inner = memberSchema(schema, name);
    if (inner) below.put(fieldStep(name), compare(inner, one, other));
  };
  for (const name in left) put(name, left[name], own(right, name));
  for (const name in right) if (own(left, name) === undefined) put(name, undefined, right[name]);
  return below.of(left, right);
}

const own = (values: Optional<JsonObject>, key: string): unknown =>
  values && Object.hasOwn(values, key) ? values[key] : undefined;

function compareLists(
  schema: SharedListSchema,
  left: Optional<readonly unknown[]>,
  right: Optional<readonly unknown[]>,
): Comparison {
  const below = new Below();
  const before = byIdentity(schema, left ?? []);
  const after = byIdentity(schema, right ?? []);
  const put = (entry: unknown, comparison: Comparison): void => {
    if (comparison !== nothing) below.put(stepOfEntry(schema, firstOf(entry)), comparison);
  };
  for (const [identity, one] of before) put(one, compareEntries(schema, one, after.get(identity)));
  for (const [identity, other] of after)
    if (!before.has(identity)) put(other, compareEntries(schema, undefined, other));
  return below.of(left, right);
}

/** Entries that share a key cannot have different owners: the key stands for all of them. */
class Several {
  readonly entries: unknown[];
  constructor(...entries: unknown[]) {
    this.entries = entries;
  }
}

function compareEntries({ items }: SharedListSchema, one: unknown, other: unknown): Comparison {
  if (!(one instanceof Several || other instanceof Several)) return compare(items, one, other);
  return leaf(listOf(one), listOf(other));
}

const firstOf = (entry: unknown): unknown => (entry instanceof Several ? entry.entries[0] : entry);

const listOf = (entry: unknown): readonly unknown[] | undefined =>
  entry === undefined ? undefined : entry instanceof Several ? entry.entries : [entry];

function byIdentity(schema: SharedListSchema, entries: readonly unknown[]): Map<unknown, unknown> {
  const found = new Map<unknown, unknown>();
  for (const entry of entries) {
    const identity = identityOfEntry(schema, entry);
    const known = found.get(identity);
    if (known === undefined) found.set(identity, entry);
    else if (known instanceof Several) known.entries.push(entry);
    else found.set(identity, new Several(known, entry));
  }
  return found;
}
