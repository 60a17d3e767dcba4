/** The first key behind all keys that begin with the prefix. Keys are UTF-8, so no byte of them is 0xff. */
export function prefixEnd(prefix: string): Buffer {
  const end = Buffer.from(prefix);
  // A range that ends with a zero byte alone has no end.
  if (end.length === 0) return zero;
  end[end.length - 1] = (end[end.length - 1] as number) + 1;
  return end;
}

/** Where a range over a prefix begins: at the prefix itself, or just behind a key. */
export function rangeStart(prefix: string, after: string | undefined): Uint8Array | string {
  if (after !== undefined) return Buffer.concat([Buffer.from(after), zero]);
  return prefix === '' ? zero : prefix;
}

const zero = Buffer.from([0]);
