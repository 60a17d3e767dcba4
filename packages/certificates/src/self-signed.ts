import type { Clock, Random } from '@cluster-apiserver/base';
import { createServerExtensions, type CertificateNames } from './extensions.ts';
import { type Credentials, exportKey, generateKeyPair } from './keys.ts';
import { createSerialNumber, createValidity } from './validity.ts';
import { X509CertificateGenerator } from './x509.ts';

/** A year. Clients cannot verify it anyway, so the expiration only reminds operators to configure a real certificate. */
const lifetimeDays = 365;

/** Creates a self-signed server certificate, for a server without a configured one. */
export async function createSelfSigned(names: CertificateNames, clock: Clock, random: Random): Promise<Credentials> {
  const keys = await generateKeyPair();
  const certificate = await X509CertificateGenerator.createSelfSigned({
    ...createValidity(lifetimeDays, clock),
    serialNumber: createSerialNumber(random),
    name: [{ CN: [names.commonName] }],
    keys,
    extensions: await createServerExtensions(names, keys.publicKey, keys.publicKey),
  });
  return { certificate: certificate.toString('pem'), privateKey: await exportKey(keys.privateKey) };
}
