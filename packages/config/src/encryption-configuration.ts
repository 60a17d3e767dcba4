import { createSecretKey, type KeyObject } from 'node:crypto';
import { decodeBase64 } from '@cluster-apiserver/model/schema';
import type { Findings } from './findings.ts';
import { declareKind, loadConfiguration } from './load.ts';
import { matches, type PlacedPattern, readPattern, reportOverlaps, type ResourcePattern } from './resource-patterns.ts';
import { duration, int32, list, type ListSchema, object, type Schema, string } from './schema.ts';
import type { ConfigNode } from './config-node.ts';

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

/** The lengths of keys in bytes. */
const keyBytes = { aesgcm: [16, 24, 32], aescbc: [32], secretbox: [32] } as const;
const defaultCacheSize = 1_000;

const keysSchema = (description: string, bytes: string) =>
  object(
    description,
    {
      keys: list(
        'The first key encrypts, all decrypt.',
        object(
          'One key.',
          {
            name: string('Name of the key, without colons. It is stored with each value.'),
            secret: string(`Key of ${bytes} bytes in base64.`),
          },
          { required: ['name', 'secret'] },
        ),
        { minItems: 1 },
      ),
    },
    { required: ['keys'] },
  );

const kmsSchema = object(
  'Keys of a KMS plugin.',
  {
    apiVersion: string('Version of the plugin API.', { enum: ['v1', 'v2'], default: 'v1' }),
    name: string('Name of the plugin, without colons. It is stored with each value.'),
    cachesize: int32('Only for v1: maximum number of keys in memory; a negative number for none.', {
      default: defaultCacheSize,
    }),
    endpoint: string('Unix socket of the plugin: `unix:///path`, or `unix:///@name` for an abstract one.'),
    timeout: duration('Maximum duration of a call to the plugin.', { default: '3s' }),
  },
  { required: ['name', 'endpoint'] },
);

const providerSchema = object(
  'One provider: set exactly one of the fields.',
  {
    aesgcm: keysSchema('AES-GCM.', '16, 24 or 32'),
    aescbc: keysSchema('AES-CBC.', '32'),
    secretbox: keysSchema('XSalsa20 and Poly1305.', '32'),
    identity: object('No encryption.', {}),
    kms: kmsSchema,
  },
  { minProperties: 1, maxProperties: 1 },
);

const listsSchema = list(
  'Ordered lists of resources with their providers: the first that names a resource applies.',
  object(
    'Some resources and their providers.',
    {
      resources: list(
        'Resources that are encrypted by the providers.',
        string('`resource`, `resource.group`, `*.group`, `*.` for the core group or `*.*` for everything.'),
        { minItems: 1 },
      ),
      providers: list('The first provider encrypts, all decrypt.', providerSchema, { minItems: 1 }),
    },
    { required: ['resources', 'providers'] },
  ),
  { minItems: 1 },
);

export const encryptionKind = declareKind({
  kind: 'EncryptionConfiguration',
  versions: ['v1'],
  description: 'Which resources are encrypted in etcd, and how. What no list names is stored unencrypted.',
  fields: { resources: listsSchema },
  required: ['resources'],
});

/** Throws a ConfigurationError with all problems. Messages never repeat a secret. */
export const loadEncryptionConfiguration = (text: string, findings?: Findings): EncryptionConfiguration =>
  loadConfiguration(encryptionKind, ({ resources }) => ({ lists: readLists(resources) }), text, findings);

function readLists(node: ConfigNode<typeof listsSchema>): readonly EncryptedResources[] {
  const lists = requireItems(node, 'a list of resources');
  const placed: PlacedPattern[] = [];
  const kmsNames = new Set<string>();
  const read = lists.map((item, listIndex): EncryptedResources => {
    const { resources, providers } = item.fields();
    for (const one of requireItems(resources, 'a resource')) {
      const pattern = readPattern(one);
      if (pattern) placed.push({ node: one, pattern, list: listIndex });
    }
    return {
      resources: placed.filter((one) => one.list === listIndex).map(({ pattern }) => pattern),
      providers: requireItems(providers, 'a provider').flatMap((one) => readProvider(one, kmsNames) ?? []),
    };
  });
  reportOverlaps(placed);
  return read;
}

function requireItems<Item extends Schema>(
  node: ConfigNode<ListSchema<Item>>,
  what: string,
): readonly ConfigNode<Item>[] {
  const items = node.items();
  if (items.length === 0) node.addProblem(`name at least ${what}`);
  return items;
}

