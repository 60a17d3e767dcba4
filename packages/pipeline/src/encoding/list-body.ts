import { loopOf } from '@cluster-apiserver/base';
import { encodeMessage, encodeEnvelope, messageParts, typePrefix } from '@cluster-apiserver/model/codec';
import type { ApiVersion, KubeObject, ListMetadata } from '@cluster-apiserver/model/kind';
import { formatShardSelector } from '@cluster-apiserver/model/selector';
import type { Resource } from '@cluster-apiserver/registry';
import type { BodySource, ReadyBody } from '../body-source.ts';
import { slicedBody } from './sliced-body.ts';
import { countCharacters, JoinedItems, joinShortItems } from './join-items.ts';
import type { ResponseFormat, Transform } from './negotiate.ts';
import { largeCharacters, listItemJson, decodeServedObject } from './object-json.ts';
import type { EncodableList, ServedForm } from './served-form.ts';
import { listSchema, createListTransform } from './transform.ts';

/**
 * Encodes a list. For plain JSON the bytes of its objects are ready. Every other format is generated while it is sent,
 * so that a list of any length takes the memory of one slice.
 */
export function listBody(
  resource: ServedForm & Pick<Resource, 'clock'>,
  { encoding, transform }: ResponseFormat,
  list: EncodableList,
): ReadyBody | BodySource | Promise<ReadyBody> {
  const { served, clock, fromStored } = resource;
  if (encoding === 'json' && !transform && !fromStored) return jsonListBody(served, list);
  const nowMs = clock.now();
  const texts = listJson(resource, transform, list, nowMs);
  const protobuf = encodeProtobufInSteps(resource, transform, list, nowMs);
  return slicedBody(loopOf(clock), encoding, { texts, protobuf }, countCharacters(list.items));
}

/** The objects of a list that is joined at once, in bytes. Pieces would cost more than joining them. */
const shortListBytesMax = 8 * 1024;

/** Joins the bytes of the objects: nothing is parsed, and nothing of a long list is copied before it is sent. */
function jsonListBody(served: ApiVersion, list: EncodableList): ReadyBody | BodySource {
  const { items } = list;
  const head = JSON.stringify({
    kind: served.listKind,
    apiVersion: served.apiVersion,
    metadata: metadataOf(served, undefined, list),
  });
  const begin = `${head.slice(0, -1)},"items":[`;
  // Items omit kind and apiVersion, which the list has: an item begins after them, with a brace instead of the comma.
  const skipped = served.isCustom ? 1 : typePrefix(served.kind, served.apiVersion).length;
  return countCharacters(items) <= shortListBytesMax
    ? joinShortItems(begin, items, skipped, ']}\n')
    : new JoinedItems(begin, items, skipped, ']}\n');
}

const metadataOf = (
  { isCustom }: ApiVersion,
  transform: Transform | undefined,
  { revision, continue: token = isCustom && !transform ? '' : undefined, remainingItemCount, shards }: EncodableList,
): ListMetadata => ({
  resourceVersion: String(revision),
  ...(token !== undefined && { continue: token }),
  ...(remainingItemCount !== undefined && { remainingItemCount }),
  ...(shards && { shardInfo: { selector: formatShardSelector(shards) } }),
});

/** Generates the JSON of a list: an empty list whose items, at its end, are filled in. */
export function* listJson(
  form: ServedForm,
  transform: Transform | undefined,
  list: EncodableList,
  nowMs: number,
): Generator<string | undefined> {
  const listTransform = createListTransform(form.served, metadataOf(form.served, transform, list), transform, nowMs);
  const head = JSON.stringify(listTransform.empty).slice(0, -'[]}'.length);
  const items = yield* orderItems(form, transform, list.items);
  const isNull = items.length === 0 && listTransform.isNullIfEmpty;
  yield isNull ? head : `${head}[`;
  let isFirst = true;
  for (const { json } of items) {
    if (!isFirst) yield ',';
    isFirst = false;
    yield* listItemJson(form, listTransform, json, nowMs);
  }
  yield isNull ? 'null}' : ']}';
}

/** A table may have an order of its own. */
function* orderItems(
  form: ServedForm,
  transform: Transform | undefined,
  items: EncodableList['items'],
): Generator<undefined, EncodableList['items']> {
  const { rowRank } = form.served;
  if (transform?.as !== 'Table' || !rowRank) return items;
  // No decoded object is kept, and only different ranks are sorted.
  const byRank = new Map<number, EncodableList['items'][number][]>();
  for (const item of items) {
    const rank = rowRank(yield* decodeServedObject(form, item.json));
    const same = byRank.get(rank);
    if (same) same.push(item);
    else byRank.set(rank, [item]);
    yield;
  }
  return [...byRank].sort(([one], [other]) => one - other).flatMap(([, same]) => same);
}

