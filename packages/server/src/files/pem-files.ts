import { createPrivateKey } from 'node:crypto';
import { holdsCertificates } from '@cluster-apiserver/config';
import { checkCertificate, type ServingCertificate } from '@cluster-apiserver/pipeline';
import { FlagError } from '../flags/flag.ts';
import { type FlagFile, fileOf } from './flag-files.ts';

/** A certificate with its chain, and its private key. */
export interface CertificateFiles {
  readonly cert: FlagFile;
  readonly key: FlagFile;
}

/** Undefined if neither flag is set. */
export function certificateFilesOf<Name extends string>(
  values: { readonly [name in Name]: string },
  [certFlag, keyFlag]: readonly [cert: Name, key: Name],
  problems: string[],
): CertificateFiles | undefined {
  const [cert, key] = [fileOf(values, certFlag), fileOf(values, keyFlag)];
  if ((cert === undefined) !== (key === undefined)) problems.push(`--${certFlag} and --${keyFlag} go together`);
  return cert && key && { cert, key };
}

/** Throws a FlagError that names what is wrong with which file. */
export function requireCertificatePair(
  { cert: certFile, key: keyFile }: CertificateFiles,
  { cert, key }: ServingCertificate,
): void {
  const faults = [
    ...(holdsCertificates(cert.toString()) ? [] : [`--${certFile.flag}: ${certFile.path} holds no certificate in PEM`]),
    ...(isPrivateKey(key) ? [] : [`--${keyFile.flag}: ${keyFile.path} holds no private key in PEM`]),
  ];
  if (faults.length > 0) throw new FlagError(faults);
  try {
    checkCertificate({ cert, key });
  } catch {
    throw new FlagError([`--${keyFile.flag}: the key is not that of the certificate of --${certFile.flag}`]);
  }
}

/** Throws a FlagError for a file without certificates, which would trust no server, or all that the system trusts. */
export function requireCertificates({ flag, path }: FlagFile, content: Buffer): void {
  if (!holdsCertificates(content.toString())) throw new FlagError([`--${flag}: ${path} holds no certificates in PEM`]);
}

function isPrivateKey(pem: Buffer): boolean {
  try {
    createPrivateKey(pem);
    return true;
  } catch {
    return false; // the message of OpenSSL could reveal a part of the key
  }
}
