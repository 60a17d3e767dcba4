import { createSecretKey } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { type Clock, systemClock, systemRandom } from '@cluster-apiserver/base';
import { startPlugin, type RealPlugin } from '@cluster-apiserver/testkit/kms-plugin';
import { until } from '@cluster-apiserver/testkit/until';
import { describeTransformerContract } from '../../../test/contract/transformer-contract.ts';
import { KeyUnavailableError } from '../../errors.ts';
import { aesCbc } from '../aes-cbc.ts';
import { aesGcm } from '../aes-gcm.ts';
import type { Transformer } from '../transformer.ts';
import { derivedKeyGcm } from './derived-key.ts';
import { decodeEncryptedObject, createEnvelopeWriter, validateEncryptedKey } from './encrypted-object.ts';
import { kmsV1Service, kmsV2Service } from './grpc-service.ts';
import { kmsV1 } from './kms-v1.ts';
import { KmsV2 } from './kms-v2.ts';
import type { KmsMeasures, KmsPlugin, KmsPluginOptions } from './plugin-monitor.ts';
import { KeyCache } from './key-cache.ts';

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

const connection = (socket: string) => ({ socket, timeoutMs: 2_000, clock: systemClock, onCall: () => {} });

interface Opened extends KmsPlugin {
  recoveries: number;
  readonly failures: unknown[];
  /** What was counted, in words. */
  readonly counted: string[];
}

function opened(open: (options: KmsPluginOptions) => KmsPlugin, clock: Clock): Opened {
  const failures: unknown[] = [];
  const counted: string[] = [];
  const note =
    (what: keyof KmsMeasures) =>
    (...details: unknown[]): void =>
      void counted.push([what, ...details].join(' '));
  const plugin = open({
    clock,
    random,
    measures: {
      keyUsed: note('keyUsed'),
      keyIdReported: note('keyIdReported'),
      keyIdInvalid: note('keyIdInvalid'),
      cacheMissed: note('cacheMissed'),
      cacheSized: note('cacheSized'),
    },
    onRecovered: () => result.recoveries++,
    onUnhealthy: (error) => failures.push(error),
  });
  const result = Object.assign(plugin, { recoveries: 0, failures, counted });
  closings.push(() => result.close());
  return result;
}

const openV2 = (socket: string, clock: Clock = systemClock): Opened =>
  opened((options) => new KmsV2(kmsV2Service(connection(socket)), options), clock);
const openV1 = (socket: string, cacheSize: number, clock: Clock = systemClock): Opened =>
  opened((options) => kmsV1(kmsV1Service(connection(socket)), { ...options, cacheSize }), clock);

const write = async ({ transformer }: { readonly transformer: Transformer }): Promise<Buffer> =>
  Buffer.concat(await transformer.toStorage(object, key));
const read = async ({ transformer }: { readonly transformer: Transformer }, value: Buffer, from = key) =>
  transformer.fromStorage(value, from);
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

test('a derived key encrypts a thousand values, and all keys differ', () => {
  const transformer = derivedKeyGcm(createSecretKey(Buffer.alloc(32, 's')), random);
  const written = Array.from({ length: 2_500 }, () =>
    Buffer.concat(transformer.toStorage(Buffer.from('the same'), '/a')),
  );
  const countOf = (pick: (value: Buffer) => Buffer): number =>
    new Set(written.map((value) => pick(value).toString('hex'))).size;
  expect(countOf((value) => value.subarray(0, 32))).toBe(3);
  expect(countOf((value) => value.subarray(32, 44))).toBe(written.length);
  for (const value of written)
    expect(transformer.fromStorage(value, '/a')).toMatchObject({ value: Buffer.from('the same') });
});

test('a value of kube-apiserver with a derived key is read', () => {
  const seed = '5d40323a820ff95561675e3b95e81867c5fdd561d35a88a2d08b08aa9d4fcf5c';
  const recorded =
    '2442759e33945fbad709db577a0f037fd8a709fc76979b8942209debcecb9d57efe3d6ff6a1ef6ee9a5003b9833b3043cec1e47b35175b151107a8d2416b0e296bbf66b5d102fcefdf9a78f293d271';
  const transformer = derivedKeyGcm(createSecretKey(Buffer.from(seed, 'hex')), random);
  expect(transformer.fromStorage(Buffer.from(recorded, 'hex'), 'bamboo').value.toString()).toBe('pandas are the best');
});

