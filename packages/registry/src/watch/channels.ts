/**
 * From one change to many watchers. Watchers with the same selection share a channel, which selects and encodes each
 * change once for all of them, and sends the changes of one turn of the event loop together. Selecting and sending are
 * steps of `turns`, so that neither many channels nor many watchers delay a request.
 */
import { hash } from 'node:crypto';
import type { Clock } from '@cluster-apiserver/base';
import type { Kind } from '@cluster-apiserver/model';
import { type Collection, type ItemChange, type Revision, revision } from '@cluster-apiserver/storage';
import { ChannelIndex } from './channel-index.ts';
import { matcherOf, type Scope, scopeOf, type Selection } from '../read/selection.ts';
import type { StatePart } from './initial-events.ts';
import type { ChangesPart } from './missed-changes.ts';
import { SharedParts } from './shared-parts.ts';
import { Snapshots } from './snapshots.ts';
import type { CachedObject, StoredObject } from '../stored-object.ts';
import type { WatchTurns } from './watch-turns.ts';
import { Batch, batchBytesMax, type ObjectEvent, PendingChange } from './watch-event.ts';

/** What the watches of all kinds share. */
export interface ChannelsOptions {
  readonly clock: Clock;
  readonly turns: WatchTurns;
}

export class Channels {
  readonly clock: Clock;
  readonly turns: WatchTurns;
  readonly snapshots = new Snapshots();
  /** Parts of the initial state of watches, and of changes that watchers have missed. */
  readonly stateParts: SharedParts<StatePart>;
  readonly changesParts: SharedParts<ChangesPart>;
  readonly #collection: Collection<CachedObject>;
  readonly #kind: Kind;
  readonly #byName = new Map<string, Channel>();
  /** By scope: a whole collection, a namespace, or one object. A change is looked up three times. */
  readonly #byScope = new Map<string, ChannelIndex>();
  /** Channels with changes that are not flushed yet. */
  readonly #changedChannels = new Set<Channel>();
  /** Whether the next turn flushes. */
  #isFlushScheduled = false;
  /** Cancels the flush after the shortest pause of a channel. */
  #cancelPause = (): void => {};
  #channels = 0;

  constructor(collection: Collection<CachedObject>, kind: Kind, { clock, turns }: ChannelsOptions) {
    this.#collection = collection;
    this.#kind = kind;
    this.clock = clock;
    this.turns = turns;
    this.stateParts = new SharedParts(clock);
    this.changesParts = new SharedParts(clock);
    collection.subscribe({
      onChange: (change) => this.#changed(change),
      onReset: () => {
        this.snapshots.releaseAll();
        this.changesParts.clear();
        for (const channel of this.#byName.values()) channel.interrupt();
      },
    });
  }

  /** The channel that all watchers with this selection share. Each of them unsubscribes in the end. */
  subscribe(selection: Selection): Channel {
    const name = nameOf(selection);
    const channel = this.#byName.get(name) ?? this.#open(name, selection);
    channel.subscribers++;
    return channel;
  }

  #open(name: string, selection: Selection): Channel {
    const channel: Channel = new Channel(this.#channels++, selection, this.#collection, {
      kind: this.#kind,
      clock: this.clock,
      turns: this.turns,
      sent: () => this.#flushSoon(),
      forgotten: () => this.#forget(name, channel),
    });
    this.#byName.set(name, channel);
    const scope = keyOfScope(channel.scope);
    let index = this.#byScope.get(scope);
    if (!index) this.#byScope.set(scope, (index = new ChannelIndex()));
    index.add(channel);
    return channel;
  }

  #forget(name: string, channel: Channel): void {
    this.#byName.delete(name);
    this.#changedChannels.delete(channel);
    const scope = keyOfScope(channel.scope);
    const index = this.#byScope.get(scope);
    index?.delete(channel);
    if (index?.isEmpty) this.#byScope.delete(scope);
  }

  #changed(change: ItemChange<CachedObject>): void {
    this.snapshots.changed(change);
    const { key } = change;
    const sighting = new PendingChange(change);
    // The key of a cluster-scoped object has no namespace.
    const within = key.slice(0, key.indexOf('/') + 1);
    for (const scope of within === '' ? ['', key] : ['', within, key])
      this.#byScope.get(scope)?.forEach(change, (channel) => {
        channel.enqueue(sighting);
        this.#changedChannels.add(channel);
      });
    this.#flushSoon();
  }

  #flushSoon(): void {
    if (this.#isFlushScheduled || this.#changedChannels.size === 0) return;
    this.#isFlushScheduled = true;
    this.turns.wait(this.#flush);
  }

  /**
   * After sending to many watchers, a channel pauses for as long as that took. So a channel with many watchers never
   * takes more than half of the event loop, and batches become larger under load. The other channels do not wait for it.
   */
  readonly #flush = (): void => {
    this.#isFlushScheduled = false;
    let pauseMs = Number.POSITIVE_INFINITY;
    for (const channel of this.#changedChannels) {
      // It calls back (`sent`) when all its watchers have taken the last batch.
      if (channel.isSending) continue;
      const nowMs = this.clock.monotonicMs();
      if (nowMs < channel.pausedUntilMs) {
        pauseMs = Math.min(pauseMs, channel.pausedUntilMs - nowMs);
        continue;
      }
      if (!this.turns.hasTime) return this.#flushSoon();
      this.#changedChannels.delete(channel);
      channel.flush();
    }
    this.#cancelPause();
    if (pauseMs < Number.POSITIVE_INFINITY) this.#cancelPause = this.clock.after(pauseMs, () => this.#flushSoon());
  };
}

