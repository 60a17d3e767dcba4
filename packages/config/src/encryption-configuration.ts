import { createSecretKey, type KeyObject } from 'node:crypto';
import { loadConfiguration } from './load.ts';
import { matches, type PlacedPattern, readPattern, refuseMasked, type ResourcePattern } from './resource-patterns.ts';
import type { Written } from './written.ts';

/** How resources are stored. What no list names is stored as it is. */
export interface EncryptionConfiguration {
  readonly lists: readonly EncryptedResources[];
}

export interface EncryptedResources {
  readonly resources: readonly ResourcePattern[];
  /** The first writes, all read. */
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
  /** A Unix socket; one that begins with @ is abstract and no file. */
  readonly socket: string;
  readonly timeoutMs: number;
  /** How many keys of version 1 are held in memory; a negative number for none. */
  readonly cacheSize: number;
}

/** Lists are asked in order. Undefined for what none of them names. */
export const providersFor = (
  { lists }: EncryptionConfiguration,
  resource: string,
  group: string,
): readonly EncryptionProvider[] | undefined =>
  lists.find(({ resources }) => resources.some((pattern) => matches(pattern, resource, group)))?.providers;

/** Throws a ConfigurationError with everything that is wrong. It never repeats a secret. */
export const loadEncryptionConfiguration = (text: string): EncryptionConfiguration =>
  loadConfiguration(
    {
      kind: 'EncryptionConfiguration',
      versions: ['v1'],
      fields: ['resources'],
      read: ({ resources }) => ({ lists: readLists(resources as Written) }),
    },
    text,
  );

function readLists(written: Written): readonly EncryptedResources[] {
  const lists = filled(written, 'a list of resources');
  const placed: PlacedPattern[] = [];
  const kmsNames = new Set<string>();
  const read = lists.map((item, list): EncryptedResources => {
    const { resources, providers } = item.fields(['resources', 'providers']);
    for (const one of filled(resources, 'a resource')) {
      const pattern = readPattern(one);
      if (pattern) placed.push({ written: one, pattern, list });
    }
    return {
      resources: placed.filter((one) => one.list === list).map(({ pattern }) => pattern),
      providers: filled(providers, 'a provider').flatMap((one) => readProvider(one, kmsNames) ?? []),
    };
  });
  refuseMasked(placed);
  return read;
}

function filled(written: Written, what: string): readonly Written[] {
  const items = written.items();
  if (items.length === 0) written.wrong(`name at least ${what}`);
  return items;
}

/** The lengths of keys in bytes. */
const keyBytes = { aesgcm: [16, 24, 32], aescbc: [32], secretbox: [32] } as const;
const members = ['aesgcm', 'aescbc', 'secretbox', 'identity', 'kms'] as const;

function readProvider(written: Written, kmsNames: Set<string>): EncryptionProvider | undefined {
  const fields = written.fields(members);
  const [type, ...others] = members.filter((member) => !fields[member].absent);
  if (!type || others.length > 0) {
    written.wrong(`set exactly one of ${members.join(', ')}${type ? '; more go into entries of their own' : ''}`);
    return undefined;
  }
  const own = fields[type];
  switch (type) {
    case 'identity':
      own.fields([]);
      return { type };
    case 'kms':
      return readKms(own, kmsNames);
    default:
      return { type, keys: readKeys(own, keyBytes[type]) };
  }
}

function readKeys(written: Written, lengths: readonly number[]): readonly EncryptionKey[] {
  const names = new Set<string>();
  return filled(written.fields(['keys']).keys, 'a key').flatMap((item): EncryptionKey[] => {
    const fields = item.fields(['name', 'secret']);
    const name = readName(fields.name, 'key');
    if (name !== undefined && names.has(name)) fields.name.wrong('another key of this provider has the same name');
    if (name !== undefined) names.add(name);
    const secret = readSecret(fields.secret, lengths);
    return name !== undefined && secret ? [{ name, secret }] : [];
  });
}

/** A name stands in front of every value, with a colon behind it. */
function readName(written: Written, what: string): string | undefined {
  const name = written.text();
  if (name === '' || written.absent) written.wrong(`name the ${what}`);
  else if (name?.includes(':')) written.wrong('a name has no colons: stored values are told apart by them');
  else return name;
  return undefined;
}

function readSecret(written: Written, lengths: readonly number[]): KeyObject | undefined {
  const text = written.text();
  if (text === '' || written.absent) {
    written.wrong('give the key in base64');
    return undefined;
  }
  if (text === undefined) return undefined;
  const bytes = Buffer.from(text, 'base64');
  // Node skips what is no base64, and a key made of the rest would be another one.
  if (bytes.toString('base64') !== text.trim()) {
    written.wrong('is not base64');
    return undefined;
  }
  if (!lengths.includes(bytes.length)) {
    written.wrong(
      `the key has ${bytes.length} bytes and must have ${lengths.join(', ').replace(/, (\d+)$/, ' or $1')}`,
    );
    return undefined;
  }
  return createSecretKey(bytes);
}

const defaultCacheSize = 1_000;
const defaultTimeoutMs = 3_000;

function readKms(written: Written, names: Set<string>): KmsProvider | undefined {
  const fields = written.fields(['apiVersion', 'name', 'cachesize', 'endpoint', 'timeout']);
  const version = fields.apiVersion.text() ?? 'v1';
  if (version !== 'v1' && version !== 'v2') fields.apiVersion.wrong('there are v1 and v2');
  const name = readName(fields.name, 'plugin');
  if (name !== undefined && names.has(name) && version !== 'v1')
    fields.name.wrong('another plugin has the same name, and their values could not be told apart');
  if (name !== undefined) names.add(name);
  const cacheSize = fields.cachesize.int32() ?? defaultCacheSize;
  if (cacheSize === 0) fields.cachesize.wrong('must be positive, or negative for no cache');
  if (version === 'v2' && !fields.cachesize.absent) fields.cachesize.wrong('is only for v1');
  const timeoutMs = fields.timeout.durationMs() ?? defaultTimeoutMs;
  if (timeoutMs <= 0) fields.timeout.wrong('must be positive');
  const socket = readSocket(fields.endpoint);
  if (name === undefined || socket === undefined || (version !== 'v1' && version !== 'v2')) return undefined;
  return { type: 'kms', version, name, socket, timeoutMs, cacheSize };
}

/** `unix:///path`, or `unix:///@name` for an abstract one. */
function readSocket(written: Written): string | undefined {
  const text = written.text();
  if (text === '' || written.absent) written.wrong('name the socket of the plugin, such as unix:///run/kms.sock');
  else if (text !== undefined) {
    const path = /^unix:\/\/(\/.+|@.+)$/.exec(text)?.[1];
    if (path) return path.startsWith('/@') ? path.slice(1) : path;
    written.wrong('expected a Unix socket: unix:///path, or unix:///@name for an abstract one');
  }
  return undefined;
}
