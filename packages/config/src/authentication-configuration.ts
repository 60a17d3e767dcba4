import { type ClaimMappings, claimMappingsSchema, readClaimMappings } from './authentication/claim-mappings.ts';
import { type Issuer, issuerSchema, type Neighbours, readIssuer } from './authentication/issuer.ts';
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
import type { Written } from './written.ts';

/** How the server finds out who is asking: whose tokens it believes, and where nobody has to have one. */
export interface AuthenticationConfiguration {
  readonly jwt: readonly JwtAuthenticatorConfiguration[];
  /** Undefined leaves it to the flag. */
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
  /** The only paths without a name, exactly as they are written. Undefined for all. */
  readonly paths: readonly string[] | undefined;
}

/** What flags say that a file must agree with. */
export interface AuthenticationFlags {
  readonly disallowedIssuers: readonly string[];
  readonly anonymousAuthGiven: boolean;
  /** Where the file of --egress-selector-config-file says how to get to. */
  readonly egressSelectors: readonly string[];
}

/** A token of an unknown issuer costs a look at each of them. */
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

/** Throws a ConfigurationError with everything that is wrong. */
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
  written: Written<typeof fields.jwt>,
  flags: AuthenticationFlags,
): readonly JwtAuthenticatorConfiguration[] {
  const items = written.items();
  if (items.length > jwtMax) written.wrong(`Too many: ${items.length}: must have at most ${jwtMax} items`);
  const neighbours: Neighbours = { urls: new Set(), discoveryUrls: new Set(), ...flags };
  return items.map((item) => {
    const fields = item.fields();
    const issuer = readIssuer(fields.issuer, neighbours);
    const claimRules = readClaimRules(fields.claimValidationRules);
    const expressions = claimRules.flatMap((rule) => (rule.by === 'expression' ? [rule.expression] : []));
    const claimMappings = readClaimMappings(fields.claimMappings, expressions);
    return { issuer, claimRules, claimMappings, userRules: readUserRules(fields.userValidationRules) };
  });
}

function readAnonymous(
  written: Written<typeof fields.anonymous>,
  flags: AuthenticationFlags,
): AnonymousConfiguration | undefined {
  if (written.absent) return undefined;
  if (flags.anonymousAuthGiven)
    written.wrong(
      'Forbidden: --anonymous-auth flag cannot be set when anonymous field is configured in authentication configuration file',
    );
  const declared = written.fields();
  const enabled = declared.enabled.fact() ?? false;
  const paths = declared.conditions.items().map((condition) => {
    const { path } = condition.fields();
    const text = path.text() ?? '';
    if (text === '') path.required();
    else if (!text.startsWith('/')) path.invalid(text, 'a path begins with a slash');
    return text;
  });
  if (!enabled && paths.length > 0)
    declared.conditions.invalid(paths, 'enabled should be set to true when conditions are defined');
  return { enabled, paths: paths.length > 0 ? paths : undefined };
}
