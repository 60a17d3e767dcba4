import { type Random, unreachable } from '@cluster-apiserver/base';
import type { EncryptionProvider } from '@cluster-apiserver/config';
import {
  aesCbc,
  aesGcm,
  nonceBudget,
  plain,
  type Provider,
  secretbox,
  type Transformer,
} from '@cluster-apiserver/storage';
import type { Log, Metrics } from '@cluster-apiserver/telemetry';

/** What a configured provider stores by: one way for each of its keys, the first of which writes. */
export type ProviderFactory = (provider: EncryptionProvider) => Promise<readonly Provider[]>;

export interface ProviderSurroundings {
  readonly random: Random;
  readonly metrics: Metrics;
  readonly log: Log;
}

/** Names the parts of stored values as the reference does, so that data can come from there and go there. */
export function providerFactory({ random, metrics, log }: ProviderSurroundings): ProviderFactory {
  const observed = transformationMeasures(metrics);
  const budgetOf = nonceBudgets(metrics, log);
  return async (provider) => {
    switch (provider.type) {
      case 'identity':
        return [plain];
      case 'aesgcm':
      case 'aescbc':
      case 'secretbox': {
        const { type, keys } = provider;
        return Promise.all(
          keys.map(async ({ name, secret: key }) => {
            const prefix = `k8s:enc:${type}:v1:${name}:`;
            const make = {
              aesgcm: () => aesGcm({ key, random, drewNonce: budgetOf(name) }),
              aescbc: () => aesCbc({ key, random }),
              secretbox: () => secretbox({ key: key.export(), random }),
            };
            return { prefix, transformer: observed(prefix, await make[type]()) };
          }),
        );
      }
      case 'kms':
        throw new Error('KMS plugins are not served yet');
      default:
        return unreachable(provider);
    }
  };
}

/** Counts go on when a configuration is read again: it is the key that wears out. */
function nonceBudgets(metrics: Metrics, log: Log): (key: string) => () => void {
  const total = metrics.counter({
    name: 'apiserver_storage_aesgcm_nonces_total',
    help: 'Random nonces drawn for a key of AES-GCM. All replicas together should draw fewer than 2^32.',
    labels: { key: 'any' },
  });
  const budgets = new Map<string, () => void>();
  return (key) => {
    const known = budgets.get(key);
    if (known) return known;
    const spend = nonceBudget((drawn) =>
      log.warn('a key of AES-GCM has been used often: rotate it before all replicas together reach 2^32 writes', {
        key,
        writesOfThisReplica: drawn,
      }),
    );
    const budget = (): void => {
      total.add({ key });
      spend();
    };
    budgets.set(key, budget);
    return budget;
  };
}

function transformationMeasures(metrics: Metrics): (prefix: string, transformer: Transformer) => Transformer {
  const total = metrics.counter({
    name: 'apiserver_storage_transformation_operations_total',
    help: 'Values encrypted and decrypted, by the beginning of what is stored.',
    labels: {
      transformation_type: ['to_storage', 'from_storage'],
      transformer_prefix: 'any',
      status: ['OK', 'Unknown'],
    },
  });
  return (prefix, transformer) => {
    const counted = <T>(type: 'to_storage' | 'from_storage', act: () => T | Promise<T>): T | Promise<T> => {
      const ended = (status: 'OK' | 'Unknown'): void =>
        total.add({ transformation_type: type, transformer_prefix: prefix, status });
      const failed = (error: unknown): never => {
        ended('Unknown');
        throw error;
      };
      try {
        const done = act();
        if (done instanceof Promise) return done.then((value) => (ended('OK'), value), failed);
        ended('OK');
        return done;
      } catch (error) {
        return failed(error);
      }
    };
    return {
      toStorage: (value, key) => counted('to_storage', () => transformer.toStorage(value, key)),
      fromStorage: (value, key) => counted('from_storage', () => transformer.fromStorage(value, key)),
    };
  };
}
