import { type FieldError, forbidden, invalid, notSupported, StatusError } from '@cluster-apiserver/model';
import {
  type Call,
  type ItemChange,
  type Revision,
  RevisionCompactedError,
  revision,
} from '@cluster-apiserver/storage';
import type { Channel } from './channels.ts';
import { reach } from './reach.ts';
import { requireNamespace, type Resource } from './resource.ts';
import { parseResourceVersion } from './resource-version.ts';
import { select, type Selection } from './selection.ts';
import { answerFor, answering } from './storage-answers.ts';
import type { Cached, StoredObject } from './stored-object.ts';
import { Batch, Bookmark, ObjectEvent } from './watch-event.ts';

export interface WatchOptions extends Selection {
  readonly resourceVersion: string | undefined;
  readonly resourceVersionMatch: string | undefined;
  readonly sendInitialEvents: boolean | undefined;
  readonly allowWatchBookmarks: boolean;
  readonly continue: string | undefined;
}

/** A watch that has begun. Its reader takes what there is, as fast as it can write it, and waits when there is nothing. */
export interface Watching {
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
export function watch(resource: Resource, options: WatchOptions, call: Call): Promise<Watching> {
  return answering(async () => {
    const errors = watchOptionsErrors(options);
    if (errors.length > 0) throw invalid({ group: 'meta.k8s.io', kind: 'ListOptions' }, '', errors);
    requireNamespace(options.namespace);
    const { collection, channels, kind } = resource;
    const from = parseResourceVersion(options.resourceVersion);
    const { sendInitialEvents, allowWatchBookmarks } = options;
    collection.requireKnown();
    const channel = (): Channel => channels.take(options);
    if (typeof from === 'number' && !sendInitialEvents) return new Watcher(resource, channel(), from);
    try {
      await reach(collection, from, call);
    } catch (error) {
      // As an answer it would be no watch, and clients would take it for one that does not know initial events.
      if (isTimeout(error)) return failed(error);
      throw error;
    }
    const view = collection.view();
    if (sendInitialEvents === false) return new Watcher(resource, channel(), view.revision);
    const { objects } = select(view, kind, options, undefined);
    const marked = sendInitialEvents || allowWatchBookmarks;
    return new Watcher(resource, channel(), view.revision, presentIn(objects, view.revision, marked));
  });
}

const isTimeout = (error: unknown): boolean => error instanceof StatusError && error.reason === 'Timeout';

function failed(error: unknown): Watching {
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

/** Enough that the rest of the world gets its turn between two of them. */
const presentBatch = 200;

function* presentIn(objects: readonly StoredObject[], revision: Revision, marked: boolean): Generator<Batch> {
  for (let at = 0; at < objects.length; at += presentBatch)
    yield new Batch(
      objects.slice(at, at + presentBatch).map((object) => new ObjectEvent('ADDED', object)),
      revision,
    );
  // At once behind them: a client that has been promised an end of the beginning waits for nothing else.
  if (marked) yield new Batch([new Bookmark(revision, true)], revision);
}

/**
 * One reader. It has been told everything up to a revision, and is told the rest from the first of these that has it:
 * the batch that its channel made for all, the changes in memory, the history in the store.
 */
class Watcher implements Watching {
  readonly #resource: Resource;
  readonly #channel: Channel;
  #told: Revision;
  #present: Iterator<Batch> | undefined;
  /** The number of the last batch of the channel that it knows; undefined while it is not in step. */
  #inStep: number | undefined;
  #history: History | undefined;
  /** It has been in step: what it then lost, it lost by being slow. */
  #wasInStep = false;
  #ended = false;
  #wake: (() => void) | undefined;
  /** What it was told belongs to this history. */
  readonly #storeHistory: number;

  constructor(resource: Resource, channel: Channel, told: Revision, present?: Iterator<Batch>) {
    this.#resource = resource;
    this.#storeHistory = resource.collection.history;
    this.#channel = channel;
    this.#told = told;
    this.#present = present;
  }

  get ended(): boolean {
    return this.#ended;
  }

  get reached(): Revision | undefined {
    if (this.#inStep === undefined || this.#inStep !== this.#channel.count) return undefined;
    // What the channel still has to tell is older than what the memory has reached.
    this.#channel.flush();
    return this.#inStep === this.#channel.count ? this.#resource.collection.reached : undefined;
  }

  take(): Batch | undefined {
    if (this.#resource.collection.history !== this.#storeHistory) throw replaced(this.#told);
    const present = this.#present?.next();
    if (present && !present.done) return present.value;
    this.#present = undefined;
    if (this.#inStep !== undefined) {
      if (this.#inStep === this.#channel.count) return undefined;
      const batch = this.#channel.batch(this.#inStep + 1);
      if (batch) {
        this.#inStep++;
        this.#told = batch.revision;
        return batch;
      }
      this.#told = this.#channel.toldBefore(this.#inStep + 1) ?? this.#told;
      this.#inStep = undefined;
    }
    return this.#history ? this.#takeHistory(this.#history) : this.#catchUp();
  }

  wait(wake: () => void): void {
    this.#wake = wake;
    if (this.#history) this.#history.wait(wake);
    else this.#channel.wait(wake);
  }

  close(): void {
    this.#ended = true;
    this.#history?.close();
    if (this.#wake) this.#channel.leave(this.#wake);
    this.#channel.giveBack();
  }

  /** What it has missed, out of memory; then it is in step. */
  #catchUp(): Batch | undefined {
    const { collection } = this.#resource;
    // It waits for a future that others have seen and this replica has not.
    if (this.#told > collection.reached) return undefined;
    const missed = collection.changesAfter(this.#told);
    if (!missed) {
      if (!this.#wasInStep)
        return this.#takeHistory((this.#history = new History(this.#resource, this.#channel, this.#told)));
      this.#ended = true;
      return undefined;
    }
    this.#channel.flush();
    const readable = readableOf(missed, this.#channel);
    const events = view(this.#channel, readable);
    if (readable.length < missed.length) {
      // It goes on when the key of the next one is there: the channel is interrupted then.
      this.#told = revision((missed[readable.length]?.revision ?? this.#told) - 1);
      return events.length > 0 ? new Batch(events, this.#told) : undefined;
    }
    this.#told = collection.reached;
    this.#inStep = this.#channel.count;
    this.#wasInStep = true;
    return events.length > 0 ? new Batch(events, this.#told) : undefined;
  }

  #takeHistory(history: History): Batch | undefined {
    const batch = history.take();
    if (!batch) return undefined;
    this.#told = batch.revision;
    if (this.#resource.collection.changesAfter(this.#told)) {
      history.close();
      this.#history = undefined;
    }
    return batch.events.length > 0 ? batch : this.take();
  }
}

/** Clients relist: the versions that they know may mean something else now. */
const replaced = (told: Revision): StatusError =>
  new StatusError('Expired', `The resourceVersion ${told} is too old: the storage was restored or replaced`);

/** The changes before one that cannot be read at present. What lies behind it is told when it has been told. */
function readableOf(changes: readonly ItemChange<Cached>[], channel: Channel): readonly ItemChange<Cached>[] {
  const end = changes.findIndex(
    ({ key, current }) => current?.unreadable && !current.unreadable.lasting && channel.covers(key),
  );
  return end < 0 ? changes : changes.slice(0, end);
}

function view(channel: Channel, changes: Parameters<Channel['view']>[0]): ObjectEvent[] {
  try {
    return channel.view(changes);
  } catch (error) {
    throw answerFor(error);
  }
}

/** The changes that memory no longer has, one batch after the other as they are taken. */
class History {
  readonly #abort = new AbortController();
  readonly #channel: Channel;
  readonly #since: Revision;
  readonly #sets: ReturnType<Resource['collection']['replay']>;
  #next: { readonly batch: Batch } | { readonly error: unknown } | undefined;
  #reading = false;
  #wake: (() => void) | undefined;

  constructor({ collection }: Resource, channel: Channel, since: Revision) {
    this.#channel = channel;
    this.#since = since;
    const { namespace } = channel.selection;
    this.#sets = collection.replay(namespace === undefined ? '' : `${namespace}/`, since, this.#abort.signal);
  }

  take(): Batch | undefined {
    const next = this.#next;
    this.#next = undefined;
    if (!next) {
      if (!this.#reading) void this.#read();
      return undefined;
    }
    if ('error' in next) throw next.error;
    return next.batch;
  }

  wait(wake: () => void): void {
    this.#wake = wake;
  }

  close(): void {
    this.#abort.abort();
  }

  async #read(): Promise<void> {
    this.#reading = true;
    try {
      const { done, value } = await this.#sets.next();
      if (done) return;
      this.#next = { batch: new Batch(view(this.#channel, value.changes), value.revision) };
    } catch (error) {
      this.#next = { error: error instanceof RevisionCompactedError ? this.#expired(error) : answerFor(error) };
    } finally {
      this.#reading = false;
    }
    this.#wake?.();
  }

  #expired(cause: RevisionCompactedError): StatusError {
    return new StatusError('Expired', `too old resource version: ${this.#since}`, undefined, { cause });
  }
}

function watchOptionsErrors({
  resourceVersionMatch: match,
  sendInitialEvents,
  continue: token,
}: WatchOptions): FieldError[] {
  const errors: FieldError[] = [];
  if (sendInitialEvents === undefined) {
    if (match)
      errors.push(
        forbidden(
          'resourceVersionMatch',
          'resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided',
        ),
      );
  } else if (match !== 'NotOlderThan') {
    errors.push(
      forbidden('resourceVersionMatch', 'sendInitialEvents requires setting resourceVersionMatch to NotOlderThan'),
    );
    if (match) errors.push(notSupported('resourceVersionMatch', match, ['NotOlderThan']));
  }
  if (token) errors.push(forbidden('continue', 'continue is forbidden for watch'));
  return errors;
}
