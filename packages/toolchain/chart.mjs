#!/usr/bin/env node
// npm run chart: builds helm and kubeconform once, and runs the chart tests. `-- write` regenerates the files that
// follow from flags and values; `-- diff REVISION` shows what an upgrade from that revision changes in every value set.
import fs from 'node:fs';
import path from 'node:path';
import { run, step } from './child.mjs';
import { provisionChartTools } from './helm.mjs';
import { prepare } from './prepare.mjs';
import { cache, Failure, main, root } from './project.mjs';
import { unpackRevision } from './revision.mjs';

const chart = path.join('helm', 'cluster-apiserver');

/** Values that Helm generates differ in each rendering. */
const generated =
  /^( {2}[a-z-]+\.(?:crt|key|token|csv): ).+$|^ {4}-----BEGIN CERTIFICATE-----\n(?: {4}.*\n)*? {4}-----END CERTIFICATE-----$/gm;

await main(async ([command = 'test', ...args]) => {
  const tools = prepare();
  if (command === 'write')
    return run(tools.node, ['--conditions=source', path.join('packages', 'tests', 'test', 'chart', 'write.ts')], tools);
  const chartTools = provisionChartTools(tools, { build: true });
  if (chartTools.reason) throw new Failure(chartTools.reason);
  if (command === 'diff') return showUpgrade(chartTools, args);
  return run(tools.node, [path.join('packages', 'toolchain', 'test.mjs'), 'packages/tests/test/chart'], tools);
});

/**
 * Renders the value sets of a revision with both charts, that revision's and the current one, and shows the difference.
 * @param {import('./helm.mjs').ChartTools} tools
 * @param {readonly string[]} args
 */
async function showUpgrade({ helm }, [revision]) {
  if (!revision) throw new Failure('Name the revision to upgrade from: npm run chart -- diff main');
  const scratch = fs.mkdtempSync(path.join(cache, 'chart-'));
  try {
    unpackRevision(revision, scratch, [chart]);
    const sides = { before: path.join(scratch, chart), after: path.join(root, chart) };
    const valueSets = path.join(sides.before, 'ci'); // the values of an upgrading user were written for the old chart
    for (const [side, folder] of Object.entries(sides)) {
      fs.mkdirSync(path.join(scratch, side));
      for (const set of fs.readdirSync(valueSets))
        fs.writeFileSync(path.join(scratch, side, set), rendered(helm, folder, path.join(valueSets, set)));
    }
    return (await run('git', ['diff', '--no-index', '--stat', '--patch', 'before', 'after'], { cwd: scratch })) > 1
      ? 1
      : 0;
  } finally {
    fs.rmSync(scratch, { recursive: true, force: true });
  }
}

function rendered(helm, folder, values) {
  const { ok, output } = step(helm, ['template', 'upgraded', folder, '--namespace', 'platform', '--values', values]);
  // An error about a value that one of the charts does not know is part of the difference.
  return ok ? output.replaceAll(generated, '$1generated') : `${output}\n`;
}
