/** Updates accounts in another thread, so that the main thread's time is the cost of following the updates. */
import { isMainThread, Worker, workerData } from 'node:worker_threads';
import { callUntil, CleanupStack, systemClock as clock } from '@cluster-apiserver/base';
import { type Revision, revision } from '@cluster-apiserver/storage';
import { connectLargeStore } from '../../storage/test/open-large-store.ts';
import { forEach, keyOf, valueOf } from './accounts.ts';

interface Updates {
  readonly endpoints: readonly string[];
  readonly count: number;
  readonly objectBytes: number;
  /** Revision of each account's last update. */
  readonly last: ReadonlyMap<number, Revision>;
}

/** The thread's message: the revision of the last update. */
interface UpdateResult {
  readonly latestRevision: SharedArrayBuffer;
}

/** Returns the revision of the last update. */
export function updateInThread(updates: Updates): Promise<Revision> {
  return new Promise((resolve, reject) => {
    const newest = new SharedArrayBuffer(Float64Array.BYTES_PER_ELEMENT);
    const worker = new Worker(new URL(import.meta.url), {
      workerData: { ...updates, latestRevision: newest } satisfies Updates & UpdateResult,
    });
    worker.once('error', reject);
    worker.once('exit', () => resolve(revision(new Float64Array(newest)[0] ?? 0)));
  });
}

if (!isMainThread) {
  const { endpoints, count, objectBytes, last, latestRevision: shared } = workerData as Updates & UpdateResult;
  const cleanup = new CleanupStack();
  const { store } = connectLargeStore(endpoints, cleanup);
  let newest = 0;
  await forEach(count, async (n) => {
    const within = callUntil(clock.monotonicMs() + 60_000);
    const at = await store.update(keyOf(n), valueOf(n, 2, objectBytes), last.get(n) ?? revision(0), {}, within);
    newest = Math.max(newest, at);
  });
  new Float64Array(shared)[0] = newest;
  await cleanup.close();
}
