#!/usr/bin/env -S MALLOC_MMAP_THRESHOLD_=65536 node --max-semi-space-size=32 --heap-growing-percent=45
import { describeOldNode } from '@cluster-apiserver/server/required-node';

/**
 * The command that users install: the program of the server, whose first line this repeats, with the command that starts
 * clusters. Servers in production do without that part.
 */

const fault = describeOldNode(process.versions.node);
const words = process.argv.slice(2);
const starts = words[0] === 'start' || (words[0] === 'help' && words[1] === 'start');
if (fault !== undefined) {
  process.stderr.write(`cluster-apiserver: ${fault}\n`);
  process.exitCode = 1;
} else if (starts) {
  await import('./main.ts');
} else {
  await import('@cluster-apiserver/server/program');
}
