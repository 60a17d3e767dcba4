import path from 'node:path';
import { developer } from './developer.ts';
import type { Cluster } from './launch.ts';
import type { Running } from './pids.ts';

/** Printed when the cluster is ready: addresses, kubeconfigs and how to stop it. */
export function formatGreeting(
  { home, pids, store, hasDeveloper }: Cluster,
  launcherPid: number,
  currentDirectory: string,
  /** How the user runs the program of the server. */
  command: string,
): string {
  const near = (file: string): string => {
    const relative = path.relative(currentDirectory, file);
    return relative.startsWith('..') ? file : relative;
  };
  const list = (running: readonly Running[]): string => running.map(({ url, pid }) => `${url} (pid ${pid})`).join(', ');
  return [
    `The cluster is ready at ${pids.front.url}`,
    '',
    `  curl      curl --cacert ${near(home.ca)} -H "Authorization: Bearer $(cat ${near(home.adminToken)})" ${pids.front.url}/readyz`,
    `  kubectl   kubectl --kubeconfig ${near(home.formatKubeconfig)} get serviceaccounts -A`,
    ...(hasDeveloper
      ? [
          `  developer kubectl --kubeconfig ${near(home.developerKubeconfig)} get serviceaccounts (role ${developer.role}, namespace ${developer.namespace})`,
        ]
      : []),
    `  reference kubectl --kubeconfig ${near(home.formatKubeconfig)} proxy, then http://127.0.0.1:8001/docs`,
    `  replicas  ${list(pids.replicas)}`,
    `  etcd      ${store}${pids.etcd.length > 0 ? `: ${list(pids.etcd)}` : ''}`,
    ...(pids.etcd.length > 0 ? [`  keys      ${near(home.encryption)} (what is stored is encrypted)`] : []),
    `  command   ${command}`,
    `  logs      ${near(home.logs)}/`,
    `  data      ${near(home.data)}/ (kept for the next start; --fresh empties it)`,
    `  stop      Ctrl-C, or kill ${launcherPid}`,
  ].join('\n');
}
