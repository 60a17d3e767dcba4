#!/usr/bin/env node
// npm run workflows: builds actionlint from its Go module once, and checks the workflows of the forge with it.
import path from 'node:path';
import { provisionActionlint } from './actionlint.mjs';
import { run } from './child.mjs';
import { prepare } from './prepare.mjs';
import { Failure, main } from './project.mjs';

await main(async () => {
  const { node, env } = prepare();
  const { reason } = provisionActionlint({ build: true });
  if (reason) throw new Failure(reason);
  return run(node, [path.join('packages', 'toolchain', 'test.mjs'), 'packages/tests/test/toolchain/workflows'], {
    env,
  });
});
