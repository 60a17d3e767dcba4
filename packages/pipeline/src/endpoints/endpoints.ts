import {
  deleteOptions,
  type Kind,
  type ObjectSchema,
  type Review,
  type ServedKind,
  type ServedSubresource,
  statusSchema,
  type Verb,
  watchEvent,
} from '@cluster-apiserver/model';
import {
  type Endpoint,
  type EndpointMethod,
  type EndpointScope,
  type HandlerName,
  type OperationObject,
  type OperationResponse,
  pathsOf,
  type RequestBody,
} from './endpoint.ts';
import { parametersOf } from './parameters.ts';

/** Everything that clients can do with a kind, in the order in which OpenAPI lists it. */
export const endpointsOf = (kind: Kind | Review): readonly Endpoint[] =>
  'answer' in kind
    ? reviewEndpoints(kind)
    : [
        ...objectEndpoints(kind),
        ...kind.subresourceForms.flatMap((subresource) => subresourceEndpoints(kind, subresource)),
      ];

/** One row of the table of a kind. */
interface Row {
  readonly scope: Exclude<EndpointScope, 'subresource'>;
  readonly method: EndpointMethod;
  /** The endpoint exists if the kind has the first one. */
  readonly verbs: readonly [Verb, ...Verb[]];
  readonly handler: HandlerName;
  readonly operation: Omit<OperationObject, 'produces'> & Partial<Pick<OperationObject, 'produces'>>;
}

function objectEndpoints(kind: Kind): readonly Endpoint[] {
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

function objectRows(kind: Kind): readonly Row[] {
  const { plural, schema, listSchema, namespaced } = kind;
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
        responses: [created(schema)],
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
        responses: kind.createOnUpdate ? [ok(schema), created(schema)] : [ok(schema)],
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
        responses: [ok(schema), created(schema)],
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
        responses: [ok(kind.deletedAnswer === 'object' ? schema : statusSchema), accepted(schema)],
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

function subresourceEndpoints(kind: Kind, subresource: ServedSubresource): readonly Endpoint[] {
  const { name, schema } = subresource;
  const noun = `${objectName(kind)}${capitalized(name)}`;
  const produces = mediaTypesOf(kind);
  const body: RequestBody = { schema, types: produces, required: true };
  const described = `the ${name} subresource of the specified ${kind.kind}`;
  const endpoint = (
    method: EndpointMethod,
    verb: Verb,
    handler: HandlerName,
    operation: Omit<OperationObject, 'produces'>,
  ): Endpoint[] =>
    subresource.verbs.includes(verb)
      ? [
          {
            path: `${pathsOf(kind).object}/${name}`,
            scope: 'subresource',
            method,
            verbs: [verb],
            handler,
            group: kind.group,
            plural: kind.plural,
            subresource: name,
            target: { group: subresource.group, version: subresource.version, kind: subresource.kind },
            operation: { produces, ...operation },
          },
        ]
      : [];
  return [
    ...endpoint('POST', 'create', 'createSubresource', {
      action: 'post',
      id: operationId(kind, 'create', noun),
      description: `Creates ${described}.`,
      parameters: parametersOf.write,
      body,
      responses: [created(schema)],
    }),
    ...endpoint('GET', 'get', 'get', {
      action: 'get',
      id: operationId(kind, 'read', noun),
      description: `Reads ${described}.`,
      parameters: parametersOf.get,
      responses: [ok(schema)],
    }),
    ...endpoint('PUT', 'update', 'update', {
      action: 'put',
      id: operationId(kind, 'replace', noun),
      description: `Replaces ${described}.`,
      parameters: parametersOf.write,
      body,
      responses: [ok(schema)],
    }),
    ...endpoint('PATCH', 'patch', 'patch', {
      action: 'patch',
      id: operationId(kind, 'patch', noun),
      description: `Partially updates ${described}.`,
      parameters: parametersOf.patch,
      body: patchBody,
      responses: [ok(schema)],
    }),
  ];
}

function reviewEndpoints(review: Review): readonly Endpoint[] {
  const { group, version, kind, plural, schema } = review;
  const types = mediaTypesOf(review);
  return [
    {
      path: pathsOf(review).collection,
      scope: 'collection',
      method: 'POST',
      verbs: ['create'],
      handler: 'review',
      group,
      plural,
      subresource: undefined,
      target: { group, version, kind },
      operation: {
        action: 'post',
        id: operationId(review, 'create', objectName(review)),
        description: `Creates an object of kind ${kind}, which is answered and not stored.`,
        parameters: parametersOf.write,
        body: { schema, types, required: true },
        responses: [created(schema)],
        produces: types,
      },
    },
  ];
}

const ok = (schema: ObjectSchema): OperationResponse => ({ code: 200, description: 'OK', schema });
const created = (schema: ObjectSchema): OperationResponse => ({ code: 201, description: 'Created', schema });
const accepted = (schema: ObjectSchema): OperationResponse => ({
  code: 202,
  description: 'Accepted',
  schema,
});

const patchBody: RequestBody = {
  schema: undefined,
  types: [
    'application/apply-patch+yaml',
    'application/json-patch+json',
    'application/merge-patch+json',
    'application/strategic-merge-patch+json',
  ],
  required: true,
};

/** Media types of request bodies and of responses. */
const mediaTypesOf = ({ hasProtobuf }: ServedKind): readonly string[] => [
  'application/json',
  'application/yaml',
  ...(hasProtobuf ? ['application/vnd.kubernetes.protobuf'] : []),
];

/** Media types of watch events. YAML cannot be streamed. */
const streamTypesOf = (kind: Kind): readonly string[] =>
  mediaTypesOf(kind).flatMap((type) => (type === 'application/yaml' ? [] : [`${type};stream=watch`]));

/** How operation IDs name one object: `NamespacedRobot`. */
const objectName = ({ namespaced, kind }: ServedKind): string => `${namespaced ? 'Namespaced' : ''}${kind}`;

/** Such as `listCoreV1NamespacedRobot`, or `readRobotsExampleComV1Robot`. */
function operationId({ group, version }: ServedKind, verb: string, noun: string): string {
  return `${verb}${groupVersionWords(group, version).map(capitalized).join('')}${noun}`;
}

/** The words of a group and version in operation IDs and tags: `core` and `v1`, or `robots`, `example`, `com` and `v1`. */
export const groupVersionWords = (group: string, version: string): readonly string[] => [
  ...(group.replace(/\.k8s\.io$/, '') || 'core').split(/[.-]/),
  version,
];

const capitalized = (word: string): string => word.charAt(0).toUpperCase() + word.slice(1);
