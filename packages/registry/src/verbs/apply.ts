import type { Call, Steps, Work } from '@cluster-apiserver/base';
import {
  type Applied,
  ApplyConflictError,
  applyAsKubectlDid,
  keepOtherParts,
  conflict,
  conflictCauses,
  formatTime,
  type KubeObject,
  notFound,
  StatusError,
} from '@cluster-apiserver/model';
import { emptyObjectOf, requireBoundedLabels } from '../write/new-object.ts';
import type { Outcome } from '../outcome.ts';
import { withPatchErrors } from '../write/patch-errors.ts';
import { admitUpdate, answerAsUpdate, createInstead, requireExpectedVersion } from '../write/updated-object.ts';
import type { Resource } from '../resource.ts';
import { withStatusErrors } from '../storage-errors.ts';
import {
  canonical,
  inNamespace,
  requireName,
  withDistinctOwners,
  withIdentity,
  withoutSystemFields,
} from '../write/system-fields.ts';
import type { WriteOptions } from '../write/write-options.ts';
import { type Decision, type UpdateResult, guaranteedUpdate } from '../write/guaranteed-update.ts';

export interface ApplyOptions extends WriteOptions {
  /** Takes fields over from their managers instead of refusing. */
  readonly force: boolean;
}

/** The whole meaning of "apply", for every kind: a patch that says all its manager wants, and creates what is missing. */
export function apply(
  resource: Resource,
  name: string,
  configuration: Applied,
  options: ApplyOptions,
  call: Call,
): Promise<UpdateResult> {
  return withStatusErrors(async () => {
    const written = await guaranteedUpdate(resource, { namespace: options.namespace, name }, options, call, (current) =>
      withPatchErrors(decideApply(resource, name, configuration, current, options)),
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
): Work<Decision> {
  const { kind } = resource;
  requireBoundedLabels(kind, configuration.values);
  const applied = yield* applyConfiguration(resource, configuration, current, options);
  // Defaults belong to nobody: the configuration does not name them.
  const whole = kind.defaults?.(canonical(kind, applied)) ?? applied;
  const next = withDistinctOwners(inNamespace(whole, options.namespace), options.warn);
  requireName(next, name);
  if (current) {
    requireExpectedVersion(kind, next, current);
    return yield* admitUpdate(resource, keepOtherParts(kind, options.part, next, current.object), current, options);
  }
  if (options.part) throw notFound(kind, name);
  if (next.metadata.uid !== undefined)
    throw conflict(
      kind,
      name,
      `uid mismatch: the provided object specified uid ${next.metadata.uid}, and no existing object was found`,
    );
  return yield* createInstead(resource, withIdentity(withoutSystemFields(next), resource), options);
}

function* applyConfiguration(
  { kind, served, clock }: Resource,
  configuration: Applied,
  current: Outcome | undefined,
  { manager, force, part }: ApplyOptions,
): Steps<KubeObject> {
  const empty = emptyObjectOf(kind);
  const { apiVersion } = served;
  const applier = { manager, force, apiVersion, subresource: part?.name, time: formatTime(clock.now()) };
  try {
    return yield* applyAsKubectlDid(kind.schema, current?.object ?? empty, empty, configuration, applier);
  } catch (error) {
    if (!(error instanceof ApplyConflictError)) throw error;
    yield;
    const { message, causes } = conflictCauses(error.conflicts);
    throw new StatusError('Conflict', message, { causes }, { cause: error });
  }
}
