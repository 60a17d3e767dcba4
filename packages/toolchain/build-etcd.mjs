#!/usr/bin/env node
// node packages/toolchain/build-etcd.mjs 3.6: builds an etcd that no Debian packages, 3.6 or 3.7, from its Go module. The
// build takes minutes of CPU time, so no test run does it; `ETCD_BIN=… npm test` uses the result.
import path from 'node:path';
import { outputOf, run } from './child.mjs';
import { cache, Failure, main, root } from './project.mjs';

const moduleFiles = { 3.6: 'go.mod', 3.7: 'etcd-3.7.mod' };

await main(async ([series = '']) => {
  if (!Object.hasOwn(moduleFiles, series)) throw new Failure(`Name one of ${Object.keys(moduleFiles).join(', ')}.`);
  if (!outputOf('go', ['version'])) throw new Failure('Go is needed to build etcd: install it first.');
  const copy = path.join(cache, `etcd-${series}`, 'etcd');
  console.log(`Building etcd ${series} …`);
  const options = [`-modfile=${moduleFiles[series]}`, '-trimpath', '-ldflags', '-s -w', '-o', copy];
  const code = await run('go', ['build', ...options, '.'], { cwd: path.join(root, 'packages', 'tests', 'etcd') });
  if (code === 0) console.log(`To test with it: ETCD_BIN=${copy} npm test -- packages/storage/src/etcd`);
  return code;
});
