import type { CleanupStack } from '@cluster-apiserver/base';
import {
  type Authenticator,
  createBearerTokenAuthenticator,
  uniteAuthenticators,
  uniteTokenAuthenticators,
  withAnonymous,
  createStaticTokenAuthenticator,
  type TokenAuthenticator,
  TokenFileError,
} from '@cluster-apiserver/gates';
import { FlagError, type ServerFlags } from '../flags/flags.ts';
import type { Files } from '../environment.ts';
import { type AuthenticationOptions, openAuthentication } from './authentication.ts';
import { openClientCertificates } from './client-certificates.ts';
import { fileOf, readFlagFile } from '../files/flag-files.ts';
import { openWebhookTokens } from './webhook-tokens.ts';

export interface Authenticators {
  readonly requests: Authenticator;
  /** The token authenticators, which TokenReviews use, too. */
  readonly tokens: TokenAuthenticator;
}

/** All configured authenticators, in the order in which they are tried. */
export async function openAuthenticators(
  options: AuthenticationOptions,
  serviceAccounts: TokenAuthenticator | undefined,
  cleanup: CleanupStack,
): Promise<Authenticators> {
  const { flags, environment } = options;
  const configured = await openAuthentication(options, cleanup);
  const certificates = await openClientCertificates(options, cleanup);
  const webhook = await openWebhookTokens(options, cleanup);
  const tokens = uniteTokenAuthenticators([
    ...(await readTokenFile(flags, environment.files)),
    ...(serviceAccounts ? [serviceAccounts] : []),
    configured.tokens,
    ...(webhook ? [webhook] : []),
  ]);
  return {
    requests: withAnonymous(
      uniteAuthenticators([...certificates, createBearerTokenAuthenticator(tokens)]),
      configured.isAnonymousAllowed,
    ),
    tokens,
  };
}

export async function readTokenFile(flags: ServerFlags, files: Files): Promise<readonly TokenAuthenticator[]> {
  const file = fileOf(flags, 'token-auth-file');
  if (!file) return [];
  const tokens = await readFlagFile(file, files);
  try {
    return [createStaticTokenAuthenticator(tokens.toString())];
  } catch (error) {
    if (error instanceof TokenFileError)
      throw new FlagError(error.message.split('\n').map((fault) => `--token-auth-file: ${fault}`));
    throw error;
  }
}
