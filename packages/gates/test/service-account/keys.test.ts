import { createHash, createPrivateKey, createPublicKey, generateKeyPairSync } from 'node:crypto';
import { describe, expect, test } from '@jest/globals';
import { createAuthority } from '@cluster-apiserver/certificates';
import { seededRandom, systemClock } from '@cluster-apiserver/base';
import {
  createKeySet,
  createServiceAccountKeys,
  parseSigningKey,
  UnusableKeyError,
  parseVerifyingKeys,
} from '../../src/index.ts';
import { ecKey, rsaKey } from './keys.ts';

const [rsa, ec] = [rsaKey(), ecKey()];
const again = (pem: string, type: 'pkcs1' | 'sec1'): string =>
  createPrivateKey(pem).export({ type, format: 'pem' }).toString();
const publicHalf = (pem: string): string => createPublicKey(pem).export({ type: 'spki', format: 'pem' }).toString();
const keyId = (pem: string): string =>
  createHash('sha256')
    .update(createPublicKey(pem).export({ type: 'spki', format: 'der' }))
    .digest('base64url');
// What `openssl ecparam -genkey` writes before the key.
const parameters = '-----BEGIN EC PARAMETERS-----\nBggqhkjOPQMBBw==\n-----END EC PARAMETERS-----\n';

describe('a signing key', () => {
  test.each([
    ['PKCS #8', rsa, rsa, 'RS256'],
    ['PKCS #1', again(rsa, 'pkcs1'), rsa, 'RS256'],
    ['SEC 1 behind its parameters', parameters + again(ec, 'sec1'), ec, 'ES256'],
    ['a file with a public key before it', publicHalf(rsa) + ec, ec, 'ES256'],
    ['P-384', ecKey('P-384'), undefined, 'ES384'],
    ['P-521', ecKey('P-521'), undefined, 'ES512'],
  ])('is read from %s', (_, pem, key, alg) => {
    expect(parseSigningKey(pem)).toMatchObject({ alg, kid: keyId(key ?? pem) });
  });

  test.each([
    ['nothing', '', 'no private key'],
    ['a public key', publicHalf(rsa), 'no private key'],
    ['what is no PEM', 'hush', 'no private key'],
    ['a broken one', rsa.replace(/\n[^-]+/, '\nhush\n'), 'cannot be read'],
    ['an encrypted one', encrypted(rsa), 'cannot be read'],
    ['RSA with too few bits', rsaKey(1024), 'at least 2048 bits'],
    ['another curve', ecKey('secp256k1'), 'P-256'],
    ['Ed25519', generateKeyPairSync('ed25519').privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(), 'RSA'],
  ])('is not %s', (_, pem, message) => {
    expect(() => parseSigningKey(pem)).toThrow(UnusableKeyError);
    expect(() => parseSigningKey(pem)).toThrow(message);
    expect(() => parseSigningKey(pem)).not.toThrow('hush');
  });
});

function encrypted(pem: string): string {
  return createPrivateKey(pem)
    .export({ type: 'pkcs8', format: 'pem', cipher: 'aes-256-cbc', passphrase: 'hush' })
    .toString();
}

test('verification keys are read from private keys, public keys and certificates, any number per file', async () => {
  const { certificate } = await createAuthority('somebody', systemClock, seededRandom(1));
  const found = await parseVerifyingKeys(`${rsa}# a remark\n${publicHalf(ec)}${parameters}${certificate}`);
  expect(found.map(({ kid }) => kid)).toEqual([keyId(rsa), keyId(ec), keyId(certificate)]);
  await expect(parseVerifyingKeys('')).rejects.toThrow('there is no key in it');
});

test('the published JWKS has each public key once, that of the signing key first, and nothing private', async () => {
  const others = [...(await parseVerifyingKeys(ec)), ...(await parseVerifyingKeys(rsa))];
  const { keys } = createKeySet(await createServiceAccountKeys(parseSigningKey(rsa), others));
  expect(keys).toEqual([
    { kty: 'RSA', use: 'sig', alg: 'RS256', kid: keyId(rsa), n: expect.any(String), e: 'AQAB' },
    { kty: 'EC', use: 'sig', alg: 'ES256', kid: keyId(ec), crv: 'P-256', x: expect.any(String), y: expect.any(String) },
  ]);
});
