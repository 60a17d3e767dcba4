import { systemClock, systemRandom } from '@cluster-apiserver/base';
import { type webcrypto, X509Certificate as OpenSslCertificate } from 'node:crypto';
import { toGeneralName } from '../src/extensions.ts';
import { type Credentials, exportKey, importKey, generateKeyPair } from '../src/keys.ts';
import { createSerialNumber } from '../src/validity.ts';
import {
  BasicConstraintsExtension,
  ExtendedKeyUsage,
  ExtendedKeyUsageExtension,
  Extension,
  KeyUsageFlags,
  KeyUsagesExtension,
  SubjectAlternativeNameExtension,
  X509Certificate,
  X509CertificateGenerator,
} from '../src/x509.ts';

/** An authority that issues whatever a test wants, good or bad. */
export interface TestAuthority extends Credentials {
  issue(wanted: Wanted): Promise<Issued>;
  /** One below this one. */
  intermediate(name: string, wanted?: Partial<Wanted>): Promise<TestAuthority>;
}

export interface Issued extends Credentials {
  /** With those between it and the authority that stands above all: what a client shows. */
  readonly chain: string;
}

export interface Wanted {
  /** Parts of the subject in their order, such as `['CN', 'ann']`. */
  readonly subject: readonly (readonly [part: string, value: string])[];
  /** From now; negative for the past. */
  readonly validHours?: readonly [from: number, to: number];
  readonly usages?: readonly string[];
  /** Names and addresses of a server. */
  readonly hosts?: readonly string[];
  readonly authority?: boolean;
  readonly pathLength?: number;
  readonly keyUsage?: KeyUsageFlags;
  /** Those of another one; new ones otherwise. */
  readonly keys?: webcrypto.CryptoKeyPair;
  /** Numbers of extensions that are unknown, or that mean too much. */
  readonly criticalExtensions?: readonly string[];
}

export const serverUsage: string = ExtendedKeyUsage.serverAuth;
export const { digitalSignature } = KeyUsageFlags;

export const testAuthority = (name: string, wanted: Partial<Wanted> = {}): Promise<TestAuthority> =>
  made({ subject: [['CN', name]], authority: true, usages: [], ...wanted }, undefined);

async function made(
  wanted: Wanted,
  issuer: (Credentials & { readonly above: string }) | undefined,
): Promise<TestAuthority> {
  const own = await certificate(wanted, issuer);
  const above = issuer ? own.certificate + issuer.above : '';
  return {
    ...own,
    issue: async (other) => {
      const issued = await certificate(other, own);
      return { ...issued, chain: issued.certificate + above };
    },
    intermediate: (name, other) =>
      made({ subject: [['CN', name]], authority: true, usages: [], ...other }, { ...own, above }),
  };
}

const hourMs = 3_600_000;

async function certificate(wanted: Wanted, issuer: Credentials | undefined): Promise<Credentials> {
  const {
    subject,
    validHours: [from, to] = [-1, 1],
    usages = [ExtendedKeyUsage.clientAuth],
    authority = false,
  } = wanted;
  const keys = wanted.keys ?? (await generateKeyPair());
  const name = subject.map(([part, value]) => ({ [part]: [value] }));
  const issued = await X509CertificateGenerator.create({
    serialNumber: createSerialNumber(systemRandom()),
    notBefore: new Date(systemClock.now() + from * hourMs),
    notAfter: new Date(systemClock.now() + to * hourMs),
    subject: name,
    issuer: issuer ? new X509Certificate(issuer.certificate).subjectName : name,
    publicKey: keys.publicKey,
    signingKey: issuer ? await importKey(issuer) : keys.privateKey,
    extensions: [
      new BasicConstraintsExtension(authority, wanted.pathLength, true),
      ...(wanted.keyUsage === undefined ? [] : [new KeyUsagesExtension(wanted.keyUsage, true)]),
      ...(usages.length > 0 ? [new ExtendedKeyUsageExtension([...usages])] : []),
      ...(wanted.hosts ? [new SubjectAlternativeNameExtension(wanted.hosts.map(toGeneralName))] : []),
      ...(wanted.criticalExtensions ?? []).map((type) => new Extension(type, true, Buffer.from('3000', 'hex'))),
    ],
  });
  return { certificate: `${issued.toString('pem')}\n`, privateKey: await exportKey(keys.privateKey) };
}

/** As TLS gives them. */
export const derOf = (pem: string): Buffer[] =>
  (pem.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g) ?? []).map(
    (block) => new OpenSslCertificate(block).raw,
  );
