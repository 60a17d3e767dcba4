import type { SyncTask } from '@cluster-apiserver/base';
import type { KubeObject, ManagedFieldsEntry } from '../kind/object.ts';
import type { ObjectSchema } from '../schema/schema.ts';
import {
  emptySet,
  type FieldSet,
  fieldStep,
  fromFieldsV1,
  GrowingFieldSet,
  isEmptySet,
  toFieldsV1,
} from './field-set.ts';

/** An entry of managedFields with its fields as a set. */
export interface Ownership {
  readonly entry: ManagedFieldsEntry;
  readonly fields: FieldSet;
}

/** Fields that the server sets have no owner. */
export const serverFields: FieldSet = (() => {
  const fields = new GrowingFieldSet();
  for (const name of ['apiVersion', 'kind', 'metadata']) fields.add([fieldStep(name)]);
  for (const name of [
    'name',
    'namespace',
    'creationTimestamp',
    'selfLink',
    'uid',
    'generation',
    'managedFields',
    'resourceVersion',
  ]) {
    fields.add([fieldStep('metadata'), fieldStep(name)]);
  }
  return fields;
})();

export function withoutManagedFields(object: KubeObject): KubeObject {
  if (object.metadata.managedFields === undefined) return object;
  const { managedFields: _, ...metadata } = object.metadata;
  return { ...object, metadata };
}

/**
 * By the stored names of fields. Of several entries of one writer the last counts, as in kube-apiserver. Undefined if any
 * entry is invalid: the others alone would be misleading.
 */
export function* decodeEntries(
  { versions }: ObjectSchema,
  entries: readonly ManagedFieldsEntry[],
): SyncTask<Ownership[] | undefined> {
  const decoded = new Map<string, Ownership>();
  for (const entry of entries) {
    if (entry.operation !== 'Apply' && entry.operation !== 'Update') return undefined;
    if (entry.fieldsType !== 'FieldsV1' || entry.apiVersion === undefined) return undefined;
    const fields = entry.fieldsV1 === undefined ? emptySet : fromFieldsV1(entry.fieldsV1);
    if (!fields) return undefined;
    decoded.set(identityOf(entry), { entry, fields: renameFields(fields, versions?.get(entry.apiVersion)?.toStored) });
    yield;
  }
  return [...decoded.values()];
}

/** As kube-apiserver identifies a writer: an applier is the same in every version. */
export const identityOf = ({ manager, operation, apiVersion, subresource }: ManagedFieldsEntry): string =>
  JSON.stringify({
    ...{ manager, operation },
    ...(operation !== 'Apply' && { apiVersion }),
    ...(subresource && { subresource }),
  });

/** Drops entries of versions that the kind does not have: their field names have no meaning. */
export const dropUnknownVersions = (
  schema: ObjectSchema,
  owned: readonly Ownership[],
  versions: { has(apiVersion: string): boolean } | undefined = schema.versions,
): readonly Ownership[] => (versions ? owned.filter(({ entry }) => versions.has(entry.apiVersion ?? '')) : owned);

/** Fields by the names that they have in the version of an entry. */
export const renameToVersion = (
  { versions }: ObjectSchema,
  { apiVersion }: ManagedFieldsEntry,
  fields: FieldSet,
): FieldSet => renameFields(fields, versions?.get(apiVersion ?? '')?.fromStored);

function renameFields(fields: FieldSet, names: ReadonlyMap<string, string> | undefined): FieldSet {
  if (!names || names.size === 0) return fields;
  const below = [...fields.below].map(([step, set]): [string, FieldSet] => {
    const name = step.startsWith(fieldStep('')) ? names.get(step.slice(fieldStep('').length)) : undefined;
    return [name === undefined ? step : fieldStep(name), set];
  });
  return { member: fields.member, below: new Map(below) };
}

/** The entries in their order, without those that own nothing. Undefined when none is left. */
export function* encodeEntries(
  schema: ObjectSchema,
  owned: readonly Ownership[],
): SyncTask<ManagedFieldsEntry[] | undefined> {
  const entries: ManagedFieldsEntry[] = [];
  for (const { entry, fields } of owned) {
    if (isEmptySet(fields)) continue;
    entries.push({
      manager: entry.manager ?? '',
      operation: entry.operation ?? '',
      apiVersion: entry.apiVersion ?? '',
      ...(entry.time && { time: entry.time }),
      fieldsType: 'FieldsV1',
      fieldsV1: toFieldsV1(renameToVersion(schema, entry, fields)),
      ...(entry.subresource && { subresource: entry.subresource }),
    });
    yield;
  }
  return entries.length > 0 ? entries.sort(inOrder) : undefined;
}

/** Applied ones first, then by time and name. */
const inOrder = (left: ManagedFieldsEntry, right: ManagedFieldsEntry): number =>
  compareTexts(left.operation ?? '', right.operation ?? '') ||
  compareTexts(left.time ?? '', right.time ?? '') ||
  compareTexts(left.manager ?? '', right.manager ?? '') ||
  compareTexts(left.apiVersion ?? '', right.apiVersion ?? '') ||
  compareTexts(left.subresource ?? '', right.subresource ?? '');

export const compareTexts = (left: string, right: string): number => (left < right ? -1 : left > right ? 1 : 0);
