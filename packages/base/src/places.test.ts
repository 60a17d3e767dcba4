import { expect, test } from '@jest/globals';
import { Places } from './places.ts';

test('work waits in order for one of the places, and gives it back however it ends', async () => {
  const places = new Places(2);
  const begun: number[] = [];
  const gates = Array.from({ length: 4 }, () => Promise.withResolvers<number>());
  const done = gates.map(({ promise }, at) =>
    places
      .use(() => {
        begun.push(at);
        return promise;
      })
      .catch(String),
  );
  expect([begun, places.isCrowded]).toEqual([[0, 1], true]);
  gates[1]?.reject(new Error('no'));
  expect(await done[1]).toBe('Error: no');
  await Promise.resolve();
  expect(begun).toEqual([0, 1, 2]);
  for (const [at, { resolve }] of gates.entries()) resolve(at);
  expect(await Promise.all(done)).toEqual([0, 'Error: no', 2, 3]);
  expect(places.isCrowded).toBe(false);
});

test('one that waits may leave, and the others keep their order', () => {
  const places = new Places(1);
  const begun: string[] = [];
  const leave = ['a', 'b', 'c'].map((name) => places.take(() => begun.push(name)));
  leave[1]?.();
  expect(begun).toEqual(['a']);
  leave[0]?.();
  expect(begun).toEqual(['a', 'c']);
  leave[2]?.();
  expect(places.isCrowded).toBe(false);
});
