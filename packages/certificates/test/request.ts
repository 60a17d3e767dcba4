/** Requests for certificates, written by the library. */
import '../src/x509.ts';
import { webcrypto } from 'node:crypto';
import {
  Extension,
  Pkcs10CertificateRequestGenerator,
  SubjectAlternativeNameExtension,
  type JsonGeneralNames,
} from '@peculiar/x509';
import { exportKey } from '../src/keys.ts';

export interface WantedRequest {
  /** Parts of the subject in their order, such as `['CN', 'ann']`; a part may be an object identifier. */
  readonly subject: readonly (readonly [part: string, value: string])[];
  readonly alternativeNames?: JsonGeneralNames;
  /** The value of the extension instead of names. */
  readonly malformedNames?: Buffer;
  readonly algorithm?: keyof typeof algorithms;
}

const rsaOf = (modulusLength: number) => ({
  name: 'RSASSA-PKCS1-v1_5',
  hash: 'SHA-256',
  modulusLength,
  publicExponent: new Uint8Array([1, 0, 1]),
});

const algorithms = {
  'P-256': { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' },
  'P-384': { name: 'ECDSA', namedCurve: 'P-384', hash: 'SHA-384' },
  RSA: rsaOf(2048),
  'RSA-512': rsaOf(512),
  Ed25519: { name: 'Ed25519' },
} as const;

/** Request and private key, both in PEM. */
export async function createRequest(
  wanted: WantedRequest,
): Promise<{ readonly request: string; readonly privateKey: string }> {
  const { subject, alternativeNames, malformedNames, algorithm = 'P-256' } = wanted;
  const signingAlgorithm = algorithms[algorithm];
  const keys = (await webcrypto.subtle.generateKey(signingAlgorithm, true, [
    'sign',
    'verify',
  ])) as webcrypto.CryptoKeyPair;
  const made = await Pkcs10CertificateRequestGenerator.create({
    name: subject.map(([part, value]) => ({ [part]: [value] })),
    keys,
    signingAlgorithm,
    extensions: [
      ...(alternativeNames ? [new SubjectAlternativeNameExtension(alternativeNames)] : []),
      ...(malformedNames ? [new Extension('2.5.29.17', false, malformedNames)] : []),
    ],
  });
  return { request: `${made.toString('pem')}\n`, privateKey: await exportKey(keys.privateKey) };
}
