import type { SyncTask } from '@cluster-apiserver/base';
import { fieldErrorsMax } from '../problems.ts';
import type { KubeObject } from '../kind/object.ts';
import type { ObjectSchema } from '../schema/schema.ts';
import type { Applied } from './applied.ts';
import { type Comparison, compare } from './compare.ts';
import {
  countPlaces,
  difference,
  emptySet,
  type FieldSet,
  leavesOf,
  intersection,
  isEmptySet,
  placesOf,
  union,
  unionOf,
} from './field-set.ts';
import { managedFieldsAfterUpdate } from './managed-fields.ts';
import { mergeApplied } from './merge-applied.ts';
import {
  compareTexts,
  decodeEntries,
  encodeEntries,
  dropUnknownVersions,
  renameToVersion,
  type Ownership,
  serverFields,
  withoutManagedFields,
} from './ownership.ts';
import { prune } from './prune.ts';
import { pruneInVersions } from './prune-versions.ts';
import { changesSeenBy, type ChangesSeenBy, type Versions } from './versions.ts';

/**
 * Server-side apply. The configuration of a manager lists all fields that it wants to own, and they get its values. Fields
 * that it no longer lists are removed unless another manager owns them. Changing a field of another manager requires
 * `force`.
 */
export interface Applier {
  readonly manager: string;
  readonly apiVersion: string;
  readonly subresource?: string | undefined;
  /** The moment of the write, as a canonical time. */
  readonly time: string;
  /** Takes fields of other managers over instead of refusing. */
  readonly force: boolean;
}

/** The configuration would change fields of other managers. */
export class ApplyConflictError extends Error {
  override readonly name = 'ApplyConflictError';
  readonly conflicts: readonly Conflict[];
  constructor(conflicts: readonly Conflict[]) {
    super('other managers own fields that would be changed');
    this.conflicts = conflicts;
  }
}

export interface Conflict {
  /** The other manager, as people read it. */
  readonly manager: string;
  /** By their stored names. */
  readonly fields: FieldSet;
  /** The fields by the names that the other manager knows. */
  readonly shown: (fields: FieldSet) => FieldSet;
}

/** The owner of fields from before ownership was tracked. */
const beforeFirstApply = 'before-first-apply';

/**
 * The object after a manager has applied a configuration. `live` is what is stored, or `empty`, an object of the kind
 * with nothing in it. The fields are canonical but not in order.
 */
export function* apply<Wait = never>(
  schema: ObjectSchema,
  live: KubeObject,
  empty: KubeObject,
  { fields, values }: Applied,
  applier: Applier,
  versions?: Versions<Wait>,
): Generator<Wait | undefined, KubeObject> {
  const { manager, apiVersion, time, subresource } = applier;
  const before = withoutManagedFields(live);
  const owned = yield* findOwnedBefore(schema, live, empty, applier, versions);
  const isMine = ({ entry }: Ownership): boolean =>
    entry.operation === 'Apply' &&
    entry.manager === applier.manager &&
    (entry.subresource ?? '') === (applier.subresource ?? '');
  const [mine, others] = [owned.filter(isMine), owned.filter((ownership) => !isMine(ownership))];

  const merged = mergeApplied(schema, before, values, fields);
  yield;
  const entry = { manager, operation: 'Apply', apiVersion, time, ...(subresource && { subresource }) };
  const [last] = mine;
  const next =
    versions && last
      ? yield* pruneInVersions(versions, merged, last, { entry, fields }, others)
      : yield* pruneUnowned(schema, merged, mine, fields, others);

  const changes = compare(schema, before, next);
  yield;
  const seenBy = yield* changesSeenBy(versions, { apiVersion, before, after: next, changes }, others);
  const conflicts = yield* conflictsWith(others, seenBy, changes, fields);
  if (conflicts.size > 0 && !applier.force) throw new ApplyConflictError(nameConflicts(schema, conflicts));
  const kept: Ownership[] = [];
  for (const other of others) {
    const unforced = difference(other.fields, conflicts.get(other) ?? emptySet);
    kept.push({ ...other, fields: difference(unforced, seenBy(other.entry)?.removed ?? emptySet) });
    yield;
  }
  const managedFields = yield* encodeEntries(schema, [...kept, { entry, fields: difference(fields, serverFields) }]);
  return { ...next, metadata: { ...next.metadata, ...(managedFields && { managedFields }) } };
}

