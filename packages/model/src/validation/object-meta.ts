import { requireValue } from '@cluster-apiserver/base';
import { formatValue, type Problems } from '../problems.ts';
import type { KubeObject, ManagedFieldsEntry, ObjectMeta, OwnerReference } from '../kind/object.ts';
import { type Integer, numberOf } from '../json/raw-number.ts';
import { dnsLabel, labelValueRule, type NameRules, pathSegmentNames, qualifiedName } from './names.ts';

/** All annotations of an object together, keys and values. */
export const annotationBytesMax = 256 * 1024;
/** Each label is an entry of an index in the memory of every replica; none of them may take long to follow a write. */
const labelsMax = 1000;
/** All finalizers, or all owners, of an object together: as much as annotations may take. */
const referenceBytesMax = 256 * 1024;

export const orphanFinalizer = 'orphan';
export const foregroundFinalizer = 'foregroundDeletion';
export const standardFinalizers: ReadonlySet<string> = new Set(['kubernetes', orphanFinalizer, foregroundFinalizer]);

export interface ObjectMetaRules {
  readonly namespaced: boolean;
  readonly names: NameRules;
  /** Whether every finalizer that is not a standard one needs a domain. */
  readonly qualifiedFinalizers: boolean;
}

/** Which metadata of an update the rules of a kind check, besides those of all objects: the object, the change, or neither. */
export type MetadataChecks = 'both' | 'object' | 'change' | 'none';

/**
 * Validates the metadata of any object. What is stored beyond a bound may stay in an update as long as it does not grow:
 * otherwise no client could remove finalizers and owners of an object that another server stored.
 */
export function validateObjectMeta(
  meta: ObjectMeta,
  rules: ObjectMetaRules,
  problems: Problems,
  stored: ObjectMeta = {},
): void {
  const at = problems.at('metadata');
  validateNames(meta, rules, at);
  if (meta.generation !== undefined && numberOf(meta.generation) < 0)
    at.at('generation').invalid(meta.generation, 'must be greater than or equal to 0');
  validateParts(meta, stored, problems);
  if (meta.finalizers) validateMetaFinalizers(meta.finalizers, rules, stored, at.at('finalizers'));
}

function validateParts(meta: ObjectMeta, stored: ObjectMeta, problems: Problems): void {
  const at = problems.at('metadata');
  validateLabels(meta, stored, problems);
  if (meta.annotations) validateAnnotations(meta.annotations, at.at('annotations'));
  if (meta.ownerReferences) validateOwners(meta.ownerReferences, stored, at.at('ownerReferences'));
  if (meta.managedFields) at.at('managedFields').each(meta.managedFields, validateManagedFieldsEntry);
}

/**
 * Validates the metadata of an update. Absent system fields must be filled in before. kube-apiserver checks the object and
 * the change by the rules of all objects, and then again by those of the kind. It lists an error as often as it finds it.
 */
export function validateUpdatedMeta(
  next: KubeObject,
  current: KubeObject,
  kind: ObjectMetaRules & { readonly metadataChecks: MetadataChecks },
  problems: Problems,
): void {
  const { namespaced, names, metadataChecks } = kind;
  const ofAll = { namespaced, names: pathSegmentNames, qualifiedFinalizers: false };
  const checksObject = metadataChecks === 'both' || metadataChecks === 'object';
  const checksChange = metadataChecks === 'both' || metadataChecks === 'change';
  const qualifiedFinalizers = kind.qualifiedFinalizers && (checksObject || checksChange);
  const checkObject = (rules: ObjectMetaRules, found: Problems): void =>
    validateObjectMeta(next.metadata, rules, found, current.metadata);
  const checkChange = (rules: ObjectMetaRules, found: Problems): void => {
    validateChange(next, current, found);
    validateParts(next.metadata, current.metadata, found);
    if (rules.qualifiedFinalizers) requireKnownFinalizers(next.metadata, found);
  };
  // Nearly all updates are right: then everything is checked once.
  const first = problems.aside();
  checkObject({ namespaced, names: checksObject ? names : pathSegmentNames, qualifiedFinalizers }, first);
  validateChange(next, current, first);
  if (first.count === 0) return;
  checkObject(ofAll, problems);
  checkChange(ofAll, problems);
  if (checksObject) checkObject(kind, problems);
  if (checksChange) checkChange(kind, problems);
}

