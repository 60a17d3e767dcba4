import type { SyncTask } from '@cluster-apiserver/base';
import type { CorruptValueError } from '../errors.ts';
import type { Revision } from '../revision.ts';
import type { Entry } from '../store.ts';
import type { ReadObserver } from './reader.ts';
import type { Keyed } from './sorted-set.ts';
import type { TermsOf } from './view.ts';

/** One version of one object, decoded for its readers. */
export interface CacheItem extends Keyed {
  readonly revision: Revision;
  /** The approximate number of bytes that it keeps in memory. */
  readonly weight: number;
  /** Why the stored value cannot be read, if it cannot. */
  readonly unreadable?: CorruptValueError | undefined;
}

/** Which keys a collection contains, and how it decodes their values. */
export interface CollectionDescriptor<Item extends CacheItem> {
  /** The prefix of all keys of the collection. */
  readonly prefix: string;
  /** Reads an entry before, in steps, if `read` would take too long at once. Undefined if it would not. */
  readonly prepare?: (entry: Entry) => SyncTask<void> | undefined;
  /** Must not throw: an unreadable entry becomes an item that says so. `key` is the item's key. */
  readonly read: (entry: Entry, key: string) => Item;
  /** The index terms of an item. */
  readonly termsOf: TermsOf<Item>;
  readonly measures?: ReadMeasures | undefined;
}

/** How long reads waited until the memory was fresh enough. */
export interface ReadMeasures {
  /** Linearizable reads. */
  readonly consistent: ReadObserver;
  /** Reads of a revision or a later one. */
  readonly notOlder: ReadObserver;
}
