import { MalformedTextError, type Parsed, parseYaml, YamlTooLargeError } from '@cluster-apiserver/model';
import { type ClaimMappings, readClaimMappings } from './authentication/claim-mappings.ts';
import { type Issuer, type Neighbours, readIssuer } from './authentication/issuer.ts';
import { type ClaimRule, type ExpressionRule, readClaimRules, readUserRules } from './authentication/rules.ts';
import { Written } from './written.ts';

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

/** Everything that is wrong with a file, each as a sentence that begins with a path into it. */
export class AuthenticationConfigurationError extends Error {
  override readonly name = 'AuthenticationConfigurationError';
  readonly faults: readonly string[];
  constructor(faults: readonly string[]) {
    super(faults.join('\n'));
    this.faults = faults;
  }
}

/** What flags say that a file must agree with. */
export interface AuthenticationFlags {
  readonly disallowedIssuers: readonly string[];
  readonly anonymousAuthGiven: boolean;
  readonly egressConfigured: boolean;
}

/** The group of our documentation, and those that existing files have. */
const apiVersions = [
  'apiserver.config.platform.io/v1',
  'apiserver.config.k8s.io/v1',
  'apiserver.config.k8s.io/v1beta1',
];
const kind = 'AuthenticationConfiguration';

/** A token of an unknown issuer costs a look at each of them. */
const jwtMax = 64;

/** Reads YAML or JSON strictly. Throws an AuthenticationConfigurationError that holds all there is to say. */
export function loadAuthenticationConfiguration(text: string, flags: AuthenticationFlags): AuthenticationConfiguration {
  const { value, faults: ofText } = parsed(text);
  const faults = ofText.map(({ message }) => message);
  const root = new Written(value, '', faults);
  if (root.absent) throw new AuthenticationConfigurationError(['the file is empty']);
  const fields = root.fields(['apiVersion', 'kind', 'jwt', 'anonymous']);
  oneOf(fields.apiVersion, apiVersions);
  oneOf(fields.kind, [kind]);
  const configuration = { jwt: readJwt(fields.jwt, flags), anonymous: readAnonymous(fields.anonymous, flags) };
  // A field that says two things is read twice, and what is wrong with it is said once.
  if (faults.length > 0) throw new AuthenticationConfigurationError([...new Set(faults)]);
  return configuration;
}

function parsed(text: string): Parsed {
  try {
    return parseYaml(text);
  } catch (error) {
    if (!(error instanceof MalformedTextError || error instanceof YamlTooLargeError)) throw error;
    throw new AuthenticationConfigurationError([error.message]);
  }
}

function oneOf(written: Written, allowed: readonly string[]): void {
  const found = written.text();
  if (written.absent) written.required(`expected ${allowed.join(' or ')}`);
  else if (found !== undefined && !allowed.includes(found)) written.invalid(found, `expected ${allowed.join(' or ')}`);
}

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
