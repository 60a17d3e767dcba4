import type { Cluster } from '@cluster-apiserver/testkit/cluster';
import { until } from '@cluster-apiserver/testkit/until';
import { http1Client } from '@cluster-apiserver/testkit/api-client';

/** Start of a replica on a busy machine. */
const startMs = 60_000;

/** Resolves when the launcher has replaced a process that ended, and the new one is ready. */
export async function waitForReplicaRestart(cluster: Cluster, at: number, pid: number): Promise<void> {
  const current = () => cluster.pids().replicas[at];
  await until('a new process', () => current()?.pid !== pid || undefined, startMs);
  await until(
    'a replica that is ready',
    async () => {
      const probe = http1Client(current()?.url ?? '', cluster, { keepAlive: false });
      const answer = await probe.request('GET', '/readyz').catch(() => undefined); // not listening yet
      probe.close();
      return answer?.status === 200 || undefined;
    },
    startMs,
  );
}
