import { type FieldError, forbidden, invalid, notSupported, StatusError } from '@cluster-apiserver/model';
import {
  type Call,
  type CatchUpReader,
  type Changes,
  type ItemChange,
  type Revision,
  RevisionCompactedError,
  revision,
} from '@cluster-apiserver/storage';
import type { Channel } from '../watch/channels.ts';
import { InitialEvents } from '../watch/initial-events.ts';
import { buildChangesPart, readablePrefix } from '../watch/missed-changes.ts';
import { waitUntilFresh } from '../read/wait-until-fresh.ts';
import { validateNamespace, type Resource } from '../resource.ts';
import { parseResourceVersion } from '../resource-version.ts';
import { requireReadable, scopeOf, type Selection } from '../read/selection.ts';
import { toStatusError, withStatusErrors } from '../storage-errors.ts';
import type { CachedObject } from '../stored-object.ts';
import type { Batch, Step } from '../watch/watch-event.ts';

export interface WatchOptions extends Selection {
  readonly resourceVersion: string | undefined;
  readonly resourceVersionMatch: string | undefined;
  readonly sendInitialEvents: boolean | undefined;
  readonly allowWatchBookmarks: boolean;
  readonly continue: string | undefined;
}

/** A watch that has begun. Its reader takes what there is, as fast as it can write it, and waits when there is nothing. */
export interface WatchReader {
  /** The next events; undefined when there are none now. Throws the answer that ends the watch. */
  take(): Batch | undefined;
  /** Calls back once when there may be something to take. Every wait follows a take that gave nothing. */
  wait(wake: () => void): void;
  /** No more events come, though nothing went wrong: the reader is too far behind, and can come back. */
  readonly ended: boolean;
  /** How far the reader is, when there is nothing to take. */
  readonly reached: Revision | undefined;
  close(): void;
}

/**
 * The whole meaning of "watch", for every kind. Without a resourceVersion, or when asked to, it begins with the present
 * state as objects added.
 */
export function watch(resource: Resource, options: WatchOptions, call: Call): Promise<WatchReader> {
  return withStatusErrors(async () => {
    const errors = watchOptionsErrors(options);
    if (errors.length > 0) throw invalid({ group: 'meta.k8s.io', kind: 'ListOptions' }, '', errors);
    validateNamespace(options.namespace);
    const { collection, channels } = resource;
    const from = parseResourceVersion(options.resourceVersion);
    const { sendInitialEvents, allowWatchBookmarks } = options;
    collection.requireKnown();
    const channel = (): Channel => channels.take(options);
    if (typeof from === 'number' && !sendInitialEvents) return new Watcher(resource, channel(), from);
    try {
      await waitUntilFresh(collection, from, call);
    } catch (error) {
      // As an answer it would be no watch, and clients would take it for one that does not know initial events.
      if (isTimeout(error)) return failedWatch(error);
      throw error;
    }
    const view = collection.view();
    if (sendInitialEvents === false) return new Watcher(resource, channel(), view.revision);
    const marked = sendInitialEvents || allowWatchBookmarks;
    requireReadable(view, scopeOf(options));
    const taken = channel();
    return new Watcher(resource, taken, view.revision, new InitialEvents(resource, taken, view, marked));
  }, 'collection');
}

const isTimeout = (error: unknown): boolean => error instanceof StatusError && error.reason === 'Timeout';

function failedWatch(error: unknown): WatchReader {
  return {
    take: () => {
      throw error;
    },
    wait: () => {},
    ended: true,
    reached: undefined,
    close: () => {},
  };
}

/**
 * One reader. It has been sent everything up to a revision, and is sent the rest from the first of these that has it:
 * the batch that its channel made for all, the changes in memory, the history in the store, which it reads with others.
 */
class Watcher implements WatchReader {
  readonly #resource: Resource;
  readonly #channel: Channel;
  #sent: Revision;
  #initial: InitialEvents | undefined;
  /** The number of the last batch of the channel that it knows; undefined while it is not in step. */
  #inStep: number | undefined;
  #history: CatchUpReader<CachedObject> | undefined;
  /** It has been in step: what it then lost, it lost by being slow. */
  #wasInStep = false;
  /** There is more to take in another turn. */
  #postponed = false;
  #ended = false;
  #wake: (() => void) | undefined;
  /** What it was sent belongs to this history. */
  readonly #storeHistory: number;

  constructor(resource: Resource, channel: Channel, sent: Revision, initial?: InitialEvents) {
    this.#resource = resource;
    this.#storeHistory = resource.collection.history;
    this.#channel = channel;
    this.#sent = sent;
    this.#initial = initial;
  }

  get ended(): boolean {
    return this.#ended;
  }

