import { createSecretKey } from 'node:crypto';
import { describe, expect, test } from '@jest/globals';
import { systemRandom } from '@cluster-apiserver/base';
import { repetitions } from '@cluster-apiserver/testkit/soak';
import { describeTransformerContract } from '../../test/contract/transformer-contract.ts';
import { aesCbc } from './aes-cbc.ts';
import { aesGcm } from './aes-gcm.ts';
import { nonceBudget } from './nonce-budget.ts';
import { identityProvider, prefixTransformer, type Provider } from './prefix-transformer.ts';
import { secretbox } from './secretbox.ts';
import { identity, type SyncTransformer, type Transformer } from './transformer.ts';

const random = systemRandom();
const ignore = (): void => {};
const keyOf = (bytes: number, letter = 'k') => createSecretKey(Buffer.alloc(bytes, letter));
const gcm = (letter: string): Provider => ({
  prefix: `k8s:enc:aesgcm:v1:${letter}:`,
  transformer: aesGcm({ key: keyOf(32, letter), random, onNonce: ignore }),
});

for (const bytes of [16, 24, 32])
  describeTransformerContract(`AES-GCM with a key of ${bytes} bytes`, async () => ({
    transformer: aesGcm({ key: keyOf(bytes), random, onNonce: ignore }),
    hides: true,
    authenticates: 'value and place',
  }));
describeTransformerContract('secretbox', async () => ({
  transformer: await secretbox({ key: Buffer.alloc(32, 'k'), random }),
  hides: true,
  authenticates: 'value',
}));
describeTransformerContract('AES-CBC', async () => ({
  transformer: aesCbc({ key: keyOf(32), random }),
  hides: true,
  authenticates: 'nothing',
}));
describeTransformerContract('no encryption', async () => ({
  transformer: identity,
  hides: false,
  authenticates: 'nothing',
}));
describeTransformerContract('a prefix before AES-GCM', async () => ({
  transformer: prefixTransformer([gcm('a'), gcm('b')]),
  hides: true,
  authenticates: 'value and place',
}));
describeTransformerContract('a prefix before a transformer that answers later', async () => {
  const { prefix, transformer } = gcm('a');
  return {
    transformer: prefixTransformer([{ prefix, transformer: later(transformer) }]),
    hides: true,
    authenticates: 'value and place',
  };
});

/** The same, but nothing at once. */
const later = (transformer: Transformer): Transformer => ({
  toStorage: async (value, key) => transformer.toStorage(value, key),
  fromStorage: async (value, key) => transformer.fromStorage(value, key),
});

const key = '/registry/serviceaccounts/a/robot';
const object = Buffer.from('{"kind":"ServiceAccount"}');
const written = async (transformer: Transformer): Promise<Buffer> =>
  Buffer.concat(await transformer.toStorage(object, key));

test.each([
  ['AES-GCM', (bytes: number) => aesGcm({ key: keyOf(bytes), random, onNonce: ignore }), [8, 15, 33, 64]],
  ['AES-CBC', (bytes: number) => aesCbc({ key: keyOf(bytes), random }), [16, 24, 31]],
] as const)('%s refuses keys of other lengths', (_, make, lengths) => {
  for (const bytes of lengths) expect(() => make(bytes)).toThrow(RangeError);
});

test('secretbox refuses keys of other lengths', async () => {
  await expect(secretbox({ key: Buffer.alloc(31), random })).rejects.toThrow(RangeError);
});

test('identity does not read encrypted values', () => {
  expect(() => identity.fromStorage(Buffer.from('k8s:enc:aesgcm:v1:a:xyz'), key)).toThrow('is encrypted');
  expect(identity.fromStorage(Buffer.from('k8s'), key).value.toString()).toBe('k8s');
});

