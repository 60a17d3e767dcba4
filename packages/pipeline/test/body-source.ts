import type { BodySource } from '../src/body-source.ts';

/** A body of these pieces, which are made as they are requested. */
export function sourceOf(pieces: Iterable<Buffer> | AsyncIterable<Buffer>, length?: number): BodySource {
  if (Symbol.asyncIterator in pieces) {
    const late = pieces[Symbol.asyncIterator]();
    const next = async (): Promise<Buffer | undefined> => (await late.next()).value as Buffer | undefined;
    return { length, next, close: () => void late.return?.() };
  }
  const iterator = pieces[Symbol.iterator]();
  return { length, next: () => iterator.next().value as Buffer | undefined, close: () => void iterator.return?.() };
}

/** A body of equal bytes, in borrowed memory. `onPiece` is called with the length of each piece that is made. */
export function filledSource(length: number, mark: number, onPiece = (_bytes: number): void => {}): BodySource {
  let left = length;
  return {
    length,
    next: (bytesMax, allocate) => {
      if (left === 0) return undefined;
      const piece = allocate(Math.min(left, bytesMax)).fill(mark);
      left -= piece.length;
      onPiece(piece.length);
      return piece;
    },
    close: () => {},
  };
}
