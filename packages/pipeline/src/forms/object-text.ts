import {
  toServed,
  type ByteString,
  bytesOf,
  decodeStored,
  type Kind,
  type KubeObject,
  metaApiVersion,
  tableOf,
  typePrefix,
} from '@cluster-apiserver/model';
import type { Shown, ShownTable } from './negotiate.ts';
import { parsed, textOfMember } from './parsed.ts';
import { type ShownList, shownObject } from './shown.ts';

/**
 * Stored objects as JSON texts of what a client asks for, in steps. A small object is one step. A large one is read
 * token by token, and what is the same in both forms is copied and not written anew.
 */

/** V8 reads and writes one of this length in a millisecond. */
export const largeCharacters = 32 * 1024;

const textOf = (json: ByteString): string =>
  Buffer.byteLength(json) === json.length ? json : bytesOf(json).toString();

/** The object as clients of the kind see it. */
export function* servedObject(kind: Kind, json: ByteString): Generator<undefined, KubeObject> {
  if (json.length <= largeCharacters) return toServed(kind, decodeStored(json));
  const object = (yield* parsed(textOf(json))) as KubeObject; // ours, and an object when it was stored
  return kind.view ? { ...toServed(kind, withoutMetadata(object)), metadata: object.metadata } : object;
}

/** Metadata is the same in every view of an object, and all else is small. */
const withoutMetadata = (object: KubeObject): KubeObject => ({ ...object, metadata: {} });

/** The object, or what is shown in its place. */
export function* objectText(
  kind: Kind,
  shown: Shown | undefined,
  json: ByteString,
  nowMs: number,
): Generator<string | undefined> {
  if (!shown) return yield* servedText(kind, json);
  if (json.length <= largeCharacters)
    return yield JSON.stringify(shownObject(kind, toServed(kind, decodeStored(json)), shown, { nowMs }));
  if (shown.as !== 'Table') return yield* partialText(shown, json);
  const object = yield* servedObject(kind, json);
  const table = shownObject(kind, { metadata: object.metadata }, shown, { nowMs }) as ReturnType<typeof tableOf>;
  yield JSON.stringify({ ...table, rows: [] }).slice(0, -']}'.length);
  yield* rowText(kind, shown, json, object, nowMs);
  yield ']}';
}

/** One of the items of a list, or of what is shown in its place. */
export function* memberText(
  kind: Kind,
  { members, shown }: ShownList,
  json: ByteString,
  nowMs: number,
): Generator<string | undefined> {
  if (json.length <= largeCharacters && (shown || kind.view)) {
    yield JSON.stringify(members([toServed(kind, decodeStored(json))])[0]);
  } else if (!shown) {
    // The list says kind and version for all.
    const names = typePrefix(kind.kind, kind.apiVersion).length;
    let isFirst = true;
    for (const part of servedText(kind, json)) {
      yield part !== undefined && isFirst ? `{${part.slice(names)}` : part;
      if (part !== undefined) isFirst = false;
    }
  } else if (shown.as === 'Table') yield* rowText(kind, shown, json, yield* servedObject(kind, json), nowMs);
  else yield* partialText(shown, json);
}

/** Its first part has kind and version, and no part of it ends inside of a token. */
function* servedText(kind: Kind, json: ByteString): Generator<string | undefined> {
  if (!kind.view) return yield textOf(json);
  if (json.length <= largeCharacters) return yield JSON.stringify(toServed(kind, decodeStored(json)));
  const text = textOf(json);
  const metadata = yield* textOfMember(text, 'metadata');
  const object = (yield* parsed(text)) as KubeObject; // ours, and an object when it was stored
  const served = JSON.stringify(toServed(kind, withoutMetadata(object)));
  const replaced = `"metadata":${yield* textOfMember(served, 'metadata')}`;
  const at = served.indexOf(`,${replaced}`) + 1;
  yield served.slice(0, at);
  yield `"metadata":${metadata}`;
  yield served.slice(at + replaced.length);
}

function* partialText({ version }: Shown, json: ByteString): Generator<string | undefined> {
  const names = { kind: 'PartialObjectMetadata', apiVersion: metaApiVersion(version) };
  const metadata = yield* textOfMember(textOf(json), 'metadata');
  yield `${JSON.stringify(names).slice(0, -'}'.length)},"metadata":${metadata}}`;
}

function* rowText(
  kind: Kind,
  shown: ShownTable,
  json: ByteString,
  object: KubeObject,
  nowMs: number,
): Generator<string | undefined> {
  const [row] = tableOf(kind, [object], {}, { ...shown, include: 'None', namesColumns: false, nowMs }).rows;
  yield JSON.stringify(row).slice(0, -'null}'.length);
  if (shown.include === 'None') yield 'null';
  else yield* shown.include === 'Metadata' ? partialText(shown, json) : servedText(kind, json);
  yield '}';
}
