import type { Call, SyncTask } from '@cluster-apiserver/base';
import type { Authorize } from '@cluster-apiserver/expressions';
import type { Authorizer } from '@cluster-apiserver/gates';
import { namespaceKind, type ParamKind } from '@cluster-apiserver/kinds';
import { toServed, toStored, type KubeObject, type ServedKind } from '@cluster-apiserver/model';
import { type CachedObject, getCached, type Resource } from '@cluster-apiserver/registry';
import { textOfItemKey } from '@cluster-apiserver/storage';
import { ConfigurationError, type ParamObjects } from './params.ts';

/** What policies and webhooks read from the server, all from the watch cache. */
export interface PolicyEnvironment {
  /** The resources that serve the same objects in other groups or versions. */
  findEquivalents(resource: ServedKind): readonly ServedKind[];
  /** Converts a stored object to the version of this resource. */
  asServed(resource: ServedKind, object: KubeObject): KubeObject;
  /** Converts an object of this resource to the version in which it is stored. */
  asStored(resource: ServedKind, object: KubeObject): KubeObject;
  /** The namespace for expressions: without managed fields and owner references. */
  namespace(name: string): KubeObject | undefined;
  authorize(question: Parameters<Authorize>[0], call: Call): ReturnType<Authorize>;
  /** The objects of a kind; undefined if it is not served. */
  params(kind: ParamKind): ParamObjects | undefined;
}

export interface PolicyEnvironmentOptions {
  readonly resources: readonly Resource[];
  /** The same resources in other groups and versions. */
  readonly views: readonly Resource[];
  readonly authorizer: Authorizer;
}

export function createPolicyEnvironment({ resources, views, authorizer }: PolicyEnvironmentOptions): PolicyEnvironment {
  /** Cached, because every write in a namespace reads it. */
  const decodedNamespaces = new WeakMap<object, KubeObject>();
  const namespaces = resources.find(({ kind }) => kind === namespaceKind);
  const all = [...resources, ...views];
  const resourceOf = new Map<ServedKind, Resource>(all.map((one) => [one.served, one]));
  const equivalents = new Map<ServedKind, readonly ServedKind[]>(
    all.map((one) => [
      one.served,
      all.flatMap((other) => (other !== one && other.collection === one.collection ? [other.served] : [])),
    ]),
  );
  const convertBy =
    (convert: typeof toServed) =>
    (resource: ServedKind, object: KubeObject): KubeObject => {
      const own = resourceOf.get(resource);
      return own ? convert(own.served, object) : object;
    };
  return {
    findEquivalents: (resource) => equivalents.get(resource) ?? [],
    asServed: convertBy(toServed),
    asStored: convertBy(toStored),
    namespace: (name) => {
      const stored = namespaces && getCached(namespaces, undefined, name);
      if (!stored) return undefined;
      const object = decodedNamespaces.get(stored) ?? dropHiddenMetadata(stored.object);
      decodedNamespaces.set(stored, object);
      return object;
    },
    authorize: (question, call) => authorizer.authorize(question, call),
    params: ({ apiVersion, kind }) => {
      const found = all.find(({ served }) => served.apiVersion === apiVersion && served.kind === kind);
      return found && createParamObjects(found);
    },
  };
}

function dropHiddenMetadata(namespace: KubeObject): KubeObject {
  const { managedFields: _, ownerReferences: __, ...metadata } = namespace.metadata;
  return { ...namespace, metadata };
}

function createParamObjects(resource: Resource): ParamObjects {
  const { served, kind } = resource;
  return {
    namespaced: kind.namespaced,
    get: (namespace, name) => {
      const found = getCached(resource, namespace, name);
      return found && toServed(served, found.object);
    },
    select: (namespace, matches) => selectObjects(resource, namespace, matches),
  };
}

const itemsPerStep = 32;

/** Throws a ConfigurationError for an unreadable object: it is unknown whether the selector matches it. */
function* selectObjects(
  { served, collection, kind }: Resource,
  namespace: string | undefined,
  matches: (labels: Readonly<Record<string, string>>) => boolean,
): SyncTask<readonly KubeObject[]> {
  const within = namespace === undefined ? '' : `${namespace}/`;
  const items: CachedObject[] = [];
  collection.view().items.visit(within, (item) => item.key.startsWith(within) && items.push(item) > 0);
  const found: KubeObject[] = [];
  for (const [index, item] of items.entries()) {
    if (item.unreadable)
      throw new ConfigurationError(`a parameter cannot be read: ${kind.plural}/${textOfItemKey(item.key)}`);
    if (matches(item.labels ?? {})) found.push(toServed(served, item.object));
    if (index % itemsPerStep === 0) yield;
  }
  return found;
}
