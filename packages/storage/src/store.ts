import type { Call } from '@cluster-apiserver/base';
import type { CorruptValueError } from './errors.ts';
import type { HistoryReplaced } from './etcd/history.ts';
import type { Revision } from './revision.ts';

/**
 * The door to what is stored: bytes under keys, and one growing revision over all of them.
 *
 * Promises, as the suite in `contract/` tests them:
 * - Reads without a revision are linearizable: they see every write that was acknowledged before they began.
 * - Every write is one condition and one change, applied together or not at all; a write whose answer was lost is
 *   tried again under the same condition and recognised when it had been applied.
 * - The revision of a write is larger than that of every write before it.
 * - A list is a snapshot: all its values as of one revision. What cannot be read is told in its place.
 * - A watch gives every change after its revision, in order, none twice, those of one revision together.
 * - Nothing waits past the deadline of its call: what cannot be known by then ends in a StorageUnavailableError, and a
 *   write that may have been applied in a WriteInDoubtError.
 * - What has not been sent when the caller leaves is not sent. A write that was sent goes on until its outcome is known.
 * - When the store turns out to have another history than before, such as a restored backup, whatever is under way ends
 *   in a HistoryReplacedError: no answer is of both.
 */
export interface Store {
  get(key: string, call: Call): Promise<ReadResult>;
  list(range: Range, call: Call): Promise<Snapshot>;
  /**
   * Throws KeyExistsError, with what is there, when the key has a value, and else PremiseBrokenError when one of the
   * premises does not hold.
   */
  create(key: string, value: Buffer, options: CreateOptions, call: Call): Promise<Revision>;
  /** Throws RevisionMismatchError, with what is there, unless the key was last written at `expected`. */
  update(key: string, value: Buffer, expected: Revision, options: WriteOptions, call: Call): Promise<Revision>;
  /** Throws RevisionMismatchError, with what is there, unless the key was last written at `expected`. */
  delete(key: string, expected: Revision, call: Call): Promise<Revision>;
  /**
   * The changes of all keys that begin with the prefix, from just after the revision on. Ends when the signal aborts;
   * throws RevisionCompactedError when the revision is too old. Lost connections are bridged without loss. Whoever
   * knows what was there before need not be told.
   */
  watch(
    prefix: string,
    after: Revision,
    signal: AbortSignal,
    previous?: 'told' | 'untold',
    keys?: SlowKeys,
  ): AsyncIterable<ChangeSet>;
  /** The newest revision: that of the last write that was acknowledged before, or a later one. */
  readLatestRevision(call: Call): Promise<Revision>;
  /** Makes quiet watches tell soon how far they have come. Returns at once and may be called at any time. */
  requestProgress(): void;
  /** Makes watches that tell nothing begin anew from where they are, at another member where there is one. */
  restartWatches(): void;
  /** The number of the present history: what was read under another number is not there any more. */
  readonly historyNumber: number;
  /** Calls back in the turn in which another history is found. The returned function ends that. */
  onHistoryReplaced(listener: (replaced: HistoryReplaced) => void): () => void;
}

/**
 * Whether values whose encryption keys take long are waited for, or are unreadable for now so that the others are not
 * delayed; whoever chooses that looks after the late ones.
 */
export type SlowKeys = 'awaited' | 'late';

export type { Call };

export interface StoredValue {
  readonly key: string;
  readonly value: Buffer;
  /** When the key was last written. */
  readonly revision: Revision;
  /** True when the value should be written again although the object is the same, such as after a key rotation. */
  readonly stale: boolean;
  /** As given with the write; only in a watch, for what this store has written itself. Equal bytes have made it. */
  readonly source?: object | undefined;
}

/** Something is there and cannot be read: the transformer refused it. Whoever lists many goes on with the others. */
export interface UnreadableEntry {
  readonly key: string;
  readonly revision: Revision;
  readonly unreadable: CorruptValueError;
  /** Tries once more to read the same value. */
  readonly retry: () => Promise<Entry>;
  /** The reading that took too long to be waited for, and goes on. */
  readonly pending?: Promise<Entry> | undefined;
}

export type Entry = (StoredValue & { readonly unreadable?: undefined }) | UnreadableEntry;

export interface ReadResult {
  /** Undefined when the key has no value. */
  readonly stored: StoredValue | undefined;
  /** The revision that the reading is true at. */
  readonly revision: Revision;
}

export interface Range {
  readonly prefix: string;
  /** Only keys behind this one; it must begin with the prefix. */
  readonly after?: string | undefined;
  readonly limit?: number | undefined;
  /** The snapshot to read; the newest when undefined. Throws RevisionCompactedError or RevisionTooLargeError. */
  readonly revision?: Revision | undefined;
  readonly slowKeys?: SlowKeys | undefined;
}

export interface Snapshot {
  /** In the order of their keys' bytes. */
  readonly entries: readonly Entry[];
  readonly revision: Revision;
  /** How many keys of the range lie behind the last one given; 0 when the range was read to its end. */
  readonly remaining: number;
}

export interface WriteOptions {
  /** The value disappears by itself after this time, and somewhat later rather than sooner. */
  readonly timeToLiveSeconds?: number | undefined;
  /** What the value was made from. A watch of this store may give it back with the value, which need not be decoded then. */
  readonly source?: object | undefined;
}

export interface CreateOptions extends WriteOptions {
  readonly preconditions?: readonly Precondition[] | undefined;
}

/** What a write relies on: that another key was last written then. */
export interface Precondition {
  readonly key: string;
  readonly revision: number;
}

export interface ChangeSet {
  readonly revision: Revision;
  /** Empty when the store only tells how far it has come. */
  readonly changes: readonly Change[];
}

export interface Change {
  readonly key: string;
  /** Undefined when the key was deleted. */
  readonly current: Entry | undefined;
  /** Undefined when the key had no value before, or when it is not told; its revision is that of the write before. */
  readonly previous: Entry | undefined;
}
