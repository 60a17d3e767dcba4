import { expect, test } from '@jest/globals';
import { exposed } from '@cluster-apiserver/testkit/exposition';
import { createMetrics } from './index.ts';

const sampleLines = (text: string): string[] => text.split('\n').filter((line) => line !== '' && !line.startsWith('#'));

test('labels and help texts are escaped as each format requires', async () => {
  const metrics = createMetrics({ ofProcess: false });
  const help = 'A "quote",\na line\\.';
  metrics.counter({ name: 'words_total', help, labels: { word: 'any' } }).add({ word: 'a"b\nc\\' });
  expect(await exposed(metrics)).toBe(
    '# HELP words_total A "quote",\\na line\\\\.\n# TYPE words_total counter\nwords_total{word="a\\"b\\nc\\\\"} 1\n',
  );
  expect(await exposed(metrics, 'openmetrics')).toBe(
    '# HELP words A \\"quote\\",\\na line\\\\.\n# TYPE words counter\nwords_total{word="a\\"b\\nc\\\\"} 1\n# EOF\n',
  );
});

test('a counter without the suffix _total keeps its name and is of type unknown in OpenMetrics', async () => {
  const metrics = createMetrics({ ofProcess: false });
  metrics.counter({ name: 'attempts', help: 'Attempts.' }).add({});
  expect(await exposed(metrics)).toContain('# TYPE attempts counter\nattempts 1\n');
  expect(await exposed(metrics, 'openmetrics')).toContain('# TYPE attempts unknown\nattempts 1\n');
});

test('NaN and infinities are written in the syntax of Prometheus', async () => {
  const metrics = createMetrics({ ofProcess: false });
  const values = { a: Number.NaN, b: Number.POSITIVE_INFINITY, c: Number.NEGATIVE_INFINITY, d: 1e21 };
  metrics.readAtScrape('gauge', { name: 'odd', help: 'Odd.', labels: ['of'] }, () =>
    Object.entries(values).map(([of, value]) => ({ labels: { of }, value })),
  );
  expect(sampleLines(await exposed(metrics))).toEqual([
    'odd{of="a"} NaN',
    'odd{of="b"} +Inf',
    'odd{of="c"} -Inf',
    'odd{of="d"} 1e+21',
  ]);
});

test('an exemplar is the latest value of its bucket, only in OpenMetrics', async () => {
  const metrics = createMetrics({ ofProcess: false });
  const observe = metrics.histogram({ name: 'seconds', help: 'Seconds.', buckets: [1, 2] }).series({});
  const trace = (digit: string) => ({ traceId: digit.repeat(32), spanId: digit.repeat(16) });
  observe(0.5, { trace: trace('a'), atSeconds: 10 });
  observe(0.7, { trace: trace('b'), atSeconds: 11.25 });
  observe(0.6);
  observe(9, { trace: trace('c'), atSeconds: 12 });
  expect(sampleLines(await exposed(metrics, 'openmetrics'))).toEqual([
    `seconds_bucket{le="1"} 3 # {trace_id="${'b'.repeat(32)}",span_id="${'b'.repeat(16)}"} 0.7 11.250`,
    'seconds_bucket{le="2"} 3',
    `seconds_bucket{le="+Inf"} 4 # {trace_id="${'c'.repeat(32)}",span_id="${'c'.repeat(16)}"} 9 12.000`,
    'seconds_sum 10.8',
    'seconds_count 4',
  ]);
  expect(await exposed(metrics)).not.toContain(' # {');
});

test('values of which only the sum is known count as their mean', async () => {
  const metrics = createMetrics({ ofProcess: false });
  const observe = metrics.histogram({ name: 'bytes', help: 'Bytes.', buckets: [10, 100] }).means({});
  observe(120, 3);
  observe(0, 0);
  expect(sampleLines(await exposed(metrics))).toEqual([
    'bytes_bucket{le="10"} 0',
    'bytes_bucket{le="100"} 3',
    'bytes_bucket{le="+Inf"} 3',
    'bytes_sum 120',
    'bytes_count 3',
  ]);
});

test('a long exposition is split into pieces of whole lines', async () => {
  const metrics = createMetrics({ ofProcess: false });
  const total = metrics.counter({ name: 'long_total', help: 'Long.', labels: { of: 'any' } });
  for (let index = 0; index < 10_000; index++) total.add({ of: `series-${index}` });
  const pieces = [...(await metrics.exposition('text')).pieces];
  expect(pieces.length).toBeGreaterThan(3);
  for (const piece of pieces) expect(piece).toMatch(/^(# HELP|long_total\{)[^]*\n$/);
  expect(sampleLines(pieces.join(''))).toHaveLength(10_000);
});

test('declaring two metrics with one name is an internal error', () => {
  const metrics = createMetrics({ ofProcess: true });
  expect(() => metrics.counter({ name: 'process_open_fds', help: 'Twice.' })).toThrow('two metrics');
});
