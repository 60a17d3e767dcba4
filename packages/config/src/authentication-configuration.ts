import { type ClaimMappings, claimMappingsSchema, readClaimMappings } from './authentication/claim-mappings.ts';
import { type Issuer, issuerSchema, type IssuerContext, readIssuer } from './authentication/issuer.ts';
import {
  type ClaimRule,
  claimRulesSchema,
  type ExpressionRule,
  readClaimRules,
  readUserRules,
  userRulesSchema,
} from './authentication/rules.ts';
import type { Findings } from './findings.ts';
import { declareKind, loadConfiguration } from './load.ts';
import { boolean, list, object, string } from './schema.ts';
import type { ConfigNode } from './config-node.ts';

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

const fields = {
  jwt: list(
    'Issuers of accepted JWTs.',
    object(
      'One issuer.',
      {
        issuer: issuerSchema,
        claimValidationRules: claimRulesSchema,
        claimMappings: claimMappingsSchema,
        userValidationRules: userRulesSchema,
      },
      { required: ['issuer', 'claimMappings'] },
    ),
    { maxItems: jwtMax },
  ),
  anonymous: object('Requests without credentials. Excludes --anonymous-auth.', {
    enabled: boolean('Whether requests without credentials are authenticated as `system:anonymous`.', {
      default: false,
    }),
    conditions: list(
      'Restrict anonymous requests to those that match one of them.',
      object('One condition.', { path: string('Path of the request, compared exactly.') }, { required: ['path'] }),
    ),
  }),
};

export const authenticationKind = declareKind({
  kind: 'AuthenticationConfiguration',
  versions: ['v1', 'v1beta1'],
  description: 'Issuers of JWTs, and which requests need no credentials.',
  fields,
});

/** Throws a ConfigurationError with all problems. */
export const loadAuthenticationConfiguration = (
  text: string,
  flags: AuthenticationFlags,
  findings?: Findings,
): AuthenticationConfiguration =>
  loadConfiguration(
    authenticationKind,
    ({ jwt, anonymous }) => ({ jwt: readJwt(jwt, flags), anonymous: readAnonymous(anonymous, flags) }),
    text,
    findings,
  );

function readJwt(
  node: ConfigNode<typeof fields.jwt>,
  flags: AuthenticationFlags,
): readonly JwtAuthenticatorConfiguration[] {
  const items = node.items();
  if (items.length > jwtMax) node.addProblem(`Too many: ${items.length}: must have at most ${jwtMax} items`);
  const context: IssuerContext = { urls: new Set(), discoveryUrls: new Set(), ...flags };
  return items.map((item) => {
    const declared = item.fields();
    const issuer = readIssuer(declared.issuer, context);
    const claimRules = readClaimRules(declared.claimValidationRules);
    const expressions = claimRules.flatMap((rule) => (rule.by === 'expression' ? [rule.expression] : []));
    const claimMappings = readClaimMappings(declared.claimMappings, expressions);
    return { issuer, claimRules, claimMappings, userRules: readUserRules(declared.userValidationRules) };
  });
}

function readAnonymous(
  node: ConfigNode<typeof fields.anonymous>,
  flags: AuthenticationFlags,
): AnonymousConfiguration | undefined {
  if (node.isAbsent) return undefined;
  if (flags.anonymousAuthGiven)
    node.addProblem(
      'Forbidden: --anonymous-auth flag cannot be set when anonymous field is configured in authentication configuration file',
    );
  const declared = node.fields();
  const enabled = declared.enabled.boolean() ?? false;
  const paths = declared.conditions.items().map((condition) => {
    const { path } = condition.fields();
    const text = path.string() ?? '';
    if (text === '') path.addRequired();
    else if (!text.startsWith('/')) path.addInvalid(text, 'a path begins with a slash');
    return text;
  });
  if (!enabled && paths.length > 0)
    declared.conditions.addInvalid(paths, 'enabled should be set to true when conditions are defined');
  return { enabled, paths: paths.length > 0 ? paths : undefined };
}
