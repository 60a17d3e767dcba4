import path from 'node:path';
import { errorMessage } from '@cluster-apiserver/base';
import { createSelfSigned } from '@cluster-apiserver/certificates';
import { checkCertificate, type ServingCertificate } from '@cluster-apiserver/pipeline';
import type { Log } from '@cluster-apiserver/telemetry';
import type { Environment } from '../environment.ts';
import { FlagError, type ServerFlags } from '../flags/flags.ts';
import { loadCertificatePair } from '../files/pem-files.ts';

export const tlsFlags = ['tls-cert-file', 'tls-private-key-file'] as const;

export interface ServingFiles {
  readonly certFile: string;
  readonly keyFile: string;
  readonly read: () => Promise<ServingCertificate>;
  readonly current: ServingCertificate;
}

/** The serving certificate of the flags, or a self-signed one in --cert-dir, generated if it does not exist. */
export async function openServingCertificate(
  flags: ServerFlags,
  { clock, random, files }: Environment,
  log: Log,
): Promise<ServingFiles> {
  const given = flags['tls-cert-file'] !== '';
  const [certFile, keyFile] = given
    ? [flags['tls-cert-file'], flags['tls-private-key-file']]
    : [path.join(flags['cert-dir'], 'apiserver.crt'), path.join(flags['cert-dir'], 'apiserver.key')];
  if (given) {
    // A failed reload names flag and file, as a failed start does.
    const load = (): Promise<ServingCertificate> => loadCertificatePair(tlsFlags, flags, files);
    return { certFile, keyFile, read: load, current: await load() };
  }
  const read = async (): Promise<ServingCertificate> => ({
    cert: await files.read(certFile),
    key: await files.read(keyFile),
  });
  try {
    if (!(await exists(read))) {
      const made = await createSelfSigned(
        { commonName: 'cluster-apiserver', hosts: ['localhost', '127.0.0.1', '::1'] },
        clock,
        random,
      );
      await files.write(keyFile, made.privateKey);
      await files.write(certFile, made.certificate);
      log.withName('listener').info('generated a self-signed serving certificate', { file: certFile });
    }
    const current = await read();
    checkCertificate(current);
    return { certFile, keyFile, read, current };
  } catch (error) {
    throw new FlagError([`--cert-dir: the certificate in ${flags['cert-dir']} cannot be used: ${errorMessage(error)}`]);
  }
}

const exists = (read: () => Promise<unknown>): Promise<boolean> =>
  read().then(
    () => true,
    (error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return false;
      throw error;
    },
  );
