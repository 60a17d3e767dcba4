import { boolean, object, type ValueOf } from '@cluster-apiserver/model/schema';
import type { Problems } from '@cluster-apiserver/model';
import { type ClaimMappings, claimMappingsSchema, readClaimMappings } from './authentication/claim-mappings.ts';
import { type Issuer, issuerSchema, type IssuerContext, readIssuer } from './authentication/issuer.ts';
import {
  type ClaimRule,
  claimRule,
  type ExpressionRule,
  readClaimRules,
  readUserRules,
  userRule,
} from './authentication/rules.ts';
import { Findings } from './findings.ts';
import { defineConfigurationKind, loadConfiguration } from './load.ts';
import { checkedString, list, optional, required, withDefault } from './schema.ts';

/** How requests are authenticated: the trusted token issuers, and which paths allow anonymous requests. */
export interface AuthenticationConfiguration {
  readonly jwt: readonly JwtAuthenticatorConfiguration[];
  /** Undefined if --anonymous-auth decides. */
  readonly anonymous: AnonymousConfiguration | undefined;
}

export interface JwtAuthenticatorConfiguration {
  readonly issuer: Issuer;
  readonly claimRules: readonly ClaimRule[];
  readonly claimMappings: ClaimMappings;
  readonly userRules: readonly ExpressionRule[];
}

export interface AnonymousConfiguration {
  readonly enabled: boolean;
  /** Paths that allow anonymous requests, compared exactly; undefined for all paths. */
  readonly paths: readonly string[] | undefined;
}

/** Flag values that the file must not contradict. */
export interface AuthenticationFlags {
  readonly disallowedIssuers: readonly string[];
  readonly anonymousAuthGiven: boolean;
  /** Egress selectors that --egress-selector-config-file configures. */
  readonly egressSelectors: readonly string[];
}

/** Each issuer keeps its own key set in memory. */
const jwtMax = 64;

const authenticator = object({
  issuer: required(issuerSchema, 'Issuer that signs the tokens, and its address.'),
  claimValidationRules: optional(list(claimRule), 'Rules that the claims of a token must satisfy.'),
  claimMappings: required(claimMappingsSchema, 'Mapping from the claims of a token to a user.'),
  userValidationRules: optional(list(userRule), 'Rules that the resulting user must satisfy.'),
});
const absolutePath = checkedString((value, at) => {
  if (!value.startsWith('/')) at.invalid(value, 'a path begins with a slash');
});
const anonymousSchema = object({
  enabled: withDefault(boolean, 'Whether requests without credentials are authenticated as `system:anonymous`.', false),
  conditions: optional(
    list(object({ path: required(absolutePath, 'Path of the request, compared exactly.') })),
    'Restrict anonymous requests to those that match one of them.',
  ),
});

export const authenticationKind = defineConfigurationKind({
  kind: 'AuthenticationConfiguration',
  versions: ['v1', 'v1beta1'],
  description: 'Issuers of JWTs, and requests that need no credentials.',
  fields: {
    jwt: optional(list(authenticator, jwtMax), 'Issuers of accepted JWTs.'),
    anonymous: optional(anonymousSchema, 'Requests without credentials. Excludes --anonymous-auth.'),
  },
});

/** Throws a ConfigurationError with all problems. */
export const loadAuthenticationConfiguration = (
  file: string,
  flags: AuthenticationFlags,
  findings = new Findings(file),
): AuthenticationConfiguration =>
  loadConfiguration(
    authenticationKind,
    ({ jwt = [], anonymous }, at) => {
      const context: IssuerContext = { urls: new Set(), discoveryUrls: new Set(), findings, ...flags };
      return {
        jwt: jwt.map((one, index) => readAuthenticator(one, at.at('jwt', index), context)),
        anonymous: anonymous && readAnonymous(anonymous, at.at('anonymous'), flags),
      };
    },
    file,
    findings,
  );

function readAuthenticator(
  { issuer, claimValidationRules = [], claimMappings, userValidationRules = [] }: ValueOf<typeof authenticator>,
  at: Problems,
  context: IssuerContext,
): JwtAuthenticatorConfiguration {
  const claimRules = readClaimRules(claimValidationRules, at.at('claimValidationRules'));
  const expressions = claimRules.flatMap((rule) => (rule.by === 'expression' ? [rule.expression] : []));
  return {
    issuer: readIssuer(issuer, at.at('issuer'), context),
    claimRules,
    claimMappings: readClaimMappings(claimMappings, at.at('claimMappings'), expressions),
    userRules: readUserRules(userValidationRules, at.at('userValidationRules')),
  };
}

function readAnonymous(
  { enabled, conditions = [] }: ValueOf<typeof anonymousSchema>,
  at: Problems,
  { anonymousAuthGiven }: AuthenticationFlags,
): AnonymousConfiguration {
  if (anonymousAuthGiven)
    at.forbidden(
      '--anonymous-auth flag cannot be set when anonymous field is configured in authentication configuration file',
    );
  const paths = conditions.map(({ path }) => path);
  if (!enabled && paths.length > 0)
    at.at('conditions').invalid(paths, 'enabled should be set to true when conditions are defined');
  return { enabled, paths: paths.length > 0 ? paths : undefined };
}
