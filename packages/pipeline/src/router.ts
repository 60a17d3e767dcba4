import { awaitWithin, type Call, type Clock, getOwn, invariant, settle } from '@cluster-apiserver/base';
import type { Authorizer } from '@cluster-apiserver/gates';
import { badRequest, methodNotSupported, notFound as objectNotFound, StatusError } from '@cluster-apiserver/model';
import type { ApiVersion, Review, ServedKind } from '@cluster-apiserver/model/kind';
import { isDetached, type LiveApi, type Resource } from '@cluster-apiserver/registry';
import type { Endpoint, EndpointScope, HandlerName } from './endpoints/endpoint.ts';
import { endpointsOf } from './endpoints/endpoints.ts';
import type { ApiResponse, Handler } from './exchange.ts';
import { addWarning, type AuthenticatedContext } from './request-context.ts';
import { createHandler } from './handlers/create.ts';
import { createSubresourceHandler, reviewHandler } from './handlers/create-unstored.ts';
import { deleteHandler } from './handlers/delete.ts';
import { deleteCollectionHandler } from './handlers/delete-collection.ts';
import { getHandler } from './handlers/get.ts';
import { listHandler } from './handlers/list.ts';
import { applyType, patchParserOf } from './handlers/parse-patch.ts';
import { patchHandler } from './handlers/patch.ts';
import { projectionHandlers } from './handlers/projection.ts';
import type { WriteChecks } from './handlers/requester.ts';
import { updateHandler } from './handlers/update.ts';
import { watchHandler, type WatchLimits } from './handlers/watch.ts';
import { madeOnce } from './non-resource/live-routes.ts';
import { mediaTypeOf } from './request-body/body-formats.ts';
import { readBoolean, type ResourceInfo } from './request-info.ts';

export interface RouteOptions {
  readonly api: LiveApi;
  /** Kinds that are answered and never stored. */
  readonly reviews: readonly Review[];
  readonly clock: Clock;
  readonly checks: WriteChecks;
  readonly deleteCollectionWorkers: number;
  readonly watchLimits: WatchLimits;
  /** Authorizes the deletion of unreadable objects; undefined if that is disabled. */
  readonly unsafeDeletionAuthorizer?: Authorizer | undefined;
  /** Handles non-resource paths. */
  readonly nonResourceRouter: Handler<AuthenticatedContext>;
}

/** The handlers at one path, by method. */
type Methods = Readonly<Record<string, Handler<AuthenticatedContext>>>;

/** The handlers of one resource. A scope that the kind does not have is absent. */
interface ResourceRoutes {
  readonly kind: ApiVersion | Review;
  readonly scopes: Readonly<Partial<Record<EndpointScope, Methods>>>;
  /** By the name of the subresource. */
  readonly subresources: Readonly<Record<string, Methods>>;
}

/** What the router knows of all that is served. */
interface RouteTable {
  /** Those with kinds of the server. */
  readonly groups: ReadonlySet<string>;
  /** With their groups. */
  readonly versions: ReadonlySet<string>;
}

/**
 * Returns the router. Its table is built from the endpoints of all kinds, and replaced as a whole when a kind comes or
 * goes; a request keeps the resource that it was routed to.
 */
