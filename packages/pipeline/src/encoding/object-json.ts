import { invariant } from '@cluster-apiserver/base';
import {
  toServed,
  type ByteString,
  bytesOf,
  decodeStored,
  isKubeObject,
  type Kind,
  type KubeObject,
  metaApiVersion,
  tableOf,
  typePrefix,
} from '@cluster-apiserver/model';
import type { Transform, TableTransform } from './negotiate.ts';
import { parseInSteps, findMemberText } from './parse-in-steps.ts';
import { type ListTransform, tableOfObject, type TableOfObjectOptions, transformObject } from './transform.ts';

/**
 * Converts stored objects to the JSON that a client requested, in steps. A small object is one step. A large one is
 * read token by token, and parts that do not change are copied.
 */

/** V8 parses and formats an object of this length in a millisecond. */
export const largeCharacters = 32 * 1024;

const textOf = (json: ByteString): string =>
  Buffer.byteLength(json) === json.length ? json : bytesOf(json).toString();

/** Decodes a stored object in the served version. */
export function* decodeServedObject(kind: Kind, json: ByteString): Generator<undefined, KubeObject> {
  if (json.length <= largeCharacters) return toServed(kind, decodeStored(json));
  const object = yield* parseObjectInSteps(textOf(json));
  return kind.view ? { ...toServed(kind, withoutMetadata(object)), metadata: object.metadata } : object;
}

function* parseObjectInSteps(text: string): Generator<undefined, KubeObject> {
  const object = yield* parseInSteps(text);
  invariant(isKubeObject(object), 'a stored value is not an object of its kind');
  return object;
}

/** Metadata is the same in every view; everything else is small. */
const withoutMetadata = (object: KubeObject): KubeObject => ({ ...object, metadata: {} });

/** The JSON of the object, transformed if requested. */
export function* objectJson(
  kind: Kind,
  transform: Transform | undefined,
  json: ByteString,
  options: TableOfObjectOptions,
): Generator<string | undefined> {
  if (!transform) yield* servedJson(kind, json);
  else if (json.length <= largeCharacters)
    yield JSON.stringify(transformObject(kind, toServed(kind, decodeStored(json)), transform, options));
  else if (transform.as === 'Table') yield* largeTableJson(kind, transform, json, options);
  else yield* partialMetadataJson(transform, json);
}

function* largeTableJson(
  kind: Kind,
  transform: TableTransform,
  json: ByteString,
  options: TableOfObjectOptions,
): Generator<string | undefined> {
  const object = yield* decodeServedObject(kind, json);
  const table = tableOfObject(kind, { metadata: object.metadata }, transform, options);
  yield JSON.stringify({ ...table, rows: [] }).slice(0, -']}'.length);
  yield* tableRowJson(kind, transform, json, object, options.nowMs);
  yield ']}';
}

/** The JSON of a list item, transformed if requested. */
export function* listItemJson(
  kind: Kind,
  { members, transform }: ListTransform,
  json: ByteString,
  nowMs: number,
): Generator<string | undefined> {
  if (json.length <= largeCharacters && (transform || kind.view)) {
    yield JSON.stringify(members([toServed(kind, decodeStored(json))])[0]);
  } else if (!transform) {
    // Items omit kind and apiVersion, which the list has.
    const names = typePrefix(kind.kind, kind.apiVersion).length;
    let isFirst = true;
    for (const part of servedJson(kind, json)) {
      yield part !== undefined && isFirst ? `{${part.slice(names)}` : part;
      if (part !== undefined) isFirst = false;
    }
  } else if (transform.as === 'Table')
    yield* tableRowJson(kind, transform, json, yield* decodeServedObject(kind, json), nowMs);
  else yield* partialMetadataJson(transform, json);
}

/** The first part has kind and apiVersion, and no part ends inside a token. */
function* servedJson(kind: Kind, json: ByteString): Generator<string | undefined> {
  if (!kind.view) yield textOf(json);
  else if (json.length <= largeCharacters) yield JSON.stringify(toServed(kind, decodeStored(json)));
  else yield* largeViewJson(kind, json);
}

/** The metadata is copied: it is the same in every view. */
function* largeViewJson(kind: Kind, json: ByteString): Generator<string | undefined> {
  const text = textOf(json);
  const metadata = yield* findMemberText(text, 'metadata');
  const object = yield* parseObjectInSteps(text);
  const served = JSON.stringify(toServed(kind, withoutMetadata(object)));
  const replaced = `"metadata":${yield* findMemberText(served, 'metadata')}`;
  const at = served.indexOf(`,${replaced}`) + 1;
  yield served.slice(0, at);
  yield `"metadata":${metadata}`;
  yield served.slice(at + replaced.length);
}

function* partialMetadataJson({ version }: Transform, json: ByteString): Generator<string | undefined> {
  const names = { kind: 'PartialObjectMetadata', apiVersion: metaApiVersion(version) };
  const metadata = yield* findMemberText(textOf(json), 'metadata');
  yield `${JSON.stringify(names).slice(0, -'}'.length)},"metadata":${metadata}}`;
}

function* tableRowJson(
  kind: Kind,
  transform: TableTransform,
  json: ByteString,
  object: KubeObject,
  nowMs: number,
): Generator<string | undefined> {
  const [row] = tableOf(kind, [object], {}, { ...transform, include: 'None', namesColumns: false, nowMs }).rows;
  yield JSON.stringify(row).slice(0, -'null}'.length);
  if (transform.include === 'None') yield 'null';
  else yield* transform.include === 'Metadata' ? partialMetadataJson(transform, json) : servedJson(kind, json);
  yield '}';
}
