/**
 * Runs many sequences of HTTP/2 frames and stops at the first that breaks a rule, with its seed:
 *
 *   node --conditions=source packages/storage/fuzz/main.ts [sequences, 1000000 by default] [first seed, 1]
 */
import { seededRandom } from '@cluster-apiserver/base';
import { runFrameSequence } from './frame-sequences.ts';

const [count = 1_000_000, first = 1] = process.argv.slice(2).map(Number);
const reportEvery = 100_000;

for (let seed = first; seed < first + count; seed++) {
  try {
    runFrameSequence(seededRandom(seed));
  } catch (error) {
    console.error(`seed ${seed}:`, error);
    process.exit(1);
  }
  if ((seed - first + 1) % reportEvery === 0) console.log(`${seed - first + 1} sequences`);
}
