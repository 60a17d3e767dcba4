import type { ItemChange, Revision } from '@cluster-apiserver/storage';
import type { Outcome } from '../outcome.ts';
import { type CachedObject, DeletedObject, type StoredObject } from '../stored-object.ts';

/** An event of a watch. Watchers share events, so each is encoded once per media type. */
export type WatchEvent = ObjectEvent | Bookmark;

export class ObjectEvent {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED';
  readonly outcome: Outcome & { readonly revision: Revision };
  /** The last state of a modified object as its removal would show it, for those who select once they have converted it. */
  readonly former: Outcome | undefined;

  constructor(type: ObjectEvent['type'], outcome: ObjectEvent['outcome'], former?: Outcome) {
    this.type = type;
    this.outcome = outcome;
    this.former = former;
  }

  get revision(): Revision {
    return this.outcome.revision;
  }

  /** Its approximate length as JSON, with the frame around the object. */
  get bytes(): number {
    return this.outcome.json.length + frameBytes;
  }
}

/** `{"type":"MODIFIED","object":}` and the end of the line. */
const frameBytes = 32;

/** Tells the client that it has all events up to a revision. */
export class Bookmark {
  readonly type = 'BOOKMARK';
  readonly revision: Revision;
  /** Whether it ends the initial events. */
  readonly endsInitialEvents: boolean;

  constructor(revision: Revision, endsInitialEvents: boolean) {
    this.revision = revision;
    this.endsInitialEvents = endsInitialEvents;
  }
}

/** The size of a batch in bytes of JSON, unless a single object is larger. */
export const batchBytesMax = 32 * 1024;

/** How many items are visited between two looks at the clock: selectors may be slow, and reading it is not free. */
export const itemsPerClockRead = 64;

/** How many encodings of one batch are kept. Watchers of a kind rarely use more; others are encoded again. */
const formsMax = 4;

/** Events that are sent together. */
export class Batch {
  readonly events: readonly WatchEvent[];
  /** Everything up to here has been sent with it. */
  readonly revision: Revision;
  /** Its approximate length as JSON. */
  readonly bytes: number;
  readonly encoded = new Map<unknown, Buffer | Promise<Buffer>>();

  constructor(events: readonly WatchEvent[], revision: Revision, bytes = 0) {
    this.events = events;
    this.revision = revision;
    this.bytes = bytes;
  }

  /** Whether more events of its last revision follow: a client must not resume there. */
  get endsInsideRevision(): boolean {
    const last = this.events.at(-1);
    return last !== undefined && last.revision > this.revision;
  }

  /** The batch in one encoding. The first watcher that needs it encodes it. */
  encodedAs(
    form: unknown,
    write: (events: readonly WatchEvent[]) => Buffer | Promise<Buffer>,
  ): Buffer | Promise<Buffer> {
    let written = this.encoded.get(form);
    if (written) return written;
    written = write(this.events);
    for (const oldest of this.encoded.keys()) {
      if (this.encoded.size < formsMax) break;
      this.encoded.delete(oldest);
    }
    this.encoded.set(form, written);
    return written;
  }
}

/** A batch of events; undefined if there are none until a callback; 'more' if the next step may give some. */
export type Step = Batch | undefined | 'more';

/** A change with its events. Depending on their selection, watchers get one of three, and each is built once. */
export class PendingChange {
  readonly change: ItemChange<CachedObject>;
  #events: Partial<Record<ObjectEvent['type'] | 'withFormer', ObjectEvent>> = {};

  constructor(change: ItemChange<CachedObject>) {
    this.change = change;
  }

  /**
   * The event for watchers with a selector: an object that begins to match is added, one that ceases to match is deleted.
   * Undefined if it matched neither before nor after. Throws CorruptValueError if the object is unreadable, or was and may
   * have been read by another replica: then the client may know it from there.
   */
  eventFor(matches: ((object: StoredObject) => boolean) | undefined, withFormer = false): ObjectEvent | undefined {
    const { current, previous } = this.change;
    if (previous?.unreadable && previous.isEncrypted) throw previous.unreadable;
    if (current?.unreadable) throw current.unreadable;
    // An object that cannot be decoded has never been sent.
    const before = previous && !previous.unreadable && (!matches || matches(previous)) ? previous : undefined;
    if (current && (!matches || matches(current))) {
      if (!before) return (this.#events.ADDED ??= new ObjectEvent('ADDED', current));
      if (!withFormer) return (this.#events.MODIFIED ??= new ObjectEvent('MODIFIED', current));
      return (this.#events.withFormer ??= new ObjectEvent('MODIFIED', current, this.#removed(before)));
    }
    // The last state that the client knew, with the revision of the removal, from which a watch can resume.
    return before && (this.#events.DELETED ??= new ObjectEvent('DELETED', this.#removed(before)));
  }

  #removed(last: StoredObject): DeletedObject {
    return new DeletedObject(last, this.change.revision);
  }
}
