import { type Call, invariant, runTask } from '@cluster-apiserver/base';
import { bytesOf, encodeStored } from '@cluster-apiserver/model/codec';
import type { KubeObject } from '@cluster-apiserver/model/kind';
import { type Revision, revision } from '@cluster-apiserver/storage';
import { type Outcome, WrittenObject } from '../outcome.ts';
import { placeOf, type Resource } from '../resource.ts';
import { updateObject } from './updated-object.ts';
import type { WriteOptions } from './write-options.ts';

/** An update that is stored in one transaction with the creation of another object. */
export interface UpdateWithCreation {
  /** Of the object that is updated. */
  readonly name: string;
  readonly key: string;
  /** The state that the update replaces: the creation fails if it has changed. */
  readonly revision: Revision;
  readonly value: Buffer;
  /** What is stored afterwards. */
  written(revision: number): Outcome;
}

/** Builds such an update by the server itself, by the rules of every update. */
export async function updateWithCreation(
  resource: Resource,
  current: Outcome,
  next: KubeObject,
  options: WriteOptions,
  call: Call,
): Promise<UpdateWithCreation> {
  const { name = '' } = current.object.metadata;
  const decision = await runTask(resource.clock, call, updateObject(resource, next, current, options));
  invariant(
    decision.write && current.revision !== undefined,
    'an update that counts something neither removes nor rehearses',
  );
  const object = decision.write;
  const bytes = encodeStored(object);
  return {
    name,
    key: placeOf(resource, options.namespace, name).key,
    revision: current.revision,
    value: bytesOf(bytes),
    written: (at) => {
      resource.collection.noteLocalWrite(revision(at));
      return new WrittenObject(object, revision(at), bytes);
    },
  };
}
