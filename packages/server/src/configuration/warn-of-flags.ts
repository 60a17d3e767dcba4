import type { Log } from '@cluster-apiserver/telemetry';
import { asError } from '../as-error.ts';
import type { Files } from '../environment.ts';
import type { ServerFlags } from '../flags/flags.ts';

/** Files with secrets. */
const secretFiles = [
  'encryption-provider-config',
  'tls-private-key-file',
  'etcd-keyfile',
  'service-account-signing-key-file',
  'token-auth-file',
] as const;

/** Each lets some clients be more than anonymous. */
const authenticatorFlags = [
  'token-auth-file',
  'client-ca-file',
  'requestheader-client-ca-file',
  'authentication-config',
  'authentication-token-webhook-config-file',
  'oidc-issuer-url',
  'service-account-signing-key-file',
] as const;

const readableByAll = 0o004;

/** Warns of flags that are valid, and that an operator may not have meant. */
export async function warnOfFlags(flags: ServerFlags, files: Files, log: Log): Promise<void> {
  if (flags['encryption-provider-config'] === '')
    log.withName('encryption').warn('objects are stored unencrypted: --encryption-provider-config is not set');
  if (authenticatorFlags.every((flag) => flags[flag] === ''))
    log.withName('authentication').warn('no authenticator is configured: all requests are anonymous');
  for (const flag of secretFiles) {
    if (flags[flag] === '') continue;
    try {
      const mode = await files.mode(flags[flag]);
      if ((mode & readableByAll) !== 0)
        log.warn('file with secrets is readable by all users of the machine', { flag, file: flags[flag] });
    } catch (error) {
      log.warn('cannot tell who can read a file with secrets', { flag, error: asError(error) });
    }
  }
}
