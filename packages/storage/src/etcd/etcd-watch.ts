/**
 * A watch that survives its connections. It resumes from the last delivered revision, which advances only with events and
 * progress notifications, because etcd sends both in order. The `created` response also contains a revision, but that of
 * the store: a client that resumed from it would miss all events in between.
 */
import { backoff, invariant, sleep } from '@cluster-apiserver/base';
import { HistoryReplacedError, RevisionCompactedError } from '../errors.ts';
import { type Revision, revision, zeroRevision } from '../revision.ts';
import type { ChangeSet, Entry } from '../store.ts';
import type { Transformer } from '../transform/transformer.ts';
import type { EtcdClient, MemberConnection } from './client.ts';
import { prefixEnd, rangeStart } from './keys.ts';
import type { OwnWrites } from './own-writes.ts';
import type { ProgressRequester } from './progress.ts';
import { EtcdFault } from './transport.ts';
import { awaitKeys, entryOf, PendingEntry, readEntry } from './values.ts';
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
  /** Whether the changes of a key are needed; the others are left out. */
  readonly needs: (key: string) => boolean;
  /** Of the replica whose feed this watch is. */
  readonly ownWrites: OwnWrites | undefined;
  readonly progress: Pick<ProgressRequester, 'add'>;
}

/**
 * The first reconnection is practically immediate. Later ones are soon after each other, too: calls recover from an election
 * at once, and reads then wait for the watch. A replica has few watches, so they are no load for etcd.
 */
const reconnectFirstMs = 20;
const reconnectMaxMs = 200;

/**
 * One watch delivers all kinds, so it waits no longer for a key: less than the time after which a watch without progress is
 * taken for stalled.
 */
const keyTimeoutMs = 500;

