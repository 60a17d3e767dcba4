import type { Clock, Random } from '@cluster-apiserver/base';
import { forServer, type Names } from './extensions.ts';
import { type Credentials, exportKey, newKeys } from './keys.ts';
import { serialNumber, validity } from './validity.ts';
import { X509CertificateGenerator } from './x509.ts';

/** A year: nobody checks it against an authority, so its end only reminds the operator to give the server a real one. */
const lifetimeDays = 365;

/** A server certificate that vouches for itself, for a server that was given none. */
export async function selfSigned(names: Names, clock: Clock, random: Random): Promise<Credentials> {
  const keys = await newKeys();
  const certificate = await X509CertificateGenerator.createSelfSigned({
    ...validity(lifetimeDays, clock),
    serialNumber: serialNumber(random),
    name: [{ CN: [names.commonName] }],
    keys,
    extensions: await forServer(names, keys.publicKey, keys.publicKey),
  });
  return { certificate: certificate.toString('pem'), privateKey: await exportKey(keys.privateKey) };
}
