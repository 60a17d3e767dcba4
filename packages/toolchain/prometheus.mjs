import path from 'node:path';
import { outputOf } from './child.mjs';
import { debianPackages } from './debian.mjs';
import { cache } from './project.mjs';

/**
 * Finds Prometheus and promtool, which check metrics, rules and dashboards: PROMETHEUS_BIN and PROMTOOL_BIN, the PATH,
 * the cached copies, or the Debian package. Returns undefined if there are none; tests that need them are then skipped
 * with a reason.
 */
export function provisionPrometheus() {
  const copies = copiesIn('prometheus');
  const named = { prometheus: process.env.PROMETHEUS_BIN, promtool: process.env.PROMTOOL_BIN };
  const present = [named, { prometheus: 'prometheus', promtool: 'promtool' }, copies].find(run);
  if (present) return present;
  const reason = debianPackages(undefined, copies);
  if (!reason && run(copies)) return copies;
  console.log(`Prometheus not found; skipping metrics tests that need promtool. ${reason ?? ''}`);
  return undefined;
}

const copiesIn = (name) => ({
  prometheus: path.join(cache, name, 'prometheus'),
  promtool: path.join(cache, name, 'promtool'),
});

const run = (programs) =>
  Object.values(programs).every((program) => program && outputOf(program, ['--version']) !== undefined);
