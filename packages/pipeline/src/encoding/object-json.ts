import {
  type ByteString,
  bytesOf,
  decodeStored,
  decodeStoredInSteps,
  typePrefix,
} from '@cluster-apiserver/model/codec';
import { findMemberText } from '@cluster-apiserver/model/json';
import { type KubeObject, metaApiVersion, tableOf } from '@cluster-apiserver/model/kind';
import type { Transform, TableTransform } from './negotiate.ts';
import { inServedForm, type ServedForm } from './served-form.ts';
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
export function* decodeServedObject(form: ServedForm, json: ByteString): Generator<undefined, KubeObject> {
  if (json.length <= largeCharacters) return inServedForm(form, decodeStored(json));
  const object = yield* decodeStoredInSteps(json);
  return form.fromStored ? { ...inServedForm(form, withoutMetadata(object)), metadata: object.metadata } : object;
}

/** Metadata are the same in every version; everything else is small. */
const withoutMetadata = (object: KubeObject): KubeObject => ({ ...object, metadata: {} });

/** The JSON of the object, transformed if requested. */
export function* objectJson(
  form: ServedForm,
  transform: Transform | undefined,
  json: ByteString,
  options: TableOfObjectOptions,
): Generator<string | undefined> {
  if (!transform) yield* servedJson(form, json);
  else if (json.length <= largeCharacters)
    yield JSON.stringify(transformObject(form.served, inServedForm(form, decodeStored(json)), transform, options));
  else if (transform.as === 'Table') yield* largeTableJson(form, transform, json, options);
  else yield* partialMetadataJson(transform, json);
}

function* largeTableJson(
  form: ServedForm,
  transform: TableTransform,
  json: ByteString,
  options: TableOfObjectOptions,
): Generator<string | undefined> {
  const object = yield* decodeServedObject(form, json);
  const table = tableOfObject(form.served, { metadata: object.metadata }, transform, options);
  yield JSON.stringify({ ...table, rows: [] }).slice(0, -']}'.length);
  yield* tableRowJson(form, transform, json, object, options.nowMs);
  yield ']}';
}

/** The JSON of a list item, transformed if requested. */
export function* listItemJson(
  form: ServedForm,
  { members, transform }: ListTransform,
  json: ByteString,
  nowMs: number,
): Generator<string | undefined> {
  if (json.length <= largeCharacters && (transform || form.fromStored)) {
    yield JSON.stringify(members([inServedForm(form, decodeStored(json))])[0]);
  } else if (!transform) {
    // Items omit kind and apiVersion, which the list has.
    const { kind, apiVersion, isCustom } = form.served;
    const names = isCustom ? 1 : typePrefix(kind, apiVersion).length;
    let isFirst = true;
    for (const part of servedJson(form, json)) {
      yield part !== undefined && isFirst ? `{${part.slice(names)}` : part;
      if (part !== undefined) isFirst = false;
    }
  } else if (transform.as === 'Table')
    yield* tableRowJson(form, transform, json, yield* decodeServedObject(form, json), nowMs);
  else yield* partialMetadataJson(transform, json);
}

/** The first part has kind and apiVersion, and no part ends inside a token. */
function* servedJson(form: ServedForm, json: ByteString): Generator<string | undefined> {
  if (!form.fromStored) yield textOf(json);
  else if (json.length <= largeCharacters) yield JSON.stringify(inServedForm(form, decodeStored(json)));
  else yield* largeConvertedJson(form, json);
}

/** The metadata are copied: they are the same in every version. */
function* largeConvertedJson(form: ServedForm, json: ByteString): Generator<string | undefined> {
  const text = textOf(json);
  const metadata = yield* findMemberText(text, 'metadata');
  const object = yield* decodeStoredInSteps(json);
  const served = JSON.stringify(inServedForm(form, withoutMetadata(object)));
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
  form: ServedForm,
  transform: TableTransform,
  json: ByteString,
  object: KubeObject,
  nowMs: number,
): Generator<string | undefined> {
  const [row] = tableOf(form.served, [object], {}, { ...transform, include: 'None', namesColumns: false, nowMs }).rows;
  yield JSON.stringify(row).slice(0, -'null}'.length);
  if (transform.include === 'None') yield 'null';
  else yield* transform.include === 'Metadata' ? partialMetadataJson(transform, json) : servedJson(form, json);
  yield '}';
}
