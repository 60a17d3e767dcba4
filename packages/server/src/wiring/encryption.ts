import { type Clock, follow, type Scope } from '@cluster-apiserver/base';
import {
  ConfigurationError,
  type EncryptionConfiguration,
  loadEncryptionConfiguration,
  providersFor,
} from '@cluster-apiserver/config';
import {
  identity,
  type KmsPlugin,
  prefixed,
  type Retiring,
  retiring,
  type Transformer,
} from '@cluster-apiserver/storage';
import type { Endpoint, Health, Log, Metrics } from '@cluster-apiserver/telemetry';
import { asError } from '../as-error.ts';
import { FlagError, type ServerFlags } from '../flags.ts';
import type { Surroundings } from '../surroundings.ts';
import { type ProviderFactory, providerFactory } from './encryption-providers.ts';
import { flagFile } from './flag-files.ts';

/** How values are stored, now and after each change of the configuration. */
export interface Encryption {
  readonly transformer: Transformer;
  /** Called when values may be readable that were not. */
  onChange(listener: () => void): void;
}

export interface EncryptionOptions {
  readonly flags: ServerFlags;
  /** Where the keys of all kinds begin, such as /registry. */
  readonly keyPrefix: string;
  readonly surroundings: Surroundings;
  readonly metrics: Metrics;
  readonly health: Health;
  readonly log: Log;
}

/** One small file. Whoever rotates keys waits for it to be read, and not for much longer than that. */
const configurationPollMs = 1_000;

const flag = 'encryption-provider-config';

export async function openEncryption(options: EncryptionOptions, scope: Scope): Promise<Encryption> {
  const { flags, keyPrefix, surroundings, metrics, health, log } = options;
  const { clock, files } = surroundings;
  const first = await flagFile(flag, flags, files);
  if (!first) return { transformer: identity, onChange: () => {} };
  const listeners: (() => void)[] = [];
  const readable = (): void => {
    for (const listener of listeners) listener();
  };
  const makeProvider = providerFactory({ surroundings, metrics, log, recovered: readable });
  const build = (content: Buffer): Promise<Built> =>
    built(loadEncryptionConfiguration(content.toString()), keyPrefix, makeProvider);
  let current = await build(first).catch((error: unknown) => {
    throw error instanceof ConfigurationError
      ? new FlagError(error.faults.map((fault) => `--${flag}: ${fault}`))
      : error;
  });
  let closed = false;
  scope.onClose('key management plugins', () => {
    closed = true;
    current.retire();
  });
  // A plugin that is not there keeps the server from being ready, and not from starting: it may need us to start.
  for (const fault of faultsOf(current)) log.error('a key management plugin is not well', { error: fault });
  const reloads = flags[`${flag}-automatic-reload`];
  addHealthChecks(health, () => current.plugins, reloads);
  if (reloads) {
    const reloaded = reloadMeasures(metrics, clock);
    const stop = follow(
      {
        clock,
        pollMs: configurationPollMs,
        read: () => files.read(flags[flag]),
        same: (one, other) => one.equals(other),
        use: async (content) => {
          // The next one is whole, with plugins that are well, before anything is stored by it.
          const next = await build(content);
          const [fault] = faultsOf(next);
          if (closed || fault) next.retire();
          if (closed) return;
          if (fault) throw fault;
          current.retire();
          current = next;
          reloaded('success');
          log.info('a new encryption configuration is in service', { file: flags[flag] });
          readable();
        },
        failed: (error) => {
          reloaded('failure');
          log.error('the new encryption configuration is not usable, the old one stays', { error: asError(error) });
        },
      },
      first,
    );
    scope.onClose('encryption configuration', stop);
  }
  return {
    transformer: {
      toStorage: (value, key) => current.transformer.toStorage(value, key),
      fromStorage: (value, key) => current.transformer.fromStorage(value, key),
    },
    onChange: (listener) => void listeners.push(listener),
  };
}

/** What a configuration leads to. */
interface Built extends Retiring {
  /** In the order of the configuration. */
  readonly plugins: readonly KmsPlugin[];
}

function faultsOf({ plugins }: Built): Error[] {
  return plugins.flatMap((plugin) => {
    try {
      plugin.check();
      return [];
    } catch (fault) {
      return [asError(fault)];
    }
  });
}

/** A plugin has a check of its own, by its number, where it stays the same one. A restart would help against nothing. */
function addHealthChecks(health: Health, plugins: () => readonly KmsPlugin[], changing: boolean): void {
  const endpoints: readonly Endpoint[] = ['readyz', 'healthz'];
  if (changing) {
    const check = (): void => plugins().forEach((plugin) => plugin.check());
    health.add({ name: 'kms-providers', endpoints, check });
  } else {
    for (const [at, plugin] of plugins().entries())
      health.add({ name: `kms-provider-${at}`, endpoints, check: plugin.check });
  }
}

/** The transformer of each resource, by the resource that the key names. */
async function built(
  configuration: EncryptionConfiguration,
  keyPrefix: string,
  makeProvider: ProviderFactory,
): Promise<Built> {
  // Each provider is made once, however many resources it is for.
  const transformers = new Map<unknown, Transformer>();
  const plugins: KmsPlugin[] = [];
  for (const { providers } of configuration.lists) {
    const opened = await Promise.all(providers.map(makeProvider));
    plugins.push(...opened.flatMap(({ plugin }) => plugin ?? []));
    const [first, ...others] = opened.flatMap(({ ways }) => ways);
    if (first) transformers.set(providers, prefixed([first, ...others]));
  }
  const byResource = new Map<string, Transformer>();
  const start = keyPrefix.length + 1;
  const transformerOf = (key: string): Transformer => {
    const name = key.slice(start, key.indexOf('/', start));
    const known = byResource.get(name);
    if (known) return known;
    const dot = name.indexOf('.');
    const [resource, group] = dot < 0 ? [name, ''] : [name.slice(0, dot), name.slice(dot + 1)];
    const found = transformers.get(providersFor(configuration, resource, group)) ?? identity;
    byResource.set(name, found);
    return found;
  };
  const transformer: Transformer = {
    toStorage: (value, key) => transformerOf(key).toStorage(value, key),
    fromStorage: (value, key) => transformerOf(key).fromStorage(value, key),
  };
  const close = (): void => plugins.forEach((plugin) => plugin.close());
  return { ...retiring(transformer, close), plugins };
}

function reloadMeasures(metrics: Metrics, clock: Clock): (status: 'success' | 'failure') => void {
  const labels = { status: ['success', 'failure'] };
  const total = metrics.counter({
    name: 'apiserver_encryption_config_controller_automatic_reloads_total',
    help: 'Changes of the encryption configuration that were taken into service, or could not be.',
    labels,
  });
  const last = metrics.gauge({
    name: 'apiserver_encryption_config_controller_automatic_reload_last_timestamp_seconds',
    help: 'When that happened last.',
    labels,
  });
  return (status) => {
    total.add({ status });
    last.set({ status }, clock.now() / 1000);
  };
}
