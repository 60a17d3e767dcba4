import type { ApiVersion, Review } from '@cluster-apiserver/model/kind';
import { type Dialect, type JsonSchema, toJsonSchema, type ObjectSchema } from '@cluster-apiserver/model/schema';
import { documentJson, type DocumentPart, documentParts } from './document-parts.ts';
import { type Operation, pathParameters } from './operations.ts';
import { type Parameter, parametersOf } from '../endpoints/parameters.ts';

/** The parts of OpenAPI 3.0 that this server writes. */
export interface Document3 {
  readonly openapi: '3.0.0';
  readonly info: { readonly title: string; readonly version: string };
  readonly paths: Readonly<Record<string, PathItem3>>;
  readonly components: { readonly schemas: Readonly<Record<string, JsonSchema>> };
}
export type PathItem3 = { readonly parameters?: readonly Parameter3[] } & Partial<
  Readonly<Record<Operation['method'], Operation3>>
>;
export interface Operation3 {
  readonly operationId: string;
  readonly tags: readonly string[];
  readonly description: string;
  readonly parameters?: readonly Parameter3[];
  readonly requestBody?: { readonly required?: true; readonly content: Content };
  readonly responses: Readonly<Record<string, { readonly description: string; readonly content?: Content }>>;
  readonly [extension: `x-kubernetes-${string}`]: unknown;
}
export interface Parameter3 {
  readonly name: string;
  readonly in: 'query' | 'path';
  readonly required?: true;
  readonly description: string;
  readonly schema: JsonSchema;
}
export type Content = Readonly<Record<string, { readonly schema: JsonSchema }>>;

const dialect: Dialect = { references: '#/components/schemas/', describedReferences: false };

/** The document of one group and version, so that clients fetch only what they need: its beginning and its parts. */
export const documentBegin3 = (version: string): Pick<Document3, 'openapi' | 'info'> => ({
  openapi: '3.0.0',
  info: { title: 'Cluster API Server', version },
});
export const documentParts3 = (kinds: readonly (ApiVersion | Review)[]): Generator<DocumentPart<PathItem3>> =>
  documentParts(kinds, dialect, formatPathItem);
export const documentJson3 = (begin: object, parts: Iterable<DocumentPart<PathItem3>>): Generator<string | undefined> =>
  documentJson(begin, parts, { between: '"components":{"schemas":', end: '}' });

const formatPathItem = (path: string, operations: readonly Operation[]): PathItem3 => ({
  ...Object.fromEntries(operations.map((one) => [one.method, formatOperation(one)])),
  parameters: [
    ...pathParameters(path).map((one) => ({ ...parameter('path')(one), required: true as const })),
    ...parametersOf.path.map(parameter('query')),
  ],
});

const formatOperation = (one: Operation): Operation3 => ({
  operationId: one.id,
  tags: [one.tag],
  description: one.description,
  // Repeated for each operation: kubectl looks here for fieldValidation and does not follow references. Clients drop empty
  // lists, and some compare the document with what they have written of it.
  ...(one.parameters.length > 0 && { parameters: one.parameters.map(parameter('query')) }),
  ...(one.body && {
    requestBody: {
      ...(one.body.required && { required: true }),
      content: formatContent(one.body.types, one.body.schema),
    },
  }),
  responses: Object.fromEntries(
    one.responses.map(({ code, description, schema }) => [
      code,
      { description, ...(schema && { content: formatContent(one.produces, schema) }) },
    ]),
  ),
  'x-kubernetes-action': one.action,
  'x-kubernetes-group-version-kind': one.target,
});

const parameter =
  (place: Parameter3['in']) =>
  ({ name, type, description }: Parameter): Parameter3 => ({ name, in: place, description, schema: { type } });

const formatContent = (types: readonly string[], schema: ObjectSchema): Content =>
  Object.fromEntries(types.map((type) => [type, { schema: toJsonSchema(schema, dialect) }]));
