import type { CleanupStack } from '@cluster-apiserver/base';
import {
  type CreateTokenCache,
  type Authenticator,
  createBearerTokenAuthenticator,
  uniteAuthenticators,
  uniteTokenAuthenticators,
  withAnonymous,
  createStaticTokenAuthenticator,
  type TokenAuthenticator,
  TokenFileError,
} from '@cluster-apiserver/gates';
import type { ServerContext } from '../configuration/context.ts';
import type { FlagFile } from '../files/flag-files.ts';
import { readConnection } from '../files/webhook-connection.ts';
import { createStartupReader, type FlagFileReader } from '../files/startup-files.ts';
import { FlagError } from '../flags/flag.ts';
import type { AuthenticationSettings } from './authentication-settings.ts';
import { loadAuthorities, openClientCertificates } from './client-certificates.ts';
import { checkIssuerFiles, openIssuers } from './issuers.ts';
import { loadKeys } from './service-account-keys.ts';
import { openWebhookTokens } from './webhook-tokens.ts';

export interface Authenticators {
  readonly requests: Authenticator;
  /** The token authenticators, which TokenReviews use, too. */
  readonly tokens: TokenAuthenticator;
}

interface AuthenticatorDependencies {
  /** Authenticates tokens of service accounts; undefined if there are none. */
  readonly serviceAccounts: TokenAuthenticator | undefined;
  readonly createCache: CreateTokenCache;
  /** Whether everyone may read a path; probes need no credentials for these. */
  readonly isAlwaysAllowed: (path: string) => boolean;
}

/** All configured authenticators, in the order in which they are tried. */
export async function openAuthenticators(
  settings: AuthenticationSettings,
  { serviceAccounts, createCache, isAlwaysAllowed }: AuthenticatorDependencies,
  context: ServerContext,
  cleanup: CleanupStack,
): Promise<Authenticators> {
  const issuers = await openIssuers(settings, { createCache, isAlwaysAllowed }, context, cleanup);
  const certificates = await openClientCertificates(settings, context, cleanup);
  const webhook = await openWebhookTokens(settings, createCache, context, cleanup);
  const tokens = uniteTokenAuthenticators([
    ...(await loadTokenFile(settings.tokenFile, createStartupReader(context))),
    ...(serviceAccounts ? [serviceAccounts] : []),
    issuers.tokens,
    ...(webhook ? [webhook] : []),
  ]);
  return {
    requests: withAnonymous(
      uniteAuthenticators([...certificates, createBearerTokenAuthenticator(tokens)]),
      issuers.isAnonymousAllowed,
    ),
    tokens,
  };
}

/** Loads the files as they are loaded when they are put to use. */
export const authenticationFileChecks = (
  settings: AuthenticationSettings,
  reader: FlagFileReader,
): readonly Promise<unknown>[] => [
  loadAuthorities(settings.clientCaFile, reader.files),
  loadAuthorities(settings.frontProxies.caFile, reader.files),
  loadTokenFile(settings.tokenFile, reader),
  ...(settings.tokenWebhook ? [readConnection(settings.tokenWebhook.file, reader.files)] : []),
  checkIssuerFiles(settings, reader),
  ...(settings.serviceAccounts ? [loadKeys(settings.serviceAccounts, reader.files)] : []),
];

async function loadTokenFile(
  file: FlagFile | undefined,
  { read }: FlagFileReader,
): Promise<readonly TokenAuthenticator[]> {
  if (!file) return [];
  const tokens = await read(file, { kind: 'static tokens', mayBeGuessed: true });
  try {
    return [createStaticTokenAuthenticator(tokens.toString())];
  } catch (error) {
    if (error instanceof TokenFileError)
      throw new FlagError(error.message.split('\n').map((fault) => `--${file.flag}: ${fault}`));
    throw error;
  }
}
