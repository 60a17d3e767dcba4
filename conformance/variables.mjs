// Values that the strings of a case refer to: `${ns}`, `${rv+1}`, `${uid|fnv}`.

/** `${name}`, with `|fnv` its hash, with `+1` or `-1` the neighbor of either. */
const reference = /\$\{([a-zA-Z0-9_]+)(\|fnv)?(?:([+-])(\d+))?\}/g;

/** The value with all references in its strings and names replaced. */
export function fillIn(value, variables) {
  if (typeof value === 'string') {
    return value.replace(reference, (_, name, hash, sign, number) => {
      if (!(name in variables)) throw new Error(`no value was saved as ${name}`);
      const offset = sign ? BigInt(sign + number) : 0n;
      if (hash) return `0x${(fnv1a(variables[name]) + offset).toString(16).padStart(16, '0')}`;
      return sign ? String(BigInt(variables[name]) + offset) : variables[name];
    });
  }
  if (Array.isArray(value)) return value.map((entry) => fillIn(entry, variables));
  if (value === null || typeof value !== 'object') return value;
  const filled = Object.entries(value).map(([name, member]) => [fillIn(name, variables), fillIn(member, variables)]);
  return Object.fromEntries(filled);
}

/** 64-bit FNV-1a: shard selectors are ranges of it. */
const fnv1a = (text) =>
  Buffer.from(text).reduce(
    (hash, byte) => ((hash ^ BigInt(byte)) * 0x100000001b3n) & 0xffffffffffffffffn,
    0xcbf29ce484222325n,
  );
