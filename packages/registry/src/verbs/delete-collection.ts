import { type Call, throwIfAborted, loopOf } from '@cluster-apiserver/base';
import { badRequest, type Status, StatusError, success } from '@cluster-apiserver/model';
import { WriteInDoubtError } from '@cluster-apiserver/storage';
import { type DeleteOptions, deleteObject } from './delete.ts';
import { type ListOptions, type ObjectList, list } from './list.ts';
import type { Resource } from '../resource.ts';
import { matcherOf, scopeOf, unreadableNames } from '../read/selection.ts';

export interface CollectionDeletion {
  readonly list: ListOptions;
  readonly delete: Omit<DeleteOptions, 'namespace'>;
  /** How many objects are deleted at a time. */
  readonly workers: number;
}

export interface DeletedCollection {
  readonly status: Status;
  /** The objects as they were before. */
  readonly listed: ObjectList;
}

/**
 * Implements "deletecollection" for every kind: lists the objects and deletes each. The status has the number of
 * deleted objects, and a continue token if there was a limit.
 */
export async function deleteCollection(
  resource: Resource,
  { list: options, delete: deletion, workers }: CollectionDeletion,
  call: Call,
): Promise<DeletedCollection> {
  const { ignoreReadErrors } = deletion;
  const found = await list(resource, { ...options, readableOnly: ignoreReadErrors }, call);
  const unreadable = ignoreReadErrors ? unreadableSelected(resource, options) : [];
  const todo = [...found.items.map(({ name }) => name), ...unreadable].values();
  let deleted = 0;
  const failures: unknown[] = [];
  const turns = loopOf(resource.clock);
  const work = async (): Promise<void> => {
    for (const name of todo) {
      try {
        throwIfAborted(call);
        // A dry run never waits for etcd, and would take the whole collection in one event-loop iteration.
        await turns.schedule(() => {});
        await deleteObject(resource, name, { ...deletion, namespace: options.namespace, ofCollection: true }, call);
        deleted++;
      } catch (error) {
        // Another client has deleted it.
        if (!(error instanceof StatusError && error.reason === 'NotFound')) failures.push(error);
      }
      // All workers stop together: none deletes on after the request has been answered with the failure.
      if (failures.length > 0) return;
    }
  };
  await Promise.all(Array.from({ length: workers }, work));
  const { kind, served } = resource;
  const counted = `deleted ${deleted} ${deleted === 1 ? kind.singular : kind.plural}`;
  if (failures.length > 0) throw chooseFailure(failures, counted, deleted > 0 && !deletion.dryRun);
  const { continue: token, remainingItemCount } = found;
  const status = success(
    { ...(served.group && { group: served.group }), kind: served.plural },
    {
      message: `${counted}${deletion.dryRun ? ' (dry run)' : ''}`,
      metadata: {
        ...(token !== undefined && { continue: token }),
        ...(remainingItemCount !== undefined && { remainingItemCount }),
      },
    },
  );
  return { status, listed: found };
}

/**
 * The failure to report: an unknown outcome before any other. With Retry-After it would mean that nothing was written, so once
 * something was, it becomes a timeout.
 */
function chooseFailure(failures: readonly unknown[], counted: string, hasDeleted: boolean): unknown {
  const inDoubt = failures.find((error) => error instanceof StatusError && error.cause instanceof WriteInDoubtError);
  const failure = inDoubt ?? failures[0];
  if (!(failure instanceof StatusError)) return failure;
  const isMisleading = hasDeleted && failure.retryAfterSeconds !== undefined;
  if (!inDoubt && !isMisleading) return failure;
  return new StatusError('Timeout', `${counted}, then failed: ${failure.message}`, undefined, { cause: failure });
}

/** Only the names of unreadable objects are known, so they cannot be selected, only deleted with the whole collection. */
function unreadableSelected({ collection, kind }: Resource, options: ListOptions): string[] {
  const names = unreadableNames(collection.view(), scopeOf(kind, options));
  if (names.length > 0 && (matcherOf(options) || options.limit || options.continue))
    throw badRequest(
      `unreadable objects cannot be selected: delete the whole collection without selectors, limit and continue, or each object by its name, the first of ${names.length} being ${JSON.stringify(names[0])}`,
    );
  return names;
}
