/** Bytes in several pieces, one behind the other. Whoever adds something copies nothing. */
export type Pieces = readonly Uint8Array[];

export const lengthOf = (pieces: Pieces): number => pieces.reduce((sum, { length }) => sum + length, 0);

/** Whether they are these bytes. */
export function areBytes(pieces: Pieces, bytes: Buffer): boolean {
  if (lengthOf(pieces) !== bytes.length) return false;
  let at = 0;
  return pieces.every((piece) => bytes.subarray(at, (at += piece.length)).equals(piece));
}
