import type { Call, Task } from '@cluster-apiserver/base';
import { conflict, formatTime, notFound, StatusError } from '@cluster-apiserver/model';
import { keepOtherFields, type KubeObject } from '@cluster-apiserver/model/kind';
import {
  type Applied,
  ApplyConflictError,
  applyAsKubectlDid,
  conflictCauses,
  disownFields,
} from '@cluster-apiserver/model/managed-fields';
import { ownersVersions } from '../conversion.ts';
import { emptyObjectOf, requireBoundedParts, withManagedFields } from '../write/new-object.ts';
import type { Outcome } from '../outcome.ts';
import { withPatchErrors } from '../write/patch-errors.ts';
import { admitUpdate, answerAsUpdate, createInstead, requireExpectedVersion } from '../write/updated-object.ts';
import type { Resource } from '../resource.ts';
import { withStatusErrors } from '../storage-errors.ts';
import {
  canonicalInSteps,
  inNamespace,
  requireName,
  withDistinctOwners,
  withIdentity,
  withoutSystemFields,
} from '../write/system-fields.ts';
import type { WriteOptions } from '../write/write-options.ts';
import { type Decision, type UpdateResult, guaranteedUpdate } from '../write/guaranteed-update.ts';

export interface ApplyOptions extends WriteOptions {
  /** Takes over fields of other managers instead of reporting a conflict. */
  readonly force: boolean;
}

/** Implements server-side apply for every kind: the configuration has all fields that its manager wants to own. */
export function apply(
  resource: Resource,
  name: string,
  configuration: Applied,
  options: ApplyOptions,
  call: Call,
): Promise<UpdateResult> {
  return withStatusErrors(async () => {
    const written = await guaranteedUpdate(resource, { namespace: options.namespace, name }, options, call, (current) =>
      withPatchErrors(decideApply(resource, name, configuration, current, options, call)),
    );
    return answerAsUpdate(written);
  });
}

function* decideApply(
  resource: Resource,
  name: string,
  configuration: Applied,
  current: Outcome | undefined,
  options: ApplyOptions,
  call: Call,
): Task<Decision> {
  const { kind, served } = resource;
  requireBoundedParts(kind, configuration.values, current?.object);
  const applied = yield* applyConfiguration(resource, configuration, current, options, call);
  yield;
  // Defaults have no owner: the configuration does not contain them, and what it no longer sets has them again.
  const complete = yield* canonicalInSteps(kind, applied, current?.object);
  const whole = kind.defaults?.(complete) ?? complete;
  const next = withDistinctOwners(inNamespace(whole, options.namespace), options.warn, 'mutated');
  requireName(next, name);
  if (current) {
    requireExpectedVersion(served, next, current);
    return yield* admitUpdate(
      resource,
      keepOtherFields(resource, options.subresource, next, current.object),
      current,
      options,
    );
  }
  if (options.subresource) throw notFound(served, name);
  if (next.metadata.uid !== undefined)
    throw conflict(
      served,
      name,
      `uid mismatch: the provided object specified uid ${next.metadata.uid}, and no existing object was found`,
    );
  return yield* createInstead(resource, withIdentity(withoutSystemFields(next), resource), options);
}

function* applyConfiguration(
  { kind, served, clock }: Resource,
  configuration: Applied,
  current: Outcome | undefined,
  { manager, force, subresource }: ApplyOptions,
  call: Call,
): Task<KubeObject> {
  const empty = emptyObjectOf(kind);
  const { apiVersion } = served;
  const applier = { manager, force, apiVersion, subresource: subresource?.name, time: formatTime(clock.now()) };
  try {
    const live = current?.object ?? empty;
    const versions = ownersVersions(kind, call, 'fails');
    const applied = yield* applyAsKubectlDid(kind.schema, live, empty, configuration, applier, versions);
    return withManagedFields(applied, disownFields(kind, subresource, manager, applied.metadata.managedFields));
  } catch (error) {
    if (!(error instanceof ApplyConflictError)) throw error;
    yield;
    const { message, causes } = conflictCauses(error.conflicts);
    throw new StatusError('Conflict', message, { causes }, { cause: error });
  }
}
