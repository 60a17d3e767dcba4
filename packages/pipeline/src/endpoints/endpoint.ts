import type { ServedKind, Verb } from '@cluster-apiserver/model/kind';
import type { GroupVersionKind, ObjectSchema } from '@cluster-apiserver/model/schema';
import type { Parameter } from './parameters.ts';

/**
 * One method of one path of a resource. The router, the OpenAPI documents and discovery are derived from the endpoints
 * in `endpoints.ts`: adding one there adds it everywhere.
 */
export interface Endpoint {
  /** With `{namespace}` and `{name}` as placeholders. */
  readonly path: string;
  readonly scope: EndpointScope;
  readonly method: EndpointMethod;
  /** The verbs that authorization checks. Where there are several, the query decides which. */
  readonly verbs: readonly Verb[];
  readonly handler: HandlerName;
  readonly group: string;
  readonly plural: string;
  readonly subresource: string | undefined;
  /** The kind of the objects that requests and responses carry, as discovery and OpenAPI name it. */
  readonly target: GroupVersionKind;
  readonly operation: OperationObject;
}

export type EndpointMethod = 'GET' | 'PUT' | 'POST' | 'DELETE' | 'PATCH';

/** What the path of an endpoint addresses. */
export type EndpointScope =
  | 'collection'
  | 'allNamespaces'
  | 'object'
  | 'subresource'
  | 'watchCollection'
  | 'watchAllNamespaces'
  | 'watchObject';

/** The handler that serves the endpoint, in `handlers/`. `list` hands requests with `watch=true` to `watch`. */
export type HandlerName =
  | 'get'
  | 'list'
  | 'watch'
  | 'create'
  | 'update'
  | 'patch'
  | 'delete'
  | 'deleteCollection'
  | 'createSubresource'
  | 'review';

/** What OpenAPI says of the endpoint, independent of the version of OpenAPI. */
export interface OperationObject {
  /** The value of `x-kubernetes-action`. */
  readonly action: string;
  readonly id: string;
  readonly description: string;
  readonly parameters: readonly Parameter[];
  readonly body?: RequestBody;
  readonly responses: readonly OperationResponse[];
  /** Media types of responses. */
  readonly produces: readonly string[];
}

export interface RequestBody {
  readonly schema: ObjectSchema;
  readonly types: readonly string[];
  readonly required: boolean;
}

export interface OperationResponse {
  readonly code: number;
  readonly description: string;
  /** Undefined for a response whose body is not described. */
  readonly schema: ObjectSchema | undefined;
}

type PathScope = Exclude<EndpointScope, 'subresource'>;

/** The path of each scope. Those of a cluster-scoped kind have no namespace. */
export function pathsOf({ group, apiVersion, plural, namespaced }: ServedKind): Readonly<Record<PathScope, string>> {
  const root = group ? `/apis/${apiVersion}` : `/api/${apiVersion}`;
  const collection = namespaced ? `namespaces/{namespace}/${plural}` : plural;
  return {
    collection: `${root}/${collection}`,
    allNamespaces: `${root}/${plural}`,
    object: `${root}/${collection}/{name}`,
    watchCollection: `${root}/watch/${collection}`,
    watchAllNamespaces: `${root}/watch/${plural}`,
    watchObject: `${root}/watch/${collection}/{name}`,
  };
}
