/** Building, completing and validating the object that a create stores. */
import { awaitValue, runTask, type Task } from '@cluster-apiserver/base';
import { formatTime, Problems, requireValid } from '@cluster-apiserver/model';
import {
  keepOtherFields,
  type Kind,
  type KubeObject,
  type ServedKind,
  dropUnwritable,
  type WriteContext,
} from '@cluster-apiserver/model/kind';
import {
  disownFields,
  hasValidManagedFields,
  managedFieldsAfterUpdate,
  withoutManagedFields,
} from '@cluster-apiserver/model/managed-fields';
import {
  anyNames,
  pathSegmentNames,
  requireBoundedMembers,
  requireBoundedValues,
  validateLabelCount,
  validateObjectMeta,
} from '@cluster-apiserver/model/validation';
import type { Resource, ResourceKind } from '../resource.ts';
import { mutate, requireMutated } from './admission.ts';
import {
  canonical,
  canonicalInSteps,
  inNamespace,
  withDistinctOwners,
  withIdentity,
  withoutSystemFields,
  withSystemFieldsOf,
} from './system-fields.ts';
import type { WriteOptions } from './write-options.ts';

/** Builds the object that a create would store, without a store. Throws a StatusError if its kind rejects it. */
export const buildObject = async (
  resource: ResourceKind,
  incoming: KubeObject,
  options: WriteOptions,
): Promise<KubeObject> => runTask(resource.clock, undefined, initializeAndValidate(resource, incoming, options));

function* initializeAndValidate(resource: ResourceKind, incoming: KubeObject, options: WriteOptions): Task<KubeObject> {
  return yield* validateNewObject(resource, yield* initializeObject(resource, incoming, options), options);
}

/** Gives a new object defaults, managed fields and an identity. Its name may still have to be generated. */
export function* initializeObject(
  resource: ResourceKind,
  incoming: KubeObject,
  options: WriteOptions,
): Task<KubeObject> {
  const { kind, served, clock } = resource;
  requireBoundedParts(kind, incoming, undefined);
  const given = dropUnwritable(served, undefined, withoutSystemFields(incoming));
  const own = withDistinctOwners(inNamespace(kind.defaults?.(given) ?? given, options.namespace), options.warn);
  const writer = { manager: options.manager, apiVersion: served.apiVersion, time: formatTime(clock.now()) };
  const managedFields = yield* managedFieldsAfterUpdate(kind.schema, emptyObjectOf(kind), own, writer);
  const owned = disownFields(kind, undefined, options.manager, managedFields);
  return withIdentity(withManagedFields(own, owned), resource);
}

/** The new object in canonical form, prepared by its kind. Throws a StatusError that lists everything wrong with it. */
export function* validateNewObject(resource: ResourceKind, draft: KubeObject, options: WriteOptions): Task<KubeObject> {
  const { kind, served } = resource;
  const context = writeContext(resource, options);
  const prepared = kind.prepare?.(draft, undefined, context) ?? draft;
  yield;
  const object = yield* canonicalInSteps(kind, prepared);
  yield;
  yield* requireBoundedValues(kind, object);
  yield;
  const problems = new Problems();
  // Metadata, or a name, that no rule of the kind checks is checked last, as in kube-apiserver.
  const { names } = kind;
  const isNameLast = names === pathSegmentNames;
  const isLast = kind.metadataChecks === 'none';
  if (!isLast) validateObjectMeta(object.metadata, isNameLast ? { ...kind, names: anyNames } : kind, problems);
  served.validate?.(object, undefined, problems, context);
  if (served.validateInSteps) yield* served.validateInSteps(object, undefined, problems, context);
  if ((isLast || isNameLast) && problems.count === 0) validateObjectMeta(object.metadata, kind, problems);
  requireValid(errorKindOf(kind), object.metadata.name ?? '', problems);
  for (const warning of kind.warnings?.(object, undefined) ?? []) options.warn(warning);
  return object;
}

/** Who writes, for the rules of kinds. */
export const writeContext = (
  { served, clock }: ResourceKind,
  { requester, subresource, warn }: WriteOptions,
): WriteContext => ({
  user: requester?.user,
  served,
  subresource: subresource?.name,
  nowMs: clock.now(),
  warn,
});

/** Rejects too many parts early: tracking the ownership of each would be much work for an object that is invalid anyway. */
export function requireBoundedParts(kind: Kind, object: KubeObject, before: KubeObject | undefined): void {
  requireBoundedMembers(kind, object, before);
  const { metadata } = object;
  const problems = new Problems();
  validateLabelCount(metadata, before?.metadata ?? {}, problems);
  kind.validateCounts?.(object, before, problems);
  requireValid(errorKindOf(kind), metadata.name ?? '', problems);
}

/** The kind that validation errors name: that of the stored version, because the errors name its fields. */
export const errorKindOf = (kind: Kind): { readonly group: string; readonly kind: string } =>
  kind.schema.publication?.groupVersionKind ?? kind;

export function withManagedFields(
  object: KubeObject,
  managedFields: KubeObject['metadata']['managedFields'],
): KubeObject {
  return managedFields ? { ...object, metadata: { ...object.metadata, managedFields } } : withoutManagedFields(object);
}

const empties = new WeakMap<ServedKind, KubeObject>();

/** The canonical object without any fields, to which a new object is compared. */
export function emptyObjectOf(kind: ServedKind): KubeObject {
  let empty = empties.get(kind);
  if (!empty)
    empties.set(kind, (empty = canonical(kind, { kind: kind.kind, apiVersion: kind.apiVersion, metadata: {} })));
  return empty;
}

/** The new object as the mutating phase of admission leaves it, completed again. */
export function* mutateNewObject(resource: Resource, fresh: KubeObject, options: WriteOptions): Task<KubeObject> {
  const { name } = fresh.metadata;
  const mutated = requireMutated(
    yield* awaitValue(mutate(resource, options, { operation: 'CREATE', name, object: fresh, oldObject: undefined })),
  );
  return mutated === fresh ? fresh : yield* completeMutated(resource, mutated, fresh, options, false);
}

/**
 * Applies the rules for writers to an object that admission has mutated: identity and fields of subresources stay, absent
 * fields get defaults. If mutation has corrupted managedFields, they stay as before.
 */
export function* completeMutated(
  resource: Resource,
  mutated: KubeObject,
  before: KubeObject,
  options: WriteOptions,
  isUpdate: boolean,
): Task<KubeObject> {
  const { kind, served } = resource;
  const { namespace, subresource, warn } = options;
  requireBoundedParts(kind, mutated, before);
  const bound = isUpdate
    ? keepOtherFields(resource, subresource, mutated, before)
    : dropUnwritable(served, undefined, mutated);
  const placed = inNamespace(withSystemFieldsOf(before, bound), namespace);
  const object = withDistinctOwners(kind.defaults?.(placed) ?? placed, warn, 'mutated');
  if (yield* hasValidManagedFields(kind.schema, object)) return object;
  warn(
    '.metadata.managedFields was in an invalid state after admission; this could be caused by an outdated mutating admission controller; please fix your requests',
  );
  return withManagedFields(object, before.metadata.managedFields);
}
