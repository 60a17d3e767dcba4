import { type CleanupStack, type Clock, settle, unreachable } from '@cluster-apiserver/base';
import type { EncryptionProvider } from '@cluster-apiserver/config';
import {
  aesCbc,
  aesGcm,
  type KmsPlugin,
  nonceBudget,
  identityProvider,
  type Provider,
  secretbox,
  StorageUnavailableError,
  type Transformer,
} from '@cluster-apiserver/storage';
import { createDoublingBuckets, type Log, type Metrics } from '@cluster-apiserver/telemetry';
import { createPluginOpener, type ProviderDependencies } from './kms-plugins.ts';

/** A provider of the configuration, ready to encrypt and decrypt. */
export interface OpenProvider {
  /** One for each key; the first encrypts. */
  readonly keyProviders: readonly Provider[];
  /** Set for a KMS provider. */
  readonly plugin?: KmsPlugin;
}

/** What it opens is closed by the cleanup. */
export type ProviderFactory = (provider: EncryptionProvider, cleanup: CleanupStack) => Promise<OpenProvider>;

/** Uses the value prefixes of kube-apiserver, so that each can read data of the other. */
export function createProviderFactory({ environment, metrics, log, recovered }: ProviderDependencies): ProviderFactory {
  const { random } = environment;
  const observed = createTransformationMeasures(metrics, environment.clock);
  const budgetOf = createNonceBudgets(metrics, log);
  const open = createPluginOpener({ environment, metrics, log, recovered });
  return async (provider, cleanup) => {
    switch (provider.type) {
      case 'identity':
        return { keyProviders: [identityProvider] };
      case 'kms': {
        const plugin = await open(provider, cleanup);
        const prefix = `k8s:enc:kms:${provider.version}:${provider.name}:`;
        return { keyProviders: [{ prefix, transformer: observed(prefix, plugin.transformer) }], plugin };
      }
      case 'aesgcm':
      case 'aescbc':
      case 'secretbox': {
        const { type, keys } = provider;
        const keyProviders = keys.map(async ({ name, secret: key }) => {
          const prefix = `k8s:enc:${type}:v1:${name}:`;
          const make = {
            aesgcm: () => aesGcm({ key, random, onNonce: budgetOf(name) }),
            aescbc: () => aesCbc({ key, random }),
            secretbox: () => secretbox({ key: key.export(), random }),
          };
          return { prefix, transformer: observed(prefix, await make[type]()) };
        });
        return { keyProviders: await Promise.all(keyProviders) };
      }
      default:
        return unreachable(provider);
    }
  };
}

/** The counts survive reloads of the configuration: they belong to the key. */
function createNonceBudgets(metrics: Metrics, log: Log): (key: string) => () => void {
  const total = metrics.counter({
    name: 'apiserver_storage_aesgcm_nonces_total',
    help: 'Number of random nonces used with an AES-GCM key since this process started. The sum over all replicas and restarts should stay below 2^32.',
    labels: { key: 'any' },
  });
  const budgets = new Map<string, () => void>();
  return (key) => {
    const known = budgets.get(key);
    if (known) return known;
    const spend = nonceBudget((drawn) =>
      log.withName('encryption').warn(
        // Meaning: Random nonces of one key may repeat after 2^32 writes, and a repeated nonce reveals what it
        // encrypted.
        'AES-GCM key used often; rotate it before all replicas together reach 2^32 writes',
        'add a new first key and rewrite what is stored: docs/encryption.md',
        {
          key,
          writesOfThisReplica: drawn,
        },
      ),
    );
    const budget = (): void => {
      total.add({ key });
      spend();
    };
    budgets.set(key, budget);
    return budget;
  };
}

function createTransformationMeasures(
  metrics: Metrics,
  clock: Clock,
): (prefix: string, transformer: Transformer) => Transformer {
  const labels = { transformation_type: ['to_storage', 'from_storage'], transformer_prefix: 'any' as const };
  const total = metrics.counter({
    name: 'apiserver_storage_transformation_operations_total',
    help: 'Number of values encrypted and decrypted, by prefix of the stored value.',
    labels: { ...labels, status: ['OK', 'Unavailable', 'unknown-non-grpc'] },
  });
  const duration = metrics.histogram({
    name: 'apiserver_storage_transformation_duration_seconds',
    help: 'Duration of successful encryptions and decryptions.',
    labels,
    buckets: createDoublingBuckets(0.000005, 25),
  });
  return (transformer_prefix, transformer) => {
    const measured = <T>(transformation_type: string, act: () => T | Promise<T>): T | Promise<T> =>
      settle(
        act,
        clock.monotonicMs(),
        (value, startMs) => {
          total.add({ transformation_type, transformer_prefix, status: 'OK' });
          duration.observe({ transformation_type, transformer_prefix }, (clock.monotonicMs() - startMs) / 1000);
          return value;
        },
        (error) => {
          const status = error instanceof StorageUnavailableError ? 'Unavailable' : 'unknown-non-grpc';
          total.add({ transformation_type, transformer_prefix, status });
          throw error;
        },
      );
    return {
      toStorage: (value, key, trace) => measured('to_storage', () => transformer.toStorage(value, key, trace)),
      fromStorage: (value, key, trace) => measured('from_storage', () => transformer.fromStorage(value, key, trace)),
    };
  };
}
