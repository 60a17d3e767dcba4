import path from 'node:path';
import { outputOf } from './child.mjs';
import { debianPackages } from './debian.mjs';
import { cache } from './project.mjs';

/**
 * Prometheus and its promtool, which check metrics, rules and dashboards: what PROMETHEUS_BIN and PROMTOOL_BIN name,
 * those on the PATH, the copies fetched last time, or the package of this Debian. Undefined where there are none: the
 * tests that need them are skipped then, and say so.
 */
export function provisionPrometheus() {
  const copies = copiesIn('prometheus');
  const named = { prometheus: process.env.PROMETHEUS_BIN, promtool: process.env.PROMTOOL_BIN };
  const present = [named, { prometheus: 'prometheus', promtool: 'promtool' }, copies].find(run);
  if (present) return present;
  const reason = debianPackages(undefined, copies);
  if (!reason && run(copies)) return copies;
  console.log(`No Prometheus, so tests of metrics by promtool are skipped. ${reason ?? ''}`);
  return undefined;
}

const copiesIn = (name) => ({
  prometheus: path.join(cache, name, 'prometheus'),
  promtool: path.join(cache, name, 'promtool'),
});

const run = (programs) =>
  Object.values(programs).every((program) => program && outputOf(program, ['--version']) !== undefined);
