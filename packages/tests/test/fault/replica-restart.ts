import type { Cluster } from '@cluster-apiserver/testkit/cluster';
import { until } from '@cluster-apiserver/testkit/until';
import { isReady } from '@cluster-apiserver/testkit/api-client';

/** Start of a replica on a busy machine. */
const startMs = 60_000;

/** Resolves when the launcher has replaced a process that ended, and the new one is ready. */
export async function waitForReplicaRestart(cluster: Cluster, at: number, pid: number): Promise<void> {
  const current = () => cluster.pids().replicas[at];
  await until('a new process', () => current()?.pid !== pid || undefined, startMs);
  await until('a replica that is ready', () => isReady(current()?.url ?? '', cluster), startMs);
}
