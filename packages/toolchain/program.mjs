import path from 'node:path';
import { run } from './child.mjs';
import { provisionEtcd } from './etcd.mjs';
import { buildPackages } from './packages.mjs';
import { prepare } from './prepare.mjs';
import { root } from './project.mjs';

/** Builds the program of this checkout and runs it where it was called, so that its paths are the caller's. */
export async function runProgram(args) {
  const { node, env } = prepare();
  buildPackages({ env });
  const starts = args[0] === 'start' && !args.some((argument) => /^--(etcd-servers|help)\b/.test(argument));
  const etcd = starts ? { ETCD_BIN: await provisionEtcd() } : {};
  return run(node, [path.join(root, 'packages', 'devcluster', 'dist', 'cluster-apiserver.js'), ...args], {
    cwd: process.cwd(),
    env: { ...env, ...etcd },
    // The launcher of a cluster exits when the IPC channel closes, even if this process could not forward a signal.
    stdio: ['inherit', 'inherit', 'inherit', 'ipc'],
  });
}
