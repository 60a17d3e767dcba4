import type { ItemChange, Revision } from '@cluster-apiserver/storage';
import type { Outcome } from '../outcome.ts';
import { type CachedObject, DeletedObject, type StoredObject } from '../stored-object.ts';

/** Something a watch tells. Many watchers are told the same, so whoever writes it down does so once for each form. */
export type WatchEvent = ObjectEvent | Bookmark;

export class ObjectEvent {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED';
  readonly outcome: Outcome & { readonly revision: Revision };

  constructor(type: ObjectEvent['type'], outcome: ObjectEvent['outcome']) {
    this.type = type;
    this.outcome = outcome;
  }

  get revision(): Revision {
    return this.outcome.revision;
  }

  /** About how long it is as JSON: the object, and what stands around it. */
  get bytes(): number {
    return this.outcome.json.length + frameBytes;
  }
}

/** `{"type":"MODIFIED","object":}` and the end of the line. */
const frameBytes = 32;

/** Everything up to a revision has been told. */
export class Bookmark {
  readonly type = 'BOOKMARK';
  readonly revision: Revision;
  /** The end of what was there when the watch began. */
  readonly endsInitialEvents: boolean;

  constructor(revision: Revision, endsInitialEvents: boolean) {
    this.revision = revision;
    this.endsInitialEvents = endsInitialEvents;
  }
}

/** What a watcher is sent at once, in bytes of JSON, unless a single object is larger. */
export const batchBytesMax = 32 * 1024;

/** How many forms of one batch are kept. Watchers of a kind rarely use more; one of another form writes it again. */
const formsMax = 4;

/** Events that are sent together. */
export class Batch {
  readonly events: readonly WatchEvent[];
  /** Everything up to here has been sent with it. */
  readonly revision: Revision;
  /** About what it is long as JSON. */
  readonly bytes: number;
  readonly encoded = new Map<unknown, Buffer>();

  constructor(events: readonly WatchEvent[], revision: Revision, bytes = 0) {
    this.events = events;
    this.revision = revision;
    this.bytes = bytes;
  }

  /** The batch in a form, written by whoever needs it first. */
  encodedAs(form: unknown, write: (events: readonly WatchEvent[]) => Buffer): Buffer {
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

/** Events; nothing until there is a call back; or nothing yet, and the next step may give some. */
export type Step = Batch | undefined | 'more';

/** A change as the watchers of a selection may be told of it: in one of three ways, each made once. */
export class PendingChange {
  readonly change: ItemChange<CachedObject>;
  #events: Partial<Record<ObjectEvent['type'], ObjectEvent>> = {};

  constructor(change: ItemChange<CachedObject>) {
    this.change = change;
  }

  /**
   * A selector is a window: what comes into view is added, what leaves it is deleted, whatever happened to the object.
   * Undefined when nothing of it is in view. Throws CorruptValueError when it cannot be said.
   */
  eventFor(matches: ((object: StoredObject) => boolean) | undefined): ObjectEvent | undefined {
    const { current, previous } = this.change;
    // What could not be read before has never been told of.
    const before = previous && !previous.unreadable && (!matches || matches(previous)) ? previous : undefined;
    if (current?.unreadable) throw current.unreadable;
    if (current && (!matches || matches(current))) return this.#event(before ? 'MODIFIED' : 'ADDED', current);
    // The last state that the client knew, as of the write that took it away, so that a watch goes on behind it.
    return before && (this.#events.DELETED ?? this.#event('DELETED', new DeletedObject(before, this.change.revision)));
  }

  #event(type: ObjectEvent['type'], outcome: ObjectEvent['outcome']): ObjectEvent {
    return (this.#events[type] ??= new ObjectEvent(type, outcome));
  }
}
