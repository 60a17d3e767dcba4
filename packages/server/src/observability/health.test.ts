import { createLog, createMetrics } from '@cluster-apiserver/telemetry';
import { fakeClock } from '@cluster-apiserver/testkit/fake-clock';
import { expect, test } from '@jest/globals';
import { createServerHealth } from './health.ts';

test('a check is logged when it begins to fail and when it passes again, and is no error before it has passed', async () => {
  const clock = fakeClock();
  const lines: string[] = [];
  const log = createLog({ clock, format: 'text', verbosity: 0, pid: 1, write: (line) => lines.push(line) });
  const health = createServerHealth(clock, log, createMetrics({ ofProcess: false }));
  let error: Error | undefined = new Error('no');
  health.add({
    name: 'store',
    endpoints: ['readyz', 'healthz'],
    check: () => {
      if (error) throw error;
    },
  });
  const probe = async (fault: Error | undefined): Promise<void> => {
    error = fault;
    for (const endpoint of ['readyz', 'healthz', 'readyz'] as const)
      await health.checkAll(endpoint, { verbose: false, exclude: [] });
  };
  await probe(new Error('starting'));
  await probe(undefined);
  await probe(new Error('gone'));
  await probe(undefined);
  expect(lines.map((line) => line.replace(/^(.).*?\] /, '$1 ').trim())).toEqual([
    'I "health check does not pass yet" endpoint="readyz" check="store" err="starting"',
    'I "health check failed" endpoint="readyz" check="store" err="gone"',
    'I "health check passes again" check="store"',
  ]);
});
