import { type Clock, getOwn, invariant } from '@cluster-apiserver/base';
import type { Authorizer } from '@cluster-apiserver/gates';
import { type Kind, type Review, StatusError } from '@cluster-apiserver/model';
import type { Resource } from '@cluster-apiserver/registry';
import type { Endpoint, EndpointScope, HandlerName } from './endpoints/endpoint.ts';
import { endpointsOf } from './endpoints/endpoints.ts';
import type { ApiResponse, Handler } from './exchange.ts';
import type { Authenticated } from './facts.ts';
import { createHandler } from './handlers/create.ts';
import { createSubresourceHandler } from './handlers/create-subresource.ts';
import { deleteHandler } from './handlers/delete.ts';
import { deleteCollectionHandler } from './handlers/delete-collection.ts';
import { getHandler } from './handlers/get.ts';
import { listHandler } from './handlers/list.ts';
import { patchHandler } from './handlers/patch.ts';
import type { WriteChecks } from './handlers/place.ts';
import { replaceHandler } from './handlers/replace.ts';
import { reviewHandler } from './handlers/review.ts';
import { watchHandler, type WatchLimits } from './handlers/watch.ts';
import { flag, type ResourceInfo } from './request-info.ts';

export interface RouteOptions {
  readonly resources: readonly Resource[];
  /** What is answered and never stored. */
  readonly reviews: readonly Review[];
  readonly clock: Clock;
  readonly checks: WriteChecks;
  readonly deleteCollectionWorkers: number;
  readonly watchLimits: WatchLimits;
  /** Who may delete what cannot be read; nobody when undefined. */
  readonly mayDeleteUnreadable?: Authorizer | undefined;
  /** What answers paths that are no resources. */
  readonly documents: Handler<Authenticated>;
}

/** The handlers at one path, by method. */
type Methods = Readonly<Record<string, Handler<Authenticated>>>;

/** The handlers of one resource. A scope that the kind does not have is absent. */
interface ResourceRoutes {
  readonly namespaced: boolean;
  readonly scopes: Readonly<Partial<Record<EndpointScope, Methods>>>;
  /** By the name of the subresource. */
  readonly subresources: Readonly<Record<string, Methods>>;
}

/** The router: finds the handler of a request in a table that is built from the endpoints of all kinds. */
export function routes(options: RouteOptions): Handler<Authenticated> {
  const { resources, reviews, clock, checks } = options;
  const served = [...resources.map((resource) => resource.served), ...reviews];
  const table = new Map([
    ...resources.map(
      (resource) => [keyOf(resource.served), routesOf(resource.served, handlersOf(resource, options))] as const,
    ),
    ...reviews.map((review) => [keyOf(review), routesOf(review, () => reviewHandler(review, checks, clock))] as const),
  ]);
  const groups = new Set(['', ...served.map(({ group }) => group)]);
  const versions = new Set(served.map(({ group, version }) => `${group}/${version}`));
  /** Whether the path is the discovery document of a version that a served group does not have. */
  const isMissingVersion = (path: string): boolean => {
    const [, root, ...rest] = path.split('/');
    const [group, version] = root === 'api' ? ['', rest[0]] : root === 'apis' && rest[0] ? rest : [];
    return group !== undefined && groups.has(group) && !!version && !versions.has(`${group}/${version}`);
  };
  return (facts) => {
    const info = facts.info.resource;
    if (!info) return (isMissingVersion(facts.info.path) ? notFound : options.documents)(facts);
    const found = table.get(`${info.group}/${info.version}/${info.plural}`);
    if (found) return handlerFor(found, info, facts.request.method)(facts);
    // Unknown groups are no part of the API. In a served group, a wrong version or resource is answered with a Status.
    return (groups.has(info.group) ? notFound : options.documents)(facts);
  };
}

const keyOf = ({ group, version, plural }: Kind | Review): string => `${group}/${version}/${plural}`;

function routesOf(kind: Kind | Review, handlerOf: (endpoint: Endpoint) => Handler<Authenticated>): ResourceRoutes {
  const scopes: Partial<Record<EndpointScope, Record<string, Handler<Authenticated>>>> = {};
  const subresources: Record<string, Record<string, Handler<Authenticated>>> = {};
  for (const endpoint of endpointsOf(kind)) {
    const { scope, method, subresource } = endpoint;
    const methods = subresource === undefined ? (scopes[scope] ??= {}) : (subresources[subresource] ??= {});
    methods[method] = handlerOf(endpoint);
  }
  return { namespaced: kind.namespaced, scopes, subresources };
}

/** The handlers of a kind whose objects are stored. Each is created once, because watchers of all paths share frames. */
function handlersOf(
  resource: Resource,
  { checks, deleteCollectionWorkers, watchLimits, mayDeleteUnreadable }: RouteOptions,
): (endpoint: Endpoint) => Handler<Authenticated> {
  const list = listHandler(resource);
  const watch = watchHandler(resource, watchLimits);
  const handlers: Readonly<Record<Exclude<HandlerName, 'createSubresource' | 'review'>, Handler<Authenticated>>> = {
    get: getHandler(resource),
    list: (facts) => (flag(facts.info.query, 'watch') ? watch(facts) : list(facts)),
    watch,
    create: createHandler(resource, checks),
    replace: replaceHandler(resource, checks),
    patch: patchHandler(resource, checks),
    delete: deleteHandler(resource, checks, mayDeleteUnreadable),
    deleteCollection: deleteCollectionHandler(resource, checks, deleteCollectionWorkers, mayDeleteUnreadable),
  };
  return ({ handler, subresource: name }) => {
    invariant(handler !== 'review', 'a review has no stored objects');
    if (handler !== 'createSubresource') return handlers[handler];
    const subresource = resource.served.subresources.find((one) => one.name === name);
    invariant(subresource, 'an endpoint creates a subresource that its kind does not declare');
    return createSubresourceHandler(resource, subresource, checks);
  };
}

function handlerFor(found: ResourceRoutes, info: ResourceInfo, method: string): Handler<Authenticated> {
  const { namespace, inNamespace, name, beyond } = info;
  const misplaced = found.namespaced ? namespace === undefined && name !== undefined : inNamespace;
  if (beyond || name === '' || misplaced) return notFound;
  const methods = methodsOf(found, info);
  return methods ? (getOwn(methods, method) ?? notAllowed) : notFound;
}

function methodsOf(
  { namespaced, scopes, subresources }: ResourceRoutes,
  { namespace, name, subresource, watchPath }: ResourceInfo,
): Methods | undefined {
  if (subresource !== undefined) return watchPath ? undefined : getOwn(subresources, subresource);
  if (name !== undefined) return watchPath ? scopes.watchObject : scopes.object;
  if (namespaced && namespace === undefined) return watchPath ? scopes.watchAllNamespaces : scopes.allNamespaces;
  return watchPath ? scopes.watchCollection : scopes.collection;
}

const notFound = (): ApiResponse => {
  throw new StatusError('NotFound', 'the server could not find the requested resource', {});
};

const notAllowed = (): ApiResponse => {
  throw new StatusError('MethodNotAllowed', 'the server does not allow this method on the requested resource', {});
};