export function createRouter(options: RouteOptions): Handler<AuthenticatedContext> {
  const { api, reviews, clock, checks } = options;
  /**
   * Made once for each version: all its watchers share frames. A request that began before its kind was replaced, or removed,
   * finds the routes of that time.
   */
  const routes = new WeakMap<ServedKind, ResourceRoutes>();
  for (const review of reviews)
    routes.set(
      review,
      routesOf(review, () => reviewHandler(review, checks, clock)),
    );
  const addRoutes = (resources: readonly Resource[]): void => {
    for (const resource of resources)
      if (resource.served.isServed)
        routes.set(resource.served, routesOf(resource.served, handlersOf(resource, options)));
  };
  const tableOf = (resources: readonly Resource[]): RouteTable => {
    const all = [...resources.map(({ served }) => served), ...reviews];
    return {
      groups: new Set(['', ...all.filter(({ isCustom }) => !isCustom).map(({ group }) => group)]),
      versions: new Set(all.map(({ group, version }) => `${group}/${version}`)),
    };
  };
  addRoutes(api.resources);
  api.onChange(({ came }) => addRoutes(came));
  const tableFor = madeOnce(tableOf);
  const nextChange = (call: Call): Promise<void> => {
    const changed = Promise.withResolvers<void>();
    const stopListening = api.onChange(() => changed.resolve());
    return awaitWithin(clock, call, changed.promise).finally(stopListening);
  };
  /** Unknown groups, and those that clients have defined, get a plain 404. */
  const handleAfter = async (
    waiting: Promise<void> | undefined,
    context: AuthenticatedContext,
    { group, version, plural }: ResourceInfo,
  ): Promise<ApiResponse> => {
    await waiting;
    const served = api.byPath(group, version, plural)?.served;
    Object.assign(context, { served });
    return served ? handle(context) : options.nonResourceRouter(context);
  };
  /** A read whose kind is replaced meanwhile, such as by one with another storage version, goes on with the new one. */
  const readFailed = (error: unknown, context: AuthenticatedContext): Promise<ApiResponse> => {
    const { served } = context;
    const info = context.info.resource;
    const now = info && api.byPath(info.group, info.version, info.plural)?.served;
    const isReplaced = served !== undefined && (now !== served || isBeingReplaced(api, served));
    if (!info || !isReplaced || !isDetached(error)) throw error;
    return handleAfter(undefined, context, info);
  };
  const handle: Handler<AuthenticatedContext> = (context) => {
    const info = context.info.resource;
    if (!info)
      return (isMissingVersion(tableFor(api.resources), context.info.path) ? notFound : options.nonResourceRouter)(
        context,
      );
    const { served } = context;
    if (served && api.isLoading && isBeingReplaced(api, served))
      return handleAfter(nextChange(context.call), context, info);
    const found = served && routes.get(served);
    const handler = found && handlerFor(found, info, context.request.method);
    if (handler && found.kind.deprecation !== undefined) addWarning(context, found.kind.deprecation);
    if (handler)
      return context.request.method === 'GET' ? settle(handler, context, sameResponse, readFailed) : handler(context);
    // In a group of the server, an unknown version or resource is answered with a Status.
    if (tableFor(api.resources).groups.has(info.group)) return notFound();
    if (served || !api.catchUp) return options.nonResourceRouter(context);
    return handleAfter(api.catchUp(info, context.call), context, info);
  };
  return handle;
}

const sameResponse = (response: ApiResponse): ApiResponse => response;

/** Whether the objects of the kind are being loaded for another kind of the same name: the request waits for it. */
const isBeingReplaced = (api: LiveApi, served: ServedKind): boolean =>
  api.ofVersion(served)?.collection.isDetached === true;

/** Whether the path is the discovery document of a version that a served group does not have. */
function isMissingVersion({ groups, versions }: RouteTable, path: string): boolean {
  const [, root, ...rest] = path.split('/');
  const [group, version] = root === 'api' ? ['', rest[0]] : root === 'apis' && rest[0] ? rest : [];
  return group !== undefined && groups.has(group) && !!version && !versions.has(`${group}/${version}`);
}

function routesOf(
  kind: ApiVersion | Review,
  handlerOf: (endpoint: Endpoint) => Handler<AuthenticatedContext>,
): ResourceRoutes {
  const scopes: Partial<Record<EndpointScope, Record<string, Handler<AuthenticatedContext>>>> = {};
  const subresources: Record<string, Record<string, Handler<AuthenticatedContext>>> = {};
  for (const endpoint of endpointsOf(kind)) {
    const { scope, method, subresource } = endpoint;
    const methods = subresource === undefined ? (scopes[scope] ??= {}) : (subresources[subresource] ??= {});
    methods[method] = handlerOf(endpoint);
  }
  return { kind, scopes, subresources };
}

