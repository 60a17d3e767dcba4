import { requireValue } from '@cluster-apiserver/base';
import type { FieldError } from '../field-error.ts';
import {
  FieldErrors,
  forbidden,
  invalidValue,
  required,
  formatValue,
  tooLong,
  tooMany,
  tooManyCharacters,
} from '../field-error.ts';
import type { KubeObject, ManagedFieldsEntry, ObjectMeta, OwnerReference } from '../kind/object.ts';
import { type Integer, numberOf } from '../json/raw-number.ts';
import { dnsLabel, labelValueRule, type NameRules, qualifiedName } from './names.ts';

/** All annotations of an object together, keys and values. */
const annotationBytesMax = 256 * 1024;
/** Each label is an entry of an index in the memory of every replica; none of them may take long to follow a write. */
const labelsMax = 1000;
/** All finalizers, or all owners, of an object together: as much as annotations may take. */
const referenceBytesMax = 256 * 1024;

export const orphanFinalizer = 'orphan';
export const foregroundFinalizer = 'foregroundDeletion';
const standardFinalizers = new Set(['kubernetes', orphanFinalizer, foregroundFinalizer]);

export interface ObjectMetaRules {
  readonly namespaced: boolean;
  readonly names: NameRules;
  /** Whether every finalizer that is not a standard one needs a domain. */
  readonly qualifiedFinalizers: boolean;
}

/**
 * Validates the metadata of any object. What is stored beyond a bound may stay in an update as long as it does not grow:
 * otherwise no client could remove finalizers and owners of an object that another server stored.
 */
export function validateObjectMeta(meta: ObjectMeta, rules: ObjectMetaRules, stored: ObjectMeta = {}): FieldError[] {
  return [
    ...nameErrors(meta, rules.names),
    ...namespaceErrors(meta, rules),
    ...generationErrors(meta),
    ...labelErrors(meta, stored),
    ...annotationErrors(meta),
    ...ownerErrors(meta, stored),
    ...finalizerErrors(meta, rules, stored),
    ...managedFieldsErrors(meta),
  ];
}

