import { ownKeys } from '@cluster-apiserver/base';
import {
  type AuthenticationConfiguration,
  type AuthenticationFlags,
  ConfigurationError,
  loadAuthenticationConfiguration,
} from '@cluster-apiserver/config';
import { algorithmNames } from '@cluster-apiserver/gates';
import { FlagError, type FlagValues, isGiven } from '../flags/flag.ts';
import type { oidcFlags } from './oidc-flags.ts';
import { type FlagFile, fileOf } from '../files/flag-files.ts';
import type { FlagFileReader } from '../files/startup-files.ts';
import { requireCertificates } from '../files/pem-files.ts';

/** The path of each flag in the equivalent configuration. */
const flagPaths = {
  'oidc-issuer-url': 'jwt[0].issuer.url',
  'oidc-client-id': 'jwt[0].issuer.audiences[0]',
  'oidc-ca-file': 'jwt[0].issuer.certificateAuthority',
  'oidc-username-claim': 'jwt[0].claimMappings.username.claim',
  'oidc-username-prefix': 'jwt[0].claimMappings.username.prefix',
  'oidc-groups-claim': 'jwt[0].claimMappings.groups.claim',
  'oidc-groups-prefix': 'jwt[0].claimMappings.groups.prefix',
  'oidc-required-claim': 'jwt[0].claimValidationRules',
  'oidc-signing-algs': '',
} as const;
const names = ownKeys(flagPaths);

type Values = FlagValues<typeof oidcFlags>;

/** An issuer that flags configure. */
export type OidcSettings = NonNullable<ReturnType<typeof oidcSettingsOf>>;

/** Undefined if no flag is set. */
export function oidcSettingsOf(values: Values, authenticationFile: FlagFile | undefined, problems: string[]) {
  const given = names.filter((name) => isGiven(values, name));
  if (given.length === 0) return undefined;
  const algorithms = values['oidc-signing-algs'];
  const faults = [
    ...(authenticationFile
      ? [`--authentication-config and --${given[0]} exclude each other: the file says all that flags can`]
      : []),
    ...(values['oidc-issuer-url'] === '' || values['oidc-client-id'] === ''
      ? [`--${given[0]} needs both --oidc-issuer-url and --oidc-client-id`]
      : []),
    ...algorithms
      .filter((name) => !algorithmNames.includes(name))
      .map((name) => `--oidc-signing-algs: ${name} is none of ${algorithmNames.join(', ')}`),
  ];
  problems.push(...faults);
  // An invalid combination has no equivalent configuration that could be checked further.
  if (faults.length > 0) return undefined;
  return {
    caFile: fileOf(values, 'oidc-ca-file'),
    algorithms,
    /** The issuer in the equivalent configuration, but for its certificate authority. */
    jwt: toConfiguration(values),
  };
}

/** Loads the equivalent configuration. Throws a FlagError. */
export async function loadOidc(
  { caFile, jwt }: OidcSettings,
  agreed: AuthenticationFlags,
  { read }: FlagFileReader,
): Promise<AuthenticationConfiguration> {
  const content = caFile && (await read(caFile, { kind: 'certificates' }));
  if (caFile && content) requireCertificates(caFile, content);
  const document = {
    apiVersion: 'apiserver.config.platform.io/v1',
    kind: 'AuthenticationConfiguration',
    jwt: [{ ...jwt, issuer: { ...jwt.issuer, certificateAuthority: content?.toString() } }],
  };
  try {
    return loadAuthenticationConfiguration(JSON.stringify(document), agreed);
  } catch (error) {
    if (error instanceof ConfigurationError) throw new FlagError(error.faults.map(toFlagFault));
    throw error;
  }
}

const toConfiguration = (values: Values) => ({
  issuer: { url: values['oidc-issuer-url'], audiences: [values['oidc-client-id']] },
  claimValidationRules: [...values['oidc-required-claim']].map(([claim, requiredValue]) => ({ claim, requiredValue })),
  claimMappings: {
    username: { claim: values['oidc-username-claim'], prefix: getUsernamePrefix(values) },
    ...(values['oidc-groups-claim'] !== '' && {
      groups: { claim: values['oidc-groups-claim'], prefix: values['oidc-groups-prefix'] },
    }),
  },
});

/** The default prefix keeps user names of two issuers apart; a dash disables it. Emails are assumed to be unique. */
function getUsernamePrefix(values: Values): string {
  const prefix = values['oidc-username-prefix'];
  if (prefix === '-') return '';
  if (prefix !== '' || values['oidc-username-claim'] === 'email') return prefix;
  return `${values['oidc-issuer-url']}#`;
}

/** Replaces the path in a message by the flag that the operator set. */
function toFlagFault(fault: string): string {
  const name = names.find((one) => flagPaths[one] !== '' && fault.startsWith(flagPaths[one]));
  return name ? fault.replace(flagPaths[name], `--${name}`) : fault;
}
