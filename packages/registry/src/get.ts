import { notFound } from '@cluster-apiserver/model';
import type { Call, Revision } from '@cluster-apiserver/storage';
import { Outcome } from './outcome.ts';
import { objectKey, type Resource } from './resource.ts';
import { parseResourceVersion } from './resource-version.ts';
import { answering, tooLargeResourceVersion } from './storage-answers.ts';

/** The whole meaning of "get", for every kind. `resourceVersion` asks for a state at least that new. */
export function get(
  resource: Resource,
  place: { readonly namespace: string; readonly name: string },
  resourceVersion: string | undefined,
  call: Call,
): Promise<Outcome> {
  return answering(async () => {
    const atLeast = parseResourceVersion(resourceVersion);
    const { stored, revision } = await resource.store.get(objectKey(resource, place.namespace, place.name), call);
    requireAtLeast(atLeast, revision);
    if (!stored) throw notFound(resource.kind, place.name);
    return Outcome.ofStored(stored);
  });
}

/** Reads are of the newest state, so a version beyond it does not exist yet. */
export function requireAtLeast(atLeast: Revision | 'any' | undefined, newest: Revision): void {
  if (typeof atLeast === 'number' && atLeast > newest)
    throw tooLargeResourceVersion(`Too large resource version: ${atLeast}, current: ${newest}`);
}
