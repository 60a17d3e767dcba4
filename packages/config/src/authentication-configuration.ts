import { type ClaimMappings, readClaimMappings } from './authentication/claim-mappings.ts';
import { type Issuer, type Neighbours, readIssuer } from './authentication/issuer.ts';
import { type ClaimRule, type ExpressionRule, readClaimRules, readUserRules } from './authentication/rules.ts';
import { loadConfiguration } from './load.ts';
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

/** Throws a ConfigurationError with everything that is wrong. */
export const loadAuthenticationConfiguration = (
  text: string,
  flags: AuthenticationFlags,
): AuthenticationConfiguration =>
  loadConfiguration(
    {
      kind: 'AuthenticationConfiguration',
      versions: ['v1', 'v1beta1'],
      fields: ['jwt', 'anonymous'],
      read: ({ jwt, anonymous }) => ({
        jwt: readJwt(jwt as Written, flags),
        anonymous: readAnonymous(anonymous as Written, flags),
      }),
    },
    text,
  );

function readJwt(written: Written, flags: AuthenticationFlags): readonly JwtAuthenticatorConfiguration[] {
  const items = written.items();
  if (items.length > jwtMax) written.wrong(`Too many: ${items.length}: must have at most ${jwtMax} items`);
  const neighbours: Neighbours = { urls: new Set(), discoveryUrls: new Set(), ...flags };
  return items.map((item) => {
    const fields = item.fields(['issuer', 'claimValidationRules', 'claimMappings', 'userValidationRules']);
    const issuer = readIssuer(fields.issuer, neighbours);
    const claimRules = readClaimRules(fields.claimValidationRules);
    const expressions = claimRules.flatMap((rule) => (rule.by === 'expression' ? [rule.expression] : []));
    const claimMappings = readClaimMappings(fields.claimMappings, expressions);
    return { issuer, claimRules, claimMappings, userRules: readUserRules(fields.userValidationRules) };
  });
}

function readAnonymous(written: Written, flags: AuthenticationFlags): AnonymousConfiguration | undefined {
  if (written.absent) return undefined;
  if (flags.anonymousAuthGiven)
    written.wrong(
      'Forbidden: --anonymous-auth flag cannot be set when anonymous field is configured in authentication configuration file',
    );
  const fields = written.fields(['enabled', 'conditions']);
  const enabled = fields.enabled.fact() ?? false;
  const paths = fields.conditions.items().map((condition) => {
    const { path } = condition.fields(['path']);
    const text = path.text() ?? '';
    if (text === '') path.required();
    else if (!text.startsWith('/')) path.invalid(text, 'a path begins with a slash');
    return text;
  });
  if (!enabled && paths.length > 0)
    fields.conditions.invalid(paths, 'enabled should be set to true when conditions are defined');
  return { enabled, paths: paths.length > 0 ? paths : undefined };
}
