import type { KmsProvider } from '@cluster-apiserver/config';
import { type KmsPlugin, kmsV1, kmsV2 } from '@cluster-apiserver/storage';
import { secondsBuckets } from '@cluster-apiserver/telemetry';
import { asError } from '../as-error.ts';
import type { ProviderSurroundings } from './encryption-providers.ts';

/** Opens a plugin, and returns when it has been asked for the first time: most are there when the server starts. */
export function pluginOpener({
  surroundings,
  metrics,
  log,
  recovered,
}: ProviderSurroundings): (provider: KmsProvider) => Promise<KmsPlugin> {
  const { clock, random, connectKms } = surroundings;
  const latency = metrics.histogram({
    name: 'apiserver_envelope_encryption_kms_operations_latency_seconds',
    help: 'Calls to key management plugins.',
    labels: { provider_name: 'any', method_name: 'any', grpc_status_code: 'any' },
    buckets: secondsBuckets,
  });
  return async ({ version, name, socket, timeoutMs, cacheSize }) => {
    const called = (method: string, code: string, seconds: number): void =>
      latency.observe({ provider_name: name, method_name: method, grpc_status_code: code }, seconds);
    const connection = { socket, timeoutMs, clock, called };
    const failed = (error: unknown): void =>
      log.error('a key management plugin is not well', { plugin: name, error: asError(error) });
    const plugin =
      version === 'v1'
        ? kmsV1(connectKms.v1(connection), { random, cacheSize })
        : kmsV2(connectKms.v2(connection), { clock, random, recovered, failed });
    await plugin.asked;
    return plugin;
  };
}
