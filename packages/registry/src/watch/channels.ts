/**
 * From one change to many watchers. Watchers with the same selection share a channel, which selects each change once for all of
 * them. What its watchers get together is a batch, which is encoded once.
 */
import { hash } from 'node:crypto';
import { type Clock, type Loop, loopOf } from '@cluster-apiserver/base';
import type { Kind } from '@cluster-apiserver/model/kind';
import { type Collection, type ItemChange, type Revision, revision } from '@cluster-apiserver/storage';
import { ChannelIndex } from './channel-index.ts';
import { isWithin, matcherOf, type Scope, scopeOf, type Selection } from '../read/selection.ts';
import { type ChangesPart, SharedParts, type StatePart } from './shared-parts.ts';
import { Snapshots } from './snapshots.ts';
import type { CachedObject, StoredObject } from '../stored-object.ts';
import { Batch, batchBytesMax, type ObjectEvent, PendingChange } from './watch-event.ts';

/** The channels of a kind: routes each change to those whose selection may contain the object. */
export class Channels {
  readonly clock: Clock;
  readonly loop: Loop;
  readonly snapshots = new Snapshots();
  /** Parts of the initial state of watches, and of changes that watchers have missed. */
  readonly stateParts: SharedParts<StatePart>;
  readonly changesParts: SharedParts<ChangesPart>;
  readonly #collection: Collection<CachedObject>;
  readonly #kind: Kind;
  readonly #byName = new Map<string, Channel>();
  /** By scope: a whole collection, a namespace, or one object. A change is looked up three times. */
  readonly #byScope = new Map<string, ChannelIndex<Channel>>();
  #opened = 0;

  constructor(collection: Collection<CachedObject>, kind: Kind, clock: Clock) {
    this.#collection = collection;
    this.#kind = kind;
    this.clock = clock;
    this.loop = loopOf(clock);
    this.stateParts = new SharedParts(clock);
    this.changesParts = new SharedParts(clock);
    collection.subscribe({
      onChange: (change) => this.#route(change),
      onReset: () => {
        this.snapshots.releaseAll();
        this.changesParts.clear();
        for (const channel of this.#byName.values()) {
          if (collection.isDetached) channel.finish();
          else channel.interrupt();
        }
      },
    });
  }

  /** The channel that all watchers with this selection share. Each of them unsubscribes in the end. */
  subscribe(selection: Selection): Channel {
    const name = nameOf(selection);
    let channel = this.#byName.get(name);
    if (!channel) {
      channel = new Channel(
        this.#opened++,
        name,
        selection,
        scopeOf(this.#kind, selection),
        this.#collection,
        this.clock,
      );
      this.#byName.set(name, channel);
      const scope = keyOfScope(channel.scope);
      let index = this.#byScope.get(scope);
      if (!index) this.#byScope.set(scope, (index = new ChannelIndex()));
      index.add(channel);
    }
    channel.subscribers++;
    return channel;
  }

  unsubscribe(channel: Channel): void {
    channel.subscribers--;
    if (channel.subscribers > 0) return;
    this.#byName.delete(channel.name);
    const scope = keyOfScope(channel.scope);
    const index = this.#byScope.get(scope);
    index?.delete(channel);
    if (index?.isEmpty) this.#byScope.delete(scope);
  }

  #route(change: ItemChange<CachedObject>): void {
    this.snapshots.changed(change);
    const { key } = change;
    const pending = new PendingChange(change);
    // The key of a cluster-scoped object has no namespace.
    const within = key.slice(0, key.indexOf('/') + 1);
    for (const scope of within === '' ? ['', key] : ['', within, key])
      this.#byScope.get(scope)?.forEach(change, (channel) => channel.enqueue(pending));
  }
}

/** A hash, because a selector may have many kilobytes. */
const nameOf = ({ namespace, name, labels, fields, fieldsOf, shards }: Selection): string =>
  hash('sha256', JSON.stringify([namespace, name, labels, fields, fieldsOf, shards]), 'base64');

const keyOfScope = ({ within, key }: Scope): string => key ?? within;

/** A watcher that has missed more batches than this searches all changes in memory. */
const firstRevisionsMax = 64;

/** Changes that wait for a batch. Beyond that watchers take them from the event window, which all channels share. */
const unflushedMax = 1_000;

/** A channel rests for so many times as long as its last delivery took, unless that is too short for a timer. */
const restFactor = 2;
const restMinMs = 1;

/**
 * A log of batches, of which it keeps the last one: a watcher that has missed others takes their changes from the window.
 * Its watchers are called back for each batch in the lane of watches. Changes that come meanwhile are one batch after it. A
 * channel with many watchers rests between two deliveries, so that it takes no more than a third of the processor: each
 * write to a socket costs the same for one event and for several.
 */
export class Channel {
  readonly id: number;
  readonly name: string;
  readonly selection: Selection;
  readonly scope: Scope;
  subscribers = 0;
  readonly #collection: Collection<CachedObject>;
  readonly #clock: Clock;
  readonly #loop: Loop;
  readonly #matches: ((object: StoredObject) => boolean) | undefined;
  #unflushed: PendingChange[] = [];
  #waiting = new Set<() => void>();
  /** Watchers of the last batch that have not been called back yet. */
  #waking = new Set<() => void>();
  #isDeliveryQueued = false;
  #deliveryMs = 0;
  #restsUntilMs = 0;
  #last: Batch | undefined;
  /** The number of the last batch. A watcher that has taken it needs only the next one. */
  #count = 0;
  /** Where each of the last batches began, by its number. */
  readonly #firstRevisions = new Map<number, Revision>();

