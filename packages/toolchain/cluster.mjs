import { spawn } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import path from 'node:path';
import { forwardSignalsTo } from './child.mjs';
import { Failure, root } from './project.mjs';
import { buildPackages } from './packages.mjs';

/** Builds the production code and returns the program that starts a local cluster. */
function buildLauncher(tools) {
  buildPackages(tools);
  return path.join('packages', 'devcluster', 'dist', 'main.js');
}

/** Starts a cluster under `home`, calls `work` with it, and always stops it afterwards. */
export async function withCluster(tools, home, args, work) {
  const { node, env } = tools;
  fs.rmSync(home, { recursive: true, force: true });
  const child = spawn(node, [buildLauncher(tools), '--data-dir', home, '--port', '0', ...args], {
    cwd: root,
    env,
    // The launcher reports readiness over the IPC channel, and exits when the channel closes.
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (text) => (output += text));
  const ended = once(child, 'exit');
  const release = forwardSignalsTo(child);
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
