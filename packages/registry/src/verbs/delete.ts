import type { SyncTask, Task } from '@cluster-apiserver/base';
import {
  conflict,
  formatTime,
  notFound,
  Problems,
  requireValid,
  type Status,
  StatusError,
  success,
} from '@cluster-apiserver/model';
import { increment, type Integer, numberOf, sameJson } from '@cluster-apiserver/model/json';
import type { ApiVersion, Kind, KubeObject } from '@cluster-apiserver/model/kind';
import { foregroundFinalizer, orphanFinalizer } from '@cluster-apiserver/model/validation';
import { type Call, CorruptValueError } from '@cluster-apiserver/storage';
import { type Requester, admitDeletion } from '../write/admission.ts';
import { deleteUnreadable } from '../write/delete-unreadable.ts';
import type { Outcome } from '../outcome.ts';
import { isHeld } from '../write/updated-object.ts';
import type { Resource } from '../resource.ts';
import { withStatusErrors } from '../storage-errors.ts';
import { canonicalInSteps } from '../write/system-fields.ts';
import { type Decision, guaranteedUpdate } from '../write/guaranteed-update.ts';

export interface DeleteOptions {
  /** Undefined for cluster-scoped kinds. */
  readonly namespace: string | undefined;
  /** Undefined for writes of the server itself. */
  readonly requester?: Requester | undefined;
  readonly dryRun: boolean;
  readonly gracePeriodSeconds?: Integer | undefined;
  readonly preconditions?:
    | { readonly uid?: string | undefined; readonly resourceVersion?: string | undefined }
    | undefined;
  readonly orphanDependents?: boolean | undefined;
  readonly propagationPolicy?: string | undefined;
  /** For a deletion of a collection: admission gets no name, because the request has none. */
  readonly ofCollection?: boolean | undefined;
  /** Unreadable objects are removed, too, regardless of finalizers and preconditions. */
  readonly ignoreReadErrors?: boolean | undefined;
}

export interface Deletion {
  readonly answer: Outcome | Status;
  /** False while something holds the object. */
  readonly gone: boolean;
}

const propagationPolicies = ['Foreground', 'Background', 'Orphan'];

/** Implements "delete" for every kind. */
export function deleteObject(resource: Resource, name: string, options: DeleteOptions, call: Call): Promise<Deletion> {
  return withStatusErrors(async () => {
    validateDeleteOptions(options);
    try {
      return await deleteReadable(resource, name, options, call);
    } catch (error) {
      // An object whose key is only unavailable at present is intact.
      if (!options.ignoreReadErrors || !(error instanceof CorruptValueError) || !error.isPermanent) throw error;
      return { answer: await deleteUnreadable(resource, { ...options, name }, call), gone: true };
    }
  });
}

async function deleteReadable(resource: Resource, name: string, options: DeleteOptions, call: Call): Promise<Deletion> {
  const { kind, served } = resource;
  const { outcome, removed } = await guaranteedUpdate(
    resource,
    { namespace: options.namespace, name },
    options,
    call,
    (current) => decideDelete(resource, name, current, options),
  );
  const isObject = kind.deletedAnswer === 'object' || (kind.deletedAnswer === 'objectIfHeld' && !removed);
  return { answer: isObject ? outcome : deletedStatus(served, outcome.object), gone: removed };
}

function* decideDelete(
  resource: Resource,
  name: string,
  current: Outcome | undefined,
  options: DeleteOptions,
): Task<Decision> {
  if (!current) throw notFound(resource.served, name);
  requirePreconditions(resource, current, options);
  const { object } = current;
  const decision = yield* deletionStep(resource, object, options);
  yield;
  const asked = options.ofCollection ? undefined : name;
  yield* admitDeletion(resource, options, { name: asked, oldObject: object });
  return decision;
}

function* deletionStep(resource: Resource, object: KubeObject, options: DeleteOptions): SyncTask<Decision> {
  const { kind } = resource;
  const hasBegun = object.metadata.deletionTimestamp !== undefined;
  if (hasBegun && kind.deletion?.isHeld(object)) return { write: object };
  const next = yield* withFinalizers(kind, object, finalizersAfter(kind, object.metadata.finalizers ?? [], options));
  const isMarked = isHeld(kind, next) || (!hasBegun && kind.deletion !== undefined);
  return isMarked ? { write: yield* markForDeletion(resource, next) } : { remove: next };
}

const deletedStatus = (served: ApiVersion, { metadata }: KubeObject): Status =>
  success({
    ...(metadata.name && { name: metadata.name }),
    ...(served.group && { group: served.group }),
    kind: served.plural,
    ...(metadata.uid && { uid: metadata.uid }),
  });

