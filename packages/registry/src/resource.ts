import type { Clock, Random } from '@cluster-apiserver/base';
import { badRequest } from '@cluster-apiserver/model';
import type { Kind, KubeObject } from '@cluster-apiserver/model/kind';
import { pathSegment } from '@cluster-apiserver/model/validation';
import { type Collection, itemKey, type Store } from '@cluster-apiserver/storage';
import type { VersionedKind } from './conversion.ts';
import type { Channels } from './watch/channels.ts';
import type { CachedObject, StoredObject } from './stored-object.ts';

/** One version of a kind with the dependencies of its verbs. All versions share the objects and their watchers. */
export interface Resource extends VersionedKind {
  /** The version in which its objects are written to the store, as a kind. */
  readonly stored: Kind;
  /** Converts a stored object at once; undefined if it is served as it is stored, or if the conversion has to wait. */
  readonly fromStored: ((stored: KubeObject) => KubeObject) | undefined;
  /** Where its objects are written, and read when the cache must not be used. */
  readonly store: Store;
  /** Where its objects are read. */
  readonly collection: Collection<CachedObject>;
  /** Its watchers. */
  readonly channels: Channels;
  /** Whether shard selectors are evaluated; otherwise clients get all objects. */
  readonly shardedReads: boolean;
  readonly clock: Clock;
  readonly random: Random;
}

/** The part of a resource that building an object needs, without a store. */
export type ResourceKind = Pick<Resource, 'kind' | 'served' | 'clock' | 'random'>;

/** The keys of an object in the store and in its collection. The segments are checked, so a key stays in its collection. */
export interface Place {
  readonly key: string;
  readonly itemKey: string;
}

export function placeOf({ collection, kind }: Resource, namespace: string | undefined, name: string): Place {
  const named = requirePathSegment('Name', name);
  const path = kind.namespaced ? `${requirePathSegment('Namespace', namespace ?? '')}/${named}` : named;
  return { key: collection.descriptor.prefix + path, itemKey: itemKey(path) };
}

/** An object as the cache has it, which may be slightly stale. Throws CorruptValueError if it is unreadable. */
export function getCached(resource: Resource, namespace: string | undefined, name: string): StoredObject | undefined {
  const found = resource.collection.get(placeOf(resource, namespace, name).itemKey);
  if (found?.unreadable) throw found.unreadable;
  return found;
}

/** Throws unless it can be the name of a namespace. */
export const validateNamespace = (namespace: string | undefined): unknown =>
  namespace === undefined || requirePathSegment('Namespace', namespace);

function requirePathSegment(what: string, text: string): string {
  const problems = text === '' ? ['must not be empty'] : pathSegment(text);
  if (problems.length > 0)
    throw badRequest(`${what} parameter invalid: ${JSON.stringify(text)}: ${problems.join('; ')}`);
  return text;
}
