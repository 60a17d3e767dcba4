import { type AuthorizerType, authorizerTypes } from '@cluster-apiserver/config';
import { compilePathPatterns, PathPatternError } from '@cluster-apiserver/gates';
import { fileOf } from '../files/flag-files.ts';
import { type FlagValues, isGiven } from '../flags/flag.ts';
import type { authorizationFlags } from './authorization-flags.ts';

type Values = FlagValues<typeof authorizationFlags>;

export type AuthorizationSettings = ReturnType<typeof authorizationSettingsOf>;

/** Flags that the file replaces. --authorization-policy-file is not among them: no field of the file can name it. */
const chainFlags = [
  'authorization-mode',
  'authorization-modes',
  'authorization-webhook-config-file',
  'authorization-webhook-version',
  'authorization-webhook-cache-authorized-ttl',
  'authorization-webhook-cache-unauthorized-ttl',
] as const;

export function authorizationSettingsOf(values: Values, problems: string[]) {
  const file = fileOf(values, 'authorization-config');
  const modes = getModes(values);
  if (!file) problems.push(...findModeFaults(values, modes));
  else problems.push(...chainFlags.filter((name) => isGiven(values, name)).map(describeExclusion));
  return {
    /** The AuthorizationConfiguration; undefined if flags configure the authorizers. */
    file,
    /** The authorizers of the flags, in their order. */
    types: modes.filter(isAuthorizerType),
    /** The policies of ABAC. */
    policyFile: fileOf(values, 'authorization-policy-file'),
    /** The authorizer Webhook of the flags. */
    webhook: {
      file: fileOf(values, 'authorization-webhook-config-file'),
      subjectAccessReviewVersion: values['authorization-webhook-version'],
      authorizedTtlMs: values['authorization-webhook-cache-authorized-ttl'],
      unauthorizedTtlMs: values['authorization-webhook-cache-unauthorized-ttl'],
    },
    /** Whether everyone may read a path; probes need no credentials for these. */
    isAlwaysAllowed: compileAlwaysAllowedPaths(values, problems),
  };
}

const describeExclusion = (name: string): string =>
  `--authorization-config and --${name} exclude each other: the file says all that flags can`;

/** Both spellings of the flag: that of kube-apiserver and its alias. */
const getModes = (values: Values): readonly string[] => {
  const given = [...values['authorization-mode'], ...values['authorization-modes']];
  return given.length > 0 ? given : ['RBAC'];
};

function findModeFaults(values: Values, modes: readonly string[]): readonly string[] {
  const faults: string[] = [];
  for (const mode of new Set(modes)) {
    const flag = values['authorization-modes'].includes(mode) ? '--authorization-modes' : '--authorization-mode';
    if (mode === 'Node') faults.push(`${flag}: there are no nodes here, so Node is not supported`);
    else if (!isAuthorizerType(mode))
      faults.push(`${flag}: ${JSON.stringify(mode)} is none of ${authorizerTypes.join(', ')}`);
    if (modes.indexOf(mode) !== modes.lastIndexOf(mode)) faults.push(`${flag}: ${mode} is given twice`);
  }
  for (const [mode, flag] of [
    ['ABAC', 'authorization-policy-file'],
    ['Webhook', 'authorization-webhook-config-file'],
  ] as const)
    if (modes.includes(mode) !== (values[flag] !== ''))
      faults.push(`--${flag} and --authorization-mode=${mode} go together`);
  return faults;
}

const isAuthorizerType = (mode: string): mode is AuthorizerType => authorizerTypes.some((type) => type === mode);

function compileAlwaysAllowedPaths(values: Values, problems: string[]): (path: string) => boolean {
  try {
    return compilePathPatterns(values['authorization-always-allow-paths']);
  } catch (error) {
    if (!(error instanceof PathPatternError)) throw error;
    problems.push(`--authorization-always-allow-paths: ${error.message}`);
    return () => false;
  }
}
