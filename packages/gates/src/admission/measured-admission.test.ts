import { beforeEach, expect, test } from '@jest/globals';
import { fakeClock } from '@cluster-apiserver/testkit/fake-clock';
import { createMetrics, type Metrics } from '@cluster-apiserver/telemetry';
import { samplesOf } from '@cluster-apiserver/testkit/exposition';
import { contextOf } from '../../test/admission.ts';
import type { AdmissionPlugin } from './admission.ts';
import { createMeasuredAdmission } from './measured-admission.ts';

const clock = fakeClock();
let metrics: Metrics;
beforeEach(() => {
  metrics = createMetrics({ ofProcess: false });
});

/** Number and seconds of what was measured, by its labels. */
async function observed(metrics: Metrics): Promise<Readonly<Record<string, readonly [number, number]>>> {
  const found: Record<string, readonly [number, number]> = {};
  for (const name of ['step', 'controller']) {
    const metric = `apiserver_admission_${name}_admission_duration_seconds`;
    const seconds = new Map(await samplesOf(metrics, `${metric}_sum`));
    for (const [labels, count] of await samplesOf(metrics, `${metric}_count`))
      found[labels.replaceAll(/\w+=|"/g, '')] = [count, seconds.get(labels) ?? 0];
  }
  return found;
}

/** A plugin whose parts take so long, and refuse the write if they shall. */
const slow = (isAsync: boolean, refuses: boolean): AdmissionPlugin => {
  const act = (seconds: number): undefined => {
    clock.advance(seconds * 1000);
    if (refuses) throw new Error('no');
    return undefined;
  };
  const part = (seconds: number) => (isAsync ? async () => act(seconds) : () => act(seconds));
  return { name: 'slow', mutate: part(1), validate: part(2) };
};

test.each([
  [false, false],
  [true, false],
  [false, true],
  [true, true],
])('each step of a plugin, and of all, is reported (with waiting: %s, refused: %s)', async (isAsync, refuses) => {
  const measured = createMeasuredAdmission([slow(isAsync, refuses)], clock, metrics);
  await (async () => measured.mutate(contextOf()))().catch(() => {});
  await (async () => measured.validate(contextOf({ operation: 'DELETE' })))().catch(() => {});
  expect(await observed(metrics)).toEqual({
    [`slow,admit,CREATE,${refuses}`]: [1, 1],
    [`admit,CREATE,${refuses}`]: [1, 1],
    [`slow,validate,DELETE,${refuses}`]: [1, 2],
    [`validate,DELETE,${refuses}`]: [1, 2],
  });
});

test('each plugin is measured with its own duration, and the step with the total', async () => {
  const slower = { ...slow(true, false), name: 'slower' };
  const none: AdmissionPlugin = { name: 'none' };
  const measured = createMeasuredAdmission([slow(false, false), none, slower, slow(false, false)], clock, metrics);
  await measured.validate(contextOf());
  expect(await observed(metrics)).toEqual({
    'slow,validate,CREATE,false': [2, 4],
    'slower,validate,CREATE,false': [1, 2],
    'validate,CREATE,false': [1, 6],
  });
});

test('measuring does not make synchronous plugins asynchronous', () => {
  const context = contextOf();
  const measured = createMeasuredAdmission([{ name: 'quick', validate: () => undefined }], clock, metrics);
  expect(measured.mutate(context)).toBe(context.object);
  expect(measured.validate(context)).toEqual({ preconditions: [] });
});
