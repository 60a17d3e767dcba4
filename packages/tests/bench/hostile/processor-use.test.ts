import { expect, test } from '@jest/globals';
import { processorUse, readProcessorTime } from './processor-use.ts';

test('the use of a process is in shares of the elapsed time', () => {
  const before = { mainMs: 100, totalMs: 150, waitedMs: 10 };
  const after = { mainMs: 600, totalMs: 900, waitedMs: 110 };
  expect(processorUse(before, after, 1_000)).toEqual({ main: 0.5, otherThreads: 0.25, waiting: 0.1 });
});

test('a process that has ended meanwhile has used nothing', () => {
  const before = { mainMs: 100, totalMs: 150, waitedMs: 10 };
  expect(readProcessorTime(undefined)).toEqual({ mainMs: 0, totalMs: 0, waitedMs: 0 });
  expect(processorUse(before, readProcessorTime(undefined), 1_000)).toEqual({ main: 0, otherThreads: 0, waiting: 0 });
});