const members = ['aesgcm', 'aescbc', 'secretbox', 'identity', 'kms'] as const;

function readProvider(node: ConfigNode<typeof providerSchema>, kmsNames: Set<string>): EncryptionProvider | undefined {
  const fields = node.fields();
  const [type, ...others] = members.filter((member) => !fields[member].isAbsent);
  if (!type || others.length > 0) {
    node.addProblem(`set exactly one of ${members.join(', ')}${type ? '; more go into entries of their own' : ''}`);
    return undefined;
  }
  switch (type) {
    case 'identity':
      return { type };
    case 'kms':
      return readKms(fields.kms, kmsNames);
    default:
      return { type, keys: readKeys(fields[type], keyBytes[type]) };
  }
}

function readKeys(
  node: ConfigNode<ReturnType<typeof keysSchema>>,
  lengths: readonly number[],
): readonly EncryptionKey[] {
  const names = new Set<string>();
  return requireItems(node.fields().keys, 'a key').flatMap((item): EncryptionKey[] => {
    const fields = item.fields();
    const name = readName(fields.name, 'key');
    if (name !== undefined && names.has(name)) fields.name.addProblem('another key of this provider has the same name');
    if (name !== undefined) names.add(name);
    const secret = readSecret(fields.secret, lengths);
    return name !== undefined && secret ? [{ name, secret }] : [];
  });
}

/** The name is part of the prefix of every stored value, which ends with a colon. */
function readName(node: ConfigNode, what: string): string | undefined {
  const name = node.string();
  if (name === '' || node.isAbsent) node.addProblem(`name the ${what}`);
  else if (name?.includes(':'))
    node.addProblem('a name must not contain colons, which separate the parts of a stored prefix');
  else return name;
  return undefined;
}

function readSecret(node: ConfigNode, lengths: readonly number[]): KeyObject | undefined {
  const text = node.string();
  if (text === '' || node.isAbsent) {
    node.addProblem('give the key in base64');
    return undefined;
  }
  if (text === undefined) return undefined;
  const bytes = decodeBase64(text.trim());
  if (!bytes) {
    node.addProblem('is not base64');
    return undefined;
  }
  if (!lengths.includes(bytes.length)) {
    node.addProblem(
      `the key has ${bytes.length} bytes and must have ${lengths.join(', ').replace(/, (\d+)$/, ' or $1')}`,
    );
    return undefined;
  }
  return createSecretKey(bytes);
}

const defaultTimeoutMs = 3_000;

function readKms(node: ConfigNode<typeof kmsSchema>, names: Set<string>): KmsProvider | undefined {
  const fields = node.fields();
  const version = fields.apiVersion.string() ?? 'v1';
  if (version !== 'v1' && version !== 'v2') fields.apiVersion.addProblem('there are v1 and v2');
  const name = readName(fields.name, 'plugin');
  if (name !== undefined && names.has(name))
    fields.name.addProblem('another plugin has the same name, so their values could not be distinguished');
  if (name !== undefined) names.add(name);
  const cacheSize = fields.cachesize.int32() ?? defaultCacheSize;
  if (cacheSize === 0) fields.cachesize.addProblem('must be positive, or negative for no cache');
  if (version === 'v2' && !fields.cachesize.isAbsent) fields.cachesize.addProblem('is only for v1');
  const timeoutMs = fields.timeout.durationMs() ?? defaultTimeoutMs;
  if (timeoutMs <= 0) fields.timeout.addProblem('must be positive');
  const socket = readSocket(fields.endpoint);
  if (name === undefined || socket === undefined || (version !== 'v1' && version !== 'v2')) return undefined;
  return { type: 'kms', version, name, socket, timeoutMs, cacheSize };
}

/** `unix:///path`, or `unix:///@name` for an abstract one. */
function readSocket(node: ConfigNode): string | undefined {
  const text = node.string();
  if (text === '' || node.isAbsent) node.addProblem('name the socket of the plugin, such as unix:///run/kms.sock');
  else if (text !== undefined) {
    const path = /^unix:\/\/(\/.+|@.+)$/.exec(text)?.[1];
    if (path) return path.startsWith('/@') ? path.slice(1) : path;
    node.addProblem('expected a Unix socket: unix:///path, or unix:///@name for an abstract one');
  }
  return undefined;
}
