import { expect, test } from '@jest/globals';
import { seededRandom } from '@cluster-apiserver/base';
import { runFrameSequence } from './frame-sequences.ts';

// A million of them: node --conditions=source packages/storage/fuzz/main.ts
test('whatever frames come in whatever order, calls end once and the rules are kept', () => {
  for (let seed = 1; seed <= 2_000; seed++)
    expect(() => {
      try {
        runFrameSequence(seededRandom(seed));
      } catch (cause) {
        throw new Error(`seed ${seed}`, { cause });
      }
    }).not.toThrow();
});
