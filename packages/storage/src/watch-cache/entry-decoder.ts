/**
 * Makes items of the entries of a store. An item's key is the rest of the stored key as bytes, one character each, so that
 * items have the order of the store.
 */
import type { Loop, SyncTask } from '@cluster-apiserver/base';
import { byteString, bytesOf } from '@cluster-apiserver/model/codec';
import type { ChangeSet, Entry } from '../store.ts';
import type { ItemChange } from './change-window.ts';
import type { CacheItem, CollectionDescriptor } from './collection-descriptor.ts';

type Descriptor<Item extends CacheItem> = CollectionDescriptor<Item>;

function* decodeEntry<Item extends CacheItem>(descriptor: Descriptor<Item>, entry: Entry): SyncTask<Item> {
  const preparing = descriptor.prepare?.(entry);
  if (preparing) yield* preparing;
  return descriptor.read(entry, itemKeyOf(descriptor, entry.key));
}

export function* decodeEntries<Item extends CacheItem>(
  descriptor: Descriptor<Item>,
  entries: readonly Entry[],
): SyncTask<Item[]> {
  const items: Item[] = [];
  for (const entry of entries) {
    items.push(yield* decodeEntry(descriptor, entry));
    yield;
  }
  return items;
}

export function* decodeChanges<Item extends CacheItem>(
  descriptor: Descriptor<Item>,
  { revision, changes }: ChangeSet,
): SyncTask<ItemChange<Item>[]> {
  const decoded: ItemChange<Item>[] = [];
  for (const { key, previous, current } of changes)
    decoded.push({
      key: itemKeyOf(descriptor, key),
      revision,
      previous: previous && (yield* decodeEntry(descriptor, previous)),
      current: current && (yield* decodeEntry(descriptor, current)),
    });
  return decoded;
}

/** Runs a task in the lane of what the store delivers, which keeps its order. */
export async function runInFeed<T>(loop: Loop, task: SyncTask<T>): Promise<T> {
  for (;;) {
    const { done, value } = task.next();
    if (done) return value;
    if (!loop.hasTime('feed')) await loop.turn('feed');
  }
}

export const itemKeyOf = ({ prefix }: { readonly prefix: string }, key: string): string =>
  itemKey(key.slice(prefix.length));

export const fullKeyOf = ({ prefix }: { readonly prefix: string }, key: string): string => prefix + textOfItemKey(key);

/** The key of an item: the UTF-8 bytes of the text after the prefix, one character each. */
export const itemKey = (text: string): string => byteString(Buffer.from(text));

export const textOfItemKey = (key: string): string =>
  Buffer.byteLength(key) === key.length ? key : bytesOf(key).toString();
