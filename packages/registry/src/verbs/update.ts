import type { Call, Task } from '@cluster-apiserver/base';
import { conflict, notFound } from '@cluster-apiserver/model';
import type { KubeObject } from '@cluster-apiserver/model/kind';
import type { Outcome } from '../outcome.ts';
import type { Resource } from '../resource.ts';
import { withStatusErrors } from '../storage-errors.ts';
import { type Decision, guaranteedUpdate, type UpdateResult } from '../write/guaranteed-update.ts';
import { initializeObject } from '../write/new-object.ts';
import { inNamespace, requireName, withDistinctOwners } from '../write/system-fields.ts';
import {
  answerAsUpdate,
  createInstead,
  requireExpectedVersion,
  requireVersion,
  updateObject,
} from '../write/updated-object.ts';
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
  const { uid } = next.metadata;
  const mayCreate = kind.createOnUpdate && !options.subresource;
  if (!current && !mayCreate) throw notFound(served, name);
  if (uid !== undefined && uid !== current?.object.metadata.uid) {
    throw conflict(
      served,
      name,
      `Precondition failed: UID in precondition: ${uid}, UID in object meta: ${current?.object.metadata.uid ?? ''}`,
    );
  }
  if (!current) return yield* createInstead(resource, yield* initializeObject(resource, next, options), options);
  requireVersion(resource, next, options);
  requireExpectedVersion(served, next, current);
  const object = projection ? projection.change(current.object, next) : next;
  return yield* updateObject(resource, object, current, options, call);
}
