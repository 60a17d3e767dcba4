import type { Clock } from '@cluster-apiserver/base';

/** Lines with the same message that are written at once, */
const burst = 100;
/** and the interval for each further one. */
const refillMs = 1_000;
/** Suppressed lines are reported after this time, even if no other line follows. */
const reportMs = 10_000;
/** Messages are literals, so there are few. Further ones share one bucket. */
const messagesMax = 256;

interface Bucket {
  tokens: number;
  filledAtMs: number;
  suppressed: number;
}

/**
 * Returns the number of suppressed lines with this message since the last written one, or undefined to suppress this line.
 * `report` is called later with the number of lines that no further line has reported.
 */
export type LogLimit = (message: string, report: (suppressed: number) => void) => number | undefined;

/** A token bucket for each message. */
export function createLogLimit(clock: Clock): LogLimit {
  const buckets = new Map<string, Bucket>();
  const others = createBucket(clock);
  const bucketOf = (message: string): Bucket => {
    const known = buckets.get(message);
    if (known) return known;
    if (buckets.size >= messagesMax) return others;
    const bucket = createBucket(clock);
    buckets.set(message, bucket);
    return bucket;
  };
  return (message, report) => {
    const bucket = bucketOf(message);
    refill(bucket, clock.monotonicMs());
    if (bucket.tokens >= 1) {
      bucket.tokens--;
      return takeSuppressed(bucket);
    }
    if (bucket.suppressed++ === 0)
      clock.after(reportMs, () => {
        const suppressed = takeSuppressed(bucket);
        if (suppressed > 0) report(suppressed);
      });
    return undefined;
  };
}

const createBucket = (clock: Clock): Bucket => ({ tokens: burst, filledAtMs: clock.monotonicMs(), suppressed: 0 });

function refill(bucket: Bucket, nowMs: number): void {
  const earned = Math.floor((nowMs - bucket.filledAtMs) / refillMs);
  bucket.tokens = Math.min(burst, bucket.tokens + earned);
  bucket.filledAtMs += earned * refillMs;
}

function takeSuppressed(bucket: Bucket): number {
  const { suppressed } = bucket;
  bucket.suppressed = 0;
  return suppressed;
}
