import { createSecretKey } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { type Clock, systemClock, systemRandom } from '@cluster-apiserver/base';
import { startPlugin, type RealPlugin } from '../../../test/kms-plugin.ts';
import { until } from '../../../test/real-etcd.ts';
import { describeTransformerContract } from '../../contract/transformer-contract.ts';
import { KeyUnavailableError } from '../../errors.ts';
import { aesCbc } from '../aes-cbc.ts';
import { aesGcm } from '../aes-gcm.ts';
import type { Transformer } from '../transformer.ts';
import { BoundedMap } from './bounded-map.ts';
import { derivedKeyGcm } from './derived-key.ts';
import { decodeEncryptedObject, encodeEncryptedObject, requireSound } from './encrypted-object.ts';
import { kmsV1Service, kmsV2Service } from './grpc-service.ts';
import { kmsV1 } from './kms-v1.ts';
import { type KmsPlugin, kmsV2 } from './kms-v2.ts';

const random = systemRandom();
const key = '/registry/serviceaccounts/a/robot';
const object = Buffer.from('{"kind":"ServiceAccount"}');

let directory: string;
let closings: (() => unknown)[];
beforeEach(() => {
  directory = mkdtempSync(path.join(tmpdir(), 'kms-'));
  closings = [];
});
afterEach(async () => {
  for (const close of closings.toReversed()) await close();
  rmSync(directory, { recursive: true });
});

async function plugin(socket = path.join(directory, 'kms.sock')): Promise<RealPlugin> {
  const started = await startPlugin(socket);
  closings.push(() => started.stop());
  return started;
}

const connection = (socket: string) => ({ socket, timeoutMs: 2_000, clock: systemClock, called: () => {} });

interface OpenedV2 extends KmsPlugin {
  recoveries: number;
  readonly failures: unknown[];
}

function openV2(socket: string, clock: Clock = systemClock): OpenedV2 {
  const failures: unknown[] = [];
  const opened = kmsV2(kmsV2Service(connection(socket)), {
    clock,
    random,
    recovered: () => result.recoveries++,
    failed: (error) => failures.push(error),
  });
  const result = { ...opened, recoveries: 0, failures };
  closings.push(result.close);
  return result;
}

const openV1 = (socket: string, cacheSize: number): KmsPlugin => {
  const opened = kmsV1(kmsV1Service(connection(socket)), { random, cacheSize });
  closings.push(opened.close);
  return opened;
};

const write = async ({ transformer }: { readonly transformer: Transformer }): Promise<Buffer> =>
  Buffer.from(await transformer.toStorage(object, key));
const calls = ({ calls: counted }: RealPlugin, method: string): number => counted.get(method) ?? 0;

/** A clock whose long waits are over at once, and whose time can be moved. */
function quickClock(): Clock & { ahead: number } {
  const clock = {
    ...systemClock,
    ahead: 0,
    monotonicMs: () => systemClock.monotonicMs() + clock.ahead,
    after: (_: number, callback: () => void) => systemClock.after(5, callback),
  };
  return clock;
}

describeTransformerContract('AES-GCM with derived keys', async () => ({
  transformer: derivedKeyGcm(createSecretKey(Buffer.alloc(32, 's')), random),
  hides: true,
  authenticates: 'value and place',
}));

test('a value with a derived key that the reference recorded is read', () => {
  const seed = '5d40323a820ff95561675e3b95e81867c5fdd561d35a88a2d08b08aa9d4fcf5c';
  const recorded =
    '2442759e33945fbad709db577a0f037fd8a709fc76979b8942209debcecb9d57efe3d6ff6a1ef6ee9a5003b9833b3043cec1e47b35175b151107a8d2416b0e296bbf66b5d102fcefdf9a78f293d271';
  const transformer = derivedKeyGcm(createSecretKey(Buffer.from(seed, 'hex')), random);
  expect(transformer.fromStorage(Buffer.from(recorded, 'hex'), 'bamboo').value.toString()).toBe('pandas are the best');
});

test('a map with a bound forgets what nobody has asked for', () => {
  const map = new BoundedMap<string, number>(2);
  map.set('a', 1);
  map.set('b', 2);
  expect(map.get('a')).toBe(1);
  map.set('c', 3);
  expect([map.get('a'), map.get('b'), map.get('c')]).toEqual([1, undefined, 3]);
  const none = new BoundedMap<string, number>(0);
  none.set('a', 1);
  expect(none.get('a')).toBeUndefined();
});

