import type { CleanupStack } from '@cluster-apiserver/base';
import type { Log, Metrics } from '@cluster-apiserver/telemetry';
import type { Environment } from '../environment.ts';

/** Short compared to filling the heap: a reload of 1,000,000 objects takes a minute. */
const pollMs = 10_000;

/** Above this ratio V8 collects garbage more and more often, and a reload of the watch cache may not fit. */
const warnRatio = 0.8;

/** Below this ratio the next warning is armed: one per incident, not one per garbage collection. */
const clearRatio = 0.7;

const mebibyte = 2 ** 20;

/** V8 ends the process at its heap limit. Publishes the limit, and warns before it is reached. */
export function startHeapMonitor(
  { heap, clock }: Pick<Environment, 'heap' | 'clock'>,
  metrics: Metrics,
  log: Log,
  cleanup: CleanupStack,
): void {
  metrics.readAtScrape(
    'gauge',
    {
      name: 'nodejs_heap_size_limit_bytes',
      help: 'Heap size at which V8 ends the process, in bytes; see --max-old-space-size of Node.js.',
    },
    () => [{ labels: {}, value: heap().limitBytes }],
  );
  log.info('V8 heap limit', { limitMiB: Math.round(heap().limitBytes / mebibyte) });
  let isNear = false;
  const check = (): void => {
    const { usedBytes, limitBytes } = heap();
    if (!isNear && usedBytes > limitBytes * warnRatio) {
      isNear = true;
      log.warn(
        // Meaning: More than 80 % of the memory that Node.js may use is taken. At the limit the process ends, and
        // clients lose their connections.
        'heap nears its limit, at which the process ends; raise --max-old-space-size of Node.js',
        'give the process more memory, or lower the number of objects and watches: docs/scaling.md',
        {
          usedMiB: Math.round(usedBytes / mebibyte),
          limitMiB: Math.round(limitBytes / mebibyte),
        },
      );
    } else if (usedBytes < limitBytes * clearRatio) isNear = false;
    cancel = clock.after(pollMs, check);
  };
  let cancel = clock.after(pollMs, check);
  cleanup.defer('heap monitor', () => cancel());
}
