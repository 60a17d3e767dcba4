import { requireValue } from '@cluster-apiserver/base';

/**
 * Headers that must not be repeated: identity or the meaning of the body depends on them, and a proxy and this server
 * could each use another line.
 */
const names: ReadonlySet<string> = new Set(['authorization', 'content-length', 'content-type']);
const lengths: readonly boolean[] = [...names].reduce<boolean[]>((found, { length }) => {
  found[length] = true;
  return found;
}, []);

/** Returns the first repeated one. Names and values alternate. */
export function findRepeatedHeader(raw: readonly string[]): string | undefined {
  const seen: string[] = [];
  for (let i = 0; i < raw.length; i += 2) {
    const given = requireValue(raw[i]);
    // Most names differ in length and cost nothing more.
    if (!lengths[given.length]) continue;
    const name = given.toLowerCase();
    if (!names.has(name)) continue;
    if (seen.includes(name)) return name;
    seen.push(name);
  }
  return undefined;
}
