#!/usr/bin/env node
// npm run check: everything that can be known without running the server.
import { run } from './child.mjs';
import { runJest } from './jest.mjs';
import { prepare } from './prepare.mjs';
import { binary, main } from './project.mjs';

const knip = ['--no-progress', '--no-config-hints'];

await main(async () => {
  const { node, env } = prepare();
  const tool = (name, ...args) => run(node, [binary(name), ...args], { env });
  const checks = {
    types: async () => (await tool('tsc', '-p', 'tsconfig.json')) === 0,
    lint: async () => (await tool('oxlint', '--type-aware', '--deny-warnings')) === 0,
    format: async () => (await tool('biome', 'format')) === 0,
    architecture: async () => (await runJest({ node, env }, ['packages/tests/test/architecture'])).failed === 0,
    'unused files, exports and dependencies': async () => (await tool('knip', ...knip)) === 0,
    // What a package exports must have a user elsewhere; a type may be there so that others can name it.
    'unused exports of packages': async () =>
      (await tool('knip', ...knip, '--include-entry-exports', '--exclude', 'types')) === 0,
  };
  const failed = [];
  for (const [name, check] of Object.entries(checks)) {
    console.log(`\n— ${name}`);
    if (!(await check())) failed.push(name);
  }
  console.log(failed.length === 0 ? '\nAll checks hold.' : `\nNot in order: ${failed.join(', ')}.`);
  return failed.length === 0 ? 0 : 1;
});
