import { expect, test } from '@jest/globals';
import { usedHeapBytes } from '@cluster-apiserver/testkit/garbage';
import { compile, fromJson, types } from '@cluster-apiserver/expressions';

test('patterns that are computed do not fill the memory', () => {
  const compiled = compile("'a'.matches(pattern)", { pattern: types.string });
  if ('faults' in compiled) throw new Error(compiled.faults.join());
  const before = usedHeapBytes();
  for (let at = 0; at < 200; at++) {
    const pattern = `${'(ab){100}'.repeat(20)}${at}`;
    compiled.expression.evaluate(new Map([['pattern', fromJson(pattern)]]), Number.POSITIVE_INFINITY);
  }
  expect(usedHeapBytes() - before).toBeLessThan(20 * 1024 * 1024);
});
