import v8 from 'node:v8';
import vm from 'node:vm';

type CollectGarbage = (options: { readonly type: 'minor' | 'major' }) => void;

function exposeCollector(): CollectGarbage {
  v8.setFlagsFromString('--expose-gc');
  return vm.runInNewContext('gc');
}

/** The bytes of Buffers in use, without those that earlier tests of this process have left to the collector. */
export function usedBufferBytes(): number {
  exposeCollector()({ type: 'major' });
  return process.memoryUsage().arrayBuffers;
}

/** How many of these objects something still refers to. */
export async function countReachable(objects: readonly WeakRef<object>[]): Promise<number> {
  // What a reference was made for, or read from, stays reachable for the rest of its turn.
  await new Promise(setImmediate);
  exposeCollector()({ type: 'major' });
  return objects.filter((object) => object.deref() !== undefined).length;
}

/** The bytes of objects and strings in use, without garbage. */
export function usedHeapBytes(): number {
  exposeCollector()({ type: 'major' });
  return process.memoryUsage().heapUsed;
}

/**
 * Runs work with a collection of the young generation after each step, and returns by how much the old generation has
 * grown: what is promoted stays in memory until the next full collection.
 */
export function promotedBytes(steps: number, work: (step: number) => unknown): number {
  const collect = exposeCollector();
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

/** Whether a string is in V8's table of internalized strings, which each full collection walks. */
export function isInternalized(text: string): boolean {
  v8.setFlagsFromString('--allow-natives-syntax');
  const ask: (text: string) => boolean = vm.runInThisContext('(text) => %IsInternalizedString(text)');
  return ask(text);
}
