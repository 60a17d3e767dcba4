import type { ApiVersion, Review } from '@cluster-apiserver/model/kind';
import type { GroupVersionKind, ObjectSchema } from '@cluster-apiserver/model/schema';
import type { EndpointMethod, OperationObject, OperationResponse } from '../endpoints/endpoint.ts';
import { endpointsOf } from '../endpoints/endpoints.ts';
import { groupVersionWords } from '../endpoints/operation-parts.ts';
import type { Parameter } from '../endpoints/parameters.ts';

/** An endpoint as OpenAPI describes it, before a version of OpenAPI formats it. */
export interface Operation extends OperationObject {
  readonly path: string;
  readonly method: Lowercase<EndpointMethod>;
  readonly tag: string;
  readonly target: GroupVersionKind;
}

const unauthorized: OperationResponse = { code: 401, description: 'Unauthorized', schema: undefined };

export const operationsOf = (kind: ApiVersion | Review): readonly Operation[] =>
  endpointsOf(kind).map(({ path, method, target, operation }) => ({
    ...operation,
    path,
    method: lowerCaseMethods[method],
    tag: groupVersionWords(kind.group, kind.version).join('_'),
    target,
    responses: [...operation.responses, unauthorized],
  }));

const lowerCaseMethods: { readonly [Method in EndpointMethod]: Lowercase<Method> } = {
  GET: 'get',
  PUT: 'put',
  POST: 'post',
  DELETE: 'delete',
  PATCH: 'patch',
};

/** The schemas of bodies and responses. */
export const schemasOf = ({ body, responses }: Operation): ObjectSchema[] => [
  ...(body ? [body.schema] : []),
  ...responses.flatMap(({ schema }) => schema ?? []),
];

/** The placeholders of a path. */
export const pathParameters = (path: string): readonly Parameter[] =>
  placeholders.filter(({ name }) => path.includes(`{${name}}`));

const placeholders: readonly Parameter[] = [
  { name: 'name', type: 'string', description: 'The name of the object.' },
  { name: 'namespace', type: 'string', description: 'The namespace of the objects.' },
];
