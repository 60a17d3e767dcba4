#!/usr/bin/env node
// node packages/toolchain/clients.mjs [PATTERN …]: builds clients in other languages, as far as their tools are on the PATH,
// and runs the tests of clients with full counts. Building takes minutes of CPU time, so no test run does it.
import fs from 'node:fs';
import path from 'node:path';
import { outputOf, run } from './child.mjs';
import { findTests, runWithFullCounts } from './full-counts.mjs';
import { provisionChartTools } from './helm.mjs';
import { prepare } from './prepare.mjs';
import { cache, Failure, main, root } from './project.mjs';

const clients = path.join(cache, 'clients');

const suites = String.raw`/tests/test/(clients/|operations/restored-clients|operators/)`;

/** Modules in packages/tests, with the package of the program where it is that of another module. */
const goPrograms = [
  ['clientgo', '.'],
  ['operator', '.'],
  ['certmanager', '.'],
  ['kro', 'github.com/kubernetes-sigs/kro/cmd/controller'],
];

/** A terminal for a cluster, of which nothing here is a part. */
const k9s = 'github.com/derailed/k9s@v0.50.16';

/** Of the client in Python. */
const kubernetesForPython = 'kubernetes==37.0.2';

await main(async (patterns) => {
  await buildIf(
    'go',
    ['version'],
    'clients and operators in Go',
    goPrograms.map(([name, program]) => ({
      command: 'go',
      args: ['build', '-trimpath', '-ldflags', '-s -w', '-o', path.join(clients, name), program],
      cwd: path.join(root, 'packages', 'tests', name),
    })),
  );
  await buildIf('go', ['version'], k9s, [
    {
      command: 'go',
      args: ['install', '-trimpath', '-ldflags', '-s -w', k9s],
      cwd: cache, // outside any Go module
      env: { ...process.env, GOBIN: clients, CGO_ENABLED: '0', GOFLAGS: '-buildvcs=false' },
    },
  ]);
  const environment = path.join(clients, 'python');
  const python = path.join(environment, 'bin', 'python');
  // Debian's Python needs another package for it.
  await buildIf('python3', ['-c', 'import ensurepip, venv'], `${kubernetesForPython} for Python`, [
    ...(fs.existsSync(python) ? [] : [{ command: 'python3', args: ['-m', 'venv', environment] }]),
    { command: python, args: ['-m', 'pip', 'install', '--quiet', kubernetesForPython] },
  ]);
  const crate = path.join(root, 'packages', 'tests', 'kubers', 'Cargo.toml');
  await buildIf('cargo', ['--version'], 'a client of kube-rs', [
    {
      command: 'cargo',
      args: ['build', '--locked', '--manifest-path', crate, '--target-dir', path.join(clients, 'kubers-target')],
    },
  ]);
  const { reason } = provisionChartTools(prepare(), { build: true });
  if (reason) console.log(`No Helm: ${reason}`);
  return runWithFullCounts(findTests([suites, ...patterns]));
});

/** The tests of clients whose tools are missing are skipped. */
async function buildIf(tool, probe, what, steps) {
  if (outputOf(tool, probe) === undefined) {
    console.log(`No ${what}: ${tool} is not on the PATH, or lacks a part.`);
    return;
  }
  console.log(`Building ${what} …`);
  for (const { command, args, cwd = root, env } of steps)
    if ((await run(command, args, { cwd, env })) !== 0) throw new Failure(`Building ${what} failed.`);
}
