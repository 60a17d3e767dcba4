import type { CleanupStack } from '@cluster-apiserver/base';
import {
  type AnonymousConfiguration,
  type AuthenticationConfiguration,
  type AuthenticationFlags,
  type Issuer,
  loadAuthenticationConfiguration,
} from '@cluster-apiserver/config';
import {
  cachedTokens,
  type Dial,
  httpsClient,
  issuerGet,
  IssuerKeys,
  jwtAuthenticator,
  type TokenAuthenticator,
} from '@cluster-apiserver/gates';
import { asError } from '../as-error.ts';
import type { CertificateMeasures } from './certificate-measures.ts';
import { openEgress } from './egress.ts';
import { type FollowingOptions, followConfiguration } from './followed-configuration.ts';
import { configurationOfOidcFlags } from './oidc-flags.ts';

/** What an AuthenticationConfiguration, or the flags that say the same, lead to. */
export interface ConfiguredAuthentication {
  /** The tokens of issuers. */
  readonly tokens: TokenAuthenticator;
  /** Whether a path is there for callers without a name. */
  readonly anonymousAllowed: (path: string) => boolean;
}

export interface AuthenticationOptions extends FollowingOptions {
  readonly certificates: CertificateMeasures;
  /** The paths of --authorization-always-allow-paths, for which probes need no credential. */
  readonly isAlwaysAllowed: (path: string) => boolean;
  /** Counts signed tokens that were remembered, and those that had to be looked at. */
  readonly tokenAsked: (status: 'hit' | 'miss') => void;
}

/** As in kube-apiserver: whatever makes a token invalid before its end is noticed this much later. */
const tokenTtlMs = 10_000;

/** Each request is judged by the configuration that is in service when it comes, and by no other. */
export async function openAuthentication(
  options: AuthenticationOptions,
  scope: CleanupStack,
): Promise<ConfiguredAuthentication> {
  const { flags, surroundings } = options;
  const egress = await openEgress(flags, surroundings.files);
  const said: AuthenticationFlags = {
    disallowedIssuers: flags['service-account-issuer'],
    anonymousAuthGiven: flags['anonymous-auth'] !== 'unset',
    egressSelectors: [...egress.keys()],
  };
  const ofFlags = await configurationOfOidcFlags(flags, said, surroundings.files);
  const build = builder(options, egress, scope);
  const followed = await followConfiguration(
    {
      flag: 'authentication-config',
      name: 'authentication',
      reloads: true,
      build: (content) => build(loadAuthenticationConfiguration(content, said)),
    },
    options,
    scope,
  );
  const current = followed ?? always(build(ofFlags ?? nothing, flags['oidc-signing-algs']));
  return {
    tokens: { authenticateToken: (...asked) => current().tokens.authenticateToken(...asked) },
    anonymousAllowed: (path) => current().anonymousAllowed(path),
  };
}

const nothing: AuthenticationConfiguration = { jwt: [], anonymous: undefined };
const always =
  <T>(value: T) =>
  (): T =>
    value;

type Build = (configuration: AuthenticationConfiguration, algorithms?: readonly string[]) => ConfiguredAuthentication;

function builder(
  { flags, surroundings: { clock, random }, isAlwaysAllowed, tokenAsked, log }: AuthenticationOptions,
  egress: ReadonlyMap<string, Dial | undefined>,
  scope: CleanupStack,
): Build {
  const stopped = new AbortController();
  scope.defer('questions to issuers', () => stopped.abort(new Error('the server stops')));
  const keysOf = (issuer: Issuer): IssuerKeys => {
    const { url, certificateAuthority, egressSelector } = issuer;
    return new IssuerKeys({
      address: issuer,
      // One fetch in minutes needs no connection kept for it.
      get: issuerGet(
        httpsClient({ clock, ca: certificateAuthority, dial: egressSelector && egress.get(egressSelector) }),
        clock,
      ),
      clock,
      signal: stopped.signal,
      failed: (error) =>
        log
          .withName('authentication')
          .error('cannot fetch the keys of an issuer', { issuer: url, error: asError(error) }),
    });
  };
  // An issuer that stays as it is keeps its keys: it may be away just now.
  let kept: ReadonlyMap<string, IssuerKeys> = new Map();
  return ({ jwt, anonymous }, algorithms) => {
    const issuers = jwt.map((configured) => {
      const { url, discoveryUrl, certificateAuthority, egressSelector } = configured.issuer;
      const identity = JSON.stringify({ url, discoveryUrl, certificateAuthority, egressSelector });
      return { ...configured, algorithms, identity, keys: kept.get(identity) ?? keysOf(configured.issuer) };
    });
    kept = new Map(issuers.map(({ identity, keys }) => [identity, keys]));
    return {
      // What was remembered by other rules is forgotten with them.
      tokens: cachedTokens(jwtAuthenticator(issuers, clock), { clock, random, ttlMs: tokenTtlMs, asked: tokenAsked }),
      anonymousAllowed:
        anonymous || flags['anonymous-auth'] !== 'unset'
          ? anonymousPaths(anonymous ?? { enabled: flags['anonymous-auth'] === true, paths: undefined })
          : isAlwaysAllowed,
    };
  };
}

function anonymousPaths({ enabled, paths }: AnonymousConfiguration): (path: string) => boolean {
  const allowed = new Set(paths);
  return (path) => enabled && (paths === undefined || allowed.has(path));
}
