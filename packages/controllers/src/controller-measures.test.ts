import { expect, test } from '@jest/globals';
import { createMetrics } from '@cluster-apiserver/telemetry';
import { fakeClock } from '@cluster-apiserver/testkit/fake-clock';
import { exposed } from '@cluster-apiserver/testkit/exposition';
import { createControllerMeasures } from './controller-measures.ts';

test('work is measured while it runs and when it ends', async () => {
  const clock = fakeClock();
  const metrics = createMetrics({ ofProcess: false });
  const measures = createControllerMeasures(metrics, ['collector'], clock)('collector');
  const values = async (): Promise<Record<string, number>> =>
    Object.fromEntries(
      Array.from(
        (await exposed(metrics)).matchAll(/^workqueue_(\w+)\{name="collector"\} (\S+)$/gm),
        ([, name = '', value]) => [name, Number(value)],
      ),
    );
  const first = measures.began(0.5);
  clock.advance(2_000);
  const second = measures.began(0);
  clock.advance(1_000);
  expect(await values()).toMatchObject({ unfinished_work_seconds: 4, longest_running_processor_seconds: 3 });
  first();
  expect(await values()).toMatchObject({
    unfinished_work_seconds: 1,
    longest_running_processor_seconds: 1,
    queue_duration_seconds_sum: 0.5,
    queue_duration_seconds_count: 2,
    work_duration_seconds_sum: 3,
  });
  second();
  expect(await values()).toMatchObject({ unfinished_work_seconds: 0, work_duration_seconds_count: 2 });
});
