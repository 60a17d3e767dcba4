/** Finds headers in Node's `rawHeaders`, in which names and values alternate. Searched names are lowercase. */
import { requireValue } from '@cluster-apiserver/base';

export function findHeader(raw: readonly string[], name: string): string | undefined {
  for (let i = 0; i < raw.length; i += 2) if (isNamed(raw[i], name)) return valueAt(raw, i + 1);
  return undefined;
}

const none: readonly never[] = [];

/** All values of a header, in their order. */
export function findHeaderLines(raw: readonly string[], name: string): readonly string[] {
  let lines: string[] | undefined;
  for (let i = 0; i < raw.length; i += 2) if (isNamed(raw[i], name)) (lines ??= []).push(valueAt(raw, i + 1));
  return lines ?? none;
}

/** The headers whose names begin with the prefix, with their names in lowercase. */
export function findHeadersFrom(
  raw: readonly string[],
  prefix: string,
): readonly (readonly [name: string, value: string])[] {
  let found: [string, string][] | undefined;
  for (let i = 0; i < raw.length; i += 2) {
    const name = requireValue(raw[i]);
    // Most names differ in their first letter and cost nothing more.
    if ((name.charCodeAt(0) | 0x20) !== prefix.charCodeAt(0)) continue;
    const lower = name.toLowerCase();
    if (lower.startsWith(prefix)) (found ??= []).push([lower, valueAt(raw, i + 1)]);
  }
  return found ?? none;
}

export function countHeader(raw: readonly string[], name: string): number {
  let count = 0;
  for (let i = 0; i < raw.length; i += 2) if (isNamed(raw[i], name)) count += 1;
  return count;
}

/**
 * Headers that must not be repeated: identity or the meaning of the body depends on them, and a proxy and this server
 * could each use another line.
 */
const singular = ['authorization', 'content-length', 'content-type'] as const;

/** Returns the first of them that is repeated. */
export const findRepeatedHeader = (raw: readonly string[]): string | undefined => {
  for (const name of singular) if (countHeader(raw, name) > 1) return name;
  return undefined;
};

const valueAt = (raw: readonly string[], index: number): string =>
  requireValue(raw[index], 'names and values alternate');

function isNamed(raw: string | undefined, name: string): boolean {
  return raw?.length === name.length && (raw === name || raw.toLowerCase() === name);
}
