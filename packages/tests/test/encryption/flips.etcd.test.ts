/**
 * Bit flips in stored values, a million in a soak, for each authenticating provider: none changes the object that is
 * read. The envelope of KMS v2 is protobuf, in which some bits have no meaning, such as those of unknown fields.
 */
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { createSecretKey } from 'node:crypto';
import os from 'node:os';
import path from 'node:path';
import { seededRandom, systemClock as clock, systemRandom } from '@cluster-apiserver/base';
import { kinds } from '@cluster-apiserver/kinds';
import {
  aesGcm,
  type KmsPlugin,
  kmsV1,
  kmsV1Service,
  KmsV2,
  kmsV2Service,
  prefixTransformer,
  secretbox,
  type Transformer,
} from '@cluster-apiserver/storage';
import { repetitions } from '@cluster-apiserver/testkit/soak';
import { type RealPlugin, startPlugin } from '@cluster-apiserver/testkit/kms-plugin';
import { type RealEtcd, startEtcd } from '@cluster-apiserver/testkit/etcd';
import { serveKinds } from '../serve-kinds.ts';
import {
  configuration,
  createAccount,
  file,
  flags,
  flipBits,
  provider,
  keyOf,
  kmsProviders,
  readStoredValue,
} from './configuration.ts';

const socket = path.join(os.tmpdir(), `kms-flips-${process.pid}.sock`);
const random = systemRandom();
const key = Buffer.alloc(32, 'a'); // as in provider()
const noMeasures = {
  keyUsed: () => {},
  keyIdReported: () => {},
  keyIdInvalid: () => {},
  cacheMissed: () => {},
  cacheSized: () => {},
};
const options = { clock, random, measures: noMeasures, onRecovered: () => {}, onUnhealthy: () => {} };
const connection = { socket, timeoutMs: 5_000, clock, onCall: () => {} };

let etcd: RealEtcd;
let plugin: RealPlugin;
const opened: KmsPlugin[] = [];
const { stackTraceLimit } = Error;
beforeAll(async () => {
  Error.stackTraceLimit = 0; // stack traces of so many errors are expensive and not used
  plugin = await startPlugin(socket);
  etcd = await startEtcd({ encrypted: true });
});
afterAll(async () => {
  Error.stackTraceLimit = stackTraceLimit;
  for (const one of opened) one.close();
  await plugin.stop();
  await etcd.stop();
});

async function pluginTransformer(one: KmsPlugin): Promise<Transformer> {
  opened.push(one);
  await one.firstCheck;
  return one.transformer;
}

/**
 * Each provider with the part of a value that it encrypts locally: a flip outside of that part costs a call of the
 * plugin.
 */
const providers: readonly {
  readonly name: string;
  readonly provider: object;
  readonly prefix: string;
  open(): Transformer | Promise<Transformer>;
  own(value: Buffer): readonly [from: number, to: number];
}[] = [
  {
    name: 'aesgcm',
    provider: provider('aesgcm', 'a'),
    prefix: 'k8s:enc:aesgcm:v1:a:',
    open: () => aesGcm({ key: createSecretKey(key), random, onNonce: () => {} }),
    own: ({ length }) => [0, length],
  },
  {
    name: 'secretbox',
    provider: provider('secretbox', 'a'),
    prefix: 'k8s:enc:secretbox:v1:a:',
    open: () => secretbox({ key, random }),
    own: ({ length }) => [0, length],
  },
  {
    name: 'kms v1',
    provider: kmsProviders('v1', socket, 'a')[0] as object,
    prefix: 'k8s:enc:kms:v1:a:',
    open: () => pluginTransformer(kmsV1(kmsV1Service(connection), { ...options, cacheSize: 10 })),
    own: (value) => [2 + value.readUInt16BE(), value.length],
  },
  {
    name: 'kms v2',
    provider: kmsProviders('v2', socket, 'a')[0] as object,
    prefix: 'k8s:enc:kms:v2:a:',
    open: () => pluginTransformer(new KmsV2(kmsV2Service(connection), options)),
    own: ({ length }) => [3, length - 200],
  },
];
const flipsOfEach = repetitions({ ci: 25_000, soak: 250_000 });

test.each(providers)('$name', async ({ name, provider, prefix, open, own }) => {
  const server = await serveKinds(kinds, { flags, files: { [file]: configuration(provider) }, etcd });
  const robot = `robot-${name.replace(' ', '-')}`;
  await createAccount(server, robot);
  const value = await readStoredValue(server, robot);
  await server.close();
  const transformer = prefixTransformer([{ prefix, transformer: await open() }]);
  const read = async (bytes: Buffer): Promise<string> =>
    (await transformer.fromStorage(bytes, keyOf(robot))).value.toString();
  const whole = await read(value);
  expect(JSON.parse(whole).metadata.name).toBe(robot);

  const changed: number[][] = [];
  const attempt = async (...bits: number[]): Promise<void> => {
    const isSafe = await read(flipBits(value, ...bits)).then(
      (text) => text === whole,
      () => true,
    );
    if (!isSafe) changed.push(bits);
  };
  // Each single bit, then up to three bits at a time.
  const bits = value.length * 8;
  for (let bit = 0; bit < bits; bit++) await attempt(bit);
  const chance = seededRandom(7);
  const [from, to] = own(value.subarray(prefix.length)).map((at) => (prefix.length + at) * 8) as [number, number];
  for (let flips = bits; flips < flipsOfEach; flips++) {
    const chosen = new Set(Array.from({ length: 1 + chance.below(3) }, () => from + chance.below(to - from)));
    await attempt(...chosen);
  }
  expect(changed).toEqual([]);
});
