import { expect, test } from '@jest/globals';
import { createMetrics } from '@cluster-apiserver/telemetry';
import { exposed } from '@cluster-apiserver/testkit/exposition';
import { createWatchMeasures } from './watch-measures.ts';

test('watches are counted while they are open, and by the reason of their end', async () => {
  const metrics = createMetrics({ ofProcess: false });
  const measures = createWatchMeasures(metrics);
  const watched = { group: '', version: 'v1', resource: 'robots', scope: 'cluster' } as const;
  const open = (): ReturnType<typeof measures.begin> => measures.begin(watched);
  const [first, second, refused] = [open(), open(), open(), open()];
  first.end('timeout');
  second.end('timeout');
  refused.end(undefined);
  const lines = (await exposed(metrics)).split('\n');
  expect(lines).toContain('apiserver_watches_ended_total{reason="timeout"} 2');
  expect(lines.filter((line) => /^apiserver_watches_ended_total\{.* [1-9]/.test(line))).toHaveLength(1);
  expect(lines.find((line) => line.startsWith('apiserver_longrunning_requests{'))).toMatch(/ 1$/);
});
