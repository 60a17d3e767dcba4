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

/** One row of the table of a kind. */
interface Row {
  readonly scope: Exclude<EndpointScope, 'subresource'>;
  readonly method: EndpointMethod;
  /** The endpoint exists if the kind has the first one. */
  readonly verbs: readonly [Verb, ...Verb[]];
  readonly handler: HandlerName;
  readonly operation: Omit<OperationObject, 'produces'> & Partial<Pick<OperationObject, 'produces'>>;
}

/** Those of the objects themselves. */
export function objectEndpoints(kind: ApiVersion): readonly Endpoint[] {
  const { group, version, plural } = kind;
  const paths = pathsOf(kind);
  const produces = mediaTypesOf(kind);
  return objectRows(kind)
    .filter(({ verbs: [verb] }) => kind.verbs.includes(verb))
    .map(({ scope, method, verbs, handler, operation }) => ({
      path: paths[scope],
      scope,
      method,
      verbs: verbs.filter((verb) => kind.verbs.includes(verb)),
      handler,
      group,
      plural,
      subresource: undefined,
      target: { group, version, kind: kind.kind },
      operation: { produces, ...operation },
    }));
}

function objectRows(kind: ApiVersion): readonly Row[] {
  const { plural, schema, listSchema, namespaced } = kind;
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
  const inAllNamespaces: readonly Row[] = [
    {
      scope: 'allNamespaces',
      method: 'GET',
      verbs: ['list', 'watch'],
      handler: 'list',
      operation: {
        ...listed,
        action: 'list',
        id: id('list', `${kind.kind}ForAllNamespaces`),
        description: `Lists or watches ${plural} in all namespaces.`,
      },
    },
    {
      scope: 'watchAllNamespaces',
      method: 'GET',
      verbs: ['watch'],
      handler: 'watch',
      operation: {
        ...watched,
        action: 'watchlist',
        id: id('watch', `${kind.kind}ListForAllNamespaces`),
        description: `Watches ${plural} in all namespaces. Deprecated; use a list with watch=true.`,
      },
    },
  ];
  return [
    {
      scope: 'collection',
      method: 'GET',
      verbs: ['list', 'watch'],
      handler: 'list',
      operation: {
        ...listed,
        action: 'list',
        id: id('list', object),
        description: `Lists or watches ${plural}${inNamespace}.`,
      },
    },
    {
      scope: 'collection',
      method: 'POST',
      verbs: ['create'],
      handler: 'create',
      operation: {
        action: 'post',
        id: id('create', object),
        description: `Creates an object of kind ${kind.kind}.`,
        parameters: parametersOf.write,
        body: stored,
        responses: responsesOfCreate(schema),
      },
    },
    {
      scope: 'collection',
      method: 'DELETE',
      verbs: ['deletecollection'],
      handler: 'deleteCollection',
      operation: {
        action: 'deletecollection',
        id: id('delete', `Collection${object}`),
        description: `Deletes ${plural}${inNamespace}.`,
        parameters: parametersOf.deleteCollection,
        body: deletion,
        responses: [ok(statusSchema)],
      },
    },
    {
      scope: 'object',
      method: 'GET',
      verbs: ['get'],
      handler: 'get',
      operation: {
        action: 'get',
        id: id('read', object),
        description: `Reads the specified ${kind.kind}.`,
        parameters: parametersOf.get,
        responses: [ok(schema)],
      },
    },
    {
      scope: 'object',
      method: 'PUT',
      verbs: ['update'],
      handler: 'update',
      operation: {
        action: 'put',
        id: id('replace', object),
        description: `Replaces the specified ${kind.kind}.`,
        parameters: parametersOf.write,
        body: stored,
        responses: responsesOfUpdate(schema),
      },
    },
    {
      scope: 'object',
      method: 'PATCH',
      verbs: ['patch'],
      handler: 'patch',
      operation: {
        action: 'patch',
        id: id('patch', object),
        description: `Partially updates the specified ${kind.kind}.`,
        parameters: parametersOf.patch,
        body: patchBody,
        responses: responsesOfUpdate(schema),
      },
    },
    {
      scope: 'object',
      method: 'DELETE',
      verbs: ['delete'],
      handler: 'delete',
      operation: {
        action: 'delete',
        id: id('delete', object),
        description: `Deletes the specified ${kind.kind}.`,
        parameters: parametersOf.delete,
        body: deletion,
        responses: [ok(deleted), accepted(deleted)],
      },
    },
    ...(namespaced ? inAllNamespaces : []),
    {
      scope: 'watchCollection',
      method: 'GET',
      verbs: ['watch'],
      handler: 'watch',
      operation: {
        ...watched,
        action: 'watchlist',
        id: id('watch', `${object}List`),
        description: `Watches ${plural}${inNamespace}. Deprecated; use a list with watch=true.`,
      },
    },
    {
      scope: 'watchObject',
      method: 'GET',
      verbs: ['watch'],
      handler: 'watch',
      operation: {
        ...watched,
        action: 'watch',
        id: id('watch', object),
        description: `Watches the specified ${kind.kind}. Deprecated; use a list with watch=true and a field selector.`,
      },
    },
  ];
}