function validateDeleteOptions(options: DeleteOptions): void {
  const { gracePeriodSeconds, orphanDependents, propagationPolicy } = options;
  const problems = new Problems();
  if (gracePeriodSeconds !== undefined && numberOf(gracePeriodSeconds) < 0)
    problems.at('gracePeriodSeconds').invalid(gracePeriodSeconds, 'must be greater than or equal to 0');
  const at = problems.at('propagationPolicy');
  if (orphanDependents !== undefined && propagationPolicy !== undefined)
    at.invalid(propagationPolicy, 'orphanDependents and deletionPropagation cannot be both set');
  else if (propagationPolicy !== undefined && !propagationPolicies.includes(propagationPolicy))
    at.notSupported(propagationPolicy, [...propagationPolicies, 'nil']);
  requireValid({ group: 'meta.k8s.io', kind: 'DeleteOptions' }, '', problems);
}

function requirePreconditions({ kind, served }: Resource, current: Outcome, { preconditions }: DeleteOptions): void {
  const { name = '', uid = '' } = current.object.metadata;
  const requireSame = (field: string, wanted: string | undefined, actual: string, guess: string): void => {
    if (wanted === undefined || wanted === actual) return;
    if (kind.deletion)
      throw conflict(
        served,
        name,
        `Precondition failed: ${field} in precondition: ${wanted}, ${field} in object meta: ${actual}`,
      );
    throw preconditionFailed(
      served,
      name,
      `the ${field} in the precondition (${wanted}) does not match the ${field} in record (${actual}). The object might have been ${guess}`,
    );
  };
  requireSame('UID', preconditions?.uid, uid, 'deleted and then recreated');
  requireSame('ResourceVersion', preconditions?.resourceVersion, String(current.revision), 'modified');
}

/** As in kube-apiserver, this conflict names the kind and not the resource. */
const preconditionFailed = ({ group, kind }: ApiVersion, name: string, problem: string): StatusError =>
  new StatusError(
    'Conflict',
    `Operation cannot be fulfilled on ${group ? `${kind}.${group}` : kind} "${name}": ${problem}`,
    {
      name,
      ...(group && { group }),
      kind,
    },
  );

/** The propagation policy is stored as a finalizer, which the garbage collector executes and removes. */
function finalizersAfter(kind: Kind, finalizers: readonly string[], options: DeleteOptions): string[] {
  if (kind.deletion?.ignoresPropagation) return [...finalizers];
  const others = finalizers.filter((finalizer) => finalizer !== orphanFinalizer && finalizer !== foregroundFinalizer);
  if (!kind.ownsOthers) return others;
  const policy = propagationPolicyOf(kind, finalizers, options);
  const own = policy === 'Orphan' ? [orphanFinalizer] : policy === 'Foreground' ? [foregroundFinalizer] : [];
  // The same finalizers stay in their order, so that a repeated deletion changes nothing.
  const next = new Set([...others, ...own]);
  return next.symmetricDifference(new Set(finalizers)).size === 0 ? [...finalizers] : [...others, ...own];
}

function propagationPolicyOf(
  kind: Kind,
  finalizers: readonly string[],
  { orphanDependents, propagationPolicy }: DeleteOptions,
): string {
  if (orphanDependents) return 'Orphan';
  // As in kube-apiserver, where namespaces differ from all other kinds.
  if (orphanDependents === false) return kind.deletion ? 'Foreground' : 'Background';
  if (propagationPolicy !== undefined) return propagationPolicy;
  if (finalizers.includes(orphanFinalizer)) return 'Orphan';
  return finalizers.includes(foregroundFinalizer) ? 'Foreground' : 'Background';
}

function* withFinalizers(kind: Kind, object: KubeObject, finalizers: readonly string[]): SyncTask<KubeObject> {
  if (sameJson(finalizers, object.metadata.finalizers ?? [])) return object;
  const metadata = { ...object.metadata, finalizers: [...finalizers] };
  return yield* canonicalInSteps(kind, { ...object, metadata }, object);
}

/** Marks an object that finalizers hold as being deleted. A repeated deletion keeps the first timestamp. */
function* markForDeletion({ kind, clock }: Resource, object: KubeObject): SyncTask<KubeObject> {
  const { generation, deletionTimestamp } = object.metadata;
  const metadata = { ...object.metadata, deletionTimestamp: deletionTimestamp ?? formatTime(clock.now()) };
  // The first of two steps sets no grace period, and the generation stays, as in kube-apiserver.
  if (kind.deletion && deletionTimestamp === undefined)
    return yield* canonicalInSteps(kind, kind.deletion.begin({ ...object, metadata }), object);
  metadata.deletionGracePeriodSeconds = 0;
  if (deletionTimestamp === undefined && generation !== undefined && numberOf(generation) > 0)
    metadata.generation = increment(generation);
  return yield* canonicalInSteps(kind, { ...object, metadata }, object);
}
