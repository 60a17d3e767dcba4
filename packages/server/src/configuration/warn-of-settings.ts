import { asError } from '@cluster-apiserver/base';
import type { Log } from '@cluster-apiserver/telemetry';
import type { Files } from '../environment.ts';
import type { Settings } from './settings.ts';

const readableByAll = 0o004;

/** Warns of settings that are valid, and that an operator may not have meant. */
export async function warnOfSettings(
  {
    storage,
    serving,
    authentication,
    controllers,
  }: Pick<Settings, 'storage' | 'serving' | 'authentication' | 'controllers'>,
  files: Files,
  log: Log,
): Promise<void> {
  const { clientCaFile, frontProxies, file, tokenFile, tokenWebhook, oidc, serviceAccounts } = authentication;
  if (!storage.encryption)
    log.withName('encryption').warn(
      // Meaning: Who reads etcd or a backup of it reads all objects, Secrets included.
      'objects are stored unencrypted: --encryption-provider-config is not set',
      'set the flag if etcd or its backups must not reveal what is stored: docs/encryption.md',
    );
  // Each lets some clients be more than anonymous.
  if (!(clientCaFile ?? frontProxies.caFile ?? file ?? tokenFile ?? tokenWebhook ?? oidc ?? serviceAccounts))
    log.withName('authentication').warn(
      // Meaning: No client can prove who it is. Each is `system:anonymous` and has its rights.
      'no authenticator is configured: all requests are anonymous',
      'set --client-ca-file, --authentication-config or another authenticator: docs/authentication.md',
    );
  const secretFiles = [
    storage.encryption?.file,
    serving.certificate?.key,
    storage.clientCertificate?.key,
    serviceAccounts?.signingKey,
    controllers.signerFiles?.key,
    tokenFile,
  ];
  for (const secret of secretFiles) {
    if (!secret) continue;
    const { flag, path } = secret;
    try {
      const mode = await files.mode(path);
      if ((mode & readableByAll) !== 0)
        log.warn(
          // Meaning: A key or a token of the server has permissions that let every local user copy it.
          'file with secrets is readable by all users of the machine',
          'chmod 600, or 640 with the group of the server',
          { flag, file: path },
        );
    } catch (error) {
      log.warn(
        // Meaning: The permissions of a file with a key or a token could not be read, so they were not checked.
        'cannot determine who can read a file with secrets',
        'check the rights of the file and of its directory',
        {
          flag,
          file: path,
          error: asError(error),
        },
      );
    }
  }
}
