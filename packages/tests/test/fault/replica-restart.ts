import type { Cluster } from '../cluster.ts';
import { until } from '../../../base/test/until.ts';
import { http1Client } from './client.ts';

/** The start of a replica on a busy machine. */
const startMs = 60_000;

/** Resolves when the launcher has put another process in the place of one that ended, and it is ready. */
export async function waitForReplicaRestart(cluster: Cluster, at: number, pid: number): Promise<void> {
  const current = () => cluster.pids().replicas[at];
  await until('another process in its place', () => current()?.pid !== pid || undefined, startMs);
  await until(
    'a replica that is ready',
    async () => {
      const probe = http1Client(current()?.url ?? '', cluster, { keepAlive: false });
      const answer = await probe.request('GET', '/readyz').catch(() => undefined); // not there yet
      probe.close();
      return answer?.status === 200 || undefined;
    },
    startMs,
  );
}
