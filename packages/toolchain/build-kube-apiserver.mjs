#!/usr/bin/env node
// node packages/toolchain/build-kube-apiserver.mjs VERSION: builds the kube-apiserver of a release, such as v1.37.2, to compare
// with. The build takes ten minutes of CPU time, so no test run does it; KUBE_APISERVER_BIN names the result.
import fs from 'node:fs';
import path from 'node:path';
import { outputOf, run } from './child.mjs';
import { createModule } from './kubernetes-module.mjs';
import { cache, Failure, main, root } from './project.mjs';

await main(async ([version]) => {
  const [, minor] = /^v1\.(\d+)\.\d+$/.exec(version ?? '') ?? [];
  if (minor === undefined) throw new Failure('Name a release, such as v1.37.2.');
  if (!outputOf('go', ['version'])) throw new Failure('Go is needed to build kube-apiserver: install it first.');
  const home = path.join(cache, `kube-apiserver-${version}`);
  fs.mkdirSync(home, { recursive: true });
  fs.copyFileSync(path.join(root, 'packages', 'tests', 'kube-apiserver', 'main.go'), path.join(home, 'main.go'));
  fs.writeFileSync(path.join(home, 'go.mod'), createModule('kube-apiserver', version));
  const program = path.join(home, 'kube-apiserver');
  const names = 'k8s.io/component-base/version';
  const flags = `-s -w -X ${names}.gitVersion=${version} -X ${names}.gitMajor=1 -X ${names}.gitMinor=${minor}`;
  console.log(`Building kube-apiserver ${version} …`);
  const code = await run('go', ['build', '-mod=mod', '-trimpath', '-ldflags', flags, '-o', program, '.'], {
    cwd: home,
  });
  if (code === 0) console.log(`To compare with it: KUBE_APISERVER_BIN=${program} npm run conformance`);
  return code;
});
