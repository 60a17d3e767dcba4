import type { Entry, UnreadableEntry } from '../store.ts';

/** Whether a value is unreadable only because its key takes long. */
export const isLate = (entry: Entry): entry is UnreadableEntry =>
  entry.unreadable !== undefined && (entry.pending ?? entry.postponed) !== undefined;

/** The value with the result of its decryption, which may take long. */
export async function completeEntry(entry: Entry): Promise<Entry> {
  if (!entry.unreadable) return entry;
  if (entry.pending) return completeEntry(await entry.pending);
  if (!entry.postponed) return entry;
  await entry.postponed;
  return completeEntry(await entry.retry());
}
