import { X509Certificate } from 'node:crypto';
import { pemBlocks } from '@cluster-apiserver/base';
import type { ServingCertificate } from '@cluster-apiserver/pipeline';
import type { FlagFile } from '../files/flag-files.ts';
import { requireCertificates } from '../files/pem-files.ts';
import type { FlagFileReader } from '../files/startup-files.ts';

/** Loads the certificates of --root-ca-file; undefined if the flag is not set. */
export async function loadRootCertificates(
  file: FlagFile | undefined,
  { read }: FlagFileReader,
): Promise<string | undefined> {
  if (!file) return undefined;
  const content = await read(file, { kind: 'certificates' });
  requireCertificates(file, content);
  return content.toString();
}

/** The last certificate of the chain, if it is self-signed. */
export function findRootCertificate({ cert }: ServingCertificate): string | undefined {
  const last = pemBlocks(cert.toString()).findLast(({ label }) => label === 'CERTIFICATE');
  if (!last) return undefined;
  const certificate = new X509Certificate(last.text);
  return certificate.verify(certificate.publicKey) ? `${last.text}\n` : undefined;
}
