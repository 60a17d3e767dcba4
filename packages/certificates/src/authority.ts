import type { Clock, Random } from '@cluster-apiserver/base';
import {
  type CertificateNames,
  encodeBasicConstraints,
  encodeKeyUsage,
  encodeSubjectKey,
  keyUsages,
} from './extensions.ts';
import { issueCertificate, openIssuer } from './issue.ts';
import { type Credentials, encodePublicKey, exportKey, generateKeyPair } from './keys.ts';
import { leafExtensions } from './leaf.ts';
import { attributes, encodeCommonName, encodeName } from './names.ts';
import { createValidity } from './validity.ts';

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
const leafLifetimeDays = 365;

export async function createAuthority(name: string, clock: Clock, random: Random): Promise<CertificateAuthority> {
  const keys = await generateKeyPair();
  const subject = encodeCommonName(name);
  const publicKey = encodePublicKey(keys.publicKey);
  const certificate = await issueCertificate(
    { encodedName: subject, key: keys.privateKey, keyId: undefined },
    {
      ...createValidity(authorityLifetimeDays, clock),
      subject,
      publicKey,
      extensions: [
        // It signs leaves only.
        encodeBasicConstraints(true, 0),
        ...encodeKeyUsage(keyUsages.keyCertSign + keyUsages.crlSign),
        encodeSubjectKey(publicKey),
      ],
    },
    random,
  );
  return openAuthority({ certificate, privateKey: exportKey(keys.privateKey) }, clock, random);
}

/** Opens an existing CA. Throws if certificate and key do not belong together. */
export function openAuthority(authority: Credentials, clock: Clock, random: Random): CertificateAuthority {
  const issuer = openIssuer(authority);
  const issue = async (
    use: Parameters<typeof leafExtensions>[0],
    subject: Buffer,
    hosts: readonly string[] = [],
  ): Promise<Credentials> => {
    const keys = await generateKeyPair();
    const publicKey = encodePublicKey(keys.publicKey);
    const extensions = leafExtensions(use, publicKey, hosts);
    const content = { ...createValidity(leafLifetimeDays, clock), subject, publicKey, extensions };
    return {
      certificate: await issueCertificate(issuer, content, random),
      privateKey: exportKey(keys.privateKey),
    };
  };
  return {
    ...authority,
    issueForServer: ({ commonName, hosts }) => issue('server', encodeCommonName(commonName), hosts),
    issueForPeer: ({ commonName, hosts }) => issue('peer', encodeCommonName(commonName), hosts),
    issueForClient: ({ user, groups }) =>
      issue(
        'client',
        encodeName([
          ...groups.map((group) => [attributes.organization, group] as const),
          [attributes.commonName, user],
        ]),
      ),
  };
}
