/**
 * Headers on which identity or the meaning of a body depends, which authentication does not check by itself. Two servers
 * on the way that each take another line of them would disagree about the request.
 */
const names: ReadonlySet<string> = new Set(['authorization', 'content-length', 'content-type']);
const lengths: readonly boolean[] = [...names].reduce<boolean[]>((found, { length }) => {
  found[length] = true;
  return found;
}, []);

/** A header of these that has more than one line. Names and values come in turn. */
export function findRepeatedHeader(raw: readonly string[]): string | undefined {
  const seen: string[] = [];
  for (let i = 0; i < raw.length; i += 2) {
    const given = raw[i] as string;
    // Most names differ in their length, and cost nothing more.
    if (!lengths[given.length]) continue;
    const name = given.toLowerCase();
    if (!names.has(name)) continue;
    if (seen.includes(name)) return name;
    seen.push(name);
  }
  return undefined;
}
