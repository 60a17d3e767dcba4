/** Encryption configurations for tests, and access to the stored values. */
import { canary } from '@cluster-apiserver/testkit/leaks';
import { until } from '@cluster-apiserver/testkit/until';
import { rawValue } from '@cluster-apiserver/testkit/etcd-gateway';
import type { JsonResponse } from '@cluster-apiserver/testkit/json-response';
import type { TestServer } from '../serve-kinds.ts';

export const file = 'encryption.yaml';
export const flags = ['--encryption-provider-config=encryption.yaml', '--encryption-provider-config-automatic-reload'];

export const configuration = (...providers: object[]): string =>
  JSON.stringify({
    apiVersion: 'apiserver.config.platform.io/v1',
    kind: 'EncryptionConfiguration',
    resources: [{ resources: ['serviceaccounts'], providers }],
  });

/** A provider with keys of these names. The key bytes are derived from the name. */
export const provider = (type: 'aesgcm' | 'aescbc' | 'secretbox', ...names: string[]): object => ({
  [type]: { keys: names.map((name) => ({ name, secret: Buffer.alloc(32, name).toString('base64') })) },
});

/** A KMS provider for each name, all with the same socket. The long timeout tolerates a busy machine. */
export const kmsProviders = (version: 'v1' | 'v2', socket: string, ...names: string[]): object[] =>
  names.map((name) => ({ kms: { apiVersion: version, name, endpoint: `unix://${socket}`, timeout: '10s' } }));

export const accounts = '/api/v1/namespaces/team/serviceaccounts';
export const keyOf = (name: string): string => `/registry/serviceaccounts/team/${name}`;
/** Creates an account with a canary in every field that accepts one, to detect plaintext in etcd. */
export const createAccount = (server: TestServer, name: string): Promise<JsonResponse> =>
  server.request('POST', `${accounts}?fieldManager=${canary}`, {
    metadata: { name, annotations: { canary }, labels: { canary } },
    secrets: [{ name: canary }],
  });

export async function readStoredValue({ etcd: { endpoints } }: TestServer, name: string): Promise<Buffer> {
  const value = await rawValue(endpoints[0] as string, keyOf(name)); // every etcd has a member
  if (!value) throw new Error(`nothing is stored for ${name}`);
  return value;
}

/** The prefix of a stored value, including the colon after its key. */
export const prefixOf = (value: Buffer): string => /^k8s:enc:\w+:v\d:[^:]+:/.exec(value.toString('latin1'))?.[0] ?? '';

/** Writes a configuration, and returns when the server has logged that it was applied or rejected. */
export async function reconfigure(server: TestServer, text: string): Promise<void> {
  const before = server.logLines.length;
  await server.write(file, text);
  await until('the new configuration', () =>
    server.logLines.slice(before).some((line) => line.includes('configuration="encryption"')) ? true : undefined,
  );
}

/** A copy with some bits flipped. */
export function flipBits(value: Buffer, ...bits: number[]): Buffer {
  const other = Buffer.from(value);
  for (const bit of bits) other.writeUInt8(other.readUInt8(bit >> 3) ^ (1 << (bit & 7)), bit >> 3);
  return other;
}
