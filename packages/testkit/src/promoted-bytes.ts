import v8 from 'node:v8';
import vm from 'node:vm';

type CollectGarbage = (options: { readonly type: 'minor' | 'major' }) => void;

/**
 * Runs work with a collection of the young generation after each step, and returns by how much the old generation has
 * grown: what is promoted stays in memory until the next full collection.
 */
export function promotedBytes(steps: number, work: (step: number) => void): number {
  v8.setFlagsFromString('--expose-gc');
  const collect: CollectGarbage = vm.runInNewContext('gc');
  collect({ type: 'major' });
  const before = oldSpaceBytes();
  for (let step = 0; step < steps; step++) {
    work(step);
    collect({ type: 'minor' });
  }
  return oldSpaceBytes() - before;
}

function oldSpaceBytes(): number {
  const space = v8.getHeapSpaceStatistics().find(({ space_name }) => space_name === 'old_space');
  return space?.space_used_size ?? 0;
}
