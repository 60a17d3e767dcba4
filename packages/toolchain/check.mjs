#!/usr/bin/env node
// npm run check: all static checks.
import { run } from './child.mjs';
import { runJest } from './jest.mjs';
import { reportPrivateWords } from './prose.mjs';
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
    'plain words': () => reportPrivateWords() === 0,
    'unused files, exports and dependencies': async () => (await tool('knip', ...knip)) === 0,
    // Every value that a package exports must be used by another package; types may be exported for naming only.
    'unused exports of packages': async () =>
      (await tool('knip', ...knip, '--include-entry-exports', '--exclude', 'types')) === 0,
  };
  const failed = [];
  for (const [name, check] of Object.entries(checks)) {
    console.log(`\n— ${name}`);
    if (!(await check())) failed.push(name);
  }
  console.log(failed.length === 0 ? '\nAll checks passed.' : `\nFailed checks: ${failed.join(', ')}.`);
  return failed.length === 0 ? 0 : 1;
});