  constructor(
    id: number,
    name: string,
    selection: Selection,
    scope: Scope,
    collection: Collection<CachedObject>,
    clock: Clock,
  ) {
    this.id = id;
    this.name = name;
    this.selection = selection;
    this.scope = scope;
    this.#collection = collection;
    this.#clock = clock;
    this.#loop = loopOf(clock);
    this.#matches = matcherOf(selection);
  }

  get count(): number {
    return this.#count;
  }

  /** The batch of this number, if it is the last one. */
  batch(number: number): Batch | undefined {
    return number === this.#count ? this.#last : undefined;
  }

  /** Everything up to this revision was sent before the batch of this number; undefined when that is too long ago. */
  sentBefore(number: number): Revision | undefined {
    const beginning = this.#firstRevisions.get(number);
    return beginning && revision(beginning - 1);
  }

  /** Whether an object with this key is in the scope of the channel. */
  covers(key: string): boolean {
    return isWithin(this.scope, key);
  }

  /** Whether an object in the scope of this channel is selected. */
  selects(object: StoredObject): boolean {
    return !this.#matches || this.#matches(object);
  }

  /** The event that watchers of this channel get for a change. Throws CorruptValueError if the object is unreadable. */
  eventOf(change: ItemChange<CachedObject>): ObjectEvent | undefined {
    return this.covers(change.key) ? this.#eventFor(new PendingChange(change)) : undefined;
  }

  #eventFor(change: PendingChange): ObjectEvent | undefined {
    return change.eventFor(this.#matches, this.selection.fieldsOf !== undefined);
  }

  /** Keeps a change in the scope of this channel for the next batch. */
  enqueue(change: PendingChange): void {
    // An index may find a channel twice.
    if (this.#unflushed.at(-1) === change) return;
    if (this.#unflushed.length === unflushedMax) this.#leaveToWindow();
    this.#unflushed.push(change);
    this.#queueDelivery();
  }

  /** Makes a batch of the changes so far. Afterwards the channel holds no changes of its own. */
  flush(): void {
    if (this.#unflushed.length === 0) return;
    const events: ObjectEvent[] = [];
    try {
      for (const change of this.#unflushed) {
        const event = this.#eventFor(change);
        if (event) events.push(event);
      }
    } catch {
      // Each watcher meets the unreadable object by itself, after the events before it.
      return this.interrupt();
    }
    const bytes = events.reduce((sum, event) => sum + event.bytes, 0);
    // Too much for one batch: watchers take it part by part from the window, and share the parts.
    if (events.length > 1 && bytes > batchBytesMax) return this.#leaveToWindow();
    this.#unflushed = [];
    const [first] = events;
    if (first) this.#append(first.revision, new Batch(events, this.#collection.currentRevision, bytes));
  }

  /** Makes all watchers catch up from the revision that each has reached. */
  interrupt(): void {
    this.#unflushed = [];
    this.#append(undefined, undefined);
  }

  /** Gives the watchers the changes so far, and calls all of them back: no more will come. */
  finish(): void {
    this.flush();
    this.#wakeAll();
  }

  /** Calls back once, with the next batch. */
  wait(wake: () => void): void {
    this.#waiting.add(wake);
  }

  /** Takes a wait back. */
  cancelWait(wake: () => void): void {
    this.#waiting.delete(wake);
    this.#waking.delete(wake);
  }

  /** Drops the changes: watchers take them from the window. */
  #leaveToWindow(): void {
    const [first] = this.#unflushed;
    this.#unflushed = [];
    this.#append(first?.change.revision, undefined);
  }

  /** The next batch, which begins at this revision. */
  #append(first: Revision | undefined, batch: Batch | undefined): void {
    this.#last = batch;
    this.#count++;
    if (first !== undefined) this.#firstRevisions.set(this.#count, first);
    this.#firstRevisions.delete(this.#count - firstRevisionsMax);
    this.#wakeAll();
  }

  #wakeAll(): void {
    if (this.#waking.size === 0) [this.#waking, this.#waiting] = [this.#waiting, this.#waking];
    else {
      for (const wake of this.#waiting) this.#waking.add(wake);
      this.#waiting.clear();
    }
    if (this.#waking.size > 0) this.#queueDelivery();
  }

  #queueDelivery(): void {
    if (this.#isDeliveryQueued || this.#waking.size + this.#unflushed.length === 0) return;
    this.#isDeliveryQueued = true;
    this.#loop.queueAfterRest('watch', this.#deliver, this.#restsUntilMs);
  }

  readonly #deliver = (): void => {
    this.#isDeliveryQueued = false;
    const beganMs = this.#clock.monotonicMs();
    if (this.#waking.size === 0) this.flush();
    for (const wake of this.#waking) {
      this.#waking.delete(wake);
      wake();
      if (!this.#loop.hasTime('watch')) break;
    }
    const endedMs = this.#clock.monotonicMs();
    this.#deliveryMs += endedMs - beganMs;
    if (this.#waking.size === 0) {
      const restMs = restFactor * this.#deliveryMs;
      if (restMs >= restMinMs) this.#restsUntilMs = endedMs + restMs;
      this.#deliveryMs = 0;
    }
    this.#queueDelivery();
  };
}
