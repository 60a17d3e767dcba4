import { sleep, systemClock as clock } from '../src/clock.ts';

const pollMs = 20;

/** Waits for a fact and gives it. What does not come within the limit fails by its name. */
export async function until<T>(
  what: string,
  fact: () => Promise<T | undefined> | T | undefined,
  limitMs = 20_000,
): Promise<T> {
  const endMs = clock.monotonicMs() + limitMs;
  for (;;) {
    const found = await fact();
    if (found !== undefined) return found;
    if (clock.monotonicMs() > endMs) throw new Error(`waited ${limitMs} ms in vain for ${what}`);
    await sleep(clock, pollMs);
  }
}

/** Waits for what this process brings about by itself, and looks after each turn of its event loop. */
export async function untilTurned(fact: () => Promise<boolean> | boolean, limitMs = 20_000): Promise<void> {
  const endMs = clock.monotonicMs() + limitMs;
  while (!(await fact())) {
    if (clock.monotonicMs() > endMs) throw new Error(`waited ${limitMs} ms in vain until ${fact}`);
    await new Promise((resolve) => setImmediate(resolve));
  }
}
