import type { CleanupStack } from '@cluster-apiserver/base';
import {
  type AnonymousConfiguration,
  type AuthenticationConfiguration,
  type AuthenticationFlags,
  type Issuer,
  loadAuthenticationConfiguration,
} from '@cluster-apiserver/config';
import {
  createTokenCache,
  type Dial,
  createHttpsClient,
  createDocumentFetcher,
  DistributedClaims,
  IssuerKeys,
  type JwtIssuer,
  createJwtAuthenticator,
  type TokenAuthenticator,
} from '@cluster-apiserver/gates';
import { asError } from '../as-error.ts';
import type { Files } from '../environment.ts';
import type { ServerFlags } from '../flags/flags.ts';
import type { CertificateMeasures } from '../files/certificate-measures.ts';
import { openEgress } from './egress.ts';
import type { WiringContext } from '../configuration/context.ts';
import { fileOf } from '../files/flag-files.ts';
import { followConfiguration } from '../files/follow-configuration.ts';
import { loadOidcFlags } from './oidc-settings.ts';

/** Authentication by an AuthenticationConfiguration, or by the equivalent flags. */
export interface ConfiguredAuthentication {
  /** Authenticates JWTs of the configured issuers. */
  readonly tokens: TokenAuthenticator;
  /** Whether a path allows anonymous requests. */
  readonly isAnonymousAllowed: (path: string) => boolean;
}

export interface AuthenticationOptions extends WiringContext {
  readonly certificates: CertificateMeasures;
  /** Whether --authorization-always-allow-paths contains a path; probes need no credentials for these. */
  readonly isAlwaysAllowed: (path: string) => boolean;
  /** Counts hits and misses of the token cache. */
  readonly countTokenLookup: (status: 'hit' | 'miss') => void;
}

/** As in kube-apiserver: a revoked token is rejected after at most this time. */
const tokenTtlMs = 10_000;

/** Each request is authenticated by the configuration that is active when the request arrives. */
export async function openAuthentication(
  options: AuthenticationOptions,
  cleanup: CleanupStack,
): Promise<ConfiguredAuthentication> {
  const { flags, environment } = options;
  const { egress, flagValues, configuredByFlags } = await loadAuthenticationFlags(flags, environment.files);
  const build = createBuilder(options, egress, cleanup);
  const file = fileOf(flags, 'authentication-config');
  const followed =
    file &&
    (await followConfiguration(
      {
        file,
        name: 'authentication',
        kind: 'AuthenticationConfiguration',
        build: (content) => build(loadAuthenticationConfiguration(content, flagValues)),
      },
      options,
      cleanup,
    ));
  const current =
    followed?.current ?? constant(build(configuredByFlags ?? noConfiguration, flags['oidc-signing-algs']));
  return {
    tokens: { authenticateToken: (...args) => current().tokens.authenticateToken(...args) },
    isAnonymousAllowed: (path) => current().isAnonymousAllowed(path),
  };
}

interface LoadedFlags {
  readonly egress: ReadonlyMap<string, Dial | undefined>;
  /** What --authentication-config must agree with. */
  readonly flagValues: AuthenticationFlags;
  readonly configuredByFlags: AuthenticationConfiguration | undefined;
}

export async function loadAuthenticationFlags(flags: ServerFlags, files: Files): Promise<LoadedFlags> {
  const egress = await openEgress(flags, files);
  const flagValues: AuthenticationFlags = {
    disallowedIssuers: flags['service-account-issuer'],
    anonymousAuthGiven: flags['anonymous-auth'] !== 'unset',
    egressSelectors: [...egress.keys()],
  };
  return { egress, flagValues, configuredByFlags: await loadOidcFlags(flags, flagValues, files) };
}

const noConfiguration: AuthenticationConfiguration = { jwt: [], anonymous: undefined };
const constant =
  <T>(value: T) =>
  (): T =>
    value;

/** What is fetched of an issuer. */
type OpenIssuer = Pick<JwtIssuer, 'keys' | 'distributedClaims'>;

type Build = (configuration: AuthenticationConfiguration, algorithms?: readonly string[]) => ConfiguredAuthentication;

function createBuilder(
  { flags, environment: { clock, random }, isAlwaysAllowed, countTokenLookup, log }: AuthenticationOptions,
  egress: ReadonlyMap<string, Dial | undefined>,
  cleanup: CleanupStack,
): Build {
  const stopped = new AbortController();
  cleanup.defer('questions to issuers', () => stopped.abort(new Error('the server stops')));
  const openIssuer = (issuer: Issuer): OpenIssuer => {
    const { url, certificateAuthority, egressSelector } = issuer;
    const options = {
      // Keys are fetched every few minutes, so connections are not kept open.
      fetch: createDocumentFetcher(
        createHttpsClient({ clock, ca: certificateAuthority, dial: egressSelector && egress.get(egressSelector) }),
        clock,
      ),
      clock,
      signal: stopped.signal,
      failed: (error: unknown) =>
        log
          .withName('authentication')
          .error('cannot fetch the keys of an issuer', { issuer: url, error: asError(error) }),
    };
    return { keys: new IssuerKeys({ ...options, address: issuer }), distributedClaims: new DistributedClaims(options) };
  };
  // An unchanged issuer keeps its keys: it may be unreachable at the moment of the reload.
  let kept: ReadonlyMap<string, OpenIssuer> = new Map();
  return ({ jwt, anonymous }, algorithms) => {
    const issuers = jwt.map((configured) => {
      const { url, discoveryUrl, certificateAuthority, egressSelector } = configured.issuer;
      const identity = JSON.stringify({ url, discoveryUrl, certificateAuthority, egressSelector });
      return { ...configured, algorithms, identity, ...(kept.get(identity) ?? openIssuer(configured.issuer)) };
    });
    kept = new Map(issuers.map(({ identity, keys, distributedClaims }) => [identity, { keys, distributedClaims }]));
    return {
      // A new cache for each configuration: entries of other rules are no longer valid.
      tokens: createTokenCache(createJwtAuthenticator(issuers, clock), {
        clock,
        random,
        ttlMs: tokenTtlMs,
        countLookup: countTokenLookup,
      }),
      isAnonymousAllowed:
        anonymous || flags['anonymous-auth'] !== 'unset'
          ? createAnonymousPaths(anonymous ?? { enabled: flags['anonymous-auth'] === true, paths: undefined })
          : isAlwaysAllowed,
    };
  };
}

function createAnonymousPaths({ enabled, paths }: AnonymousConfiguration): (path: string) => boolean {
  const allowed = new Set(paths);
  return (path) => enabled && (paths === undefined || allowed.has(path));
}
