import { asError, type CleanupStack } from '@cluster-apiserver/base';
import { openSigner, type Signer } from '@cluster-apiserver/certificates';
import type { ControllerServices } from '@cluster-apiserver/controllers';
import type { ServerContext } from '../configuration/context.ts';
import type { Files } from '../environment.ts';
import { readFlagFiles } from '../files/flag-files.ts';
import { followFiles } from '../files/follow-files.ts';
import { type CertificateFiles, requireCertificatePair } from '../files/pem-files.ts';
import { FlagError } from '../flags/flag.ts';
import type { ControllerSettings } from './controller-settings.ts';

/** Signs with the authority of --cluster-signing-cert-file, and follows its files. Undefined without it. */
export async function openClientSigner(
  { signerFiles: pair, signingDurationMs }: ControllerSettings,
  context: ServerContext,
  cleanup: CleanupStack,
): Promise<ControllerServices['clientSigner']> {
  if (!pair) return undefined;
  const followed = await followFiles(
    {
      name: 'signing authority',
      files: [
        { ...pair.cert, kind: 'certificate' },
        { ...pair.key, kind: 'private key' },
      ],
      read: () => readFlagFiles([pair.cert, pair.key], context.environment.files),
      bytesOf: (contents) => contents,
      build: (contents) => parseSigner(pair, contents),
      measures: context.certificates('cluster-signing', ['cluster-signing', undefined]),
    },
    context,
  );
  cleanup.defer(`--${pair.cert.flag}`, followed.close);
  return { signer: followed.current, durationMs: signingDurationMs };
}

/** Throws a FlagError for files that cannot be used. */
export async function loadClientSigner({ signerFiles: pair }: ControllerSettings, files: Files): Promise<void> {
  if (pair) parseSigner(pair, await readFlagFiles([pair.cert, pair.key], files));
}

function parseSigner(pair: CertificateFiles, contents: readonly Buffer[]): Signer {
  const [cert = Buffer.alloc(0), key = Buffer.alloc(0)] = contents;
  requireCertificatePair(pair, { cert, key });
  try {
    return openSigner({ certificate: cert.toString(), privateKey: key.toString() });
  } catch (error) {
    throw new FlagError([`--${pair.cert.flag}: ${pair.cert.path} cannot sign: ${asError(error).message}`]);
  }
}
