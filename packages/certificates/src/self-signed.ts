import type { Clock, Random } from '@cluster-apiserver/base';
import { type CertificateNames, keyIdOf } from './extensions.ts';
import { issueCertificate } from './issue.ts';
import { type Credentials, encodePublicKey, exportKey, generateKeyPair } from './keys.ts';
import { leafExtensions } from './leaf.ts';
import { encodeCommonName } from './names.ts';
import { createValidity } from './validity.ts';

/** A year. Clients cannot verify it anyway, so the expiration only reminds operators to configure a real certificate. */
const lifetimeDays = 365;

/** Creates a self-signed server certificate, for a server without a configured one. */
export async function createSelfSigned(
  { commonName, hosts }: CertificateNames,
  clock: Clock,
  random: Random,
): Promise<Credentials> {
  const keys = await generateKeyPair();
  const publicKey = encodePublicKey(keys.publicKey);
  const subject = encodeCommonName(commonName);
  const certificate = await issueCertificate(
    { encodedName: subject, key: keys.privateKey, keyId: keyIdOf(publicKey) },
    {
      ...createValidity(lifetimeDays, clock),
      subject,
      publicKey,
      extensions: leafExtensions('server', publicKey, hosts),
    },
    random,
  );
  return { certificate, privateKey: exportKey(keys.privateKey) };
}
