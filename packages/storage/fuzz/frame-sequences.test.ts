import { expect, test } from '@jest/globals';
import { seededRandom } from '@cluster-apiserver/base';
import { repetitions } from '../../base/test/soak.ts';
import { runFrameSequence } from './frame-sequences.ts';

// A million of them: node --conditions=source packages/storage/fuzz/main.ts
const sequences = repetitions({ ci: 500, soak: 20_000 });
const patienceMs = 300_000;

test(
  'whatever frames come in whatever order, calls end once and the rules are kept',
  () => {
    for (let seed = 1; seed <= sequences; seed++)
      expect(() => {
        try {
          runFrameSequence(seededRandom(seed));
        } catch (cause) {
          throw new Error(`seed ${seed}`, { cause });
        }
      }).not.toThrow();
  },
  patienceMs,
);
