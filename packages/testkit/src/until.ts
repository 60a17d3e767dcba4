import { sleep, systemClock as clock } from '@cluster-apiserver/base';
import { DeadlineError } from './repeatable-errors.ts';

const pollMs = { first: 20, max: 200 };

/**
 * Polls until the result is defined, and returns it. Rejects with a DeadlineError that says `what` after the limit. The pauses
 * grow to a tenth of the time that has passed: each question may cost the server a TLS handshake.
 */
export async function until<T>(
  what: string,
  fact: () => Promise<T | undefined> | T | undefined,
  limitMs = 20_000,
): Promise<T> {
  const beganMs = clock.monotonicMs();
  for (;;) {
    const found = await fact();
    if (found !== undefined) return found;
    const passedMs = clock.monotonicMs() - beganMs;
    if (passedMs > limitMs) throw new DeadlineError(`timed out after ${limitMs} ms waiting for ${what}`);
    await sleep(clock, Math.min(Math.max(pollMs.first, passedMs / 10), pollMs.max));
  }
}

/** Waits for a condition that this process brings about, and checks it after each event-loop iteration. */
export async function untilTurned(fact: () => Promise<boolean> | boolean, limitMs = 20_000): Promise<void> {
  const endMs = clock.monotonicMs() + limitMs;
  while (!(await fact())) {
    if (clock.monotonicMs() > endMs)
      throw new DeadlineError(`timed out after ${limitMs} ms waiting for ${fact.toString()}`);
    await new Promise((resolve) => setImmediate(resolve));
  }
}

/**
 * Waits until a value no longer changes, and returns it. For what has no event, such as a peer that stops reading: it
 * has stopped if nothing has moved for this long.
 */
export async function untilSteady(value: () => number, steadyMs = 100): Promise<number> {
  for (let last = value(); ; last = value()) {
    await sleep(clock, steadyMs);
    if (value() === last) return last;
  }
}
