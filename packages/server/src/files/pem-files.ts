import { createPrivateKey } from 'node:crypto';
import { holdsCertificates } from '@cluster-apiserver/config';
import { checkCertificate, type ServingCertificate } from '@cluster-apiserver/pipeline';
import { asError } from '../as-error.ts';
import type { Files } from '../environment.ts';
import { FlagError } from '../flags/flag.ts';
import type { ServerFlags } from '../flags/flags.ts';
import { readFlagFile } from './flag-files.ts';

/** Reads a certificate and its key. Throws a FlagError that names what is wrong with which file. */
export async function loadCertificatePair(
  [certFlag, keyFlag]: readonly ['tls-cert-file' | 'etcd-certfile', 'tls-private-key-file' | 'etcd-keyfile'],
  flags: ServerFlags,
  files: Files,
): Promise<ServingCertificate> {
  const [cert, key] = await collectFaults([readFlagFile(certFlag, flags, files), readFlagFile(keyFlag, flags, files)]);
  if (!cert || !key) throw new FlagError([`--${certFlag} and --${keyFlag} go together`]);
  const faults = [
    ...(holdsCertificates(cert.toString()) ? [] : [`--${certFlag}: ${flags[certFlag]} holds no certificate in PEM`]),
    ...(isPrivateKey(key) ? [] : [`--${keyFlag}: ${flags[keyFlag]} holds no private key in PEM`]),
  ];
  if (faults.length > 0) throw new FlagError(faults);
  try {
    checkCertificate({ cert, key });
  } catch {
    throw new FlagError([`--${keyFlag}: the key is not that of the certificate of --${certFlag}`]);
  }
  return { cert, key };
}

/** All results, or one FlagError with the faults of all that failed. */
async function collectFaults<T>(reads: readonly Promise<T>[]): Promise<readonly T[]> {
  const settled = await Promise.allSettled(reads);
  const failed = settled.flatMap((one) => (one.status === 'rejected' ? [asError(one.reason)] : []));
  if (failed.length > 0) throw new FlagError(failed.map(({ message }) => message));
  return settled.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []));
}

/** Throws a FlagError for a file without certificates, which would trust no server, or all that the system trusts. */
export async function loadCertificates(
  flag: 'etcd-cafile' | 'oidc-ca-file',
  flags: ServerFlags,
  files: Files,
): Promise<Buffer | undefined> {
  const content = await readFlagFile(flag, flags, files);
  if (content && !holdsCertificates(content.toString()))
    throw new FlagError([`--${flag}: ${flags[flag]} holds no certificates in PEM`]);
  return content;
}

function isPrivateKey(pem: Buffer): boolean {
  try {
    createPrivateKey(pem);
    return true;
  } catch {
    return false; // the message of OpenSSL could reveal a part of the key
  }
}
