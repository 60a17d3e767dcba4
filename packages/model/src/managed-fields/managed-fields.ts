import type { SyncTask } from '@cluster-apiserver/base';
import { Problems } from '../problems.ts';
import type { KubeObject, ManagedFieldsEntry } from '../kind/object.ts';
import type { EncodableKind } from '../kind/served-kind.ts';
import { isJsonObject } from '../json/json-object.ts';
import { sameJson } from '../json/same-json.ts';
import type { ObjectSchema } from '../schema/schema.ts';
import { invalid } from '../status.ts';
import type { Comparison } from './compare.ts';
import {
  difference,
  emptySet,
  type FieldSet,
  fieldsDepthMax,
  isEmptySet,
  isTooDeep,
  union,
  unionOf,
} from './field-set.ts';
import {
  compareTexts,
  decodeEntries,
  encodeEntries,
  identityOf,
  dropUnknownVersions,
  type Ownership,
  serverFields,
} from './ownership.ts';
import { changesSeenBy, compareStates, type Versions } from './versions.ts';

/**
 * The owner of each field after a write. Each writer has an entry with the fields that it set last; fields that another
 * writer changes or removes are removed from the entry.
 */
export interface Writer {
  readonly manager: string;
  readonly apiVersion: string;
  readonly subresource?: string | undefined;
  /** The moment of the write, as a canonical time; undefined for an entry without one. */
  readonly time: string | undefined;
}

/** An object keeps this many entries of updates; older ones are put together, so that many writers cannot bloat it. */
const updateEntriesMax = 10;
const ancientManager = 'ancient-changes';

/**
 * The managedFields of an object after an update or a create. `live` is what is stored (for a create: the empty
 * object), `next` what will be, with the managedFields that the client sent, if any.
 */
export function* managedFieldsAfterUpdate<Wait = never>(
  schema: ObjectSchema,
  live: KubeObject,
  next: KubeObject,
  writer: Writer,
  versions?: Versions<Wait>,
): Generator<Wait | undefined, ManagedFieldsEntry[] | undefined> {
  const tracked = yield* readOwnership(schema, live, next, writer);
  // Objects that were never tracked stay so: half a history would be worse than none.
  if (tracked.length === 0 && live.metadata.uid !== undefined) return undefined;
  const owned = dropUnknownVersions(schema, tracked, versions);
  const changes = compareStates(schema, live, next);
  yield;
  if (!changes) return yield* encodeEntries(schema, owned);
  const taken = difference(union(changes.added, changes.modified), serverFields);
  yield;
  const change = { apiVersion: writer.apiVersion, before: live, after: next, changes };
  const seenBy = yield* changesSeenBy(versions, change, owned);
  const lost = new Map<Comparison, FieldSet>();
  const kept: Ownership[] = [];
  for (const ownership of owned) {
    const seen = seenBy(ownership.entry);
    if (seen && !lost.has(seen)) lost.set(seen, unionOf([seen.added, seen.modified, seen.removed]));
    yield;
    kept.push({ ...ownership, fields: difference(ownership.fields, (seen && lost.get(seen)) ?? emptySet) });
    yield;
  }
  if (isEmptySet(taken)) return yield* encodeEntries(schema, kept);
  const mine = kept.find(({ entry }) => isWrittenBy(entry, writer));
  const entry: ManagedFieldsEntry = {
    manager: writer.manager,
    operation: 'Update',
    apiVersion: writer.apiVersion,
    ...(writer.time !== undefined && { time: writer.time }),
    ...(writer.subresource && { subresource: writer.subresource }),
  };
  const others = kept.filter((ownership) => ownership !== mine);
  const all = [...others, { entry, fields: mine ? union(mine.fields, taken) : taken }];
  yield;
  return yield* encodeEntries(schema, mergeOldestEntries(all));
}

/** Whether the entries of an object can be read, so that the next write can go on from them. */
export function* hasValidManagedFields(schema: ObjectSchema, { metadata }: KubeObject): SyncTask<boolean> {
  return (yield* decodeEntries(schema, metadata.managedFields ?? [])) !== undefined;
}

/** Whether two lists of entries are equal except for their times. */
export function sameOwnership(
  left: readonly ManagedFieldsEntry[] = [],
  right: readonly ManagedFieldsEntry[] = [],
): boolean {
  const timeless = (entries: readonly ManagedFieldsEntry[]): object[] =>
    entries.map((entry) => ({ ...entry, time: '' }));
  return left.length === right.length && sameJson(timeless(left), timeless(right));
}

