import { expect, test } from '@jest/globals';
import { type Clock, Scope, systemClock } from '@cluster-apiserver/base';
import { kinds } from '@cluster-apiserver/kinds';
import { createMetrics } from '@cluster-apiserver/telemetry';
import { inFlightMeasures, requestMeasures } from './measures.ts';

test('a thousand names from outside make one series', async () => {
  const metrics = createMetrics({ ofProcess: false });
  const measures = requestMeasures(metrics, kinds({ eventLifetimeSeconds: 60 }));
  const seriesAfter = async (resource: string, verb: string): Promise<number> => {
    measures.ended({ verb, group: resource, version: resource, resource, code: 401, seconds: 0.1 });
    return (await metrics.exposition()).text.split('\n').filter((line) => line.startsWith('apiserver_request_total{'))
      .length;
  };
  expect(await seriesAfter('events', 'get')).toBe(1);
  for (let i = 0; i < 1000; i++) await seriesAfter(`random-${i}`, `verb-${i}`);
  expect(await seriesAfter('again', 'brew')).toBe(2);
});

test('requests in flight are published as the most of the last second', async () => {
  const metrics = createMetrics({ ofProcess: false });
  let second = (): void => {};
  const clock: Clock = {
    ...systemClock,
    after: (_, callback) => {
      second = callback;
      return () => {};
    },
  };
  const measures = inFlightMeasures(metrics, [], clock, new Scope());
  const published = async (): Promise<string | undefined> =>
    /^apiserver_current_inflight_requests\{request_kind="readOnly"\} (\d+)$/m.exec(
      (await metrics.exposition()).text,
    )?.[1];
  expect(await published()).toBe('0');
  for (const seats of [1, 2, 3, 2, 1]) measures.used('readOnly', seats);
  expect(await published()).toBe('0');
  for (const most of ['3', '1', '1']) {
    second();
    expect(await published()).toBe(most);
  }
});

test('what was rejected is counted by its kind and by what it was', async () => {
  const metrics = createMetrics({ ofProcess: false });
  const measures = inFlightMeasures(metrics, [], { ...systemClock, after: () => () => {} }, new Scope());
  const info = { path: '/x', query: new URLSearchParams(), resource: undefined };
  measures.rejected('readOnly', { ...info, verb: 'get' });
  measures.rejected('mutating', { ...info, verb: 'made up' });
  const { text } = await metrics.exposition();
  expect(text).toContain('apiserver_dropped_requests_total{request_kind="mutating"} 1');
  expect(text).toMatch(/^apiserver_request_terminations_total\{verb="GET",.*code="429"\} 1$/m);
  expect(text).toMatch(/^apiserver_request_terminations_total\{verb="other",.*code="429"\} 1$/m);
});
