import type { CleanupStack } from '@cluster-apiserver/base';
import type { Kind } from '@cluster-apiserver/model';
import { type EncryptionConfiguration, loadEncryptionConfiguration, providersFor } from '@cluster-apiserver/config';
import {
  followTransformer,
  identity,
  type KmsPlugin,
  prefixTransformer,
  type RetirableTransformer,
  makeRetirable,
  type Transformer,
} from '@cluster-apiserver/storage';
import type { Endpoint, Health } from '@cluster-apiserver/telemetry';
import { asError } from '../as-error.ts';
import { type ProviderFactory, createProviderFactory } from './encryption-providers.ts';
import type { WiringContext } from './context.ts';
import { followConfiguration } from './followed-configuration.ts';

/** Encryption at rest by the current configuration. */
export interface Encryption {
  readonly transformer: Transformer;
  /** Called when previously unreadable values may have become readable. */
  onChange(listener: () => void): void;
}

export interface EncryptionOptions extends WiringContext {
  /** Prefix of the keys of all kinds, such as /registry. */
  readonly keyPrefix: string;
  /** The kinds whose objects are stored. */
  readonly kinds: readonly Kind[];
  readonly health: Health;
}

const flag = 'encryption-provider-config';

export async function openEncryption(options: EncryptionOptions, cleanup: CleanupStack): Promise<Encryption> {
  const { flags, keyPrefix, kinds, environment, metrics, health, log } = options;
  const listeners: (() => void)[] = [];
  const readable = (): void => {
    for (const listener of listeners) listener();
  };
  const makeProvider = createProviderFactory({ environment, metrics, log, recovered: readable });
  const reloads = flags[`${flag}-automatic-reload`];
  const current = await followConfiguration(
    {
      flag,
      name: 'encryption',
      reloads,
      build: (content) => openConfiguration(loadEncryptionConfiguration(content), keyPrefix, kinds, makeProvider),
      // A new configuration is complete, with healthy plugins, before it is used to write.
      requireHealthy: (next) => findPluginErrors(next).forEach(raise),
      close: (old) => old.retire(),
      changed: readable,
    },
    options,
    cleanup,
  );
  if (!current) return { transformer: identity, onChange: () => {} };
  // An unavailable plugin makes the server unready but does not keep it from starting: the plugin may depend on it.
  for (const fault of findPluginErrors(current()))
    log.withName('encryption').error('KMS plugin unhealthy', { error: fault });
  addHealthChecks(health, () => current().plugins, reloads);
  return {
    transformer: followTransformer(() => current().transformer),
    onChange: (listener) => void listeners.push(listener),
  };
}

/** A configuration with its open plugins. */
interface OpenConfiguration extends RetirableTransformer {
  /** In the order of the configuration. */
  readonly plugins: readonly KmsPlugin[];
}

function findPluginErrors({ plugins }: OpenConfiguration): Error[] {
  return plugins.flatMap((plugin) => {
    try {
      plugin.check();
      return [];
    } catch (fault) {
      return [asError(fault)];
    }
  });
}

const raise = (fault: Error): never => {
  throw fault;
};

/** With reloads there is one check for all plugins, otherwise one per plugin. Not part of /livez: a restart would not help. */
function addHealthChecks(health: Health, plugins: () => readonly KmsPlugin[], changing: boolean): void {
  const endpoints: readonly Endpoint[] = ['readyz', 'healthz'];
  if (changing) {
    const check = (): void => plugins().forEach((plugin) => plugin.check());
    health.add({ name: 'kms-providers', endpoints, check });
  } else {
    for (const [at, plugin] of plugins().entries())
      health.add({ name: `kms-provider-${at}`, endpoints, check: () => plugin.check() });
  }
}

/** Opens the providers. The returned transformer chooses them by the resource in the key. */
async function openConfiguration(
  configuration: EncryptionConfiguration,
  keyPrefix: string,
  kinds: readonly Kind[],
  makeProvider: ProviderFactory,
): Promise<OpenConfiguration> {
  // Each list of providers is opened once, even if it applies to many resources.
  const transformers = new Map<unknown, Transformer>();
  const plugins: KmsPlugin[] = [];
  for (const { providers } of configuration.lists) {
    const opened = await Promise.all(providers.map(makeProvider));
    plugins.push(...opened.flatMap(({ plugin }) => plugin ?? []));
    const [first, ...others] = opened.flatMap(({ keyProviders }) => keyProviders);
    if (first) transformers.set(providers, prefixTransformer([first, ...others]));
  }
  const served = new Map(kinds.map(({ storageName, plural, group }) => [storageName, [plural, group] as const]));
  const byResource = new Map<string, Transformer>();
  const start = keyPrefix.length + 1;
  const transformerOf = (key: string): Transformer => {
    const name = key.slice(start, key.indexOf('/', start));
    const known = byResource.get(name);
    if (known) return known;
    const dot = name.indexOf('.');
    const [resource, group] = served.get(name) ?? (dot < 0 ? [name, ''] : [name.slice(0, dot), name.slice(dot + 1)]);
    const found = transformers.get(providersFor(configuration, resource, group)) ?? identity;
    byResource.set(name, found);
    return found;
  };
  const transformer: Transformer = {
    toStorage: (value, key, trace) => transformerOf(key).toStorage(value, key, trace),
    fromStorage: (value, key, trace, keys) => transformerOf(key).fromStorage(value, key, trace, keys),
  };
  const close = (): void => plugins.forEach((plugin) => plugin.close());
  return { ...makeRetirable(transformer, close), plugins };
}