test.each([
  ['decrypted', false],
  ['refused', true],
])('values that have waited for the same key are not all %s in one event-loop iteration', async (_, refusing) => {
  const real = await plugin();
  const writer = openV2(real.socket);
  await writer.firstCheck;
  const value = await write(writer);
  const reader = openV2(real.socket);
  await reader.firstCheck;
  real.refusing = refusing;
  let settled = 0;
  let refused = 0;
  const reads = Array.from({ length: 1_000 }, async () => {
    try {
      await reader.transformer.fromStorage(value, key);
    } catch {
      refused++; // expected of all of them, or of none
    }
    settled++;
  });
  const perTurn: number[] = [];
  while (settled < reads.length) {
    const before = settled;
    await new Promise(setImmediate);
    perTurn.push(settled - before);
  }
  await Promise.all(reads);
  expect(Math.max(...perTurn)).toBeLessThan(100);
  expect(refused).toBe(refusing ? reads.length : 0);
});

test('a bounded number of keys is kept', () => {
  const keys = new KeyCache<object>(1_000, { cacheMissed: () => {}, cacheSized: (count) => (size = count) });
  let size = 0;
  for (let key = 0; key < 1_100; key++) keys.confirm(`${key}`, {});
  expect(size).toBe(1_000);
});

test('keys are loaded concurrently, up to a limit', async () => {
  const asked: (() => void)[] = [];
  const keys = new KeyCache<object>(1_000, { cacheMissed: () => {}, cacheSized: () => {} });
  const answers = Array.from({ length: 250 }, (_, n) =>
    keys.get(`${n % 200}`, () => new Promise((resolve) => asked.push(() => resolve({})))),
  );
  for (const total of [100, 200]) {
    await until('the questions', () => (asked.length === total ? true : undefined));
    await new Promise(setImmediate);
    expect(asked.length).toBe(total);
    for (const answer of asked.slice(-100)) answer();
  }
  const found = await Promise.all(answers.map(async (answer) => answer));
  expect(found[0]).toBe(found[200]);
  expect(asked.length).toBe(200);
});

test('a loaded key is cached once it has opened a value', async () => {
  const keys = new KeyCache<object>(1_000, { cacheMissed: () => {}, cacheSized: () => {} });
  let loads = 0;
  const load = async (): Promise<object> => ({ number: ++loads });
  await keys.get('a', load);
  const loaded = await keys.get('a', load);
  expect(loads).toBe(2);
  keys.confirm('a', loaded);
  expect(keys.get('a', load)).toBe(loaded);
});

test('an envelope has the same bytes as that of kube-apiserver', () => {
  const annotations = new Map([['a.example.com', Buffer.from('x')]]);
  const envelope = { data: Buffer.from('D'), key: { ciphertext: Buffer.from('C'), keyId: 'K', annotations } };
  const bytes = Buffer.concat(createEnvelopeWriter({ ...envelope, keyType: 'seed' })([envelope.data]));
  expect(bytes.toString('hex')).toBe('0a014412014b1a014322120a0d612e6578616d706c652e636f6d1201782801');
  expect(decodeEncryptedObject(bytes)).toEqual({ ...envelope, keyType: 'seed' });
  const older = Buffer.concat(createEnvelopeWriter({ ...envelope, keyType: 'key' })([envelope.data]));
  expect(older).toEqual(bytes.subarray(0, -2));
  expect(decodeEncryptedObject(older).keyType).toBe('key');
});

