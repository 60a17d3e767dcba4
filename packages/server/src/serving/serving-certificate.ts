import path from 'node:path';
import { type CleanupStack, errorMessage } from '@cluster-apiserver/base';
import { createSelfSigned } from '@cluster-apiserver/certificates';
import { checkCertificate, type ServingCertificate } from '@cluster-apiserver/pipeline';
import type { Log } from '@cluster-apiserver/telemetry';
import type { ServerContext } from '../configuration/context.ts';
import type { Environment, Files } from '../environment.ts';
import { readFlagFiles } from '../files/flag-files.ts';
import { type Followed, followFiles } from '../files/follow-files.ts';
import { type CertificateFiles, requireCertificatePair } from '../files/pem-files.ts';
import { FlagError } from '../flags/flag.ts';
import type { ServingSettings } from './serving-settings.ts';

/** The serving certificate of the flags, or a self-signed one in --cert-dir, generated if it does not exist. */
export async function followServingCertificate(
  { certificate, certificateDirectory }: ServingSettings,
  context: ServerContext,
  cleanup: CleanupStack,
): Promise<Followed<ServingCertificate>> {
  const pair = certificate ?? {
    cert: { flag: 'tls-cert-file', path: path.join(certificateDirectory, 'apiserver.crt') },
    key: { flag: 'tls-private-key-file', path: path.join(certificateDirectory, 'apiserver.key') },
  };
  if (!certificate) await generateIfMissing(pair, certificateDirectory, context.environment, context.log);
  const followed = await followFiles(
    {
      name: 'serving certificate',
      files: [
        { ...pair.cert, kind: 'certificate' },
        { ...pair.key, kind: 'private key' },
      ],
      read: () => readFlagFiles([pair.cert, pair.key], context.environment.files),
      bytesOf: (contents) => contents,
      build: (contents) => parsePair(pair, contents),
      measures: context.certificates('serving', ['serving', undefined]),
    },
    context,
  );
  cleanup.defer('serving certificate', followed.close);
  return followed;
}

/** Throws a FlagError for files that cannot be used. */
export async function loadServingCertificate({ certificate: pair }: ServingSettings, files: Files): Promise<void> {
  if (pair) parsePair(pair, await readFlagFiles([pair.cert, pair.key], files));
}

/** Also throws while only one of the two files has been replaced. */
function parsePair(files: CertificateFiles, contents: readonly Buffer[]): ServingCertificate {
  const [cert = Buffer.alloc(0), key = Buffer.alloc(0)] = contents;
  requireCertificatePair(files, { cert, key });
  return { cert, key };
}

async function generateIfMissing(
  { cert: certFile, key: keyFile }: CertificateFiles,
  directory: string,
  { clock, random, files }: Environment,
  log: Log,
): Promise<void> {
  const read = async (): Promise<ServingCertificate> => ({
    cert: await files.read(certFile.path),
    key: await files.read(keyFile.path),
  });
  try {
    if (!(await exists(read))) {
      const made = await createSelfSigned(
        { commonName: 'cluster-apiserver', hosts: ['localhost', '127.0.0.1', '::1'] },
        clock,
        random,
      );
      await files.write(keyFile.path, made.privateKey);
      await files.write(certFile.path, made.certificate);
      log.withName('listener').info('generated a self-signed serving certificate', { file: certFile.path });
    }
    checkCertificate(await read());
  } catch (error) {
    throw new FlagError([`--cert-dir: the certificate in ${directory} cannot be used: ${errorMessage(error)}`]);
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
