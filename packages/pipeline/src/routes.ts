import { type Clock, getOwn } from '@cluster-apiserver/base';
import type { Authorizer } from '@cluster-apiserver/gates';
import { type Review, type ServedKind, StatusError, type Verb } from '@cluster-apiserver/model';
import type { Resource } from '@cluster-apiserver/registry';
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

/** What one object, or a collection, answers to a method. */
type Methods = Readonly<Record<string, Route>>;

interface Route {
  /** What authorization is asked before it answers; which of them, the query says. */
  readonly verbs: readonly Verb[];
  readonly handle: Handler<Authenticated>;
}

/** A method of a path that is answered, with the right that it needs. */
export interface Endpoint {
  readonly method: string;
  /** With `{namespace}` and `{name}` in their places. */
  readonly path: string;
  readonly verbs: readonly Verb[];
  readonly group: string;
  readonly plural: string;
  readonly subresource: string | undefined;
}

/** What is not there has no path. */
interface Routes {
  readonly namespaced: boolean;
  readonly object?: Methods;
  /** What is behind one object, by its name. */
  readonly subresources?: Readonly<Record<string, Methods>>;
  readonly collection?: Methods;
  /** The collection of all namespaces; the only one of what lies in none. */
  readonly everywhere?: Methods;
  readonly watch?: Methods;
}

/** Which handler answers, from a table that is made of the kinds. */
export function routes(options: RouteOptions): Handler<Authenticated> {
  const all = allRoutes(options);
  const table = new Map(
    all.map(({ served: { group, version, plural }, routes }) => [`${group}/${version}/${plural}`, routes]),
  );
  const groups = new Set(['', ...all.map(({ served: { group } }) => group)]);
  const versions = new Set(all.map(({ served: { group, version } }) => `${group}/${version}`));
  /** Whether the path is the one that describes a version, in a served group that has no such version. */
  const isMissingVersion = (path: string): boolean => {
    const [, root, ...rest] = path.split('/');
    const [group, version] = root === 'api' ? ['', rest[0]] : root === 'apis' && rest[0] ? rest : [];
    return group !== undefined && groups.has(group) && !!version && !versions.has(`${group}/${version}`);
  };
  return (facts) => {
    const info = facts.info.resource;
    if (!info) return (isMissingVersion(facts.info.path) ? unknown : options.documents)(facts);
    const found = table.get(`${info.group}/${info.version}/${info.plural}`);
    if (found) return handlerFor(found, info, facts.request.method)(facts);
    // Unknown groups are no part of the API. In a served group, a wrong version or resource is answered with a Status.
    return (groups.has(info.group) ? unknown : options.documents)(facts);
  };
}

const allRoutes = (options: RouteOptions): readonly { served: ServedKind; routes: Routes }[] => [
  ...options.resources.map((resource) => ({ served: resource.served, routes: routesOf(resource, options) })),
  ...options.reviews.map((review) => ({ served: review, routes: routesOfReview(review, options) })),
];

/** The table as a list, so that what holds for every route can be checked for every route. */
export const endpoints = (options: RouteOptions): readonly Endpoint[] =>
  allRoutes(options).flatMap(({ served: { group, version, plural }, routes }) => {
    const root = group === '' ? `/api/${version}` : `/apis/${group}/${version}`;
    const namespaced = `/namespaces/{namespace}/${plural}`;
    const everywhere = `/${plural}`;
    const object = `${routes.namespaced ? namespaced : everywhere}/{name}`;
    const at = (path: string, methods: Methods | undefined, subresource?: string): Endpoint[] =>
      Object.entries(methods ?? {}).map(([method, { verbs }]) => ({
        method,
        path: root + path,
        verbs,
        group,
        plural,
        subresource,
      }));
    return [
      ...at(object, routes.object),
      ...Object.entries(routes.subresources ?? {}).flatMap(([name, methods]) => at(`${object}/${name}`, methods, name)),
      ...(routes.namespaced ? at(namespaced, routes.collection) : []),
      ...at(everywhere, routes.everywhere),
      ...(routes.namespaced ? at(`/watch${namespaced}`, routes.watch) : []),
      ...at(`/watch${everywhere}`, routes.watch),
      ...at(`/watch${object}`, routes.watch),
    ];
  });

