import type { Revision, SortedSet, View } from '@cluster-apiserver/storage';
import type { Channel, Channels } from './channels.ts';
import type { Resource } from '../resource.ts';
import { candidatesOf, isWithin, startOf } from '../read/selection.ts';
import type { StatePart } from './shared-parts.ts';
import type { Snapshot } from './snapshots.ts';
import type { CachedObject } from '../stored-object.ts';
import { Batch, batchBytesMax, Bookmark, itemsPerClockRead, ObjectEvent, type Step } from './watch-event.ts';

/**
 * The state that a watch begins with, part by part. Watchers that begin with the same state share the parts; each holds
 * only its position.
 */
export class InitialEvents {
  readonly #channels: Channels;
  readonly #channel: Channel;
  readonly #snapshot: Snapshot;
  readonly #items: SortedSet<CachedObject>;
  readonly #name: string;
  /** Whether a bookmark ends them: clients that requested it wait for it. */
  readonly #endsWithBookmark: boolean;
  #after: string | undefined;
  #partsEnded = false;
  #ended = false;

  constructor({ channels, kind }: Resource, channel: Channel, view: View<CachedObject>, endsWithBookmark: boolean) {
    this.#channels = channels;
    this.#channel = channel;
    this.#snapshot = channels.snapshots.acquire(view);
    this.#items = candidatesOf(view, kind, channel.selection);
    this.#name = `${channel.id} of ${this.#snapshot.id} after`;
    this.#endsWithBookmark = endsWithBookmark;
  }

  /** Whether everything has been taken. */
  get hasEnded(): boolean {
    return this.#ended;
  }

  /** Undefined if the snapshot was released before all of it was taken. */
  take(): Step {
    const { view } = this.#snapshot;
    if (!view) {
      this.#ended = true;
      return undefined;
    }
    if (this.#partsEnded) {
      this.#ended = true;
      return this.#endsWithBookmark ? new Batch([new Bookmark(view.revision, true)], view.revision) : 'more';
    }
    const name = this.#after === undefined ? this.#name : `${this.#name} ${this.#after}`;
    const {
      batches: [batch],
      last,
    } = this.#channels.stateParts.getOrBuild(name, () => this.#part(view.revision));
    this.#after = last;
    this.#partsEnded = last === undefined;
    return batch ?? 'more';
  }

  close(): void {
    this.#snapshot.release();
  }

  #part(revision: Revision): StatePart {
    const { scope } = this.#channel;
    const events: ObjectEvent[] = [];
    let bytes = 0;
    let looks = 0;
    let last: string | undefined;
    let isLast = true;
    this.#items.visit(startOf(scope, this.#after), (item) => {
      if (!isWithin(scope, item.key)) return false;
      isLast = bytes < batchBytesMax && (++looks % itemsPerClockRead > 0 || this.#channels.loop.hasTime('watch'));
      if (!isLast) return false;
      last = item.key;
      if (item.unreadable || !this.#channel.selects(item)) return true;
      const event = new ObjectEvent('ADDED', item);
      events.push(event);
      bytes += event.bytes;
      return true;
    });
    const batches = events.length > 0 ? [new Batch(events, revision, bytes)] : [];
    return { batches, last: isLast ? undefined : last };
  }
}
