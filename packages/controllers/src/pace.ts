import type { Clock } from '@cluster-apiserver/base';

/** A quarter of the longest event-loop iteration that a server allows: requests share it with the pass. */
const sliceMs = 5;

/** Reading the clock costs about as much as a step, so only one step in so many reads it. */
const stepsPerLook = 64;

/** Splits a long pass over memory into slices, so that requests are served in between. */
export interface Pace {
  /** To be asked once per step: whether the pass should pause before it goes on. */
  isDue(): boolean;
  /** Resolves when everything that was ready has had its turn; rejects with the reason of the signal once it aborts. */
  pause(): Promise<void>;
  /** Visits all items, and pauses in between. */
  forEach<Item>(items: Iterable<Item>, visit: (item: Item) => void): Promise<void>;
}

export function createPace(clock: Clock, signal: AbortSignal): Pace {
  let steps = 0;
  let beganMs = clock.monotonicMs();
  /** Workers that share a pass share its pauses too: one slice each would make a turn as many slices long. */
  let pausing: Promise<void> | undefined;
  const pause = async (): Promise<void> => {
    await new Promise<void>((resolve) => clock.soon(resolve));
    pausing = undefined;
    beganMs = clock.monotonicMs();
    signal.throwIfAborted();
  };
  const isDue = (): boolean =>
    pausing !== undefined || (++steps % stepsPerLook === 0 && clock.monotonicMs() - beganMs > sliceMs);
  const pauseOnce = (): Promise<void> => (pausing ??= pause());
  return {
    isDue,
    pause: pauseOnce,
    forEach: async (items, visit) => {
      for (const item of items) {
        visit(item);
        if (isDue()) await pauseOnce();
      }
    },
  };
}
