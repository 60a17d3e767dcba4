import type { ByteString } from '@cluster-apiserver/model/codec';
import type { Allocate, BodySource } from '../body-source.ts';

/** The bytes of `JoinedItems` as one string, for a short list: it is written together with the head of its response. */
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

/**
 * Joins the JSON of objects between a beginning and an end. The first `leftOut` bytes of each object, up to a comma,
 * are replaced by a brace. Lists have thousands of objects, so each is copied once and nothing else; a piece ends
 * wherever it is full.
 */
export class JoinedItems implements BodySource {
  readonly length: number;
  readonly #begin: ByteString;
  readonly #items: readonly { readonly json: ByteString }[];
  readonly #leftOut: number;
  readonly #end: ByteString;
  #leftBytes: number;
  /** -1 is the beginning; after the last item comes the end. */
  #index = -1;
  #at = 0;

  constructor(begin: ByteString, items: readonly { readonly json: ByteString }[], leftOut: number, end: ByteString) {
    this.#begin = begin;
    this.#items = items;
    this.#leftOut = leftOut;
    this.#end = end;
    const replaced = items.length * (leftOut - 1) - Math.max(0, items.length - 1);
    this.length = begin.length + countCharacters(items) - replaced + end.length;
    this.#leftBytes = this.length;
  }

  next(bytesMax: number, allocate: Allocate): Buffer | undefined {
    if (this.#leftBytes === 0) return undefined;
    const piece = allocate(Math.min(this.#leftBytes, bytesMax));
    this.#fill(piece);
    this.#leftBytes -= piece.length;
    return piece;
  }

  close(): void {}

  /** Fills the piece with what comes next. */
  #fill(piece: Buffer): void {
    for (let used = 0; used < piece.length; ) {
      const item = this.#items[this.#index];
      const text = item ? item.json : this.#index < 0 ? this.#begin : this.#end;
      const from = this.#at;
      const to = Math.min(text.length, from + piece.length - used);
      // The comma before an item that keeps all of its bytes has a place of its own, before the first of them.
      const begin = Math.max(0, from);
      piece.write(begin === 0 && to === text.length ? text : text.slice(begin, to), used + begin - from, 'latin1');
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
