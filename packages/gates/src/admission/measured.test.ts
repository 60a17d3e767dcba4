import { beforeEach, expect, test } from '@jest/globals';
import { handClock } from '../../../base/test/hand-clock.ts';
import { contextOf } from '../../test/admission.ts';
import { type AdmissionPlugin, admission } from './admission.ts';
import { measuredAdmission, measuredPlugin } from './measured.ts';

const clock = handClock();
const observed: unknown[] = [];
beforeEach(() => void observed.splice(0));
const observer =
  (name: string) =>
  (step: string) =>
  (...outcome: unknown[]): void =>
    void observed.push([name, step, ...outcome]);

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
  const plugin = measuredPlugin(slow(isAsync, refuses), clock, observer('slow'));
  const measured = measuredAdmission(admission([plugin]), clock, observer('all'));
  await (async () => measured.mutate(contextOf()))().catch(() => {});
  await (async () => measured.validate(contextOf({ operation: 'DELETE' })))().catch(() => {});
  expect(observed).toEqual([
    ['slow', 'admit', 'CREATE', refuses, 1],
    ['all', 'admit', 'CREATE', refuses, 1],
    ['slow', 'validate', 'DELETE', refuses, 2],
    ['all', 'validate', 'DELETE', refuses, 2],
  ]);
});

test('nothing waits that did not wait before, and a plugin has no more parts than it had', () => {
  const plugin = measuredPlugin({ name: 'quick', validate: () => undefined }, clock, observer('quick'));
  expect(plugin).not.toHaveProperty('mutate');
  const context = contextOf();
  const measured = measuredAdmission(admission([plugin]), clock, observer('all'));
  expect(measured.mutate(context)).toBe(context.object);
  expect(measured.validate(context)).toEqual([]);
});
