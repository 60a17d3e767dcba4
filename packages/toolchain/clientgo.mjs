#!/usr/bin/env node
// node packages/toolchain/clientgo.mjs: builds the informers of client-go for `npm run faults`. The build takes minutes of
// processor time, so no test run does it.
import path from 'node:path';
import { outputOf, run } from './child.mjs';
import { cache, Failure, main, root } from './project.mjs';

await main(async () => {
  if (!outputOf('go', ['version']))
    throw new Failure('Go is needed to build informers of client-go: install it first.');
  const copy = path.join(cache, 'clientgo', 'clientgo');
  console.log('Building informers of client-go …');
  return run('go', ['build', '-trimpath', '-ldflags', '-s -w', '-o', copy, '.'], {
    cwd: path.join(root, 'packages', 'tests', 'clientgo'),
  });
});
