import { encodeWith, writeNested, type ProtobufWriter } from '@cluster-apiserver/model/codec';
import type { JsonSchema } from '@cluster-apiserver/model/schema';
import {
  encodeExtensions,
  type EncodedSchemas,
  encodeInside,
  flag,
  named,
  nestedSchema,
  pairs,
  text,
  texts,
} from './protobuf-fields.ts';
import type { DocumentPart } from './document-parts.ts';
import type { Document2, PathItem2 } from './version-2.ts';

/** The served name first; the second is the one that client-go still requests. */
export const protobuf2Types = [
  'application/com.github.proto-openapi.spec.v2.v1.0+protobuf',
  'application/com.github.proto-openapi.spec.v2@v1.0+protobuf',
] as const;

/**
 * Encodes OpenAPI 2 as gnostic's `openapi.v2` messages, the only format that client-go's discovery reads. kubectl falls
 * back to it for what version 3 does not describe, such as a file with a `List`. Concatenated messages of one type are one
 * message, so each part is one of its own.
 */
export function* encodeDocument2(
  { swagger, info }: Pick<Document2, 'swagger' | 'info'>,
  parts: Iterable<DocumentPart<PathItem2>>,
): Generator<Uint8Array | undefined, void> {
  yield encodeWith((document) => {
    text(document, 1, swagger);
    writeNested(document, 2, (message) => {
      text(message, 1, info.title);
      text(message, 2, info.version);
    });
  });
  for (const part of parts) {
    if (part && 'definition' in part) yield* encodeInside(part.schema, encoded, schema);
    yield part &&
      encodeWith((document) => {
        if ('path' in part)
          writeNested(document, 8, (message) => named(message, 2, { [part.path]: part.item }, encodePathItem));
        else writeNested(document, 9, (message) => namedSchemas(message, 1, { [part.definition]: part.schema }));
      });
  }
}

const encoded: EncodedSchemas = new WeakMap();

const inner = (to: ProtobufWriter, number: number, form: JsonSchema): void =>
  nestedSchema(to, number, form, encoded, schema);

const namedSchemas = (to: ProtobufWriter, number: number, all: Readonly<Record<string, JsonSchema>>): void =>
  pairs(to, number, all, (pair, form) => inner(pair, 2, form));

type PathItem = PathItem2;
type Operation = NonNullable<PathItem['get']>;
type Parameter = NonNullable<Operation['parameters']>[number];
type Response = Operation['responses'][string];

const methods = [
  ['get', 2],
  ['put', 3],
  ['post', 4],
  ['delete', 5],
  ['patch', 8],
] as const;

function encodePathItem(to: ProtobufWriter, item: PathItem): void {
  for (const [method, number] of methods) {
    const found = item[method];
    if (found) writeNested(to, number, (message) => encodeOperation(message, found));
  }
  encodeParameters(to, 9, item.parameters);
}

function encodeOperation(to: ProtobufWriter, one: Operation): void {
  texts(to, 1, one.tags);
  text(to, 3, one.description);
  text(to, 5, one.operationId);
  texts(to, 6, one.produces);
  texts(to, 7, one.consumes);
  encodeParameters(to, 8, one.parameters);
  writeNested(to, 9, (responses) =>
    named(responses, 1, one.responses, (value, answer) =>
      writeNested(value, 1, (message) => encodeResponse(message, answer)),
    ),
  );
  encodeExtensions(to, 13, one);
}

function encodeResponse(to: ProtobufWriter, answer: Response): void {
  text(to, 1, answer.description);
  if (answer.schema)
    writeNested(to, 2, (item) => writeNested(item, 1, (message) => schema(message, answer.schema ?? {})));
}

function encodeParameters(to: ProtobufWriter, number: number, all: readonly Parameter[] = []): void {
  for (const one of all)
    writeNested(to, number, (item) => writeNested(item, 1, (message) => encodeParameter(message, one)));
}

/** Each location of a parameter has its own message type. */
function encodeParameter(to: ProtobufWriter, one: Parameter): void {
  if (one.in === 'body')
    return writeNested(to, 1, (body) => {
      text(body, 1, one.description);
      text(body, 2, one.name);
      text(body, 3, one.in);
      flag(body, 4, one.required);
      writeNested(body, 5, (message) => schema(message, one.schema ?? {}));
    });
  const [place, type] = one.in === 'query' ? [3, 6] : [4, 5];
  writeNested(to, 2, (elsewhere) =>
    writeNested(elsewhere, place, (message) => {
      flag(message, 1, one.required);
      text(message, 2, one.in);
      text(message, 3, one.description);
      text(message, 4, one.name);
      text(message, type, one.type);
    }),
  );
}

function schema(to: ProtobufWriter, form: JsonSchema): void {
  const { $ref, format, description, required, additionalProperties, type, items, allOf, properties } = form;
  text(to, 1, $ref);
  text(to, 2, format);
  text(to, 4, description);
  texts(to, 19, required);
  if (additionalProperties) writeNested(to, 21, (item) => inner(item, 1, additionalProperties));
  if (type !== undefined) writeNested(to, 22, (item) => text(item, 1, type));
  if (items) writeNested(to, 23, (item) => inner(item, 1, items));
  for (const one of allOf ?? []) inner(to, 24, one);
  if (properties) writeNested(to, 25, (message) => namedSchemas(message, 1, properties));
  encodeExtensions(to, 31, form);
}
