import { ownKeys } from '@cluster-apiserver/base';
import {
  type AuthenticationConfiguration,
  type AuthenticationFlags,
  ConfigurationError,
  loadAuthenticationConfiguration,
} from '@cluster-apiserver/config';
import { algorithmNames } from '@cluster-apiserver/gates';
import { FlagError, isGiven } from '../flags/flag.ts';
import type { ServerFlags } from '../flags/flags.ts';
import type { Files } from '../environment.ts';
import { fileOf, readFlagFile } from '../files/flag-files.ts';
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

/** Converts the flags to the equivalent configuration; undefined if none is set. */
export async function loadOidcFlags(
  flags: ServerFlags,
  said: AuthenticationFlags,
  files: Files,
): Promise<AuthenticationConfiguration | undefined> {
  const given = names.filter((name) => isGiven(flags, name));
  if (given.length === 0) return undefined;
  checkCombination(flags, given);
  const certificateAuthority = await loadIssuerCertificates(flags, files);
  try {
    return loadAuthenticationConfiguration(JSON.stringify(toDocument(flags, certificateAuthority)), said);
  } catch (error) {
    if (error instanceof ConfigurationError) throw new FlagError(error.faults.map(toFlagFault));
    throw error;
  }
}

async function loadIssuerCertificates(flags: ServerFlags, files: Files): Promise<string | undefined> {
  const file = fileOf(flags, 'oidc-ca-file');
  if (!file) return undefined;
  const content = await readFlagFile(file, files);
  requireCertificates(file, content);
  return content.toString();
}

function checkCombination(flags: ServerFlags, given: readonly string[]): void {
  const faults: string[] = [];
  if (flags['authentication-config'] !== '')
    faults.push(`--authentication-config and --${given[0]} exclude each other: the file says all that flags can`);
  if (flags['oidc-issuer-url'] === '' || flags['oidc-client-id'] === '')
    faults.push(`--${given[0]} needs both --oidc-issuer-url and --oidc-client-id`);
  for (const name of flags['oidc-signing-algs'])
    if (!algorithmNames.includes(name))
      faults.push(`--oidc-signing-algs: ${name} is none of ${algorithmNames.join(', ')}`);
  if (faults.length > 0) throw new FlagError(faults);
}

const toDocument = (flags: ServerFlags, certificateAuthority: string | undefined): object => ({
  apiVersion: 'apiserver.config.platform.io/v1',
  kind: 'AuthenticationConfiguration',
  jwt: [
    {
      issuer: { url: flags['oidc-issuer-url'], audiences: [flags['oidc-client-id']], certificateAuthority },
      claimValidationRules: [...flags['oidc-required-claim']].map(([claim, requiredValue]) => ({
        claim,
        requiredValue,
      })),
      claimMappings: {
        username: { claim: flags['oidc-username-claim'], prefix: getUsernamePrefix(flags) },
        ...(flags['oidc-groups-claim'] !== '' && {
          groups: { claim: flags['oidc-groups-claim'], prefix: flags['oidc-groups-prefix'] },
        }),
      },
    },
  ],
});

/** The default prefix keeps user names of two issuers apart; a dash disables it. Emails are assumed to be unique. */
function getUsernamePrefix(flags: ServerFlags): string {
  const prefix = flags['oidc-username-prefix'];
  if (prefix === '-') return '';
  if (prefix !== '' || flags['oidc-username-claim'] === 'email') return prefix;
  return `${flags['oidc-issuer-url']}#`;
}

/** Replaces the path in a message by the flag that the operator set. */
function toFlagFault(fault: string): string {
  const name = names.find((one) => flagPaths[one] !== '' && fault.startsWith(flagPaths[one]));
  return name ? fault.replace(flagPaths[name], `--${name}`) : fault;
}
