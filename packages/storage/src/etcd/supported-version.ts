/**
 * The oldest version of etcd whose response to a progress request arrives after all events that it covers. In 3.5.7 and
 * earlier it could overtake them.
 */
export const oldestVersion = '3.5.8';

/** Whether a version is known to be older than that. */
export function isTooOld(version: string): boolean {
  const oldest = partsOf(oldestVersion);
  const parts = partsOf(version);
  const at = oldest.findIndex((part, index) => part !== parts[index]);
  return at >= 0 && (parts[at] ?? 0) < (oldest[at] ?? 0);
}

const partsOf = (version: string): readonly number[] => version.split('.', 3).map((part) => Number.parseInt(part, 10));
