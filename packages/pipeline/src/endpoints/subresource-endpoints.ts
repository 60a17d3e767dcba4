import type { ApiVersion, ServedSubresource, Verb } from '@cluster-apiserver/model/kind';
import {
  type Endpoint,
  type EndpointMethod,
  type HandlerName,
  type OperationObject,
  pathsOf,
  type RequestBody,
} from './endpoint.ts';
import {
  capitalized,
  mediaTypesOf,
  objectName,
  ok,
  operationId,
  patchBody,
  responsesOfCreate,
  responsesOfUpdate,
} from './operation-parts.ts';
import { parametersOf } from './parameters.ts';

export function subresourceEndpoints(kind: ApiVersion, subresource: ServedSubresource): readonly Endpoint[] {
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
      responses: responsesOfCreate(schema),
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
      responses: responsesOfUpdate(schema),
    }),
    ...endpoint('PATCH', 'patch', 'patch', {
      action: 'patch',
      id: operationId(kind, 'patch', noun),
      description: `Partially updates ${described}.`,
      parameters: parametersOf.patch,
      body: patchBody(kind),
      responses: responsesOfUpdate(schema),
    }),
  ];
}
