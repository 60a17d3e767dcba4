import type { ByteString } from '@cluster-apiserver/model';
import type { Allocate, Pieces } from '../exchange.ts';

/**
 * Joins the JSON of objects between a beginning and an end. The first `leftOut` bytes of each object, up to a comma,
 * are replaced by a brace. Lists have thousands of objects, so each is copied once and nothing else; a piece ends
 * wherever it is full.
 */
export function joinItems(
  begin: ByteString,
  items: readonly { readonly json: ByteString }[],
  leftOut: number,
  end: ByteString,
): Pieces {
  const length =
    begin.length + countCharacters(items) - items.length * (leftOut - 1) + Math.max(0, items.length - 1) + end.length;
  return {
    length,
    pieces: (pieceBytes, allocate) => fillPieces(new Join(begin, items, leftOut, end), length, pieceBytes, allocate),
  };
}

function* fillPieces(join: Join, length: number, pieceBytes: number, allocate: Allocate): Generator<Buffer> {
  for (let left = length; left > 0; ) {
    const piece = allocate(Math.min(left, pieceBytes));
    join.fill(piece);
    left -= piece.length;
    yield piece;
  }
}

/** The same as one string, for a short list: it is written together with the head of its response. */
export function joinShortItems(
  begin: ByteString,
  items: readonly { readonly json: ByteString }[],
  leftOut: number,
  end: ByteString,
): ByteString {
  return `${begin}${items.map(({ json }) => `{${json.slice(leftOut)}`).join(',')}${end}`;
}

const lengths = new WeakMap<object, number>();

/** Cached, because thousands of lists of the same objects may be requested at once. */
export function countCharacters(items: readonly { readonly json: ByteString }[]): number {
  let characters = lengths.get(items);
  if (characters === undefined) {
    characters = 0;
    for (const { json } of items) characters += json.length;
    if (items.length >= rememberedItemsMin) lengths.set(items, characters);
  }
  return characters;
}

/** Adding up shorter lists is as fast as a lookup. */
const rememberedItemsMin = 1_000;

const comma = 0x2c;
const openingBrace = 0x7b;

class Join {
  readonly #begin: ByteString;
  readonly #items: readonly { readonly json: ByteString }[];
  readonly #leftOut: number;
  readonly #end: ByteString;
  /** -1 is the beginning; after the last item comes the end. */
  #index = -1;
  #at = 0;

  constructor(begin: ByteString, items: readonly { readonly json: ByteString }[], leftOut: number, end: ByteString) {
    this.#begin = begin;
    this.#items = items;
    this.#leftOut = leftOut;
    this.#end = end;
  }

  /** Fills the piece with what comes next. */
  fill(piece: Buffer): void {
    for (let used = 0; used < piece.length; ) {
      const item = this.#items[this.#index];
      const text = item ? item.json : this.#index < 0 ? this.#begin : this.#end;
      const from = this.#at;
      const to = Math.min(text.length, from + piece.length - used);
      piece.write(from === 0 && to === text.length ? text : text.slice(from, to), used, 'latin1');
      if (item && from < this.#leftOut) this.#open(piece, used, from);
      used += to - from;
      this.#at = to;
      if (to === text.length) this.#next();
    }
  }

  #next(): void {
    this.#index++;
    const inside = this.#index < this.#items.length;
    // The byte before the brace becomes the comma after the previous item.
    this.#at = inside ? this.#leftOut - (this.#index === 0 ? 1 : 2) : 0;
  }

  /** Writes the comma after the previous item, unless this is the first one, and the brace. */
  #open(piece: Buffer, used: number, from: number): void {
    const brace = used + this.#leftOut - 1 - from;
    if (brace > used) piece[used] = comma;
    if (brace < piece.length) piece[brace] = openingBrace;
  }
}
