import { expect, test } from '@jest/globals';
import { makeRetirable } from './retirable-transformer.ts';
import { identity } from './transformer.ts';

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
