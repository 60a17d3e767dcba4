import { type Call, invariant, runTask } from '@cluster-apiserver/base';
import { bytesOf, encodeStored } from '@cluster-apiserver/model/codec';
import type { KubeObject } from '@cluster-apiserver/model/kind';
import type { Precondition } from '@cluster-apiserver/storage';
import type { Outcome } from '../outcome.ts';
import { placeOf, type Resource } from '../resource.ts';
import { updateObject } from './updated-object.ts';
import type { WriteOptions } from './write-options.ts';

/**
 * Builds an update by the server itself, by the rules of every update, that is stored in one transaction with the creation
 * of other objects. The creation fails if the state that it replaces has changed.
 */
export async function updateWithCreation(
  resource: Resource,
  current: Outcome,
  next: KubeObject,
  options: WriteOptions,
  call: Call,
): Promise<Precondition> {
  const { name = '' } = current.object.metadata;
  const { write } = await runTask(resource.clock, call, updateObject(resource, next, current, options, call));
  invariant(write && current.revision !== undefined, 'an update that counts something neither removes nor rehearses');
  const { key } = placeOf(resource, options.namespace, name);
  return { key, revision: current.revision, value: bytesOf(encodeStored(write)) };
}
