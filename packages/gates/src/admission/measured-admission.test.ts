import { beforeEach, expect, test } from '@jest/globals';
import { fakeClock } from '@cluster-apiserver/testkit/fake-clock';
import { contextOf } from '../../test/admission.ts';
import type { AdmissionPlugin } from './admission.ts';
import { type AdmissionMeasures, createMeasuredAdmission } from './measured-admission.ts';

const clock = fakeClock();
const observed: unknown[] = [];
beforeEach(() => void observed.splice(0));
const measures: AdmissionMeasures = {
  step:
    (step) =>
    (...outcome) =>
      void observed.push(['all', step, ...outcome]),
  plugin:
    (name, step) =>
    (...outcome) =>
      void observed.push([name, step, ...outcome]),
};

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
  const measured = createMeasuredAdmission([slow(isAsync, refuses)], clock, measures);
  await (async () => measured.mutate(contextOf()))().catch(() => {});
  await (async () => measured.validate(contextOf({ operation: 'DELETE' })))().catch(() => {});
  expect(observed).toEqual([
    ['slow', 'admit', 'CREATE', refuses, 1],
    ['all', 'admit', 'CREATE', refuses, 1],
    ['slow', 'validate', 'DELETE', refuses, 2],
    ['all', 'validate', 'DELETE', refuses, 2],
  ]);
});

test('each plugin is measured with its own duration, and the step with the total', async () => {
  const slower = { ...slow(true, false), name: 'slower' };
  const none: AdmissionPlugin = { name: 'none' };
  const measured = createMeasuredAdmission([slow(false, false), none, slower, slow(false, false)], clock, measures);
  await measured.validate(contextOf());
  expect(observed).toEqual([
    ['slow', 'validate', 'CREATE', false, 2],
    ['slower', 'validate', 'CREATE', false, 2],
    ['slow', 'validate', 'CREATE', false, 2],
    ['all', 'validate', 'CREATE', false, 6],
  ]);
});

test('measuring does not make synchronous plugins asynchronous', () => {
  const context = contextOf();
  const measured = createMeasuredAdmission([{ name: 'quick', validate: () => undefined }], clock, measures);
  expect(measured.mutate(context)).toBe(context.object);
  expect(measured.validate(context)).toEqual([]);
});