/**
 * The entries to start from: those that the client sent, so that tools may rewrite them; the stored ones when the
 * client sent none or invalid ones, or wrote through a subresource; none if it requests a reset.
 */
function* readOwnership(
  schema: ObjectSchema,
  live: KubeObject,
  next: KubeObject,
  writer: Writer,
): SyncTask<readonly Ownership[]> {
  const sent = next.metadata.managedFields;
  if (sent && !writer.subresource) {
    if (isReset(sent)) return [];
    const decoded = yield* decodeEntries(schema, sent);
    if (decoded) return decoded;
    requireDepth(schema, live, next);
  }
  return (yield* decodeEntries(schema, live.metadata.managedFields ?? [])) ?? [];
}

const isReset = ([first, ...others]: readonly ManagedFieldsEntry[]): boolean =>
  others.length === 0 && Object.keys(first ?? {}).length === 0;

/**
 * An object as it was sent, with its empty managedFields as the one empty entry that means the same: a reset. Canonical
 * objects have no empty lists, and a client that does not know the field sends none. Without Go types, kube-apiserver takes
 * an empty list for no field.
 */
export function withExplicitReset({ isCustom }: Pick<EncodableKind, 'isCustom'>, value: unknown): unknown {
  if (isCustom || !isJsonObject(value)) return value;
  const { metadata } = value;
  if (!isJsonObject(metadata)) return value;
  const { managedFields } = metadata;
  if (!Array.isArray(managedFields) || managedFields.length > 0) return value;
  return { ...value, metadata: { ...metadata, managedFields: [{}] } };
}

/** Refuses fields nested too deeply, but not those that were stored before there was a bound and come back unchanged. */
function requireDepth(schema: ObjectSchema, live: KubeObject, { metadata }: KubeObject): void {
  const stored = new Set(live.metadata.managedFields?.map(({ fieldsV1 }) => fieldsV1));
  const at = metadata.managedFields?.findIndex(({ fieldsV1 }) => !stored.has(fieldsV1) && isTooDeep(fieldsV1)) ?? -1;
  if (at < 0) return;
  const problem = `must not be nested deeper than ${fieldsDepthMax} levels`;
  const form = schema.publication?.groupVersionKind ?? { group: '', kind: '' };
  const place = new Problems().at('metadata', 'managedFields', at, 'fieldsV1');
  throw invalid(form, metadata.name ?? '', place.invalid(metadata.managedFields?.[at]?.fieldsV1, problem));
}

const isWrittenBy = (entry: ManagedFieldsEntry, writer: Writer): boolean =>
  entry.operation === 'Update' &&
  entry.manager === writer.manager &&
  entry.apiVersion === writer.apiVersion &&
  (entry.subresource ?? '') === (writer.subresource ?? '');

/**
 * Merges the oldest updates, each into the entry for old updates of its own version, until there are few enough. One
 * update of a version alone stays as it is.
 */
function mergeOldestEntries(owned: readonly Ownership[]): readonly Ownership[] {
  const updates = owned.filter(({ entry }) => entry.operation === 'Update');
  let excess = updates.length - updateEntriesMax;
  if (excess <= 0) return owned;
  const merged = new Map<string | undefined, Ownership[]>();
  for (const update of updates.sort(byAge)) {
    if (excess <= 0) break;
    const sameVersion = merged.get(update.entry.apiVersion);
    if (!sameVersion) {
      merged.set(update.entry.apiVersion, [update]);
    } else {
      sameVersion.push(update);
      excess--;
    }
  }
  const groups = [...merged.values()].filter((group) => group.length > 1);
  const old = new Set(groups.flat());
  return [...owned.filter((ownership) => !old.has(ownership)), ...groups.map(mergeIntoAncient)];
}

/** The newest of a group of entries, by the name of old updates, with the fields of all. */
const mergeIntoAncient = (group: readonly Ownership[]): Ownership => {
  const { apiVersion = '', time = '' } = group.at(-1)?.entry ?? {};
  return {
    entry: { manager: ancientManager, operation: 'Update', apiVersion, time },
    fields: unionOf(group.map(({ fields }) => fields)),
  };
};

/** Entries for old updates first, so that there is never a second one of a version. Equally old ones by their identity. */
const byAge = ({ entry: left }: Ownership, { entry: right }: Ownership): number =>
  Number(isAncient(right)) - Number(isAncient(left)) ||
  compareTexts(left.time ?? '', right.time ?? '') ||
  compareTexts(identityOf(left), identityOf(right));

const isAncient = ({ manager, subresource }: ManagedFieldsEntry): boolean =>
  manager === ancientManager && subresource === undefined;