function routesOf(
  resource: Resource,
  { checks, deleteCollectionWorkers, watchLimits, mayDeleteUnreadable }: RouteOptions,
): Routes {
  const list = listHandler(resource);
  const watch = watchHandler(resource, watchLimits);
  const listOrWatch: Handler<Authenticated> = (facts) => (flag(facts.info.query, 'watch') ? watch(facts) : list(facts));
  const { served } = resource;
  const [get, replace, patch] = [
    getHandler(resource),
    replaceHandler(resource, checks),
    patchHandler(resource, checks),
  ];
  const collection = methods(served.verbs, {
    GET: [['list', 'watch'], listOrWatch],
    POST: [['create'], createHandler(resource, checks)],
    DELETE: [
      ['deletecollection'],
      deleteCollectionHandler(resource, checks, deleteCollectionWorkers, mayDeleteUnreadable),
    ],
  });
  return {
    namespaced: served.namespaced,
    object: methods(served.verbs, {
      GET: [['get'], get],
      PUT: [['update'], replace],
      PATCH: [['patch'], patch],
      DELETE: [['delete'], deleteHandler(resource, checks, mayDeleteUnreadable)],
    }),
    subresources: Object.fromEntries([
      ...served.subresources.map((form) => [
        form.name,
        { POST: { verbs: ['create'], handle: createSubresourceHandler(resource, form, checks) } } as const,
      ]),
      ...served.parts.map(({ name, verbs }) => [
        name,
        methods(verbs, { GET: [['get'], get], PUT: [['update'], replace], PATCH: [['patch'], patch] }),
      ]),
    ]),
    collection,
    everywhere: served.namespaced ? methods(served.verbs, { GET: [['list', 'watch'], listOrWatch] }) : collection,
    watch: methods(served.verbs, { GET: [['watch'], watch] }),
  };
}

/** Those of them that the kind offers, by the first of their verbs. */
const methods = (
  offered: readonly Verb[],
  all: Readonly<Record<string, readonly [readonly [Verb, ...Verb[]], Handler<Authenticated>]>>,
): Methods =>
  Object.fromEntries(
    Object.entries(all).flatMap(([method, [verbs, handle]]) =>
      offered.includes(verbs[0]) ? [[method, { verbs, handle }]] : [],
    ),
  );

function routesOfReview(review: Review, { checks, clock }: RouteOptions): Routes {
  const { namespaced } = review;
  const methods = { POST: { verbs: ['create'], handle: reviewHandler(review, checks, clock) } } as const;
  return namespaced ? { namespaced, collection: methods } : { namespaced, everywhere: methods };
}

function handlerFor(found: Routes, info: ResourceInfo, method: string): Handler<Authenticated> {
  const { namespace, inNamespace, name, beyond } = info;
  const misplaced = found.namespaced ? namespace === undefined && name !== undefined : inNamespace;
  if (beyond || name === '' || misplaced) return unknown;
  const methods = methodsOf(found, info);
  return methods ? (getOwn(methods, method)?.handle ?? notAllowed) : unknown;
}

function methodsOf(
  found: Routes,
  { namespace, inNamespace, name, subresource, watchPath }: ResourceInfo,
): Methods | undefined {
  if (subresource !== undefined) return watchPath ? undefined : getOwn(found.subresources ?? {}, subresource);
  if (watchPath) return found.watch;
  if (name !== undefined) return found.object;
  return inNamespace && namespace !== undefined ? found.collection : found.everywhere;
}

const unknown = (): ApiResponse => {
  throw new StatusError('NotFound', 'the server could not find the requested resource', {});
};

const notAllowed = (): ApiResponse => {
  throw new StatusError('MethodNotAllowed', 'the server does not allow this method on the requested resource', {});
};
