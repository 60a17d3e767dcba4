import { expect, test } from '@jest/globals';
import { kinds } from '@cluster-apiserver/kinds';
import { createMetrics } from '@cluster-apiserver/telemetry';
import { requestMeasures } from './measures.ts';

test('a thousand names from outside make one series', async () => {
  const metrics = createMetrics({ ofProcess: false });
  const measures = requestMeasures(metrics, kinds({ eventLifetimeSeconds: 60 }));
  const seriesAfter = async (resource: string, verb: string): Promise<number> => {
    measures.began();
    measures.ended({ verb, group: resource, version: resource, resource, code: 401, seconds: 0.1 });
    return (await metrics.exposition()).text.split('\n').filter((line) => line.startsWith('apiserver_request_total{'))
      .length;
  };
  expect(await seriesAfter('events', 'get')).toBe(1);
  for (let i = 0; i < 1000; i++) await seriesAfter(`random-${i}`, `verb-${i}`);
  expect(await seriesAfter('again', 'brew')).toBe(2);
  expect((await metrics.exposition()).text).toContain('apiserver_current_inflight_requests 0');
});