const requireKnownFinalizers = ({ finalizers = [] }: ObjectMeta, problems: Problems): void =>
  problems.at('metadata', 'finalizers').each(finalizers, requireKnownFinalizer);

function validateChange({ metadata: next }: KubeObject, { metadata: current }: KubeObject, problems: Problems): void {
  if (current.deletionTimestamp !== undefined) {
    const before = new Set(current.finalizers);
    const added = (next.finalizers ?? []).filter((finalizer) => !before.has(finalizer));
    if (added.length > 0)
      problems
        .at('metadata', 'finalizers')
        .forbidden(
          `no new finalizers can be added if the object is being deleted, found new finalizers ${formatValue(added)}`,
        );
  }
  for (const name of [
    'name',
    'namespace',
    'uid',
    'creationTimestamp',
    'deletionTimestamp',
    'deletionGracePeriodSeconds',
  ] as const) {
    if (textOf(next[name]) !== textOf(current[name]))
      problems.at('metadata', name).invalid(next[name], 'field is immutable');
  }
}

/** An integer beyond 2^53 is compared by its digits. */
const textOf = (value: string | Integer | undefined): string | undefined =>
  typeof value === 'object' ? value.rawJSON : value?.toString();

function validateNames(
  { name, generateName, namespace }: ObjectMeta,
  rules: ObjectMetaRules,
  problems: Problems,
): void {
  if (generateName) problems.at('generateName').check(rules.names.prefix, generateName);
  if (name) problems.at('name').check(rules.names.whole, name);
  else problems.at('name').required('name or generateName is required');
  const at = problems.at('namespace');
  if (!rules.namespaced) {
    if (namespace) at.forbidden('not allowed on this type');
  } else if (namespace) at.check(dnsLabel, namespace);
  else at.required();
}

/** Validates the number of labels, before any work for each of them. Returns whether there are too many. */
export function validateLabelCount(meta: ObjectMeta, stored: ObjectMeta, problems: Problems): boolean {
  const count = countLabels(meta);
  const isBeyond = count > labelsMax && count > countLabels(stored);
  if (isBeyond) problems.at('metadata', 'labels').tooMany(count, labelsMax);
  return isBeyond;
}

const countLabels = ({ labels }: ObjectMeta): number => (labels === undefined ? 0 : Object.keys(labels).length);

export function validateLabels(meta: ObjectMeta, stored: ObjectMeta, problems: Problems): void {
  if (!meta.labels || validateLabelCount(meta, stored, problems)) return;
  const at = problems.at('metadata', 'labels');
  for (const [key, value] of Object.entries(meta.labels)) at.check(qualifiedName, key).check(labelValueRule, value);
}

export function validateAnnotations(annotations: Readonly<Record<string, string>>, problems: Problems): void {
  let bytes = 0;
  for (const [key, value] of Object.entries(annotations)) {
    bytes += Buffer.byteLength(key) + Buffer.byteLength(value);
    // Names beyond the bound are refused with all the others.
    if (bytes <= annotationBytesMax)
      for (const detail of qualifiedName(key.toLowerCase())) problems.invalid(key, detail);
  }
  if (bytes > annotationBytesMax) problems.tooLong(annotationBytesMax);
}

function validateOwners(owners: readonly OwnerReference[], stored: ObjectMeta, problems: Problems): void {
  if (isBeyondBound(textsOfOwners(owners), () => textsOfOwners(stored.ownerReferences)))
    return void problems.tooLong(referenceBytesMax);
  for (const owner of owners) validateOwner(owner, problems);
  const [first, ...others] = owners.filter((owner) => owner.controller);
  for (const other of others)
    problems.invalid(
      owners,
      `Only one reference can have Controller set to true. Found "true" in references for ${first?.kind}/${first?.name} and ${other.kind}/${other.name}`,
    );
}

const textsOfOwners = (owners: readonly OwnerReference[] = []): readonly string[] =>
  owners.flatMap(({ apiVersion = '', kind = '', name = '', uid }) => [apiVersion, kind, name, uid]);

