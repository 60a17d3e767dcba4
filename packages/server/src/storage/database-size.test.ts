import { expect, test } from '@jest/globals';
import { createMetrics } from '@cluster-apiserver/telemetry';
import { fakeClock } from '@cluster-apiserver/testkit/fake-clock';
import { untilTurned } from '@cluster-apiserver/testkit/until';
import { exposed } from '@cluster-apiserver/testkit/exposition';
import { publishDatabaseSizes } from './database-size.ts';

test('the size is polled, and the last one is kept while etcd does not respond', async () => {
  const clock = fakeClock();
  const metrics = createMetrics({ ofProcess: false });
  const answers = [async () => 100, () => Promise.reject(new Error('silent')), async () => 300];
  const client = { clock, readDatabaseBytes: () => (answers.shift() ?? (async () => 0))() };
  const stop = publishDatabaseSizes(metrics, [{ id: 'etcd-0', client }]);
  const shown = async (bytes: number): Promise<boolean> =>
    (await exposed(metrics)).includes(`apiserver_storage_size_bytes{storage_cluster_id="etcd-0"} ${bytes}\n`);
  for (const bytes of [100, 100, 300]) {
    await untilTurned(() => clock.waiting === 1);
    expect({ bytes, isShown: await shown(bytes) }).toEqual({ bytes, isShown: true });
    clock.advance(30_000);
  }
  await untilTurned(() => clock.waiting === 1);
  stop();
  expect(clock.waiting).toBe(0);
});
