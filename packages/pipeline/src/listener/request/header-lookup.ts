/** Finds headers in Node's `rawHeaders`, in which names and values alternate. Searched names are lowercase. */
import { requireValue } from '@cluster-apiserver/base';

export function findHeader(raw: readonly string[], name: string): string | undefined {
  for (let i = 0; i < raw.length; i += 2) if (isNamed(raw[i], name)) return valueAt(raw, i + 1);
  return undefined;
}

/** All values of a header, in their order. */
export function findHeaderLines(raw: readonly string[], name: string): readonly string[] {
  const lines: string[] = [];
  for (let i = 0; i < raw.length; i += 2) if (isNamed(raw[i], name)) lines.push(valueAt(raw, i + 1));
  return lines;
}

/** The headers whose names begin with the prefix, with their names in lowercase. */
export function findHeadersFrom(
  raw: readonly string[],
  prefix: string,
): readonly (readonly [name: string, value: string])[] {
  const found: [string, string][] = [];
  for (let i = 0; i < raw.length; i += 2) {
    const name = requireValue(raw[i]);
    // Most names differ in their first letter and cost nothing more.
    if ((name.charCodeAt(0) | 0x20) !== prefix.charCodeAt(0)) continue;
    const lower = name.toLowerCase();
    if (lower.startsWith(prefix)) found.push([lower, valueAt(raw, i + 1)]);
  }
  return found;
}

const valueAt = (raw: readonly string[], index: number): string =>
  requireValue(raw[index], 'names and values alternate');

function isNamed(raw: string | undefined, name: string): boolean {
  return raw?.length === name.length && (raw === name || raw.toLowerCase() === name);
}
