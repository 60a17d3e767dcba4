import type { Clock, Random } from '@cluster-apiserver/base';
import type { webcrypto } from 'node:crypto';
import {
  createAuthorityExtensions,
  createClientExtensions,
  createPeerExtensions,
  createServerExtensions,
  type CertificateNames,
} from './extensions.ts';
import { type Credentials, exportKey, importKey, generateKeyPair } from './keys.ts';
import { createSerialNumber, createValidity } from './validity.ts';
import { type Extension, type JsonName, X509Certificate, X509CertificateGenerator } from './x509.ts';

/** A CA that issues certificates. */
export interface CertificateAuthority extends Credentials {
  issueForServer(names: CertificateNames): Promise<Credentials>;
  /** For a member of a cluster, which is both server and client. */
  issueForPeer(names: CertificateNames): Promise<Credentials>;
  issueForClient(subject: ClientSubject): Promise<Credentials>;
}

export interface ClientSubject {
  readonly user: string;
  readonly groups: readonly string[];
}

/** Ten years: copies of the CA certificate are in kubeconfigs, which would have to be replaced. */
const authorityLifetimeDays = 3650;
/** A year: common clients accept at most 398 days for a server certificate. */
const serverLifetimeDays = 365;
/** The same lifetime as server certificates. */
const clientLifetimeDays = 365;

export async function createAuthority(name: string, clock: Clock, random: Random): Promise<CertificateAuthority> {
  const keys = await generateKeyPair();
  const certificate = await X509CertificateGenerator.createSelfSigned({
    ...createValidity(authorityLifetimeDays, clock),
    serialNumber: createSerialNumber(random),
    name: [{ CN: [name] }],
    keys,
    extensions: await createAuthorityExtensions(keys.publicKey),
  });
  return openAuthority(
    { certificate: certificate.toString('pem'), privateKey: await exportKey(keys.privateKey) },
    clock,
    random,
  );
}

/** Opens an existing CA. Throws if certificate and key do not belong together. */
export async function openAuthority(
  authority: Credentials,
  clock: Clock,
  random: Random,
): Promise<CertificateAuthority> {
  const certificate = new X509Certificate(authority.certificate);
  const signingKey = await importKey(authority);
  const issue = async (
    subject: JsonName,
    lifetimeDays: number,
    extensions: (publicKey: webcrypto.CryptoKey) => Promise<Extension[]>,
  ): Promise<Credentials> => {
    const keys = await generateKeyPair();
    const issued = await X509CertificateGenerator.create({
      ...createValidity(lifetimeDays, clock),
      serialNumber: createSerialNumber(random),
      subject,
      issuer: certificate.subjectName,
      publicKey: keys.publicKey,
      signingKey,
      extensions: await extensions(keys.publicKey),
    });
    return { certificate: issued.toString('pem'), privateKey: await exportKey(keys.privateKey) };
  };
  return {
    ...authority,
    issueForServer: (names) =>
      issue([{ CN: [names.commonName] }], serverLifetimeDays, (key) =>
        createServerExtensions(names, key, certificate.publicKey),
      ),
    issueForPeer: (names) =>
      issue([{ CN: [names.commonName] }], serverLifetimeDays, (key) =>
        createPeerExtensions(names, key, certificate.publicKey),
      ),
    issueForClient: ({ user, groups }) =>
      issue([...groups.map((group) => ({ O: [group] })), { CN: [user] }], clientLifetimeDays, (key) =>
        createClientExtensions(key, certificate.publicKey),
      ),
  };
}
