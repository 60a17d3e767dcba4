import { spawn } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import path from 'node:path';
import { handSignalsTo } from './child.mjs';
import { Failure, root } from './project.mjs';
import { buildPackages } from './packages.mjs';

/** Builds what production runs, and gives the program of it that starts a cluster. */
export function builtLauncher(tools) {
  buildPackages(tools);
  return path.join('packages', 'devcluster', 'dist', 'main.js');
}

/** Starts a cluster of its own under `home`, lets the work use it, and stops it whatever happens. */
export async function withCluster(tools, home, args, work) {
  const { node, env } = tools;
  fs.rmSync(home, { recursive: true, force: true });
  const child = spawn(node, [builtLauncher(tools), '--data-dir', home, '--port', '0', ...args], {
    cwd: root,
    env,
    // The channel tells us when the cluster is ready, and the launcher when we are gone.
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (text) => (output += text));
  const ended = once(child, 'exit');
  const release = handSignalsTo(child);
  try {
    const ready = await Promise.race([once(child, 'message').then(() => true), ended.then(() => false)]);
    if (!ready) throw new Failure(`The cluster did not start.\n${output}`);
    return await work(JSON.parse(fs.readFileSync(path.join(home, 'pids.json'), 'utf8')));
  } finally {
    child.kill('SIGTERM');
    await ended;
    release();
  }
}