const plainEnvelope = { data: '0a0144', keyId: '12014b', ciphertext: '1a0143', type: '2801' };
test.each([
  ['in another order', ['type', 'ciphertext', 'keyId', 'data'], ''],
  ['with an unknown field', ['data', 'keyId', 'ciphertext', 'type'], '320178'],
  ['with a known field of another type', ['data', 'keyId', 'ciphertext', 'type'], '2a0178'],
  ['with a repeated field', ['data', 'keyId', 'keyId', 'ciphertext', 'type'], ''],
  ['with a number longer than necessary', ['data', 'keyId', 'ciphertext'], '28818000'],
  ['with a tag longer than necessary', ['keyId', 'ciphertext', 'type'], '8a000144'],
] as const)('an envelope %s is read as Go reads it', (_, parts, more) => {
  const spelled = parts.map((part) => plainEnvelope[part]).join('') + more;
  expect(decodeEncryptedObject(Buffer.from(spelled, 'hex'))).toEqual({
    data: Buffer.from('D'),
    key: { ciphertext: Buffer.from('C'), keyId: 'K', annotations: new Map() },
    keyType: 'seed',
  });
});

test.each([
  ['a field without a number', '00'],
  ['a text that is not UTF-8', '1201ff'],
  ['a truncated annotation', '22030a0561'],
  ['a group without an end', '3b'],
  ['a truncated field', '0a05'],
])('an envelope with %s is refused', (_, more) => {
  const spelled = plainEnvelope.data + plainEnvelope.keyId + plainEnvelope.ciphertext + plainEnvelope.type + more;
  expect(() => decodeEncryptedObject(Buffer.from(spelled, 'hex'))).toThrow();
});

const sound = { ciphertext: Buffer.from('C'), keyId: 'K', annotations: new Map<string, Buffer>() };
test.each([
  ['no ciphertext', { ciphertext: Buffer.alloc(0) }],
  ['a long ciphertext', { ciphertext: Buffer.alloc(1025) }],
  ['no key id', { keyId: '' }],
  ['a long key id', { keyId: 'k'.repeat(1025) }],
  ['an annotation that is no domain', { annotations: new Map([['plain', Buffer.alloc(1)]]) }],
  ['large annotations', { annotations: new Map([['a.b', Buffer.alloc(33_000)]]) }],
])('a response with %s is rejected', (_, part) => {
  expect(() => validateEncryptedKey(sound)).not.toThrow();
  expect(() => validateEncryptedKey({ ...sound, ...part })).toThrow();
});

