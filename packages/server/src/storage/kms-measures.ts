import { createHash } from 'node:crypto';
import { BoundedCache, type Clock } from '@cluster-apiserver/base';
import type { KmsProvider } from '@cluster-apiserver/config';
import type { KmsMeasures } from '@cluster-apiserver/storage';
import { createDoublingBuckets, type Metrics } from '@cluster-apiserver/telemetry';

export interface PluginMeasures extends KmsMeasures {
  /** A call has ended with this gRPC status. */
  readonly called: (path: string, code: string, seconds: number) => void;
}

/** The KMS metrics of kube-apiserver. Key IDs appear as hashes. */
export function createKmsMeasures(metrics: Metrics, clock: Clock): (provider: KmsProvider) => PluginMeasures {
  const named = <Rest extends object>(name: string, help: string, labels: Rest) => ({
    name: `apiserver_envelope_encryption_${name}`,
    help,
    labels: { provider_name: 'any' as const, ...labels },
  });
  const latency = metrics.histogram({
    ...named('kms_operations_latency_seconds', 'Duration of calls to KMS plugins by gRPC status code.', {
      method_name: 'any' as const,
      grpc_status_code: 'any' as const,
    }),
    buckets: createDoublingBuckets(0.0001, 20),
  });
  const ofKeys = { transformation_type: ['to_storage', 'from_storage'], key_id_hash: 'any' as const };
  const used = metrics.counter(
    named('key_id_hash_total', 'Number of values encrypted and decrypted, by key of the plugin.', ofKeys),
  );
  const usedLast = metrics.gauge(
    named('key_id_hash_last_timestamp_seconds', 'Time of the last encryption or decryption with the key.', ofKeys),
  );
  const keyReports = metrics.gauge(
    named(
      'key_id_hash_status_last_timestamp_seconds',
      'Time of the last status response in which the plugin named the key as its current one.',
      {
        key_id_hash: 'any' as const,
      },
    ),
  );
  const invalidKeyReports = metrics.counter(
    named('invalid_key_id_from_status_total', 'Number of status responses with an invalid key ID.', {
      error: ['empty', 'too_long'],
    }),
  );
  const seeds = metrics.gauge(
    named(
      'dek_source_cache_size',
      'Number of DEK seeds in memory; a restart requires about as many calls to the plugin.',
      {},
    ),
  );
  const filled = metrics.gauge({
    name: 'apiserver_envelope_encryption_dek_cache_fill_percent',
    help: 'Fill level of the cache of data encryption keys of KMS v1.',
  });
  const misses = metrics.counter({
    name: 'apiserver_storage_envelope_transformation_cache_misses_total',
    help: 'Number of data encryption keys that were not in memory and required a call to the plugin.',
  });
  const hashOf = createHasher();
  return ({ name: provider_name, version, cacheSize }) => ({
    called: (method_name, code, seconds) =>
      latency.observe({ provider_name, method_name, grpc_status_code: toGoCodeName(code) }, seconds),
    keyUsed: (transformation_type, keyId) => {
      const labels = { provider_name, transformation_type, key_id_hash: hashOf(keyId) };
      used.add(labels);
      usedLast.set(labels, clock.now() / 1000);
    },
    keyIdReported: (keyId) => keyReports.set({ provider_name, key_id_hash: hashOf(keyId) }, clock.now() / 1000),
    keyIdInvalid: (error) => invalidKeyReports.add({ provider_name, error }),
    cacheMissed: () => misses.add({}),
    cacheSized: (keys) =>
      version === 'v2' ? seeds.set({ provider_name }, keys) : filled.set({}, (100 * keys) / Math.max(1, cacheSize)),
  });
}

/** A plugin has few keys, but may name ever new ones, of up to a kilobyte. */
const hashesMax = 100;

/** Caches hashes: every write reports one. */
function createHasher(): (text: string) => string {
  const known = new BoundedCache<string>({ entriesMax: hashesMax });
  return (text) => {
    let hash = known.get(text);
    if (!hash) known.set(text, (hash = `sha256:${createHash('sha256').update(text).digest('hex')}`));
    return hash;
  };
}

/** Converts `DEADLINE_EXCEEDED` to `DeadlineExceeded`. */
function toGoCodeName(code: string): string {
  if (code === 'OK') return code;
  if (code === 'CANCELLED') return 'Canceled';
  return code.toLowerCase().replace(/(?:^|_)([a-z])/g, (_, letter: string) => letter.toUpperCase());
}