/** Validates a change of metadata. Absent system fields must be filled in before. */
export function validateObjectMetaUpdate(
  { metadata: next }: KubeObject,
  { metadata: current }: KubeObject,
): FieldError[] {
  const errors: FieldError[] = [];
  if (current.deletionTimestamp !== undefined) {
    const before = new Set(current.finalizers);
    const added = (next.finalizers ?? []).filter((finalizer) => !before.has(finalizer));
    if (added.length > 0)
      errors.push(
        forbidden(
          'metadata.finalizers',
          `no new finalizers can be added if the object is being deleted, found new finalizers ${formatValue(added)}`,
        ),
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
      errors.push(invalidValue(`metadata.${name}`, next[name], 'field is immutable'));
  }
  return errors;
}

/** An integer beyond 2^53 is compared by its digits. */
const textOf = (value: string | Integer | undefined): string | undefined =>
  typeof value === 'object' ? value.rawJSON : value?.toString();

function nameErrors({ name, generateName }: ObjectMeta, names: NameRules): FieldError[] {
  return [
    ...(generateName
      ? names.prefix(generateName).map((message) => invalidValue('metadata.generateName', generateName, message))
      : []),
    ...(name
      ? names.whole(name).map((message) => invalidValue('metadata.name', name, message))
      : [required('metadata.name', 'name or generateName is required')]),
  ];
}

function namespaceErrors({ namespace }: ObjectMeta, { namespaced }: ObjectMetaRules): FieldError[] {
  if (!namespaced) return namespace ? [forbidden('metadata.namespace', 'not allowed on this type')] : [];
  if (!namespace) return [required('metadata.namespace')];
  return dnsLabel(namespace).map((message) => invalidValue('metadata.namespace', namespace, message));
}

const generationErrors = ({ generation }: ObjectMeta): FieldError[] =>
  generation !== undefined && numberOf(generation) < 0
    ? [invalidValue('metadata.generation', generation, 'must be greater than or equal to 0')]
    : [];

/** Errors about the number of labels, to be checked before any work for each of them. */
export function labelCountErrors(meta: ObjectMeta, stored: ObjectMeta): FieldError[] {
  const count = countLabels(meta);
  return count > labelsMax && count > countLabels(stored) ? [tooMany('metadata.labels', count, labelsMax)] : [];
}

const countLabels = ({ labels }: ObjectMeta): number => (labels === undefined ? 0 : Object.keys(labels).length);

function labelErrors(meta: ObjectMeta, stored: ObjectMeta): FieldError[] {
  const tooManyLabels = labelCountErrors(meta, stored);
  if (tooManyLabels.length > 0) return tooManyLabels;
  const entries = Object.entries(meta.labels ?? {});
  const errors = new FieldErrors();
  for (const [key, value] of entries) {
    errors.addAll(qualifiedName(key), (problem) => invalidValue('metadata.labels', key, problem));
    errors.addAll(labelValueRule(value), (problem) => invalidValue('metadata.labels', value, problem));
  }
  return errors.all;
}

function annotationErrors({ annotations = {} }: ObjectMeta): FieldError[] {
  const errors = new FieldErrors();
  let bytes = 0;
  for (const [key, value] of Object.entries(annotations)) {
    bytes += Buffer.byteLength(key) + Buffer.byteLength(value);
    // Names beyond the bound are refused with all the others.
    if (bytes <= annotationBytesMax)
      errors.addAll(qualifiedName(key.toLowerCase()), (problem) => invalidValue('metadata.annotations', key, problem));
  }
  if (bytes > annotationBytesMax) return [...errors.all, tooLong('metadata.annotations', annotationBytesMax)];
  return errors.all;
}

function ownerErrors({ ownerReferences = [] }: ObjectMeta, stored: ObjectMeta): FieldError[] {
  if (isBeyondBound(textsOfOwners(ownerReferences), () => textsOfOwners(stored.ownerReferences)))
    return [tooLong('metadata.ownerReferences', referenceBytesMax)];
  const errors = new FieldErrors();
  for (const owner of ownerReferences) for (const error of ownerReferenceErrors(owner)) errors.add(() => error);
  const [first, ...others] = ownerReferences.filter((owner) => owner.controller);
  for (const other of others)
    errors.add(() =>
      invalidValue(
        'metadata.ownerReferences',
        ownerReferences,
        `Only one reference can have Controller set to true. Found "true" in references for ${first?.kind}/${first?.name} and ${other.kind}/${other.name}`,
      ),
    );
  return errors.all;
}

const textsOfOwners = (owners: readonly OwnerReference[] = []): readonly string[] =>
  owners.flatMap(({ apiVersion = '', kind = '', name = '', uid }) => [apiVersion, kind, name, uid]);

function ownerReferenceErrors(owner: OwnerReference): FieldError[] {
  const mustNotBeEmpty = (name: 'kind' | 'name' | 'uid'): FieldError[] =>
    owner[name] ? [] : [invalidValue(`metadata.ownerReferences.${name}`, owner[name] ?? '', 'must not be empty')];
  // A group, at most one slash, and the version.
  const version = /^(?:[^/]*\/)?([^/]+)$/.exec(owner.apiVersion ?? '')?.[1];
  return [
    ...(version
      ? []
      : [invalidValue('metadata.ownerReferences.apiVersion', owner.apiVersion ?? '', 'version must not be empty')]),
    ...mustNotBeEmpty('kind'),
    ...mustNotBeEmpty('name'),
    ...mustNotBeEmpty('uid'),
    // Events expire: their dependents would be deleted with them.
    ...(owner.apiVersion === 'v1' && owner.kind === 'Event'
      ? [invalidValue('metadata.ownerReferences', owner, '/v1, Kind=Event is disallowed from being an owner')]
      : []),
  ];
}

function finalizerErrors({ finalizers = [] }: ObjectMeta, rules: ObjectMetaRules, stored: ObjectMeta): FieldError[] {
  if (isBeyondBound(finalizers, () => stored.finalizers)) return [tooLong('metadata.finalizers', referenceBytesMax)];
  const errors = new FieldErrors();
  for (const finalizer of finalizers)
    errors.addAll(qualifiedName(finalizer), (problem) => invalidValue('metadata.finalizers', finalizer, problem));
  if (finalizers.includes(orphanFinalizer) && finalizers.includes(foregroundFinalizer))
    errors.add(() =>
      invalidValue('metadata.finalizers', finalizers, 'finalizer orphan and foregroundDeletion cannot be both set'),
    );
  if (rules.qualifiedFinalizers)
    finalizers.forEach((finalizer, index) => {
      if (!isKnownFinalizer(finalizer)) errors.add(() => unknownFinalizer(`metadata.finalizers[${index}]`, finalizer));
    });
  return errors.all;
}

/** Errors about finalizers outside of the metadata. `nameOf` names the field of each in an error. */
export function finalizersErrors(
  field: string,
  finalizers: readonly string[],
  stored: readonly string[] | undefined,
  nameOf: (index: number) => string,
): FieldError[] {
  if (isBeyondBound(finalizers, () => stored)) return [tooLong(field, referenceBytesMax)];
  const errors = new FieldErrors();
  finalizers.forEach((finalizer, index) => {
    errors.addAll(qualifiedName(finalizer), (problem) => invalidValue(nameOf(index), finalizer, problem));
    if (!isKnownFinalizer(finalizer)) errors.add(() => unknownFinalizer(nameOf(index), finalizer));
  });
  return errors.all;
}

const isKnownFinalizer = (finalizer: string): boolean => finalizer.includes('/') || standardFinalizers.has(finalizer);

const unknownFinalizer = (field: string, finalizer: string): FieldError =>
  invalidValue(field, finalizer, 'name is neither a standard finalizer name nor is it fully qualified');

/** The overhead of an entry besides its text. */
const entryBytes = 8;

function isBeyondBound(texts: readonly string[], readStored: () => readonly string[] | undefined): boolean {
  const bytes = bytesOf(texts);
  return bytes > referenceBytesMax && bytes > bytesOf(readStored() ?? []);
}

const bytesOf = (texts: readonly string[]): number =>
  texts.reduce((sum, text) => sum + Buffer.byteLength(text) + entryBytes, 0);

function managedFieldsErrors({ managedFields = [] }: ObjectMeta): FieldError[] {
  const errors = new FieldErrors();
  managedFields.forEach((entry, index) => {
    for (const error of managedFieldsEntryErrors(entry, index)) errors.add(() => error);
  });
  return errors.all;
}

function managedFieldsEntryErrors(entry: ManagedFieldsEntry, index: number): FieldError[] {
  const path = `metadata.managedFields[${index}]`;
  return [
    ...(entry.operation === 'Apply' || entry.operation === 'Update'
      ? []
      : [invalidValue(`${path}.operation`, entry.operation ?? '', 'must be `Apply` or `Update`')]),
    ...(entry.fieldsType === undefined || entry.fieldsType === 'FieldsV1'
      ? []
      : [invalidValue(`${path}.fieldsType`, entry.fieldsType, 'must be `FieldsV1`')]),
    ...managerErrors(`${path}.manager`, entry.manager ?? '', managerCharactersMax),
    ...(Buffer.byteLength(entry.subresource ?? '') > subresourceBytesMax
      ? [tooLong(`${path}.subresource`, subresourceBytesMax)]
      : []),
  ];
}

/** As in kube-apiserver, but in characters, like the query parameter, as the specification says. */
const managerCharactersMax = 128;
/** As in kube-apiserver; no subresource has a longer name. */
const subresourceBytesMax = 256;

/** Errors about the name of a field manager. */
export function managerErrors(field: string, manager: string, charactersMax: number): FieldError[] {
  // No text has more characters than it has code units, so most need no count.
  if (manager.length > charactersMax && Array.from(manager).length > charactersMax)
    return [tooManyCharacters(field, charactersMax)];
  if (printableAscii.test(manager)) return [];
  let position = 0;
  for (const character of manager) {
    if (!isPrintable(character)) {
      return [
        invalidValue(
          field,
          manager,
          `invalid character U+${requireValue(character.codePointAt(0)).toString(16).toUpperCase().padStart(4, '0')} (at position ${position})`,
        ),
      ];
    }
    position += Buffer.byteLength(character);
  }
  return [];
}

const printableAscii = /^[ -~]*$/;

/** Letters, marks, numbers, punctuation, symbols and the plain space. */
export const isPrintable = (character: string): boolean =>
  character === ' ' || /[\p{L}\p{M}\p{N}\p{P}\p{S}]/u.test(character);
