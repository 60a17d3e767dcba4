import { beforeEach, describe, expect, test } from '@jest/globals';
import { type Clock, systemClock } from '@cluster-apiserver/base';
import { createHealth, createMetrics, type Endpoint } from './index.ts';
import { exposed } from '@cluster-apiserver/testkit/exposition';

test('a bucket counts values up to its inclusive bound, and the last one all values', async () => {
  const metrics = createMetrics({ ofProcess: false });
  const histogram = metrics.histogram({ name: 'bytes', help: 'Sizes.', labels: { of: 'any' }, buckets: [1, 2, 4] });
  for (const value of [0.5, 1, 2, 3, 100]) histogram.observe({ of: 'this' }, value);
  const observeOther = histogram.series({ of: 'that' });
  observeOther(4);
  const text = await exposed(metrics);
  expect(text.split('\n').filter((line) => line.includes('this'))).toEqual([
    'bytes_bucket{le="1",of="this"} 2',
    'bytes_bucket{le="2",of="this"} 3',
    'bytes_bucket{le="4",of="this"} 4',
    'bytes_bucket{le="+Inf",of="this"} 5',
    'bytes_sum{of="this"} 106.5',
    'bytes_count{of="this"} 5',
  ]);
  expect(text).toContain('bytes_bucket{le="4",of="that"} 1\n');
});

test('series are distinguished by labels, and unknown values of each label are counted as other', async () => {
  const metrics = createMetrics({ ofProcess: false });
  const total = metrics.counter({ name: 'calls', help: 'Calls.', labels: { verb: ['GET', 'PUT'], code: ['200'] } });
  for (const [verb, code] of [
    ['GET', '200'],
    ['PUT', '200'],
    ['x', '200'],
    ['y', '200'],
    ['x', '1'],
    ['GET', '2'],
  ])
    total.add({ verb: verb as string, code: code as string });
  const text = await exposed(metrics);
  expect(
    text
      .split('\n')
      .filter((line) => line.startsWith('calls'))
      .sort(),
  ).toEqual([
    'calls{verb="GET",code="200"} 1',
    'calls{verb="GET",code="other"} 1',
    'calls{verb="PUT",code="200"} 1',
    'calls{verb="other",code="200"} 2',
    'calls{verb="other",code="other"} 1',
  ]);
});

test('a metric has a bounded number of series, and further values are counted as other', async () => {
  const metrics = createMetrics({ ofProcess: false });
  const total = metrics.counter({ name: 'calls', help: 'Calls.', labels: { verb: ['GET'], name: 'any' } });
  for (let at = 0; at < 10_100; at++) total.add({ verb: 'GET', name: `webhook-${at}` });
  total.add({ verb: 'GET', name: 'webhook-1' });
  const lines = (await exposed(metrics)).split('\n').filter((line) => line.startsWith('calls{'));
  expect(lines).toHaveLength(10_001);
  expect(lines).toContain('calls{verb="GET",name="other"} 100');
  expect(lines).toContain('calls{verb="GET",name="webhook-1"} 2');
});

describe('health', () => {
  const everywhere: readonly Endpoint[] = ['livez', 'readyz', 'healthz'];
  const failures: string[] = [];
  beforeEach(() => void failures.splice(0));
  const health = (clock: Clock = systemClock) =>
    createHealth({ clock, failed: (endpoint, check) => void failures.push(`${endpoint}/${check}`) });
  const broken = {
    name: 'etcd',
    endpoints: ['readyz'] as const,
    check: () => Promise.reject(new Error('the secret reason')),
  };

  test('passing checks return ok, and are listed if verbose', async () => {
    expect(await health().checkAll('readyz', { verbose: false, exclude: [] })).toEqual({ status: 200, text: 'ok' });
    expect(await health().checkAll('readyz', { verbose: true, exclude: [] })).toEqual({
      status: 200,
      text: '[+]ping ok\nreadyz check passed\n',
    });
  });

  test('a failed check fails its endpoints with its name, and its reason is only logged', async () => {
    const with1 = health();
    with1.add(broken);
    expect(await with1.checkAll('readyz', { verbose: false, exclude: [] })).toEqual({
      status: 500,
      text: '[+]ping ok\n[-]etcd failed: reason withheld\nreadyz check failed\n',
    });
    expect((await with1.checkAll('livez', { verbose: false, exclude: [] })).status).toBe(200);
    expect(failures).toEqual(['readyz/etcd']);
  });

  test('an excluded check is not run; an unknown exclusion causes a warning', async () => {
    const with1 = health();
    with1.add(broken);
    expect(await with1.checkAll('readyz', { verbose: true, exclude: ['etcd', 'moon'] })).toEqual({
      status: 200,
      text: '[+]ping ok\n[+]etcd excluded: ok\nwarn: some health checks cannot be excluded: no matches for "moon"\nreadyz check passed\n',
    });
  });

  test('a single check can be requested by name', async () => {
    const with1 = health();
    with1.add(broken);
    expect((await with1.checkOne('readyz', 'ping')).status).toBe(200);
    expect((await with1.checkOne('readyz', 'etcd')).status).toBe(500);
    expect((await with1.checkOne('livez', 'etcd')).status).toBe(404);
  });

  test('a check that never resolves fails after its timeout', async () => {
    const impatient: Clock = {
      ...systemClock,
      after: (_, callback) => (queueMicrotask(() => queueMicrotask(callback)), () => {}),
    };
    const silent = health(impatient);
    silent.add({ name: 'silent', endpoints: everywhere, check: () => new Promise(() => {}) });
    expect((await silent.checkAll('livez', { verbose: false, exclude: [] })).status).toBe(500);
  });
});

test('counts appear in the exposition, and labels of clients have bounded values', async () => {
  const metrics = createMetrics({ ofProcess: true });
  const total = metrics.counter({ name: 'requests_total', help: 'Requests.', labels: { verb: ['GET'], code: 'any' } });
  total.add({ verb: 'GET', code: '200' });
  total.add({ verb: 'BREW', code: '200' });
  total.add({ verb: 'STEAL', code: '200' });
  metrics.gauge({ name: 'inflight', help: 'Under way.' }).add({}, 2);
  metrics.gauge({ name: 'keys', help: 'In memory.' }).set({}, 7);
  metrics.histogram({ name: 'seconds', help: 'Durations.', buckets: [0.1, 1] }).observe({}, 0.5);
  const text = await exposed(metrics);
  expect(text).toContain('requests_total{verb="GET",code="200"} 1');
  expect(text).toContain('requests_total{verb="other",code="200"} 2');
  expect(text).toContain('inflight 2');
  expect(text).toContain('keys 7');
  expect(text).toContain('seconds_bucket{le="1"} 1');
  expect(text).toContain('process_resident_memory_bytes');
});
