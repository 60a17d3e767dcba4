import {
  type AuthorizationConfiguration,
  type AuthorizerConfiguration,
  type AuthorizerType,
  authorizerTypes,
  loadWebhookConnection,
} from '@cluster-apiserver/config';
import { FlagError, isGiven, durationMs, list, oneOf, path } from '../flag.ts';
import type { ServerFlags } from '../flags.ts';
import type { Files } from '../environment.ts';
import { withFlagErrors } from './flag-files.ts';

export const authorizationFlags = {
  'authorization-config': path({
    default: '',
    help: 'AuthorizationConfiguration with the ordered authorizers. Reloaded when it changes. Excludes --authorization-mode and --authorization-webhook-*.',
  }),
  'authorization-mode': list({
    default: '',
    help: 'Ordered authorizers: RBAC, ABAC, Webhook, AlwaysAllow, AlwaysDeny. Defaults to RBAC unless --authorization-config is set.',
  }),
  'authorization-modes': list({
    default: '',
    help: 'Alias of --authorization-mode.',
  }),
  'authorization-policy-file': path({
    default: '',
    help: 'Policies of the authorizer ABAC: one Policy in JSON per line. Reloaded when it changes.',
  }),
  'authorization-webhook-config-file': path({
    default: '',
    help: 'Kubeconfig with the address and the credentials of the authorizer Webhook. Reloaded when it changes.',
  }),
  'authorization-webhook-version': oneOf<'v1beta1' | 'v1'>(
    {
      default: 'v1beta1',
      help: 'Version of the SubjectAccessReview sent to and expected from the webhook.',
    },
    ['v1beta1', 'v1'],
  ),
  'authorization-webhook-cache-authorized-ttl': durationMs({
    default: '5m0s',
    help: 'Time to cache authorized responses of the webhook; 0 disables the cache for them.',
  }),
  'authorization-webhook-cache-unauthorized-ttl': durationMs({
    default: '30s',
    help: 'Time to cache unauthorized responses of the webhook; 0 disables the cache for them.',
  }),
  'authorization-always-allow-paths': list({
    default: '/healthz,/readyz,/livez',
    help: 'Paths to allow GET and HEAD on without authorization; a trailing * matches any rest. Also open to requests without credentials unless --anonymous-auth or anonymous in --authentication-config is set.',
  }),
};

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
