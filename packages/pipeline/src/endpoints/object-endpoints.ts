import type { ApiVersion, Verb } from '@cluster-apiserver/model/kind';
import { deleteOptions, statusSchema, watchEvent } from '@cluster-apiserver/model/schema';
import {
  type Endpoint,
  type EndpointMethod,
  type EndpointScope,
  type HandlerName,
  type OperationObject,
  pathsOf,
  type RequestBody,
} from './endpoint.ts';
import {
  accepted,
  mediaTypesOf,
  objectName,
  ok,
  responsesOfCreate,
  responsesOfUpdate,
  operationId,
  patchBody,
  streamTypesOf,
} from './operation-parts.ts';
import { parametersOf } from './parameters.ts';

/** What OpenAPI says of one; the media types of responses may be those of objects. */
type Described = Omit<OperationObject, 'produces'> & Partial<Pick<OperationObject, 'produces'>>;

/** Those of the objects themselves. */
export function objectEndpoints(kind: ApiVersion): readonly Endpoint[] {
  const { group, version, plural, schema, listSchema, namespaced } = kind;
  const paths = pathsOf(kind);
  const deleted = kind.deletedAnswer === 'object' ? schema : statusSchema;
  const object = objectName(kind);
  const id = (verb: string, noun: string): string => operationId(kind, verb, noun);
  const types = mediaTypesOf(kind);
  const stored: RequestBody = { schema, types, required: true };
  const deletion: RequestBody = { schema: deleteOptions, types, required: false };
  const inNamespace = namespaced ? ' in a namespace' : '';
  const listed = {
    parameters: parametersOf.list,
    responses: [ok(listSchema)],
    produces: [...types, ...streamTypesOf(kind)],
  };
  const watched = {
    parameters: parametersOf.list,
    responses: [ok(watchEvent)],
    produces: ['application/json', ...streamTypesOf(kind)],
  };
  /** None if the kind does not have the first of the verbs. */
  const endpoint = (
    scope: Exclude<EndpointScope, 'subresource'>,
    method: EndpointMethod,
    [verb, ...others]: readonly [Verb, ...Verb[]],
    handler: HandlerName,
    operation: Described,
  ): readonly Endpoint[] =>
    kind.verbs.includes(verb)
      ? [
          {
            path: paths[scope],
            scope,
            method,
            verbs: [verb, ...others.filter((one) => kind.verbs.includes(one))],
            handler,
            group,
            plural,
            subresource: undefined,
            target: { group, version, kind: kind.kind },
            operation: { produces: types, ...operation },
          },
        ]
      : [];
  const inAllNamespaces = [
    ...endpoint('allNamespaces', 'GET', ['list', 'watch'], 'list', {
      ...listed,
      action: 'list',
      id: id('list', `${kind.kind}ForAllNamespaces`),
      description: `Lists or watches ${plural} in all namespaces.`,
    }),
    ...endpoint('watchAllNamespaces', 'GET', ['watch'], 'watch', {
      ...watched,
      action: 'watchlist',
      id: id('watch', `${kind.kind}ListForAllNamespaces`),
      description: `Watches ${plural} in all namespaces. Deprecated; use a list with watch=true.`,
    }),
  ];
  return [
    ...endpoint('collection', 'GET', ['list', 'watch'], 'list', {
      ...listed,
      action: 'list',
      id: id('list', object),
      description: `Lists or watches ${plural}${inNamespace}.`,
    }),
    ...endpoint('collection', 'POST', ['create'], 'create', {
      action: 'post',
      id: id('create', object),
      description: `Creates an object of kind ${kind.kind}.`,
      parameters: parametersOf.write,
      body: stored,
      responses: responsesOfCreate(schema),
    }),
    ...endpoint('collection', 'DELETE', ['deletecollection'], 'deleteCollection', {
      action: 'deletecollection',
      id: id('delete', `Collection${object}`),
      description: `Deletes ${plural}${inNamespace}.`,
      parameters: parametersOf.deleteCollection,
      body: deletion,
      responses: [ok(statusSchema)],
    }),
    ...endpoint('object', 'GET', ['get'], 'get', {
      action: 'get',
      id: id('read', object),
      description: `Reads the specified ${kind.kind}.`,
      parameters: parametersOf.get,
      responses: [ok(schema)],
    }),
    ...endpoint('object', 'PUT', ['update'], 'update', {
      action: 'put',
      id: id('replace', object),
      description: `Replaces the specified ${kind.kind}.`,
      parameters: parametersOf.write,
      body: stored,
      responses: responsesOfUpdate(schema),
    }),
    ...endpoint('object', 'PATCH', ['patch'], 'patch', {
      action: 'patch',
      id: id('patch', object),
      description: `Partially updates the specified ${kind.kind}.`,
      parameters: parametersOf.patch,
      body: patchBody(kind),
      responses: responsesOfUpdate(schema),
    }),
    ...endpoint('object', 'DELETE', ['delete'], 'delete', {
      action: 'delete',
      id: id('delete', object),
      description: `Deletes the specified ${kind.kind}.`,
      parameters: parametersOf.delete,
      body: deletion,
      responses: [ok(deleted), accepted(deleted)],
    }),
    ...(namespaced ? inAllNamespaces : []),
    ...endpoint('watchCollection', 'GET', ['watch'], 'watch', {
      ...watched,
      action: 'watchlist',
      id: id('watch', `${object}List`),
      description: `Watches ${plural}${inNamespace}. Deprecated; use a list with watch=true.`,
    }),
    ...endpoint('watchObject', 'GET', ['watch'], 'watch', {
      ...watched,
      action: 'watch',
      id: id('watch', object),
      description: `Watches the specified ${kind.kind}. Deprecated; use a list with watch=true and a field selector.`,
    }),
  ];
}
