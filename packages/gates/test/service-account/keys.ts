import { generateKeyPairSync } from 'node:crypto';
import { type ServiceAccountKeys, createServiceAccountKeys, parseSigningKey } from '../../src/index.ts';

/** Private keys as PEM, made once for all tests of a file: those of RSA take their time. */
export const rsaKey = (bits = 2048): string => pem(generateKeyPairSync('rsa', { modulusLength: bits }).privateKey);
export const ecKey = (namedCurve = 'P-256'): string => pem(generateKeyPairSync('ec', { namedCurve }).privateKey);

const pem = (key: ReturnType<typeof generateKeyPairSync>['privateKey']): string =>
  (key as unknown as { export(form: object): string }).export({ type: 'pkcs8', format: 'pem' }); // a KeyObject when no encoding is given

export const keysOf = (privateKey: string): Promise<ServiceAccountKeys> =>
  createServiceAccountKeys(parseSigningKey(privateKey), []);
