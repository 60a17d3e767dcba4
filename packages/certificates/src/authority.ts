import type { Clock, Random } from '@cluster-apiserver/base';
import type { webcrypto } from 'node:crypto';
import { forAuthority, forClient, forPeer, forServer, type Names } from './extensions.ts';
import { type Credentials, exportKey, importKey, newKeys } from './keys.ts';
import { serialNumber, validity } from './validity.ts';
import { type Extension, type JsonName, X509Certificate, X509CertificateGenerator } from './x509.ts';

/** Signs certificates that everybody who trusts its own certificate trusts too. */
export interface CertificateAuthority extends Credentials {
  issueForServer(names: Names): Promise<Credentials>;
  /** For a member of a cluster of servers, which is a client of the others. */
  issueForPeer(names: Names): Promise<Credentials>;
  issueForClient(subject: ClientSubject): Promise<Credentials>;
}

export interface ClientSubject {
  readonly user: string;
  readonly groups: readonly string[];
}

/** Ten years: whoever trusts a local authority has it in a kubeconfig, and would have to fetch it again. */
const authorityLifetimeDays = 3650;
/** The longest that common clients accept for a server is 398 days; a year keeps clear of it. */
const serverLifetimeDays = 365;
/** A kubeconfig with a client certificate lives as long as the certificates of the servers that it is for. */
const clientLifetimeDays = 365;

export async function createAuthority(name: string, clock: Clock, random: Random): Promise<CertificateAuthority> {
  const keys = await newKeys();
  const certificate = await X509CertificateGenerator.createSelfSigned({
    ...validity(authorityLifetimeDays, clock),
    serialNumber: serialNumber(random),
    name: [{ CN: [name] }],
    keys,
    extensions: await forAuthority(keys.publicKey),
  });
  return openAuthority(
    { certificate: certificate.toString('pem'), privateKey: await exportKey(keys.privateKey) },
    clock,
    random,
  );
}

/** An authority that was created earlier. Throws when the two do not belong together. */
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
    const keys = await newKeys();
    const issued = await X509CertificateGenerator.create({
      ...validity(lifetimeDays, clock),
      serialNumber: serialNumber(random),
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
      issue([{ CN: [names.commonName] }], serverLifetimeDays, (key) => forServer(names, key, certificate.publicKey)),
    issueForPeer: (names) =>
      issue([{ CN: [names.commonName] }], serverLifetimeDays, (key) => forPeer(names, key, certificate.publicKey)),
    issueForClient: ({ user, groups }) =>
      issue([...groups.map((group) => ({ O: [group] })), { CN: [user] }], clientLifetimeDays, (key) =>
        forClient(key, certificate.publicKey),
      ),
  };
}
