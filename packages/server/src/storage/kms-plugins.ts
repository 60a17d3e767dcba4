import { asError, type CleanupStack } from '@cluster-apiserver/base';
import type { KmsProvider } from '@cluster-apiserver/config';
import { type KmsPlugin, kmsV1, KmsV2 } from '@cluster-apiserver/storage';
import { createOutages, type Log, type Metrics } from '@cluster-apiserver/telemetry';
import type { Environment } from '../environment.ts';
import { createKmsMeasures } from './kms-measures.ts';

export interface ProviderDependencies {
  readonly environment: Environment;
  readonly metrics: Metrics;
  readonly log: Log;
  /** Called when a KMS plugin responds again. */
  readonly recovered: () => void;
}

/** Opens plugins and waits for the first status call: most plugins are running when the server starts. */
export function createPluginOpener({
  environment,
  metrics,
  log,
  recovered,
}: ProviderDependencies): (provider: KmsProvider, cleanup: CleanupStack) => Promise<KmsPlugin> {
  const { clock, random, connectKms } = environment;
  const measuresOf = createKmsMeasures(metrics, clock);
  const outages = createOutages(log.withName('encryption'), clock, {
    severity: 'error',
    // Meaning: The plugin does not answer, or reports that it is unhealthy. What needs a key that is not in memory
    // waits or fails.
    began: 'KMS plugin unhealthy',
    remedy:
      'start the plugin at its socket and check its log; what it encrypted is unavailable until then: docs/encryption.md',
    ended: 'KMS plugin healthy again',
  });
  return async (provider, cleanup) => {
    const { version, name, socket, timeoutMs, cacheSize } = provider;
    const measures = measuresOf(provider);
    const connection = { socket, timeoutMs, clock, onCall: measures.called };
    const options = {
      clock,
      random,
      measures,
      onUnhealthy: (error: unknown) => outages.failed({ plugin: name }, { error: asError(error) }),
      onRecovered: () => {
        outages.succeeded({ plugin: name });
        recovered();
      },
    };
    const plugin =
      version === 'v1'
        ? kmsV1(connectKms.v1(connection), { ...options, cacheSize })
        : new KmsV2(connectKms.v2(connection), options);
    cleanup.defer('KMS plugin', () => plugin.close());
    await plugin.firstCheck;
    return plugin;
  };
}
