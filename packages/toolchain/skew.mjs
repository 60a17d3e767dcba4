#!/usr/bin/env node
// npm run skew -- REVISION: builds the server of another revision of this repository, such as the tag before, and tests that
// it serves beside this one on the same etcd.
import fs from 'node:fs';
import path from 'node:path';
import { run, step } from './child.mjs';
import { prepare } from './prepare.mjs';
import { binary, cache, Failure, main } from './project.mjs';
import { unpackRevision } from './revision.mjs';

const parts = ['package.json', 'package-lock.json', 'tsconfig.json', 'packages'];

await main(async ([revision]) => {
  if (!revision) throw new Failure('Name the revision to test with: npm run skew -- v1.0.0');
  const { node, env } = prepare();
  const folder = path.join(cache, 'skew');
  fs.rmSync(folder, { recursive: true, force: true });
  fs.mkdirSync(folder, { recursive: true });
  unpackRevision(revision, folder, parts);
  required('npm', ['ci', '--omit=dev', '--ignore-scripts', '--no-audit', '--no-fund', '--prefer-offline'], {
    cwd: folder,
    env,
  });
  // As buildPackages, whose own revision may be another.
  const settings = path.join(folder, 'packages', 'toolchain', 'tsconfig.build.json');
  required(binary('tsc'), ['-p', settings, '--outDir', path.join(folder, 'built')], { env });
  for (const name of fs.readdirSync(path.join(folder, 'built')))
    fs.renameSync(path.join(folder, 'built', name, 'src'), path.join(folder, 'packages', name, 'dist'));
  const OTHER_SERVER = path.join(folder, 'packages', 'server', 'dist', 'main.js');
  return run(node, [path.join('packages', 'toolchain', 'test.mjs'), 'operations/skew'], {
    env: { ...env, OTHER_SERVER },
  });
});

function required(command, args, options) {
  const { ok, output } = step(command, args, options);
  if (!ok) throw new Failure(`${command} ${args[0]} failed.\n${output}`);
}
