import fs from 'node:fs';
import path from 'node:path';
import { outputOf, step } from './child.mjs';
import { cache } from './project.mjs';

const version = 'v1.7.12';
const program = path.join(cache, `actionlint-${version}`, 'actionlint');

/**
 * Finds the linter of workflows, or builds it from its Go module, which takes half a minute. Returns the reason if there is none.
 * @returns {{ actionlint?: string, reason?: string }}
 */
export function provisionActionlint({ build = false } = {}) {
  if (fs.existsSync(program)) return { actionlint: program };
  if (!build) return { reason: 'actionlint is missing; build it with npm run workflows' };
  if (!outputOf('go', ['version'])) return { reason: 'building actionlint requires go on the PATH' };
  fs.mkdirSync(cache, { recursive: true });
  console.log(`Building actionlint ${version} …`);
  const { ok, output } = step('go', ['install', `github.com/rhysd/actionlint/cmd/actionlint@${version}`], {
    cwd: cache, // outside any Go module
    env: { ...process.env, GOBIN: path.dirname(program), CGO_ENABLED: '0', GOFLAGS: '-buildvcs=false' },
  });
  return ok ? { actionlint: program } : { reason: `actionlint could not be built: ${output.split('\n').at(-1)}` };
}
