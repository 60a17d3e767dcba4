/** Encryption configurations for tests, and what is stored by them. */
import { canary } from '../../../storage/test/leaks.ts';
import { until } from '../../../base/test/until.ts';
import { rawValue } from '../etcd.ts';
import type { Answer, ServedKinds } from '../serve-kinds.ts';

export const file = 'encryption.yaml';
export const flags = ['--encryption-provider-config=encryption.yaml', '--encryption-provider-config-automatic-reload'];

export const configuration = (...providers: object[]): string =>
  JSON.stringify({
    apiVersion: 'apiserver.config.platform.io/v1',
    kind: 'EncryptionConfiguration',
    resources: [{ resources: ['serviceaccounts'], providers }],
  });

/** A provider with keys of these names. A key's bytes follow from its name. */
export const keyed = (type: 'aesgcm' | 'aescbc' | 'secretbox', ...names: string[]): object => ({
  [type]: { keys: names.map((name) => ({ name, secret: Buffer.alloc(32, name).toString('base64') })) },
});

/** A plugin under each of these names, all behind one socket. It answers at once, and a busy machine is no fault of it. */
export const plugins = (version: 'v1' | 'v2', socket: string, ...names: string[]): object[] =>
  names.map((name) => ({ kms: { apiVersion: version, name, endpoint: `unix://${socket}`, timeout: '10s' } }));

export const accounts = '/api/v1/namespaces/team/serviceaccounts';
export const keyOf = (name: string): string => `/registry/serviceaccounts/team/${name}`;
/** With a canary in every place that takes one, so that one stored in clear is found. */
export const create = (server: ServedKinds, name: string): Promise<Answer> =>
  server.ask('POST', `${accounts}?fieldManager=${canary}`, {
    metadata: { name, annotations: { canary }, labels: { canary } },
    secrets: [{ name: canary }],
  });

export async function raw({ etcd: { endpoints } }: ServedKinds, name: string): Promise<Buffer> {
  const value = await rawValue(endpoints[0] as string, keyOf(name)); // an etcd has a member
  if (!value) throw new Error(`nothing is stored for ${name}`);
  return value;
}

/** What a stored value begins with, up to the colon behind its key. */
export const prefixOf = (value: Buffer): string => /^k8s:enc:\w+:v\d:[^:]+:/.exec(value.toString('latin1'))?.[0] ?? '';

/** Takes a configuration into service, and returns when the server says so, or that it cannot. */
export async function reconfigure(server: ServedKinds, text: string): Promise<void> {
  const before = server.logged.length;
  await server.write(file, text);
  await until('the new configuration', () =>
    server.logged.slice(before).some((line) => line.includes('configuration="encryption"')) ? true : undefined,
  );
}

/** The same bytes with some bits the other way round. */
export function flipped(value: Buffer, ...bits: number[]): Buffer {
  const other = Buffer.from(value);
  for (const bit of bits) other.writeUInt8(other.readUInt8(bit >> 3) ^ (1 << (bit & 7)), bit >> 3);
  return other;
}
