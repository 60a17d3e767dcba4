#!/usr/bin/env -S MALLOC_MMAP_THRESHOLD_=65536 node --max-semi-space-size=32 --heap-growing-percent=45
import { describeOldNode } from './required-node.ts';

/**
 * The entry point. The first line bounds memory: `--max-semi-space-size` that of the young generation, and
 * `--heap-growing-percent` collects the old generation before it quadruples. MALLOC_MMAP_THRESHOLD_ lets glibc return
 * Node's 64 KiB buffer pools to the system. docs/decisions/0055-memory.md says what each costs and saves.
 */

const fault = describeOldNode(process.versions.node);
if (fault === undefined) {
  // Loaded only now: an older Node.js lacks functions that the program imports, and would say that only.
  await import('./program.ts');
} else {
  process.stderr.write(`cluster-apiserver: ${fault}\n`);
  process.exitCode = 1;
}
