/**
 * Makes items of the entries of a store. An item's key is the rest of the stored key as bytes, one character each, so that
 * items have the order of the store.
 */
import type { SyncTask } from '@cluster-apiserver/base';
import { byteString, bytesOf } from '@cluster-apiserver/model/codec';
import type { ChangeSet, Entry } from '../store.ts';
import type { ItemChange } from './change-window.ts';
import type { CacheItem, CollectionDescriptor } from './collection-descriptor.ts';

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

  decodeChanges({ revision, changes }: ChangeSet): ItemChange<Item>[] {
    return changes.map(({ key, previous, current }) => ({
      key: this.itemKeyOf(key),
      revision,
      previous: previous && this.decode(previous),
      current: current && this.decode(current),
    }));
  }

  itemKeyOf(key: string): string {
    return itemKey(key.slice(this.#descriptor.prefix.length));
  }

  fullKey(key: string): string {
    return this.#descriptor.prefix + textOfItemKey(key);
  }
}

/** The key of an item: the UTF-8 bytes of the text after the prefix, one character each. */
export const itemKey = (text: string): string => byteString(Buffer.from(text));

export const textOfItemKey = (key: string): string =>
  Buffer.byteLength(key) === key.length ? key : bytesOf(key).toString();
