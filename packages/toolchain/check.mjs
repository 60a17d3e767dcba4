#!/usr/bin/env node
// npm run check: all static checks. `-- --except=architecture` leaves one out: `npm test` runs those, too.
import { run } from './child.mjs';
import { runJest } from './jest.mjs';
import { reportPrivateWords } from './prose.mjs';
import { prepare } from './prepare.mjs';
import { binary, main } from './project.mjs';
import { reportLongSentences } from './sentences.mjs';
import { reportVersions } from './version.mjs';

const knip = ['--no-progress', '--no-config-hints'];

await main(async (args) => {
  const { node, env } = prepare();
  const checks = Object.entries(checksWith({ node, env })).filter(([name]) => !args.includes(`--except=${name}`));
  // All at once: most of them use one core. Their results are printed in this order.
  const running = checks.map(([name, check]) => ({ name, result: runCheck(check) }));
  const failed = [];
  for (const { name, result } of running) {
    const { passed, output, seconds } = await result;
    console.log(`\n— ${name} (${seconds.toFixed(1)} s)`);
    process.stdout.write(output);
    if (!passed) failed.push(name);
  }
  console.log(failed.length === 0 ? '\nAll checks passed.' : `\nFailed checks: ${failed.join(', ')}.`);
  return failed.length === 0 ? 0 : 1;
});

/** Each check prints through its argument, and returns whether it passed. */
function checksWith({ node, env }) {
  const tool =
    (name, ...args) =>
    async (print) =>
      (await run(node, [binary(name), ...args], { env, print })) === 0;
  return {
    types: tool('tsc', '-p', 'tsconfig.json'),
    'types of the toolchain': tool('tsc', '-p', 'packages/toolchain/tsconfig.check.json'),
    lint: tool('oxlint', '--type-aware', '--deny-warnings'),
    format: tool('biome', 'format'),
    architecture: async (print) =>
      (await runJest({ node, env, print }, ['packages/tests/test/architecture'], ['--runInBand'])).failed === 0,
    'versions of the project': (print) => reportVersions(print) === 0,
    'plain words': (print) => reportPrivateWords(print) === 0,
    'long sentences': (print) => reportLongSentences(print) === 0,
    'unused files, exports and dependencies': tool('knip', ...knip),
    // Every value that a package exports must be used by another package; types may be exported for naming only.
    'unused exports of packages': tool('knip', ...knip, '--include-entry-exports', '--exclude', 'types'),
  };
}

/** The duration includes waiting for the other checks, which share the cores. */
async function runCheck(check) {
  const beganMs = performance.now();
  let output = '';
  const passed = await check((text) => (output += text));
  return { passed, output, seconds: (performance.now() - beganMs) / 1000 };
}
