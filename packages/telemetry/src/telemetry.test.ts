import { describe, expect, test } from '@jest/globals';
import { type Clock, systemClock } from '@cluster-apiserver/base';
import { askHealth, type HealthCheck, openLog, openMetrics } from './index.ts';

const ping: HealthCheck = { name: 'ping', check: () => {} };
const etcd: HealthCheck = {
  name: 'etcd',
  check: async () => {
    throw new Error('the secret reason');
  },
};

describe('health', () => {
  const reported: string[] = [];
  const surroundings = { clock: systemClock, report: (check: string) => void reported.push(check) };
  const ask = (checks: HealthCheck[], question = {}) => askHealth('readyz', checks, { verbose: false, exclude: [], ...question }, surroundings);

  test('all well says ok, and each by its name when asked', async () => {
    expect(await ask([ping])).toEqual({ status: 200, text: 'ok' });
    expect(await ask([ping], { verbose: true })).toEqual({ status: 200, text: '[+]ping ok\nreadyz check passed\n' });
  });

  test('a failed check fails all, names itself and keeps its reason for the log', async () => {
    expect(await ask([ping, etcd])).toEqual({ status: 500, text: '[+]ping ok\n[-]etcd failed: reason withheld\nreadyz check failed\n' });
    expect(reported).toEqual(['readyz/etcd']);
  });

  test('an excluded check is not asked; one that does not exist is told', async () => {
    expect(await ask([ping, etcd], { verbose: true, exclude: ['etcd', 'moon'] })).toEqual({
      status: 200,
      text: '[+]ping ok\n[+]etcd excluded: ok\nwarn: some health checks cannot be excluded: no matches for "moon"\nreadyz check passed\n',
    });
  });

  test('one check alone is asked by its name', async () => {
    expect(await ask([ping, etcd], { only: 'ping' })).toEqual({ status: 200, text: 'ok' });
    expect(await ask([ping, etcd], { only: 'moon' })).toBeUndefined();
  });

  test('a check that never answers has failed after a while', async () => {
    const impatient: Clock = { ...systemClock, after: (_, callback) => (queueMicrotask(() => queueMicrotask(callback)), () => {}) };
    const silent: HealthCheck = { name: 'silent', check: () => new Promise(() => {}) };
    expect(await askHealth('livez', [silent], { verbose: false, exclude: [] }, { ...surroundings, clock: impatient })).toMatchObject({ status: 500 });
  });
});

describe('log', () => {
  const at: Clock = { ...systemClock, now: () => Date.UTC(2026, 0, 1) };
  const lines = (format: 'text' | 'json', level = 0) => {
    const written: string[] = [];
    return { written, log: openLog({ clock: at, format, level, write: (line) => void written.push(line) }) };
  };

  test('a line says when, what and the chain of causes', () => {
    const { written, log } = lines('text');
    class StorageUnavailableError extends Error {
      override readonly name = 'StorageUnavailableError';
    }
    log.error('a request failed', new StorageUnavailableError('no answer', { cause: 'ECONNREFUSED' }), { verb: 'get', left: undefined });
    expect(written).toEqual(['E 2026-01-01T00:00:00.000Z "a request failed" verb="get" error="StorageUnavailableError: no answer; because of ECONNREFUSED"\n']);
  });

  test('a text from outside cannot begin a line of its own', () => {
    for (const format of ['text', 'json'] as const) {
      const { written, log } = lines(format);
      log.info('x\ny', { agent: 'a\nE forged' });
      expect(written.join('').trimEnd()).not.toContain('\n');
    }
  });

  test('details are written from their level on, and JSON lines are JSON', () => {
    const { written, log } = lines('json', 2);
    log.detail(2, 'shown', { n: 1 });
    log.detail(3, 'hidden');
    expect(written.map((line) => JSON.parse(line))).toEqual([{ ts: '2026-01-01T00:00:00.000Z', severity: 'I', v: 2, msg: 'shown', n: 1 }]);
  });
});

test('what was counted stands in the exposition', async () => {
  const metrics = openMetrics();
  metrics.counter('apiserver_request_total', 'Requests.', ['code']).add({ code: '200' });
  metrics.gauge('apiserver_current_inflight_requests', 'Under way.').add(2);
  metrics.histogram('apiserver_request_duration_seconds', 'Durations.', ['verb'], [0.1, 1]).observe({ verb: 'get' }, 0.5);
  const text = await metrics.exposition();
  expect(text).toContain('apiserver_request_total{code="200"} 1');
  expect(text).toContain('apiserver_current_inflight_requests 2');
  expect(text).toContain('apiserver_request_duration_seconds_bucket{le="1",verb="get"} 1');
  expect(text).toContain('process_resident_memory_bytes');
});
