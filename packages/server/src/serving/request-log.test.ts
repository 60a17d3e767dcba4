import { expect, test } from '@jest/globals';
import { LatencyTracker } from '@cluster-apiserver/base';
import type { EndedRequest } from '@cluster-apiserver/pipeline';
import { createLog } from '@cluster-apiserver/telemetry';
import { fakeClock } from '@cluster-apiserver/testkit/fake-clock';
import { usedHeapBytes } from '@cluster-apiserver/testkit/garbage';
import { createRequestLog } from './request-log.ts';

test('lines that wait for a reader do not hold long targets', () => {
  const clock = fakeClock();
  const waiting: unknown[] = [];
  const add = (line: unknown): void => void waiting.push(line);
  const log = createRequestLog(createLog({ clock, format: 'text', verbosity: 2, pid: 1, write: add, writeLater: add }));
  const targetCharacters = 60_000;
  const end = (target: string): void =>
    log.ended({
      context: {
        request: { method: 'GET', target, header: () => 'client', remoteAddress: '10.0.0.1' },
        latency: new LatencyTracker(clock),
      },
      status: 200,
      end: { outcome: 'complete', bodyBytes: 1 },
      readyMs: 1,
      totalMs: 1,
      slow: undefined,
    } as unknown as EndedRequest);
  end('/api');
  expect(waiting).toEqual([expect.any(Function)]);
  const before = usedHeapBytes();
  for (let at = 0; at < 500; at++) end(Buffer.from(`/api?${at}${'x'.repeat(targetCharacters)}`).toString());
  expect(waiting).toHaveLength(501);
  expect(usedHeapBytes() - before).toBeLessThan(100 * targetCharacters);
});
