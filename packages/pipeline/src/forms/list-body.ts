import type { Clock } from '@cluster-apiserver/base';
import {
  asServed,
  byteString,
  decodeStored,
  encodeMessage,
  envelope,
  formatShardSelector,
  type Kind,
  type KubeObject,
  type ListMetadata,
  typePrefix,
} from '@cluster-apiserver/model';
import type { ObjectList, Resource } from '@cluster-apiserver/registry';
import type { Bytes, Pieces } from '../exchange.ts';
import { encoded } from './encoded.ts';
import { joinedItems } from './joined-items.ts';
import type { Form, Shown } from './negotiate.ts';
import { listSchema, shownList } from './shown.ts';

/** A list in the form that was asked for. As JSON its objects' bytes are ready, and there is nothing to wait for. */
export function listBody(resource: Resource, { encoding, shown }: Form, list: ObjectList): Bytes | Promise<Bytes> {
  if (encoding === 'protobuf') return protobufListBody(resource, shown, list);
  const json = shown || resource.served.view ? shownListBody(resource, shown, list) : jsonListBody(resource.kind, list);
  if (encoding === 'json') return json;
  // For people, who ask for little.
  return Promise.resolve(json).then((body) =>
    encoded(encoding, decodeStored(byteString(Buffer.concat([...body.pieces(body.length, Buffer.allocUnsafe)])))),
  );
}

/** A list joins the bytes of its objects; nothing of them is parsed, and nothing is copied before it is sent. */
function jsonListBody(kind: Kind, list: ObjectList): Pieces {
  const { items } = list;
  const head = JSON.stringify({
    kind: `${kind.kind}List`,
    apiVersion: kind.apiVersion,
    metadata: metadataOf(list),
  });
  const begin = `${head.slice(0, -1)},"items":[`;
  // The list says kind and apiVersion for all: an item begins behind them, with a brace in the place of the comma.
  const skipped = typePrefix(kind.kind, kind.apiVersion).length;
  return joinedItems(begin, items, skipped, end);
}

const end = ']}\n';

const metadataOf = ({ revision, continue: token, remainingItemCount, shards }: ObjectList): ListMetadata => ({
  resourceVersion: String(revision),
  ...(token !== undefined && { continue: token }),
  ...(remainingItemCount !== undefined && { remainingItemCount }),
  ...(shards && { shardInfo: { selector: formatShardSelector(shards) } }),
});

/** Something made of each object, put inside the list that has nothing in it: what it holds stands at its end. */
async function shownListBody(
  { served: kind, clock }: Resource,
  shown: Shown | undefined,
  list: ObjectList,
): Promise<Pieces> {
  const { empty, members } = shownList(kind, metadataOf(list), shown, clock.now());
  const slices = await inSlices(kind, list.items, clock, (objects) =>
    Buffer.from(
      members(objects)
        .map((member) => JSON.stringify(member))
        .join(','),
    ),
  );
  const between = slices.flatMap((slice, index) => (index === 0 ? [slice] : [comma, slice]));
  return joined([Buffer.from(JSON.stringify(empty).slice(0, -']}'.length)), ...between, Buffer.from(end)]);
}

/** Several messages of one form behind one another are one: the list that has nothing in it, and then what it has. */
async function protobufListBody(
  { served: kind, clock }: Resource,
  shown: Shown | undefined,
  list: ObjectList,
): Promise<Pieces> {
  const { empty, members } = shownList(kind, metadataOf(list), shown, clock.now());
  const schema = listSchema(kind, shown);
  const slices = await inSlices(kind, list.items, clock, (objects) =>
    encodeMessage(schema, { items: members(objects) }),
  );
  const message = [encodeMessage(schema, empty), ...slices].map((part) =>
    Buffer.from(part.buffer, part.byteOffset, part.length),
  );
  return joined([envelope(empty, lengthOf(message)), ...message]);
}

const comma = Buffer.from(',');

/** So many objects are taken apart in one turn of the event loop, which is a few milliseconds; then others get theirs. */
const sliceObjects = 200;

async function inSlices<T>(
  kind: Kind,
  items: ObjectList['items'],
  clock: Clock,
  write: (objects: readonly KubeObject[]) => T,
): Promise<T[]> {
  const slices: T[] = [];
  for (let at = 0; at < items.length; at += sliceObjects) {
    if (at > 0) await new Promise<void>((resume) => clock.soon(resume));
    slices.push(write(items.slice(at, at + sliceObjects).map(({ json }) => asServed(kind, decodeStored(json)))));
  }
  return slices;
}

const lengthOf = (parts: readonly Buffer[]): number => parts.reduce((sum, { length }) => sum + length, 0);

const joined = (parts: readonly Buffer[]): Pieces => ({
  length: lengthOf(parts),
  pieces: function* (pieceBytes) {
    for (const part of parts)
      for (let at = 0; at < part.length; at += pieceBytes) yield part.subarray(at, at + pieceBytes);
  },
});
