import path from 'node:path';
import { type CleanupStack, errorMessage } from '@cluster-apiserver/base';
import { createSelfSigned } from '@cluster-apiserver/certificates';
import { checkCertificate, type ServingCertificate } from '@cluster-apiserver/pipeline';
import type { Log } from '@cluster-apiserver/telemetry';
import type { Environment } from '../environment.ts';
import type { CertificateMeasures } from '../files/certificate-measures.ts';
import { type FlagFile, readFlagFiles } from '../files/flag-files.ts';
import { type FileObservers, type Followed, followFiles } from '../files/follow-files.ts';
import { requireCertificatePair } from '../files/pem-files.ts';
import { FlagError } from '../flags/flag.ts';
import type { ServerFlags } from '../flags/flags.ts';

const [certFlag, keyFlag] = ['tls-cert-file', 'tls-private-key-file'] as const;

type Environ = Pick<Environment, 'clock' | 'random' | 'files'>;

export interface ServingCertificateContext extends FileObservers {
  readonly environment: Environ;
  readonly certificates: CertificateMeasures;
}

/** The serving certificate of the flags, or a self-signed one in --cert-dir, generated if it does not exist. */
export async function followServingCertificate(
  flags: ServerFlags,
  { certificates, ...context }: ServingCertificateContext,
  cleanup: CleanupStack,
): Promise<Followed<ServingCertificate>> {
  const isGiven = flags[certFlag] !== '';
  const [certFile, keyFile]: CertificateFiles = isGiven
    ? filesOf(flags)
    : [
        { flag: certFlag, path: path.join(flags['cert-dir'], 'apiserver.crt') },
        { flag: keyFlag, path: path.join(flags['cert-dir'], 'apiserver.key') },
      ];
  if (!isGiven) await generateIfMissing([certFile, keyFile], flags['cert-dir'], context.environment, context.log);
  const followed = await followFiles(
    {
      name: 'serving certificate',
      files: [
        { ...certFile, kind: 'certificate' },
        { ...keyFile, kind: 'private key' },
      ],
      read: () => readFlagFiles([certFile, keyFile], context.environment.files),
      bytesOf: (contents) => contents,
      build: (contents) => parsePair([certFile, keyFile], contents),
      measures: certificates('serving', ['serving', undefined]),
    },
    context,
  );
  cleanup.defer('serving certificate', followed.close);
  return followed;
}

/** Throws a FlagError for files that cannot be used. */
export async function loadServingCertificate(flags: ServerFlags, files: Environ['files']): Promise<void> {
  if (flags[certFlag] === '' || flags[keyFlag] === '') return;
  const pair = filesOf(flags);
  parsePair(pair, await readFlagFiles(pair, files));
}

type CertificateFiles = readonly [cert: FlagFile, key: FlagFile];

const filesOf = (flags: ServerFlags): CertificateFiles => [
  { flag: certFlag, path: flags[certFlag] },
  { flag: keyFlag, path: flags[keyFlag] },
];

/** Also throws while only one of the two files has been replaced. */
function parsePair([certFile, keyFile]: CertificateFiles, contents: readonly Buffer[]): ServingCertificate {
  const [cert = Buffer.alloc(0), key = Buffer.alloc(0)] = contents;
  requireCertificatePair(certFile, keyFile, { cert, key });
  return { cert, key };
}

async function generateIfMissing(
  [certFile, keyFile]: CertificateFiles,
  directory: string,
  { clock, random, files }: Environ,
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
