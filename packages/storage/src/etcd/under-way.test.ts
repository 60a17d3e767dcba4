import { expect, test } from '@jest/globals';
import { UnderWay } from './under-way.ts';

const [value, first, second] = [Buffer.from('value'), Buffer.from('first'), Buffer.from('second')];

test('what is written is known by its key and its bytes, and by nothing else', async () => {
  const underWay = new UnderWay();
  const answer = await underWay.during('/a', value, first, async () => {
    expect(underWay.find('/a', Buffer.from('first'))).toEqual({ value, stale: false });
    expect(underWay.find('/a', Buffer.from('theirs'))).toBeUndefined();
    expect(underWay.find('/b', first)).toBeUndefined();
    return 'written';
  });
  expect(answer).toBe('written');
  expect(underWay.find('/a', first)).toBeUndefined();
});

test('the newest of two writes of one key is known, until it ends in whatever way', async () => {
  const underWay = new UnderWay();
  const known = (): boolean[] => [first, second].map((stored) => underWay.find('/a', stored) !== undefined);
  const [firstEnds, secondEnds] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const one = underWay.during('/a', value, first, () => firstEnds.promise);
  const other = underWay.during('/a', value, second, () => secondEnds.promise);
  expect(known()).toEqual([false, true]);
  firstEnds.resolve();
  await one;
  expect(known()).toEqual([false, true]);
  secondEnds.reject(new Error('refused'));
  await expect(other).rejects.toThrow('refused');
  expect(known()).toEqual([false, false]);
});
