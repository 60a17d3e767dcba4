import { encodeWith, type ProtobufWriter, writeNested } from '@cluster-apiserver/model/codec';
import type { JsonSchema } from '@cluster-apiserver/model/schema';
import {
  encodeExtensions,
  type EncodedSchemas,
  encodeInside,
  flag,
  named,
  nestedSchema,
  text,
  texts,
} from './protobuf-fields.ts';
import type { DocumentPart } from './document-parts.ts';
import type { Content, Document3, Operation3, Parameter3, PathItem3 } from './version-3.ts';

/** The served name first; the second is the one that client-go requests. */
export const protobuf3Types = [
  'application/com.github.proto-openapi.spec.v3.v1.0+protobuf',
  'application/com.github.proto-openapi.spec.v3@v1.0+protobuf',
] as const;

/** Encodes OpenAPI 3 as gnostic's `openapi.v3` messages, each part as one of its own. */
export function* encodeDocument3(
  { openapi, info }: Pick<Document3, 'openapi' | 'info'>,
  parts: Iterable<DocumentPart<PathItem3>>,
): Generator<Uint8Array | undefined, void> {
  yield encodeWith((document) => {
    text(document, 1, openapi);
    writeNested(document, 2, (message) => {
      text(message, 1, info.title);
      text(message, 6, info.version);
    });
  });
  for (const part of parts) {
    if (part && 'definition' in part) yield* encodeInside(part.schema, encoded, encodeSchema);
    yield part &&
      encodeWith((document) => {
        if ('path' in part)
          writeNested(document, 4, (message) => named(message, 1, { [part.path]: part.item }, encodePathItem));
        else
          writeNested(document, 5, (message) =>
            writeNested(message, 1, (schemas) =>
              named(schemas, 1, { [part.definition]: part.schema }, encodeSchemaOrReference),
            ),
          );
      });
  }
}

const encoded: EncodedSchemas = new WeakMap();

const methods = [
  ['get', 4],
  ['put', 5],
  ['post', 6],
  ['delete', 7],
  ['patch', 10],
] as const;

function encodePathItem(to: ProtobufWriter, item: PathItem3): void {
  for (const [method, number] of methods) {
    const found = item[method];
    if (found) writeNested(to, number, (message) => encodeOperation(message, found));
  }
  encodeParameters(to, 13, item.parameters);
}

function encodeOperation(to: ProtobufWriter, one: Operation3): void {
  const { requestBody, responses } = one;
  texts(to, 1, one.tags);
  text(to, 3, one.description);
  text(to, 5, one.operationId);
  encodeParameters(to, 6, one.parameters);
  if (requestBody)
    writeNested(to, 7, (either) =>
      writeNested(either, 1, (message) => {
        encodeContent(message, 2, requestBody.content);
        flag(message, 3, requestBody.required);
      }),
    );
  writeNested(to, 8, (message) =>
    named(message, 2, responses, (either, { description, content }) =>
      writeNested(either, 1, (response) => {
        text(response, 1, description);
        if (content) encodeContent(response, 3, content);
      }),
    ),
  );
  encodeExtensions(to, 13, one);
}

function encodeParameters(to: ProtobufWriter, number: number, all: readonly Parameter3[] = []): void {
  for (const { name, in: place, description, required, schema } of all)
    writeNested(to, number, (either) =>
      writeNested(either, 1, (message) => {
        text(message, 1, name);
        text(message, 2, place);
        text(message, 3, description);
        flag(message, 4, required);
        writeNested(message, 10, (item) => encodeSchemaOrReference(item, schema));
      }),
    );
}

const encodeContent = (to: ProtobufWriter, number: number, content: Content): void =>
  writeNested(to, number, (types) =>
    named(types, 1, content, (message, { schema }) =>
      writeNested(message, 1, (item) => encodeSchemaOrReference(item, schema)),
    ),
  );

function encodeSchemaOrReference(to: ProtobufWriter, schema: JsonSchema): void {
  const { $ref } = schema;
  if ($ref === undefined) nestedSchema(to, 1, schema, encoded, encodeSchema);
  else writeNested(to, 2, (message) => text(message, 1, $ref));
}

function encodeSchema(to: ProtobufWriter, schema: JsonSchema): void {
  const { required, type, allOf, items, properties, additionalProperties, description, format } = schema;
  texts(to, 23, required);
  text(to, 25, type);
  for (const one of allOf ?? []) writeNested(to, 26, (item) => encodeSchemaOrReference(item, one));
  if (items) writeNested(to, 30, (list) => writeNested(list, 1, (item) => encodeSchemaOrReference(item, items)));
  if (properties) writeNested(to, 31, (message) => named(message, 1, properties, encodeSchemaOrReference));
  if (additionalProperties)
    writeNested(to, 32, (either) =>
      writeNested(either, 1, (item) => encodeSchemaOrReference(item, additionalProperties)),
    );
  text(to, 34, description);
  text(to, 35, format);
  encodeExtensions(to, 36, schema);
}
