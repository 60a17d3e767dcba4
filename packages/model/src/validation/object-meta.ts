import type { FieldError } from '../field-error.ts';
import { forbidden, invalidValue, required, tooLong } from '../field-error.ts';
import type { KubeObject, ManagedFieldsEntry, ObjectMeta, OwnerReference } from '../object.ts';
import { dnsLabel, labelValueRule, type NameRules, qualifiedName } from './names.ts';

/** All annotations of an object together, keys and values. */
const annotationBytesMax = 256 * 1024;

export const orphanFinalizer = 'orphan';
export const foregroundFinalizer = 'foregroundDeletion';
const standardFinalizers = new Set(['kubernetes', orphanFinalizer, foregroundFinalizer]);

export interface ObjectMetaRules {
  readonly namespaced: boolean;
  readonly names: NameRules;
  /** Whether every finalizer that is not a standard one needs a domain. */
  readonly qualifiedFinalizers: boolean;
}

/** What must hold for the metadata of every object, whoever wrote it. */
export function validateObjectMeta(meta: ObjectMeta, rules: ObjectMetaRules): FieldError[] {
  return [
    ...nameErrors(meta, rules.names),
    ...namespaceErrors(meta, rules),
    ...generationErrors(meta),
    ...labelErrors(meta),
    ...annotationErrors(meta),
    ...ownerErrors(meta),
    ...finalizerErrors(meta, rules),
    ...managedFieldsErrors(meta),
  ];
}

/** What an update may not do to metadata. System fields that the client left out are filled in before. */
export function validateObjectMetaUpdate(
  { metadata: next }: KubeObject,
  { metadata: current }: KubeObject,
): FieldError[] {
  const errors: FieldError[] = [];
  if (current.deletionTimestamp !== undefined) {
    const added = (next.finalizers ?? []).filter((finalizer) => !current.finalizers?.includes(finalizer));
    if (added.length > 0)
      errors.push(
        forbidden(
          'metadata.finalizers',
          `no new finalizers can be added if the object is being deleted, found new finalizers ${JSON.stringify(added)}`,
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
    if (String(next[name]) !== String(current[name]))
      errors.push(invalidValue(`metadata.${name}`, next[name], 'field is immutable'));
  }
  return errors;
}

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
  generation !== undefined && Number(typeof generation === 'number' ? generation : generation.rawJSON) < 0
    ? [invalidValue('metadata.generation', generation, 'must be greater than or equal to 0')]
    : [];

function labelErrors({ labels = {} }: ObjectMeta): FieldError[] {
  const errors: FieldError[] = [];
  for (const [key, value] of Object.entries(labels)) {
    for (const message of qualifiedName(key)) errors.push(invalidValue('metadata.labels', key, message));
    for (const message of labelValueRule(value)) errors.push(invalidValue('metadata.labels', value, message));
  }
  return errors;
}

function annotationErrors({ annotations = {} }: ObjectMeta): FieldError[] {
  const errors: FieldError[] = [];
  let bytes = 0;
  for (const [key, value] of Object.entries(annotations)) {
    for (const message of qualifiedName(key.toLowerCase()))
      errors.push(invalidValue('metadata.annotations', key, message));
    bytes += Buffer.byteLength(key) + Buffer.byteLength(value);
  }
  if (bytes > annotationBytesMax) errors.push(tooLong('metadata.annotations', annotationBytesMax));
  return errors;
}

function ownerErrors({ ownerReferences = [] }: ObjectMeta): FieldError[] {
  const errors = ownerReferences.flatMap(ownerReferenceErrors);
  const [first, ...others] = ownerReferences.filter((owner) => owner.controller);
  for (const other of others) {
    errors.push(
      invalidValue(
        'metadata.ownerReferences',
        ownerReferences,
        `Only one reference can have Controller set to true. Found "true" in references for ${first?.kind}/${first?.name} and ${other.kind}/${other.name}`,
      ),
    );
  }
  return errors;
}

function ownerReferenceErrors(owner: OwnerReference): FieldError[] {
  const mustNotBeEmpty = (name: 'kind' | 'name' | 'uid'): FieldError[] =>
    owner[name] ? [] : [invalidValue(`metadata.ownerReferences.${name}`, owner[name] ?? '', 'must not be empty')];
  const version = owner.apiVersion?.split('/').at(-1);
  return [
    ...(version
      ? []
      : [invalidValue('metadata.ownerReferences.apiVersion', owner.apiVersion ?? '', 'version must not be empty')]),
    ...mustNotBeEmpty('kind'),
    ...mustNotBeEmpty('name'),
    ...mustNotBeEmpty('uid'),
    // Events come and go by themselves: what they owned would go with them.
    ...(owner.apiVersion === 'v1' && owner.kind === 'Event'
      ? [invalidValue('metadata.ownerReferences', owner, '/v1, Kind=Event is disallowed from being an owner')]
      : []),
  ];
}

function finalizerErrors({ finalizers = [] }: ObjectMeta, rules: ObjectMetaRules): FieldError[] {
  const errors = finalizers.flatMap((finalizer) =>
    qualifiedName(finalizer).map((message) => invalidValue('metadata.finalizers', finalizer, message)),
  );
  if (finalizers.includes(orphanFinalizer) && finalizers.includes(foregroundFinalizer)) {
    errors.push(
      invalidValue('metadata.finalizers', finalizers, 'finalizer orphan and foregroundDeletion cannot be both set'),
    );
  }
  if (rules.qualifiedFinalizers) {
    finalizers.forEach((finalizer, index) =>
      errors.push(...unknownFinalizer(`metadata.finalizers[${index}]`, finalizer)),
    );
  }
  return errors;
}

const unknownFinalizer = (field: string, finalizer: string): FieldError[] =>
  finalizer.includes('/') || standardFinalizers.has(finalizer)
    ? []
    : [invalidValue(field, finalizer, 'name is neither a standard finalizer name nor is it fully qualified')];

/** What is wrong with a finalizer that stands elsewhere than in the metadata. */
export const finalizerNameErrors = (field: string, finalizer: string): FieldError[] => [
  ...qualifiedName(finalizer).map((message) => invalidValue(field, finalizer, message)),
  ...unknownFinalizer(field, finalizer),
];

const managedFieldsErrors = ({ managedFields = [] }: ObjectMeta): FieldError[] =>
  managedFields.flatMap(managedFieldsEntryErrors);

function managedFieldsEntryErrors(entry: ManagedFieldsEntry, index: number): FieldError[] {
  const path = `metadata.managedFields[${index}]`;
  return [
    ...(entry.operation === 'Apply' || entry.operation === 'Update'
      ? []
      : [invalidValue(`${path}.operation`, entry.operation ?? '', 'must be `Apply` or `Update`')]),
    ...(entry.fieldsType === undefined || entry.fieldsType === 'FieldsV1'
      ? []
      : [invalidValue(`${path}.fieldsType`, entry.fieldsType, 'must be `FieldsV1`')]),
    ...managerErrors(`${path}.manager`, entry.manager ?? '', 128),
  ];
}

/** Who writes: a short printable name. */
export function managerErrors(field: string, manager: string, bytesMax: number): FieldError[] {
  if (Buffer.byteLength(manager) > bytesMax) return [tooLong(field, bytesMax)];
  if (printableAscii.test(manager)) return [];
  let position = 0;
  for (const character of manager) {
    if (!isPrintable(character)) {
      return [
        invalidValue(
          field,
          manager,
          `invalid character U+${(character.codePointAt(0) as number).toString(16).toUpperCase().padStart(4, '0')} (at position ${position})`,
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
