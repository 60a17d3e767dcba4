import { expect, test } from '@jest/globals';
import { describeEnd } from '@cluster-apiserver/testkit/end-contract';
import { onAbort, onSharedAbort } from './abort-listeners.ts';
import { End } from './end.ts';

describeEnd('an end', () => {
  const end = new End<object>();
  return { subscribe: (listener) => end.subscribe(listener), end: () => end.reach({}) };
});

test.each([
  ['before', true],
  ['after', false],
])('a listener that is added %s the end gets the value of the first end', (_, isEarly) => {
  const end = new End<{ readonly at: number }>();
  const seen: number[] = [];
  const subscribe = (): void => end.subscribe(({ at }) => seen.push(at));
  if (isEarly) subscribe();
  end.reach({ at: 1 });
  end.reach({ at: 2 });
  if (!isEarly) subscribe();
  expect(seen).toEqual([1]);
});

for (const [name, listen] of [
  ['a signal', onAbort],
  ['a shared signal', onSharedAbort],
] as const)
  describeEnd(name, () => {
    const controller = new AbortController();
    return { subscribe: (listener) => listen(controller.signal, listener), end: () => controller.abort() };
  });