/**
 * Concatenated messages of one type are one message: the empty list, then its items. The envelope begins with the total
 * length, so all items are encoded before the first is sent. They are buffered while there is memory; otherwise they
 * are only measured, and encoded again while they are sent.
 */
function* encodeProtobufInSteps(
  form: ServedForm,
  transform: Transform | undefined,
  list: EncodableList,
  nowMs: number,
): Generator<Uint8Array | undefined> {
  const { empty } = createListTransform(form.served, metadataOf(form.served, transform, list), transform, nowMs);
  const head = encodeMessage(listSchema(form.served, transform), empty);
  const kept = new PartBuffer();
  try {
    let length = head.length;
    for (const part of encodeProtobufItems(form, transform, list, nowMs)) {
      length += part?.length ?? 0;
      if (part) kept.add(part);
      yield;
    }
    yield encodeEnvelope(empty, length);
    yield head;
    yield* kept.take() ?? encodeProtobufItems(form, transform, list, nowMs);
  } finally {
    kept.drop();
  }
}

/** Limit for all lists of the process: encoded bytes that have not been sent. */
const keptBytesMax = 48 * 1024 * 1024;
let keptBytes = 0;

/**
 * Encoded parts are copied into blocks, each freed once it has been sent. Many small buffers would fragment the heap.
 */
const blockBytes = 64 * 1024;

/** Buffers the encoded parts of one list: all of them, or none if memory is short. */
class PartBuffer {
  #blocks: Buffer[] | undefined = [];
  /** Used bytes of the last block. */
  #usedBytes = blockBytes;

  add(part: Uint8Array): void {
    for (let from = 0; from < part.length; ) {
      const block = this.#blockWithRoom();
      if (!block) return;
      const copied = part.subarray(from, from + blockBytes - this.#usedBytes);
      block.set(copied, this.#usedBytes);
      this.#usedBytes += copied.length;
      from += copied.length;
    }
  }

  /** Undefined if there is no memory for another block. */
  #blockWithRoom(): Buffer | undefined {
    if (this.#usedBytes < blockBytes || !this.#blocks) return this.#blocks?.at(-1);
    if (keptBytes + blockBytes > keptBytesMax) {
      this.drop();
      return undefined;
    }
    keptBytes += blockBytes;
    this.#usedBytes = 0;
    const block = Buffer.allocUnsafeSlow(blockBytes);
    this.#blocks.push(block);
    return block;
  }

  /** Frees each block when the next one is read. Undefined if the parts have been dropped. */
  take(): Iterable<Uint8Array> | undefined {
    return this.#blocks && this.#taken(this.#blocks);
  }

  *#taken(blocks: Buffer[]): Generator<Uint8Array> {
    for (let block = blocks.shift(); block; block = blocks.shift()) {
      keptBytes -= blockBytes;
      yield blocks.length > 0 ? block : block.subarray(0, this.#usedBytes);
    }
  }

  drop(): void {
    keptBytes -= blockBytes * (this.#blocks?.length ?? 0);
    this.#blocks = undefined;
  }
}

function* encodeProtobufItems(
  form: ServedForm,
  transform: Transform | undefined,
  list: EncodableList,
  nowMs: number,
): Generator<Uint8Array | undefined> {
  const { members } = createListTransform(form.served, metadataOf(form.served, transform, list), transform, nowMs);
  const schema = listSchema(form.served, transform);
  let batch: KubeObject[] = [];
  let characters = 0;
  const encodeBatch = (): Uint8Array => {
    const message = encodeMessage(schema, { items: members(batch) });
    batch = [];
    characters = 0;
    return message;
  };
  for (const { json } of list.items) {
    const object = yield* decodeServedObject(form, json);
    if (json.length > largeCharacters) {
      if (batch.length > 0) yield encodeBatch();
      yield* yield* messageParts(schema, { items: members([object]) });
      continue;
    }
    batch.push(object);
    characters += json.length;
    if (characters > batchCharacters) yield encodeBatch();
  }
  if (batch.length > 0) yield encodeBatch();
}

/** Objects of this total length are decoded and encoded in about a millisecond. */
const batchCharacters = 16 * 1024;
