/** Computing, admitting and validating the object that an update stores. */
import { awaitValue, type Call, type Task } from '@cluster-apiserver/base';
import { conflict, formatTime, invalid, Problems, requireValid } from '@cluster-apiserver/model';
import { sameJson } from '@cluster-apiserver/model/json';
import { type ApiVersion, keepOtherFields, type Kind, type KubeObject } from '@cluster-apiserver/model/kind';
import { disownFields, managedFieldsAfterUpdate, sameOwnership } from '@cluster-apiserver/model/managed-fields';
import { requireBoundedValues, validateUpdatedMeta } from '@cluster-apiserver/model/validation';
import { ownersVersions } from '../conversion.ts';
import { WrittenObject, type Outcome } from '../outcome.ts';
import type { Resource } from '../resource.ts';
import { parseResourceVersion } from '../resource-version.ts';
import { admit, mutate, requireMutated } from './admission.ts';
import type { Decision, UpdateResult } from './guaranteed-update.ts';
import {
  completeMutated,
  errorKindOf,
  mutateNewObject,
  requireBoundedParts,
  validateNewObject,
  withManagedFields,
  writeContext,
} from './new-object.ts';
import { canonicalInSteps, requireName, withIdentityOf } from './system-fields.ts';
import type { WriteOptions } from './write-options.ts';

/** An update that removed the last finalizer, and so the object, is answered with the requested state like any update. */
export const answerAsUpdate = (written: UpdateResult): UpdateResult =>
  written.removed ? { ...written, outcome: new WrittenObject(written.outcome.object, written.over) } : written;

/** Decides that PUT or apply creates an absent object, which needs the right to create, too. */
export function* createInstead(resource: Resource, fresh: KubeObject, options: WriteOptions): Task<Decision> {
  const draft = yield* mutateNewObject(resource, fresh, options);
  // The path determines the key, so admission must not change the name.
  requireName(draft, fresh.metadata.name ?? '');
  const object = yield* validateNewObject(resource, draft, options);
  yield* awaitValue(options.requester?.authorizeCreate());
  return { write: object };
}

const modifiedMessage = 'the object has been modified; please apply your changes to the latest version and try again';

/** Decides on an update from the stored object to another state. */
export function* updateObject(
  resource: Resource,
  incoming: KubeObject,
  current: Outcome,
  options: WriteOptions,
  call: Call,
): Task<Decision> {
  const { kind, served, clock } = resource;
  requireBoundedParts(kind, incoming, current.object);
  const { manager, subresource } = options;
  const writer = {
    manager,
    apiVersion: served.apiVersion,
    subresource: subresource?.name,
    // As in kube-apiserver, which takes the entry over from the other form without its time.
    time: subresource?.projection ? undefined : formatTime(clock.now()),
  };
  const bound = keepOtherFields(resource, subresource, incoming, current.object);
  const next = kind.defaults?.(bound) ?? bound;
  const live = current.object;
  // As in kube-apiserver, a write does not fail for the sake of its owners.
  const versions = ownersVersions(kind, call, 'stays');
  const after = versions ? withIdentityOf(live, next) : next;
  const managedFields = yield* managedFieldsAfterUpdate(kind.schema, live, after, writer, versions);
  const owned = disownFields(kind, subresource, manager, managedFields);
  return yield* admitUpdate(resource, withManagedFields(next, owned), current, options);
}

/** Like `updateObject`, for an object whose managedFields are already updated. */
export function* admitUpdate(
  resource: Resource,
  owned: KubeObject,
  current: Outcome,
  options: WriteOptions,
): Task<Decision> {
  const live = current.object;
  const write = { operation: 'UPDATE', name: live.metadata.name, oldObject: live } as const;
  const asked = withIdentityOf(live, owned);
  const wanted = requireMutated(yield* awaitValue(mutate(resource, options, { ...write, object: asked })));
  const object = wanted === asked ? asked : yield* completeMutated(resource, wanted, asked, options, true);
  yield;
  const decision = yield* validateUpdate(resource, object, live, options);
  yield* awaitValue(admit(resource, options, { ...write, object: decision.write ?? decision.remove }));
  return decision;
}

/** Throws a StatusError that lists everything wrong with it. Removing the last finalizer decides to remove the object. */
function* validateUpdate(
  resource: Resource,
  next: KubeObject,
  live: KubeObject,
  options: WriteOptions,
): Task<Decision> {
  const { kind, served } = resource;
  const context = writeContext(resource, options);
  const prepared = kind.prepare?.(next, live, context) ?? next;
  yield;
  const written = yield* canonicalInSteps(kind, prepared, live);
  yield;
  const object = keepTimesIfUnchanged(live, written);
  yield;
  yield* requireBoundedValues(kind, object, live);
  yield;
  const problems = new Problems();
  validateUpdatedMeta(object, live, kind, problems);
  served.validate?.(object, live, problems, context);
  if (served.validateInSteps) yield* served.validateInSteps(object, live, problems, context);
  requireValid(errorKindOf(kind), object.metadata.name ?? '', problems);
  yield;
  for (const warning of kind.warnings?.(object, live) ?? []) options.warn(warning);
  yield;
  const released = live.metadata.deletionTimestamp !== undefined && !isHeld(kind, object);
  return released ? { remove: object } : { write: object };
}

/** Whether a deletion has to wait for finalizers. */
export const isHeld = (kind: Kind, object: KubeObject): boolean =>
  (object.metadata.finalizers ?? []).length > 0 || (kind.deletion?.isHeld(object) ?? false);

/** Returns the stored object if nothing but times in managedFields would change, so that nothing is written. */
function keepTimesIfUnchanged(live: KubeObject, next: KubeObject): KubeObject {
  const [before, after] = [live.metadata.managedFields, next.metadata.managedFields];
  const same = sameJson(withManagedFields(live, undefined), withManagedFields(next, undefined));
  return same && sameOwnership(before, after) ? live : next;
}

/** An update of some kinds has to name the version that it replaces. */
export function requireVersion({ kind, served }: Resource, next: KubeObject, { subresource }: WriteOptions): void {
  const { name = '', resourceVersion } = next.metadata;
  if (!kind.updateNeedsVersion || subresource?.projection || typeof parseResourceVersion(resourceVersion) === 'number')
    return;
  const at = new Problems().at('metadata', 'resourceVersion');
  throw invalid({ group: served.group, kind: served.plural }, name, at.invalid(0, 'must be specified for an update'));
}

/** A resourceVersion in the object is a precondition: the object must not have changed since. */
export function requireExpectedVersion(served: ApiVersion, next: KubeObject, current: Outcome): void {
  const expected = parseResourceVersion(next.metadata.resourceVersion);
  if (typeof expected === 'number' && expected !== current.revision)
    throw conflict(served, current.object.metadata.name ?? '', modifiedMessage);
}
