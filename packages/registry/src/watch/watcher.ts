import { unreachable } from '@cluster-apiserver/base';
import { type HistoryReader, type ItemChange, type Revision } from '@cluster-apiserver/storage';
import type { Resource } from '../resource.ts';
import { toStatusError } from '../storage-errors.ts';
import type { CachedObject } from '../stored-object.ts';
import type { Channel } from './channels.ts';
import type { InitialEvents } from './initial-events.ts';
import { buildChangesPart } from './missed-changes.ts';
import type { Batch, Step } from './watch-event.ts';

/**
 * `behind`: the reader is slower than the changes, or the watch cache was reloaded. `snapshot`: the initial state was
 * released before the reader had taken all of it. `removed`: the kind is no longer served.
 */
export type WatchReaderEnd = 'behind' | 'snapshot' | 'removed';

/** A watch as its handler reads it: it takes events as fast as it can write them, and waits when there are none. */
export interface WatchReader {
  /** The next events; undefined if there are none now. Throws the StatusError that ends the watch. */
  take(): Batch | undefined;
  /** Calls back once when there may be events. Every wait follows a take that returned none. */
  wait(wake: () => void): void;
  /** Set if no more events come, without an error: the client can begin again. */
  readonly end: WatchReaderEnd | undefined;
  /** The revision that the reader has reached, if it has taken everything. */
  readonly reached: Revision | undefined;
  close(): void;
}

/**
 * Where the events of a watcher come from. A watcher begins with the initial state or the changes that it has missed,
 * and then takes the batches that its channel makes for all its watchers. One that falls behind catches up again.
 */
type Phase =
  | { readonly type: 'initial'; readonly events: InitialEvents }
  /** From the changes in memory. */
  | { readonly type: 'catchingUp' }
  /** From the history in etcd. */
  | { readonly type: 'history'; readonly reader: HistoryReader<CachedObject> }
  /** It has taken all batches of its channel up to this number. */
  | { readonly type: 'inStep'; batch: number };

const catchingUp: Phase = { type: 'catchingUp' };

/** So many changes are taken out of the window at a time. */
const changesMax = 256;

export class Watcher implements WatchReader {
  readonly #resource: Resource;
  readonly #channel: Channel;
  #phase: Phase;
  /** Everything up to this revision has been taken, except for the batches that follow. */
  #sent: Revision;
  /** The rest of a part that has been taken. */
  #following: readonly Batch[] = [];
  /** A watcher that was in step and lost it is too slow, and is ended instead of reading the history. */
  #wasInStep = false;
  /** There is more to take in another turn. */
  #postponed = false;
  #end: WatchReaderEnd | undefined;
  #wake: (() => void) | undefined;
  /** What was sent belongs to this history of the store. */
  readonly #storeHistory: number;

  constructor(resource: Resource, channel: Channel, sent: Revision, initial?: InitialEvents) {
    this.#resource = resource;
    this.#storeHistory = resource.collection.historyNumber;
    this.#channel = channel;
    this.#sent = sent;
    this.#phase = initial ? { type: 'initial', events: initial } : catchingUp;
  }

  get end(): WatchReaderEnd | undefined {
    return this.#end;
  }

  get reached(): Revision | undefined {
    if (!this.#hasAllBatches()) return undefined;
    // What the channel still has to send is older than what the memory has reached.
    this.#channel.flush();
    return this.#hasAllBatches() ? this.#resource.collection.currentRevision : undefined;
  }

  #hasAllBatches(): boolean {
    return this.#phase.type === 'inStep' && this.#phase.batch === this.#channel.count;
  }

