import { sleep } from '@cluster-apiserver/base';
import { CorruptValueError, RevisionMismatchError, type Stored } from '@cluster-apiserver/storage';
import { pages, resourceOf, type Walk } from './walk.ts';

export interface Rewrite extends Walk {
  readonly dryRun: boolean;
  readonly objectsPerSecond: number;
  readonly after: string | undefined;
  /** How long objects of a resource live that do not live for ever. */
  readonly lifetimes: ReadonlyMap<string, number | undefined>;
}

const writeTimeoutMs = 30_000;

/** Writes anew what is stale. Whatever somebody else writes meanwhile is not stale any more. */
export async function rewrite(work: Rewrite): Promise<number> {
  const { clock, print, signal, dryRun } = work;
  const pauseMs = 1000 / work.objectsPerSecond;
  const counts = { seen: 0, rewritten: 0, unreadable: 0 };
  let last = work.after;
  const progress = (): string =>
    `${counts.seen} seen, ${counts.rewritten} ${dryRun ? 'would be rewritten' : 'rewritten'}, ${counts.unreadable} unreadable`;
  for await (const entries of pages(work, work.after)) {
    for (const entry of entries) {
      if (signal.aborted) break;
      counts.seen++;
      if (entry.unreadable) {
        counts.unreadable++;
        print(`cannot read ${entry.key}`);
      } else if (entry.stale && (dryRun || (await rewriteOne(work, entry)))) {
        counts.rewritten++;
        if (!dryRun) await sleep(clock, pauseMs, signal).catch(() => {}); // the loop sees the signal
      }
      last = entry.key;
    }
    print(`${progress()}, at ${last ?? 'the end'}`);
  }
  if (signal.aborted) print(`stopped; to go on: --after=${last ?? ''}`);
  return signal.aborted || counts.unreadable > 0 ? 1 : 0;
}

/** False when somebody else was quicker, who writes as we would. */
async function rewriteOne({ store, clock, keyPrefix, lifetimes }: Rewrite, stored: Stored): Promise<boolean> {
  const call = { deadlineMs: clock.monotonicMs() + writeTimeoutMs };
  // What does not live for ever begins its life anew: how much of it was left is not told.
  const timeToLiveSeconds = lifetimes.get(resourceOf(keyPrefix, stored.key));
  try {
    await store.update(stored.key, stored.value, stored.revision, { timeToLiveSeconds }, call);
    return true;
  } catch (error) {
    if (error instanceof RevisionMismatchError || error instanceof CorruptValueError) return false;
    throw error;
  }
}
