import { expect, test } from '@jest/globals';
import { exposed } from '@cluster-apiserver/testkit/exposition';
import { createMetrics } from './index.ts';

test('series are dropped by the values of their labels, and the others go on', async () => {
  const metrics = createMetrics({ ofProcess: false });
  const labels = { group: 'any', resource: 'any' } as const;
  const counter = metrics.counter({ name: 'requests_total', help: 'Requests.', labels });
  const other = metrics.counter({ name: 'words_total', help: 'Words.', labels: { word: 'any' } });
  const kept = counter.series({ group: '', resource: 'robots' });
  kept();
  counter.add({ group: 'a', resource: 'robots' });
  counter.add({ group: 'a', resource: 'robots"' });
  other.add({ word: 'robots' });
  metrics.dropSeries({ group: 'a', resource: 'robots' });
  kept();
  counter.add({ group: '', resource: 'robots' });
  const lines = async (): Promise<string[]> =>
    (await exposed(metrics)).split('\n').filter((line) => line !== '' && !line.startsWith('#'));
  expect(await lines()).toEqual([
    'requests_total{group="",resource="robots"} 3',
    'requests_total{group="a",resource="robots\\""} 1',
    'words_total{word="robots"} 1',
  ]);
  counter.add({ group: 'a', resource: 'robots' });
  expect(await lines()).toContain('requests_total{group="a",resource="robots"} 1');
});

test('series are dropped whichever labels stand before, between and after', async () => {
  const metrics = createMetrics({ ofProcess: false });
  const labels = { verb: ['GET', 'PUT'], group: 'any', version: 'any', resource: 'any', code: 'any' } as const;
  const counter = metrics.counter({ name: 'requests_total', help: 'Requests.', labels });
  for (const verb of ['GET', 'PUT'])
    for (const version of ['v1', 'v2'])
      for (const resource of ['robots', 'lamps'])
        for (const code of ['200', '404']) counter.add({ verb, group: 'a', version, resource, code });
  const count = async (): Promise<number> =>
    (await exposed(metrics)).split('\n').filter((line) => line.startsWith('requests_total{')).length;
  metrics.dropSeries({ group: 'a', resource: 'robots' });
  expect(await count()).toBe(8);
  expect(await exposed(metrics)).not.toContain('resource="robots"');
  metrics.dropSeries({ resource: 'lamps', code: '404' });
  expect(await count()).toBe(4);
  metrics.dropSeries({ group: 'b', resource: 'lamps' });
  metrics.dropSeries({ verb: 'GET' });
  expect(await count()).toBe(2);
  counter.add({ verb: 'PUT', group: 'a', version: 'v1', resource: 'lamps', code: '200' });
  expect(await exposed(metrics)).toContain('version="v1",resource="lamps",code="200"} 2');
});
