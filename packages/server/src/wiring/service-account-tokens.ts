import type { Scope } from '@cluster-apiserver/base';
import {
  type AccountAnswer,
  cachedTokens,
  type FindAccount,
  issuerMetadata,
  keySet,
  knownKeys,
  ofLivingAccounts,
  signedAccountTokens,
  type TokenAuthenticator,
  tokenIssuer,
} from '@cluster-apiserver/gates';
import type { KindServices } from '@cluster-apiserver/kinds';
import { type Documents, issuerDocuments, issuerPaths } from '@cluster-apiserver/pipeline';
import type { AuthenticationOptions } from './authentication.ts';
import { isDiscoverable, parseServiceAccountFlags } from './service-account-flags.ts';
import { followKeys } from './service-account-keys.ts';

/** Tokens with which service accounts act: how they are made, believed, and made believable to others. */
export interface ServiceAccountTokens {
  readonly forKinds: NonNullable<KindServices['serviceAccountTokens']>;
  createAuthenticator(findAccount: FindAccount): TokenAuthenticator;
  readonly documents: Documents;
}

/** A signature stays what it is; this bounds how long what was made of it is kept for nobody. */
const verifiedTtlMs = 10_000;

/** Undefined when there are to be no such tokens. */
export async function openServiceAccountTokens(
  { flags, environment, log, records, countTokenLookup }: AuthenticationOptions,
  scope: Scope,
): Promise<ServiceAccountTokens | undefined> {
  const settings = parseServiceAccountFlags(flags);
  if (!settings) return undefined;
  const { issuers, audiences, lifetimeSecondsMax, keySetUri } = settings;
  const [issuer] = issuers;
  const { clock, random } = environment;
  const keys = await followKeys(settings, { environment, log, records }, scope);
  const tokens = tokenIssuer({ issuer, signingKey: () => keys.current().signing, clock, random });
  if (!isDiscoverable(issuer))
    log
      .withName('authentication')
      .info('no service account issuer is an https URL; other services cannot discover the keys', { issuer });
  return {
    forKinds: { audiences, lifetimeSecondsMax, issue: tokens.issue },
    createAuthenticator: (findAccount) => {
      const finder = knownKeys({ keys: () => keys.current().verifying, lookAgain: keys.reload, clock });
      const signed = (): TokenAuthenticator<AccountAnswer> =>
        cachedTokens(signedAccountTokens({ issuers, audiences, keys: finder, clock }), {
          clock,
          random,
          ttlMs: verifiedTtlMs,
          asked: countTokenLookup,
        });
      let current = signed();
      // What was believed by keys that are gone is forgotten with them.
      keys.onChange(() => (current = signed()));
      const latest: TokenAuthenticator<AccountAnswer> = {
        authenticateToken: (...question) => current.authenticateToken(...question),
      };
      return ofLivingAccounts(latest, findAccount, clock);
    },
    documents: isDiscoverable(issuer)
      ? issuerDocuments({
          metadata: () => issuerMetadata(issuer, keySetUri || defaultKeySetUri(issuer), keys.current()),
          keySet: () => keySet(keys.current()),
        })
      : {},
  };
}

/** Who follows the issuer's URL to the one document comes to us, and so to the other. */
const defaultKeySetUri = (issuer: string): string => `${issuer.replace(/\/$/, '')}${issuerPaths.keySet}`;
