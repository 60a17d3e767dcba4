import { X509Certificate } from 'node:crypto';
import { pemBlocks } from '@cluster-apiserver/base';
import type { ServingCertificate } from '@cluster-apiserver/pipeline';
import type { FlagFile } from '../files/flag-files.ts';
import type { Followed } from '../files/follow-files.ts';
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

/** With which clients verify this server: those of the flag, or the root that the serving certificate contains, if any. */
export async function openRootCertificates(
  file: FlagFile | undefined,
  serving: Followed<ServingCertificate>,
  reader: FlagFileReader,
): Promise<() => string | undefined> {
  const given = await loadRootCertificates(file, reader);
  if (given !== undefined) return () => given;
  let root = findRoot(serving.current());
  serving.onChange(() => (root = findRoot(serving.current())));
  return () => root;
}

/** The last certificate of the chain, if it is self-signed. */
function findRoot({ cert }: ServingCertificate): string | undefined {
  const last = pemBlocks(cert.toString()).findLast(({ label }) => label === 'CERTIFICATE');
  if (!last) return undefined;
  const certificate = new X509Certificate(last.text);
  return certificate.verify(certificate.publicKey) ? `${last.text}\n` : undefined;
}
