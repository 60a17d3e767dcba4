import type { Clock } from './clock.ts';

/** What a request waits for. The rest of its latency is the server's own work, or waiting for the processor. */
export const latencyParts = [
  'authentication',
  'queue',
  'authorization',
  'body',
  'admission',
  'storage',
  'encoding',
] as const;

/** `webhooks` is not in the list of parts that add up: `admission` contains the time of its webhooks. */
export type LatencyPart = (typeof latencyParts)[number] | 'webhooks';

/**
 * Where the time of one request goes. Only waits are measured, because every request has a tracker: a part that completes
 * synchronously reads no clock and counts as 0. Parts may overlap, as storage does when an admission plugin reads it.
 */
export class LatencyTracker {
  readonly startedMs: number;
  readonly #clock: Clock;
  readonly #waits: { [part in LatencyPart]?: Wait } = {};

  constructor(clock: Clock) {
    this.#clock = clock;
    this.startedMs = clock.monotonicMs();
  }

  /** Each `begin` needs its `end`. Overlapping waits for one part count once. */
  begin(part: LatencyPart): void {
    const wait = (this.#waits[part] ??= new Wait());
    if (wait.running++ === 0) wait.sinceMs = this.#clock.monotonicMs();
  }

  end(part: LatencyPart): void {
    const wait = this.#waits[part];
    if (wait && --wait.running === 0) wait.totalMs += this.#clock.monotonicMs() - wait.sinceMs;
  }

  totalMs(part: LatencyPart): number {
    return this.#waits[part]?.totalMs ?? 0;
  }

  sinceStartMs(): number {
    return this.#clock.monotonicMs() - this.startedMs;
  }
}

class Wait {
  running = 0;
  sinceMs = 0;
  totalMs = 0;
}

/** Measures how long a result takes. A result that is no promise took no wait. */
export function trackLatency<Value>(
  tracker: LatencyTracker | undefined,
  part: LatencyPart,
  result: Promise<Value>,
): Promise<Value>;
export function trackLatency<Value>(
  tracker: LatencyTracker | undefined,
  part: LatencyPart,
  result: Value | Promise<Value>,
): Value | Promise<Value>;
export function trackLatency<Value>(
  tracker: LatencyTracker | undefined,
  part: LatencyPart,
  result: Value | Promise<Value>,
): Value | Promise<Value> {
  if (!tracker || !(result instanceof Promise)) return result;
  tracker.begin(part);
  return result.then(
    (value) => {
      tracker.end(part);
      return value;
    },
    (error: unknown) => {
      tracker.end(part);
      throw error;
    },
  );
}