describe('a plugin of version 2', () => {
  test.each(['a file', 'an abstract name'])('is reached by %s, and a write needs no call', async (by) => {
    const real = await plugin(by === 'a file' ? undefined : `@kms-${random.uuid()}`);
    const kms = openV2(real.socket);
    await kms.firstCheck;
    kms.check();
    const values = await Promise.all(Array.from({ length: 50 }, () => write(kms)));
    for (const value of values)
      expect(await kms.transformer.fromStorage(value, key)).toEqual({ value: object, stale: false });
    expect(Object.fromEntries(real.calls)).toEqual({ 'v2 Status': 1, 'v2 Encrypt': 1, 'v2 Decrypt': 1 });
  });

  test('decrypts the seed of another server once, however many values use it', async () => {
    const real = await plugin();
    const writer = openV2(real.socket);
    await writer.firstCheck;
    const values = await Promise.all(Array.from({ length: 100 }, () => write(writer)));
    const reader = openV2(real.socket);
    await reader.firstCheck;
    const before = calls(real, 'v2 Decrypt');
    const read = await Promise.all(values.map(async (value) => reader.transformer.fromStorage(value, key)));
    expect(read).toEqual(values.map(() => ({ value: object, stale: false })));
    expect(calls(real, 'v2 Decrypt')).toBe(before + 1);
  });

  test('refuses a moved or changed value, and never reads another one', async () => {
    const kms = openV2((await plugin()).socket);
    await kms.firstCheck;
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
    const readFlipped = async (bit: number): Promise<string | undefined> => {
      const flipped = Buffer.from(value);
      flipped.writeUInt8(flipped.readUInt8(bit >> 3) ^ (1 << (bit & 7)), bit >> 3);
      try {
        return (await kms.transformer.fromStorage(flipped, key)).value.toString();
      } catch {
        return undefined;
      }
    };
    const read = await Promise.all(Array.from({ length: value.length * 8 }, (_, bit) => readFlipped(bit)));
    // Bits that the protocol ignores may be any, as in Go; those of the value may not.
    const valueEnd = 8 * (2 + value.readUInt8(1));
    expect(new Set(read.slice(8 * 2, valueEnd))).toEqual(new Set([undefined]));
    expect([...new Set(read)].filter((one) => one !== undefined && one !== object.toString())).toEqual([]);
    expect(await refused(Buffer.alloc(0))).toBe(true);
  });

  test('rotates its key: new values use it, and old ones are read as stale', async () => {
    const real = await plugin();
    const kms = openV2(real.socket, quickClock());
    await kms.firstCheck;
    const before = await write(kms);
    real.keyId = 'key-2';
    await until('the new key', async () =>
      decodeEncryptedObject(await write(kms)).key.keyId === 'key-2' ? true : undefined,
    );
    expect(await kms.transformer.fromStorage(before, key)).toEqual({ value: object, stale: true });
    expect(await kms.transformer.fromStorage(await write(kms), key)).toEqual({ value: object, stale: false });
    expect(kms.failures).toEqual([]);
  });

  test('stops responding: writes go on for three minutes, and cached seeds are read after that', async () => {
    const real = await plugin();
    const clock = quickClock();
    const kms = openV2(real.socket, clock);
    await kms.firstCheck;
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
    kms.check();
    await write(kms);
  });

  test('is missing at first: nothing is written or read until it is there', async () => {
    const socket = path.join(directory, 'late.sock');
    const other = await plugin();
    const writer = openV2(other.socket);
    await writer.firstCheck;
    const value = await write(writer);
    const kms = openV2(socket, quickClock());
    await kms.firstCheck;
    await expect(write(kms)).rejects.toThrow(KeyUnavailableError);
    await expect(async () => kms.transformer.fromStorage(value, key)).rejects.toThrow(KeyUnavailableError);
    expect(kms.failures).not.toEqual([]);
    await plugin(socket);
    await until('the plugin', () => (kms.recoveries > 0 ? true : undefined));
    expect(await kms.transformer.fromStorage(value, key)).toEqual({ value: object, stale: false });
  });

  test('reports that it is unhealthy, and the check fails', async () => {
    const real = await plugin();
    real.healthz = 'tired';
    const kms = openV2(real.socket);
    await kms.firstCheck;
    expect(() => kms.check()).toThrow('unhealthy');
    await expect(write(kms)).rejects.toThrow(KeyUnavailableError);
  });

  test.each([
    ['empty', ''],
    ['too_long', 'k'.repeat(1025)],
  ])('reports a key ID that is %s, which is counted and rejected', async (why, keyId) => {
    const real = await plugin();
    real.keyId = keyId;
    const kms = openV2(real.socket);
    await kms.firstCheck;
    expect(() => kms.check()).toThrow('the name of the plugin');
    expect(kms.counted).toEqual([`keyIdInvalid ${why}`]);
  });

  test('counts its keys: their uses and the size of the cache', async () => {
    const real = await plugin();
    const kms = openV2(real.socket);
    await kms.firstCheck;
    await kms.transformer.fromStorage(await write(kms), key);
    const reader = openV2(real.socket);
    await reader.firstCheck;
    await reader.transformer.fromStorage(await write(kms), key);
    expect(kms.counted).toEqual([
      'keyIdReported key-1',
      'cacheSized 1',
      'keyUsed to_storage key-1',
      'keyUsed from_storage key-1',
      'keyUsed to_storage key-1',
    ]);
    expect(reader.counted).toEqual([
      'keyIdReported key-1',
      'cacheSized 1',
      'cacheMissed',
      'cacheSized 2',
      'keyUsed from_storage key-1',
    ]);
  });

  test('refuses a key for now: it is retried with growing pauses', async () => {
    const real = await plugin();
    const writer = openV2(real.socket);
    await writer.firstCheck;
    const value = await write(writer);
    const waits: number[] = [];
    const clock = quickClock();
    const kms = openV2(real.socket, {
      ...clock,
      after: (ms, callback) => {
        if (ms === 60_000) return () => {}; // the usual question is far away
        waits.push(ms);
        return clock.after(ms, callback);
      },
    });
    await kms.firstCheck;
    real.refusing = true;
    const read = async (): Promise<unknown> => kms.transformer.fromStorage(value, key);
    await expect(read()).rejects.toThrow('refuses');
    for (let times = 1; times <= 6; times++) {
      await until('another try', () => (kms.recoveries >= times ? true : undefined));
      await expect(read()).rejects.toThrow('refuses');
    }
    real.refusing = false;
    await until('the last try', () => (kms.recoveries > 6 ? true : undefined));
    expect(await read()).toEqual({ value: object, stale: false });
    expect(() => kms.check()).not.toThrow();
    expect(waits.length).toBeLessThan(10);
    expect(Math.max(...waits)).toBeGreaterThan(16_000);
  });

  test('answers with a wrong key: the replica is not ready until the plugin is right, and then reads the value', async () => {
    const real = await plugin();
    const writer = openV2(real.socket);
    await writer.firstCheck;
    const value = await write(writer);
    const kms = openV2(real.socket, quickClock());
    await kms.firstCheck;
    real.lying = true;
    const read = async (): Promise<unknown> => kms.transformer.fromStorage(value, key);
    await expect(read()).rejects.toThrow();
    await until('the failed check', () => kms.failures[0]);
    expect(() => kms.check()).toThrow('the plugin does not decrypt what it encrypted');
    expect(await kms.transformer.fromStorage(await write(kms), key)).toEqual({ value: object, stale: false });
    real.lying = false;
    await until('the recovery', () => kms.recoveries || undefined);
    expect(() => kms.check()).not.toThrow();
    expect(await read()).toEqual({ value: object, stale: false });
  });

  test('cannot open a corrupt value: it stays healthy, and the value is tried again with growing pauses', async () => {
    const real = await plugin();
    const writer = openV2(real.socket);
    await writer.firstCheck;
    const value = await write(writer);
    const kms = openV2(real.socket, quickClock());
    await kms.firstCheck;
    await expect((async () => kms.transformer.fromStorage(value, `${key}s`))()).rejects.toThrow();
    await until('the check', () => kms.recoveries || undefined);
    expect(kms.failures).toEqual([]);
    expect(() => kms.check()).not.toThrow();
  });

  test('encrypts to what it cannot decrypt: the seed is not used', async () => {
    const real = await plugin();
    const kms = openV2(real.socket, quickClock());
    await kms.firstCheck;
    real.lying = true;
    real.keyId = 'key-2';
    await until('the failed check', () => kms.failures[0]);
    expect(String(kms.failures[0])).toContain('does not decrypt what it encrypted');
    expect(decodeEncryptedObject(await write(kms)).key.keyId).toBe('key-1');
    real.lying = false;
    await until('the new key', async () => decodeEncryptedObject(await write(kms)).key.keyId === 'key-2' || undefined);
  });

  test('reads values of older servers with a key instead of a seed, as stale', async () => {
    const real = await plugin();
    const kms = openV2(real.socket);
    await kms.firstCheck;
    const plain = Buffer.alloc(32, 'p');
    const service = kmsV2Service(connection(real.socket));
    closings.push(service.close);
    const data = aesGcm({ key: createSecretKey(plain), random, onNonce: () => {} }).toStorage(object, key);
    const older = createEnvelopeWriter({ key: await service.encrypt(plain, 'u'), keyType: 'key' })(data);
    expect(await kms.transformer.fromStorage(Buffer.concat(older), key)).toEqual({ value: object, stale: true });
  });
});

