/**
 * A watch that survives its connections. It resumes from the last delivered revision, which advances only with events and
 * progress notifications, because etcd sends both in order. The `created` response also contains a revision, but that of
 * the store: a client that resumed from it would miss all events in between.
 */
import { backoff, invariant, sleep } from '@cluster-apiserver/base';
import { HistoryReplacedError, RevisionCompactedError } from '../errors.ts';
import { type Revision, revision } from '../revision.ts';
import type { Change, ChangeSet, Entry } from '../store.ts';
import type { EtcdClient, MemberConnection } from './client.ts';
import { prefixEnd, rangeStart } from './keys.ts';
import { OrderedChanges } from './ordered-changes.ts';
import type { ProgressRequester } from './progress.ts';
import { EtcdFault } from './transport.ts';
import type { EntryReader } from './values.ts';
import type { KeyValue } from './wire/key-value.ts';
import {
  decodeWatchMessage,
  encodeWatchCreate,
  eventsOfMessage,
  type WatchEvent,
  type WatchMessage,
  watchPath,
} from './wire/watch.ts';

export interface EtcdWatchOptions {
  readonly prefix: string;
  readonly after: Revision;
  readonly signal: AbortSignal;
  readonly withPrevious: boolean;
  readonly progress: Pick<ProgressRequester, 'add'>;
}

/**
 * The first reconnection is practically immediate. Later ones are soon after each other, too: calls recover from an election
 * at once, and reads then wait for the watch. A replica has few watches, so they are no load for etcd.
 */
const reconnectFirstMs = 20;
const reconnectMaxMs = 200;

/** One watch delivers all kinds, so a value whose key takes longer than this is deferred. */
const keyTimeoutMs = 100;

export async function* watchEtcd(
  client: EtcdClient,
  reader: EntryReader,
  options: EtcdWatchOptions,
): AsyncGenerator<ChangeSet> {
  const { signal } = options;
  const { history } = client;
  const { number } = history;
  const requireSameHistory = (): void => {
    if (history.number !== number) throw new HistoryReplacedError();
  };
  const pauses = backoff({ firstMs: reconnectFirstMs, maxMs: reconnectMaxMs }, client.random);
  let delivered = options.after;
  while (!signal.aborted) {
    requireSameHistory();
    const connection = await connect(client);
    if (connection) {
      const watch = new MemberWatch(client, reader, options, connection);
      if (signal.aborted || history.number !== number) watch.close();
      watch.start(delivered);
      try {
        for (let set = await watch.changes.next(); set; set = await watch.changes.next()) {
          if (signal.aborted) return;
          requireSameHistory();
          pauses.reset();
          delivered = set.revision;
          yield set;
        }
      } catch (fault) {
        noteFault(client, fault);
      } finally {
        watch.close();
      }
      if (signal.aborted) return;
      requireSameHistory();
      connection.markFailed();
    }
    // The signal ends the sleep early when the watch is no longer needed.
    await sleep(client.clock, pauses.nextMs(), signal).catch(() => {});
  }
}

async function connect(client: EtcdClient): Promise<MemberConnection | undefined> {
  try {
    return await client.openStream(watchPath);
  } catch (fault) {
    noteFault(client, fault);
    return undefined;
  }
}

function noteFault(client: EtcdClient, fault: unknown): void {
  if (!(fault instanceof EtcdFault)) throw fault;
  client.noteWatchOutcome(fault);
}

/** The watch on one connection. It reads and decrypts messages ahead of the consumer, until the connection ends. */
class MemberWatch {
  readonly changes = new OrderedChanges();
  readonly #client: EtcdClient;
  readonly #reader: EntryReader;
  readonly #options: EtcdWatchOptions;
  readonly #connection: MemberConnection;
  readonly #stopProgress: () => void;
  readonly #stopListening: () => void;

  constructor(client: EtcdClient, reader: EntryReader, options: EtcdWatchOptions, connection: MemberConnection) {
    this.#client = client;
    this.#reader = reader;
    this.#options = options;
    this.#connection = connection;
    this.#stopProgress = options.progress.add(connection);
    options.signal.addEventListener('abort', this.close, { once: true });
    this.#stopListening = client.history.onReplaced(this.close);
  }

  /** Bound, for its listeners: a reader that has stopped iterating never closes the watch, so the signal must. */
  readonly close = (): void => {
    this.#options.signal.removeEventListener('abort', this.close);
    this.#stopListening();
    this.#stopProgress();
    this.#connection.close();
    this.changes.end();
    this.changes.releaseWriter();
  };

  start(delivered: Revision): void {
    const { prefix, withPrevious } = this.#options;
    const range = { key: rangeStart(prefix, undefined), end: prefixEnd(prefix) };
    // One revision earlier than needed, which has been delivered already. If etcd has compacted exactly to the start of a
    // watch, it silently omits a deletion at that revision (etcd issues 18089 and 19179).
    this.#connection.send(encodeWatchCreate({ ...range, startRevision: Math.max(delivered, 1), withPrevious }));
    void this.#readAhead(delivered);
  }

