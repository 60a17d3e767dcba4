import type { KubeObject, ManagedFieldsEntry } from '../kind/object.ts';
import { UnkeyedEntryError } from '../schema/list-entries.ts';
import type { ObjectSchema } from '../schema/schema.ts';
import { type Comparison, compare } from './compare.ts';
import { isEmptySet } from './field-set.ts';
import { type Ownership, withoutManagedFields } from './ownership.ts';

/**
 * The versions of a kind that differ in more than the names of fields: what an owner owns is compared in the version of its
 * entry. `Wait` is what a task yields to wait for a conversion.
 */
export interface Versions<Wait = never> {
  has(apiVersion: string): boolean;
  /** Some states of an object in one of the versions; undefined if what is owned there shall stay as it is. */
  convert(objects: readonly KubeObject[], apiVersion: string): Generator<Wait | undefined, Converted | undefined>;
}

export interface Converted {
  readonly schema: ObjectSchema;
  readonly objects: readonly KubeObject[];
}

/** A write as the version of its writer sees it. */
export interface Change {
  readonly apiVersion: string;
  readonly before: KubeObject;
  readonly after: KubeObject;
  readonly changes: Comparison;
}

/** What a write changes as an owner sees it. */
export type ChangesSeenBy = (entry: ManagedFieldsEntry) => Comparison | undefined;

export function* changesSeenBy<Wait>(
  versions: Versions<Wait> | undefined,
  { apiVersion: own, before, after, changes }: Change,
  owned: readonly Ownership[],
): Generator<Wait | undefined, ChangesSeenBy> {
  if (!versions || isNothing(changes)) return () => changes;
  const byVersion = new Map<string, Comparison | undefined>([[own, changes]]);
  for (const { entry } of owned) {
    const { apiVersion = '' } = entry;
    if (byVersion.has(apiVersion)) continue;
    const converted = yield* versions.convert([before, after], apiVersion);
    byVersion.set(apiVersion, converted && compareConverted(converted));
    yield;
  }
  return ({ apiVersion = '' }) => byVersion.get(apiVersion);
}

const isNothing = ({ added, modified, removed }: Comparison): boolean =>
  isEmptySet(added) && isEmptySet(modified) && isEmptySet(removed);

const compareConverted = ({ schema, objects: [before, after] }: Converted): Comparison | undefined =>
  before && after && compareStates(schema, before, after);

/** Undefined if a list has entries without a key: the write succeeds, and ownership stays as it is. */
export function compareStates(schema: ObjectSchema, before: KubeObject, after: KubeObject): Comparison | undefined {
  try {
    return compare(schema, withoutManagedFields(before), withoutManagedFields(after));
  } catch (error) {
    if (error instanceof UnkeyedEntryError) return undefined;
    throw error;
  }
}