describe('a plugin of version 1', () => {
  test('answers with a wrong key: it is not kept', async () => {
    const real = await plugin();
    const kms = openV1(real.socket, 100);
    await kms.firstCheck;
    const value = await write(openV1(real.socket, 100));
    real.lying = true;
    await expect((async () => kms.transformer.fromStorage(value, key))()).rejects.toThrow();
    real.lying = false;
    expect(await kms.transformer.fromStorage(value, key)).toMatchObject({ value: object });
    const before = calls(real, 'v1beta1 Decrypt');
    expect(await kms.transformer.fromStorage(value, key)).toMatchObject({ value: object });
    expect(calls(real, 'v1beta1 Decrypt')).toBe(before);
  });

  test('is called for each write, and for each read only without a cache', async () => {
    const real = await plugin();
    for (const [cacheSize, decryptions] of [
      [10, 0],
      [-1, 5],
    ] as const) {
      const kms = openV1(real.socket, cacheSize);
      await kms.firstCheck;
      const before = calls(real, 'v1beta1 Decrypt');
      const values = await Promise.all(Array.from({ length: 5 }, () => write(kms)));
      for (const value of values)
        expect(await kms.transformer.fromStorage(value, key)).toEqual({ value: object, stale: false });
      expect(calls(real, 'v1beta1 Decrypt') - before).toBe(decryptions);
    }
    expect(calls(real, 'v1beta1 Encrypt')).toBe(12); // ten writes, and how it is
  });

  test('stops responding: the next write detects it, and its recovery is detected too', async () => {
    const real = await plugin();
    const kms = openV1(real.socket, 1_000, quickClock());
    await kms.firstCheck;
    kms.check();
    const value = await write(kms);
    await real.stop();
    await expect(write(kms)).rejects.toThrow(KeyUnavailableError);
    await until('the loss', () => (kms.failures.length > 0 ? true : undefined));
    expect(() => kms.check()).toThrow(KeyUnavailableError);
    const other = openV1(real.socket, 1_000, quickClock());
    await expect(other.transformer.fromStorage(value, key)).rejects.toThrow(KeyUnavailableError);
    const recoveries = other.recoveries;
    await plugin(real.socket);
    await until('the return', () => (other.recoveries > recoveries ? true : undefined));
    expect(await other.transformer.fromStorage(value, key)).toEqual({ value: object, stale: false });
    expect(other.counted.filter((what) => what === 'cacheMissed').length).toBeGreaterThan(1);
  });

  test('is not called for each health check', async () => {
    const real = await plugin();
    const kms = openV1(real.socket, 1_000);
    await kms.firstCheck;
    for (let times = 0; times < 100; times++) kms.check();
    expect(Object.fromEntries(real.calls)).toEqual({ 'v1beta1 Encrypt': 1, 'v1beta1 Decrypt': 1 });
  });

  test('refuses values with flipped bits, although some are valid CBC', async () => {
    const real = await plugin();
    const kms = openV1(real.socket, 1_000);
    // As long as a value in CBC may be: a multiple of sixteen bytes.
    const value = Buffer.concat(await kms.transformer.toStorage(Buffer.alloc(36, 'x'), key));
    const begin = 2 + value.readUInt16BE();
    expect((value.length - begin) % 16).toBe(0);
    let accepted = 0;
    for (let flip = 0; flip < 3_000; flip++) {
      const flipped = Buffer.from(value);
      for (const at of [begin + (flip % (value.length - begin)), value.length - 1 - (flip % 16)])
        flipped.writeUInt8(flipped.readUInt8(at) ^ (1 + (flip % 255)), at);
      if (flipped.equals(value)) continue;
      accepted += await read(kms, flipped).then(
        () => 1,
        () => 0,
      );
    }
    expect(accepted).toBe(0);
  });

  test('refuses a moved, truncated or flipped value, and reads older CBC values as stale', async () => {
    const real = await plugin();
    const kms = openV1(real.socket, 1_000);
    const value = await write(kms);
    await expect(read(kms, value, `${key}s`)).rejects.toThrow();
    for (const length of [0, 1, 2, 40, value.length - 1])
      await expect(read(kms, value.subarray(0, length))).rejects.toThrow();
    const service = kmsV1Service(connection(real.socket));
    closings.push(service.close);
    const plain = Buffer.alloc(32, 'p');
    const encrypted = await service.encrypt(plain);
    const inner = aesCbc({ key: createSecretKey(plain), random }).toStorage(object, key); // an object, by how it begins
    const older = Buffer.concat([Buffer.from([0, encrypted.length]), encrypted, ...inner]);
    expect(await kms.transformer.fromStorage(older, key)).toEqual({ value: object, stale: true });
  });
});
