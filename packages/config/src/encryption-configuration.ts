import { createSecretKey, type KeyObject } from 'node:crypto';
import type { Problems } from '@cluster-apiserver/model';
import { bytes, int32, object, type ValueOf } from '@cluster-apiserver/model/schema';
import { Findings } from './findings.ts';
import { defineConfigurationKind, loadConfiguration } from './load.ts';
import {
  matches,
  type PlacedPattern,
  readPattern,
  reportOverlaps,
  resourcePattern,
  type ResourcePattern,
} from './resource-patterns.ts';
import {
  checked,
  checkedString,
  duration,
  durationMs,
  exactlyOne,
  list,
  oneOf,
  optional,
  required,
  withDefault,
} from './schema.ts';

/** How resources are encrypted. Resources in no list are stored unencrypted. */
export interface EncryptionConfiguration {
  readonly lists: readonly EncryptedResources[];
}

export interface EncryptedResources {
  readonly resources: readonly ResourcePattern[];
  /** The first encrypts, all decrypt. */
  readonly providers: readonly EncryptionProvider[];
}

export type EncryptionProvider =
  | { readonly type: 'aesgcm' | 'aescbc' | 'secretbox'; readonly keys: readonly EncryptionKey[] }
  | { readonly type: 'identity' }
  | KmsProvider;

export interface EncryptionKey {
  readonly name: string;
  readonly secret: KeyObject;
}

export interface KmsProvider {
  readonly type: 'kms';
  readonly version: 'v1' | 'v2';
  readonly name: string;
  /** A Unix socket; a leading @ marks an abstract one. */
  readonly socket: string;
  readonly timeoutMs: number;
  /** Only for v1: maximum number of data encryption keys in memory; negative disables the cache. */
  readonly cacheSize: number;
}

/** The providers of the first list that names the resource; undefined if none does. */
export const providersFor = (
  { lists }: EncryptionConfiguration,
  resource: string,
  group: string,
): readonly EncryptionProvider[] | undefined =>
  lists.find(({ resources }) => resources.some((pattern) => matches(pattern, resource, group)))?.providers;

/** The name is part of the prefix of every stored value, which ends with a colon. */
const prefixName = checkedString((name, at) => {
  if (name.includes(':')) at.report('a name must not contain colons, which separate the parts of a stored prefix');
});

/** Keys of these lengths in bytes. */
const keysOf = (...lengths: readonly number[]) => {
  const named = lengths.join(', ').replace(/, (\d+)$/, ' or $1');
  const secret = checked(bytes, (value, at) => {
    const { length } = Buffer.from(value, 'base64');
    if (!lengths.includes(length)) at.report(`the key has ${length} bytes and must have ${named}`);
  });
  const key = object({
    name: required(prefixName, 'Name of the key, without colons. It is stored with each value.', 'name the key'),
    secret: required(secret, `Key of ${named} bytes in base64.`, 'give the key in base64'),
  });
  return object({ keys: required(list(key), 'The first key encrypts, all decrypt.', 'name at least a key') });
};

/** `unix:///path`, or `unix:///@name` for an abstract one. */
const socketForm = /^unix:\/\/(?<path>\/.+|@.+)$/;
const socket = checkedString((value, at) => {
  if (!socketForm.test(value)) at.report('expected a Unix socket: unix:///path, or unix:///@name for an abstract one');
});

const defaultCacheSize = 1_000;
const plugin = object({
  apiVersion: withDefault(oneOf(['v1', 'v2']), 'Version of the plugin API.', 'v1'),
  name: required(prefixName, 'Name of the plugin, without colons. It is stored with each value.', 'name the plugin'),
  cachesize: optional(
    int32,
    'Only for v1: maximum number of keys in memory; a negative number for none.',
    defaultCacheSize,
  ),
  endpoint: required(
    socket,
    'Unix socket of the plugin: `unix:///path`, or `unix:///@name` for an abstract one.',
    'name the socket of the plugin, such as unix:///run/kms.sock',
  ),
  timeout: withDefault(duration, 'Maximum duration of a call to the plugin.', '3s'),
});

