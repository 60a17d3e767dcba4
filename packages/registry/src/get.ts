import { notFound } from '@cluster-apiserver/model';
import type { Call } from '@cluster-apiserver/storage';
import { reach } from './reach.ts';
import { placeOf, type Resource } from './resource.ts';
import { parseResourceVersion } from './resource-version.ts';
import { answering } from './storage-answers.ts';
import type { StoredObject } from './stored-object.ts';

/** The whole meaning of "get", for every kind. `resourceVersion` asks for a state at least that new. */
export function get(
  resource: Resource,
  { namespace, name }: { readonly namespace: string | undefined; readonly name: string },
  resourceVersion: string | undefined,
  call: Call,
): Promise<StoredObject> {
  return answering(async () => {
    const { itemKey } = placeOf(resource, namespace, name);
    await reach(resource.collection, parseResourceVersion(resourceVersion), call);
    const found = resource.collection.get(itemKey);
    if (!found) throw notFound(resource.kind, name);
    if (found.unreadable) throw found.unreadable;
    return found;
  });
}
