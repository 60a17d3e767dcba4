import { asError, callUntil, type Clock } from '@cluster-apiserver/base';
import { type EtcdClient, HistoryReplacedError } from '@cluster-apiserver/storage';
import { createHealth, type Health, type Log, type Metrics } from '@cluster-apiserver/telemetry';

/** Less than the timeout of a health check, so that the logged reason is that of etcd. */
const etcdTimeoutMs = 700;

/** Publishes the results of health checks at /metrics/slis, as kube-apiserver does. */
export function createServerHealth(clock: Clock, log: Log, slis: Metrics): Health {
  const of = { type: ['healthz', 'livez', 'readyz'], name: 'any' } as const; // our names of checks
  const latest = slis.gauge({
    name: 'kubernetes_healthcheck',
    help: 'This metric records the result of a single healthcheck.',
    labels: of,
  });
  const total = slis.counter({
    name: 'kubernetes_healthchecks_total',
    help: 'This metric records the results of all healthcheck.',
    labels: { ...of, status: ['success', 'error'] },
  });
  const failures = new HealthLog(log);
  return createHealth({
    clock,
    checked: (type, name, passed) => {
      latest.set({ type, name }, passed ? 1 : 0);
      total.add({ type, name, status: passed ? 'success' : 'error' });
      if (passed) failures.passed(name);
    },
    failed: (endpoint, check, error) => failures.failed(endpoint, check, asError(error)),
  });
}

/** Logs when checks begin to fail and when they pass again: probes repeat them every few seconds. */
class HealthLog {
  readonly #log: Log;
  readonly #known = new Map<string, 'starts' | 'passes' | 'fails'>();

  constructor(log: Log) {
    this.#log = log;
  }

  passed(check: string): void {
    if (this.#known.get(check) === 'fails') this.#log.info('health check passes again', { check });
    this.#known.set(check, 'passes');
  }

  failed(endpoint: string, check: string, error: Error): void {
    const before = this.#known.get(check);
    if (before === 'starts' || before === 'fails') return;
    this.#known.set(check, before === 'passes' ? 'fails' : 'starts');
    // The cause has a line of its own, and every start begins with checks that do not pass, so this is no error.
    if (before === 'passes') this.#log.info('health check failed', { endpoint, check, error });
    else this.#log.info('health check does not pass yet', { endpoint, check, error });
  }
}

/** Not part of /livez: a restart does not help against an unreachable etcd. */
export function addStorageChecks(
  health: Health,
  { client, cache, clock }: { readonly client: EtcdClient; readonly cache: WatchCacheState; readonly clock: Clock },
): void {
  health.add({
    name: 'etcd',
    endpoints: ['readyz', 'healthz'],
    check: async () => {
      const call = callUntil(clock.monotonicMs() + etcdTimeoutMs);
      await client.readLatestRevision(call);
      // etcd responds to reads, but may still reject calls that the server requires.
      await client.checkRefusals(call);
    },
  });
  // A separate check: reasons appear only in the log, so its name tells operators that etcd was replaced.
  health.add({
    name: 'etcd-history',
    endpoints: ['readyz', 'healthz'],
    check: () => {
      if (cache.syncError instanceof HistoryReplacedError) throw cache.syncError;
    },
  });
  health.add({
    name: 'watch-cache',
    endpoints: ['readyz', 'healthz'],
    check: () => {
      if (!cache.isSynced) throw new Error('the watch cache is being filled', { cause: cache.syncError });
    },
  });
}

/**
 * The etcd of some kinds, by its number among the overrides. /readyz only waits for the first load of its objects, and not
 * for an etcd that does not answer: the replica serves all other kinds, and no other replica could serve these.
 */
export function addOverrideChecks(
  health: Health,
  number: number,
  { client, cache, clock }: { readonly client: EtcdClient; readonly cache: WatchCacheState; readonly clock: Clock },
): void {
  health.add({
    name: `etcd-override-${number}`,
    endpoints: ['healthz'],
    check: async () => {
      const call = callUntil(clock.monotonicMs() + etcdTimeoutMs);
      await client.readLatestRevision(call);
      await client.checkRefusals(call);
      if (!cache.isSynced) throw new Error('the watch cache is being filled', { cause: cache.syncError });
    },
  });
  health.add({
    name: `etcd-override-readiness-${number}`,
    endpoints: ['readyz'],
    check: () => {
      if (!cache.isSynced && cache.syncError === undefined) throw new Error('the watch cache is being filled');
    },
  });
}

interface WatchCacheState {
  readonly isSynced: boolean;
  readonly syncError: unknown;
}
