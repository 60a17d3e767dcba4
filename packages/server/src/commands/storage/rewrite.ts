import { callUntil, sleep } from '@cluster-apiserver/base';
import { bytesOf } from '@cluster-apiserver/model/codec';
import type { Kind } from '@cluster-apiserver/model/kind';
import { type CachedObject, collectionFormOf, type StoredKinds, type StoredObject } from '@cluster-apiserver/registry';
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
      if (found.object.unreadable) {
        counts.unreadable++;
        print(`cannot read ${entry.key}`);
      } else if (found.object.stale && (dryRun || (await rewriteOne(work, entry.key, found.kind, found.object)))) {
        counts.rewritten++;
        if (!dryRun) await sleep(clock, pauseMs, signal).catch(() => {}); // the loop sees the signal
      }
    }
    print(`${progress()}, at ${last ?? 'the end'}`);
  }
  if (signal.aborted) print(`stopped; to go on: ${last === undefined ? 'begin again' : `--after=${last}`}`);
  return signal.aborted || counts.unreadable > 0 ? 1 : 0;
}

/** Reads objects as the server does, to find unreadable and stale ones. */
function createReader({
  storedKinds,
  keyPrefix,
}: RewriteOptions): (entry: Entry) => { kind: Kind; object: CachedObject } | undefined {
  return (entry) => {
    const kind = storedKinds.ofKey(entry.key);
    if (!kind) return undefined;
    const form = collectionFormOf({ kind }, keyPrefix);
    return { kind, object: form.read(entry, itemKey(entry.key.slice(form.prefix.length))) };
  };
}

/** Returns false if the object was changed concurrently: the other writer encrypted it with the first provider. */
async function rewriteOne(
  { store, clock }: RewriteOptions,
  key: string,
  { timeToLiveSeconds }: Kind,
  { storedForm, revision }: StoredObject,
): Promise<boolean> {
  const call = callUntil(clock.monotonicMs() + writeTimeoutMs);
  try {
    // An expiring object gets its full lifetime again: the remaining one is unknown.
    await store.update(key, bytesOf(storedForm), revision, { timeToLiveSeconds }, call);
    return true;
  } catch (error) {
    if (error instanceof RevisionMismatchError || error instanceof CorruptValueError) return false;
    throw error;
  }
}
