/** A byte sequence in several pieces, so that adding a prefix or suffix copies nothing. */
export type Pieces = readonly Uint8Array[];

export function totalLength(pieces: Pieces): number {
  let bytes = 0;
  for (const piece of pieces) bytes += piece.length;
  return bytes;
}

export function equalsBytes(pieces: Pieces, bytes: Buffer): boolean {
  if (totalLength(pieces) !== bytes.length) return false;
  let at = 0;
  for (const piece of pieces) {
    const end = at + piece.length;
    if (bytes.compare(piece, 0, piece.length, at, end) !== 0) return false;
    at = end;
  }
  return true;
}
