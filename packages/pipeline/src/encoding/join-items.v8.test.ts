import { expect, test } from '@jest/globals';
import { promotedBytes } from '@cluster-apiserver/testkit/garbage';
import { JoinedItems } from './join-items.ts';

test('lists that were sent are not promoted by V8', () => {
  const steps = 50;
  const prefix = '{"kind":"Robot","apiVersion":"v1",';
  const items = Array.from({ length: 900 }, (_, n) => ({ json: `${prefix}"metadata":{"name":"r${n}"}}` }));
  const join = (): number => {
    const joined = new JoinedItems('[', [...items], prefix.length, ']');
    return joined.next(joined.length, Buffer.allocUnsafe)?.length ?? 0;
  };
  const bytesPerReference = 8;
  expect(promotedBytes(steps, join)).toBeLessThan((steps * items.length * bytesPerReference) / 2);
});