  take(): Batch | undefined {
    try {
      return this.#take();
    } catch (error) {
      throw toStatusError(error, { since: this.#sent });
    }
  }

  #take(): Batch | undefined {
    const { collection } = this.#resource;
    if (collection.historyNumber !== this.#storeHistory) {
      collection.requireResumable(this.#sent, this.#storeHistory);
      this.#end = 'behind';
      return undefined;
    }
    if (collection.isDetached) return this.#takeLast();
    collection.requireServed();
    this.#postponed = false;
    const phase = this.#phase;
    if (phase.type === 'inStep') {
      if (phase.batch === this.#channel.count) return undefined;
      const batch = this.#nextBatch(phase);
      if (batch) return batch;
      this.#sent = this.#channel.sentBefore(phase.batch + 1) ?? this.#sent;
      this.#phase = catchingUp;
    }
    while (this.#resource.channels.loop.hasTime('watch')) {
      const step = this.#step();
      if (step !== 'more') return step;
    }
    this.#postponed = true;
    return undefined;
  }

  /** What was changed before the kind went, such as the deletion of its objects, and then the end. */
  #takeLast(): Batch | undefined {
    const batch = this.#phase.type === 'inStep' ? this.#nextBatch(this.#phase) : undefined;
    if (!batch) this.#end = 'removed';
    return batch;
  }

  #nextBatch(phase: Extract<Phase, { readonly type: 'inStep' }>): Batch | undefined {
    const batch = this.#channel.batch(phase.batch + 1);
    if (!batch) return undefined;
    phase.batch++;
    this.#sent = batch.revision;
    return batch;
  }

  wait(wake: () => void): void {
    this.#wake = wake;
    if (this.#postponed) this.#resource.channels.loop.queue('watch', wake);
    // The reader of the history calls back by itself.
    else if (this.#phase.type !== 'history') this.#channel.wait(wake);
  }

  close(): void {
    if (this.#phase.type === 'initial') this.#phase.events.close();
    if (this.#phase.type === 'history') this.#phase.reader.close();
    if (this.#wake) this.#channel.cancelWait(this.#wake);
    this.#resource.channels.unsubscribe(this.#channel);
  }

  #step(): Step {
    const [following, ...rest] = this.#following;
    this.#following = rest;
    if (following) return following;
    const phase = this.#phase;
    switch (phase.type) {
      case 'initial':
        return this.#takeInitial(phase.events);
      case 'history':
        return this.#takeHistory(phase.reader);
      case 'catchingUp':
        return this.#catchUp();
      case 'inStep':
        return undefined;
      default:
        return unreachable(phase);
    }
  }

  #takeInitial(events: InitialEvents): Step {
    const step = events.take();
    if (events.hasEnded) {
      events.close();
      this.#phase = catchingUp;
      // Undefined before the end: the snapshot was released, and the client has to begin again.
      if (step === undefined) this.#end = 'snapshot';
    }
    return step;
  }

  /** Takes missed changes from memory; afterwards the watcher is in step with its channel. */
  #catchUp(): Step {
    const { collection, channels } = this.#resource;
    // The client knows a revision of another replica that has not arrived here yet.
    if (this.#sent > collection.currentRevision) return undefined;
    const missed = collection.changesAfter(this.#sent, changesMax);
    if (!missed) {
      if (this.#wasInStep) {
        this.#end = 'behind';
        return undefined;
      }
      const { within, key } = this.#channel.scope;
      const notify = (): void => {
        if (this.#wake) channels.loop.queue('watch', this.#wake);
      };
      const reader = collection.readHistory(this.#sent, key ?? within, notify);
      this.#phase = { type: 'history', reader };
      return 'more';
    }
    const [first] = missed;
    if (!first) {
      // What the channel has not sent yet is in memory already, and was taken from there.
      this.#channel.flush();
      this.#sent = collection.currentRevision;
      this.#phase = { type: 'inStep', batch: this.#channel.count };
      this.#wasInStep = true;
      return undefined;
    }
    return this.#takePart(missed);
  }

  #takeHistory(reader: HistoryReader<CachedObject>): Step {
    const read = reader.take(this.#sent, changesMax);
    if (!read) return undefined;
    const step = read.changes.length > 0 ? this.#takePart(read.changes) : 'more';
    if (read.changes.length === 0) this.#sent = read.revision;
    if (this.#resource.collection.changesAfter(this.#sent, 0)) {
      reader.close();
      this.#phase = catchingUp;
    }
    return step;
  }

  /** Takes the first of some changes. Watchers of one channel that missed the same changes share the part. */
  #takePart(changes: readonly ItemChange<CachedObject>[]): Step {
    const { changesParts, loop } = this.#resource.channels;
    const name = `${this.#channel.id} ${this.#sent}`;
    const { batches, next } = changesParts.getOrBuild(name, () => buildChangesPart(changes, this.#channel, loop));
    this.#sent = next;
    this.#following = batches;
    return 'more';
  }
}
