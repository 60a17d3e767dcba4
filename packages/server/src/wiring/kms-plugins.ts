import type { KmsProvider } from '@cluster-apiserver/config';
import { type KmsPlugin, kmsV1, kmsV2 } from '@cluster-apiserver/storage';
import { asError } from '../as-error.ts';
import type { ProviderSurroundings } from './encryption-providers.ts';
import { kmsMeasures } from './kms-measures.ts';

/** Opens plugins. Each of them returns when it has been asked for the first time: most are there when the server starts. */
export function pluginOpener({
  surroundings,
  metrics,
  log,
  recovered,
}: ProviderSurroundings): (provider: KmsProvider) => Promise<KmsPlugin> {
  const { clock, random, connectKms } = surroundings;
  const measuresOf = kmsMeasures(metrics, clock);
  return async (provider) => {
    const { version, name, socket, timeoutMs, cacheSize } = provider;
    const measures = measuresOf(provider);
    const connection = { socket, timeoutMs, clock, onCall: measures.called };
    const failed = (error: unknown): void =>
      log.withName('encryption').error('KMS plugin unhealthy', { plugin: name, error: asError(error) });
    const options = { clock, random, measures, onRecovered: recovered, onUnhealthy: failed };
    const plugin =
      version === 'v1'
        ? kmsV1(connectKms.v1(connection), { ...options, cacheSize })
        : kmsV2(connectKms.v2(connection), options);
    await plugin.firstCheck;
    return plugin;
  };
}