test('an envelope has the bytes of the reference, whoever writes it', () => {
  const annotations = new Map([['a.example.com', Buffer.from('x')]]);
  const envelope = { data: Buffer.from('D'), key: { ciphertext: Buffer.from('C'), keyId: 'K', annotations } };
  const bytes = Buffer.from(encodeEncryptedObject({ ...envelope, keyType: 'seed' }));
  expect(bytes.toString('hex')).toBe('0a014412014b1a014322120a0d612e6578616d706c652e636f6d1201782801');
  expect(decodeEncryptedObject(bytes)).toEqual({ ...envelope, keyType: 'seed' });
  const older = Buffer.from(encodeEncryptedObject({ ...envelope, keyType: 'key' }));
  expect(older).toEqual(bytes.subarray(0, -2));
  expect(decodeEncryptedObject(older).keyType).toBe('key');
});

const sound = { ciphertext: Buffer.from('C'), keyId: 'K', annotations: new Map<string, Buffer>() };
test.each([
  ['no ciphertext', { ciphertext: Buffer.alloc(0) }],
  ['a long ciphertext', { ciphertext: Buffer.alloc(1025) }],
  ['no key id', { keyId: '' }],
  ['a long key id', { keyId: 'k'.repeat(1025) }],
  ['an annotation that is no domain', { annotations: new Map([['plain', Buffer.alloc(1)]]) }],
  ['large annotations', { annotations: new Map([['a.b', Buffer.alloc(33_000)]]) }],
])('a plugin that answers with %s is not believed', (_, part) => {
  expect(() => requireSound(sound)).not.toThrow();
  expect(() => requireSound({ ...sound, ...part })).toThrow();
});

describe('a plugin of version 2', () => {
  test.each(['a file', 'an abstract name'])('is reached by %s, and a write needs no call', async (by) => {
    const real = await plugin(by === 'a file' ? undefined : `@kms-${random.uuid()}`);
    const kms = openV2(real.socket);
    await kms.asked;
    await kms.check();
    const values = await Promise.all(Array.from({ length: 50 }, () => write(kms)));
    for (const value of values)
      expect(await kms.transformer.fromStorage(value, key)).toEqual({ value: object, stale: false });
    expect(Object.fromEntries(real.calls)).toEqual({ 'v2 Status': 1, 'v2 Encrypt': 1 });
  });

  test('is asked once for a seed of somebody else, however many values have it', async () => {
    const real = await plugin();
    const writer = openV2(real.socket);
    await writer.asked;
    const values = await Promise.all(Array.from({ length: 100 }, () => write(writer)));
    const reader = openV2(real.socket);
    await reader.asked;
    const read = await Promise.all(values.map(async (value) => reader.transformer.fromStorage(value, key)));
    expect(read).toEqual(values.map(() => ({ value: object, stale: false })));
    expect(calls(real, 'v2 Decrypt')).toBe(1);
  });

  test('refuses a value that was moved or changed, and any other envelope', async () => {
    const kms = openV2((await plugin()).socket);
    await kms.asked;
    const value = await write(kms);
    const refused = async (bytes: Buffer, at = key): Promise<boolean> => {
      try {
        await kms.transformer.fromStorage(bytes, at);
        return false;
      } catch {
        return true;
      }
    };
    expect(await refused(value, `${key}s`)).toBe(true);
    for (let bit = 0; bit < value.length * 8; bit++) {
      const flipped = Buffer.from(value);
      flipped.writeUInt8(flipped.readUInt8(bit >> 3) ^ (1 << (bit & 7)), bit >> 3);
      expect([bit, await refused(flipped)]).toEqual([bit, true]);
    }
    expect(await refused(Buffer.alloc(0))).toBe(true);
  });

  test('changes its key: values get the new one, and those with the old one are read and stale', async () => {
    const real = await plugin();
    const kms = openV2(real.socket, quickClock());
    await kms.asked;
    const before = await write(kms);
    real.keyId = 'key-2';
    await until('the new key', async () =>
      decodeEncryptedObject(await write(kms)).key.keyId === 'key-2' ? true : undefined,
    );
    expect(await kms.transformer.fromStorage(before, key)).toEqual({ value: object, stale: true });
    expect(await kms.transformer.fromStorage(await write(kms), key)).toEqual({ value: object, stale: false });
    expect(kms.failures).toEqual([]);
  });

  test('falls silent: writes go on for three minutes, and known seeds are read after that', async () => {
    const real = await plugin();
    const clock = quickClock();
    const kms = openV2(real.socket, clock);
    await kms.asked;
    await real.stop();
    await until('the loss', () => (kms.failures.length > 0 ? true : undefined));
    expect(() => kms.check()).toThrow(KeyUnavailableError);
    const value = await write(kms);
    clock.ahead += 179_000;
    await write(kms);
    clock.ahead += 2_000;
    await expect(write(kms)).rejects.toThrow(KeyUnavailableError);
    expect(await kms.transformer.fromStorage(value, key)).toEqual({ value: object, stale: false });
    const recoveries = kms.recoveries;
    await plugin(real.socket);
    await until('the recovery', () => (kms.recoveries > recoveries ? true : undefined));
    await kms.check();
    await write(kms);
  });

  test('is not there at first: nothing is written or read, and then all is', async () => {
    const socket = path.join(directory, 'late.sock');
    const other = await plugin();
    const writer = openV2(other.socket);
    await writer.asked;
    const value = await write(writer);
    const kms = openV2(socket, quickClock());
    await kms.asked;
    await expect(write(kms)).rejects.toThrow(KeyUnavailableError);
    await expect(async () => kms.transformer.fromStorage(value, key)).rejects.toThrow(KeyUnavailableError);
    await plugin(socket);
    await until('the plugin', () => (kms.recoveries > 0 ? true : undefined));
    expect(await kms.transformer.fromStorage(value, key)).toEqual({ value: object, stale: false });
  });

  test('says that it is not well, and so do we', async () => {
    const real = await plugin();
    real.healthz = 'tired';
    const kms = openV2(real.socket);
    await kms.asked;
    expect(() => kms.check()).toThrow('not well');
    await expect(write(kms)).rejects.toThrow(KeyUnavailableError);
  });

  test('reads what older servers wrote with a key instead of a seed, and has it written anew', async () => {
    const real = await plugin();
    const kms = openV2(real.socket);
    await kms.asked;
    const plain = Buffer.alloc(32, 'p');
    const service = kmsV2Service(connection(real.socket));
    closings.push(service.close);
    const data = aesGcm({ key: createSecretKey(plain), random, drewNonce: () => {} }).toStorage(object, key);
    const older = encodeEncryptedObject({ data, key: await service.encrypt(plain, 'u'), keyType: 'key' });
    expect(await kms.transformer.fromStorage(Buffer.from(older), key)).toEqual({ value: object, stale: true });
  });
});

