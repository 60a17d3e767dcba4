import type { ApiVersion, Review } from '@cluster-apiserver/model/kind';
import { type Dialect, type JsonSchema, toJsonSchema } from '@cluster-apiserver/model/schema';
import { documentJson, type DocumentPart, documentParts } from './document-parts.ts';
import { type Operation, pathParameters } from './operations.ts';
import { type Parameter, parametersOf } from '../endpoints/parameters.ts';

/** The parts of OpenAPI 2.0 that this server writes, for clients without support for version 3. */
export interface Document2 {
  readonly swagger: '2.0';
  readonly info: { readonly title: string; readonly version: string };
  readonly paths: Readonly<Record<string, PathItem2>>;
  readonly definitions: Readonly<Record<string, JsonSchema>>;
}
export type PathItem2 = { readonly parameters?: readonly Parameter2[] } & Partial<
  Readonly<Record<Operation['method'], Operation2>>
>;
interface Operation2 {
  readonly operationId: string;
  readonly tags: readonly string[];
  readonly description: string;
  readonly consumes: readonly string[];
  readonly produces: readonly string[];
  readonly parameters?: readonly Parameter2[];
  readonly responses: Readonly<Record<string, { readonly description: string; readonly schema?: JsonSchema }>>;
  readonly [extension: `x-kubernetes-${string}`]: unknown;
}
interface Parameter2 {
  readonly name: string;
  readonly in: 'query' | 'path' | 'body';
  readonly required?: true;
  readonly description: string;
  readonly type?: string;
  readonly schema?: JsonSchema;
}

const dialect: Dialect = { references: '#/definitions/', describedReferences: true };

/** One document for all groups and versions, as its beginning and its parts. */
export const documentBegin2 = (version: string): Pick<Document2, 'swagger' | 'info'> => ({
  swagger: '2.0',
  info: { title: 'Cluster API Server', version },
});
export const documentParts2 = (kinds: readonly (ApiVersion | Review)[]): Generator<DocumentPart<PathItem2>> =>
  documentParts(kinds, dialect, formatPathItem);
export const documentJson2 = (begin: object, parts: Iterable<DocumentPart<PathItem2>>): Generator<string | undefined> =>
  documentJson(begin, parts, { between: '"definitions":', end: '' });

const formatPathItem = (path: string, operations: readonly Operation[]): PathItem2 => ({
  ...Object.fromEntries(operations.map((one) => [one.method, formatOperation(one)])),
  parameters: [
    ...pathParameters(path).map((one) => ({ ...parameter('path')(one), required: true as const })),
    ...parametersOf.path.map(parameter('query')),
  ],
});

const formatOperation = (one: Operation): Operation2 => {
  const parameters = [...formatBodyParameter(one), ...one.parameters.map(parameter('query'))];
  return {
    operationId: one.id,
    tags: [one.tag],
    description: one.description,
    consumes: one.body?.types ?? ['*/*'],
    produces: one.produces,
    ...(parameters.length > 0 && { parameters }),
    responses: Object.fromEntries(
      one.responses.map(({ code, description, schema }) => [
        code,
        { description, ...(schema && { schema: toJsonSchema(schema, dialect) }) },
      ]),
    ),
    'x-kubernetes-action': one.action,
    'x-kubernetes-group-version-kind': one.target,
  };
};

const formatBodyParameter = ({ body }: Operation): Parameter2[] =>
  body
    ? [
        {
          name: 'body',
          in: 'body',
          ...(body.required && { required: true }),
          description: 'Request body.',
          schema: toJsonSchema(body.schema, dialect),
        },
      ]
    : [];

const parameter =
  (place: 'query' | 'path') =>
  ({ name, type, description }: Parameter): Parameter2 => ({ name, in: place, description, type });
