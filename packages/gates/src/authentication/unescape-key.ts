/**
 * The key of an extra value in the name of a header, where percent signs stand for what a name cannot hold. One that is
 * no such encoding is meant as it is.
 */
export function unescapeKey(name: string): string {
  try {
    return decodeURIComponent(name);
  } catch {
    return name;
  }
}