/** The handlers of a kind whose objects are stored. Each is created once, because watchers of all paths share frames. */
function handlersOf(
  resource: Resource,
  { api, checks, deleteCollectionWorkers, watchLimits, unsafeDeletionAuthorizer: mayDeleteUnreadable }: RouteOptions,
): (endpoint: Endpoint) => Handler<AuthenticatedContext> {
  const list = listHandler(resource);
  const watch = watchHandler(resource, watchLimits);
  const handlers: Readonly<
    Record<Exclude<HandlerName, 'createSubresource' | 'review'>, Handler<AuthenticatedContext>>
  > = {
    get: getHandler(resource),
    list: (context) => (readBoolean(context.info.query, 'watch') ? watch(context) : list(context)),
    watch,
    create: createHandler(resource, checks),
    update: updateHandler(resource, checks),
    patch: patchHandler(resource, checks),
    delete: deleteHandler(resource, checks, mayDeleteUnreadable),
    deleteCollection: deleteCollectionHandler(resource, checks, deleteCollectionWorkers, mayDeleteUnreadable),
  };
  const ofProjections = new Map(
    resource.served.fieldSubresources.flatMap((one) =>
      one.projection ? [[one.name, projectionHandlers(resource, one, one.projection, checks)] as const] : [],
    ),
  );
  return ({ handler, subresource: name }) => {
    invariant(handler !== 'review', 'a review has no stored objects');
    const projections = name === undefined ? undefined : ofProjections.get(name);
    if (projections && (handler === 'get' || handler === 'update' || handler === 'patch')) return projections[handler];
    if (handler !== 'createSubresource') return handlers[handler];
    const subresource = resource.served.subresources.find((one) => one.name === name);
    invariant(subresource, 'an endpoint creates a subresource that its kind does not declare');
    return createSubresourceHandler(resource, subresource, checks, api);
  };
}

/** Undefined where nothing is served. */
function handlerFor(
  found: ResourceRoutes,
  info: ResourceInfo,
  method: string,
): Handler<AuthenticatedContext> | undefined {
  const { kind } = found;
  const { namespace, isInNamespace: inNamespace, name, subresource, hasExtraSegments: beyond } = info;
  const misplaced = kind.namespaced ? namespace === undefined && name !== undefined : inNamespace;
  if (beyond || name === '' || misplaced) return undefined;
  const methods = methodsOf(found, info);
  if (!kind.isCustom) return methods && (getOwn(methods, method) ?? notAllowed);
  if (methods) return getOwn(methods, method) ?? customMethod(found, info, method);
  if (subresource === undefined || name === undefined) return undefined;
  return () => {
    throw objectNotFound(kind, name);
  };
}

/**
 * Methods that no document of a kind names. As in kube-apiserver, a POST to an object creates what its body names, and a PUT
 * or a PATCH of a collection lacks a name.
 */
function customMethod(
  { kind, scopes }: ResourceRoutes,
  { namespace, subresource, name }: ResourceInfo,
  method: string,
): Handler<AuthenticatedContext> | undefined {
  if (subresource === undefined && name !== undefined && method === 'POST' && scopes.collection?.[method])
    return scopes.collection[method];
  if (kind.namespaced && namespace === undefined) return undefined;
  const isOfObject = subresource === undefined && name === undefined && (method === 'PUT' || method === 'PATCH');
  return ({ request, info }) => {
    if (!isOfObject) throw methodNotSupported(kind, info.verb);
    const type = mediaTypeOf(request) ?? '';
    if (method === 'PATCH' && type !== applyType) patchParserOf(kind, type);
    throw badRequest('name must be provided');
  };
}

function methodsOf(
  { kind: { namespaced }, scopes, subresources }: ResourceRoutes,
  { namespace, name, subresource, isWatchPath: watchPath }: ResourceInfo,
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
