import { callUntil, type Clock } from '@cluster-apiserver/base';
import { type EtcdClient, HistoryReplacedError } from '@cluster-apiserver/storage';
import { createHealth, type Health, type Log } from '@cluster-apiserver/telemetry';
import { asError } from '../as-error.ts';

/** Less than a health check may take, so that its reason is etcd's and not the clock's. */
const etcdTimeoutMs = 700;

export const openHealth = (clock: Clock, log: Log): Health =>
  createHealth({
    clock,
    failed: (endpoint, check, error) => log.error('health check failed', { endpoint, check, error: asError(error) }),
  });

/** A restart does not help against a lost etcd, so only readiness asks for it. */
export function checkStorage(
  health: Health,
  { client, cache, clock }: { readonly client: EtcdClient; readonly cache: Followed; readonly clock: Clock },
): void {
  health.add({
    name: 'etcd',
    endpoints: ['readyz', 'healthz'],
    check: async () => {
      const call = callUntil(clock.monotonicMs() + etcdTimeoutMs);
      await client.readHead(call);
      // It answers, and yet refuses what we cannot do without.
      await client.check(call);
    },
  });
  // A check of its own: why another fails is only in the log, and what has happened to etcd is to be seen here too.
  health.add({
    name: 'etcd-history',
    endpoints: ['readyz', 'healthz'],
    check: () => {
      if (cache.lostBecause instanceof HistoryReplacedError) throw cache.lostBecause;
    },
  });
  health.add({
    name: 'watch-cache',
    endpoints: ['readyz', 'healthz'],
    check: () => {
      if (!cache.following) throw new Error('the watch cache is being filled', { cause: cache.lostBecause });
    },
  });
}

interface Followed {
  readonly following: boolean;
  readonly lostBecause: unknown;
}
