import { invariant, type Loop } from '@cluster-apiserver/base';
import { type ItemChange, type Revision, revision } from '@cluster-apiserver/storage';
import type { Channel } from './channels.ts';
import type { ChangesPart } from './shared-parts.ts';
import type { CachedObject } from '../stored-object.ts';
import { Batch, batchBytesMax, itemsPerClockRead, type ObjectEvent } from './watch-event.ts';

/**
 * The first of some changes, as many as fit. Watches resume after a revision, so all changes of one revision are in the
 * same part; there may be a thousand, of objects that expired together. Throws a CorruptValueError if the first is
 * unreadable.
 */
export function buildChangesPart(
  missed: readonly ItemChange<CachedObject>[],
  channel: Channel,
  loop: Loop,
): ChangesPart {
  const batches: Batch[] = [];
  let events: ObjectEvent[] = [];
  let bytes = 0;
  let next: Revision | undefined;
  for (const [at, change] of missed.entries()) {
    const isNewRevision = next !== undefined && change.revision > next;
    const isFull = bytes >= batchBytesMax;
    if (isNewRevision && (isFull || batches.length > 0 || (at % itemsPerClockRead === 0 && !loop.hasTime('watch'))))
      break;
    try {
      const event = channel.eventOf(change);
      if (event && isFull) {
        // Its revision says that the rest of this one follows.
        batches.push(new Batch(events, revision(change.revision - 1), bytes));
        events = [];
        bytes = 0;
      }
      if (event) events.push(event);
      bytes += event?.bytes ?? 0;
    } catch (error) {
      // The changes before it are sent first.
      if (isNewRevision) break;
      throw error;
    }
    next = change.revision;
  }
  invariant(next !== undefined, 'a part without a change would be taken again and again');
  if (events.length > 0) batches.push(new Batch(events, next, bytes));
  return { batches, next };
}