function* findOwnedBefore(
  schema: ObjectSchema,
  live: KubeObject,
  empty: KubeObject,
  applier: Applier,
  versions: Versions<unknown> | undefined,
): SyncTask<readonly Ownership[]> {
  const owned = (yield* decodeEntries(schema, live.metadata.managedFields ?? [])) ?? [];
  if (owned.length > 0 || live.metadata.uid === undefined) return dropUnknownVersions(schema, owned, versions);
  const { apiVersion, time } = applier;
  const writer = { manager: beforeFirstApply, apiVersion, time };
  const before = yield* managedFieldsAfterUpdate(schema, empty, withoutManagedFields(live), writer);
  return (yield* decodeEntries(schema, before ?? [])) ?? [];
}

function* pruneUnowned(
  schema: ObjectSchema,
  merged: KubeObject,
  mine: readonly Ownership[],
  fields: FieldSet,
  others: readonly Ownership[],
): SyncTask<KubeObject> {
  const dropped = difference(unionOfFields(mine), fields);
  yield;
  if (isEmptySet(dropped)) return merged;
  const kept = union(fields, unionOfFields(others));
  yield;
  const pruned = prune(schema, merged, difference(dropped, kept), kept);
  yield;
  return pruned;
}

const unionOfFields = (owned: readonly Ownership[]): FieldSet => unionOf(owned.map(({ fields }) => fields));

function* conflictsWith(
  others: readonly Ownership[],
  seenBy: ChangesSeenBy,
  own: Comparison,
  mentioned: FieldSet,
): SyncTask<Map<Ownership, FieldSet>> {
  const changed = new Map<Comparison, FieldSet>();
  const conflicts = new Map<Ownership, FieldSet>();
  for (const other of others) {
    const seen = seenBy(other.entry);
    if (!seen) continue;
    // What is mentioned has the names of its own version.
    if (!changed.has(seen)) changed.set(seen, conflictingChanges(seen, seen === own ? mentioned : emptySet));
    yield;
    const both = intersection(other.fields, changed.get(seen) ?? emptySet);
    if (!isEmptySet(both)) conflicts.set(other, both);
    yield;
  }
  return conflicts;
}

/**
 * A field that is mentioned without a value is removed, which is a change. Adding or removing a whole map or list is no
 * conflict by itself: others only own fields inside of it.
 */
const conflictingChanges = ({ added, modified, removed }: Comparison, mentioned: FieldSet): FieldSet =>
  union(union(leavesOf(added), modified), intersection(leavesOf(removed), mentioned));

const nameConflicts = (schema: ObjectSchema, conflicts: ReadonlyMap<Ownership, FieldSet>): Conflict[] =>
  [...conflicts]
    .map(([{ entry }, fields]) => {
      const through = entry.subresource ? ` with subresource ${JSON.stringify(entry.subresource)}` : '';
      const using = entry.operation === 'Update' ? ` using ${entry.apiVersion}` : '';
      const shown = (some: FieldSet): FieldSet => renameToVersion(schema, entry, some);
      return { manager: `${JSON.stringify(entry.manager ?? '')}${through}${using}`, fields, shown };
    })
    .sort((left, right) => compareTexts(left.manager, right.manager));

const reason = 'FieldManagerConflict';

/** Each field of each conflict, up to a bound, and a sentence about all of them. */
export function conflictCauses(conflicts: readonly Conflict[]): {
  readonly message: string;
  readonly causes: readonly { readonly reason: string; readonly message: string; readonly field: string }[];
} {
  const count = conflicts.reduce((sum, { fields }) => sum + countPlaces(fields), 0);
  const listed: { readonly manager: string; readonly field: string }[] = [];
  for (const { manager, fields, shown } of conflicts)
    for (const field of placesOf(shown(fields), fieldErrorsMax - listed.length)) listed.push({ manager, field });
  const [only, second] = listed;
  const causes = listed.map(({ manager, field }) => ({ reason, message: `conflict with ${manager}`, field }));
  if (only && !second)
    return { message: `Apply failed with 1 conflict: conflict with ${only.manager}: ${only.field}`, causes };
  const lines = listed.flatMap(({ manager, field }, index) => [
    ...(manager === listed[index - 1]?.manager ? [] : [`conflicts with ${manager}:`]),
    `- ${field}`,
  ]);
  const omitted = count - listed.length;
  if (omitted > 0) {
    lines.push(`and ${omitted} more`);
    causes.push({ reason, message: `and ${omitted} more conflicts`, field: '' });
  }
  return { message: `Apply failed with ${count} conflicts: ${lines.join('\n')}`, causes };
}
