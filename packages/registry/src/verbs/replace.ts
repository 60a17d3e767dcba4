import { type Call, resultOf, type Work } from '@cluster-apiserver/base';
import {
  boundTo,
  conflict,
  formatTime,
  invalid,
  invalidValue,
  type Kind,
  type KubeObject,
  managedFieldsAfterUpdate,
  notFound,
  requireBoundedValues,
  sameJson,
  sameOwnership,
  type StatusError,
  validateObjectMeta,
  validateObjectMetaUpdate,
} from '@cluster-apiserver/model';
import { admit, mutate } from '../write/admission.ts';
import {
  initializeObject,
  completeMutated,
  validateNewObject,
  errorKindOf,
  requireBoundedLabels,
  withManagedFields,
} from './create.ts';
import { WrittenObject, type Outcome } from '../outcome.ts';
import type { Resource } from '../resource.ts';
import { parseResourceVersion } from '../resource-version.ts';
import { withStatusErrors } from '../storage-errors.ts';
import { canonical, inNamespace, requireName, withDistinctOwners, withIdentityOf } from '../write/system-fields.ts';
import type { WriteOptions } from '../write/write-options.ts';
import { type Decision, type UpdateResult, guaranteedUpdate } from '../write/guaranteed-update.ts';

/** The whole meaning of "replace", for every kind. */
export function replace(
  resource: Resource,
  name: string,
  incoming: KubeObject,
  options: WriteOptions,
  call: Call,
): Promise<UpdateResult> {
  return withStatusErrors(async () => {
    const next = withDistinctOwners(inNamespace(incoming, options.namespace), options.warn);
    requireName(next, name);
    parseResourceVersion(next.metadata.resourceVersion); // refused before anything is read
    const written = await guaranteedUpdate(resource, { namespace: options.namespace, name }, options, call, (current) =>
      decideReplace(resource, name, next, current, options),
    );
    return answerAsUpdate(written);
  });
}

function* decideReplace(
  resource: Resource,
  name: string,
  next: KubeObject,
  current: Outcome | undefined,
  options: WriteOptions,
): Work<Decision> {
  const { kind } = resource;
  const expected = parseResourceVersion(next.metadata.resourceVersion);
  const { uid } = next.metadata;
  if (uid !== undefined && uid !== current?.object.metadata.uid) {
    throw conflict(
      kind,
      name,
      `Precondition failed: UID in precondition: ${uid}, UID in object meta: ${current?.object.metadata.uid ?? ''}`,
    );
  }
  if (!current) {
    if (!kind.createOnReplace || options.part) throw notFound(kind, name);
    const { resourceVersion: _, ...metadata } = next.metadata;
    return yield* createInstead(resource, yield* initializeObject(resource, { ...next, metadata }, options), options);
  }
  if (kind.replaceNeedsVersion && !options.part && typeof expected !== 'number') throw versionMissing(kind, name);
  if (typeof expected === 'number' && expected !== current.revision) throw conflict(kind, name, modifiedMessage);
  return yield* updateObject(resource, next, current, options);
}

const versionMissing = ({ group, plural }: Kind, name: string): StatusError =>
  invalid({ group, kind: plural }, name, [
    invalidValue('metadata.resourceVersion', 0, 'must be specified for an update'),
  ]);

/** An update that removed the object answers like any update: with the state that was asked for, not with a deletion. */
export const answerAsUpdate = (written: UpdateResult): UpdateResult =>
  written.removed ? { ...written, outcome: new WrittenObject(written.outcome.object, written.over) } : written;

/** A create by another verb, because the object is not there. It needs the right to create, too. */
export function* createInstead(resource: Resource, fresh: KubeObject, options: WriteOptions): Work<Decision> {
  const { name } = fresh.metadata;
  const draft = yield* resultOf(
    mutate(resource, options, { operation: 'CREATE', name, object: fresh, oldObject: undefined }),
  );
  const completed = draft === fresh ? fresh : yield* completeMutated(resource, draft, fresh, options, false);
  // The key is settled already, by the path.
  requireName(completed, name ?? '');
  const object = yield* validateNewObject(resource, completed, options);
  yield* resultOf(options.requester?.authorizeCreate());
  return { write: object };
}

export const modifiedMessage =
  'the object has been modified; please apply your changes to the latest version and try again';

/** What becomes of an object when `next` takes the place of what is stored. */
export function* updateObject(
  resource: Resource,
  incoming: KubeObject,
  current: Outcome,
  options: WriteOptions,
): Work<Decision> {
  const { kind, served, clock } = resource;
  requireBoundedLabels(kind, incoming);
  const { manager, part } = options;
  const writer = { manager, apiVersion: served.apiVersion, subresource: part?.name, time: formatTime(clock.now()) };
  const bound = boundTo(kind, part, incoming, current.object);
  const next = kind.defaults?.(bound) ?? bound;
  const managedFields = yield* managedFieldsAfterUpdate(kind.schema, current.object, next, writer);
  return yield* admitUpdate(resource, withManagedFields(next, managedFields), current, options);
}

/** The same for an object whose fields have their owners already. */
export function* admitUpdate(
  resource: Resource,
  owned: KubeObject,
  current: Outcome,
  options: WriteOptions,
): Work<Decision> {
  const live = current.object;
  const write = { operation: 'UPDATE', name: live.metadata.name, oldObject: live } as const;
  const asked = withIdentityOf(live, owned);
  const wanted = yield* resultOf(mutate(resource, options, { ...write, object: asked }));
  const object = wanted === asked ? asked : yield* completeMutated(resource, wanted, asked, options, true);
  yield;
  const decision = yield* validateUpdate(resource, object, live, options);
  yield* resultOf(admit(resource, options, { ...write, object: decision.write ?? decision.remove }));
  return decision;
}

/** Throws an answer that says all that is wrong with it; the last finalizer's removal removes it. */
function* validateUpdate(
  { kind }: Resource,
  next: KubeObject,
  live: KubeObject,
  options: WriteOptions,
): Work<Decision> {
  const written = canonical(kind, kind.prepare?.(next, live) ?? next);
  yield;
  const object = keepTimesIfUnchanged(live, written);
  yield;
  requireBoundedValues(object);
  const immutable = validateObjectMetaUpdate(object, live);
  const errors = [
    ...validateObjectMeta(object.metadata, kind),
    // Twice, as kube-apiserver reports them: by the rules of all objects, and by those of the kind.
    ...immutable,
    ...immutable,
    ...(kind.validate?.(object, live) ?? []),
    ...(kind.validateInSteps ? yield* kind.validateInSteps(object, live) : []),
  ];
  if (errors.length > 0) throw invalid(errorKindOf(kind), object.metadata.name ?? '', errors);
  for (const warning of kind.warnings?.(object, live) ?? []) options.warn(warning);
  yield;
  const released = live.metadata.deletionTimestamp !== undefined && !isHeld(kind, object);
  return released ? { remove: object } : { write: object };
}

/** Whether there is still something that a deletion has to wait for. */
export const isHeld = (kind: Kind, object: KubeObject): boolean =>
  (object.metadata.finalizers ?? []).length > 0 || (kind.deletion?.isHeld(object) ?? false);

/** A write that changes nothing but the time of an entry in managedFields is no change. */
function keepTimesIfUnchanged(live: KubeObject, next: KubeObject): KubeObject {
  const [before, after] = [live.metadata.managedFields, next.metadata.managedFields];
  const same = sameJson(withManagedFields(live, undefined), withManagedFields(next, undefined));
  return same && sameOwnership(before, after) ? live : next;
}