  get reached(): Revision | undefined {
    if (this.#inStep === undefined || this.#inStep !== this.#channel.count) return undefined;
    // What the channel still has to send is older than what the memory has reached.
    this.#channel.flush();
    return this.#inStep === this.#channel.count ? this.#resource.collection.reached : undefined;
  }

  take(): Batch | undefined {
    if (this.#resource.collection.history !== this.#storeHistory) throw storageReplaced(this.#sent);
    this.#postponed = false;
    if (this.#inStep !== undefined) {
      if (this.#inStep === this.#channel.count) return undefined;
      const batch = this.#channel.batch(this.#inStep + 1);
      if (batch) {
        this.#inStep++;
        this.#sent = batch.revision;
        return batch;
      }
      this.#sent = this.#channel.sentBefore(this.#inStep + 1) ?? this.#sent;
      this.#inStep = undefined;
    }
    while (this.#resource.channels.turns.hasTime) {
      const batch = this.#step();
      if (batch !== 'more') return batch;
    }
    this.#postponed = true;
    return undefined;
  }

  wait(wake: () => void): void {
    this.#wake = wake;
    if (this.#postponed) this.#resource.channels.turns.wait(wake);
    else if (!this.#history) this.#channel.wait(wake);
  }

  close(): void {
    this.#ended = true;
    this.#initial?.close();
    this.#history?.close();
    if (this.#wake) {
      this.#resource.channels.turns.cancelWait(this.#wake);
      this.#channel.cancelWait(this.#wake);
    }
    this.#channel.unsubscribe();
  }

  #step(): Step {
    if (this.#initial) return this.#begin(this.#initial);
    return this.#history ? this.#takeHistory(this.#history) : this.#catchUp();
  }

  #begin(initial: InitialEvents): Step {
    const step = initial.take();
    if (initial.hasEnded) {
      initial.close();
      this.#initial = undefined;
      // Undefined before the end: the state has been given back, and the client has to begin again.
      this.#ended = step === undefined;
    }
    return step;
  }

  /** What it has missed, out of memory; then it is in step. */
  #catchUp(): Step {
    const { collection, channels } = this.#resource;
    // It waits for a future that others have seen and this replica has not.
    if (this.#sent > collection.reached) return undefined;
    const missed = collection.changesAfter(this.#sent, changesMax);
    if (!missed) {
      if (this.#wasInStep) this.#ended = true;
      else this.#history = collection.catchUp(this.#sent, () => this.#wake && channels.turns.wait(this.#wake));
      return this.#ended ? undefined : 'more';
    }
    if (missed.length === 0) {
      // What the channel has not sent yet has been seen in memory.
      this.#channel.flush();
      this.#sent = collection.reached;
      this.#inStep = this.#channel.count;
      this.#wasInStep = true;
      return undefined;
    }
    const readable = readablePrefix(missed, this.#channel, collection);
    if (readable.length === 0) {
      // It goes on when the key of the next one is there: the channel is interrupted then.
      this.#sent = revision((missed[0] as ItemChange<CachedObject>).revision - 1);
      return undefined;
    }
    return this.#takePart(readable);
  }

  #takeHistory(history: CatchUpReader<CachedObject>): Step {
    const read = this.#readHistory(history);
    if (!read) return undefined;
    const step = read.changes.length > 0 ? this.#takePart(read.changes) : 'more';
    if (read.changes.length === 0) this.#sent = read.revision;
    if (this.#resource.collection.changesAfter(this.#sent, 0)) {
      history.close();
      this.#history = undefined;
    }
    return step;
  }

  #readHistory(history: CatchUpReader<CachedObject>): Changes<CachedObject> | undefined {
    try {
      const read = history.take(this.#sent, changesMax);
      if (read === 'refused') throw expiredVersion(this.#sent);
      return read;
    } catch (error) {
      throw error instanceof RevisionCompactedError
        ? expiredVersion(this.#sent, error)
        : toStatusError(error, 'collection');
    }
  }

  /** The first of some changes. Those who are to be told the same take the same part. */
  #takePart(changes: readonly ItemChange<CachedObject>[]): Step {
    const { changesParts, turns } = this.#resource.channels;
    const name = `${this.#channel.id} ${this.#sent}`;
    const { batch, next } = changesParts.getOrBuild(name, () => buildChangesPart(changes, this.#channel, turns));
    this.#sent = next;
    return batch ?? 'more';
  }
}

const expiredVersion = (sent: Revision, cause?: RevisionCompactedError): StatusError =>
  new StatusError('Expired', `too old resource version: ${sent}`, undefined, { cause });

/** So many changes are taken out of the window at a time. */
const changesMax = 256;
/** Clients relist: the versions that they know may mean something else now. */
const storageReplaced = (sent: Revision): StatusError =>
  new StatusError('Expired', `too old resource version: ${sent}: the storage was restored or replaced`);

function watchOptionsErrors({
  resourceVersionMatch: match,
  sendInitialEvents,
  continue: token,
}: WatchOptions): FieldError[] {
  const errors: FieldError[] = [];
  const supported = match === 'NotOlderThan';
  if (sendInitialEvents !== undefined && !supported)
    errors.push(
      forbidden('resourceVersionMatch', 'sendInitialEvents requires setting resourceVersionMatch to NotOlderThan'),
    );
  if (match && sendInitialEvents === undefined)
    errors.push(
      forbidden(
        'resourceVersionMatch',
        'resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided',
      ),
    );
  if (match && !supported) errors.push(notSupported('resourceVersionMatch', match, ['NotOlderThan']));
  if (match && token)
    errors.push(forbidden('resourceVersionMatch', 'resourceVersionMatch is forbidden when continue is provided'));
  else if (token) errors.push(forbidden('continue', 'continue is forbidden for watch'));
  return errors;
}
