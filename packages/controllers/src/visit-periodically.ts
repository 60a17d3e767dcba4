import type { Resource, StoredObject } from '@cluster-apiserver/registry';
import { type Call, textOfItemKey } from '@cluster-apiserver/storage';
import { callsOf, followAll, isLoaded, itemsWithin, readable } from './memory.ts';
import { createPace } from './pace.ts';
import { createPasses } from './passes.ts';
import { type ControllerOptions, logFailure } from './run-controller.ts';

/** After a failure, which is nearly always one of the storage. */
const retryMs = 5_000;

/** Passes over all objects of a kind, for what depends on their age. */
export interface PeriodicVisits {
  readonly visited: Resource;
  /** The resources that `visit` reads besides. */
  readonly read?: readonly Resource[];
  readonly intervalMs: number;
  readonly visit: (object: StoredObject, call: () => Call) => Promise<void> | undefined;
}

/** Visits them now and at each interval, until the signal aborts; once more soon after a failure. */
export async function visitPeriodically(
  { clock, signal, log }: ControllerOptions,
  { visited, read = [], intervalMs, visit }: PeriodicVisits,
): Promise<void> {
  const resources = [visited, ...read];
  const pace = createPace(clock, signal);
  const passes = createPasses(clock, signal);
  const call = callsOf(clock, signal);
  let cancel = (): void => {};
  const requestAfter = (delayMs: number): void => {
    cancel();
    cancel = clock.after(delayMs, () => {
      passes.request();
      requestAfter(intervalMs);
    });
  };
  // A load is the first time that there is something to see.
  const unfollow = followAll(resources, { changed: () => {}, interrupted: passes.request, failed: passes.fail });
  passes.request();
  requestAfter(intervalMs);
  try {
    await passes.run(async () => {
      if (!isLoaded(resources)) return;
      for (const item of itemsWithin(visited.collection.view(), '')) {
        if (pace.isDue()) await pace.pause();
        const object = readable(item);
        try {
          if (object) await visit(object, call);
        } catch (error) {
          if (signal.aborted) throw error;
          logFailure(log, textOfItemKey(item.key), { tries: 1, cause: error });
          requestAfter(retryMs);
        }
      }
    });
  } finally {
    cancel();
    unfollow();
  }
}
