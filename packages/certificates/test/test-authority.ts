import { X509Certificate as OpenSslCertificate } from 'node:crypto';
import { requireValue, systemClock, systemRandom } from '@cluster-apiserver/base';
import { encodeSequence } from '../src/der-writer.ts';
import {
  encodeAlternativeNames,
  encodeBasicConstraints,
  encodeExtendedKeyUsage,
  encodeExtension,
  encodeKeyUsage,
  extendedKeyUsages,
  keyUsages,
  toName,
} from '../src/extensions.ts';
import { issueCertificate, openIssuer } from '../src/issue.ts';
import { type Credentials, encodePublicKey, exportKey, generateKeyPair, type KeyPair } from '../src/keys.ts';
import { attributes, encodeName } from '../src/names.ts';

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
  readonly subject: NameParts;
  /** From now; negative for the past. */
  readonly validHours?: readonly [from: number, to: number];
  readonly usages?: readonly string[];
  /** Names and addresses of a server. */
  readonly hosts?: readonly string[];
  readonly authority?: boolean;
  readonly pathLength?: number;
  /** Bits. */
  readonly keyUsage?: number;
  /** Those of another one; new ones otherwise. */
  readonly keys?: KeyPair;
  /** Numbers of extensions that are unknown, or that mean too much. */
  readonly criticalExtensions?: readonly string[];
}

export type NameParts = readonly (readonly [part: string, value: string])[];

export const serverUsage: string = extendedKeyUsages.serverAuth;
export const { digitalSignature } = keyUsages;

const parts: ReadonlyMap<string, string> = new Map([
  ['CN', attributes.commonName],
  ['O', attributes.organization],
  ['OU', attributes.unit],
  ['E', '1.2.840.113549.1.9.1'],
]);

/** A part is one of these letters, or an object identifier. */
export const nameOf = (subject: NameParts): Buffer =>
  encodeName(
    subject.map(([part, value]) => [part.includes('.') ? part : requireValue(parts.get(part)), value] as const),
  );

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
  const { validHours: [from, to] = [-1, 1], usages = [extendedKeyUsages.clientAuth], authority = false } = wanted;
  const keys = wanted.keys ?? (await generateKeyPair());
  const subject = nameOf(wanted.subject);
  const by = issuer ? openIssuer(issuer) : { encodedName: subject, key: keys.privateKey, keyId: undefined };
  const issued = await issueCertificate(
    by,
    {
      subject,
      publicKey: encodePublicKey(keys.publicKey),
      notBeforeMs: systemClock.now() + from * hourMs,
      notAfterMs: systemClock.now() + to * hourMs,
      extensions: [
        encodeBasicConstraints(authority, wanted.pathLength),
        ...encodeKeyUsage(wanted.keyUsage ?? 0),
        ...encodeExtendedKeyUsage(usages),
        ...encodeAlternativeNames((wanted.hosts ?? []).map(toName)),
        ...(wanted.criticalExtensions ?? []).map((type) => encodeExtension(type, true, encodeSequence())),
      ],
    },
    systemRandom(),
  );
  return { certificate: issued, privateKey: exportKey(keys.privateKey) };
}

/** As TLS gives them. */
export const derOf = (pem: string): Buffer[] =>
  (pem.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g) ?? []).map(
    (block) => new OpenSslCertificate(block).raw,
  );
