/**
 * From one change to many watchers. Those who want the same share a channel: whether they see a change, and how it
 * looks, is found out once for all of them, and what happens in one turn of the event loop is told together.
 */
import type { Clock } from '@cluster-apiserver/base';
import { type Collection, type ItemChange, type Revision, revision } from '@cluster-apiserver/storage';
import { matcherOf, scopeOf, type Selection } from './selection.ts';
import type { Cached, StoredObject } from './stored-object.ts';
import { Batch, type ObjectEvent, Sighting } from './watch-event.ts';

export class Channels {
  readonly #collection: Collection<Cached>;
  readonly #clock: Clock;
  readonly #byName = new Map<string, Channel>();
  /** By where they look: a whole collection, a namespace, or one object. A change is looked up three times. */
  readonly #byScope = new Map<string, Set<Channel>>();
  /** Channels with something to tell. */
  readonly #touched = new Set<Channel>();
  #flushing = false;

  constructor(collection: Collection<Cached>, clock: Clock) {
    this.#collection = collection;
    this.#clock = clock;
    collection.follow({
      changed: (change) => this.#changed(change),
      interrupted: () => {
        for (const channel of this.#byName.values()) channel.interrupt();
      },
    });
  }

  /** The channel of all who ask for the same; whoever takes one gives it back. */
  take(selection: Selection): Channel {
    const name = nameOf(selection);
    let channel = this.#byName.get(name);
    if (!channel) {
      channel = new Channel(this.#collection, selection, () => this.#forget(name, channel as Channel));
      this.#byName.set(name, channel);
      const scope = keyOfScope(selection);
      const others = this.#byScope.get(scope);
      if (others) others.add(channel);
      else this.#byScope.set(scope, new Set([channel]));
    }
    channel.takers++;
    return channel;
  }

  #forget(name: string, channel: Channel): void {
    this.#byName.delete(name);
    const scope = keyOfScope(channel.selection);
    const others = this.#byScope.get(scope);
    others?.delete(channel);
    if (others?.size === 0) this.#byScope.delete(scope);
  }

  #changed(change: ItemChange<Cached>): void {
    const { key } = change;
    const sighting = new Sighting(change);
    // What lies in no namespace has the whole collection in its place.
    const within = key.slice(0, key.indexOf('/') + 1);
    for (const scope of within === '' ? ['', key] : ['', within, key])
      for (const channel of this.#byScope.get(scope) ?? []) {
        channel.see(sighting);
        this.#touched.add(channel);
      }
    if (this.#touched.size > 0) this.#flushSoon();
  }

  #flushSoon(): void {
    if (this.#flushing) return;
    this.#flushing = true;
    this.#clock.soon(() => this.#flush());
  }

  /**
   * After telling many watchers, a channel rests for as long as that took. So what everybody watches never takes more
   * than half of the event loop, and the more there is to tell, the more of it is told in one write.
   */
  #flush(): void {
    this.#flushing = false;
    let restMs = Number.POSITIVE_INFINITY;
    for (const channel of this.#touched) {
      const beganMs = this.#clock.monotonicMs();
      if (beganMs < channel.restsUntilMs) {
        restMs = Math.min(restMs, channel.restsUntilMs - beganMs);
        continue;
      }
      this.#touched.delete(channel);
      channel.flush();
      const endedMs = this.#clock.monotonicMs();
      channel.restsUntilMs = endedMs + (endedMs - beganMs);
    }
    if (this.#touched.size === 0) return;
    this.#flushing = true;
    this.#clock.after(restMs, () => this.#flush());
  }
}

const nameOf = ({ namespace, name, labels, fields, shards }: Selection): string =>
  JSON.stringify([namespace, name, labels, fields, shards]);

function keyOfScope(selection: Selection): string {
  const { within, key } = scopeOf(selection);
  return key ?? within;
}

/** A reader who has missed more batches than this is looked for among all changes. */
const beginningsMax = 64;

export class Channel {
  readonly selection: Selection;
  readonly #collection: Collection<Cached>;
  readonly #matches: ((object: StoredObject) => boolean) | undefined;
  readonly #forgotten: () => void;
  takers = 0;
  restsUntilMs = 0;
  #pending: ObjectEvent[] = [];
  #waiting = new Set<() => void>();
  #last: Batch | undefined;
  /** How many batches there were. Whoever has had all of them needs nothing but the next. */
  #count = 0;
  /** Where each of the last batches began, by its number. */
  readonly #beginnings = new Map<number, Revision>();

  constructor(collection: Collection<Cached>, selection: Selection, forgotten: () => void) {
    this.#collection = collection;
    this.selection = selection;
    this.#matches = matcherOf(selection);
    this.#forgotten = forgotten;
  }

  get count(): number {
    return this.#count;
  }

  /** The batch of this number, if it is the last one. */
  batch(number: number): Batch | undefined {
    return number === this.#count ? this.#last : undefined;
  }

  /** Everything up to this revision was told before the batch of this number; undefined when that is too long ago. */
  toldBefore(number: number): Revision | undefined {
    const beginning = this.#beginnings.get(number);
    return beginning && revision(beginning - 1);
  }

  /** What a watcher of this channel is told of changes, or what puts an end to the telling. */
  view(changes: readonly ItemChange<Cached>[]): ObjectEvent[] {
    const events: ObjectEvent[] = [];
    for (const change of changes) {
      const event = this.covers(change.key) && new Sighting(change).through(this.#matches);
      if (event) events.push(event);
    }
    return events;
  }

  see(sighting: Sighting): void {
    try {
      const event = sighting.through(this.#matches);
      if (event) this.#pending.push(event);
    } catch {
      // Each watcher comes across it by itself, behind everything that it is still told.
      this.interrupt();
    }
  }

  /** Tells what has happened so far. Afterwards nothing is left that only this channel knows. */
  flush(): void {
    const [first] = this.#pending;
    if (!first) return;
    this.#last = new Batch(this.#pending, this.#collection.reached);
    this.#count++;
    this.#beginnings.set(this.#count, first.revision);
    this.#beginnings.delete(this.#count - beginningsMax);
    this.#pending = [];
    this.#wake();
  }

  /** Nobody is in step any more: everybody goes on from where he was. */
  interrupt(): void {
    this.#pending = [];
    this.#last = undefined;
    this.#count++;
    this.#wake();
  }

  /** Calls back once, with the next batch. */
  wait(wake: () => void): void {
    this.#waiting.add(wake);
  }

  /** Takes a wait back. */
  leave(wake: () => void): void {
    this.#waiting.delete(wake);
  }

  giveBack(): void {
    this.takers--;
    if (this.takers === 0) this.#forgotten();
  }

  #wake(): void {
    const woken = this.#waiting;
    this.#waiting = new Set();
    for (const wake of woken) wake();
  }

  /** Whether an object under this key is within its scope, whatever else is selected by. */
  covers(candidate: string): boolean {
    const { within, key } = scopeOf(this.selection);
    return key === undefined ? candidate.startsWith(within) : candidate === key;
  }
}
