import type { Clock, Random } from '@cluster-apiserver/base';
import { forAuthority, forServer, type Names } from './extensions.ts';
import { type Credentials, exportKey, importKey, newKeys } from './keys.ts';
import { serialNumber, validity } from './validity.ts';
import { X509Certificate, X509CertificateGenerator } from './x509.ts';

/** Signs certificates that everybody who trusts its own certificate trusts too. */
export interface CertificateAuthority extends Credentials {
  issueForServer(names: Names): Promise<Credentials>;
}

/** Ten years: whoever trusts a local authority has it in a kubeconfig, and would have to fetch it again. */
const authorityLifetimeDays = 3650;
/** The longest that common clients accept for a server is 398 days; a year keeps clear of it. */
const serverLifetimeDays = 365;

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
  return {
    ...authority,
    issueForServer: async (names) => {
      const keys = await newKeys();
      const issued = await X509CertificateGenerator.create({
        ...validity(serverLifetimeDays, clock),
        serialNumber: serialNumber(random),
        subject: [{ CN: [names.commonName] }],
        issuer: certificate.subjectName,
        publicKey: keys.publicKey,
        signingKey,
        extensions: await forServer(names, keys.publicKey, certificate.publicKey),
      });
      return { certificate: issued.toString('pem'), privateKey: await exportKey(keys.privateKey) };
    },
  };
}
