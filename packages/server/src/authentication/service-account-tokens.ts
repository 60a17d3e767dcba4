import type { CleanupStack } from '@cluster-apiserver/base';
import {
  type CreateTokenCache,
  type AccountAnswer,
  type FindReferent,
  createIssuerMetadata,
  createSecretTokenMeasures,
  createKeySet,
  createKeyFinder,
  requireExistingReferents,
  createAccountTokenAuthenticator,
  signSecretToken,
  type TokenAuthenticator,
  type UsedSecret,
  createTokenIssuer,
} from '@cluster-apiserver/gates';
import type { ControllerServices } from '@cluster-apiserver/controllers';
import type { KindServices } from '@cluster-apiserver/kinds';
import { type NonResourceRoutes, issuerRoutes, issuerPaths } from '@cluster-apiserver/pipeline';
import type { ServerContext } from '../configuration/context.ts';
import { isDiscoverable, type ServiceAccountSettings } from './service-account-settings.ts';
import { followKeys } from './service-account-keys.ts';

/** Service account tokens: issuing, authentication, and the discovery documents for other services. */
export interface ServiceAccountTokens {
  readonly forKinds: NonNullable<KindServices['serviceAccountTokens']>;
  /** Signs the token that a secret is to contain. */
  readonly signSecretToken: NonNullable<ControllerServices['signSecretToken']>;
  createAuthenticator(find: FindReferent, noteUse: (secret: UsedSecret) => void): TokenAuthenticator;
  readonly documents: NonResourceRoutes;
}

/** Signatures stay valid; this only bounds how long an unused token stays in the cache. */
const verifiedTtlMs = 10_000;

/** Undefined if service account tokens are disabled. */
export async function openServiceAccountTokens(
  settings: ServiceAccountSettings | undefined,
  createCache: CreateTokenCache,
  context: ServerContext,
  cleanup: CleanupStack,
): Promise<ServiceAccountTokens | undefined> {
  if (!settings) return undefined;
  const { issuers, audiences, lifetimeSecondsMax, keySetUri } = settings;
  const [issuer] = issuers;
  const { environment, log, metrics } = context;
  const measures = createSecretTokenMeasures(metrics);
  const { clock, random } = environment;
  const keys = await followKeys(settings, context, cleanup);
  const tokens = createTokenIssuer({ issuer, signingKey: () => keys.current().signing, clock, random });
  if (!isDiscoverable(issuer))
    log
      .withName('authentication')
      .info('no service account issuer is an https URL; other services cannot discover the keys', { issuer });
  return {
    forKinds: { audiences, lifetimeSecondsMax, issue: (account, options) => tokens.issue(account, options) },
    signSecretToken: (account, secretName) => signSecretToken(keys.current().signing, account, secretName),
    createAuthenticator: (find, noteUse) => {
      const finder = createKeyFinder({ keys: () => keys.current().verifying, reload: keys.reload, clock });
      const signed = (): TokenAuthenticator<AccountAnswer> =>
        createCache(createAccountTokenAuthenticator({ issuers, audiences, keys: finder, clock }), verifiedTtlMs);
      let current = signed();
      // A new cache for each set of keys: entries of removed keys are no longer valid.
      keys.onChange(() => (current = signed()));
      const latest: TokenAuthenticator<AccountAnswer> = {
        authenticateToken: (...question) => current.authenticateToken(...question),
      };
      return requireExistingReferents(latest, { find, clock, noteUse, measures });
    },
    documents: isDiscoverable(issuer)
      ? issuerRoutes({
          metadata: () => createIssuerMetadata(issuer, keySetUri || defaultKeySetUri(issuer), keys.current()),
          keySet: () => createKeySet(keys.current()),
        })
      : {},
  };
}

/** The issuer URL leads to this server, so the key set is below it. */
const defaultKeySetUri = (issuer: string): string => `${issuer.replace(/\/$/, '')}${issuerPaths.keySet}`;
