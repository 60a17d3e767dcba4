import type { Call, SyncTask } from '@cluster-apiserver/base';
import type { Authorize } from '@cluster-apiserver/expressions';
import type { Authorizer } from '@cluster-apiserver/gates';
import { namespaceKind, type ParamKind } from '@cluster-apiserver/kinds';
import type { ImmediateConversion, KubeObject, ServedKind } from '@cluster-apiserver/model/kind';
import { type CachedObject, getCached, inVersion, type LiveApi, type Resource } from '@cluster-apiserver/registry';
import { textOfItemKey } from '@cluster-apiserver/storage';
import { ConfigurationError, type ParamObjects } from './params.ts';

/** What policies and webhooks read from the server, all from the watch cache. */
export interface ClusterState {
  /** The resources that serve the same objects in other groups or versions. */
  findEquivalents(resource: ServedKind): readonly ServedKind[];
  /** An object of a write in the version of this resource. A promise if the conversion has to wait. */
  shown(resource: ServedKind, object: KubeObject, call: Call): KubeObject | Promise<KubeObject>;
  /** An object in the version in which writes of this resource are decided. */
  decided(resource: ServedKind, object: KubeObject, call: Call): KubeObject | Promise<KubeObject>;
  /** The namespace for expressions: without managed fields and owner references. */
  namespace(name: string): KubeObject | undefined;
  authorize(question: Parameters<Authorize>[0], call: Call): ReturnType<Authorize>;
  /** The objects of a kind; undefined if it is not served. */
  params(kind: ParamKind): ParamObjects | undefined;
}

export interface ClusterStateOptions {
  readonly api: LiveApi;
  readonly authorizer: Authorizer;
}

export function createClusterState({ api, authorizer }: ClusterStateOptions): ClusterState {
  /** Cached, because every write in a namespace reads it. */
  const decodedNamespaces = new WeakMap<object, KubeObject>();
  const namespaces = api.ofVersion(namespaceKind);
  return {
    findEquivalents: (resource) =>
      api.ofVersion(resource)?.kind.versions.filter((other) => other !== resource && other.isServed) ?? [],
    shown: (resource, object, call) => {
      const own = api.ofVersion(resource);
      return own ? inVersion(own.kind, object, own.served, call) : object;
    },
    decided: (resource, object, call) => {
      const own = api.ofVersion(resource);
      return own ? inVersion(own.kind, object, own.kind, call) : object;
    },
    namespace: (name) => {
      const stored = namespaces && getCached(namespaces, undefined, name);
      if (!stored) return undefined;
      const object = decodedNamespaces.get(stored) ?? dropHiddenMetadata(stored.object);
      decodedNamespaces.set(stored, object);
      return object;
    },
    authorize: (question, call) => authorizer.authorize(question, call),
    params: ({ apiVersion, kind }) => {
      const found = api.byKind(apiVersion ?? '', kind ?? '');
      return found && createParamObjects(found);
    },
  };
}

const shownAs = (resource: Resource, object: KubeObject): KubeObject => {
  const { kind, served } = resource;
  return object.apiVersion === served.apiVersion ? object : requireImmediate(resource).convert(object, kind, served);
};

/** Throws a ConfigurationError: parameters are not converted by a webhook, and the failurePolicy applies. */
function requireImmediate({ kind: { conversion }, served }: Resource): ImmediateConversion {
  if (conversion.isImmediate) return conversion;
  throw new ConfigurationError(`objects cannot be converted to ${served.apiVersion} during admission`);
}

function dropHiddenMetadata(namespace: KubeObject): KubeObject {
  const { managedFields: _, ownerReferences: __, ...metadata } = namespace.metadata;
  return { ...namespace, metadata };
}

function createParamObjects(resource: Resource): ParamObjects {
  const { kind } = resource;
  return {
    namespaced: kind.namespaced,
    get: (namespace, name) => {
      const found = getCached(resource, namespace, name);
      return found && shownAs(resource, found.object);
    },
    select: (namespace, matches) => selectObjects(resource, namespace, matches),
  };
}

const itemsPerStep = 32;

/** Throws a ConfigurationError for an unreadable object: it is unknown whether the selector matches it. */
function* selectObjects(
  resource: Resource,
  namespace: string | undefined,
  matches: (labels: Readonly<Record<string, string>>) => boolean,
): SyncTask<readonly KubeObject[]> {
  const { collection, kind } = resource;
  const within = namespace === undefined ? '' : `${namespace}/`;
  const items: CachedObject[] = [];
  collection.view().items.visit(within, (item) => item.key.startsWith(within) && items.push(item) > 0);
  const found: KubeObject[] = [];
  for (const [index, item] of items.entries()) {
    if (item.unreadable)
      throw new ConfigurationError(`a parameter cannot be read: ${kind.plural}/${textOfItemKey(item.key)}`);
    if (matches(item.labels ?? {})) found.push(shownAs(resource, item.object));
    if (index % itemsPerStep === 0) yield;
  }
  return found;
}
