/**
 * A copy of the text, or of its beginning, for what outlives a request. V8 keeps the whole string alive that a slice is a
 * part of: four kilobytes of an answer would hold all megabytes of it.
 */
export function keepText(text: string, charactersMax: number = Number.POSITIVE_INFINITY): string {
  const begin = text.length > charactersMax ? text.slice(0, charactersMax) : text;
  // UTF-8 keeps one byte for a letter, but has no form for half of a surrogate pair.
  return begin.isWellFormed() ? Buffer.from(begin).toString() : Buffer.from(begin, 'utf16le').toString('utf16le');
}

/** Approximate memory of a string. */
export const bytesOfText = (text: string): number => 2 * text.length + objectBytes;

/** Approximate memory of texts in lists and records, such as the groups of a user. */
export function bytesOfValue(value: unknown): number {
  if (typeof value === 'string') return bytesOfText(value);
  if (Array.isArray(value)) return value.reduce<number>((sum, entry) => sum + bytesOfValue(entry), objectBytes);
  if (typeof value !== 'object' || value === null) return objectBytes;
  return Object.entries(value).reduce(
    (sum, [name, entry]) => sum + bytesOfText(name) + bytesOfValue(entry),
    objectBytes,
  );
}

/** Header and references of a small object. */
const objectBytes = 32;
