import { type Clock, invariant, type Random, requireValue } from '@cluster-apiserver/base';
import { badRequest, type Kind, pathSegment } from '@cluster-apiserver/model';
import {
  type Collection,
  itemKey,
  openWatchCache,
  type ReadMeasures,
  type Store,
  type WatchCache,
  type WatchCacheEvent,
} from '@cluster-apiserver/storage';
import { Channels } from './watch/channels.ts';
import { type CachedObject, collectionFormOf, type StoredObject } from './stored-object.ts';
import { WatchTurns } from './watch/watch-turns.ts';

/** A kind with the dependencies of its verbs. */
export interface Resource {
  readonly kind: Kind;
  /** The kind as clients see it: the kind itself, or a view of it. */
  readonly served: Kind;
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

export interface RegistryOptions {
  readonly kinds: readonly Kind[];
  readonly store: Store;
  /** Where the keys of all kinds begin, such as /registry. */
  readonly keyPrefix: string;
  readonly clock: Clock;
  readonly random: Random;
  readonly report: (event: WatchCacheEvent) => void;
  /** About etcd's election timeout: a watch that is behind and has made no progress for so long is reopened. */
  readonly stallMs?: number;
  readonly shardedReads?: boolean;
  readonly readMeasures?: (kind: Kind) => ReadMeasures;
}

export interface Registry {
  /** In the order of their kinds, without views. */
  readonly resources: readonly Resource[];
  /** The same resources once more, as views see them. */
  readonly views: readonly Resource[];
  readonly cache: Omit<WatchCache<CachedObject>, 'collections' | 'retryUnreadable'>;
  /** Reads unreadable objects again, after the encryption keys were reloaded or a KMS plugin has recovered. */
  readonly retryUnreadable: () => void;
}

/** The resource of a kind; undefined if it is not served. Kinds of different groups may have the same name. */
export const findResource = (resources: readonly Resource[], group: string, name: string): Resource | undefined =>
  resources.find(({ kind }) => kind.group === group && kind.kind === name);

/** Opens the resources of all kinds and begins to follow them in memory. */
export function openRegistry(options: RegistryOptions): Registry {
  const { kinds, keyPrefix, shardedReads = false, readMeasures, ...environment } = options;
  const { store, clock, random } = environment;
  const stored = kinds.filter(({ view }) => !view);
  const prefixes = stored.map(({ storagePrefix }) => `${storagePrefix}/`);
  invariant(
    prefixes.every((prefix) => prefixes.filter((other) => other.startsWith(prefix)).length === 1),
    'objects of two kinds with one storage prefix, or one within the other, would be taken for each other',
  );
  const forms = stored.map((kind) => ({ ...collectionFormOf(kind, keyPrefix), measures: readMeasures?.(kind) }));
  const cache = openWatchCache({ ...environment, prefix: `${keyPrefix}/`, collections: forms });
  const sharedByWatches = { clock, turns: new WatchTurns(clock) };
  const resources = stored.map((kind, index): Resource => {
    const collection = requireValue(cache.collections[index], 'every form has a collection');
    const channels = new Channels(collection, kind, sharedByWatches);
    return { kind, served: kind, store, collection, channels, shardedReads, clock, random };
  });
  const views = kinds.flatMap((kind) => viewResourcesOf(kind, resources));
  return { resources, views, cache, retryUnreadable: () => cache.retryUnreadable() };
}

/** A view has the objects and channels of another kind, with a schema and validation of its own. */
function viewResourcesOf(kind: Kind, resources: readonly Resource[]): Resource[] {
  const { view } = kind;
  return view
    ? resources.filter((one) => one.kind === view.of).map((seen) => ({ ...seen, kind: view.rules, served: kind }))
    : [];
}

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
