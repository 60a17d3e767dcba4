import {
  asServed,
  type ByteString,
  bytesOf,
  decodeStored,
  type Kind,
  type KubeObject,
  metaApiVersion,
  tableOf,
  typePrefix,
} from '@cluster-apiserver/model';
import type { Transform, TableTransform } from './negotiate.ts';
import { parseInSteps, findMemberText } from './parse-in-steps.ts';
import { type ListTransform, transformObject } from './transform.ts';

/**
 * Stored objects as JSON texts of what a client asks for, in steps. A small object is one step. A large one is read
 * token by token, and what is the same in both forms is copied and not written anew.
 */

/** V8 reads and writes one of this length in a millisecond. */
export const largeCharacters = 32 * 1024;

const textOf = (json: ByteString): string =>
  Buffer.byteLength(json) === json.length ? json : bytesOf(json).toString();

/** The object as clients of the kind see it. */
export function* decodeServedObject(kind: Kind, json: ByteString): Generator<undefined, KubeObject> {
  if (json.length <= largeCharacters) return asServed(kind, decodeStored(json));
  const object = (yield* parseInSteps(textOf(json))) as KubeObject; // ours, and an object when it was stored
  return kind.view ? { ...asServed(kind, withoutMetadata(object)), metadata: object.metadata } : object;
}

/** Metadata is the same in every view of an object, and all else is small. */
const withoutMetadata = (object: KubeObject): KubeObject => ({ ...object, metadata: {} });

/** The object, or what is shown in its place. */
export function* objectJson(
  kind: Kind,
  transform: Transform | undefined,
  json: ByteString,
  nowMs: number,
): Generator<string | undefined> {
  if (!transform) return yield* servedJson(kind, json);
  if (json.length <= largeCharacters)
    return yield JSON.stringify(transformObject(kind, asServed(kind, decodeStored(json)), transform, { nowMs }));
  if (transform.as !== 'Table') return yield* partialMetadataJson(transform, json);
  const object = yield* decodeServedObject(kind, json);
  const table = transformObject(kind, { metadata: object.metadata }, transform, { nowMs }) as ReturnType<
    typeof tableOf
  >;
  yield JSON.stringify({ ...table, rows: [] }).slice(0, -']}'.length);
  yield* tableRowJson(kind, transform, json, object, nowMs);
  yield ']}';
}

/** One of the items of a list, or of what is shown in its place. */
export function* listItemJson(
  kind: Kind,
  { members, transform }: ListTransform,
  json: ByteString,
  nowMs: number,
): Generator<string | undefined> {
  if (json.length <= largeCharacters && (transform || kind.view)) {
    yield JSON.stringify(members([asServed(kind, decodeStored(json))])[0]);
  } else if (!transform) {
    // The list says kind and version for all.
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

/** Its first part has kind and version, and no part of it ends inside of a token. */
function* servedJson(kind: Kind, json: ByteString): Generator<string | undefined> {
  if (!kind.view) return yield textOf(json);
  if (json.length <= largeCharacters) return yield JSON.stringify(asServed(kind, decodeStored(json)));
  const text = textOf(json);
  const metadata = yield* findMemberText(text, 'metadata');
  const object = (yield* parseInSteps(text)) as KubeObject; // ours, and an object when it was stored
  const served = JSON.stringify(asServed(kind, withoutMetadata(object)));
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