describe('a plugin of version 1', () => {
  test('is asked for each write, and for each read only without a cache', async () => {
    const real = await plugin();
    for (const [cacheSize, decryptions] of [
      [10, 0],
      [-1, 5],
    ] as const) {
      const before = calls(real, 'v1beta1 Decrypt');
      const kms = openV1(real.socket, cacheSize);
      const values = await Promise.all(Array.from({ length: 5 }, () => write(kms)));
      for (const value of values)
        expect(await kms.transformer.fromStorage(value, key)).toEqual({ value: object, stale: false });
      expect(calls(real, 'v1beta1 Decrypt') - before).toBe(decryptions);
    }
    expect(calls(real, 'v1beta1 Encrypt')).toBe(10);
  });

  test('is well while it decrypts what it encrypted', async () => {
    const real = await plugin();
    const kms = openV1(real.socket, 1_000);
    await kms.check();
    await real.stop();
    await expect(kms.check()).rejects.toThrow(KeyUnavailableError);
  });

  test('refuses a value that was moved, cut or flipped, and reads older ones in CBC as stale', async () => {
    const real = await plugin();
    const kms = openV1(real.socket, 1_000);
    const value = await write(kms);
    await expect(kms.transformer.fromStorage(value, `${key}s`)).rejects.toThrow();
    for (const length of [0, 1, 2, 40, value.length - 1])
      await expect(kms.transformer.fromStorage(value.subarray(0, length), key)).rejects.toThrow();
    const service = kmsV1Service(connection(real.socket));
    closings.push(service.close);
    const plain = Buffer.alloc(32, 'p');
    const encrypted = await service.encrypt(plain);
    const inner = aesCbc({ key: createSecretKey(plain), random }).toStorage(object, key);
    const older = Buffer.concat([Buffer.from([0, encrypted.length]), encrypted, inner]);
    expect(await kms.transformer.fromStorage(older, key)).toEqual({ value: object, stale: true });
  });
});
