import { turnsOf } from '@cluster-apiserver/base';
import { type Status, StatusError, success } from '@cluster-apiserver/model';
import type { Call } from '@cluster-apiserver/storage';
import { type DeleteOptions, deleteObject } from './delete.ts';
import { type ListOptions, list } from './list.ts';
import type { Resource } from './resource.ts';

export interface CollectionDeletion {
  readonly list: ListOptions;
  readonly delete: Omit<DeleteOptions, 'namespace'>;
  /** How many objects are deleted at a time. */
  readonly workers: number;
}

/** The whole meaning of "delete collection": a list, and then a delete of each that is still there. */
export async function deleteCollection(
  resource: Resource,
  { list: options, delete: deletion, workers }: CollectionDeletion,
  call: Call,
): Promise<Status> {
  const { items } = await list(resource, options, call);
  const todo = items.values();
  const turns = turnsOf(resource.clock);
  const work = async (): Promise<void> => {
    for (const item of todo) {
      // A dry run waits for nobody, and would be one turn of the event loop for the whole collection.
      await turns.take(() => {});
      await deleteObject(resource, item.name, { ...deletion, namespace: options.namespace }, call).catch(
        (error: unknown) => {
          // Somebody else was quicker, which is as good.
          if (!(error instanceof StatusError && error.reason === 'NotFound')) throw error;
        },
      );
    }
  };
  await Promise.all(Array.from({ length: workers }, work));
  return success({ ...(resource.kind.group && { group: resource.kind.group }), kind: resource.kind.plural });
}
