import { spawn } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import { Failure, root } from './project.mjs';

/** The program to compare with; undefined if the environment names none. */
export const kubeApiserver = process.env.KUBE_APISERVER_BIN;

/**
 * Starts the kube-apiserver of KUBE_APISERVER_BIN with an etcd of its own, calls `work`, and always stops both.
 * @template T
 * @param {{ node: string, env: NodeJS.ProcessEnv }} tools
 * @param {readonly string[]} settings variables (NAME=VALUE) and flags
 * @param {(server: { url: string, token: string, pid: number, etcd: { url: string, pid: number } }) => Promise<T>} work
 */
export async function withKubeApiserver({ node, env }, settings, work) {
  const program = path.join('packages', 'testkit', 'src', 'run-kube-apiserver.ts');
  const options = ['--conditions=source', '--disable-warning=ExperimentalWarning'];
  const child = spawn(node, [...options, program, ...settings], {
    cwd: root,
    env,
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  });
  const ended = once(child, 'exit');
  try {
    const started = await Promise.race([
      once(child, 'message').then(([message]) => message),
      ended.then(() => undefined),
    ]);
    if (started === undefined) throw new Failure('kube-apiserver did not start.');
    return await work(started);
  } finally {
    if (child.connected) child.disconnect();
    await ended;
  }
}
