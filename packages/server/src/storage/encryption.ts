import { asError, BoundedCache, type CleanupStack } from '@cluster-apiserver/base';
import type { Kind } from '@cluster-apiserver/model/kind';
import type { StoredKinds } from '@cluster-apiserver/registry';
import { type EncryptionConfiguration, loadEncryptionConfiguration, providersFor } from '@cluster-apiserver/config';
import {
  followTransformer,
  identity,
  type KmsPlugin,
  prefixOf,
  prefixTransformer,
  type RetirableTransformer,
  makeRetirable,
  type Transformer,
} from '@cluster-apiserver/storage';
import type { Endpoint, Health, Log } from '@cluster-apiserver/telemetry';
import { type ProviderFactory, createProviderFactory } from './encryption-providers.ts';
import type { ServerContext } from '../configuration/context.ts';
import type { StorageSettings } from './storage-settings.ts';
import { followConfiguration } from '../files/follow-configuration.ts';

/** Encryption at rest by the current configuration. */
export interface Encryption {
  readonly transformer: Transformer;
  /** Called when previously unreadable values may have become readable. */
  readonly onChange: (listener: () => void) => void;
}

const flag = 'encryption-provider-config';

export async function openEncryption(
  settings: StorageSettings['encryption'],
  storedKinds: StoredKinds,
  context: ServerContext,
  cleanup: CleanupStack,
): Promise<Encryption> {
  const { environment, metrics, log, health } = context;
  const listeners: (() => void)[] = [];
  const readable = (): void => {
    for (const listener of listeners) listener();
  };
  const openProvider = createProviderFactory({ environment, metrics, log, recovered: readable });
  if (!settings) return { transformer: createPlainTransformer(log), onChange: () => {} };
  const { file, reloads } = settings;
  const { current, onChange } = await followConfiguration(
    {
      file,
      name: 'encryption',
      kind: 'EncryptionConfiguration',
      reloads,
      build: (content, opened) =>
        openConfiguration(loadEncryptionConfiguration(content), storedKinds, openProvider, opened),
      // A new configuration is complete, with healthy plugins, before it is used to write.
      accept: (next) => findPluginErrors(next).forEach(raise),
      retire: (old) => old.retire(),
    },
    context,
    cleanup,
  );
  onChange(readable);
  // An unavailable plugin makes the server unready but does not keep it from starting: the plugin may depend on it.
  addHealthChecks(health, () => current().plugins, reloads);
  return {
    transformer: followTransformer(() => current().transformer),
    onChange: (listener) => void listeners.push(listener),
  };
}

/** Without a configuration. It says once which flag is missing, because every encrypted object fails. */
function createPlainTransformer(log: Log): Transformer {
  let isLogged = false;
  return {
    ...identity,
    fromStorage: (value, key) => {
      try {
        return identity.fromStorage(value, key);
      } catch (error) {
        const prefix = prefixOf(value);
        if (!isLogged)
          log.withName('encryption').error(
            // Meaning: The replica has no key, and etcd has encrypted objects. Reads of these objects fail.
            'stored objects are encrypted and cannot be read: --encryption-provider-config is not set',
            'set the flag to the file with the key of this prefix: docs/encryption.md',
            {
              key,
              prefix,
            },
          );
        isLogged = true;
        throw new Error(`the value begins with ${JSON.stringify(prefix)}, and --${flag} is not set`, { cause: error });
      }
    },
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
  storedKinds: StoredKinds,
  openProvider: ProviderFactory,
  cleanup: CleanupStack,
): Promise<OpenConfiguration> {
  // Each list of providers is opened once, even if it applies to many resources.
  const transformers = new Map<unknown, Transformer>();
  const plugins: KmsPlugin[] = [];
  for (const { providers } of configuration.lists) {
    const opened = providers.map((provider) => openProvider(provider, cleanup));
    // Also those that are opened after another one has failed are closed then: an open plugin is asked for its status for ever.
    await Promise.allSettled(opened);
    const all = await Promise.all(opened);
    plugins.push(...all.flatMap(({ plugin }) => plugin ?? []));
    const [first, ...others] = all.flatMap(({ keyProviders }) => keyProviders);
    if (first) transformers.set(providers, prefixTransformer([first, ...others]));
  }
  const transformerOf = createLookup(storedKinds, ({ plural, group }) => {
    return transformers.get(providersFor(configuration, plural, group)) ?? identity;
  });
  const transformer: Transformer = {
    toStorage: (value, key, trace) => transformerOf(key).toStorage(value, key, trace),
    fromStorage: (value, key, trace) => transformerOf(key).fromStorage(value, key, trace),
  };
  return { ...makeRetirable(transformer, () => void cleanup.close()), plugins };
}

type ResourceName = Pick<Kind, 'plural' | 'group'>;

/** Names of resources that are not served, such as those of a later version: as many as a cluster has. */
const unknownNamesMax = 1_000;

/** Finds by key what depends on the resource only. Keys of kinds that are not served begin with `plural` or `plural.group`. */
function createLookup<T>(storedKinds: StoredKinds, find: (resource: ResourceName) => T): (key: string) => T {
  const ofKinds = new WeakMap<Kind, T>();
  const ofNames = new BoundedCache<{ readonly value: T }>({ entriesMax: unknownNamesMax });
  const start = storedKinds.keyPrefix.length + 1;
  return (key) => {
    const kind = storedKinds.ofKey(key);
    if (kind) {
      const known = ofKinds.get(kind);
      if (known !== undefined) return known;
      const value = find(kind);
      ofKinds.set(kind, value);
      return value;
    }
    const name = key.slice(start, key.indexOf('/', start));
    const known = ofNames.get(name);
    if (known) return known.value;
    const [plural = '', ...group] = name.split('.');
    const value = find({ plural, group: group.join('.') });
    ofNames.set(name, { value });
    return value;
  };
}
