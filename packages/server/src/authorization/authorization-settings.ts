import {
  type AuthorizationConfiguration,
  type AuthorizerConfiguration,
  type AuthorizerType,
  authorizerTypes,
  loadWebhookConnection,
} from '@cluster-apiserver/config';
import { FlagError, isGiven } from '../flags/flag.ts';
import type { ServerFlags } from '../flags/flags.ts';
import type { Files } from '../environment.ts';
import { withFlagErrors } from '../files/flag-files.ts';

/** Flags that the file replaces. --authorization-policy-file is not among them: no field of the file can name it. */
const chainFlags = [
  'authorization-mode',
  'authorization-modes',
  'authorization-webhook-config-file',
  'authorization-webhook-version',
  'authorization-webhook-cache-authorized-ttl',
  'authorization-webhook-cache-unauthorized-ttl',
] as const;

/** Throws a FlagError with all problems of the authorization flags. */
export function checkAuthorizationFlags(flags: ServerFlags): void {
  const given = chainFlags.filter((name) => isGiven(flags, name));
  const faults = flags['authorization-config'] === '' ? findModeFaults(flags) : given.map(describeExclusion);
  if (faults.length > 0) throw new FlagError(faults);
}

const describeExclusion = (name: string): string =>
  `--authorization-config and --${name} exclude each other: the file says all that flags can`;

/** Both spellings of the flag: that of kube-apiserver and its alias. */
const getModes = (flags: ServerFlags): readonly string[] => {
  const given = [...flags['authorization-mode'], ...flags['authorization-modes']];
  return given.length > 0 ? given : ['RBAC'];
};

function findModeFaults(flags: ServerFlags): readonly string[] {
  const modes = getModes(flags);
  const faults: string[] = [];
  for (const mode of new Set(modes)) {
    const flag = flags['authorization-modes'].includes(mode) ? '--authorization-modes' : '--authorization-mode';
    if (mode === 'Node') faults.push(`${flag}: there are no nodes here, so Node is not supported`);
    else if (!isAuthorizerType(mode))
      faults.push(`${flag}: ${JSON.stringify(mode)} is none of ${authorizerTypes.join(', ')}`);
    if (modes.indexOf(mode) !== modes.lastIndexOf(mode)) faults.push(`${flag}: ${mode} is given twice`);
  }
  for (const [mode, flag] of [
    ['ABAC', 'authorization-policy-file'],
    ['Webhook', 'authorization-webhook-config-file'],
  ] as const)
    if (modes.includes(mode) !== (flags[flag] !== ''))
      faults.push(`--${flag} and --authorization-mode=${mode} go together`);
  return faults;
}

const isAuthorizerType = (mode: string): mode is AuthorizerType => authorizerTypes.some((type) => type === mode);

/** The configuration by flags, for a server without --authorization-config. */
export async function loadAuthorizationFlags(flags: ServerFlags, files: Files): Promise<AuthorizationConfiguration> {
  const types = getModes(flags).filter(isAuthorizerType);
  return { authorizers: await Promise.all(types.map((type) => loadAuthorizer(type, flags, files))) };
}

/** There is no flag for it; the value is that of kube-apiserver. */
const timeoutMs = 30_000;

async function loadAuthorizer(
  type: AuthorizerType,
  flags: ServerFlags,
  files: Files,
): Promise<AuthorizerConfiguration> {
  if (type !== 'Webhook') return { type, name: type.toLowerCase() };
  const flag = 'authorization-webhook-config-file';
  const connectionFile = flags[flag];
  return {
    type,
    name: 'default',
    webhook: {
      authorizedTtlMs: flags['authorization-webhook-cache-authorized-ttl'],
      unauthorizedTtlMs: flags['authorization-webhook-cache-unauthorized-ttl'],
      timeoutMs,
      subjectAccessReviewVersion: flags['authorization-webhook-version'],
      failurePolicy: 'NoOpinion',
      connectionFile,
      connection: await withFlagErrors(flag, () => loadWebhookConnection(connectionFile, files.read)),
      matchConditions: [],
    },
  };
}
