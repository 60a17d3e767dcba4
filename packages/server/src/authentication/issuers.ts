import { asError, type CleanupStack } from '@cluster-apiserver/base';
import {
  type AnonymousConfiguration,
  type AuthenticationConfiguration,
  type AuthenticationFlags,
  type Issuer,
  loadAuthenticationConfiguration,
} from '@cluster-apiserver/config';
import {
  type CreateTokenCache,
  type Dial,
  createHttpsClient,
  createDocumentFetcher,
  DistributedClaims,
  IssuerKeys,
  type JwtIssuer,
  createJwtAuthenticator,
  type TokenAuthenticator,
} from '@cluster-apiserver/gates';
import { createOutages } from '@cluster-apiserver/telemetry';
import type { AuthenticationSettings } from './authentication-settings.ts';
import { loadEgress } from './egress.ts';
import type { ServerContext } from '../configuration/context.ts';
import { loadFlagFile, withAllFaults } from '../files/flag-files.ts';
import { followConfiguration } from '../files/follow-configuration.ts';
import { createStartupReader, type FlagFileReader } from '../files/startup-files.ts';
import { loadOidc } from './oidc-settings.ts';

/** Authentication by an AuthenticationConfiguration, or by the equivalent flags. */
export interface ConfiguredAuthentication {
  /** Authenticates JWTs of the configured issuers. */
  readonly tokens: TokenAuthenticator;
  /** Whether a path allows anonymous requests. */
  readonly isAnonymousAllowed: (path: string) => boolean;
}

/** As in kube-apiserver: a revoked token is rejected after at most this time. */
const tokenTtlMs = 10_000;

/** Each request is authenticated by the configuration that is active when the request arrives. */
export async function openIssuers(
  settings: AuthenticationSettings,
  { createCache, isAlwaysAllowed }: IssuerDependencies,
  context: ServerContext,
  cleanup: CleanupStack,
): Promise<ConfiguredAuthentication> {
  const reader = createStartupReader(context);
  const { file, oidc, anonymousAuth, egressFile } = settings;
  const egress = await loadEgress(egressFile, reader);
  const agreed = getAgreed(settings, egress);
  const isAnonymousAllowed = (anonymous: AnonymousConfiguration | undefined): ((path: string) => boolean) =>
    anonymous || anonymousAuth !== undefined
      ? createAnonymousPaths(anonymous ?? { enabled: anonymousAuth === true, paths: undefined })
      : isAlwaysAllowed;
  const createTokens = createTokensFactory(egress, createCache, context, cleanup);
  const build = ({ jwt, anonymous }: AuthenticationConfiguration, algorithms?: readonly string[]) => ({
    tokens: createTokens(jwt, algorithms),
    isAnonymousAllowed: isAnonymousAllowed(anonymous),
  });
  if (!file) return build(oidc ? await loadOidc(oidc, agreed, reader) : noConfiguration, oidc?.algorithms);
  const { current } = await followConfiguration(
    {
      file,
      name: 'authentication',
      kind: 'AuthenticationConfiguration',
      build: (content) => build(loadAuthenticationConfiguration(content, agreed)),
    },
    context,
    cleanup,
  );
  return {
    tokens: { authenticateToken: (...args) => current().tokens.authenticateToken(...args) },
    isAnonymousAllowed: (path) => current().isAnonymousAllowed(path),
  };
}

interface IssuerDependencies {
  readonly createCache: CreateTokenCache;
  /** Whether everyone may read a path; probes need no credentials for these. */
  readonly isAlwaysAllowed: (path: string) => boolean;
}

/** Loads the files as they are loaded when they are put to use. */
export async function checkIssuerFiles(settings: AuthenticationSettings, reader: FlagFileReader): Promise<void> {
  const agreed = getAgreed(settings, await loadEgress(settings.egressFile, reader));
  await withAllFaults<unknown>([
    ...(settings.oidc ? [loadOidc(settings.oidc, agreed, reader)] : []),
    loadFlagFile(settings.file, reader.files, (content) => loadAuthenticationConfiguration(content, agreed)),
  ]);
}

/** What an AuthenticationConfiguration must agree with. */
const getAgreed = (
  { serviceAccountIssuers, anonymousAuth }: AuthenticationSettings,
  egress: ReadonlyMap<string, unknown>,
): AuthenticationFlags => ({
  disallowedIssuers: serviceAccountIssuers,
  anonymousAuthGiven: anonymousAuth !== undefined,
  egressSelectors: [...egress.keys()],
});

const noConfiguration: AuthenticationConfiguration = { jwt: [], anonymous: undefined };
/** What is fetched of an issuer. */
type FetchedIssuer = Pick<JwtIssuer, 'keys' | 'distributedClaims'>;

type CreateTokens = (jwt: AuthenticationConfiguration['jwt'], algorithms?: readonly string[]) => TokenAuthenticator;

function createTokensFactory(
  egress: ReadonlyMap<string, Dial | undefined>,
  createCache: CreateTokenCache,
  { environment: { clock }, log }: ServerContext,
  cleanup: CleanupStack,
): CreateTokens {
  const stopped = new AbortController();
  cleanup.defer('questions to issuers', () => stopped.abort(new Error('the server stops')));
  const outages = createOutages(log.withName('authentication'), clock, {
    severity: 'error',
    // Meaning: The issuer of tokens does not answer, or its answer is invalid. Keys that were fetched before stay valid
    // for a week.
    began: 'cannot fetch the keys of an issuer',
    remedy:
      'open /.well-known/openid-configuration of the issuer from this machine; its tokens are rejected when the keys are old: docs/authentication.md',
    ended: 'fetched the keys of an issuer again',
  });
  const createIssuer = (issuer: Issuer): FetchedIssuer => {
    const { certificateAuthority, egressSelector } = issuer;
    const options = {
      // Keys are fetched every few minutes, so connections are not kept open.
      fetch: createDocumentFetcher(
        createHttpsClient({ clock, ca: certificateAuthority, dial: egressSelector && egress.get(egressSelector) }),
        clock,
      ),
      clock,
      signal: stopped.signal,
      fetched: (of: string, error: unknown) =>
        error === undefined
          ? outages.succeeded({ issuer: of })
          : outages.failed({ issuer: of }, { error: asError(error) }),
    };
    return { keys: new IssuerKeys({ ...options, address: issuer }), distributedClaims: new DistributedClaims(options) };
  };
  // An unchanged issuer keeps its keys: it may be unreachable at the moment of the reload.
  let kept: ReadonlyMap<string, FetchedIssuer> = new Map();
  return (jwt, algorithms) => {
    const issuers = jwt.map((configured) => {
      const { url, discoveryUrl, certificateAuthority, egressSelector } = configured.issuer;
      const identity = JSON.stringify({ url, discoveryUrl, certificateAuthority, egressSelector });
      return { ...configured, algorithms, identity, ...(kept.get(identity) ?? createIssuer(configured.issuer)) };
    });
    kept = new Map(issuers.map(({ identity, keys, distributedClaims }) => [identity, { keys, distributedClaims }]));
    // A new cache for each configuration: entries of other rules are no longer valid.
    return createCache(createJwtAuthenticator(issuers, clock), tokenTtlMs);
  };
}

function createAnonymousPaths({ enabled, paths }: AnonymousConfiguration): (path: string) => boolean {
  const allowed = new Set(paths);
  return (path) => enabled && (paths === undefined || allowed.has(path));
}
