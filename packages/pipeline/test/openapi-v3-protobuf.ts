import { parseYaml } from '@cluster-apiserver/model/codec';
import protobuf from 'protobufjs';

/** Decodes an OpenAPI 3 document from gnostic's messages, by their published field numbers. */
export function decodeOpenApi3(bytes: Uint8Array): object {
  const document = root.lookupType('Document').decode(bytes);
  return documentOf(document.toJSON());
}

const { root } = protobuf.parse(`
syntax = "proto3";
message Document { string openapi = 1; Info info = 2; Paths paths = 4; Components components = 5; }
message Info { string title = 1; string version = 6; }
message Paths { repeated NamedPathItem path = 1; }
message NamedPathItem { string name = 1; PathItem value = 2; }
message PathItem {
  Operation get = 4; Operation put = 5; Operation post = 6; Operation delete = 7; Operation patch = 10;
  repeated ParameterOrReference parameters = 13;
}
message Operation {
  repeated string tags = 1; string description = 3; string operation_id = 5; repeated ParameterOrReference parameters = 6;
  RequestBodyOrReference request_body = 7; Responses responses = 8; repeated NamedAny extension = 13;
}
message ParameterOrReference { Parameter parameter = 1; }
message Parameter {
  string name = 1; string in = 2; string description = 3; bool required = 4; SchemaOrReference schema = 10;
}
message RequestBodyOrReference { RequestBody request_body = 1; }
message RequestBody { MediaTypes content = 2; bool required = 3; }
message MediaTypes { repeated NamedMediaType additional_properties = 1; }
message NamedMediaType { string name = 1; MediaType value = 2; }
message MediaType { SchemaOrReference schema = 1; }
message Responses { repeated NamedResponse response_or_reference = 2; }
message NamedResponse { string name = 1; ResponseOrReference value = 2; }
message ResponseOrReference { Response response = 1; }
message Response { string description = 1; MediaTypes content = 3; }
message Components { Schemas schemas = 1; }
message Schemas { repeated NamedSchema additional_properties = 1; }
message NamedSchema { string name = 1; SchemaOrReference value = 2; }
message SchemaOrReference { Schema schema = 1; Reference reference = 2; }
message Reference { string _ref = 1; }
message Schema {
  repeated string required = 23; string type = 25; repeated SchemaOrReference all_of = 26; Items items = 30;
  Schemas properties = 31; AdditionalProperties additional_properties = 32; string description = 34; string format = 35;
  repeated NamedAny extension = 36;
}
message Items { repeated SchemaOrReference schema_or_reference = 1; }
message AdditionalProperties { SchemaOrReference schema_or_reference = 1; }
message NamedAny { string name = 1; Any value = 2; }
message Any { string yaml = 2; }
`);

/** As protobufjs writes a decoded message to JSON: absent fields are left out. */
interface Message {
  readonly [field: string]: unknown;
}
type Named = readonly { readonly name: string; readonly value: Message }[];

const documentOf = ({ paths, components, ...rest }: Message): object => ({
  ...rest,
  paths: mapOf((paths as { readonly path: Named }).path, pathItemOf),
  components: { schemas: schemasOf((components as Message)['schemas']) },
});

const pathItemOf = ({ parameters, ...operations }: Message): object => ({
  ...Object.fromEntries(Object.entries(operations).map(([method, one]) => [method, operationOf(one as Message)])),
  ...parametersOf(parameters),
});

const operationOf = ({ parameters, requestBody, responses, extension, ...rest }: Message): object => ({
  ...rest,
  ...parametersOf(parameters),
  ...(requestBody !== undefined && { requestBody: bodyOf((requestBody as Message)['requestBody'] as Message) }),
  responses: mapOf((responses as { readonly responseOrReference: Named }).responseOrReference, ({ response }) =>
    bodyOf(response as Message),
  ),
  ...extensionsOf(extension),
});

/** Protobuf does not distinguish an empty list from none, which is what the document has. */
const parametersOf = (all: unknown): object =>
  all === undefined
    ? {}
    : {
        parameters: (all as readonly { readonly parameter: Message }[]).map(({ parameter: { schema, ...rest } }) => ({
          ...rest,
          schema: schemaOf(schema as Message),
        })),
      };

const bodyOf = ({ content, ...rest }: Message): object => ({
  ...rest,
  ...(content !== undefined && {
    content: mapOf((content as { readonly additionalProperties: Named }).additionalProperties, ({ schema }) => ({
      schema: schemaOf(schema as Message),
    })),
  }),
});

const schemasOf = (all: unknown): object =>
  mapOf((all as { readonly additionalProperties: Named }).additionalProperties, schemaOf);

function schemaOf({ schema, reference }: Message): object {
  if (reference) return { $ref: (reference as Message)['Ref'] ?? (reference as Message)['_ref'] };
  const { allOf, items, properties, additionalProperties, extension, ...rest } = (schema ?? {}) as Message;
  return {
    ...rest,
    ...(allOf !== undefined && { allOf: (allOf as readonly Message[]).map(schemaOf) }),
    ...(items !== undefined && { items: schemaOf((items as { schemaOrReference: [Message] }).schemaOrReference[0]) }),
    ...(properties !== undefined && { properties: schemasOf(properties) }),
    ...(additionalProperties !== undefined && {
      additionalProperties: schemaOf((additionalProperties as Message)['schemaOrReference'] as Message),
    }),
    ...extensionsOf(extension),
  };
}

const extensionsOf = (all: unknown): object =>
  mapOf((all ?? []) as Named, ({ yaml }) => parseYaml(yaml as string).value);

const mapOf = (all: Named, read: (value: Message) => unknown): Record<string, unknown> =>
  Object.fromEntries(all.map(({ name, value }) => [name, read(value)]));