export async function* watchEtcd(
  client: EtcdClient,
  transformer: Transformer,
  options: EtcdWatchOptions,
): AsyncGenerator<ChangeSet> {
  const { signal, ownWrites } = options;
  const { history } = client;
  const { number } = history;
  const requireSameHistory = (): void => {
    if (history.number !== number) throw new HistoryReplacedError();
  };
  const pauses = backoff({ firstMs: reconnectFirstMs, maxMs: reconnectMaxMs }, client.random);
  let delivered = options.after;
  ownWrites?.beginFeed(delivered);
  while (!signal.aborted) {
    requireSameHistory();
    const connection = await connect(client);
    if (connection) {
      const watch = new MemberWatch(client, transformer, options, connection);
      if (signal.aborted || history.number !== number) watch.close();
      watch.start(delivered);
      try {
        for await (const bytes of connection.messages) {
          // Messages that had arrived before another history was detected are void.
          requireSameHistory();
          const message = watch.accept(bytes);
          if (!message) break;
          for (const { sets, pending } of watch.changesOf(message)) {
            if (pending.length > 0) await awaitKeys(client.clock, pending, keyTimeoutMs);
            for (const set of sets) {
              if (signal.aborted) return;
              requireSameHistory();
              pauses.reset();
              delivered = set.revision;
              ownWrites?.advance(delivered);
              yield completed(set);
            }
          }
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

type Read = Entry | PendingEntry | undefined;

interface ReadSet {
  readonly revision: Revision;
  readonly changes: readonly { readonly key: string; readonly current: Read; readonly previous: Read }[];
}

/** Changes that are read together, and those of their values whose keys must be awaited. */
interface ReadSets {
  readonly sets: readonly ReadSet[];
  readonly pending: readonly PendingEntry[];
}

const completed = ({ revision: at, changes }: ReadSet): ChangeSet => ({
  revision: at,
  changes: changes.map(({ key, current, previous }) => ({
    key,
    current: current && entryOf(current),
    previous: previous && entryOf(previous),
  })),
});

/** So many values are read before the first of them is delivered: a KMS plugin gets as many calls at a time. */
const readAheadEvents = 100;

/** The same in bytes. A message has up to some megabytes. */
const readAheadBytes = 256 * 1024;

/** The watch on one connection. */
class MemberWatch {
  readonly #client: EtcdClient;
  readonly #transformer: Transformer;
  readonly #options: EtcdWatchOptions;
  readonly #connection: MemberConnection;
  readonly #grouping = new RevisionGrouping();
  readonly #historyNumber: number;
  readonly #stopProgress: () => void;
  readonly #stopListening: () => void;

  constructor(client: EtcdClient, transformer: Transformer, options: EtcdWatchOptions, connection: MemberConnection) {
    this.#client = client;
    this.#transformer = transformer;
    this.#options = options;
    this.#connection = connection;
    this.#historyNumber = client.history.number;
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
  };

  start(delivered: Revision): void {
    const { prefix, withPrevious } = this.#options;
    this.#grouping.delivered = delivered;
    const range = { key: rangeStart(prefix, undefined), end: prefixEnd(prefix) };
    // One revision earlier than needed, which has been delivered already. If etcd has compacted exactly to the start of a
    // watch, it silently omits a deletion at that revision (etcd issues 18089 and 19179).
    this.#connection.send(encodeWatchCreate({ ...range, startRevision: Math.max(delivered, 1), withPrevious }));
  }

  /** Undefined if the message is of another cluster. Throws if the watch has ended. */
  accept(bytes: Buffer): WatchMessage | undefined {
    const { history } = this.#client;
    const { delivered } = this.#grouping;
    const message = decodeWatchMessage(bytes);
    const { header } = message;
    // The member was verified on this connection, so a proxy in between now routes to another cluster.
    if (header.clusterId !== history.clusterId || (message.created && header.revision < delivered)) {
      this.#connection.distrust();
      return undefined;
    }
    if (message.compactRevision > 0) throw new RevisionCompactedError(delivered, revision(message.compactRevision));
    if (message.canceled) throw new EtcdFault('refused', refusedCode, `the watch was refused: ${message.cancelReason}`);
    if (message.created) this.#client.noteWatchOutcome(undefined);
    history.noteRevision(header.revision, this.#historyNumber);
    return message;
  }

  /** Reads no further ahead than necessary: a message has up to thousands of events. */
  *changesOf(message: WatchMessage): Generator<ReadSets> {
    let sets: ReadSet[] = [];
    let pending: PendingEntry[] = [];
    let [events, bytes] = [0, 0];
    let last: WatchEvent | undefined;
    for (const set of this.#grouping.setsOf(message)) {
      sets.push({ revision: set.revision, changes: this.#read(set.events, pending) });
      events += set.events.length;
      for (const { current, previous } of set.events) bytes += current.value.length + (previous?.value.length ?? 0);
      last = set.events.at(-1);
      if (events < readAheadEvents && bytes < readAheadBytes) continue;
      yield { sets, pending };
      sets = [];
      pending = [];
      [events, bytes] = [0, 0];
    }
    if (sets.length > 0) yield { sets, pending };
    if (last && !last.deleted) this.#client.history.noteValue(last.current, this.#historyNumber);
  }

  #read(events: readonly WatchEvent[], pending: PendingEntry[]): ReadSet['changes'] {
    const { withPrevious, needs, ownWrites } = this.#options;
    const read = (value: KeyValue): Read => {
      const entry = readEntry(this.#transformer, value);
      if (entry instanceof PendingEntry) pending.push(entry);
      return entry;
    };
    const changes: { key: string; current: Read; previous: Read }[] = [];
    for (const { deleted, current, previous } of events) {
      const { key, modRevision } = current;
      const written = ownWrites?.note(key, modRevision, deleted ? undefined : current.value);
      if (!needs(key)) continue;
      // The previous value belongs to the history too, and may have been compacted meanwhile.
      if (withPrevious && !previous && (deleted || current.createRevision < current.modRevision))
        throw new RevisionCompactedError(revision(modRevision - 1));
      const own = written && { key, revision: revision(modRevision), stale: false, ...written };
      changes.push({
        key,
        current: deleted ? undefined : (own ?? read(current)),
        previous: previous && read(previous),
      });
    }
    return changes;
  }
}

/**
 * etcd gives the reason for a cancelled watch as text only. It is the user's rights or the range of the watch, so this is
 * gRPC's code for a request that will not succeed as it is, FAILED_PRECONDITION.
 */
const refusedCode = 9;

interface EventSet {
  readonly revision: Revision;
  readonly events: WatchEvent[];
}

/** Groups events by revision. The events of one revision may arrive in several fragments. */
class RevisionGrouping {
  delivered = zeroRevision;
  /** The latest revision of a fragment, whose other events may follow in the next one. */
  #incomplete: EventSet | undefined;

  setsOf(message: WatchMessage): Generator<EventSet> {
    return message.size > 0 ? this.#revisionsOf(message) : this.#progressOf(message);
  }

  *#revisionsOf(message: WatchMessage): Generator<EventSet> {
    let set = this.#incomplete;
    this.#incomplete = undefined;
    for (const event of eventsOfMessage(message)) {
      const at = revision(event.current.modRevision);
      if (at <= this.delivered) continue;
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
    if (created || this.#incomplete || header.revision < this.delivered) return;
    yield this.#deliver({ revision: revision(header.revision), events: [] });
  }

  #deliver(set: EventSet): EventSet {
    this.delivered = set.revision;
    return set;
  }
}
