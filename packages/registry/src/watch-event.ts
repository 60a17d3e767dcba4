import type { ItemChange, Revision } from '@cluster-apiserver/storage';
import type { Outcome } from './outcome.ts';
import { type Cached, GoneObject, type StoredObject } from './stored-object.ts';

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
}

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

/** Events that are told together. */
export class Batch {
  readonly events: readonly WatchEvent[];
  /** Everything up to here has been told with it. */
  readonly revision: Revision;
  readonly #written = new Map<unknown, Buffer>();

  constructor(events: readonly WatchEvent[], revision: Revision) {
    this.events = events;
    this.revision = revision;
  }

  /** The batch in a form, written by whoever asks first. */
  in(form: unknown, write: (events: readonly WatchEvent[]) => Buffer): Buffer {
    let written = this.#written.get(form);
    if (!written) this.#written.set(form, (written = write(this.events)));
    return written;
  }
}

/** A change as the watchers of a selection may be told of it: in one of three ways, each made once. */
export class Sighting {
  readonly change: ItemChange<Cached>;
  #events: Partial<Record<ObjectEvent['type'], ObjectEvent>> = {};

  constructor(change: ItemChange<Cached>) {
    this.change = change;
  }

  /**
   * A selector is a window: what comes into view is added, what leaves it is deleted, whatever happened to the object.
   * Undefined when nothing of it is in view. Throws CorruptValueError when it cannot be said.
   */
  through(matches: ((object: StoredObject) => boolean) | undefined): ObjectEvent | undefined {
    const { current, previous } = this.change;
    // What could not be read before has never been told of.
    const before = previous && !previous.unreadable && (!matches || matches(previous)) ? previous : undefined;
    if (current?.unreadable) throw current.unreadable;
    if (current && (!matches || matches(current))) return this.#event(before ? 'MODIFIED' : 'ADDED', current);
    // The last state that the client knew, as of the write that took it away, so that a watch goes on behind it.
    return before && (this.#events.DELETED ?? this.#event('DELETED', new GoneObject(before, this.change.revision)));
  }

  #event(type: ObjectEvent['type'], outcome: ObjectEvent['outcome']): ObjectEvent {
    return (this.#events[type] ??= new ObjectEvent(type, outcome));
  }
}
