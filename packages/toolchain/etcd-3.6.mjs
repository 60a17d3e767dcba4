#!/usr/bin/env node
// node packages/toolchain/etcd-3.6.mjs: builds etcd 3.6, which no Debian packages. The build takes minutes of processor
// time, so no test run does it; `ETCD_BIN=… npm test` uses the result.
import path from 'node:path';
import { outputOf, run } from './child.mjs';
import { cache, Failure, main, root } from './project.mjs';

await main(async () => {
  if (!outputOf('go', ['version'])) throw new Failure('Go is needed to build etcd: install it first.');
  const copy = path.join(cache, 'etcd-3.6', 'etcd');
  console.log('Building etcd 3.6 …');
  const code = await run('go', ['build', '-trimpath', '-ldflags', '-s -w', '-o', copy, '.'], {
    cwd: path.join(root, 'packages', 'tests', 'etcd'),
  });
  if (code === 0) console.log(`To test with it: ETCD_BIN=${copy} npm test -- packages/storage/src/etcd`);
  return code;
});
