import { expect, test } from '@jest/globals';
import { followTransformer, makeRetirable } from './retirable-transformer.ts';
import { identity, type Transformer } from './transformer.ts';

const key = '/registry/serviceaccounts/a/robot';
const value = Buffer.from('{}');

test('a retired transformer without running operations closes at once, and only once', () => {
  let closings = 0;
  const old = makeRetirable(identity, () => closings++);
  expect(old.transformer.toStorage(value, key)).toEqual([value]);
  expect(closings).toBe(0);
  old.retire();
  old.retire();
  expect(closings).toBe(1);
});

test('a retired transformer closes after its running operations, however they end', async () => {
  const [writing, reading] = [Promise.withResolvers<Buffer[]>(), Promise.withResolvers<never>()];
  let closed = false;
  const old = makeRetirable({ toStorage: () => writing.promise, fromStorage: () => reading.promise }, () => {
    closed = true;
  });
  const written = old.transformer.toStorage(value, key);
  const read = Promise.resolve(old.transformer.fromStorage(value, key)).catch(String);
  old.retire();
  writing.resolve([value]);
  expect(await written).toEqual([value]);
  expect(closed).toBe(false);
  reading.reject(new Error('no such key'));
  expect(await read).toBe('Error: no such key');
  expect(closed).toBe(true);
});

test.each([
  ['the same refuses', false, 'Error: no such key'],
  ['the next one reads', true, { value, stale: false }],
])('a value that a transformer refuses late, %s', async (_, isReplaced, expected) => {
  const reading = Promise.withResolvers<never>();
  let current: Transformer = { toStorage: () => [Buffer.from('old')], fromStorage: () => reading.promise };
  const followed = followTransformer(() => current);
  const read = Promise.resolve(followed.fromStorage(value, key)).catch(String);
  if (isReplaced) current = identity;
  reading.reject(new Error('no such key'));
  expect(await read).toEqual(expected);
  expect(followed.toStorage(value, key)).toEqual([isReplaced ? value : Buffer.from('old')]);
});
