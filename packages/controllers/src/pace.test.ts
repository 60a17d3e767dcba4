import { expect, test } from '@jest/globals';
import { fakeClock } from '@cluster-apiserver/testkit/fake-clock';
import { createPace } from './pace.ts';

/** Time passes with each step of a pass. */
function open() {
  const clock = fakeClock();
  const term = new AbortController();
  const resumes: (() => void)[] = [];
  const pace = createPace({ ...clock, soon: (callback) => void resumes.push(callback) }, term.signal);
  const turn = async (): Promise<void> => {
    for (const resume of resumes.splice(0)) resume();
    await new Promise((resolve) => setImmediate(resolve));
  };
  let steps = 0;
  const work = async (count: number): Promise<void> => {
    for (let step = 0; step < count; step++) {
      if (pace.isDue()) await pace.pause();
      steps++;
      clock.advance(0.1);
    }
  };
  return { term, turn, work, steps: () => steps };
}

test('a long pass runs in slices', async () => {
  const { turn, work, steps } = open();
  const pass = work(1_000);
  expect(steps()).toBeLessThan(200);
  while (steps() < 1_000) {
    const before = steps();
    await turn();
    expect(steps() - before).toBeLessThan(200);
  }
  await pass;
});

test('workers that share a pass share its slices', async () => {
  const { turn, work, steps } = open();
  const passes = Promise.all(Array.from({ length: 8 }, () => work(1_000)));
  while (steps() < 8_000) {
    const before = steps();
    await turn();
    expect(steps() - before).toBeLessThan(200);
  }
  await passes;
});

test('a pass that pauses when its term ends does not continue', async () => {
  const { term, turn, work, steps } = open();
  const failure = work(1_000).catch((error: unknown) => error);
  const before = steps();
  term.abort(new Error('the term is over'));
  await turn();
  expect(await failure).toEqual(new Error('the term is over'));
  expect(steps()).toBe(before);
});
