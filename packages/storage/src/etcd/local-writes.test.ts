import { expect, test } from '@jest/globals';
import { promotedBytes } from '@cluster-apiserver/testkit/garbage';
import { LocalWrites } from './local-writes.ts';

const source = { kind: 'ServiceAccount' };
const [value, first, second] = [Buffer.from('value'), Buffer.from('first'), Buffer.from('second')];

test('a write is recognised by its key and bytes, once', () => {
  const own = new LocalWrites();
  own.add('/a', value, source, [first]);
  expect(own.take('/a', Buffer.from('theirs'))).toBeUndefined();
  expect(own.take('/b', first)).toBeUndefined();
  expect(own.take('/a', Buffer.from('first'))).toEqual({ value, stale: false, source });
  expect(own.take('/a', first)).toBeUndefined();
});

test('the later of two writes of one key is recognised', () => {
  const pieces = [second.subarray(0, 2), Buffer.alloc(0), second.subarray(2)];
  const own = new LocalWrites();
  own.add('/a', value, source, [first]);
  own.add('/a', value, source, pieces);
  expect(own.take('/a', first)).toBeUndefined();
  expect(own.take('/a', Buffer.concat([second, first]))).toBeUndefined();
  expect(own.take('/a', second)).toEqual({ value, stale: false, source });
});

test('a failed write is removed, and not a later one', () => {
  const own = new LocalWrites();
  const refused = [first];
  own.add('/a', value, source, refused);
  own.remove('/a', refused);
  expect(own.take('/a', first)).toBeUndefined();
  own.add('/a', value, source, refused);
  own.add('/a', value, source, [second]);
  own.remove('/a', refused);
  expect(own.take('/a', second)).toEqual({ value, stale: false, source });
});

test('an unencrypted write also returns its source', () => {
  const own = new LocalWrites();
  own.add('/a', value, source, [value]);
  expect(own.take('/a', Buffer.from(value))).toEqual({ value, stale: false, source });
});

test('writes that never come back are dropped by size, the oldest first', () => {
  const own = new LocalWrites();
  const large = Buffer.alloc(1024 * 1024, 'large');
  for (let n = 0; n < 20; n++) own.add(`/${n}`, large, undefined, [Buffer.concat([large])]);
  const known = Array.from({ length: 20 }, (_, n) => n).filter((n) => own.take(`/${n}`, large) !== undefined);
  expect(known).toEqual([16, 17, 18, 19]);
});

test('objects of delivered writes are not promoted by V8', () => {
  const sourceNumbers = 1_000;
  const writesPerStep = 100;
  const steps = 20;
  const own = new LocalWrites();
  let last = '/';
  const write = (step: number): void => {
    for (let i = 0; i < writesPerStep; i++) {
      const key = `/${step}/${i}`;
      own.add(key, value, { numbers: Array.from({ length: sourceNumbers }, (_, at) => at + 0.5) }, [first]);
      own.take(last, first);
      last = key;
    }
  };
  expect(promotedBytes(steps, write)).toBeLessThan((steps * writesPerStep * sourceNumbers * 8) / 20);
});