  async #readAhead(after: Revision): Promise<void> {
    const { changes } = this;
    const { history } = this.#client;
    const { number } = history;
    const { withPrevious } = this.#options;
    const read: ReadEntry = (value) => this.#reader.read(value, keyTimeoutMs);
    const grouping = new RevisionGrouping(after);
    try {
      for await (const bytes of this.#connection.messages) {
        // Messages that had arrived before another history was detected are void.
        if (history.number !== number) break;
        const message = decodeWatchMessage(bytes);
        const { header } = message;
        // The member was verified on this connection, so a proxy in between now routes to another cluster.
        if (header.clusterId !== history.clusterId || (message.created && header.revision < after)) {
          this.#connection.distrust();
          break;
        }
        if (message.compactRevision > 0)
          throw new RevisionCompactedError(grouping.delivered, revision(message.compactRevision));
        if (message.canceled)
          throw new EtcdFault('refused', refusedCode, `the watch was refused: ${message.cancelReason}`);
        if (message.created) this.#client.noteWatchOutcome(undefined);
        history.noteRevision(header.revision, number);
        let last: WatchEvent | undefined;
        // Decoded no further ahead than the queue permits: a message has up to thousands of events.
        for (const set of grouping.setsOf(message)) {
          last = set.events.at(-1);
          const full = changes.push(readChanges(read, set, withPrevious));
          if (full) await full;
        }
        if (last && !last.deleted) history.noteValue(last.current, number);
      }
      changes.end();
    } catch (fault) {
      changes.end(fault instanceof Error ? fault : new Error(String(fault)));
    }
  }
}

/**
 * etcd gives the reason for a cancelled watch as text only. It is the user's rights or the range of the watch, so this is
 * gRPC's code for a request that will not succeed as it is, FAILED_PRECONDITION.
 */
const refusedCode = 9;

type ReadEntry = (value: KeyValue) => Entry | Promise<Entry>;

interface EventSet {
  readonly revision: Revision;
  readonly events: WatchEvent[];
}

/** Groups events by revision. The events of one revision may arrive in several fragments. */
class RevisionGrouping {
  #delivered: Revision;
  /** The latest revision of a fragment, whose other events may follow in the next one. */
  #incomplete: EventSet | undefined;

  constructor(after: Revision) {
    this.#delivered = after;
  }

  get delivered(): Revision {
    return this.#delivered;
  }

  setsOf(message: WatchMessage): Generator<EventSet> {
    return message.size > 0 ? this.#revisionsOf(message) : this.#progressOf(message);
  }

  *#revisionsOf(message: WatchMessage): Generator<EventSet> {
    let set = this.#incomplete;
    this.#incomplete = undefined;
    for (const event of eventsOfMessage(message)) {
      const at = revision(event.current.modRevision);
      if (at <= this.#delivered) continue;
      invariant(!set || at >= set.revision, `event ${at} came after ${set?.revision}: etcd's order is broken`);
      if (set?.revision === at) set.events.push(event);
      else {
        if (set) yield this.#deliver(set);
        set = { revision: at, events: [event] };
      }
    }
    if (message.isFragment) this.#incomplete = set;
    else if (set) yield this.#deliver(set);
  }

  /** Without changes since, the revision is that of the last set. */
  *#progressOf({ created, header }: WatchMessage): Generator<EventSet> {
    if (created || this.#incomplete || header.revision < this.#delivered) return;
    yield this.#deliver({ revision: revision(header.revision), events: [] });
  }

  #deliver(set: EventSet): EventSet {
    this.#delivered = set.revision;
    return set;
  }
}

function readChanges(
  read: ReadEntry,
  { revision: at, events }: EventSet,
  withPrevious: boolean,
): ChangeSet | Promise<ChangeSet> {
  const changes = events.map((event) => readChange(read, event, withPrevious));
  if (changes.every(isKnown)) return { revision: at, changes };
  return Promise.all(changes.map(async (change) => change)).then((all) => ({ revision: at, changes: all }));
}

/** Whether no key must be fetched first. */
const isKnown = (change: Change | Promise<Change>): change is Change => !(change instanceof Promise);

function readChange(
  read: ReadEntry,
  { deleted, current, previous }: WatchEvent,
  withPrevious: boolean,
): Change | Promise<Change> {
  // The previous value belongs to the history too, and may have been compacted meanwhile.
  if (withPrevious && !previous && (deleted || current.createRevision < current.modRevision)) {
    throw new RevisionCompactedError(revision(current.modRevision - 1));
  }
  const { key } = current;
  const now = deleted ? undefined : read(current);
  const before = previous && read(previous);
  if (!(now instanceof Promise || before instanceof Promise)) return { key, current: now, previous: before };
  return Promise.all([now, before]).then(([one, other]) => ({ key, current: one, previous: other }));
}
