import type { Call } from '@cluster-apiserver/base';
import type { CorruptValueError } from './errors.ts';
import type { HistoryReplaced } from './etcd/history.ts';
import type { Revision } from './revision.ts';
import type { StoredValue } from './stored-value.ts';

/**
 * The storage interface: values under keys, and one growing revision over all of them.
 *
 * Guarantees, which the suite in `test/contract/` tests:
 * - Reads without a revision are linearizable: they see every write that was acknowledged before they began.
 * - Every write is a condition and a change, applied atomically. A write whose response was lost is retried with the same
 *   condition, and recognised if it has been applied.
 * - The revision of a write is larger than that of every write before it.
 * - A list is a snapshot of one revision. A value that cannot be decrypted is an `UnreadableEntry` in its place.
 * - A watch delivers every change after its revision once, in order, and the changes of one revision together.
 * - Nothing waits past the deadline of its call: it ends in a StorageUnavailableError, or in a WriteInDoubtError if a
 *   write may have been applied.
 * - A write that has not been sent when its caller disconnects is not sent. A sent one continues until its outcome is known.
 * - If the store turns out to have another history than before, such as a restored backup, all operations in progress end
 *   in a HistoryReplacedError: no result mixes two histories.
 */
export interface Store {
  get(key: string, call: Call): Promise<ReadResult>;
  list(range: Range, call: Call): Promise<ListResult>;
  /** Throws KeyExistsError, with the present value, if the key exists, else PreconditionFailedError if a precondition fails. */
  create(key: string, value: Buffer, options: CreateOptions, call: Call): Promise<Revision>;
  /** Throws RevisionMismatchError, with the present value, unless the key was last written at `expected`. */
  update(key: string, value: Buffer, expected: Revision, options: WriteOptions, call: Call): Promise<Revision>;
  /** Throws RevisionMismatchError, with the present value, unless the key was last written at `expected`. */
  delete(key: string, expected: Revision, call: Call): Promise<Revision>;
  /** From now on no creation succeeds that is `within` it. Such as the uid of a namespace that another store holds. */
  end(whole: string, call: Call): Promise<void>;
  /** How many times as long writes take as without others before them: 1 if they do not queue. */
  readonly writeCongestion: number;
}

/** What a cache of a store needs in order to follow it. */
export interface Feed {
  /**
   * The changes of all keys with the prefix, after a revision. Ends when the signal aborts; throws RevisionCompactedError if
   * the revision is too old. It reconnects after a lost connection and misses nothing. A value whose encryption key does
   * not arrive in time is an `UnreadableEntry`.
   */
  watch(prefix: string, after: Revision, signal: AbortSignal, options?: WatchOptions): AsyncIterable<ChangeSet>;
  /** A linearizable read of the latest revision: that of the last acknowledged write, or a later one. */
  readLatestRevision(call: Call): Promise<Revision>;
  /** Makes quiet watches report their progress soon. Returns at once and may be called at any time. */
  requestProgress(): void;
  /** Makes silent watches resume at another member if there is one. */
  restartWatches(): void;
  /** The number of the present history. What was read under another number is void. */
  readonly historyNumber: number;
  /** Calls back synchronously when another history is detected. The returned function removes the listener. */
  onHistoryReplaced(listener: (replaced: HistoryReplaced) => void): () => void;
}

/** A store that can be followed. */
export interface FollowedStore extends Store, Feed {}

export interface WatchOptions {
  /**
   * Whether changes contain the value before; true by default. Without it, a watch of all keys is taken for the feed of this
   * replica: it also proves the outcome of writes whose response was lost.
   */
  readonly withPrevious?: boolean;
  /** Whether the changes of a key are needed; the others may be left out. All are by default. */
  readonly needs?: (key: string) => boolean;
}

export type { Call };

/** A value that cannot be decrypted. It does not prevent reading other values. */
export interface UnreadableEntry {
  readonly key: string;
  readonly revision: Revision;
  readonly unreadable: CorruptValueError;
}

export type Entry = (StoredValue & { readonly unreadable?: undefined }) | UnreadableEntry;

export interface ReadResult {
  /** Undefined if the key has no value. */
  readonly stored: StoredValue | undefined;
  /** The revision of the store at the read. */
  readonly revision: Revision;
}

export interface Range {
  readonly prefix: string;
  /** Only keys after this one, which must have the prefix. */
  readonly after?: string | undefined;
  readonly limit?: number | undefined;
  /** The revision to read; the latest by default. Throws RevisionCompactedError or RevisionTooLargeError. */
  readonly revision?: Revision | undefined;
  /**
   * If no encryption key arrives for so long, the values that wait for theirs are unreadable entries. By default a list
   * waits until the deadline of its call.
   */
  readonly keyTimeoutMs?: number | undefined;
}

export interface ListResult {
  /** In the order of their keys' bytes. */
  readonly entries: readonly Entry[];
  readonly revision: Revision;
  /** How many keys of the range follow the last entry; 0 at the end of the range. */
  readonly remaining: number;
}

export interface WriteOptions {
  /** The value expires after this time, or somewhat later. */
  readonly timeToLiveSeconds?: number | undefined;
  /** What the value was encoded from. A watch of this store may return it, so that the value need not be decoded. */
  readonly source?: object | undefined;
}

export interface CreateOptions extends WriteOptions {
  readonly preconditions?: readonly Precondition[] | undefined;
  /** What the value is a part of. If one of them was ended, the creation throws a PreconditionFailedError. */
  readonly within?: readonly string[] | undefined;
}

/** A creation succeeds only if another key was last written at this revision; if it has no value, for 0. */
export interface Precondition {
  readonly key: string;
  readonly revision: number;
  /** What the other key holds from the creation on, at the same revision; it is left alone without. */
  readonly value?: Buffer | undefined;
}

export interface ChangeSet {
  readonly revision: Revision;
  /** Empty if the store only reports its progress, which may be at the same revision as before. */
  readonly changes: readonly Change[];
}

export interface Change {
  readonly key: string;
  /** Undefined if the key was deleted. */
  readonly current: Entry | undefined;
  /** Undefined if the key had no value before, or without `withPrevious`. Its revision is that of the write before. */
  readonly previous: Entry | undefined;
}