/** A hash, because a selector may have many kilobytes. */
const nameOf = ({ namespace, name, labels, fields, shards }: Selection): string =>
  hash('sha256', JSON.stringify([namespace, name, labels, fields, shards]), 'base64');

const keyOfScope = ({ within, key }: Scope): string => key ?? within;

/** A watcher that has missed more batches than this searches all changes in memory. */
const firstRevisionsMax = 64;

/** Changes that wait for a flush. Beyond that watchers take them from the event window, which all channels share. */
const unflushedMax = 1_000;

interface ChannelDependencies {
  readonly kind: Kind;
  readonly clock: Clock;
  readonly turns: WatchTurns;
  /** Called when all waiting watchers have been called back. */
  readonly sent: () => void;
  readonly forgotten: () => void;
}

export class Channel {
  readonly id: number;
  readonly selection: Selection;
  readonly scope: Scope;
  readonly #collection: Collection<CachedObject>;
  readonly #matches: ((object: StoredObject) => boolean) | undefined;
  readonly #dependencies: ChannelDependencies;
  subscribers = 0;
  pausedUntilMs = 0;
  #unflushed: PendingChange[] = [];
  #waiting = new Set<() => void>();
  /** Watchers of the last batch that have not been called back yet. */
  #waking = new Set<() => void>();
  #sendMs = 0;
  #last: Batch | undefined;
  /** The number of the last batch. A watcher that has taken it needs only the next one. */
  #count = 0;
  /** Where each of the last batches began, by its number. */
  readonly #firstRevisions = new Map<number, Revision>();

  constructor(
    id: number,
    selection: Selection,
    collection: Collection<CachedObject>,
    dependencies: ChannelDependencies,
  ) {
    this.id = id;
    this.#collection = collection;
    this.selection = selection;
    this.scope = scopeOf(dependencies.kind, selection);
    this.#matches = matcherOf(selection);
    this.#dependencies = dependencies;
  }

  get count(): number {
    return this.#count;
  }

  /** Whether watchers are still to be called back for the last batch. */
  get isSending(): boolean {
    return this.#waking.size > 0;
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

  /** The event that watchers of this channel get for a change. Throws CorruptValueError if the object is unreadable. */
  eventOf(change: ItemChange<CachedObject>): ObjectEvent | undefined {
    return this.covers(change.key) ? new PendingChange(change).eventFor(this.#matches) : undefined;
  }

  /** Whether an object in the scope of this channel is selected. */
  selects(object: StoredObject): boolean {
    return !this.#matches || this.#matches(object);
  }

  /** Keeps a change in the scope of this channel for the next flush. */
  enqueue(sighting: PendingChange): void {
    // An index may find a channel twice.
    if (this.#unflushed.at(-1) === sighting) return;
    if (this.#unflushed.length === unflushedMax) this.#leaveToWindow();
    this.#unflushed.push(sighting);
  }

  /** Sends the changes so far. Afterwards the channel holds no changes of its own. */
  flush(): void {
    if (this.#unflushed.length === 0) return;
    const events: ObjectEvent[] = [];
    try {
      for (const sighting of this.#unflushed) {
        const event = sighting.eventFor(this.#matches);
        if (event) events.push(event);
      }
    } catch {
      // Each watcher meets the unreadable object by itself, after the events before it.
      return this.interrupt();
    }
    const [first] = events;
    if (!first) {
      this.#unflushed = [];
      return;
    }
    const bytes = events.reduce((sum, event) => sum + event.bytes, 0);
    // Too much for one batch: watchers take it part by part from the window, and share the parts.
    if (events.length > 1 && bytes > batchBytesMax) return this.#leaveToWindow();
    this.#unflushed = [];
    this.#startBatch(first.revision, new Batch(events, this.#collection.currentRevision, bytes));
  }

  /** Makes all watchers catch up from the revision that each has reached. */
  interrupt(): void {
    this.#unflushed = [];
    this.#startBatch(undefined, undefined);
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

  unsubscribe(): void {
    this.subscribers--;
    if (this.subscribers > 0) return;
    this.#dependencies.turns.cancelWait(this.#send);
    this.#dependencies.forgotten();
  }

  /** Drops the changes: watchers take them from the window. */
  #leaveToWindow(): void {
    const [first] = this.#unflushed;
    this.#unflushed = [];
    this.#startBatch(first?.change.revision, undefined);
  }

  /** The next batch, which begins at this revision. */
  #startBatch(first: Revision | undefined, batch: Batch | undefined): void {
    this.#last = batch;
    this.#count++;
    if (first !== undefined) this.#firstRevisions.set(this.#count, first);
    this.#firstRevisions.delete(this.#count - firstRevisionsMax);
    if (this.#waiting.size === 0) return;
    if (this.#waking.size === 0) [this.#waking, this.#waiting] = [this.#waiting, this.#waking];
    else {
      for (const wake of this.#waiting) this.#waking.add(wake);
      this.#waiting.clear();
    }
    this.#dependencies.turns.wait(this.#send);
  }

  readonly #send = (): void => {
    const { clock, turns, sent } = this.#dependencies;
    const beganMs = clock.monotonicMs();
    for (const wake of this.#waking) {
      this.#waking.delete(wake);
      wake();
      if (!turns.hasTime) break;
    }
    const endedMs = clock.monotonicMs();
    this.#sendMs += endedMs - beganMs;
    if (this.#waking.size > 0) return turns.wait(this.#send);
    this.pausedUntilMs = endedMs + this.#sendMs;
    this.#sendMs = 0;
    sent();
  };

  /** Whether an object with this key is in the scope of the channel. */
  covers(candidate: string): boolean {
    const { within, key } = this.scope;
    return key === undefined ? candidate.startsWith(within) : candidate === key;
  }
}