describe('with several providers', () => {
  const [a, b] = [gcm('a'), gcm('b')];

  test('the first one writes, with its prefix', async () => {
    const value = await written(prefixTransformer([b, a]));
    expect(value.toString('latin1').startsWith('k8s:enc:aesgcm:v1:b:')).toBe(true);
  });

  test('each one reads its own values, and those not written by the first are stale', async () => {
    for (const [by, stale] of [
      [a, true],
      [b, false],
      [identityProvider, true],
    ] as const)
      expect(
        await prefixTransformer([b, a, identityProvider]).fromStorage(await written(prefixTransformer([by])), key),
      ).toEqual({
        value: object,
        stale,
      });
  });

  test('all with a matching prefix are tried, synchronous or not, until one reads the value', async () => {
    const same = { prefix: a.prefix, transformer: b.transformer };
    const value = await written(prefixTransformer([a]));
    for (const first of [same, { ...same, transformer: later(same.transformer) }])
      expect(await prefixTransformer([identityProvider, first, a]).fromStorage(value, key)).toEqual({
        value: object,
        stale: true,
      });
  });

  test('a value of another provider is refused, and the error names its prefix only', async () => {
    const value = Buffer.from('k8s:enc:aescbc:v1:old:secret');
    expect(() => prefixTransformer([a, identityProvider]).fromStorage(value, key)).toThrow(
      new Error('the value begins with "k8s:enc:aescbc:v1:old:": no configured provider has this prefix'),
    );
    expect(() => prefixTransformer([a]).fromStorage(object, key)).toThrow('the value has no prefix that is known');
  });

  test('a value that its provider cannot decrypt has another error than one without a provider', async () => {
    const value = await written(prefixTransformer([{ ...a, transformer: b.transformer }]));
    expect(() => prefixTransformer([a, identityProvider]).fromStorage(value, key)).toThrow(
      'its provider cannot decrypt it',
    );
  });

  test('a prefix with a flipped bit matches none of them', async () => {
    const value = await written(prefixTransformer([a]));
    for (let bit = 0; bit < a.prefix.length * 8; bit++) {
      const flipped = Buffer.from(value);
      flipped.writeUInt8(flipped.readUInt8(bit >> 3) ^ (1 << (bit & 7)), bit >> 3);
      expect(() => prefixTransformer([a, b]).fromStorage(flipped, key)).toThrow();
    }
  });
});

test('AES-GCM reads a value of kube-apiserver', () => {
  const recorded = '9f27c8fcea8a58c467d8e437dbf2d85955f9b4bd912f4ef967d788a0cb07797dac0a3f0a0845605ca85ac8562b4ae1';
  const transformer = aesGcm({ key: createSecretKey(Buffer.from('snorlax_awesomes')), random, onNonce: ignore });
  const { value } = transformer.fromStorage(Buffer.from(recorded, 'hex'), 'bamboo');
  expect(value.toString()).toBe('pandas are the best');
});

test('secretbox reads the published test vector', async () => {
  const { key: vectorKey, nonce, message, box } = vector;
  const transformer = await secretbox({ key: Buffer.from(vectorKey, 'hex'), random });
  const { value } = transformer.fromStorage(Buffer.from(nonce + box, 'hex'), key);
  expect(value.toString('hex')).toBe(message);
});

/** From the tests of NaCl. */
const vector = {
  key: '1b27556473e985d462cd51197a9a46c76009549eac6474f206c4ee0844f68389',
  nonce: '69696ee955b62b73cd62bda875fc73d68219e0036b7a0b37',
  message:
    'be075fc53c81f2d5cf141316ebeb0c7b5228c52a4c62cbd44b66849b64244ffce5ecbaaf33bd751a1ac728d45e6c61296cdc3c01233561f41db66cce314adb310e3be8250c46f06dceea3a7fa1348057e2f6556ad6b1318a024a838f21af1fde048977eb48f59ffd4924ca1c60902e52f0a089bc76897040e082f937763848645e0705',
  box: 'f3ffc7703f9400e52a7dfb4b3d3305d98e993b9f48681273c29650ba32fc76ce48332ea7164d96a4476fb8c531a1186ac0dfc17c98dce87b4da7f011ec48c97271d2c20f9b928fe2270d6fb863d51738b48eeee314a7cc8ab932164548e526ae90224368517acfeabd6bb3732bc0e9da99832b61ca01b6de56244a9e88d5f9b37973f622a43d14a6599b1f654cb45a74e355a5',
};

const writes = repetitions({ ci: 10_000, soak: 100_000 });

test(`no nonce repeats in ${writes} writes`, async () => {
  const transformers: readonly (readonly [SyncTransformer, number])[] = [
    [aesGcm({ key: keyOf(32), random, onNonce: ignore }), 12],
    [await secretbox({ key: Buffer.alloc(32), random }), 24],
    [aesCbc({ key: keyOf(32), random }), 16],
  ];
  for (const [transformer, nonceBytes] of transformers) {
    const nonces = new Set<string>();
    for (let n = 0; n < writes; n++)
      nonces.add(Buffer.concat(transformer.toStorage(Buffer.from('x'), key)).toString('hex', 0, nonceBytes));
    expect(nonces.size).toBe(writes);
  }
});

test('each nonce is counted', () => {
  let drawn = 0;
  const transformer = aesGcm({ key: keyOf(32), random, onNonce: () => drawn++ });
  for (let n = 0; n < 10; n++) transformer.toStorage(object, key);
  expect(drawn).toBe(10);
});

test('a warning comes long before the limit of nonces, and again whenever their number has doubled', () => {
  const warnings: number[] = [];
  const spend = nonceBudget((drawn) => warnings.push(drawn));
  for (let n = 0; n < 2 ** 29; n++) spend();
  expect(warnings).toEqual([2 ** 28, 2 ** 29]);
});
