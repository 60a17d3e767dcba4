import { type ByteString, formatShardSelector, type Kind, typePrefix } from '@cluster-apiserver/model';
import type { ObjectList } from '@cluster-apiserver/registry';
import type { Pieces } from './exchange.ts';

/** A list joins the bytes of its objects; nothing of them is parsed, and nothing is copied before it is sent. */
export function listBody(kind: Kind, list: ObjectList): Pieces {
  const { items, revision, continue: token, remainingItemCount, shards } = list;
  const head = JSON.stringify({
    kind: `${kind.kind}List`,
    apiVersion: kind.apiVersion,
    metadata: {
      resourceVersion: String(revision),
      continue: token,
      remainingItemCount,
      shardInfo: shards && { selector: formatShardSelector(shards) },
    },
  });
  const begin = `${head.slice(0, -1)},"items":[`;
  // The list says kind and apiVersion for all: an item begins behind them, with a brace in the place of the comma.
  const skipped = typePrefix(kind.kind, kind.apiVersion).length;
  let length = begin.length + end.length + Math.max(0, items.length - 1);
  for (const { json } of items) length += json.length - skipped + 1;
  return {
    length,
    pieces: function* (pieceBytes) {
      let piece = Buffer.allocUnsafe(Math.min(length, pieceBytes));
      let used = 0;
      let left = length;
      for (const part of partsOf(begin, items, skipped)) {
        if (used + part.length > piece.length) {
          if (used > 0) yield piece.subarray(0, used);
          left -= used;
          piece = Buffer.allocUnsafe(Math.min(left, Math.max(pieceBytes, part.length)));
          used = 0;
        }
        used += piece.write(part, used, 'latin1');
      }
      yield piece.subarray(0, used);
    },
  };
}

const end = ']}\n';

function* partsOf(begin: ByteString, items: ObjectList['items'], skipped: number): Generator<ByteString> {
  yield begin;
  let open = '{';
  for (const { json } of items) {
    yield open;
    yield json.slice(skipped);
    open = ',{';
  }
  yield end;
}
