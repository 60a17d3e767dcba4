/**
 * Makes items of the entries of a store. An item's key is the rest of the stored key as bytes, one character each, so that
 * items have the order of the store.
 */
import type { SyncTask } from '@cluster-apiserver/base';
import { byteString, bytesOf } from '@cluster-apiserver/model';
import type { Revision } from '../revision.ts';
import type { Change, ChangeSet, Entry } from '../store.ts';
import type { ItemChange } from './change-window.ts';
import type { CacheItem, CollectionDescriptor } from './collection-descriptor.ts';

/** Some of the changes of a collection, complete up to a revision. */
export interface Changes<Item> {
  readonly revision: Revision;
  readonly changes: readonly ItemChange<Item>[];
}

/** Changes of a replay. Some of them may contain values that are still being decrypted. */
export interface ReplayedChanges<Item> extends Changes<Item> {
  readonly incomplete: readonly IncompleteChange<Item>[];
}

export interface IncompleteChange<Item> {
  readonly change: ItemChange<Item>;
  /** The same change after the decryption, whether its values can be read or not. */
  readonly completed: Promise<ItemChange<Item>>;
}

export class EntryDecoder<Item extends CacheItem> {
  readonly #descriptor: CollectionDescriptor<Item>;

  constructor(descriptor: CollectionDescriptor<Item>) {
    this.#descriptor = descriptor;
  }

  decode(entry: Entry): Item {
    return this.#descriptor.read(entry, this.itemKeyOf(entry.key));
  }

  *decodeAll(entries: readonly Entry[]): SyncTask<Item[]> {
    const items: Item[] = [];
    for (const entry of entries) {
      items.push(this.decode(entry));
      yield;
    }
    return items;
  }

  decodeChanges({ revision, changes: stored }: ChangeSet): ReplayedChanges<Item> {
    const changes: ItemChange<Item>[] = [];
    const incomplete: IncompleteChange<Item>[] = [];
    for (const one of stored) {
      const change = this.#decodeChange(one, revision);
      changes.push(change);
      if (!pendingOf(one.previous) && !pendingOf(one.current)) continue;
      const completed = awaitPending(one).then((read) => this.#decodeChange(read, revision));
      incomplete.push({ change, completed });
    }
    return { revision, changes, incomplete };
  }

  #decodeChange({ key, previous, current }: Change, revision: Revision): ItemChange<Item> {
    return {
      key: this.itemKeyOf(key),
      revision,
      previous: previous && this.decode(previous),
      current: current && this.decode(current),
    };
  }

  itemKeyOf(key: string): string {
    return itemKey(key.slice(this.#descriptor.prefix.length));
  }

  fullKey(key: string): string {
    return this.#descriptor.prefix + textOfItemKey(key);
  }
}

/** The change with the results of the decryptions that take long. */
async function awaitPending({ key, previous, current }: Change): Promise<Change> {
  const [before, now] = await Promise.all([pendingOf(previous) ?? previous, pendingOf(current) ?? current]);
  return { key, previous: before, current: now };
}

/** The result of a decryption that takes long. */
const pendingOf = (entry: Entry | undefined): Promise<Entry> | undefined =>
  entry?.unreadable ? entry.pending : undefined;

/** The key of an item: the UTF-8 bytes of the text after the prefix, one character each. */
export const itemKey = (text: string): string => byteString(Buffer.from(text));

export const textOfItemKey = (key: string): string =>
  Buffer.byteLength(key) === key.length ? key : bytesOf(key).toString();
