import type { ApiVersion, Review } from '@cluster-apiserver/model/kind';
import { type Endpoint, pathsOf } from './endpoint.ts';
import { objectEndpoints } from './object-endpoints.ts';
import { mediaTypesOf, objectName, operationId, responsesOfCreate } from './operation-parts.ts';
import { parametersOf } from './parameters.ts';
import { subresourceEndpoints } from './subresource-endpoints.ts';

/** Everything that clients can do with a kind, in the order in which OpenAPI lists it. */
export const endpointsOf = (kind: ApiVersion | Review): readonly Endpoint[] =>
  'answer' in kind
    ? reviewEndpoints(kind)
    : [
        ...objectEndpoints(kind),
        ...kind.subresourceForms.flatMap((subresource) => subresourceEndpoints(kind, subresource)),
      ];

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
        responses: responsesOfCreate(schema),
        produces: types,
      },
    },
  ];
}
