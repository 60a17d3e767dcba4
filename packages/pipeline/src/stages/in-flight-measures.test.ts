import { expect, test } from '@jest/globals';
import { type Clock, CleanupStack, systemClock } from '@cluster-apiserver/base';
import { createMetrics } from '@cluster-apiserver/telemetry';
import { createInFlightMeasures, type InFlightMeasures } from './in-flight-measures.ts';
import { exposed } from '@cluster-apiserver/testkit/exposition';

test('the gauge of requests in flight is the maximum of the last second', async () => {
  const metrics = createMetrics({ ofProcess: false });
  let second = (): void => {};
  const clock: Clock = {
    ...systemClock,
    after: (_, callback) => {
      second = callback;
      return () => {};
    },
  };
  const measures = createInFlightMeasures(metrics, clock, new CleanupStack());
  const published = async (): Promise<string | undefined> =>
    /^apiserver_current_inflight_requests\{request_kind="readOnly"\} (\d+)$/m.exec(await exposed(metrics))?.[1];
  expect(await published()).toBe('0');
  for (const seats of [1, 2, 3, 2, 1]) measures.used('readOnly', seats);
  expect(await published()).toBe('0');
  for (const most of ['3', '1', '1']) {
    second();
    expect(await published()).toBe(most);
  }
});

test('rejected requests are counted by request kind and by resource', async () => {
  const metrics = createMetrics({ ofProcess: false });
  const measures = createInFlightMeasures(metrics, { ...systemClock, after: () => () => {} }, new CleanupStack());
  const info = { path: '/x', query: new URLSearchParams(), resource: undefined };
  const context = (method: string, verb: string): Parameters<InFlightMeasures['refused']>[0] =>
    ({ request: { method }, info: { ...info, verb } }) as never; // nothing else of it is read
  measures.rejected('readOnly', context('GET', 'get'));
  measures.rejected('mutating', context('BREW', 'brew'));
  const text = await exposed(metrics);
  expect(text).toContain('apiserver_dropped_requests_total{request_kind="mutating"} 1');
  expect(text).toMatch(/^apiserver_request_terminations_total\{verb="GET",.*code="429"\} 1$/m);
  expect(text).toMatch(/^apiserver_request_terminations_total\{verb="other",.*code="429"\} 1$/m);
});
