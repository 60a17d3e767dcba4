/**
 * Decodes the key of an extra value in a header name, where characters that names cannot contain are percent-encoded.
 * Returns an invalid encoding unchanged.
 */
export function unescapeKey(name: string): string {
  try {
    return decodeURIComponent(name);
  } catch {
    return name;
  }
}
