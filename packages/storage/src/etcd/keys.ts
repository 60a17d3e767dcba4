/** The first key after all keys with this prefix. Keys are UTF-8, so none of their bytes is 0xff. */
export function prefixEnd(prefix: string): Buffer {
  const end = Buffer.from(prefix);
  // To etcd a range end of a single zero byte means no end.
  if (end.length === 0) return zero;
  end[end.length - 1] = end.readUInt8(end.length - 1) + 1;
  return end;
}

/** The start of a range over a prefix: the prefix itself, or the next key after `after`. */
export function rangeStart(prefix: string, after: string | undefined): Uint8Array | string {
  if (after !== undefined) return Buffer.concat([Buffer.from(after), zero]);
  return prefix === '' ? zero : prefix;
}

const zero = Buffer.from([0]);
