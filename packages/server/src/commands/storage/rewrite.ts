import { callUntil, sleep } from '@cluster-apiserver/base';
import { bytesOf } from '@cluster-apiserver/model/codec';
import { isJsonObject } from '@cluster-apiserver/model/json';
import type { Kind } from '@cluster-apiserver/model/kind';
import { collectionFormOf, type StoredKinds } from '@cluster-apiserver/registry';
import { CorruptValueError, type Entry, itemKey, RevisionMismatchError } from '@cluster-apiserver/storage';
import { listPages, type StorageScan } from './list-pages.ts';

export interface RewriteOptions extends StorageScan {
  /** Stored kinds whose objects are rewritten; other keys are left alone. */
  readonly storedKinds: StoredKinds;
  readonly dryRun: boolean;
  readonly objectsPerSecond: number;
  readonly after: string | undefined;
}

const writeTimeoutMs = 30_000;

/** Rewrites objects that are not encrypted with the first provider. Concurrent writes are never overwritten. */
export async function rewrite(work: RewriteOptions): Promise<number> {
  const { clock, print, signal, dryRun } = work;
  const pauseMs = 1000 / work.objectsPerSecond;
  const read = createReader(work);
  const counts = { seen: 0, rewritten: 0, unreadable: 0 };
  let last = work.after;
  const progress = (): string =>
    `${counts.seen} seen, ${counts.rewritten} ${dryRun ? 'would be rewritten' : 'rewritten'}, ${counts.unreadable} unreadable`;
  for await (const entries of listPages(work, work.after)) {
    for (const entry of entries) {
      if (signal.aborted) break;
      last = entry.key;
      const found = read(entry);
      if (!found) continue;
      counts.seen++;
      if (found.isUnreadable) {
        counts.unreadable++;
        print(`cannot read ${entry.key}`);
      } else if (found.isStale && (dryRun || (await rewriteOne(work, entry, found)))) {
        counts.rewritten++;
        if (!dryRun) await sleep(clock, pauseMs, signal).catch(() => {}); // the loop sees the signal
      }
    }
    print(`${progress()}, at ${last ?? 'the end'}`);
  }
  if (signal.aborted) print(`stopped; to go on: ${last === undefined ? 'begin again' : `--after=${last}`}`);
  return signal.aborted || counts.unreadable > 0 ? 1 : 0;
}

interface Found {
  readonly kind: Kind;
  readonly isUnreadable: boolean;
  readonly isStale: boolean;
  readonly value: Buffer;
}

/**
 * Reads objects as the server does, to find unreadable and stale ones. Custom objects of the present version are stored again
 * as they are: they may hold what their schema does not know at present.
 */
function createReader({ storedKinds, keyPrefix, holds }: RewriteOptions): (entry: Entry) => Found | undefined {
  return (entry) => {
    const kind = storedKinds.ofKey(entry.key);
    if (!kind || !holds(kind)) return undefined;
    const unreadable = { kind, isUnreadable: true, isStale: false, value: Buffer.alloc(0) };
    if (entry.unreadable) return unreadable;
    if (kind.definition !== undefined && !isFormer(kind, entry.value))
      return { kind, isUnreadable: false, isStale: entry.stale, value: entry.value };
    const form = collectionFormOf({ kind }, keyPrefix);
    const item = form.read(entry, itemKey(entry.key.slice(form.prefix.length)));
    return item.unreadable
      ? unreadable
      : { kind, isUnreadable: false, isStale: item.stale, value: bytesOf(item.storedForm) };
  };
}

/** Whether a custom object is stored in a version from which its kind converts it. */
function isFormer({ isCustom, apiVersion }: Kind, value: Buffer): boolean {
  if (!isCustom) return false;
  try {
    const stored: unknown = JSON.parse(value.toString());
    return !isJsonObject(stored) || stored['apiVersion'] !== apiVersion;
  } catch {
    return true; // which makes it unreadable
  }
}

/** Returns false if the object was changed concurrently: the other writer encrypted it with the first provider. */
async function rewriteOne(
  { store, clock }: RewriteOptions,
  { key, revision }: Entry,
  { kind: { timeToLiveSeconds }, value }: Found,
): Promise<boolean> {
  const call = callUntil(clock.monotonicMs() + writeTimeoutMs);
  try {
    // An expiring object gets its full lifetime again: the remaining one is unknown.
    await store.update(key, value, revision, { timeToLiveSeconds }, call);
    return true;
  } catch (error) {
    if (error instanceof RevisionMismatchError || error instanceof CorruptValueError) return false;
    throw error;
  }
}
