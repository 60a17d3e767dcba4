import type { Call, Task } from '@cluster-apiserver/base';
import { conflict, invalid, notFound, Problems, type StatusError } from '@cluster-apiserver/model';
import type { ApiVersion, KubeObject } from '@cluster-apiserver/model/kind';
import type { Outcome } from '../outcome.ts';
import type { Resource } from '../resource.ts';
import { parseResourceVersion } from '../resource-version.ts';
import { withStatusErrors } from '../storage-errors.ts';
import { type Decision, guaranteedUpdate, type UpdateResult } from '../write/guaranteed-update.ts';
import { initializeObject } from '../write/new-object.ts';
import { inNamespace, requireName, withDistinctOwners } from '../write/system-fields.ts';
import { answerAsUpdate, createInstead, requireExpectedVersion, updateObject } from '../write/updated-object.ts';
import type { WriteOptions } from '../write/write-options.ts';

/** Implements "update" (PUT) for every kind. */
export function update(
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
      decideUpdate(resource, name, next, current, options, call),
    );
    return answerAsUpdate(written);
  });
}

function* decideUpdate(
  resource: Resource,
  name: string,
  next: KubeObject,
  current: Outcome | undefined,
  options: WriteOptions,
  call: Call,
): Task<Decision> {
  const { kind, served } = resource;
  const projection = options.subresource?.projection;
  const { uid, resourceVersion } = next.metadata;
  if (uid !== undefined && uid !== current?.object.metadata.uid) {
    throw conflict(
      served,
      name,
      `Precondition failed: UID in precondition: ${uid}, UID in object meta: ${current?.object.metadata.uid ?? ''}`,
    );
  }
  if (!current) {
    if (!kind.createOnUpdate || options.subresource) throw notFound(served, name);
    const { resourceVersion: _, ...metadata } = next.metadata;
    return yield* createInstead(resource, yield* initializeObject(resource, { ...next, metadata }, options), options);
  }
  const needsVersion = kind.updateNeedsVersion && (!options.subresource || (kind.isCustom && !projection));
  if (needsVersion && typeof parseResourceVersion(resourceVersion) !== 'number') throw versionMissing(served, name);
  requireExpectedVersion(served, next, current);
  const object = projection ? projection.change(current.object, next) : next;
  return yield* updateObject(resource, object, current, options, call);
}

const versionMissing = ({ group, plural }: ApiVersion, name: string): StatusError =>
  invalid(
    { group, kind: plural },
    name,
    new Problems().at('metadata', 'resourceVersion').invalid(0, 'must be specified for an update'),
  );