function validateOwner(owner: OwnerReference, problems: Problems): void {
  const { apiVersion = '' } = owner;
  // A group, at most one slash, and the version.
  if (!/^(?:[^/]*\/)?([^/]+)$/.test(apiVersion))
    problems.at('apiVersion').invalid(apiVersion, 'version must not be empty');
  for (const name of ['kind', 'name', 'uid'] as const)
    if (!owner[name]) problems.at(name).invalid(owner[name] ?? '', 'must not be empty');
  // Events expire: their dependents would be deleted with them.
  if (apiVersion === 'v1' && owner.kind === 'Event')
    problems.invalid(owner, '/v1, Kind=Event is disallowed from being an owner');
}

function validateMetaFinalizers(
  finalizers: readonly string[],
  rules: ObjectMetaRules,
  stored: ObjectMeta,
  problems: Problems,
): void {
  if (isBeyondBound(finalizers, () => stored.finalizers)) return void problems.tooLong(referenceBytesMax);
  for (const finalizer of finalizers) problems.check(qualifiedName, finalizer);
  if (finalizers.includes(orphanFinalizer) && finalizers.includes(foregroundFinalizer))
    problems.invalid(finalizers, 'finalizer orphan and foregroundDeletion cannot be both set');
  if (rules.qualifiedFinalizers) problems.each(finalizers, requireKnownFinalizer);
}

/** Validates finalizers outside of the metadata. `placeOf` is the place of each. */
export function validateFinalizers(
  finalizers: readonly string[],
  stored: readonly string[] | undefined,
  problems: Problems,
  placeOf: (index: number) => Problems,
): void {
  if (isBeyondBound(finalizers, () => stored)) return void problems.tooLong(referenceBytesMax);
  for (const [index, finalizer] of finalizers.entries())
    requireKnownFinalizer(finalizer, placeOf(index).check(qualifiedName, finalizer));
}

function requireKnownFinalizer(finalizer: string, problems: Problems): void {
  if (!finalizer.includes('/') && !standardFinalizers.has(finalizer))
    problems.invalid(finalizer, 'name is neither a standard finalizer name nor is it fully qualified');
}

/** The overhead of an entry besides its text. */
const entryBytes = 8;

function isBeyondBound(texts: readonly string[], readStored: () => readonly string[] | undefined): boolean {
  const bytes = bytesOf(texts);
  return bytes > referenceBytesMax && bytes > bytesOf(readStored() ?? []);
}

const bytesOf = (texts: readonly string[]): number =>
  texts.reduce((sum, text) => sum + Buffer.byteLength(text) + entryBytes, 0);

function validateManagedFieldsEntry(
  { operation, fieldsType, manager, subresource }: ManagedFieldsEntry,
  problems: Problems,
): void {
  if (operation !== 'Apply' && operation !== 'Update')
    problems.at('operation').invalid(operation ?? '', 'must be `Apply` or `Update`');
  if (fieldsType !== undefined && fieldsType !== 'FieldsV1')
    problems.at('fieldsType').invalid(fieldsType, 'must be `FieldsV1`');
  validateManager(manager ?? '', managerCharactersMax, problems.at('manager'));
  if (Buffer.byteLength(subresource ?? '') > subresourceBytesMax)
    problems.at('subresource').tooLong(subresourceBytesMax);
}

/** As in kube-apiserver, but in characters, like the query parameter, as the specification says. */
const managerCharactersMax = 128;
/** As in kube-apiserver; no subresource has a longer name. */
const subresourceBytesMax = 256;

/** Validates the name of a field manager. */
export function validateManager(manager: string, charactersMax: number, problems: Problems): void {
  // No text has more characters than it has code units, so most need no count.
  if (manager.length > charactersMax && Array.from(manager).length > charactersMax)
    return void problems.tooManyCharacters(charactersMax);
  if (printableAscii.test(manager)) return;
  let position = 0;
  for (const character of manager) {
    if (!isPrintable(character)) {
      const code = requireValue(character.codePointAt(0)).toString(16).toUpperCase().padStart(4, '0');
      return void problems.invalid(manager, `invalid character U+${code} (at position ${position})`);
    }
    position += Buffer.byteLength(character);
  }
}

const printableAscii = /^[ -~]*$/;

/** Letters, marks, numbers, punctuation, symbols and the plain space. */
export const isPrintable = (character: string): boolean =>
  character === ' ' || /[\p{L}\p{M}\p{N}\p{P}\p{S}]/u.test(character);
