import { expect, test } from '@jest/globals';
import { CleanupStack } from '@cluster-apiserver/base';
import { createLog, createMetrics } from '@cluster-apiserver/telemetry';
import { fakeClock } from '@cluster-apiserver/testkit/fake-clock';
import { startHeapMonitor } from './heap.ts';
import { exposed } from '@cluster-apiserver/testkit/exposition';

test('logs and publishes the heap limit, and warns once each time the heap gets close to it', async () => {
  const clock = fakeClock();
  const lines: string[] = [];
  const log = createLog({ clock, format: 'text', verbosity: 0, pid: 1, write: (line) => lines.push(line) });
  const metrics = createMetrics({ ofProcess: false });
  const cleanup = new CleanupStack();
  let usedBytes = 0;
  startHeapMonitor({ heap: () => ({ usedBytes, limitBytes: 100 * 2 ** 20 }), clock }, metrics, log, cleanup);
  expect(lines).toEqual([expect.stringMatching(/V8 heap limit.*limitMiB=100/)]);
  expect(await exposed(metrics)).toContain(`nodejs_heap_size_limit_bytes ${100 * 2 ** 20}`);
  const warnings = (): number => lines.filter((line) => line.includes('--max-old-space-size')).length;
  for (const { usedMiB, warned } of [
    { usedMiB: 79, warned: 0 },
    { usedMiB: 81, warned: 1 },
    { usedMiB: 95, warned: 1 },
    { usedMiB: 75, warned: 1 },
    { usedMiB: 90, warned: 1 },
    { usedMiB: 60, warned: 1 },
    { usedMiB: 85, warned: 2 },
  ]) {
    usedBytes = usedMiB * 2 ** 20;
    clock.advance(10_000);
    expect({ usedMiB, warned: warnings() }).toEqual({ usedMiB, warned });
  }
  await cleanup.close();
  expect(clock.waiting).toBe(0);
});
