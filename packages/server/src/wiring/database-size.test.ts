import { expect, test } from '@jest/globals';
import { createMetrics } from '@cluster-apiserver/telemetry';
import { handClock } from '../../../base/test/hand-clock.ts';
import { untilTurned } from '../../../base/test/until.ts';
import { exposed } from '../../../telemetry/test/exposed.ts';
import { publishDatabaseSize } from './database-size.ts';

test('the size is polled, and the last one is kept while etcd does not respond', async () => {
  const clock = handClock();
  const metrics = createMetrics({ ofProcess: false });
  const answers = [async () => 100, () => Promise.reject(new Error('silent')), async () => 300];
  const stop = publishDatabaseSize(metrics, { clock, readDatabaseBytes: () => (answers.shift() ?? (async () => 0))() });
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
