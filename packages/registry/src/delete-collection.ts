import { type Call, throwIfAborted, turnsOf } from '@cluster-apiserver/base';
import { type Status, StatusError, success } from '@cluster-apiserver/model';
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
  const failures: unknown[] = [];
  const turns = turnsOf(resource.clock);
  const work = async (): Promise<void> => {
    for (const item of todo) {
      try {
        throwIfAborted(call);
        // A dry run never waits for etcd, and would delete the whole collection in one turn of the event loop.
        await turns.take(() => {});
        await deleteObject(resource, item.name, { ...deletion, namespace: options.namespace }, call);
      } catch (error) {
        // Another client was quicker, which is as good.
        if (!(error instanceof StatusError && error.reason === 'NotFound')) failures.push(error);
      }
      // All workers stop together: none deletes on after the request has been answered with the failure.
      if (failures.length > 0) return;
    }
  };
  await Promise.all(Array.from({ length: workers }, work));
  if (failures.length > 0) throw failures[0];
  return success({ ...(resource.kind.group && { group: resource.kind.group }), kind: resource.kind.plural });
}