const provider = exactlyOne(
  {
    aesgcm: optional(keysOf(16, 24, 32), 'AES-GCM.'),
    aescbc: optional(keysOf(32), 'AES-CBC.'),
    secretbox: optional(keysOf(32), 'XSalsa20 and Poly1305.'),
    identity: optional(object({}), 'No encryption.'),
    kms: optional(plugin, 'Keys of a KMS plugin.'),
  },
  'more go into entries of their own',
);

const encryptedResources = object({
  resources: required(
    list(resourcePattern),
    'Resources that are encrypted by the providers.',
    'name at least a resource',
  ),
  providers: required(list(provider), 'The first provider encrypts, all decrypt.', 'name at least a provider'),
});

export const encryptionKind = defineConfigurationKind({
  kind: 'EncryptionConfiguration',
  versions: ['v1'],
  description: 'Providers that encrypt resources in etcd. Resources that no list names are stored unencrypted.',
  fields: {
    resources: required(
      list(encryptedResources),
      'Ordered lists of resources with their providers: the first that names a resource applies.',
      'name at least a list of resources',
    ),
  },
});

/** Throws a ConfigurationError with all problems. Messages never repeat a secret. */
export const loadEncryptionConfiguration = (file: string, findings = new Findings(file)): EncryptionConfiguration =>
  loadConfiguration(encryptionKind, ({ resources }, at) => readLists(resources, at.at('resources')), file, findings);

function readLists(lists: readonly ValueOf<typeof encryptedResources>[], at: Problems): EncryptionConfiguration {
  const placed: PlacedPattern[] = [];
  const kmsNames = new Set<string>();
  const read = lists.map(({ resources, providers }, index): EncryptedResources => {
    const patterns = resources.map(readPattern);
    for (const [position, pattern] of patterns.entries())
      placed.push({ at: at.at(index, 'resources', position), pattern, list: index });
    return {
      resources: patterns,
      providers: providers.map((one, position) => readProvider(one, at.at(index, 'providers', position), kmsNames)),
    };
  });
  reportOverlaps(placed);
  return { lists: read };
}

function readProvider(
  { kms, aesgcm, aescbc, secretbox }: ValueOf<typeof provider>,
  at: Problems,
  kmsNames: Set<string>,
): EncryptionProvider {
  if (kms) return readKms(kms, at.at('kms'), kmsNames);
  if (aesgcm) return { type: 'aesgcm', keys: readKeys(aesgcm, at.at('aesgcm', 'keys')) };
  if (aescbc) return { type: 'aescbc', keys: readKeys(aescbc, at.at('aescbc', 'keys')) };
  if (secretbox) return { type: 'secretbox', keys: readKeys(secretbox, at.at('secretbox', 'keys')) };
  return { type: 'identity' };
}

function readKeys({ keys }: ValueOf<ReturnType<typeof keysOf>>, at: Problems): readonly EncryptionKey[] {
  const names = new Set<string>();
  return keys.map(({ name, secret }, index) => {
    if (names.has(name)) at.at(index, 'name').report('another key of this provider has the same name');
    names.add(name);
    return { name, secret: createSecretKey(secret, 'base64') };
  });
}

function readKms(
  { apiVersion: version, name, cachesize, endpoint, timeout }: ValueOf<typeof plugin>,
  at: Problems,
  names: Set<string>,
): KmsProvider {
  if (names.has(name))
    at.at('name').report('another plugin has the same name, so their values could not be distinguished');
  names.add(name);
  if (cachesize === 0) at.at('cachesize').report('must be positive, or negative for no cache');
  if (version === 'v2' && cachesize !== undefined) at.at('cachesize').report('is only for v1');
  const timeoutMs = durationMs(timeout);
  if (timeoutMs <= 0) at.at('timeout').report('must be positive');
  const path = socketForm.exec(endpoint)?.groups?.['path'] ?? '';
  return {
    type: 'kms',
    version,
    name,
    socket: path.startsWith('/@') ? path.slice(1) : path,
    timeoutMs,
    cacheSize: cachesize ?? defaultCacheSize,
  };
}
