#!/usr/bin/env node
// npm run compose: builds the images and tests docker-compose.yml with them, on the engine of DOCKER_HOST, the engine
// of this machine, or one started for the run. It takes minutes, so `npm test` does not include it. Arguments after `--` go
// to Jest, such as --seed=NUMBER to repeat an order, but for --from=REVISION: what the cluster is upgraded from, by default
// the last tag, or the commit before.
import { provideProfileImages } from './base-images.mjs';
import { buildImages, earlierImage } from './build-images.mjs';
import { outputOf } from './child.mjs';
import { findEngine } from './engine.mjs';
import { reportSkipped, runJest } from './jest.mjs';
import { prepare } from './prepare.mjs';
import { Failure, main, root } from './project.mjs';

await main(async (args) => {
  const { from, jestOptions } = readArguments(args);
  const { node, env } = prepare();
  const found = await findEngine(env, { mayStart: true });
  if (found.reason) {
    // In CI nothing may be skipped.
    if (process.env.REQUIRE_TOOLS) throw new Failure(`docker-compose.yml cannot be tested: ${found.reason}`);
    console.log(`skipped      docker-compose.yml: ${found.reason}\n1 skipped (reason above); 0 passed, 0 failed`);
    return 0;
  }
  try {
    const tools = { node, env: { ...found.env, COMPOSE: JSON.stringify(found.compose) } };
    const docker = await buildImages(tools, { from });
    const services = provideProfileImages(docker, tools).join(',');
    const testEnv = { ...tools.env, COMPOSE_SERVICES: services, ...(from && { EARLIER_IMAGE: earlierImage }) };
    const tests = await runJest(
      { node, env: testEnv },
      ['packages/tests/test/deploy/compose.*\\.cluster'],
      ['--runInBand', ...jestOptions],
    );
    reportSkipped(tests.skipped);
    console.log(`${tests.passed} passed, ${tests.failed} failed`);
    return tests.failed === 0 ? 0 : 1;
  } finally {
    await found.stop();
  }
});

function readArguments(args) {
  const option = args.find((arg) => arg.startsWith('--from='));
  const from = option?.slice('--from='.length) ?? revisionBefore();
  return { from, jestOptions: args.filter((arg) => arg !== option) };
}

/** Undefined outside of a checkout, and in one that has a single commit. */
function revisionBefore() {
  const git = (...args) => outputOf('git', args, { cwd: root })?.trim();
  return git('describe', '--tags', '--abbrev=0', 'HEAD^') ?? git('rev-parse', '--verify', 'HEAD^');
}
