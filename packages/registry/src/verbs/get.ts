import { notFound } from '@cluster-apiserver/model';
import type { Call } from '@cluster-apiserver/storage';
import { waitUntilFresh } from '../read/wait-until-fresh.ts';
import { getCached, placeOf, type Resource } from '../resource.ts';
import { parseResourceVersion } from '../resource-version.ts';
import { toStatusError, withStatusErrors } from '../storage-errors.ts';
import type { StoredObject } from '../stored-object.ts';

/** Implements "get" for every kind. `resourceVersion` requests a state at least that new. It returns at once if it need not wait. */
export function get(
  resource: Resource,
  { namespace, name }: { readonly namespace: string | undefined; readonly name: string },
  resourceVersion: string | undefined,
  call: Call,
): StoredObject | Promise<StoredObject> {
  const { itemKey } = placeOf(resource, namespace, name);
  const find = (): StoredObject => {
    try {
      const found = resource.collection.get(itemKey);
      if (!found) throw notFound(resource.served, name);
      if (found.unreadable) throw found.unreadable;
      return found;
    } catch (error) {
      throw toStatusError(error);
    }
  };
  try {
    const waiting = waitUntilFresh(resource.collection, parseResourceVersion(resourceVersion), call);
    return waiting ? waiting.then(find, throwStatusError) : find();
  } catch (error) {
    throw toStatusError(error);
  }
}

function throwStatusError(error: unknown): never {
  throw toStatusError(error);
}

/**
 * The cached object, or undefined if there is none, like a get with resourceVersion 0. It nearly always returns without
 * waiting: authentication calls it for nearly every request.
 */
export function getAnyVersion(
  resource: Resource,
  { namespace, name }: { readonly namespace: string | undefined; readonly name: string },
  call: Call,
): StoredObject | undefined | Promise<StoredObject | undefined> {
  const find = (): StoredObject | undefined => getCached(resource, namespace, name);
  try {
    const reaching = waitUntilFresh(resource.collection, 'any', call);
    return reaching ? withStatusErrors(() => reaching.then(find)) : find();
  } catch (error) {
    throw toStatusError(error);
  }
}
